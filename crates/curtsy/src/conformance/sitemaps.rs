//! Facts about sitemaps: which pages a site names, over a whole tree of documents.
//!
//! The manifest maps addresses to documents; any other address does not exist. An index is followed
//! here, in order and each address once, as a crawl would do it without its requests. Addresses are
//! compared in our own spelling.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::Path;

use anyhow::Context;
use curtsy_core::headers::any_date;
use curtsy_core::robots::Robots;
use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_parse::sitemap::{ListedPage, Sitemap, SitemapKind, SitemapLimits};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Report, judge_rows};

#[derive(Deserialize)]
struct SitemapFact {
    id: String,
    entry_url: String,
    files: BTreeMap<String, File>,
    expect: Expect,
}

#[derive(Deserialize)]
struct File {
    file: String,
}

#[derive(Deserialize)]
struct Expect {
    kind: String,
    urls: Vec<String>,
    sitemaps: Option<Vec<String>>,
    entries: Option<Vec<Value>>,
    #[serde(default)]
    also_acceptable_urls: Vec<Acceptable>,
    #[serde(default)]
    must_never_contain: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Acceptable {
    Urls(Vec<String>),
    /// `any-prefix` or `count:a..b`
    Words(String),
}

/// What a walk over a tree of documents found.
struct SitemapTree {
    kind: &'static str,
    entries: Vec<ListedPage>,
    /// The sitemaps that the first document names.
    sitemaps: Vec<String>,
}

/// Judges every row of a manifest, whose documents lie beside it.
pub fn sitemaps(path: &Path) -> anyhow::Result<Report> {
    // The folder may be the one of the sitemaps or the one above it.
    let beside = path.parent().unwrap_or(path).parent().unwrap_or(path).join("manifest.jsonl");
    let path = if path.exists() || !beside.exists() { path } else { &beside };
    let folder = path.parent().unwrap_or(path);
    judge_rows(path, |row: &SitemapFact, report| {
        judge(row, &walk(row, folder)?, report);
        Ok(())
    })
}

fn walk(row: &SitemapFact, folder: &Path) -> anyhow::Result<SitemapTree> {
    let mut tree = SitemapTree { kind: "none", entries: Vec::new(), sitemaps: Vec::new() };
    let start = CrawlUrl::parse(&row.entry_url)?;
    let mut seen = BTreeSet::from([start.clone()]);
    let mut waiting = VecDeque::from([start.clone()]);
    let mut pages = BTreeSet::new();
    while let Some(url) = waiting.pop_front() {
        let Some(file) = row.files.get(url.as_str()) else {
            continue;
        };
        let body = fs::read(folder.join(&file.file))
            .with_context(|| format!("reading `{}` of `{}`", file.file, row.id))?;
        let (kind, children) = if url.path_and_query() == "/robots.txt" {
            let robots = Robots::parse(&body);
            // Relative ones are resolved, as in an index.
            let children = robots.sitemaps().filter_map(|(_, text)| url.join(&text).ok());
            ("robots", children.collect::<Vec<_>>())
        } else {
            let sitemap = Sitemap::read(&url, None, &body, &SitemapLimits::default(), now());
            let new = sitemap.entries.into_iter().filter(|entry| pages.insert(entry.url.clone()));
            tree.entries.extend(new);
            let children = sitemap.sitemaps.into_iter().map(|child| child.url).collect();
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

fn judge(row: &SitemapFact, tree: &SitemapTree, report: &mut Report) {
    let expect = &row.expect;
    let urls: Vec<String> = tree.entries.iter().map(|entry| entry.url.to_string()).collect();
    for never in &expect.must_never_contain {
        if urls.iter().any(|url| url.contains(never)) {
            report.check(&row.id, format!("never `{never}`"), urls.join(" "));
            return;
        }
    }
    let wanted = spelt(&expect.urls);
    let acceptable = urls == wanted
        || expect.also_acceptable_urls.iter().any(|also| match also {
            Acceptable::Urls(list) => spelt(list) == urls,
            Acceptable::Words(words) => is_within(words, &urls, &wanted),
        });
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
        let found = tree.entries.iter().find(|e| entry["loc"] == e.url.as_str());
        expected.push(comparable(entry));
        got.push(found.map_or("none".to_owned(), |found| comparable(&answer(entry, found))));
    }
    report.check(&row.id, expected.join(", "), got.join(", "));
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

/// `any-prefix`: the first of the expected; `count:a..b`: that many.
fn is_within(words: &str, urls: &[String], wanted: &[String]) -> bool {
    if words == "any-prefix" {
        return wanted.starts_with(urls);
    }
    let range = words.strip_prefix("count:").and_then(|range| range.split_once(".."));
    range.is_some_and(|(least, most)| {
        let number = |text: &str| text.trim_start_matches('=').parse::<usize>();
        matches!((number(least), number(most)), (Ok(a), Ok(b)) if (a..=b).contains(&urls.len()))
    })
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
