//! Rows for a table: a prepared INSERT reads them from a tray, by the table function `curtsy_rows`.
//!
//! DuckDB's appender would plan an INSERT for each batch. It would also copy the rows twice more:
//! into its own collection, and into a second one that is merged into the transaction at the end,
//! because several threads may read a collection.

use std::collections::BTreeMap;
use std::mem;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use curtsy_engine::Row;
use curtsy_sink::Rules;

use crate::duck::{Argument, Bind, Chunk, DuckConnection, Prepared, SqlError, TableFunction, Type};
use crate::table::{COLUMNS, PageLine, write};

/// The trays by number: a statement can pass a number only.
static TRAYS: Mutex<BTreeMap<i64, Arc<Tray>>> = Mutex::new(BTreeMap::new());
/// The number of trays so far.
static MADE: AtomicI64 = AtomicI64::new(0);

/// A prepared INSERT of rows.
pub(crate) struct Insert {
    number: i64,
    tray: Arc<Tray>,
    statement: Prepared,
}

/// The rows of a running INSERT.
pub(crate) struct Tray {
    /// The table's columns, as indexes in [`COLUMNS`].
    columns: Vec<usize>,
    load: Mutex<Load>,
}

struct Load {
    rows: Vec<Arc<Row>>,
    rules: Rules,
}

impl Insert {
    /// Prepares the INSERT for these columns of a table. The table's name is quoted.
    pub(crate) fn prepare(
        db: &DuckConnection,
        table: &str,
        columns: &[usize],
    ) -> Result<Insert, SqlError> {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let load = Mutex::new(Load { rows: Vec::new(), rules: Rules::new(None) });
        let tray = Arc::new(Tray { columns: columns.to_vec(), load });
        all().insert(number, Arc::clone(&tray));
        let names: Vec<&str> = columns.iter().map(|at| COLUMNS[*at].0).collect();
        let sql =
            format!("INSERT INTO {table} ({}) FROM {}({number})", names.join(", "), TrayRows::NAME);
        match db.prepare(&sql) {
            Ok(statement) => Ok(Insert { number, tray, statement }),
            Err(fault) => {
                all().remove(&number);
                Err(fault)
            }
        }
    }

    /// Inserts rows: in a transaction of its own, unless the connection is in one.
    pub(crate) fn run(&mut self, rows: Vec<Arc<Row>>, rules: &mut Rules) -> Result<(), SqlError> {
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
pub(crate) struct TrayRows;

impl TableFunction for TrayRows {
    const NAME: &'static str = "curtsy_rows";
    const POSITIONAL: &'static [Type] = &[Type::Bigint];
    type Bound = Arc<Tray>;
    /// The number of rows that were returned.
    type Running = usize;

    fn bind(bind: &mut Bind<'_>) -> Result<Arc<Tray>, SqlError> {
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

    fn start(_: &Arc<Tray>) -> Result<usize, SqlError> {
        Ok(0)
    }

    fn fill(tray: &Arc<Tray>, taken: &mut usize, out: &mut Chunk<'_>) -> Result<(), SqlError> {
        let mut load = tray.load();
        let Load { rows, rules } = &mut *load;
        out.fill(rows.iter().skip(*taken), |out, line, row| {
            write(out, line, &tray.columns, &PageLine::Row(row), rules);
        });
        *taken += out.len();
        Ok(())
    }
}
