//! What a row is made of: the one list of columns, for every sink and for the documents.

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

/// What changes a column of a row that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Nothing: it is which URL it is.
    Url,
    /// Every decision.
    Decision,
    /// Every request.
    Outcome,
    /// An answer, or the word of the site that the last one still holds.
    Fresh,
    /// An answer.
    Content,
    /// An answer; large, so it lies behind the others.
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
    column("url", "TEXT NOT NULL", Group::Url, "The URL as it was offered, in its one spelling"),
    column("surt_key", "TEXT NOT NULL", Group::Url, "The key under which web archives file it"),
    column(
        "http_status",
        "INTEGER",
        Group::Outcome,
        "The answer's status; none if nothing was asked or no answer came. A page that was confirmed (304) keeps the status of its content",
    ),
    column(
        "body",
        "BLOB",
        Group::Bulk,
        "The bytes of the answer, decoded from their packing; none unless the status is 2xx, none of a login form in the place of a page, and none if the policy does not keep it (`noindex`)",
    ),
    column("content_type", "TEXT", Group::Content, "`Content-Type`, as it was sent"),
    column(
        "crawl_time",
        "TEXT",
        Group::Content,
        "When it was fetched: the server's `Date` if that is within five minutes of ours, else ours",
    ),
    column(
        "error",
        "TEXT",
        Group::Outcome,
        "Why there is no page where the status does not tell: `dns`, `whole_timeout`, `over_limit`, `challenge`, `login_wall`, `lost_redirect`, `unheard`, …",
    ),
    column("etag", "TEXT", Group::Fresh, "`ETag`, as it was sent"),
    column("last_modified", "TEXT", Group::Fresh, "`Last-Modified`, as it was sent"),
    column("content_hash", "TEXT", Group::Content, "SHA-256 of `body`, in hexadecimal digits"),
    column("final_url", "TEXT NOT NULL", Group::Content, "Where it was found, after all redirects"),
    column("redirect_count", "INTEGER NOT NULL", Group::Content, "Redirects that were followed"),
    column("fetched_at", "TEXT", Group::Content, "When it was fetched, by our clock"),
    column("title", "TEXT", Group::Content, "The page's title"),
    column(
        "links",
        "TEXT",
        Group::Bulk,
        "What it links to: a JSON array of URLs, each once, in the order of the page",
    ),
    column(
        "robots_rule",
        "TEXT",
        Group::Decision,
        "The line of robots.txt that decided, or its number if the text is not at hand; none if no rule matched",
    ),
    column(
        "delay_by",
        "TEXT",
        Group::Decision,
        "Who set the wait in force: `floor` (the policy), `robots`, `latency`, `risk`, `retry_after`, `breaker`",
    ),
    column(
        "decision",
        "TEXT NOT NULL",
        Group::Decision,
        "How it ended: `fetched`, `confirmed` (304), `cached`, `refused`, `dead`, `login_wall` (the site wants a login, which is never tried), `lost_redirect`, `unheard`",
    ),
    column(
        "reason",
        "TEXT",
        Group::Decision,
        "Why there is no page, in words: `not found (404)`, `larger than 10 MiB`, `refused by robots.txt: line 4`, …; none if there is a page",
    ),
    column("gate", "TEXT", Group::Decision, "Which gate refused it: `robots`, `budget`, `risk`, …"),
    column(
        "delay_ms",
        "INTEGER",
        Group::Decision,
        "The wait before this request, in milliseconds: the span that two starts on the host keep, or what the site asked for",
    ),
    column("robots_line", "INTEGER", Group::Decision, "The number of that line, counted from one"),
    column(
        "robots_confidence",
        "TEXT",
        Group::Decision,
        "How sure it is what robots.txt says: `high`, or `low` if it could not be fetched (a last good copy, or the policy, decided); none if robots.txt had no say",
    ),
    column(
        "crawl_delay_ms",
        "INTEGER",
        Group::Decision,
        "The site's Crawl-delay for us, in milliseconds; none if it has none",
    ),
    column("decided_at", "TEXT NOT NULL", Group::Decision, "When it ended, by our clock"),
    column("host", "TEXT NOT NULL", Group::Url, "The host of `url`"),
    column(
        "kind",
        "TEXT NOT NULL",
        Group::Decision,
        "`page`; `sitemap` on the way to pages; `check` if it was only asked whether it is there (`--assets`, `--external`)",
    ),
    column("depth", "INTEGER NOT NULL", Group::Decision, "Links followed from a seed"),
    column("tries", "INTEGER NOT NULL", Group::Decision, "Tries that failed before"),
    column(
        "run",
        "",
        Group::Decision,
        "The run that decided: number in `runs`; in files its trace id",
    ),
    column("friction", "TEXT", Group::Outcome, "`challenge` or `unusual`, if the answer was that"),
    column(
        "retry_after_ms",
        "INTEGER",
        Group::Outcome,
        "How long the answer asked us to wait, in milliseconds",
    ),
    column(
        "robots_file",
        "BLOB",
        Group::Decision,
        "The robots.txt that decided: its id in the ledger, in files in hexadecimal digits",
    ),
    column(
        "findings",
        "BLOB",
        Group::Decision,
        "What every gate found, encoded; in files a JSON object of sentences by gate, those that are clear left out",
    ),
    column(
        "fresh_until",
        "TEXT",
        Group::Fresh,
        "Not asked for again before this; none if it is not kept for the next time",
    ),
    column(
        "source",
        "TEXT",
        Group::Content,
        "Where the content comes from: `network`, `crawl` (held by this crawl), `shared` (fetched by another crawl of this user)",
    ),
    column("peer", "TEXT", Group::Content, "The address that answered"),
    column(
        "latency_ms",
        "REAL",
        Group::Content,
        "From the request to the first byte, in milliseconds",
    ),
    column("charset", "TEXT", Group::Content, "The encoding in which it was read"),
    column("canonical", "TEXT", Group::Content, "The address that the page gives as its own"),
    column("refresh", "TEXT", Group::Content, "Where the page sends its readers by itself"),
    column("noindex", "INTEGER", Group::Content, "1 if page or headers say `noindex`"),
    column("nofollow", "INTEGER", Group::Content, "1 if page or headers say `nofollow`"),
    column("body_bytes", "INTEGER", Group::Content, "Length of `body`"),
    column("links_count", "INTEGER", Group::Content, "Length of `links`"),
    column("sitemap_count", "INTEGER", Group::Content, "URLs that a sitemap lists"),
    column(
        "headers",
        "TEXT",
        Group::Bulk,
        "The head of the answer: a JSON object of names and values (an array where a name came twice); no cookies, tokens or sessions",
    ),
    column(
        "links_nofollow",
        "TEXT",
        Group::Bulk,
        "Those of `links` that say `nofollow`: a JSON array",
    ),
    column("frames", "TEXT", Group::Bulk, "What it shows in frames: a JSON array of URLs"),
    column(
        "links_cut",
        "INTEGER",
        Group::Content,
        "How many different links and frames were not read because the page has more than are read of one; none if all were",
    ),
    column(
        "access",
        "TEXT",
        Group::Content,
        "`own` if it was asked for with the credentials that the policy has for its host; `login` if the page is a login form",
    ),
];

/// Where a column is in [`COLUMNS`].
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
