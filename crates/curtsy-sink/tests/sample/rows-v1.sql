PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE store_version (
    what TEXT PRIMARY KEY,
    version INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO store_version VALUES('frontier',1);
INSERT INTO store_version VALUES('rows',1);
CREATE TABLE job (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    ledger INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    pages INTEGER NOT NULL
);
INSERT INTO job VALUES(1,1794966342761813,1794966342787882,2);
CREATE TABLE frontier_hosts (
    id INTEGER PRIMARY KEY,
    host TEXT NOT NULL UNIQUE,
    queued INTEGER NOT NULL,
    due INTEGER
);
INSERT INTO frontier_hosts VALUES(1,'127.0.0.1',0,NULL);
CREATE TABLE frontier (
    host INTEGER NOT NULL,
    ready INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    number INTEGER NOT NULL,
    key BLOB NOT NULL,
    url TEXT NOT NULL,
    more BLOB,
    PRIMARY KEY (host, ready, rank, depth, number)
) WITHOUT ROWID;
CREATE TABLE known (
    key BLOB PRIMARY KEY
) WITHOUT ROWID;
INSERT INTO known VALUES(X'393056e3da29334d677c6dd8233693d7');
INSERT INTO known VALUES(X'8887e6766dc71215bb6956240c810978');
INSERT INTO known VALUES(X'd7e3a622fe284a1a6ae662dfe791dddd');
CREATE TABLE journal (
    id INTEGER PRIMARY KEY,
    changes BLOB NOT NULL
);
CREATE TABLE reminded (
    key BLOB PRIMARY KEY,
    epoch INTEGER NOT NULL,
    url TEXT NOT NULL,
    ready INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    more BLOB
) WITHOUT ROWID;
CREATE TABLE pages (
    number INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    url TEXT NOT NULL,
    surt_key TEXT NOT NULL,
    http_status INTEGER,
    content_type TEXT,
    crawl_time TEXT,
    error TEXT,
    etag TEXT,
    last_modified TEXT,
    content_hash TEXT,
    final_url TEXT NOT NULL,
    redirect_count INTEGER NOT NULL,
    fetched_at TEXT,
    title TEXT,
    robots_rule TEXT,
    delay_by TEXT,
    decision TEXT NOT NULL,
    gate TEXT,
    delay_ms INTEGER,
    robots_line INTEGER,
    decided_at TEXT NOT NULL,
    host TEXT NOT NULL,
    kind TEXT NOT NULL,
    depth INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    run INTEGER,
    friction TEXT,
    retry_after_ms INTEGER,
    robots_file BLOB,
    findings BLOB,
    fresh_until TEXT,
    peer TEXT,
    latency_ms REAL,
    charset TEXT,
    canonical TEXT,
    refresh TEXT,
    noindex INTEGER,
    nofollow INTEGER,
    body_bytes INTEGER,
    links_count INTEGER,
    sitemap_count INTEGER,
    final_id BLOB,
    links TEXT,
    headers TEXT,
    links_nofollow TEXT,
    frames TEXT,
    body BLOB
);
INSERT INTO pages VALUES(1,X'8887e6766dc71215bb6956240c810978','http://127.0.0.1:18765/v1/index.html','1,0,0,127:18765)/v1/index.html',200,'text/html','2026-11-18T01:45:43.000000Z',NULL,'"6afd0346-46"','Wed, 18 Nov 2026 01:45:42 GMT','a8216b96530a08b67d54fb2c62febfcfbb52045dee63c6b19424dbd78f23f0b9','http://127.0.0.1:18765/v1/index.html',0,'2026-11-18T01:45:43.297907Z','Old',NULL,'robots','fetched',NULL,500,NULL,'2026-11-18T01:45:43.297907Z','127.0.0.1','page',0,0,1,NULL,NULL,X'13a177cf01b648de2830d24aa5b3cf3f',X'85040413a177cf01b648de2830d24aa5b3cf3f004dc085b5b4e5a0b00601a0c21e1500',NULL,'127.0.0.1',0.014999999999999999444,'windows-1252',NULL,NULL,0,0,70,2,NULL,NULL,'["http://127.0.0.1:18765/v1/none.html","http://127.0.0.1:18765/private/y"]','{"content-type":"text/html","date":"Wed, 18 Nov 2026 01:45:43 GMT","etag":"\"6afd0346-46\"","last-modified":"Wed, 18 Nov 2026 01:45:42 GMT","server":"nginx/1.22.1","content-length":"70","connection":"keep-alive","accept-ranges":"bytes"}',NULL,NULL,X'3c7469746c653e4f6c643c2f7469746c653e3c6120687265663d2f76312f6e6f6e652e68746d6c3e783c2f613e3c6120687265663d2f707269766174652f793e703c2f613e0a');
INSERT INTO pages VALUES(2,X'393056e3da29334d677c6dd8233693d7','http://127.0.0.1:18765/private/y','1,0,0,127:18765)/private/y',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'http://127.0.0.1:18765/private/y',0,NULL,NULL,'Disallow: /private # keep out',NULL,'refused','robots',NULL,2,'2026-11-18T01:45:43.798469Z','127.0.0.1','page',1,0,1,NULL,NULL,X'13a177cf01b648de2830d24aa5b3cf3f',X'81048513a177cf01b648de2830d24aa5b3cf3f061500',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO pages VALUES(3,X'd7e3a622fe284a1a6ae662dfe791dddd','http://127.0.0.1:18765/v1/none.html','1,0,0,127:18765)/v1/none.html',404,'text/html','2026-11-18T01:45:43.000000Z',NULL,NULL,NULL,NULL,'http://127.0.0.1:18765/v1/none.html',0,'2026-11-18T01:45:43.798450Z',NULL,NULL,'robots','dead',NULL,500,NULL,'2026-11-18T01:45:43.798450Z','127.0.0.1','page',1,0,1,NULL,NULL,X'13a177cf01b648de2830d24aa5b3cf3f',X'85040413a177cf01b648de2830d24aa5b3cf3f004deab1f2b4e5a0b00601a0c21e1500',NULL,'127.0.0.1',0.014000000000000000291,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,NULL,'{"content-type":"text/html","date":"Wed, 18 Nov 2026 01:45:43 GMT","server":"nginx/1.22.1","content-length":"153","connection":"keep-alive"}',NULL,NULL,NULL);
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
    PRIMARY KEY (id, at, kind, decision)
) WITHOUT ROWID;
INSERT INTO history VALUES(X'8887e6766dc71215bb6956240c810978','2026-11-18T01:45:42.795407Z','robots','decide',1,'http://127.0.0.1:18765/robots.txt','127.0.0.1',200,NULL,NULL,NULL,NULL,NULL,NULL,378,'floor',NULL,NULL,X'8504010d00e588171500');
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
    evidence TEXT
);
INSERT INTO runs VALUES(1,'b6ccd521a4316ba9','2026-11-18T01:45:42.791776Z','2026-11-18T01:45:43.899064Z','curtsy crawl http://127.0.0.1:18765/v1/index.html --policy audit --into v1.db',replace('preset = "audit"\n# How long a crawl waits for hosts that must wait before it ends and says when to resume.\npatience = "10m"\n\n[identity]\n# The `product/version` of the user agent; robots.txt is matched with the product.\nproduct = "AEO-Audit/1.0"\n# Where a site owner reaches a person. No contact, no crawl (loopback excepted).\ncontact = "me@example.org"\n\n[robots]\n# How long a robots.txt that was served stays in force; it is not asked for again before.\nttl = "1h"\n# How long to wait after a robots.txt that could not be had.\ndeny_ttl = "5m"\n# What a robots.txt that can''t be had means (5xx, 429, time-out, DNS, TLS, truncated).\nunreachable = "allow"\n# What 401 and 403 on robots.txt mean; `allow` is RFC 9309.\nforbidden = "allow"\n# How a group''s agent is compared with our product: as in RFC 9309, or partially too.\nagent_match = "rfc"\n# How long a last good copy is obeyed while robots.txt can''t be had; then it counts as a 404.\nkeep = "30d"\n# How long a chain of robots.txt redirects may take.\nchain_deadline = "1m"\n\n[pace]\n# The span between two starts on a host without a Crawl-delay; a range is random. Below 200ms only for your own hosts.\ndelay = "200ms..500ms"\n# Whether answers slower than the host''s usual lengthen the delay in proportion.\nadaptive = false\n# What an adaptive delay never exceeds by itself.\nadaptive_max = "30s"\n# A Crawl-delay above this parks the host, with a finding; it is never shortened.\ncrawl_delay_park = "5m"\n\n[slots]\n# Requests in flight on one host.\nper_host = 2\n# How long a URL waits for a slot before `slot_timeout` is recorded.\nwait = "10s"\n# Requests in flight on one address.\nper_address = 16\n# Connections of the whole process.\ntotal_connections = 256\n# Bodies in memory at once; when it is used up, reading waits.\nbody_memory = "64MiB"\n\n[backoff]\n# What a 403 does: the host backs off as after a 429, or only that URL fails for good.\nforbidden = "permanent"\n\n[backoff.curve]\n# The first wait of a host after a 429 without a Retry-After.\nbase = "1s"\n# How the wait grows with each 429 in a row.\ngrowth = "fibonacci"\n# What the wait never exceeds, jitter included. A Retry-After is never capped.\ncap = "10m"\n# The part of the wait that chance adds; it only ever lengthens.\njitter = "none"\n\n[retry]\n# Retries of one URL after its first try.\nmax = 2\n\n[retry.curve]\n# The wait before the first retry of a URL.\nbase = "1s"\n# How the wait grows with each retry.\ngrowth = "fibonacci"\n# What the wait before a retry never exceeds, jitter included.\ncap = "10m"\n# The part of the wait that chance adds; it only ever lengthens.\njitter = "none"\n\n[breaker]\n# Site-wide failures in a row after which a host counts as down.\nfailures = 5\n\n[breaker.curve]\n# The wait before the first probe of a host that is down.\nbase = "30s"\n# How the wait grows with each probe that fails.\ngrowth = "x2"\n# What the wait between probes never exceeds, jitter included.\ncap = "5m"\n# The part of the wait that chance adds; it only ever lengthens.\njitter = "none"\n\n[risk]\n# Whether a host''s risk score decides anything; it is kept in every preset.\nactive = false\n# Friction signals in a row that stop an automated run early.\nearly_stop = 3\n# How much of the score a day leaves, in percent.\ndaily_percent = 90\n# The delays at low, medium and high risk; critical stops automated modes.\ndelay = ["800ms", "1200ms", "2s"]\n\n[cache]\n# What decides how long a page stays fresh: nothing, Cache-Control, validators, or the ttl alone.\nmode = "off"\n# How long a page stays fresh that says nothing about it.\nttl = "0s"\n# Whether a stale page may be used while it is asked for again.\nstale_while_revalidate = false\n# What becomes of pages marked `noindex`: kept and marked, kept without body, or not used.\nnoindex = "mark"\n\n[budget]\n# Pages after which a job ends.\npages = 200\n# Time after which a job ends.\ntime = "1h"\n# Links followed from a seed.\ndepth = "none"\n# The part of a budget at which a warning is given, in percent.\nwarn_percent = 80\n\n[body]\n# The largest body after decoding; a larger one is an error and is discarded.\ndecoded_max = "10MiB"\n# Content types that are read; none named is all.\naccept = []\n# Content types that are refused, checked after `body.accept`.\nreject = []\n# Redirect hops of one URL.\nredirects_max = 5\n\n[timeout]\n# Name lookup and TCP connect.\nconnect = "5s"\n# The TLS handshake.\ntls = "5s"\n# From the request to the first byte of the answer.\nfirst_byte = "10s"\n# The whole exchange.\nwhole = "30s"\n','\n',char(10)),'12117471d29cd5761ebf077ad368fdec','complete','{"body_bytes":70,"cached":0,"ended":"complete","endings":{"dead":1,"fetched":1,"refused":1},"evidence":{"nm_ingest":{"cacheHits":0,"cacheMisses":1,"discoverySources":["robots","homepage"],"domainRiskScore":0,"durationMs":1195,"frictionSignals":[],"mode":"standard","outcome":"partial","pagesFetched":1,"pagesPlanned":3,"pagesUsed":1},"nm_policyVersion":"orbitBehaviourContract.v1.1.0","traceId":"b6ccd521a4316ba9"},"fetched":1,"hosts":1,"pages_charged":2,"queued":0,"refused":{"robots":1},"requests":{"page":2,"robots":1},"retries":0,"rows":3,"run":"b6ccd521a4316ba9","sitemaps":0,"statuses":{"200":1,"404":1},"took_ms":1195,"warnings":[]}','{"traceId":"b6ccd521a4316ba9","nm_policyVersion":"orbitBehaviourContract.v1.1.0","nm_ingest":{"mode":"standard","discoverySources":["robots","homepage"],"pagesPlanned":3,"pagesFetched":1,"pagesUsed":1,"cacheHits":0,"cacheMisses":1,"outcome":"partial","frictionSignals":[],"domainRiskScore":0,"durationMs":1195}}');
CREATE TABLE sitemap_urls (
    url TEXT NOT NULL,
    sitemap TEXT NOT NULL,
    lastmod TEXT,
    changefreq TEXT,
    priority REAL,
    PRIMARY KEY (url, sitemap)
) WITHOUT ROWID;
CREATE INDEX frontier_hosts_due ON frontier_hosts (due) WHERE due IS NOT NULL;
CREATE INDEX pages_final_id ON pages (final_id) WHERE final_id IS NOT NULL;
CREATE VIEW last_decisions AS
    SELECT id, decided_at AS at, kind, decision, run, final_url AS url, host,
        CASE decision WHEN 'confirmed' THEN 304 WHEN 'fetched' THEN http_status
            WHEN 'dead' THEN http_status WHEN 'lost_redirect' THEN http_status END AS http_status,
        error, friction, retry_after_ms, gate, NULL AS not_before, NULL AS follows, delay_ms, delay_by,
        robots_file, robots_line, findings
    FROM pages;
