//! Deletes rows, on request or because of their age.

use curtsy_core::evidence::timestamp_micros;
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, HostKey, Scheme};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::write::id;

/// What is deleted: row, page, history, and sitemap entries. Runs stay; they name no page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forget {
    /// One URL.
    Url(CrawlUrl),
    /// Every URL of a host.
    Host(HostKey),
    /// Every URL of a host on one port.
    Port(HostKey, u16),
    /// Every URL whose last decision is older than this.
    Before(Time),
}

/// Deletes the rows and returns their number.
pub(super) fn forget(db: &Connection, what: &Forget) -> Result<usize, rusqlite::Error> {
    let tx = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
    let rows = match what {
        Forget::Url(url) => {
            let key = id(url.key());
            tx.execute("DELETE FROM history WHERE id = ?1", [&key[..]])?;
            tx.execute("DELETE FROM sitemap_urls WHERE url = ?1", [url.as_str()])?;
            tx.execute("DELETE FROM pages WHERE id = ?1", [&key[..]])?
        }
        Forget::Host(host) => {
            // A step on another host (a redirect, its robots.txt) belongs to the URL of its page.
            let of_its_pages = "DELETE FROM history
                WHERE host = ?1 OR id IN (SELECT id FROM pages WHERE host = ?1)";
            tx.execute(of_its_pages, [host.as_str()])?;
            for start in ["http://", "https://"] {
                tx.execute(LISTED, [format!("{start}{host}/")])?;
                tx.execute(LISTED, [format!("{start}{host}:")])?;
            }
            tx.execute("DELETE FROM pages WHERE host = ?1", [host.as_str()])?
        }
        Forget::Port(host, port) => {
            let mut rows = 0;
            for scheme in [Scheme::Http, Scheme::Https] {
                let begins = match *port == scheme.default_port() {
                    true => format!("{}://{host}/", scheme.as_str()),
                    false => format!("{}://{host}:{port}/", scheme.as_str()),
                };
                let of_its_pages = "DELETE FROM history WHERE id IN
                    (SELECT id FROM pages WHERE host = ?1 AND substr(url, 1, length(?2)) = ?2)";
                tx.execute(of_its_pages, [host.as_str(), &begins])?;
                tx.execute(LISTED, [&begins])?;
                let pages = "DELETE FROM pages WHERE host = ?1 AND substr(url, 1, length(?2)) = ?2";
                rows += tx.execute(pages, [host.as_str(), &begins])?;
            }
            rows
        }
        Forget::Before(time) => {
            let before = timestamp_micros(*time);
            tx.execute("DELETE FROM history WHERE at < ?1", params![before])?;
            tx.execute("DELETE FROM pages WHERE decided_at < ?1", params![before])?
        }
    };
    tx.commit()?;
    Ok(rows)
}

/// Deletes sitemap entries whose URLs have a prefix.
const LISTED: &str = "DELETE FROM sitemap_urls WHERE substr(url, 1, length(?1)) = ?1";
