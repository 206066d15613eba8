//! SVG and MathML: "the rules for parsing tokens in foreign content" (HTML standard §13.2.6.5).

use super::{Builder, TreeStep};
use crate::html::fact;
use crate::html::name::*;
use crate::html::token::HtmlToken;

impl Builder<'_> {
    /// Returns whether a token is for the insertion mode, and not for foreign content.
    pub(super) fn is_for_html(&self, token: HtmlToken) -> bool {
        let Some(open) = self.stack.last().filter(|open| !open.is_html()) else { return true };
        match token {
            HtmlToken::Start { name, .. } => {
                open.kinds & HTML_POINT != 0
                    || open.kinds & TEXT_POINT != 0 && !matches!(name, MGLYPH | MALIGNMARK)
                    || open.kinds & MATH != 0 && open.name == ANNOTATION_XML && name == SVG_ROOT
            }
            HtmlToken::Characters(_) => open.kinds & (HTML_POINT | TEXT_POINT) != 0,
            HtmlToken::End { .. } | HtmlToken::Doctype { .. } => false,
        }
    }

    pub(super) fn foreign(&mut self, token: HtmlToken) -> TreeStep {
        match token {
            HtmlToken::Doctype { .. } => TreeStep::Done,
            HtmlToken::Characters(run) => {
                if run.other {
                    self.frameset_ok = false;
                }
                TreeStep::Done
            }
            HtmlToken::Start { name, self_closing } => {
                if self.breaks_out(name) {
                    return self.break_out(token);
                }
                let kind = self.stack.last().map_or(SVG, |open| open.kinds & (SVG | MATH));
                self.insert_foreign(name, kind, self_closing);
                TreeStep::Done
            }
            HtmlToken::End { name: BR | P } => self.break_out(token),
            HtmlToken::End { name } => self.end_foreign(name, token),
        }
    }

    pub(super) fn insert_foreign(&mut self, name: ElementName, kind: u32, self_closing: bool) {
        let kinds = match kind {
            SVG => name.svg_kinds(),
            _ if name == ANNOTATION_XML && self.holds_html() => name.math_kinds() | HTML_POINT,
            _ => name.math_kinds(),
        };
        let fact = fact::of_foreign(name, &self.tokens);
        self.insert(name, kinds, fact);
        if self_closing {
            self.pop();
        }
    }

    fn holds_html(&self) -> bool {
        self.tokens.attribute("encoding").is_some_and(|encoding| {
            let encoding = crate::html::entity::in_attribute(encoding.of(self.tokens.text()));
            encoding.eq_ignore_ascii_case("text/html")
                || encoding.eq_ignore_ascii_case("application/xhtml+xml")
        })
    }

    /// Returns whether a tag is so certainly HTML that it ends the image or the formula.
    fn breaks_out(&self, name: ElementName) -> bool {
        match name {
            B | BIG | BLOCKQUOTE | BODY | BR | CENTER | CODE | DD | DIV | DL | DT | EM | EMBED
            | H1 | H2 | H3 | H4 | H5 | H6 | HEAD | HR | I | IMG | LI | LISTING | MENU | META
            | NOBR | OL | P | PRE | RUBY | S | SMALL | SPAN | STRONG | STRIKE | SUB | SUP
            | TABLE | TT | U | UL | VAR => true,
            FONT => {
                ["color", "face", "size"].iter().any(|name| self.tokens.attribute(name).is_some())
            }
            _ => false,
        }
    }

    fn break_out(&mut self, token: HtmlToken) -> TreeStep {
        while self
            .stack
            .last()
            .is_some_and(|open| !open.is_html() && open.kinds & (HTML_POINT | TEXT_POINT) == 0)
        {
            self.pop();
        }
        self.step(self.mode, token)
    }

    fn end_foreign(&mut self, name: ElementName, token: HtmlToken) -> TreeStep {
        for at in (1..self.stack.len()).rev() {
            self.stack.steps += 1;
            let Some(&open) = self.stack.get(at) else { break };
            if open.is_html() {
                return self.step(self.mode, token);
            }
            if open.name == name {
                while self.stack.len() > at {
                    self.pop();
                }
                break;
            }
        }
        TreeStep::Done
    }
}
