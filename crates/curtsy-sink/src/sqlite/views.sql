-- The views of the tables. A new version of the file drops and creates them again.
CREATE VIEW last_decisions AS
    SELECT id, decided_at AS at, kind, decision, run, final_url AS url, host,
        CASE decision WHEN 'confirmed' THEN 304 WHEN 'fetched' THEN http_status
            WHEN 'dead' THEN http_status WHEN 'lost_redirect' THEN http_status
            WHEN 'login_wall' THEN http_status END AS http_status,
        error, friction, retry_after_ms, gate, NULL AS not_before, NULL AS follows, delay_ms, delay_by,
        robots_file, robots_line, findings, reason, robots_rule, robots_confidence, crawl_delay_ms
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
            sum(decision = 'refused') AS refused,
            sum(decision <> 'login_wall' AND (error IS NOT NULL OR http_status >= 400)) AS failed
        FROM pages GROUP BY host
    ) p USING (host);
CREATE VIEW evidence (type, url, at, content, metadata, confidence) AS
    SELECT CASE allowed WHEN 'true' THEN 'robots_allowed' ELSE 'blocked_by_robots' END, url, at,
        json_object('allowed', json(allowed), 'matchedRule', robots_rule, 'crawlDelay', crawl_delay,
            'timestamp', substr(at, 1, 23) || 'Z'),
        json_object('url', url, 'allowed', json(allowed), 'matchedRule', robots_rule,
            'crawlDelay', crawl_delay),
        robots_confidence
    FROM (
        SELECT *, CASE WHEN decision = 'refused' AND gate = 'robots' THEN 'false' ELSE 'true' END
                AS allowed,
            CASE crawl_delay_ms % 1000 WHEN 0 THEN crawl_delay_ms / 1000
                ELSE crawl_delay_ms / 1000.0 END AS crawl_delay
        FROM decisions WHERE robots_confidence IS NOT NULL
    )
    UNION ALL
    SELECT 'slot_timeout', url, at,
        json_object('error', reason, 'timestamp', substr(at, 1, 23) || 'Z'),
        json_object('url', url), NULL
    FROM decisions WHERE error = 'slot_timeout';
