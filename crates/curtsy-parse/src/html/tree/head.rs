//! What stands before the body? The modes from the start of the text to the end of the head (HTML standard §13.2.6.4.1–6).

use super::{Builder, Mode, Step};
use crate::html::name::{
    BASE, BASEFONT, BGSOUND, BODY, BR, FRAMESET, HEAD, HTML, LINK, META, NOFRAMES, NOSCRIPT,
    SCRIPT, STYLE, TEMPLATE, TITLE,
};
use crate::html::token::Token;

impl Builder<'_> {
    pub(super) fn head_modes(&mut self, mode: Mode, token: Token) -> Step {
        match mode {
            Mode::Initial => self.initial(token),
            Mode::BeforeHtml => self.before_html(token),
            Mode::BeforeHead => self.before_head(token),
            Mode::InHeadNoscript => self.in_head_noscript(token),
            Mode::AfterHead => self.after_head(token),
            _ => self.in_head(token),
        }
    }

    fn initial(&mut self, token: Token) -> Step {
        match token {
            Token::Characters(run) if run.only_white() => return Step::Done,
            Token::Doctype { quirky } => {
                self.quirky = quirky;
                self.mode = Mode::BeforeHtml;
                return Step::Done;
            }
            _ => {}
        }
        self.quirky = true;
        self.mode = Mode::BeforeHtml;
        Step::Again
    }

    fn before_html(&mut self, token: Token) -> Step {
        match token {
            Token::Characters(run) if run.only_white() => return Step::Done,
            Token::Doctype { .. } => return Step::Done,
            Token::End { name } if !matches!(name, HEAD | BODY | HTML | BR) => return Step::Done,
            _ => {}
        }
        self.insert_implied(HTML);
        self.mode = Mode::BeforeHead;
        match token {
            Token::Start { name: HTML, .. } => Step::Done,
            _ => Step::Again,
        }
    }

    fn before_head(&mut self, token: Token) -> Step {
        match token {
            Token::Characters(run) if run.only_white() => return Step::Done,
            Token::Doctype { .. } => return Step::Done,
            Token::Start { name: HTML, .. } => return self.in_body(token),
            Token::End { name } if !matches!(name, HEAD | BODY | HTML | BR) => return Step::Done,
            _ => {}
        }
        self.head = Some(self.insert_implied(HEAD));
        self.mode = Mode::InHead;
        match token {
            Token::Start { name: HEAD, .. } => Step::Done,
            _ => Step::Again,
        }
    }

    pub(super) fn in_head(&mut self, token: Token) -> Step {
        match token {
            Token::Characters(run) if run.only_white() => {}
            Token::Characters(_) | Token::End { name: BODY | HTML | BR } => {
                return self.leave_head();
            }
            Token::Doctype { .. } => {}
            Token::Start { name, .. } => match name {
                HTML => return self.in_body(token),
                BASE | BASEFONT | BGSOUND | LINK | META => self.insert_void(name),
                TITLE => self.insert_title(),
                NOSCRIPT => {
                    self.insert_html(NOSCRIPT);
                    self.mode = Mode::InHeadNoscript;
                }
                NOFRAMES | STYLE => self.insert_raw(name),
                SCRIPT => self.tokens.script_contents(),
                TEMPLATE => {
                    let template = self.insert_html(TEMPLATE);
                    self.arena.set_outside(template);
                    self.formatting.mark();
                    self.frameset_ok = false;
                    self.mode = Mode::InTemplate;
                    self.template_modes.push(Mode::InTemplate);
                }
                HEAD => {}
                _ => return self.leave_head(),
            },
            Token::End { name: HEAD } => {
                self.pop();
                self.mode = Mode::AfterHead;
            }
            Token::End { name: TEMPLATE } if self.stack.has_template() => {
                self.imply_all_ends();
                self.pop_until(TEMPLATE);
                self.formatting.clear_to_mark();
                self.template_modes.pop();
                self.reset_mode();
            }
            Token::End { .. } => {}
        }
        Step::Done
    }

    fn leave_head(&mut self) -> Step {
        self.pop();
        self.mode = Mode::AfterHead;
        Step::Again
    }

    fn in_head_noscript(&mut self, token: Token) -> Step {
        match token {
            Token::Doctype { .. } => Step::Done,
            Token::Start { name: HTML, .. } => self.in_body(token),
            Token::End { name: NOSCRIPT } => {
                self.pop();
                self.mode = Mode::InHead;
                Step::Done
            }
            Token::Characters(run) if run.only_white() => Step::Done,
            Token::Start { name: BASEFONT | BGSOUND | LINK | META | NOFRAMES | STYLE, .. } => {
                self.in_head(token)
            }
            Token::Start { name: HEAD | NOSCRIPT, .. } => Step::Done,
            Token::End { name } if name != BR => Step::Done,
            _ => {
                self.pop();
                self.mode = Mode::InHead;
                Step::Again
            }
        }
    }

    fn after_head(&mut self, token: Token) -> Step {
        match token {
            Token::Characters(run) if run.only_white() => return Step::Done,
            Token::Doctype { .. } => return Step::Done,
            Token::Start { name, .. } => match name {
                HTML => return self.in_body(token),
                BODY => {
                    self.insert_implied(BODY);
                    self.frameset_ok = false;
                    self.mode = Mode::InBody;
                    return Step::Done;
                }
                FRAMESET => {
                    self.insert_implied(FRAMESET);
                    self.mode = Mode::InFrameset;
                    return Step::Done;
                }
                BASE | BASEFONT | BGSOUND | LINK | META | NOFRAMES | SCRIPT | STYLE | TEMPLATE
                | TITLE => {
                    self.in_head_again(token);
                    return Step::Done;
                }
                HEAD => return Step::Done,
                _ => {}
            },
            Token::End { name: TEMPLATE } => return self.in_head(token),
            Token::End { name } if !matches!(name, BODY | HTML | BR) => return Step::Done,
            _ => {}
        }
        self.insert_implied(BODY);
        self.mode = Mode::InBody;
        Step::Again
    }

    /// What belongs into the head and comes after its end is put there all the same.
    fn in_head_again(&mut self, token: Token) {
        let Some(node) = self.head else {
            return;
        };
        let head = super::Open { node, name: HEAD, kinds: HEAD.html_kinds() };
        self.stack.push(head, &mut self.arena);
        self.in_head(token);
        if let Some(at) = self.stack.position(node) {
            self.stack.remove(at, &mut self.arena);
        }
    }
}
