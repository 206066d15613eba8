//! The six modes of tables (HTML standard §13.2.6.4.9–15).

use super::{Builder, InsertionMode, TreeStep};
use crate::html::name::*;
use crate::html::token::HtmlToken;

impl Builder<'_> {
    pub(super) fn table_modes(&mut self, mode: InsertionMode, token: HtmlToken) -> TreeStep {
        match mode {
            InsertionMode::InCaption => self.in_caption(token),
            InsertionMode::InColumnGroup => self.in_column_group(token),
            InsertionMode::InTableBody => self.in_table_body(token),
            InsertionMode::InRow => self.in_row(token),
            InsertionMode::InCell => self.in_cell(token),
            _ => self.in_table(token),
        }
    }

    fn in_table(&mut self, token: HtmlToken) -> TreeStep {
        match token {
            HtmlToken::Characters(run) => {
                let in_table = |open: &super::OpenElement| {
                    open.any(&[TABLE, TBODY, TEMPLATE, TFOOT, THEAD, TR])
                };
                // "In table text": white space stays, anything else is put before the table.
                if self.stack.last().is_some_and(in_table) && !run.other {
                    return TreeStep::Done;
                }
            }
            HtmlToken::Doctype { .. } => return TreeStep::Done,
            HtmlToken::Start { name, .. } => match name {
                CAPTION => {
                    self.clear_back_to(&[TABLE]);
                    self.formatting.mark();
                    self.insert_html(CAPTION);
                    self.mode = InsertionMode::InCaption;
                    return TreeStep::Done;
                }
                COLGROUP => {
                    self.clear_back_to(&[TABLE]);
                    self.insert_html(COLGROUP);
                    self.mode = InsertionMode::InColumnGroup;
                    return TreeStep::Done;
                }
                COL => {
                    self.clear_back_to(&[TABLE]);
                    self.insert_implied(COLGROUP);
                    self.mode = InsertionMode::InColumnGroup;
                    return TreeStep::Again;
                }
                TBODY | TFOOT | THEAD => {
                    self.clear_back_to(&[TABLE]);
                    self.insert_html(name);
                    self.mode = InsertionMode::InTableBody;
                    return TreeStep::Done;
                }
                TD | TH | TR => {
                    self.clear_back_to(&[TABLE]);
                    self.insert_implied(TBODY);
                    self.mode = InsertionMode::InTableBody;
                    return TreeStep::Again;
                }
                TABLE => {
                    if !self.stack.in_table_scope(&[TABLE]) {
                        return TreeStep::Done;
                    }
                    self.pop_until(TABLE);
                    self.reset_mode();
                    return TreeStep::Again;
                }
                STYLE | SCRIPT | TEMPLATE => return self.in_head(token),
                INPUT if self.is_input("hidden") => return TreeStep::Done,
                FORM => {
                    if !self.stack.has_template() && self.form.is_none() {
                        self.form = Some(self.insert_html(FORM));
                        self.pop();
                    }
                    return TreeStep::Done;
                }
                _ => {}
            },
            HtmlToken::End { name } => match name {
                TABLE => {
                    if self.stack.in_table_scope(&[TABLE]) {
                        self.pop_until(TABLE);
                        self.reset_mode();
                    }
                    return TreeStep::Done;
                }
                BODY | CAPTION | COL | COLGROUP | HTML | TBODY | TD | TFOOT | TH | THEAD | TR => {
                    return TreeStep::Done;
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

    fn in_caption(&mut self, token: HtmlToken) -> TreeStep {
        match token {
            HtmlToken::End { name: CAPTION } => {
                self.close_caption();
                TreeStep::Done
            }
            HtmlToken::Start {
                name: CAPTION | COL | COLGROUP | TBODY | TD | TFOOT | TH | THEAD | TR,
                ..
            }
            | HtmlToken::End { name: TABLE } => match self.close_caption() {
                true => TreeStep::Again,
                false => TreeStep::Done,
            },
            HtmlToken::End {
                name: BODY | COL | COLGROUP | HTML | TBODY | TD | TFOOT | TH | THEAD | TR,
            } => TreeStep::Done,
            _ => self.in_body(token),
        }
    }

    fn close_caption(&mut self) -> bool {
        let found = self.stack.in_table_scope(&[CAPTION]);
        if found {
            self.imply_ends(None);
            self.pop_until(CAPTION);
            self.formatting.clear_to_mark();
            self.mode = InsertionMode::InTable;
        }
        found
    }

    fn in_column_group(&mut self, token: HtmlToken) -> TreeStep {
        match token {
            HtmlToken::Characters(run) if run.only_white() => return TreeStep::Done,
            HtmlToken::Doctype { .. } => return TreeStep::Done,
            HtmlToken::Start { name: HTML, .. } => return self.in_body(token),
            HtmlToken::Start { name: COL, .. } | HtmlToken::End { name: COL } => {
                return TreeStep::Done;
            }
            HtmlToken::Start { name: TEMPLATE, .. } | HtmlToken::End { name: TEMPLATE } => {
                return self.in_head(token);
            }
            _ => {}
        }
        if !self.current_is(COLGROUP) {
            return TreeStep::Done;
        }
        self.pop();
        self.mode = InsertionMode::InTable;
        match token {
            HtmlToken::End { name: COLGROUP } => TreeStep::Done,
            _ => TreeStep::Again,
        }
    }

    fn in_table_body(&mut self, token: HtmlToken) -> TreeStep {
        match token {
            HtmlToken::Start { name: TR, .. } => {
                self.clear_back_to(&SECTIONS);
                self.insert_html(TR);
                self.mode = InsertionMode::InRow;
                TreeStep::Done
            }
            HtmlToken::Start { name: TD | TH, .. } => {
                self.clear_back_to(&SECTIONS);
                self.insert_implied(TR);
                self.mode = InsertionMode::InRow;
                TreeStep::Again
            }
            HtmlToken::End { name: name @ (TBODY | TFOOT | THEAD) } => {
                if self.stack.in_table_scope(&[name]) {
                    self.close_section();
                }
                TreeStep::Done
            }
            HtmlToken::Start { name: CAPTION | COL | COLGROUP | TBODY | TFOOT | THEAD, .. }
            | HtmlToken::End { name: TABLE } => {
                if !self.stack.in_table_scope(&SECTIONS) {
                    return TreeStep::Done;
                }
                self.close_section();
                TreeStep::Again
            }
            HtmlToken::End { name: BODY | CAPTION | COL | COLGROUP | HTML | TD | TH | TR } => {
                TreeStep::Done
            }
            _ => self.in_table(token),
        }
    }

    fn close_section(&mut self) {
        self.clear_back_to(&SECTIONS);
        self.pop();
        self.mode = InsertionMode::InTable;
    }

    fn in_row(&mut self, token: HtmlToken) -> TreeStep {
        match token {
            HtmlToken::Start { name: name @ (TD | TH), .. } => {
                self.clear_back_to(&[TR]);
                self.insert_html(name);
                self.mode = InsertionMode::InCell;
                self.formatting.mark();
                TreeStep::Done
            }
            HtmlToken::End { name: TR } => {
                self.close_row();
                TreeStep::Done
            }
            HtmlToken::Start {
                name: CAPTION | COL | COLGROUP | TBODY | TFOOT | THEAD | TR,
                ..
            }
            | HtmlToken::End { name: TABLE } => match self.close_row() {
                true => TreeStep::Again,
                false => TreeStep::Done,
            },
            HtmlToken::End { name: name @ (TBODY | TFOOT | THEAD) } => {
                match self.stack.in_table_scope(&[name]) && self.close_row() {
                    true => TreeStep::Again,
                    false => TreeStep::Done,
                }
            }
            HtmlToken::End { name: BODY | CAPTION | COL | COLGROUP | HTML | TD | TH } => {
                TreeStep::Done
            }
            _ => self.in_table(token),
        }
    }

    fn close_row(&mut self) -> bool {
        let found = self.stack.in_table_scope(&[TR]);
        if found {
            self.clear_back_to(&[TR]);
            self.pop();
            self.mode = InsertionMode::InTableBody;
        }
        found
    }

    fn in_cell(&mut self, token: HtmlToken) -> TreeStep {
        match token {
            HtmlToken::End { name: name @ (TD | TH) } => {
                if self.stack.in_table_scope(&[name]) {
                    self.imply_ends(None);
                    self.pop_until(name);
                    self.formatting.clear_to_mark();
                    self.mode = InsertionMode::InRow;
                }
                TreeStep::Done
            }
            HtmlToken::Start {
                name: CAPTION | COL | COLGROUP | TBODY | TD | TFOOT | TH | THEAD | TR,
                ..
            } => match self.stack.in_table_scope(&[TD, TH]) {
                true => self.close_cell(),
                false => TreeStep::Done,
            },
            HtmlToken::End { name: BODY | CAPTION | COL | COLGROUP | HTML } => TreeStep::Done,
            HtmlToken::End { name: name @ (TABLE | TBODY | TFOOT | THEAD | TR) } => {
                match self.stack.in_table_scope(&[name]) {
                    true => self.close_cell(),
                    false => TreeStep::Done,
                }
            }
            _ => self.in_body(token),
        }
    }

    fn close_cell(&mut self) -> TreeStep {
        self.imply_ends(None);
        while self.pop().is_some_and(|open| !open.any(&[TD, TH])) {}
        self.formatting.clear_to_mark();
        self.mode = InsertionMode::InRow;
        TreeStep::Again
    }
}

const SECTIONS: [ElementName; 3] = [TBODY, TFOOT, THEAD];
