//! The limits of the service, from the constants that it goes by.

use std::time::Duration;

use curtsy_core::limits::{Bound, Limit};

use crate::db::{IDLE_MAX, postgres};
use crate::door::{CHANGES_A_MINUTE, WRONG_A_MINUTE, limit as rate, session};
use crate::ingest::{callback, keeper, order, run};
use crate::listen::{Bounds, LAST};
use crate::pages::by_hand;
use crate::{api, orbit, pages, records};

/// The limits of this crate: who asks the service, what they bring, and what runs take up.
pub fn limits() -> Vec<Limit> {
    [askers(), orders(), runs()].concat()
}

fn askers() -> Vec<Limit> {
    let listen = Bounds::default();
    let full = "429 with `Retry-After`";
    vec![
        limit(
            "service.connections",
            "connections at once, live progress included",
            count(listen.connections),
            "the next one waits",
        ),
        limit(
            "service.head",
            "the head of a request, and an idle connection",
            Bound::Within(listen.head),
            "the connection is closed",
        ),
        limit("service.body", "the body of a request", Bound::Within(listen.body), "400"),
        limit(
            "service.last",
            "answers that are under way when the service ends",
            Bound::Within(LAST),
            "the connections are closed",
        ),
        limit(
            "service.changes",
            "calls a minute by which one address changes something",
            Bound::Count(CHANGES_A_MINUTE.into()),
            full,
        ),
        limit(
            "service.wrong",
            "wrong tokens and codes a minute from one address",
            Bound::Count(WRONG_A_MINUTE.into()),
            full,
        ),
        limit(
            "service.addresses",
            "addresses whose calls are counted",
            count(rate::ADDRESSES_MAX),
            "those that made none for a minute are forgotten",
        ),
        limit(
            "service.sessions",
            "browsers that are signed in",
            count(session::SESSIONS_MAX),
            "the oldest session ends",
        ),
        limit(
            "service.session",
            "a session",
            Bound::Within(Duration::from_secs(session::SESSION_SECONDS)),
            "whoever comes later signs in again",
        ),
        limit(
            "service.code",
            "a code that signs a browser in",
            Bound::Within(Duration::from_secs(session::CODE_SECONDS)),
            "it is worth nothing",
        ),
        limit(
            "service.listed",
            "runs of a list that is asked for",
            Bound::Count(records::SHOWN_MAX.unsigned_abs()),
            "400; `before` has the next ones",
        ),
    ]
}

fn orders() -> Vec<Limit> {
    let (large, refused) = ("413", "422, with what would do");
    vec![
        limit("service.order_bytes", "an order", bytes(api::BODY_BYTES_MAX), large),
        limit("service.form_bytes", "a form", bytes(pages::FORM_BYTES_MAX), large),
        limit(
            "service.import_bytes",
            "what is brought by hand",
            bytes(api::IMPORT_BYTES_MAX),
            "413; the form says so",
        ),
        limit("service.import_form_bytes", "and its form", bytes(by_hand::FORM_BYTES_MAX), large),
        limit(
            "service.line_bytes",
            "a field of a form with one line",
            bytes(by_hand::LINE_BYTES_MAX),
            "the form says so",
        ),
        limit("service.slug_bytes", "the slug of an orbit", bytes(orbit::SLUG_BYTES_MAX), "400"),
        limit("service.url_bytes", "an address in an order", bytes(order::URL_BYTES_MAX), refused),
        limit("service.urls", "pages that a person may name", count(order::URLS_MAX), refused),
    ]
}

fn runs() -> Vec<Limit> {
    vec![
        limit("service.runs", "runs at once", count(run::RUNS_MAX), "503 with `Retry-After`"),
        limit(
            "service.starts",
            "starts of a run that the service never ends",
            Bound::Count(run::STARTS_MAX.unsigned_abs()),
            "the run is closed, by a fault of ours",
        ),
        limit(
            "service.grace",
            "what a run had sent when it was told to end",
            Bound::Within(run::GRACE),
            "no longer waited for",
        ),
        limit(
            "service.sitemaps_light",
            "sitemaps that a light run reads",
            Bound::Count(run::SITEMAPS_LIGHT.into()),
            "the rest is not asked for",
        ),
        limit(
            "service.sitemaps_standard",
            "and a standard run",
            Bound::Count(run::SITEMAPS_STANDARD.into()),
            "the rest is not asked for",
        ),
        limit(
            "service.page_bytes",
            "a page that tiles are made of",
            bytes(keeper::PAGE_BYTES_MAX),
            "the rest of it is not read",
        ),
        limit(
            "service.pages_bytes",
            "all of them, of one run",
            bytes(keeper::PAGES_BYTES_MAX),
            "no tiles are made of the others",
        ),
        limit(
            "service.title_chars",
            "characters of a title that is kept",
            count(keeper::TITLE_MAX),
            "cut",
        ),
        limit(
            "service.callbacks",
            "tries to tell somebody that a run has ended",
            count(callback::TRIES.len()),
            "the run says that they were not told",
        ),
        limit(
            "service.database_idle",
            "idle connections to the service's database",
            count(IDLE_MAX),
            "closed",
        ),
        limit(
            "service.database_connect",
            "connecting to Postgres",
            Bound::Within(postgres::CONNECT),
            "500, with what went wrong",
        ),
        limit(
            "service.database_statement",
            "a statement",
            Bound::Within(postgres::STATEMENT),
            "500, with what went wrong",
        ),
        limit("service.database_lock", "its wait for a lock", Bound::Within(postgres::LOCK), "500"),
    ]
}

fn limit(name: &'static str, what: &'static str, bound: Bound, outcome: &'static str) -> Limit {
    Limit { name, what, bound, outcome, hit: None }
}

fn bytes(bytes: usize) -> Bound {
    Bound::Bytes(bytes as u64)
}

fn count(count: usize) -> Bound {
    Bound::Count(count as u64)
}
