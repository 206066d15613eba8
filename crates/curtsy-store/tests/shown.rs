//! The readable tables `domain_risk` and `url_fetch_cache`: their columns, their content, and that
//! they are written in one transaction with the state that they show. The same checks on SQLite and
//! on a real Postgres.

mod place;

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use curtsy_core::evidence::timestamp;
use curtsy_core::host::{HostState, LeaseId};
use curtsy_core::policy;
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, HostKey};
use curtsy_engine::{
    Cache, CachedPage, Commit, Committed, Exchanged, Fetched, FrictionEvent, Head, Store,
    StoreError, UrlRecord, UrlWrite, View,
};
use curtsy_store::{LedgerPlace, MachineClock, MachineStore, Options, ReadableTables, StoreHandle};
use rusqlite::Connection;

use place::{Folder, now, plain, turn};

const DAY: Duration = Duration::from_secs(86_400);
/// When every check begins: 2027-01-15T08:00:00.000Z.
const BEGIN: Time = Time::from_secs(1_800_000_000);

/// The clocks of a machine and of a server, in virtual time.
#[derive(Clone)]
struct Clocks(Rc<Cell<Duration>>);

impl MachineClock for Clocks {
    fn monotonic(&self) -> u64 {
        self.0.get().as_micros() as u64
    }
    fn since_boot(&self) -> u64 {
        self.monotonic()
    }
    fn wall(&self) -> u64 {
        (BEGIN + self.0.get()).micros()
    }
    fn boot(&self) -> String {
        "virtual".into()
    }
    fn server(&self) -> Option<u64> {
        Some(self.wall())
    }
}

/// A ledger with readable tables, and another connection to them.
struct Shown {
    clocks: Clocks,
    place: LedgerPlace,
    kept: Kept,
}

enum Kept {
    File(Folder),
    #[cfg(feature = "postgres")]
    Postgres {
        _server: curtsy_testkit::services::Postgres,
    },
}

impl Shown {
    /// Runs a check on every kind of ledger.
    fn on_each(check: impl Fn(&Shown)) {
        let clocks = || Clocks(Rc::new(Cell::new(Duration::ZERO)));
        let folder = Folder::new("shown");
        let place = LedgerPlace::from(folder.ledger());
        check(&Shown { clocks: clocks(), place, kept: Kept::File(folder) });
        #[cfg(feature = "postgres")]
        {
            let server = curtsy_testkit::services::Postgres::start();
            let place = LedgerPlace::Postgres(server.database());
            check(&Shown { clocks: clocks(), place, kept: Kept::Postgres { _server: server } });
        }
    }

    fn pass(&self, span: Duration) {
        self.clocks.0.set(self.clocks.0.get() + span);
    }

    fn open(&self) -> MachineStore<Clocks> {
        let risk = policy::Risk {
            active: true,
            early_stop: 3,
            daily_percent: 90,
            delay: [Duration::ZERO; 3],
        };
        let options = Options { shows: ReadableTables::RiskAndPages(risk), ..Options::default() };
        MachineStore::open_passing_with(&self.place, options, self.clocks.clone()).unwrap()
    }

    /// Returns rows as another connection reads them, as text.
    fn rows(&self, sql: &str) -> Vec<Vec<Option<String>>> {
        match &self.kept {
            Kept::File(folder) => {
                let db = Connection::open(folder.ledger()).unwrap();
                let mut statement = db.prepare(sql).unwrap();
                let width = statement.column_count();
                let read = statement.query_map([], |row| {
                    (0..width)
                        .map(|at| {
                            Ok(match row.get_ref(at)? {
                                rusqlite::types::ValueRef::Null => None,
                                rusqlite::types::ValueRef::Integer(n) => Some(n.to_string()),
                                other => Some(other.as_str().unwrap().to_owned()),
                            })
                        })
                        .collect()
                });
                read.unwrap().collect::<Result<_, _>>().unwrap()
            }
            #[cfg(feature = "postgres")]
            Kept::Postgres { .. } => {
                let told = self.client().simple_query(sql).unwrap();
                let rows = told.iter().filter_map(|message| match message {
                    postgres::SimpleQueryMessage::Row(row) => Some(row),
                    _ => None,
                });
                rows.map(|row| (0..row.len()).map(|at| row.get(at).map(String::from)).collect())
                    .collect()
            }
        }
    }

    #[cfg(feature = "postgres")]
    fn client(&self) -> postgres::Client {
        let LedgerPlace::Postgres(url) = &self.place else { panic!("a database") };
        postgres::Client::connect(url, postgres::NoTls).unwrap()
    }

