//! The body mode, which is the longest one (HTML standard §13.2.6.4.7), and the modes after the
//! body.

use super::{Builder, InsertionMode, TreeStep};
use crate::html::name::*;
use crate::html::token::{Characters, HtmlToken};

impl Builder<'_> {
    pub(super) fn body_modes(&mut self, mode: InsertionMode, token: HtmlToken) -> TreeStep {
        match (mode, token) {
            (InsertionMode::InBody, _) => return self.in_body(token),
            (_, HtmlToken::Characters(run)) if run.only_white() => return self.in_body(token),
            (_, HtmlToken::Doctype { .. }) => return TreeStep::Done,
            (_, HtmlToken::Start { name: HTML, .. }) => return self.in_body(token),
            (InsertionMode::AfterBody, HtmlToken::End { name: HTML }) => {
                self.mode = InsertionMode::AfterAfterBody;
                return TreeStep::Done;
            }
            _ => {}
        }
        self.mode = InsertionMode::InBody;
        TreeStep::Again
    }

    pub(super) fn in_body(&mut self, token: HtmlToken) -> TreeStep {
        match token {
            HtmlToken::Characters(run) => self.characters_in_body(run),
            HtmlToken::Doctype { .. } => TreeStep::Done,
            HtmlToken::Start { name, self_closing } => {
                self.start_in_body(name, self_closing, token)
            }
            HtmlToken::End { name } => self.end_in_body(name, token),
        }
    }

    pub(super) fn characters_in_body(&mut self, run: Characters) -> TreeStep {
        if run.white || run.other {
            self.reconstruct();
        }
        if run.other {
            self.frameset_ok = false;
        }
        TreeStep::Done
    }

    fn start_in_body(
        &mut self,
        name: ElementName,
        self_closing: bool,
        token: HtmlToken,
    ) -> TreeStep {
        match name {
            // Its attributes go to the existing element. None of them matters here.
            HTML => {}
            BASE | BASEFONT | BGSOUND | LINK | META | NOFRAMES | SCRIPT | STYLE | TEMPLATE
            | TITLE => return self.in_head(token),
            BODY => {
                if !self.stack.has_template() && self.second_is_body() {
                    self.frameset_ok = false;
                }
            }
            FRAMESET => self.frameset_in_body(),
            ADDRESS | ARTICLE | ASIDE | BLOCKQUOTE | CENTER | DETAILS | DIALOG | DIR | DIV | DL
            | FIELDSET | FIGCAPTION | FIGURE | FOOTER | HEADER | HGROUP | MAIN | MENU | NAV
            | OL | P | SEARCH | SECTION | SUMMARY | UL => {
                self.close_p();
                self.insert_html(name);
            }
            H1 | H2 | H3 | H4 | H5 | H6 => {
                self.close_p();
                if self.stack.last().is_some_and(|open| open.kinds & HEADING != 0) {
                    self.pop();
                }
                self.insert_html(name);
            }
            PRE | LISTING => {
                self.close_p();
                self.insert_html(name);
                self.tokens.skip_line_end();
                self.frameset_ok = false;
            }
            FORM => {
                let templated = self.stack.has_template();
                if self.form.is_none() || templated {
                    self.close_p();
                    let node = self.insert_html(FORM);
                    if !templated {
                        self.form = Some(node);
                    }
                }
            }
            LI | DD | DT => {
                self.frameset_ok = false;
                self.close_item(if name == LI { &[LI] } else { &[DD, DT] });
                self.close_p();
                self.insert_html(name);
            }
            PLAINTEXT => {
                self.close_p();
                self.insert_html(name);
                if let Some(rest) = self.tokens.take_rest() {
                    self.characters_in_body(rest);
                }
            }
            TABLE => {
                if !self.quirky {
                    self.close_p();
                }
                self.insert_html(TABLE);
                self.frameset_ok = false;
                self.mode = InsertionMode::InTable;
            }
            HR => {
                self.close_p();
                if self.stack.in_scope(SELECT) {
                    self.imply_ends(None);
                }
                self.frameset_ok = false;
            }
            XMP => {
                self.close_p();
                self.reconstruct();
                self.frameset_ok = false;
                self.insert_raw(name);
            }
            CAPTION | COL | COLGROUP | FRAME | HEAD | TBODY | TD | TFOOT | TH | THEAD | TR => {}
            _ => self.start_in_paragraph(name, self_closing),
        }
        TreeStep::Done
    }

    /// Handles the start tags that leave the open paragraph open.
    fn start_in_paragraph(&mut self, name: ElementName, self_closing: bool) {
        match name {
            BUTTON => {
                self.close_in_scope(BUTTON);
                self.reconstruct();
                self.insert_html(BUTTON);
                self.frameset_ok = false;
            }
            A => {
                self.close_last_active(A);
                self.reconstruct();
                self.insert_formatting(A);
            }
            B | BIG | CODE | EM | FONT | I | S | SMALL | STRIKE | STRONG | TT | U => {
                self.reconstruct();
                self.insert_formatting(name);
            }
            NOBR => {
                self.reconstruct();
                if self.stack.in_scope(NOBR) {
                    self.adopt(NOBR);
                    self.reconstruct();
                }
                self.insert_formatting(NOBR);
            }
            APPLET | MARQUEE | OBJECT => {
                self.reconstruct();
                self.insert_html(name);
                self.formatting.mark();
                self.frameset_ok = false;
            }
            AREA | BR | EMBED | IMG | KEYGEN | WBR | IMAGE => {
                self.reconstruct();
                self.insert_void(name);
                self.frameset_ok = false;
            }
            INPUT => {
                if self.stack.in_scope(SELECT) {
                    self.pop_until(SELECT);
                }
                self.reconstruct();
                if !self.is_input("hidden") {
                    self.frameset_ok = false;
                }
                self.password |= self.is_input("password");
            }
            PARAM | SOURCE | TRACK => {}
            TEXTAREA | IFRAME => {
                self.insert_raw(name);
                self.frameset_ok = false;
            }
            NOEMBED => self.insert_raw(name),
            SELECT => {
                if self.stack.in_scope(SELECT) {
                    self.pop_until(SELECT);
                } else {
                    self.reconstruct();
                    self.insert_html(SELECT);
                    self.frameset_ok = false;
                }
            }
            OPTION | OPTGROUP => {
                if self.stack.in_scope(SELECT) {
                    self.imply_ends((name == OPTION).then_some(OPTGROUP));
                } else if self.current_is(OPTION) {
                    self.pop();
                }
                self.reconstruct();
                self.insert_html(name);
            }
            RB | RP | RT | RTC => {
                if self.stack.in_scope(RUBY) {
                    self.imply_ends(matches!(name, RP | RT).then_some(RTC));
                }
                self.insert_html(name);
            }
            MATH_ROOT | SVG_ROOT => {
                self.reconstruct();
                self.insert_foreign(name, if name == SVG_ROOT { SVG } else { MATH }, self_closing);
            }
            _ => {
                self.reconstruct();
                self.insert_html(name);
            }
        }
    }

    fn end_in_body(&mut self, name: ElementName, token: HtmlToken) -> TreeStep {
        match name {
            TEMPLATE => return self.in_head(token),
            BODY | HTML => {
                if self.stack.in_scope(BODY) {
                    self.mode = InsertionMode::AfterBody;
                    if name == HTML {
                        return TreeStep::Again;
                    }
                }
            }
            ADDRESS | ARTICLE | ASIDE | BLOCKQUOTE | BUTTON | CENTER | DETAILS | DIALOG | DIR
            | DIV | DL | FIELDSET | FIGCAPTION | FIGURE | FOOTER | HEADER | HGROUP | LISTING
            | MAIN | MENU | NAV | OL | PRE | SEARCH | SECTION | SELECT | SUMMARY | UL => {
                self.close_in_scope(name);
            }
            FORM => self.end_form(),
            P => {
                if !self.stack.p_in_button_scope() {
                    self.insert_implied(P);
                }
                self.imply_ends(Some(P));
                self.pop_until(P);
            }
            LI => {
                if self.stack.in_list_scope(LI) {
                    self.imply_ends(Some(LI));
                    self.pop_until(LI);
                }
            }
            DD | DT => {
                if self.stack.in_scope(name) {
                    self.imply_ends(Some(name));
                    self.pop_until(name);
                }
            }
            H1 | H2 | H3 | H4 | H5 | H6 => {
                if self.stack.search(SCOPE, |open| open.kinds & HEADING != 0) {
                    self.imply_ends(None);
                    self.pop_until_any(HEADING);
                }
            }
            A | B | BIG | CODE | EM | FONT | I | NOBR | S | SMALL | STRIKE | STRONG | TT | U => {
                return self.adopt(name);
            }
            APPLET | MARQUEE | OBJECT => {
                if self.close_in_scope(name) {
                    self.formatting.clear_to_mark();
                }
            }
            // `</br>` is a line break.
            BR => {
                self.reconstruct();
                self.frameset_ok = false;
            }
            _ => return self.any_other_end(name),
        }
        TreeStep::Done
    }

    /// "Any other end tag".
    pub(super) fn any_other_end(&mut self, name: ElementName) -> TreeStep {
        for at in (0..self.stack.len()).rev() {
            self.stack.steps += 1;
            let Some(&open) = self.stack.get(at) else { break };
            if open.is(name) {
                self.imply_ends(Some(name));
                while self.stack.len() > at {
                    self.pop();
                }
                break;
            }
            if open.kinds & SPECIAL != 0 {
                break;
            }
        }
        TreeStep::Done
    }

    /// Closes the last element of this name with everything in it, if one is in scope. Returns
    /// whether one was.
    fn close_in_scope(&mut self, name: ElementName) -> bool {
        let found = self.stack.in_scope(name);
        if found {
            self.imply_ends(None);
            self.pop_until(name);
        }
        found
    }

    /// "Close a p element", if there is one in button scope.
    pub(super) fn close_p(&mut self) {
        if self.stack.p_in_button_scope() {
            self.imply_ends(Some(P));
            self.pop_until(P);
        }
    }

    /// Closes the last item of these names, because the next one begins.
    fn close_item(&mut self, names: &[ElementName]) {
        for at in (0..self.stack.len()).rev() {
            self.stack.steps += 1;
            let Some(&open) = self.stack.get(at) else { return };
            if open.any(names) {
                self.imply_ends(Some(open.name));
                self.pop_until(open.name);
                return;
            }
            if open.kinds & SPECIAL != 0 && open.kinds & PASSED == 0 {
                return;
            }
        }
    }

    fn end_form(&mut self) {
        if self.stack.has_template() {
            self.close_in_scope(FORM);
            return;
        }
        let Some(form) = self.form.take() else { return };
        if !self.arena.is_open(form) || !self.stack.search(SCOPE, |open| open.node == form) {
            return;
        }
        self.imply_ends(None);
        if let Some(at) = self.stack.position(form) {
            self.stack.remove(at, &mut self.arena);
        }
    }

    fn second_is_body(&self) -> bool {
        self.stack.get(1).is_some_and(|open| open.is(BODY))
    }

    /// Replaces a body that has shown nothing yet with a frameset.
    fn frameset_in_body(&mut self) {
        if !self.frameset_ok || !self.second_is_body() {
            return;
        }
        if let Some(&body) = self.stack.get(1) {
            self.arena.detach(body.node);
        }
        while self.stack.len() > 1 {
            self.pop();
        }
        self.insert_implied(FRAMESET);
        self.mode = InsertionMode::InFrameset;
    }

    /// Returns whether the last tag, an `input`, is of this type.
    pub(super) fn is_input(&self, wanted: &str) -> bool {
        self.tokens.attribute("type").is_some_and(|kind| {
            crate::html::entity::in_attribute(kind.of(self.tokens.text()))
                .eq_ignore_ascii_case(wanted)
        })
    }
}
