//! Rows on their way into a table: an INSERT that is prepared once takes them out of a tray, with the table function `curtsy_rows`.
//!
//! DuckDB's appender would plan an INSERT for each batch, and copy the rows twice more on their way: into a collection of its own, and into
//! one that is brought into the transaction only afterwards, since a collection can be read by several threads.

use std::collections::BTreeMap;
use std::mem;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use curtsy_engine::Row;
use curtsy_sink::Rules;

use crate::duck::{Argument, Bind, Chunk, Connection, Fault, Prepared, TableFunction, Type};
use crate::table::{COLUMNS, Page, write};

/// Trays that there are, by their numbers: a number is all that a statement can name.
static TRAYS: Mutex<BTreeMap<i64, Arc<Tray>>> = Mutex::new(BTreeMap::new());
/// Trays so far.
static MADE: AtomicI64 = AtomicI64::new(0);

/// A prepared INSERT of rows.
pub(crate) struct Insert {
    number: i64,
    tray: Arc<Tray>,
    statement: Prepared,
}

/// Where rows lie while they are inserted.
pub(crate) struct Tray {
    /// The table's columns, by their places in [`COLUMNS`].
    columns: Vec<usize>,
    load: Mutex<Load>,
}

struct Load {
    rows: Vec<Arc<Row>>,
    rules: Rules,
}

impl Insert {
    /// Prepares it for these columns of a table, whose name is quoted.
    pub(crate) fn prepare(
        db: &Connection,
        table: &str,
        columns: &[usize],
    ) -> Result<Insert, Fault> {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let load = Mutex::new(Load { rows: Vec::new(), rules: Rules::new(None) });
        let tray = Arc::new(Tray { columns: columns.to_vec(), load });
        all().insert(number, Arc::clone(&tray));
        let names: Vec<&str> = columns.iter().map(|at| COLUMNS[*at].0).collect();
        let sql =
            format!("INSERT INTO {table} ({}) FROM {}({number})", names.join(", "), Rows::NAME);
        match db.prepare(&sql) {
            Ok(statement) => Ok(Insert { number, tray, statement }),
            Err(fault) => {
                all().remove(&number);
                Err(fault)
            }
        }
    }

    /// Inserts rows: a transaction by itself, unless the connection is in one.
    pub(crate) fn run(&mut self, rows: Vec<Arc<Row>>, rules: &mut Rules) -> Result<(), Fault> {
        {
            let mut load = self.tray.load();
            load.rows = rows;
            mem::swap(&mut load.rules, rules);
        }
        let done = self.statement.run();
        let mut load = self.tray.load();
        load.rows.clear();
        mem::swap(&mut load.rules, rules);
        done
    }
}

impl Drop for Insert {
    fn drop(&mut self) {
        all().remove(&self.number);
    }
}

impl Tray {
    fn load(&self) -> MutexGuard<'_, Load> {
        self.load.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn all() -> MutexGuard<'static, BTreeMap<i64, Arc<Tray>>> {
    TRAYS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `curtsy_rows(tray)`.
pub(crate) struct Rows;

impl TableFunction for Rows {
    const NAME: &'static str = "curtsy_rows";
    type Bound = Arc<Tray>;
    /// How many rows were taken.
    type Running = usize;

    fn positional() -> Vec<Type> {
        vec![Type::Bigint]
    }

    fn bind(bind: &mut Bind<'_>) -> Result<Arc<Tray>, Fault> {
        let tray = match bind.argument(0) {
            Argument::Integer(number) => all().get(&number).map(Arc::clone),
            _ => None,
        };
        let tray = tray.ok_or("`curtsy_rows` is for `CRAWL … INTO` alone\nhint: FROM crawl(…)")?;
        for at in &tray.columns {
            let (name, kind) = COLUMNS[*at];
            bind.column(name, kind);
        }
        Ok(tray)
    }

    fn start(_: &Arc<Tray>) -> Result<usize, Fault> {
        Ok(0)
    }

    fn fill(tray: &Arc<Tray>, taken: &mut usize, out: &mut Chunk<'_>) -> Result<(), Fault> {
        let mut load = tray.load();
        let Load { rows, rules } = &mut *load;
        let mut line = 0;
        for row in rows.iter().skip(*taken).take(out.capacity()) {
            write(out, line, &tray.columns, &Page::Row(row), rules);
            line += 1;
        }
        *taken += line;
        out.set_len(line);
        Ok(())
    }
}
