//! The modes before the body: from the start of the text to the end of the head (HTML standard
//! §13.2.6.4.1–6).

use super::{Builder, InsertionMode, TreeStep};
use crate::html::name::{
    BASE, BASEFONT, BGSOUND, BODY, BR, FRAMESET, HEAD, HTML, LINK, META, NOFRAMES, NOSCRIPT,
    SCRIPT, STYLE, TEMPLATE, TITLE,
};
use crate::html::token::HtmlToken;

impl Builder<'_> {
    pub(super) fn head_modes(&mut self, mode: InsertionMode, token: HtmlToken) -> TreeStep {
        match mode {
            InsertionMode::Initial => self.initial(token),
            InsertionMode::BeforeHtml => self.before_html(token),
            InsertionMode::BeforeHead => self.before_head(token),
            InsertionMode::InHeadNoscript => self.in_head_noscript(token),
            InsertionMode::AfterHead => self.after_head(token),
            _ => self.in_head(token),
        }
    }

    fn initial(&mut self, token: HtmlToken) -> TreeStep {
        match token {
            HtmlToken::Characters(run) if run.only_white() => return TreeStep::Done,
            HtmlToken::Doctype { quirky } => {
                self.quirky = quirky;
                self.mode = InsertionMode::BeforeHtml;
                return TreeStep::Done;
            }
            _ => {}
        }
        self.quirky = true;
        self.mode = InsertionMode::BeforeHtml;
        TreeStep::Again
    }

    fn before_html(&mut self, token: HtmlToken) -> TreeStep {
        match token {
            HtmlToken::Characters(run) if run.only_white() => return TreeStep::Done,
            HtmlToken::Doctype { .. } => return TreeStep::Done,
            HtmlToken::End { name } if !matches!(name, HEAD | BODY | HTML | BR) => {
                return TreeStep::Done;
            }
            _ => {}
        }
        self.insert_implied(HTML);
        self.mode = InsertionMode::BeforeHead;
        match token {
            HtmlToken::Start { name: HTML, .. } => TreeStep::Done,
            _ => TreeStep::Again,
        }
    }

    fn before_head(&mut self, token: HtmlToken) -> TreeStep {
        match token {
            HtmlToken::Characters(run) if run.only_white() => return TreeStep::Done,
            HtmlToken::Doctype { .. } => return TreeStep::Done,
            HtmlToken::Start { name: HTML, .. } => return self.in_body(token),
            HtmlToken::End { name } if !matches!(name, HEAD | BODY | HTML | BR) => {
                return TreeStep::Done;
            }
            _ => {}
        }
        self.head = Some(self.insert_implied(HEAD));
        self.mode = InsertionMode::InHead;
        match token {
            HtmlToken::Start { name: HEAD, .. } => TreeStep::Done,
            _ => TreeStep::Again,
        }
    }

    pub(super) fn in_head(&mut self, token: HtmlToken) -> TreeStep {
        match token {
            HtmlToken::Characters(run) if run.only_white() => {}
            HtmlToken::Characters(_) | HtmlToken::End { name: BODY | HTML | BR } => {
                return self.leave_head();
            }
            HtmlToken::Doctype { .. } => {}
            HtmlToken::Start { name, .. } => match name {
                HTML => return self.in_body(token),
                BASE | BASEFONT | BGSOUND | LINK | META => self.insert_void(name),
                TITLE => self.insert_title(),
                NOSCRIPT => {
                    self.insert_html(NOSCRIPT);
                    self.mode = InsertionMode::InHeadNoscript;
                }
                NOFRAMES | STYLE => self.insert_raw(name),
                SCRIPT => self.tokens.script_contents(),
                TEMPLATE => {
                    let template = self.insert_html(TEMPLATE);
                    self.arena.set_outside(template);
                    self.formatting.mark();
                    self.frameset_ok = false;
                    self.mode = InsertionMode::InTemplate;
                    self.template_modes.push(InsertionMode::InTemplate);
                }
                HEAD => {}
                _ => return self.leave_head(),
            },
            HtmlToken::End { name: HEAD } => {
                self.pop();
                self.mode = InsertionMode::AfterHead;
            }
            HtmlToken::End { name: TEMPLATE } if self.stack.has_template() => {
                self.imply_all_ends();
                self.pop_until(TEMPLATE);
                self.formatting.clear_to_mark();
                self.template_modes.pop();
                self.reset_mode();
            }
            HtmlToken::End { .. } => {}
        }
        TreeStep::Done
    }

    fn leave_head(&mut self) -> TreeStep {
        self.pop();
        self.mode = InsertionMode::AfterHead;
        TreeStep::Again
    }

    fn in_head_noscript(&mut self, token: HtmlToken) -> TreeStep {
        match token {
            HtmlToken::Doctype { .. } => TreeStep::Done,
            HtmlToken::Start { name: HTML, .. } => self.in_body(token),
            HtmlToken::End { name: NOSCRIPT } => {
                self.pop();
                self.mode = InsertionMode::InHead;
                TreeStep::Done
            }
            HtmlToken::Characters(run) if run.only_white() => TreeStep::Done,
            HtmlToken::Start {
                name: BASEFONT | BGSOUND | LINK | META | NOFRAMES | STYLE, ..
            } => self.in_head(token),
            HtmlToken::Start { name: HEAD | NOSCRIPT, .. } => TreeStep::Done,
            HtmlToken::End { name } if name != BR => TreeStep::Done,
            _ => {
                self.pop();
                self.mode = InsertionMode::InHead;
                TreeStep::Again
            }
        }
    }

    fn after_head(&mut self, token: HtmlToken) -> TreeStep {
        match token {
            HtmlToken::Characters(run) if run.only_white() => return TreeStep::Done,
            HtmlToken::Doctype { .. } => return TreeStep::Done,
            HtmlToken::Start { name, .. } => match name {
                HTML => return self.in_body(token),
                BODY => {
                    self.insert_implied(BODY);
                    self.frameset_ok = false;
                    self.mode = InsertionMode::InBody;
                    return TreeStep::Done;
                }
                FRAMESET => {
                    self.insert_implied(FRAMESET);
                    self.mode = InsertionMode::InFrameset;
                    return TreeStep::Done;
                }
                BASE | BASEFONT | BGSOUND | LINK | META | NOFRAMES | SCRIPT | STYLE | TEMPLATE
                | TITLE => {
                    self.in_head_again(token);
                    return TreeStep::Done;
                }
                HEAD => return TreeStep::Done,
                _ => {}
            },
            HtmlToken::End { name: TEMPLATE } => return self.in_head(token),
            HtmlToken::End { name } if !matches!(name, BODY | HTML | BR) => return TreeStep::Done,
            _ => {}
        }
        self.insert_implied(BODY);
        self.mode = InsertionMode::InBody;
        TreeStep::Again
    }

    /// Puts an element of the head that comes after its end into the head.
    fn in_head_again(&mut self, token: HtmlToken) {
        let Some(node) = self.head else { return };
        let head = super::OpenElement { node, name: HEAD, kinds: HEAD.html_kinds() };
        self.stack.push(head, &mut self.arena);
        self.in_head(token);
        if let Some(at) = self.stack.position(node) {
            self.stack.remove(at, &mut self.arena);
        }
    }
}