    /// Runs SQL by hand.
    fn run(&self, on_sqlite: &str, on_postgres: &str) {
        let _ = on_postgres;
        match &self.kept {
            Kept::File(folder) => {
                Connection::open(folder.ledger()).unwrap().execute_batch(on_sqlite).unwrap();
            }
            #[cfg(feature = "postgres")]
            Kept::Postgres { .. } => self.client().batch_execute(on_postgres).unwrap(),
        }
    }

    /// Returns a time of a table as text.
    fn moment(&self, column: &str) -> String {
        match &self.kept {
            Kept::File(_) => column.to_owned(),
            #[cfg(feature = "postgres")]
            Kept::Postgres { .. } => {
                format!("to_char({column}, 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')")
            }
        }
    }

    /// Returns a table's columns with their types, in order.
    fn columns(&self, table: &str) -> Vec<String> {
        let sql = match &self.kept {
            Kept::File(_) => format!(
                "SELECT lower(name || ' ' || type || iif(\"notnull\", ' not null', '') || iif(pk, ' key', '') ||
                coalesce(' default ' || dflt_value, '')) FROM pragma_table_info('{table}')"
            ),
            #[cfg(feature = "postgres")]
            Kept::Postgres { .. } => format!(
                "SELECT c.column_name || ' ' || c.data_type || CASE WHEN k.column_name IS NOT NULL THEN ' key'
                WHEN c.is_nullable = 'NO' THEN ' not null' ELSE '' END || coalesce(' default ' || c.column_default, '')
                FROM information_schema.columns c LEFT JOIN information_schema.key_column_usage k
                ON k.table_name = c.table_name AND k.column_name = c.column_name
                WHERE c.table_name = '{table}' ORDER BY c.ordinal_position"
            ),
        };
        self.rows(&sql).into_iter().map(|row| row[0].clone().unwrap()).collect()
    }

    /// Returns the row of `domain_risk`: score, events, last fetch, created, updated.
    fn risk(&self) -> Option<(String, serde_json::Value, [Option<String>; 3])> {
        let [fetched, made, changed] =
            ["last_fetch_at", "created_at", "updated_at"].map(|column| self.moment(column));
        let sql = format!(
            "SELECT risk_score, friction_events, {fetched}, {made}, {changed} FROM domain_risk WHERE hostname = 'example.com'"
        );
        let rows = self.rows(&sql);
        assert!(rows.len() <= 1);
        let row = rows.into_iter().next()?;
        let [score, events, fetched, made, changed] = <[_; 5]>::try_from(row).unwrap();
        let events = serde_json::from_str(&events.unwrap()).unwrap();
        Some((score.unwrap(), events, [fetched, made, changed]))
    }
}

fn view(store: &StoreHandle<Clocks>) -> View {
    now(store.load(&HostKey::parse("example.com").unwrap())).unwrap()
}

/// The commit of an exchange with this status, and the risk that it adds.
fn exchanged(view: &View, points: Option<u8>, status: u16) -> Commit {
    let mut state = HostState::clone(&view.state);
    state.turn += 1;
    if let Some(points) = points {
        let days =
            state.risk.as_of.map_or(0.0, |as_of| (view.now - as_of).as_secs_f32() / 86_400.0);
        state.risk.score = state.risk.score * 0.9_f32.powf(days) + f32::from(points);
        state.risk.as_of = Some(view.now);
    }
    let signal = format!("{status}:example.com/admin");
    let friction = points.map(|points| FrictionEvent { signal, points });
    let sent = view.now.back(Duration::from_secs(1));
    let exchanged = Some(Exchanged { sent, friction });
    Commit { state: Some(state.into()), exchanged, ..plain(view) }
}

fn done(told: Result<Committed, StoreError>) {
    assert!(matches!(told, Ok(Committed::Done(_))), "{told:?}");
}