CREATE VIEW decisions AS SELECT * FROM history UNION ALL SELECT * FROM last_decisions;
CREATE VIEW links (from_url, to_url, kind, nofollow) AS
    SELECT p.url, j.value, 'link',
        EXISTS (SELECT 1 FROM json_each(p.links_nofollow) n WHERE n.value = j.value)
    FROM pages p, json_each(p.links) j
    UNION ALL
    SELECT p.url, j.value, 'frame', 0 FROM pages p, json_each(p.frames) j
    UNION ALL
    SELECT url, refresh, 'refresh', 0 FROM pages WHERE refresh IS NOT NULL;
CREATE VIEW hosts (host, pages, fetched, refused, failed, last_at, delay_ms, delay_by, not_before) AS
    SELECT d.host, coalesce(p.pages, 0), coalesce(p.fetched, 0), coalesce(p.refused, 0),
        coalesce(p.failed, 0), d.at, d.delay_ms, d.delay_by, d.not_before
    FROM (SELECT host, max(at) AS at, delay_ms, delay_by, not_before FROM decisions GROUP BY host) d
    LEFT JOIN (
        SELECT host, count(*) AS pages, sum(decision IN ('fetched', 'confirmed', 'cached')) AS fetched,
            sum(decision = 'refused') AS refused, sum(error IS NOT NULL OR http_status >= 400) AS failed
        FROM pages GROUP BY host
    ) p USING (host);
COMMIT;
