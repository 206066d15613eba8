//! What does a tag do in a table? The six modes of tables (HTML standard §13.2.6.4.9–15).

use super::{Builder, Mode, Step};
use crate::html::name::*;
use crate::html::token::Token;

impl Builder<'_> {
    pub(super) fn table_modes(&mut self, mode: Mode, token: Token) -> Step {
        match mode {
            Mode::InCaption => self.in_caption(token),
            Mode::InColumnGroup => self.in_column_group(token),
            Mode::InTableBody => self.in_table_body(token),
            Mode::InRow => self.in_row(token),
            Mode::InCell => self.in_cell(token),
            _ => self.in_table(token),
        }
    }

    fn in_table(&mut self, token: Token) -> Step {
        match token {
            Token::Characters(run) => {
                let in_table =
                    |open: &super::Open| open.any(&[TABLE, TBODY, TEMPLATE, TFOOT, THEAD, TR]);
                // "In table text": white space stays, anything else is put before the table.
                if self.stack.last().is_some_and(in_table) && !run.other {
                    return Step::Done;
                }
            }
            Token::Doctype { .. } => return Step::Done,
            Token::Start { name, .. } => match name {
                CAPTION => {
                    self.clear_back_to(&[TABLE]);
                    self.formatting.mark();
                    self.insert_html(CAPTION);
                    self.mode = Mode::InCaption;
                    return Step::Done;
                }
                COLGROUP => {
                    self.clear_back_to(&[TABLE]);
                    self.insert_html(COLGROUP);
                    self.mode = Mode::InColumnGroup;
                    return Step::Done;
                }
                COL => {
                    self.clear_back_to(&[TABLE]);
                    self.insert_implied(COLGROUP);
                    self.mode = Mode::InColumnGroup;
                    return Step::Again;
                }
                TBODY | TFOOT | THEAD => {
                    self.clear_back_to(&[TABLE]);
                    self.insert_html(name);
                    self.mode = Mode::InTableBody;
                    return Step::Done;
                }
                TD | TH | TR => {
                    self.clear_back_to(&[TABLE]);
                    self.insert_implied(TBODY);
                    self.mode = Mode::InTableBody;
                    return Step::Again;
                }
                TABLE => {
                    if !self.stack.in_table_scope(&[TABLE]) {
                        return Step::Done;
                    }
                    self.pop_until(TABLE);
                    self.reset_mode();
                    return Step::Again;
                }
                STYLE | SCRIPT | TEMPLATE => return self.in_head(token),
                INPUT if self.is_input("hidden") => return Step::Done,
                FORM => {
                    if !self.stack.has_template() && self.form.is_none() {
                        self.form = Some(self.insert_html(FORM));
                        self.pop();
                    }
                    return Step::Done;
                }
                _ => {}
            },
            Token::End { name } => match name {
                TABLE => {
                    if self.stack.in_table_scope(&[TABLE]) {
                        self.pop_until(TABLE);
                        self.reset_mode();
                    }
                    return Step::Done;
                }
                BODY | CAPTION | COL | COLGROUP | HTML | TBODY | TD | TFOOT | TH | THEAD | TR => {
                    return Step::Done;
                }
                TEMPLATE => return self.in_head(token),
                _ => {}
            },
        }
        self.fostering = true;
        let step = self.in_body(token);
        self.fostering = false;
        step
    }

    fn in_caption(&mut self, token: Token) -> Step {
        match token {
            Token::End { name: CAPTION } => {
                self.close_caption();
                Step::Done
            }
            Token::Start {
                name: CAPTION | COL | COLGROUP | TBODY | TD | TFOOT | TH | THEAD | TR,
                ..
            }
            | Token::End { name: TABLE } => match self.close_caption() {
                true => Step::Again,
                false => Step::Done,
            },
            Token::End {
                name: BODY | COL | COLGROUP | HTML | TBODY | TD | TFOOT | TH | THEAD | TR,
            } => Step::Done,
            _ => self.in_body(token),
        }
    }

    fn close_caption(&mut self) -> bool {
        let found = self.stack.in_table_scope(&[CAPTION]);
        if found {
            self.imply_ends(None);
            self.pop_until(CAPTION);
            self.formatting.clear_to_mark();
            self.mode = Mode::InTable;
        }
        found
    }

    fn in_column_group(&mut self, token: Token) -> Step {
        match token {
            Token::Characters(run) if run.only_white() => return Step::Done,
            Token::Doctype { .. } => return Step::Done,
            Token::Start { name: HTML, .. } => return self.in_body(token),
            Token::Start { name: COL, .. } | Token::End { name: COL } => return Step::Done,
            Token::Start { name: TEMPLATE, .. } | Token::End { name: TEMPLATE } => {
                return self.in_head(token);
            }
            _ => {}
        }
        if !self.current_is(COLGROUP) {
            return Step::Done;
        }
        self.pop();
        self.mode = Mode::InTable;
        match token {
            Token::End { name: COLGROUP } => Step::Done,
            _ => Step::Again,
        }
    }

    fn in_table_body(&mut self, token: Token) -> Step {
        match token {
            Token::Start { name: TR, .. } => {
                self.clear_back_to(&SECTIONS);
                self.insert_html(TR);
                self.mode = Mode::InRow;
                Step::Done
            }
            Token::Start { name: TD | TH, .. } => {
                self.clear_back_to(&SECTIONS);
                self.insert_implied(TR);
                self.mode = Mode::InRow;
                Step::Again
            }
            Token::End { name: name @ (TBODY | TFOOT | THEAD) } => {
                if self.stack.in_table_scope(&[name]) {
                    self.close_section();
                }
                Step::Done
            }
            Token::Start { name: CAPTION | COL | COLGROUP | TBODY | TFOOT | THEAD, .. }
            | Token::End { name: TABLE } => {
                if !self.stack.in_table_scope(&SECTIONS) {
                    return Step::Done;
                }
                self.close_section();
                Step::Again
            }
            Token::End { name: BODY | CAPTION | COL | COLGROUP | HTML | TD | TH | TR } => {
                Step::Done
            }
            _ => self.in_table(token),
        }
    }

    fn close_section(&mut self) {
        self.clear_back_to(&SECTIONS);
        self.pop();
        self.mode = Mode::InTable;
    }

    fn in_row(&mut self, token: Token) -> Step {
        match token {
            Token::Start { name: name @ (TD | TH), .. } => {
                self.clear_back_to(&[TR]);
                self.insert_html(name);
                self.mode = Mode::InCell;
                self.formatting.mark();
                Step::Done
            }
            Token::End { name: TR } => {
                self.close_row();
                Step::Done
            }
            Token::Start {
                name: CAPTION | COL | COLGROUP | TBODY | TFOOT | THEAD | TR, ..
            }
            | Token::End { name: TABLE } => match self.close_row() {
                true => Step::Again,
                false => Step::Done,
            },
            Token::End { name: name @ (TBODY | TFOOT | THEAD) } => {
                match self.stack.in_table_scope(&[name]) && self.close_row() {
                    true => Step::Again,
                    false => Step::Done,
                }
            }
            Token::End { name: BODY | CAPTION | COL | COLGROUP | HTML | TD | TH } => Step::Done,
            _ => self.in_table(token),
        }
    }

    fn close_row(&mut self) -> bool {
        let found = self.stack.in_table_scope(&[TR]);
        if found {
            self.clear_back_to(&[TR]);
            self.pop();
            self.mode = Mode::InTableBody;
        }
        found
    }

    fn in_cell(&mut self, token: Token) -> Step {
        match token {
            Token::End { name: name @ (TD | TH) } => {
                if self.stack.in_table_scope(&[name]) {
                    self.imply_ends(None);
                    self.pop_until(name);
                    self.formatting.clear_to_mark();
                    self.mode = Mode::InRow;
                }
                Step::Done
            }
            Token::Start {
                name: CAPTION | COL | COLGROUP | TBODY | TD | TFOOT | TH | THEAD | TR,
                ..
            } => match self.stack.in_table_scope(&[TD, TH]) {
                true => self.close_cell(),
                false => Step::Done,
            },
            Token::End { name: BODY | CAPTION | COL | COLGROUP | HTML } => Step::Done,
            Token::End { name: name @ (TABLE | TBODY | TFOOT | THEAD | TR) } => {
                match self.stack.in_table_scope(&[name]) {
                    true => self.close_cell(),
                    false => Step::Done,
                }
            }
            _ => self.in_body(token),
        }
    }

    fn close_cell(&mut self) -> Step {
        self.imply_ends(None);
        while self.pop().is_some_and(|open| !open.any(&[TD, TH])) {}
        self.formatting.clear_to_mark();
        self.mode = Mode::InRow;
        Step::Again
    }
}

const SECTIONS: [Name; 3] = [TBODY, TFOOT, THEAD];