#[test]
fn the_tables_have_the_columns_that_were_asked_for() {
    Shown::on_each(|shown| {
        drop(shown.open());
        let (risk, pages) = (shown.columns("domain_risk"), shown.columns("url_fetch_cache"));
        match shown.kept {
            Kept::File(_) => {
                assert_eq!(
                    risk,
                    [
                        "hostname text key",
                        "risk_score integer default 0",
                        "friction_events text default '[]'",
                        "last_fetch_at text",
                        "created_at text",
                        "updated_at text",
                    ]
                );
                assert_eq!(
                    pages,
                    [
                        "url_hash text key",
                        "url text not null",
                        "hostname text not null",
                        "content text",
                        "status_code integer",
                        "headers text",
                        "content_hash text",
                        "fetched_at text",
                        "expires_at text",
                        "url_key text not null",
                    ]
                );
            }
            #[cfg(feature = "postgres")]
            Kept::Postgres { .. } => {
                assert_eq!(
                    risk,
                    [
                        "hostname character varying key",
                        "risk_score integer default 0",
                        "friction_events jsonb default '[]'::jsonb",
                        "last_fetch_at timestamp without time zone",
                        "created_at timestamp without time zone",
                        "updated_at timestamp without time zone",
                    ]
                );
                assert_eq!(
                    pages,
                    [
                        "url_hash character varying key",
                        "url text not null",
                        "hostname character varying not null",
                        "content text",
                        "status_code integer",
                        "headers jsonb",
                        "content_hash character varying",
                        "fetched_at timestamp without time zone",
                        "expires_at timestamp without time zone",
                        "url_key text not null",
                    ]
                );
            }
        }
    });
}

#[test]
fn a_ledger_that_shows_nothing_has_no_such_tables() {
    let folder = Folder::new("unshown");
    drop(MachineStore::open_passing(folder.ledger(), Options::default()).unwrap());
    let db = Connection::open(folder.ledger()).unwrap();
    let sql = "SELECT count(*) FROM sqlite_schema WHERE name IN ('domain_risk', 'url_fetch_cache')";
    assert_eq!(db.query_row(sql, [], |row| row.get(0)), Ok(0));
    let cache =
        MachineStore::open_passing(folder.ledger(), Options::default()).unwrap().handle().cache();
    let record = page("https://example.com/");
    now(cache.put(&record, kept(BEGIN), None));
    assert_eq!(now(cache.get(record.url.key())), None);
}

#[test]
fn risk_is_shown_after_403_429_and_200() {
    Shown::on_each(|shown| {
        let crawl = shown.open();
        let store = crawl.handle();
        done(now(store.commit(turn(&view(&store), LeaseId(1)))));
        assert_eq!(shown.risk(), None, "a turn that was booked is no fetch");
        let at = |after: Duration| timestamp(BEGIN + after);
        let second = Duration::from_secs(1);
        let text = |text: &str| Some(text.to_owned());
        let first = serde_json::json!(
            { "at": "2027-01-15T08:00:00.000Z", "signal": "403:example.com/admin", "points": 20 }
        );

        done(now(store.commit(exchanged(&view(&store), Some(20), 403))));
        let (score, events, [fetched, made, changed]) = shown.risk().unwrap();
        assert_eq!((score.as_str(), events), ("20", serde_json::json!([first])));
        assert_eq!(fetched, text("2027-01-15T07:59:59.000Z"));
        assert_eq!((made, changed), (text("2027-01-15T08:00:00.000Z"), Some(at(Duration::ZERO))));

        shown.pass(DAY);
        done(now(store.commit(exchanged(&view(&store), Some(30), 429))));
        let (score, events, times) = shown.risk().unwrap();
        let second_event = serde_json::json!(
            { "at": at(DAY), "signal": "429:example.com/admin", "points": 30 }
        );
        // 20 × 0.9 + 30
        assert_eq!((score.as_str(), &events), ("48", &serde_json::json!([first, second_event])));
        assert_eq!(times, [Some(at(DAY - second)), Some(at(Duration::ZERO)), Some(at(DAY))]);

        shown.pass(DAY);
        done(now(store.commit(exchanged(&view(&store), None, 200))));
        let after = shown.risk().unwrap();
        let times = [Some(at(2 * DAY - second)), Some(at(Duration::ZERO)), Some(at(2 * DAY))];
        // 48 × 0.9
        assert_eq!(after, ("43".to_owned(), events, times));

        shown.pass(DAY);
        done(now(store.commit(turn(&view(&store), LeaseId(2)))));
        assert_eq!(shown.risk().unwrap(), after, "a turn that was booked changes nothing");
    });
}

