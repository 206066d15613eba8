//! The tables of the requirement, as any tool finds them in the file.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::place::{Folder, Service, spec};
use crate::sites::{business, page, serve};

/// A table's columns: their names, and whether each must have a value or is the key.
fn columns(db: &Connection, table: &str) -> Vec<(String, String)> {
    let mut statement = db.prepare("SELECT name, type FROM pragma_table_info(?1)").unwrap();
    let rows = statement.query_map([table], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

fn names(db: &Connection, table: &str) -> Vec<String> {
    columns(db, table).into_iter().map(|(name, _)| name).collect()
}

fn text(db: &Connection, sql: &str) -> String {
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn tables_have_the_seeds_columns() {
    let folder = Folder::new();
    let _service = Service::start(spec(folder.store()));
    let db = folder.database();
    assert_eq!(
        names(&db, "domain_risk"),
        ["hostname", "risk_score", "friction_events", "last_fetch_at", "created_at", "updated_at"]
    );
    assert_eq!(
        names(&db, "ingestion_runs"),
        [
            "id",
            "trace_id",
            "orbit_slug",
            "mode",
            "started_at",
            "completed_at",
            "outcome",
            "evidence"
        ]
    );
    let cache = names(&db, "url_fetch_cache");
    let of_the_seed = [
        "url_hash",
        "url",
        "hostname",
        "content",
        "status_code",
        "headers",
        "content_hash",
        "fetched_at",
        "expires_at",
    ];
    assert_eq!(cache[..9], of_the_seed);
    // One more, by which the store finds a page without its text.
    assert_eq!(cache[9..], ["url_key"]);
}

#[test]
fn rows_say_what_happened() {
    let folder = Folder::new();
    let sites = serve(vec![business("shop.test")]);
    let service = Service::start(spec(folder.store()));
    let answer =
        service.ingest("shop", &json!({"url": page(&sites, "shop.test", "/"), "mode": "light"}));
    let db = folder.database();
    let run = "SELECT json_object('trace', trace_id, 'orbit', orbit_slug, 'mode', mode, 'outcome', outcome, 'evidence', json(evidence)) FROM ingestion_runs";
    let run: Value = serde_json::from_str(&text(&db, run)).unwrap();
    let evidence = &answer["evidence"];
    assert_eq!(
        run,
        json!({"trace": evidence["traceId"], "orbit": "shop", "mode": "light", "outcome": "success", "evidence": evidence})
    );
    // Moments are ISO-8601 in UTC.
    let moment = "____-__-__T__:__:__.___Z";
    let moments = format!(
        "SELECT count(*) || '' FROM ingestion_runs WHERE started_at LIKE '{moment}' AND completed_at LIKE '{moment}'"
    );
    assert_eq!(text(&db, &moments), "1");
    let pages = "SELECT count(*) || ' of ' || sum(length(url_hash) = 64 AND length(content_hash) = 64 AND hostname = 'shop.test' AND status_code = 200 AND json_valid(headers)) FROM url_fetch_cache WHERE url NOT LIKE '%.xml'";
    assert_eq!(text(&db, pages), "7 of 7");
    let lasts = "SELECT group_concat(DISTINCT round((julianday(expires_at) - julianday(fetched_at)) * 24)) FROM url_fetch_cache WHERE url NOT LIKE '%.xml'";
    assert_eq!(text(&db, lasts), "24.0");
    let risk = "SELECT hostname || ' ' || risk_score || ' ' || friction_events FROM domain_risk";
    assert_eq!(text(&db, risk), "shop.test 0 []");
}
