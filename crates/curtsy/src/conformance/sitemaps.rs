//! Facts about sitemaps: which pages a site names, over a whole tree of documents.
//!
//! The manifest maps addresses to documents; any other address does not exist. An index is followed
//! here, in order and each address once, as a crawl would do it without its requests. Addresses are
//! compared in our own spelling.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use anyhow::{Context, bail};
use curtsy_core::headers::any_date;
use curtsy_core::robots::Robots;
use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_parse::sitemap::{Child, ListedPage, Sitemap, SitemapKind, SitemapLimits};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{FactsReport, Judged, judge_rows};

#[derive(Deserialize)]
struct SitemapFact {
    entry_url: String,
    files: BTreeMap<String, SitemapFile>,
    expect: ExpectedPages,
}

#[derive(Deserialize)]
struct SitemapFile {
    file: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedPages {
    kind: String,
    urls: Vec<String>,
    sitemaps: Option<Vec<String>>,
    entries: Option<Vec<BTreeMap<String, Value>>>,
    /// Other lists that are right too: a word, or a list of URL lists and words.
    #[serde(default)]
    also_acceptable_urls: Value,
    #[serde(default)]
    must_never_contain: Vec<String>,
}

/// The fields that a row may expect of an entry. Fields named `*_raw` show the document's spelling.
const ENTRY_FIELDS: [&str; 7] =
    ["loc", "lastmod_utc", "lastmod_raw", "priority", "priority_raw", "changefreq", "alternates"];

/// Other lists of pages that are right too.
#[derive(Debug, PartialEq)]
enum Acceptable {
    Urls(Vec<String>),
    /// `any-prefix`: the first of the expected pages, however many.
    AnyPrefix,
    /// `count:a..b`: any pages, from `a` to `b` of them.
    Count(RangeInclusive<usize>),
}

impl Acceptable {
    fn read_all(value: &Value) -> anyhow::Result<Vec<Acceptable>> {
        match value {
            Value::Null => Ok(Vec::new()),
            Value::Array(all) => all.iter().map(Acceptable::read).collect(),
            one => Ok(vec![Acceptable::read(one)?]),
        }
    }

    fn read(value: &Value) -> anyhow::Result<Acceptable> {
        let read = match value {
            Value::String(word) => Acceptable::of_word(word),
            list => serde_json::from_value(list.clone()).ok().map(Acceptable::Urls),
        };
        read.with_context(|| format!("`also_acceptable_urls` has {value}, expected a list of URLs, `any-prefix` or `count:a..b`"))
    }

    fn of_word(word: &str) -> Option<Acceptable> {
        if word == "any-prefix" {
            return Some(Acceptable::AnyPrefix);
        }
        let (least, most) = word.strip_prefix("count:")?.split_once("..")?;
        let most = most.trim_start_matches('=');
        Some(Acceptable::Count(least.parse().ok()?..=most.parse().ok()?))
    }

