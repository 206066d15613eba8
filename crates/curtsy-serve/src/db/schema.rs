//! The tables, for both databases. `{serial}`, `{json}` and `{moment}` stand for types.

/// What a database calls its types.
pub(super) struct Types {
    serial: &'static str,
    json: &'static str,
    moment: &'static str,
}

impl Types {
    pub(super) const SQLITE: Types =
        Types { serial: "INTEGER PRIMARY KEY", json: "TEXT", moment: "TEXT" };
    pub(super) const POSTGRES: Types =
        Types { serial: "SERIAL PRIMARY KEY", json: "JSONB", moment: "TIMESTAMP" };

    pub(super) fn spell(&self, step: &str) -> String {
        step.replace("{serial}", self.serial)
            .replace("{json}", self.json)
            .replace("{moment}", self.moment)
    }
}

/// Names that nobody else's tables may have.
pub(super) const NAMES: &[&str] =
    &["ingestion_runs", "run_orders", "run_pages", "run_requests", "run_tiles", "health_checks"];

/// How each version is made from the one before.
pub(super) const STEPS: &[&str] = &[
    "
CREATE TABLE ingestion_runs (
    id {serial},
    trace_id VARCHAR NOT NULL UNIQUE,
    orbit_slug VARCHAR NOT NULL,
    mode VARCHAR NOT NULL,
    started_at {moment},
    completed_at {moment},
    outcome VARCHAR,
    evidence {json}
);
CREATE INDEX ingestion_runs_of_orbit ON ingestion_runs (orbit_slug, id);
CREATE TABLE run_orders (
    trace_id VARCHAR PRIMARY KEY,
    url TEXT NOT NULL,
    hostname VARCHAR NOT NULL,
    user_urls {json} NOT NULL,
    starts INTEGER NOT NULL,
    plan {json},
    callback TEXT,
    called_back VARCHAR
);
CREATE INDEX run_orders_of_host ON run_orders (hostname);
CREATE TABLE run_pages (
    trace_id VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    url TEXT NOT NULL,
    url_hash VARCHAR NOT NULL,
    final_url TEXT NOT NULL,
    kind VARCHAR NOT NULL,
    decision VARCHAR NOT NULL,
    status_code INTEGER,
    error VARCHAR,
    title TEXT,
    used BOOLEAN NOT NULL,
    content_hash VARCHAR,
    changed BOOLEAN,
    robots_rule TEXT,
    robots_line INTEGER,
    delay_ms BIGINT,
    delay_by VARCHAR,
    reasons {json} NOT NULL,
    decided_at {moment} NOT NULL,
    PRIMARY KEY (trace_id, number)
);
CREATE INDEX run_pages_of_url ON run_pages (url_hash, decided_at);
CREATE TABLE run_requests (
    id {serial},
    trace_id VARCHAR NOT NULL,
    hostname VARCHAR NOT NULL,
    url TEXT NOT NULL,
    kind VARCHAR NOT NULL,
    status_code INTEGER,
    outcome VARCHAR NOT NULL,
    delay_ms BIGINT,
    delay_by VARCHAR,
    asked_at {moment} NOT NULL
);
CREATE INDEX run_requests_of_host ON run_requests (hostname, id);
CREATE INDEX run_requests_of_run ON run_requests (trace_id);
CREATE TABLE run_tiles (
    trace_id VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    tile {json} NOT NULL,
    PRIMARY KEY (trace_id, number)
);
CREATE TABLE service_settings (
    name VARCHAR PRIMARY KEY,
    value TEXT NOT NULL
);
CREATE TABLE health_checks (
    check_id VARCHAR PRIMARY KEY,
    passed BOOLEAN NOT NULL,
    summary TEXT NOT NULL,
    evidence {json} NOT NULL,
    checked_at {moment} NOT NULL,
    took_ms BIGINT NOT NULL
);
",
    "
ALTER TABLE run_orders ADD COLUMN cancelled_at {moment};
",
    "
ALTER TABLE run_pages ADD COLUMN reason TEXT;
ALTER TABLE run_pages ADD COLUMN evidence {json};
",
];