#[test]
fn the_last_hundred_signals_are_shown() {
    Shown::on_each(|shown| {
        let crawl = shown.open();
        let store = crawl.handle();
        for n in 0..103 {
            done(now(store.commit(exchanged(&view(&store), Some(1), 400 + n))));
        }
        let (score, events, _) = shown.risk().unwrap();
        let signals: Vec<_> = events.as_array().unwrap().iter().map(|e| &e["signal"]).collect();
        assert_eq!((score.as_str(), signals.len()), ("100", 100));
        assert_eq!(signals[0], "403:example.com/admin");
        assert_eq!(signals[99], "502:example.com/admin");
        // Other content in this column does no harm.
        shown.run(
            "UPDATE domain_risk SET friction_events = '{'",
            "UPDATE domain_risk SET friction_events = '{}'",
        );
        done(now(store.commit(exchanged(&view(&store), Some(1), 403))));
        assert_eq!(shown.risk().unwrap().1.as_array().unwrap().len(), 1);
        shown.run(
            "UPDATE domain_risk SET friction_events = NULL",
            "UPDATE domain_risk SET friction_events = NULL",
        );
        done(now(store.commit(exchanged(&view(&store), Some(1), 403))));
        assert_eq!(shown.risk().unwrap().1.as_array().unwrap().len(), 1);
    });
}

#[test]
fn what_is_shown_and_the_state_are_one_transaction() {
    Shown::on_each(|shown| {
        let (crawl, other) = (shown.open(), shown.open());
        let (store, reader) = (crawl.handle(), other.handle());
        let known = view(&store);
        done(now(store.commit(exchanged(&known, Some(20), 403))));
        let stale = now(store.commit(exchanged(&known, Some(30), 429))).unwrap();
        assert!(matches!(stale, Committed::Stale(_)));
        assert_eq!(shown.risk().unwrap().0, "20", "what is stale is not shown");
        for table in ["domain_risk", "url_fetch_cache"] {
            let before = view(&reader);
            shown.run(
                &format!("CREATE TRIGGER refuses BEFORE INSERT ON {table} BEGIN SELECT raise(ABORT, 'no'); END"),
                &format!("ALTER TABLE {table} ADD CONSTRAINT refuses CHECK (false) NOT VALID"),
            );
            let record = page("https://example.com/a");
            let commit = || Commit { urls: held(&record), ..exchanged(&before, Some(20), 403) };
            let told = with_page(&store, commit(), &record, kept(BEGIN), HTML);
            assert!(matches!(told, Err(StoreError::Unknown("commit"))), "{table}: {told:?}");
            let after = view(&reader);
            assert_eq!((after.version, &after.state), (before.version, &before.state), "{table}");
            shown.run(
                "DROP TRIGGER refuses",
                &format!("ALTER TABLE {table} DROP CONSTRAINT refuses"),
            );
            // The next commit takes the page.
            done(now(store.commit(commit())));
            assert!(view(&reader).version > before.version);
            assert!(now(reader.cache().page(record.url.key())).is_some(), "{table}");
            shown.run("DELETE FROM url_fetch_cache", "DELETE FROM url_fetch_cache");
        }
    });
}

fn page(url: &str) -> UrlRecord {
    UrlRecord::page(CrawlUrl::parse(url).unwrap(), 0)
}

/// The change of a URL whose answer a worker holds.
fn held(record: &UrlRecord) -> Vec<UrlWrite> {
    let to = Some(UrlRecord { held: true, ..record.clone() });
    vec![UrlWrite { from: Some(record.host().clone()), id: record.id, claim: None, to }]
}

fn kept(fresh_until: Time) -> CachedPage {
    CachedPage { fresh_until, etag: Some("\"a\"".into()), last_modified: None }
}

/// The head of a page's answer, and its body.
type Said<'a> = Option<(&'a str, &'a [u8])>;

const HTML: Said<'static> = Some(("text/html; charset=iso-8859-1", b"<p>caf\xe9"));

/// Waits for both as the engine does: in each round the commit first, then the page.
fn together<T>(commit: impl Future<Output = T>, put: impl Future<Output = ()>) -> T {
    let (mut commit, mut put) = (pin!(commit), pin!(put));
    let mut cx = Context::from_waker(Waker::noop());
    let (mut told, mut is_put) = (None, false);
    loop {
        if told.is_none()
            && let Poll::Ready(answer) = commit.as_mut().poll(&mut cx)
        {
            told = Some(answer);
        }
        is_put = is_put || put.as_mut().poll(&mut cx).is_ready();
        if is_put && let Some(told) = told.take() {
            return told;
        }
    }
}

/// Commits, and keeps the page of the same answer as the engine does.
fn with_page(
    store: &StoreHandle<Clocks>,
    commit: Commit,
    record: &UrlRecord,
    page: CachedPage,
    said: Said<'_>,
) -> Result<Committed, StoreError> {
    let cache = store.cache();
    together(store.commit(commit), put(&cache, record, page, said))
}

