//! Taking rows out again: on somebody's order, or because they are too old.

use curtsy_core::evidence::timestamp_micros;
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, HostKey, Scheme};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::write::id;

/// What is to be forgotten: row, page, history, and what sitemaps said of it. Runs stay; they name no page.
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

/// Forgets; tells how many rows that were.
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
            // Steps elsewhere (a redirect, its robots.txt) belong to the URL that they were made for.
            let of_its_pages = "DELETE FROM history
                WHERE host = ?1 OR id IN (SELECT id FROM pages WHERE host = ?1)";
            tx.execute(of_its_pages, [host.as_str()])?;
            for scheme in ["http", "https"] {
                for end in ["/", ":"] {
                    let begins = format!("{scheme}://{host}{end}");
                    tx.execute(LISTED, [begins])?;
                }
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

/// Removes sitemap entries whose URLs have a beginning.
const LISTED: &str = "DELETE FROM sitemap_urls WHERE substr(url, 1, length(?1)) = ?1";
