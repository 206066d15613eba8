//! The limits of the service, from the constants that it goes by.

use std::time::Duration;

use curtsy_core::limits::Limit;
use curtsy_fetch::Callback;

use crate::db::{IDLE_MAX, postgres};
use crate::door::{CHANGES_A_MINUTE, WRONG_A_MINUTE, limit as rate, session};
use crate::ingest::{keeper, order, run, survey};
use crate::listen::{Bounds, LAST};
use crate::pages::by_hand;
use crate::{api, orbit, pages, records};

/// The limits of this crate: who asks the service, what they bring, and what runs take up.
pub fn limits() -> Vec<Limit> {
    let listen = Bounds::default();
    vec![
        Limit::count("service.connections", listen.connections),
        Limit::within("service.head", listen.head),
        Limit::within("service.body", listen.body),
        Limit::within("service.last", LAST),
        Limit::count("service.changes", CHANGES_A_MINUTE),
        Limit::count("service.wrong", WRONG_A_MINUTE),
        Limit::count("service.addresses", rate::ADDRESSES_MAX),
        Limit::count("service.sessions", session::SESSIONS_MAX),
        Limit::within("service.session", Duration::from_secs(session::SESSION_SECONDS)),
        Limit::within("service.code", Duration::from_secs(session::CODE_SECONDS)),
        Limit::count("service.listed", records::SHOWN_MAX),
        Limit::bytes("service.order_bytes", api::BODY_BYTES_MAX),
        Limit::bytes("service.form_bytes", pages::FORM_BYTES_MAX),
        Limit::bytes("service.import_bytes", api::IMPORT_BYTES_MAX),
        Limit::bytes("service.import_form_bytes", by_hand::FORM_BYTES_MAX),
        Limit::bytes("service.line_bytes", by_hand::LINE_BYTES_MAX),
        Limit::bytes("service.slug_bytes", orbit::SLUG_BYTES_MAX),
        Limit::bytes("service.url_bytes", order::URL_BYTES_MAX),
        Limit::count("service.urls", order::URLS_MAX),
        Limit::count("service.runs", run::RUNS_MAX),
        Limit::count("service.starts", run::STARTS_MAX),
        Limit::within("service.grace", run::GRACE),
        Limit::count("service.sitemaps_light", run::SITEMAPS_LIGHT),
        Limit::count("service.sitemaps_standard", run::SITEMAPS_STANDARD),
        Limit::bytes("service.page_bytes", keeper::PAGE_BYTES_MAX),
        Limit::bytes("service.pages_bytes", keeper::PAGES_BYTES_MAX),
        Limit::count("service.title_chars", keeper::TITLE_MAX),
        Limit::count("service.callbacks", Callback::TRIES.len()),
        Limit::count("service.database_idle", IDLE_MAX),
        Limit::within("service.database_connect", postgres::CONNECT),
        Limit::within("service.database_statement", postgres::STATEMENT),
        Limit::within("service.database_lock", postgres::LOCK),
        Limit::count("survey.candidates", survey::CANDIDATES_MAX),
        Limit::count("survey.sitemaps", survey::LEFT_MAX),
        Limit::count("survey.forbidden", survey::FORBIDDEN_MAX),
    ]
}