async fn put(cache: &dyn Cache, record: &UrlRecord, page: CachedPage, said: Said<'_>) {
    let answer = said.map(|(content_type, body)| {
        let head = Head {
            status: 200,
            etag: page.etag.clone(),
            content_type: Some(content_type.to_owned()),
            others: vec![("server".into(), "a".into()), ("server".into(), "b".into())],
            ..Head::default()
        };
        (Arc::new(head), Fetched { body: body.to_vec().into() })
    });
    cache.put(record, page, answer.as_ref().map(|(head, fetched)| (head, fetched))).await;
}

impl Shown {
    /// Returns the row of a page: hash, URL, host, text, status, headers, hash of the body,
    /// fetched, expires.
    fn page(&self, url: &str) -> Option<[Option<String>; 9]> {
        let (fetched, expires) = (self.moment("fetched_at"), self.moment("expires_at"));
        let sql = format!(
            "SELECT url_hash, url, hostname, content, status_code, headers, content_hash, {fetched}, {expires}
            FROM url_fetch_cache WHERE url = '{url}'"
        );
        self.rows(&sql).into_iter().next().map(|row| row.try_into().unwrap())
    }

    /// Returns the number of transactions that wrote, where they are counted.
    fn writes(&self) -> Option<String> {
        match &self.kept {
            Kept::File(_) => None,
            #[cfg(feature = "postgres")]
            Kept::Postgres { .. } => self.rows("SELECT writes FROM curtsy_ledger")[0][0].clone(),
        }
    }
}

#[test]
fn a_page_goes_with_the_commit_of_its_exchange() {
    Shown::on_each(|shown| {
        let (crawl, other) = (shown.open(), shown.open());
        let (store, reader) = (crawl.handle(), other.handle());
        let record = page("https://example.com/a?b");
        let known = view(&store);
        let before = shown.writes().map(|writes| writes.parse::<u64>().unwrap());
        let commit = Commit { urls: held(&record), ..exchanged(&known, None, 200) };
        done(with_page(&store, commit.clone(), &record, kept(BEGIN + DAY), HTML));
        let after = shown.writes().map(|writes| writes.parse::<u64>().unwrap());
        assert_eq!(after, before.map(|writes| writes + 1), "one transaction");

        let [hash, url, hostname, content, status, headers, content_hash, fetched, expires] =
            shown.page("https://example.com/a?b").unwrap().map(Option::unwrap);
        // printf 'https://example.com/a?b' | sha256sum; printf '<p>caf\xe9' | sha256sum
        assert_eq!(hash, "cb08e810c9eb970764496913696523e787bd7347bbbbafe64d99cafd326bfcdd");
        assert_eq!(
            content_hash,
            "657717418d92278ec299621f501a8e7057f49368959d1ea33680dfd2be801792"
        );
        assert_eq!((url.as_str(), hostname.as_str()), ("https://example.com/a?b", "example.com"));
        assert_eq!((content.as_str(), status.as_str()), ("<p>café", "200"));
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&headers).unwrap(),
            serde_json::json!({
                "etag": "\"a\"",
                "content-type": "text/html; charset=iso-8859-1",
                "server": ["a", "b"],
            })
        );
        assert_eq!((fetched, expires), (timestamp(BEGIN), timestamp(BEGIN + DAY)));

        // The page comes back in UTF-8.
        let cache = reader.cache();
        now(cache.look_ahead(&[record.url.key(), page("https://example.com/").url.key()]));
        assert_eq!(now(cache.get(record.url.key())), Some(kept(BEGIN + DAY)));
        assert_eq!(now(cache.get(page("https://example.com/").url.key())), None);
        let (head, fetched) = now(cache.page(record.url.key())).unwrap();
        assert_eq!(fetched.body, "<p>café");
        assert_eq!(head.content_type.as_deref(), Some("text/html; charset=utf-8"));
        assert_eq!((head.status, head.etag.as_deref()), (200, Some("\"a\"")));

        // A stale commit keeps no page. The page waits for the next commit and counts meanwhile.
        let record = page("https://example.com/c");
        let stale = Commit { urls: held(&record), ..commit };
        let told = with_page(&store, stale, &record, kept(BEGIN), HTML);
        assert!(matches!(told, Ok(Committed::Stale(_))), "{told:?}");
        assert_eq!(shown.page("https://example.com/c"), None);
        assert_eq!(now(store.cache().get(record.url.key())), Some(kept(BEGIN)));
        assert_eq!(now(store.cache().page(record.url.key())).unwrap().1.body, "<p>café");
        assert_eq!(now(cache.get(record.url.key())), None, "nobody else has it");
        done(now(store.commit(exchanged(&view(&store), None, 200))));
        assert_eq!(shown.page("https://example.com/c"), None, "that was of another page");
        let booked = Commit { urls: held(&record), ..turn(&view(&store), LeaseId(1)) };
        done(now(store.commit(booked)));
        assert_eq!(shown.page("https://example.com/c"), None, "and that was no exchange");
        let again = Commit { urls: held(&record), ..exchanged(&view(&store), None, 200) };
        done(now(store.commit(again)));
        assert!(shown.page("https://example.com/c").is_some());
        assert_eq!(now(cache.get(record.url.key())), Some(kept(BEGIN)));
    });
}

