//! Where a ledger of hosts is.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where a ledger of hosts is. Its text has no password.
///
/// ```
/// use curtsy_store::LedgerPlace;
/// let place = LedgerPlace::from(std::path::Path::new("/var/lib/curtsy/hosts.db"));
/// assert_eq!(place.to_string(), "/var/lib/curtsy/hosts.db");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub enum LedgerPlace {
    /// A SQLite file, for the processes of one machine.
    File(PathBuf),
    /// A database: `postgres://USER:PASSWORD@HOST/DATABASE`.
    #[cfg(feature = "postgres")]
    Postgres(String),
}

impl LedgerPlace {
    /// Returns the file; `None` for a database.
    pub fn file(&self) -> Option<&Path> {
        match self {
            LedgerPlace::File(path) => Some(path),
            #[cfg(feature = "postgres")]
            LedgerPlace::Postgres(_) => None,
        }
    }
}

impl From<PathBuf> for LedgerPlace {
    fn from(path: PathBuf) -> LedgerPlace {
        LedgerPlace::File(path)
    }
}

impl From<&PathBuf> for LedgerPlace {
    fn from(path: &PathBuf) -> LedgerPlace {
        LedgerPlace::File(path.clone())
    }
}

impl From<&Path> for LedgerPlace {
    fn from(path: &Path) -> LedgerPlace {
        LedgerPlace::File(path.to_owned())
    }
}

impl From<&LedgerPlace> for LedgerPlace {
    fn from(place: &LedgerPlace) -> LedgerPlace {
        place.clone()
    }
}

impl fmt::Display for LedgerPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LedgerPlace::File(path) => path.display().fmt(f),
            #[cfg(feature = "postgres")]
            LedgerPlace::Postgres(url) => f.write_str(&crate::postgres::shown(url)),
        }
    }
}

/// Like `Display`, without passwords.
impl fmt::Debug for LedgerPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LedgerPlace({self})")
    }
}

#[cfg(all(test, feature = "postgres"))]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, expected: &str) {
        let place = LedgerPlace::Postgres(url.to_owned());
        assert_eq!(place.to_string(), expected);
        assert_eq!(format!("{place:?}"), format!("LedgerPlace({expected})"));
    }

    #[test]
    fn no_password_is_shown() {
        check("postgres://ann:s3cret@db.test/curtsy", "postgres://ann@db.test/curtsy");
        check("postgresql://ann:s3cret@db.test:6543/c", "postgres://ann@db.test:6543/c");
        check("postgres://db.test/c?user=ann&password=s3cret", "postgres://ann@db.test/c");
        check("host=db.test user=ann password=s3cret dbname=c", "postgres://ann@db.test/c");
        check("postgres://ann:s3cret@a.test:1,b.test:2/c", "postgres://ann@a.test:1,b.test:2/c");
        check("postgres://ann@%2Frun%2Fpostgresql/c", "postgres://ann@/run/postgresql/c");
        // In text that can't be parsed, anything may be a password.
        check("postgres://ann:s3cret@db.test:port/c", "postgres://…");
        check("s3cret", "postgres://…");
    }
}
