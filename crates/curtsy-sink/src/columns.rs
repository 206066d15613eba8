//! The columns of a row: one list for every sink and for the documents, in `columns.txt`.

use std::sync::LazyLock;

/// A column of a row.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type in SQL.
    pub sql: &'static str,
    /// What changes it.
    pub group: ColumnGroup,
    /// What it holds.
    pub about: &'static str,
}

curtsy_core::word_enum! {
    /// What changes a column of an existing row.
    pub enum ColumnGroup {
        /// Nothing: the column identifies the URL.
        Url = "Url",
        /// Every decision.
        Decision = "Decision",
        /// Every request.
        Outcome = "Outcome",
        /// A response, or a 304 that confirms the last one.
        Fresh = "Fresh",
        /// A response.
        Content = "Content",
        /// A response; large, so it is stored behind the others.
        Bulk = "Bulk",
    }
}

/// The list of columns: name, type in SQL, group and description of each.
const LIST: &str = include_str!("columns.txt");

/// The columns of a row. The first nineteen are those of the SQL face, in its order.
pub static COLUMNS: LazyLock<Vec<Column>> = LazyLock::new(|| LIST.lines().map(column).collect());

fn column(line: &'static str) -> Column {
    let mut parts = line.splitn(4, '|').map(str::trim);
    let mut part = || parts.next().expect("a line of `columns.txt` has four parts");
    let (name, sql) = (part(), part());
    let group = ColumnGroup::parse(part()).expect("the third part is a group of columns");
    Column { name, sql, group, about: part() }
}

/// Returns the index of a column in [`COLUMNS`]: the number of lines before its line. A name that
/// does not exist does not compile where the index is a constant.
pub(crate) const fn place(name: &str) -> usize {
    let (list, name) = (LIST.as_bytes(), name.as_bytes());
    let (mut at, mut line) = (0, 0);
    while at < list.len() {
        let mut same = 0;
        while same < name.len() && list[at + same] == name[same] {
            same += 1;
        }
        if same == name.len() && list[at + same] == b' ' {
            return line;
        }
        while list[at] != b'\n' {
            at += 1;
        }
        (at, line) = (at + 1, line + 1);
    }
    panic!("no such column")
}