    fn accepts(&self, urls: &[String], wanted: &[String]) -> bool {
        match self {
            Acceptable::Urls(list) => spelt(list) == urls,
            Acceptable::AnyPrefix => wanted.starts_with(urls),
            Acceptable::Count(range) => range.contains(&urls.len()),
        }
    }
}

/// What a walk over a tree of documents found.
struct SitemapTree {
    kind: &'static str,
    entries: Vec<ListedPage>,
    /// The sitemaps that the first document names.
    sitemaps: Vec<String>,
    /// The sitemaps of all indexes.
    children: Vec<Child>,
}

/// Judges every row of a manifest, whose documents lie beside it.
pub fn sitemaps(path: &Path) -> anyhow::Result<FactsReport> {
    // The folder may be the one of the sitemaps or the one above it.
    let beside = path.parent().unwrap_or(path).parent().unwrap_or(path).join("manifest.jsonl");
    let path = if path.exists() || !beside.exists() { path } else { &beside };
    let folder = path.parent().unwrap_or(path);
    judge_rows(path, |row: &SitemapFact| judge(row, &walk(row, folder)?))
}

fn walk(row: &SitemapFact, folder: &Path) -> anyhow::Result<SitemapTree> {
    let mut tree = SitemapTree {
        kind: "none",
        entries: Vec::new(),
        sitemaps: Vec::new(),
        children: Vec::new(),
    };
    let start = CrawlUrl::parse(&row.entry_url)?;
    let mut seen = BTreeSet::from([start.clone()]);
    let mut waiting = VecDeque::from([start.clone()]);
    let mut pages = BTreeSet::new();
    while let Some(url) = waiting.pop_front() {
        let Some(file) = row.files.get(url.as_str()) else {
            continue;
        };
        let body = fs::read(folder.join(&file.file))
            .with_context(|| format!("reading `{}`", file.file))?;
        let (kind, children) = if url.path_and_query() == "/robots.txt" {
            let robots = Robots::parse(&body);
            // Relative ones are resolved, as in an index.
            let children = robots.sitemaps().filter_map(|(_, text)| url.join(&text).ok());
            ("robots", children.collect::<Vec<_>>())
        } else {
            let sitemap = Sitemap::read(&url, None, &body, &SitemapLimits::default(), now());
            let new = sitemap.entries.into_iter().filter(|entry| pages.insert(entry.url.clone()));
            tree.entries.extend(new);
            let children = sitemap.sitemaps.iter().map(|child| child.url.clone()).collect();
            tree.children.extend(sitemap.sitemaps);
            (kind_name(sitemap.kind), children)
        };
        if url == start {
            tree.kind = kind;
            tree.sitemaps = children.iter().map(CrawlUrl::to_string).collect();
        }
        waiting.extend(children.into_iter().filter(|child| seen.insert(child.clone())));
    }
    Ok(tree)
}

fn judge(row: &SitemapFact, tree: &SitemapTree) -> anyhow::Result<Judged> {
    let expect = &row.expect;
    let also = Acceptable::read_all(&expect.also_acceptable_urls)?;
    let mut fields = expect.entries.iter().flatten().flat_map(BTreeMap::keys);
    if let Some(unknown) = fields.find(|field| !ENTRY_FIELDS.contains(&field.as_str())) {
        bail!("`entries` has the field `{unknown}`, expected one of {ENTRY_FIELDS:?}");
    }
    let urls: Vec<String> = tree.entries.iter().map(|entry| entry.url.to_string()).collect();
    for never in &expect.must_never_contain {
        if urls.iter().any(|url| url.contains(never)) {
            return Ok(Judged::Compared(format!("never `{never}`"), urls.join(" ")));
        }
    }
    let wanted = spelt(&expect.urls);
    let acceptable = urls == wanted || also.iter().any(|also| also.accepts(&urls, &wanted));
    let shown = if acceptable { &urls } else { &wanted };
    let mut expected = vec![expect.kind.clone(), format!("{shown:?}")];
    let mut got = vec![tree.kind.to_owned(), format!("{urls:?}")];
    if let Some(sitemaps) = &expect.sitemaps {
        // A list of pages that differs acceptably may come from another list of sitemaps.
        if urls == wanted {
            expected.push(format!("{:?}", spelt(sitemaps)));
            got.push(format!("{:?}", tree.sitemaps));
        }
    }
    for entry in expect.entries.iter().flatten().filter(|_| urls == wanted) {
        let entry = &json!(entry);
        let page = tree.entries.iter().find(|e| entry["loc"] == e.url.as_str());
        // The entry of an index is a sitemap.
        let child = tree.children.iter().find(|child| entry["loc"] == child.url.as_str());
        let child = child.map(|child| ListedPage {
            url: child.url.clone(),
            modified_ms: child.modified_ms,
            change: None,
            priority: None,
            alternates: Vec::new(),
        });
        let found = page.or(child.as_ref());
        expected.push(comparable(entry));
        got.push(found.map_or("none".to_owned(), |found| comparable(&answer(entry, found))));
    }
    Ok(Judged::Compared(expected.join(", "), got.join(", ")))
}

/// The entry in the form of the row, with the fields that the row has.
fn answer(asked: &Value, entry: &ListedPage) -> Value {
    let mut got = asked.clone();
    if asked.get("lastmod_utc").is_some() {
        got["lastmod_utc"] = json!(entry.modified_ms);
    }
    if asked.get("priority").is_some() {
        got["priority"] = json!(entry.priority.map(|priority| priority.to_string()));
    }
    if asked.get("changefreq").is_some() {
        got["changefreq"] = json!(entry.change.map(|change| change.name()));
    }
    if asked.get("alternates").is_some() {
        let pairs = entry.alternates.iter().map(|(name, url)| (name.clone(), url.as_str()));
        got["alternates"] = json!(pairs.collect::<BTreeMap<_, _>>());
    }
    got
}

/// The moment as milliseconds and the priority as text, on both sides.
fn comparable(entry: &Value) -> String {
    let mut entry = entry.clone();
    if let Some(text) = entry["lastmod_utc"].as_str() {
        let seconds = any_date(text, NOW as i64).unwrap_or(i64::MIN / 1_000);
        let fraction = text.split_once('.').map_or("", |(_, rest)| rest.trim_end_matches('Z'));
        let ms: i64 = format!("{fraction:0<3}").parse().unwrap_or(0);
        entry["lastmod_utc"] = json!(seconds * 1_000 + ms);
    }
    if let Some(number) = entry["priority"].as_f64() {
        entry["priority"] = json!((number as f32).to_string());
    }
    entry.to_string()
}

/// A list in our own spelling, each address once.
fn spelt(urls: &[String]) -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    for url in urls {
        let url = CrawlUrl::parse(url).map_or_else(|_| url.clone(), |url| url.to_string());
        if !list.contains(&url) {
            list.push(url);
        }
    }
    list
}

fn kind_name(kind: SitemapKind) -> &'static str {
    match kind {
        SitemapKind::UrlSet => "urlset",
        SitemapKind::Index => "index",
        SitemapKind::Text => "text",
        SitemapKind::Rss => "rss",
        SitemapKind::Atom => "atom",
        SitemapKind::None => "none",
    }
}

fn now() -> Time {
    Time::from_secs(NOW)
}

/// Mon, 06 May 2024 12:53:20 GMT: for years with two digits.
const NOW: u64 = 1_715_000_000;
