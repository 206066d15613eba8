-- The tables besides `pages`, which is made from the list of columns.
CREATE INDEX pages_final_id ON pages (final_id) WHERE final_id IS NOT NULL;
CREATE TABLE history (
    id BLOB NOT NULL,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    decision TEXT NOT NULL,
    run INTEGER,
    url TEXT NOT NULL,
    host TEXT NOT NULL,
    http_status INTEGER,
    error TEXT,
    friction TEXT,
    retry_after_ms INTEGER,
    gate TEXT,
    not_before TEXT,
    follows TEXT,
    delay_ms INTEGER,
    delay_by TEXT,
    robots_file BLOB,
    robots_line INTEGER,
    findings BLOB NOT NULL,
    reason TEXT,
    robots_rule TEXT,
    robots_confidence TEXT,
    crawl_delay_ms INTEGER,
    PRIMARY KEY (id, at, kind, decision)
) WITHOUT ROWID;
CREATE TABLE runs (
    number INTEGER PRIMARY KEY,
    trace_id TEXT NOT NULL UNIQUE,
    started_at TEXT NOT NULL,
    ended_at TEXT,
    command TEXT NOT NULL,
    policy TEXT NOT NULL,
    policy_hash TEXT NOT NULL,
    outcome TEXT,
    figures TEXT,
    evidence TEXT,
    anew INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE sitemap_urls (
    url TEXT NOT NULL,
    sitemap TEXT NOT NULL,
    lastmod TEXT,
    changefreq TEXT,
    priority REAL,
    PRIMARY KEY (url, sitemap)
) WITHOUT ROWID;