#[test]
fn a_page_that_is_confirmed_stays_and_is_fresh_again() {
    Shown::on_each(|shown| {
        let crawl = shown.open();
        let (store, record) = (crawl.handle(), page("https://example.com/a"));
        let cache = store.cache();
        // Without such a commit the page is written alone.
        now(put(&cache, &record, kept(BEGIN), HTML));
        let first = shown.page("https://example.com/a").unwrap();
        shown.pass(DAY);
        let confirmed = CachedPage {
            fresh_until: BEGIN + 3 * DAY,
            etag: Some("\"b\"".into()),
            last_modified: Some("Thu, 14 Jan 2027 08:00:00 GMT".into()),
        };
        let commit = Commit { urls: held(&record), ..exchanged(&view(&store), None, 304) };
        done(with_page(&store, commit, &record, confirmed.clone(), None));
        assert_eq!(now(cache.get(record.url.key())), Some(confirmed));
        let (head, fetched) = now(cache.page(record.url.key())).unwrap();
        assert_eq!((head.status, head.etag.as_deref()), (200, Some("\"b\"")));
        assert_eq!((head.others.len(), &fetched.body[..]), (2, "<p>café".as_bytes()));
        let second = shown.page("https://example.com/a").unwrap();
        assert_eq!(second[..5], first[..5]);
        assert_eq!(second[6], first[6]);
        assert_eq!(second[7..], [Some(timestamp(BEGIN + DAY)), Some(timestamp(BEGIN + 3 * DAY))]);
        // A page that is not kept can't be confirmed.
        let other = page("https://example.com/b");
        now(put(&cache, &other, kept(BEGIN), None));
        assert_eq!(now(cache.get(other.url.key())), None);
    });
}

#[test]
fn bodies_that_are_not_text_or_too_large_are_not_kept_as_text() {
    Shown::on_each(|shown| {
        let crawl = shown.open();
        let (cache, record) = (crawl.handle().cache(), page("https://example.com/a"));
        now(put(&cache, &record, kept(BEGIN), Some(("image/png", b"\x89PNG\r\n\x1a\n\0"))));
        let row = shown.page("https://example.com/a").unwrap();
        assert_eq!((&row[3], row[4].as_deref()), (&None, Some("200")));
        assert_eq!(now(cache.get(record.url.key())), Some(kept(BEGIN)));
        assert_eq!(now(cache.page(record.url.key())), None);
        // A character that Postgres does not accept does not prevent this.
        now(put(&cache, &record, kept(BEGIN), Some(("text/html", b"a\0b"))));
        assert_eq!(now(cache.page(record.url.key())).unwrap().1.body, "ab");
        let large = vec![b'a'; 2 * 1024 * 1024 + 1];
        now(put(&cache, &record, kept(BEGIN), Some(("text/html", &large))));
        assert_eq!(shown.page("https://example.com/a"), None, "what was held counts no more");
        assert_eq!(now(cache.get(record.url.key())), None);
    });
}

#[test]
fn pages_that_went_stale_long_ago_are_thrown_away() {
    Shown::on_each(|shown| {
        let cache = shown.open().handle().cache();
        for (url, fresh) in [("https://example.com/a", DAY), ("https://example.com/b", 2 * DAY)] {
            now(put(&cache, &page(url), kept(BEGIN + fresh), HTML));
        }
        drop(cache);
        shown.pass(31 * DAY + Duration::from_secs(1));
        drop(shown.open());
        assert_eq!(shown.page("https://example.com/a"), None);
        assert!(shown.page("https://example.com/b").is_some());
    });
}
