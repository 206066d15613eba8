//! The columns of a row: one list for every sink and for the documents.

/// A column of a row.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type in SQL.
    pub sql: &'static str,
    /// What changes it.
    pub group: Group,
    /// What it holds.
    pub about: &'static str,
}

/// What changes a column of an existing row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Nothing: the column identifies the URL.
    Url,
    /// Every decision.
    Decision,
    /// Every request.
    Outcome,
    /// A response, or a 304 that confirms the last one.
    Fresh,
    /// A response.
    Content,
    /// A response; large, so it is stored behind the others.
    Bulk,
}

const fn column(
    name: &'static str,
    sql: &'static str,
    group: Group,
    about: &'static str,
) -> Column {
    Column { name, sql, group, about }
}

/// The columns of a row. The first nineteen are those of the SQL face, in its order.
pub const COLUMNS: [Column; 51] = [
    column("url", "TEXT NOT NULL", Group::Url, "The URL as it was queued, in normalised form"),
    column(
        "surt_key",
        "TEXT NOT NULL",
        Group::Url,
        "The SURT key of the URL, as web archives use it",
    ),
    column(
        "http_status",
        "INTEGER",
        Group::Outcome,
        "Status of the response. NULL if no request was sent or no response came. After a 304, \
         the status of the stored content",
    ),
    column(
        "body",
        "BLOB",
        Group::Bulk,
        "Body of the response, decompressed. NULL if the status is not 2xx, if the page is a login \
         form, or if the policy does not keep it (`body.keep`, `cache.noindex`)",
    ),
    column("content_type", "TEXT", Group::Content, "The `Content-Type` header"),
    column(
        "crawl_time",
        "TEXT",
        Group::Content,
        "When the page was fetched: the server's `Date` if it is within five minutes of the local \
         clock, else the local clock",
    ),
    column(
        "error",
        "TEXT",
        Group::Outcome,
        "Why there is no page, where the status does not say: `dns`, `whole_timeout`, \
         `over_limit`, `challenge`, `login_wall`, `lost_redirect`, `unheard`, …",
    ),
    column("etag", "TEXT", Group::Fresh, "The `ETag` header"),
    column("last_modified", "TEXT", Group::Fresh, "The `Last-Modified` header"),
    column("content_hash", "TEXT", Group::Content, "SHA-256 of `body`, in hexadecimal"),
    column("final_url", "TEXT NOT NULL", Group::Content, "The URL after all redirects"),
    column(
        "redirect_count",
        "INTEGER NOT NULL",
        Group::Content,
        "Number of redirects that were followed",
    ),
    column("fetched_at", "TEXT", Group::Content, "When the page was fetched, by the local clock"),
    column("title", "TEXT", Group::Content, "The page's title"),
    column(
        "links",
        "TEXT",
        Group::Bulk,
        "URLs that the page links to: a JSON array, without duplicates, in page order",
    ),
    column(
        "robots_rule",
        "TEXT",
        Group::Decision,
        "The line of robots.txt that decided, or its number if the text is not available. NULL if \
         no rule matched",
    ),
    column(
        "delay_by",
        "TEXT",
        Group::Decision,
        "What set the delay: `floor` (the policy), `robots`, `latency`, `risk`, `retry_after`, \
         `breaker`",
    ),
    column(
        "decision",
        "TEXT NOT NULL",
        Group::Decision,
        "Outcome: `fetched`, `confirmed` (304), `cached`, `refused` (not requested), `dead` \
         (failed), `login_wall` (the site requires a login; none is tried), `lost_redirect`, \
         `unheard`",
    ),
    column(
        "reason",
        "TEXT",
        Group::Decision,
        "Why there is no page, in words: `not found (404)`, `larger than 10 MiB`, `refused by \
         robots.txt: line 4`, … NULL if there is a page",
    ),
    column(
        "gate",
        "TEXT",
        Group::Decision,
        "The gate that refused the URL: `robots`, `trap`, `risk`, …",
    ),
    column(
        "delay_ms",
        "INTEGER",
        Group::Decision,
        "Wait before this request, in milliseconds: the delay between two request starts on the \
         host, or the wait that the site asked for",
    ),
    column("robots_line", "INTEGER", Group::Decision, "Line number of `robots_rule`, from 1"),
    column(
        "robots_confidence",
        "TEXT",
        Group::Decision,
        "`high`; `low` if robots.txt could not be fetched and an older copy or the policy \
         decided. NULL if robots.txt was not consulted",
    ),
    column(
        "crawl_delay_ms",
        "INTEGER",
        Group::Decision,
        "The site's Crawl-delay for this crawler, in milliseconds. NULL if there is none",
    ),
    column(
        "decided_at",
        "TEXT NOT NULL",
        Group::Decision,
        "When the outcome was decided, by the local clock",
    ),
    column("host", "TEXT NOT NULL", Group::Url, "The host of `url`"),
    column(
        "kind",
        "TEXT NOT NULL",
        Group::Decision,
        "`page`, `sitemap`, or `check` (only checked for existence: `--assets`, `--external`)",
    ),
    column("depth", "INTEGER NOT NULL", Group::Decision, "Number of links from a seed to this URL"),
    column("tries", "INTEGER NOT NULL", Group::Decision, "Number of failed tries before this one"),
    column(
        "run",
        "",
        Group::Decision,
        "The run that decided: its number in `runs`; in JSON lines and CSV its trace id",
    ),
    column("friction", "TEXT", Group::Outcome, "`challenge` or `unusual` if the response was one"),
    column(
        "retry_after_ms",
        "INTEGER",
        Group::Outcome,
        "The wait that `Retry-After` asked for, in milliseconds",
    ),
    column(
        "robots_file",
        "BLOB",
        Group::Decision,
        "Id of the robots.txt that decided, as in the ledger; hexadecimal in JSON lines and CSV",
    ),
    column(
        "findings",
        "BLOB",
        Group::Decision,
        "Finding of every gate, encoded; in JSON lines and CSV a JSON object of sentences by \
         gate, without gates that found nothing",
    ),
    column(
        "fresh_until",
        "TEXT",
        Group::Fresh,
        "The page is not fetched again before this time. NULL if the page is not cached",
    ),
    column(
        "source",
        "TEXT",
        Group::Content,
        "Where the content came from: `network`, `crawl` (this crawl's own cache), `shared` \
         (fetched by another crawl of this user)",
    ),
    column("peer", "TEXT", Group::Content, "The IP address that responded"),
    column(
        "latency_ms",
        "REAL",
        Group::Content,
        "Time from the request to the first byte, in milliseconds",
    ),
    column("charset", "TEXT", Group::Content, "The encoding in which the page was read"),
    column("canonical", "TEXT", Group::Content, "The canonical URL that the page declares"),
    column("refresh", "TEXT", Group::Content, "Target of the page's `meta` refresh"),
    column("noindex", "INTEGER", Group::Content, "1 if the page or its headers say `noindex`"),
    column("nofollow", "INTEGER", Group::Content, "1 if the page or its headers say `nofollow`"),
    column("body_bytes", "INTEGER", Group::Content, "Length of `body` in bytes"),
    column("links_count", "INTEGER", Group::Content, "Number of URLs in `links`"),
    column("sitemap_count", "INTEGER", Group::Content, "Number of URLs that the sitemap lists"),
    column(
        "headers",
        "TEXT",
        Group::Bulk,
        "Response headers: a JSON object of names and values (an array if a name was repeated), \
         without cookies, tokens and sessions",
    ),
    column(
        "links_nofollow",
        "TEXT",
        Group::Bulk,
        "The part of `links` that is marked `nofollow`: a JSON array",
    ),
    column("frames", "TEXT", Group::Bulk, "URLs of the page's frames: a JSON array"),
    column(
        "links_cut",
        "INTEGER",
        Group::Content,
        "Number of links and frames that were not read because the page has too many. NULL if all \
         were read",
    ),
    column(
        "access",
        "TEXT",
        Group::Content,
        "`own` if the request carried the credentials that the policy has for its host; `login` \
         if the page is a login form",
    ),
];

/// Returns the index of a column in [`COLUMNS`].
pub(crate) const fn place(name: &str) -> usize {
    let mut at = 0;
    while at < COLUMNS.len() {
        if same(COLUMNS[at].name.as_bytes(), name.as_bytes()) {
            return at;
        }
        at += 1;
    }
    panic!("no such column")
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}
