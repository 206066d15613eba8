//! The limits of the service, from the constants that it goes by.

use std::time::Duration;

use curtsy_core::limits::{Bound, Limit};
use curtsy_fetch::Callback;

use crate::db::{IDLE_MAX, postgres};
use crate::door::{CHANGES_A_MINUTE, WRONG_A_MINUTE, limit as rate, session};
use crate::ingest::{keeper, order, run, survey};
use crate::listen::{Bounds, LAST};
use crate::pages::by_hand;
use crate::{api, orbit, pages, records};

/// The limits of this crate: who asks the service, what they bring, and what runs take up.
pub fn limits() -> Vec<Limit> {
    [askers(), orders(), runs(), samples()].concat()
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
            "the time for open answers when the service stops",
            Bound::Within(LAST),
            "the connections are closed",
        ),
        limit(
            "service.changes",
            "changing calls a minute from one address",
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
            "addresses without a call in the last minute are forgotten",
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
            "the session ends; the user signs in again",
        ),
        limit(
            "service.code",
            "a sign-in code for a browser",
            Bound::Within(Duration::from_secs(session::CODE_SECONDS)),
            "the code is no longer valid",
        ),
        limit(
            "service.listed",
            "runs in one list",
            Bound::Count(records::SHOWN_MAX.unsigned_abs()),
            "400; `before` has the next ones",
        ),
    ]
}

fn orders() -> Vec<Limit> {
    let (large, refused) = ("413", "422; the message names the allowed values");
    vec![
        limit("service.order_bytes", "an order", bytes(api::BODY_BYTES_MAX), large),
        limit("service.form_bytes", "a form", bytes(pages::FORM_BYTES_MAX), large),
        limit(
            "service.import_bytes",
            "content that a person imports by hand",
            bytes(api::IMPORT_BYTES_MAX),
            "413; the form says so",
        ),
        limit(
            "service.import_form_bytes",
            "the form of such an import",
            bytes(by_hand::FORM_BYTES_MAX),
            large,
        ),
        limit(
            "service.line_bytes",
            "a one-line field of a form",
            bytes(by_hand::LINE_BYTES_MAX),
            "the form says so",
        ),
        limit("service.slug_bytes", "the slug of an orbit", bytes(orbit::SLUG_BYTES_MAX), "400"),
        limit("service.url_bytes", "an address in an order", bytes(order::URL_BYTES_MAX), refused),
        limit("service.urls", "pages that a person may list", count(order::URLS_MAX), refused),
    ]
}

fn runs() -> Vec<Limit> {
    vec![
        limit("service.runs", "runs at once", count(run::RUNS_MAX), "503 with `Retry-After`"),
        limit(
            "service.starts",
            "starts of a run that never ends",
            Bound::Count(run::STARTS_MAX.unsigned_abs()),
            "the run is closed with an error of the service",
        ),
        limit(
            "service.grace",
            "the time for open requests when a run is stopped",
            Bound::Within(run::GRACE),
            "the run no longer waits for them",
        ),
        limit(
            "service.sitemaps_light",
            "sitemaps that a light run reads",
            Bound::Count(run::SITEMAPS_LIGHT.into()),
            "the rest is not fetched",
        ),
        limit(
            "service.sitemaps_standard",
            "sitemaps that a standard run reads",
            Bound::Count(run::SITEMAPS_STANDARD.into()),
            "the rest is not fetched",
        ),
        limit(
            "service.page_bytes",
            "a page from which tiles are extracted",
            bytes(keeper::PAGE_BYTES_MAX),
            "the rest of the page is not read",
        ),
        limit(
            "service.pages_bytes",
            "all such pages of one run",
            bytes(keeper::PAGES_BYTES_MAX),
            "no tiles are extracted from the other pages",
        ),
        limit(
            "service.title_chars",
            "characters of a stored title",
            count(keeper::TITLE_MAX),
            "truncated",
        ),
        limit(
            "service.callbacks",
            "attempts to deliver the callback of a run",
            count(Callback::TRIES.len()),
            "the run says that the callback was not delivered",
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
            "500, with the error",
        ),
        limit(
            "service.database_statement",
            "a statement",
            Bound::Within(postgres::STATEMENT),
            "500, with the error",
        ),
        limit(
            "service.database_lock",
            "a statement's wait for a lock",
            Bound::Within(postgres::LOCK),
            "500",
        ),
    ]
}

fn samples() -> Vec<Limit> {
    vec![
        limit(
            "survey.candidates",
            "URLs from which a sample is chosen",
            count(survey::CANDIDATES_MAX),
            "the rest is ignored",
        ),
        limit(
            "survey.sitemaps",
            "queued URLs that are searched for sitemaps, which come first",
            count(survey::LEFT_MAX),
            "the sample does not wait for other sitemaps",
        ),
        limit(
            "survey.forbidden",
            "pages that robots.txt forbids and that a plan lists",
            count(survey::FORBIDDEN_MAX),
            "the others are not listed",
        ),
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
