//! Facts about pages: what an HTML5 parser's finished tree links to and says.
//!
//! A row is judged twice: by the markup as the standard resolves it (fragment and user kept), and
//! by the page that the crawl reads from the same bytes, which must have the same addresses in our
//! own spelling.

use std::collections::BTreeSet;
use std::path::Path;

use curtsy_core::url::CrawlUrl;
use curtsy_parse::charset::Charset;
use curtsy_parse::html::{Addresses, HtmlPage, Markup, PageLimits};
use serde::{Deserialize, Serialize};
use url::Url;

use super::{FactsReport, Judged, bytes, judge_rows};

#[derive(Deserialize)]
struct LinksFact {
    url: String,
    content_type: Option<String>,
    html: Option<String>,
    html_b64: Option<String>,
    html_gz_b64: Option<String>,
    expect: PageFacts,
    /// What a reader may also answer where SVG or MathML has links.
    #[serde(default)]
    also_acceptable_links: Vec<Vec<LinkFact>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PageFacts {
    base: String,
    links: Vec<LinkFact>,
    frames: Vec<String>,
    canonical: Option<String>,
    refresh: Option<String>,
    title: Option<String>,
    robots: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LinkFact {
    url: String,
    rel: BTreeSet<String>,
}

/// Judges every row of the file.
pub fn links(path: &Path) -> anyhow::Result<FactsReport> {
    judge_rows(path, judge)
}

fn judge(row: &LinksFact) -> anyhow::Result<Judged> {
    let body = bytes([&row.html, &row.html_b64, &row.html_gz_b64])?;
    let url = Url::parse(&row.url)?;
    let charset = Charset::of(&body, row.content_type.as_deref(), url.host_str());
    let text = charset.decode(&body);
    let markup = Markup::read(&text);
    let got = facts(&markup, &Addresses::new(&url, markup.base.as_deref(), charset.encoding));

    let mut expected = row.expect.clone();
    if row.also_acceptable_links.contains(&got.links) {
        expected.links.clone_from(&got.links);
    }
    if expected != got {
        let (expected, got) = (serde_json::to_string(&expected)?, serde_json::to_string(&got)?);
        return Ok(Judged::Compared(expected, got));
    }
    let page = CrawlUrl::parse(&row.url).map(|url| {
        HtmlPage::read(&url, row.content_type.as_deref(), &body, &PageLimits::default())
    })?;
    let crawled = Crawled {
        title: page.title,
        canonical: page.canonical,
        refresh: page.refresh,
        links: page.links.into_iter().map(|link| (link.url, link.nofollow)).collect(),
        frames: page.frames,
    };
    Ok(Judged::Compared(format!("{:?}", Crawled::of(&row.url, &got)), format!("{crawled:?}")))
}

fn facts(markup: &Markup<'_>, addresses: &Addresses) -> PageFacts {
    let web = |reference: &str| {
        addresses.resolve(reference).filter(|url| matches!(url.scheme(), "http" | "https"))
    };
    let links = markup.links.iter().filter_map(|link| {
        Some(LinkFact { url: web(&link.href)?.into(), rel: link.rel().collect() })
    });
    let refresh = markup.refresh(|reference| addresses.resolve(reference));
    PageFacts {
        base: addresses.base().to_string(),
        links: links.collect(),
        frames: markup.frames.iter().filter_map(|src| web(src).map(String::from)).collect(),
        canonical: markup.canonical(web).map(String::from),
        refresh: refresh.filter(|url| matches!(url.scheme(), "http" | "https")).map(String::from),
        title: markup.title.clone(),
        robots: markup
            .directives
            .iter()
            .filter(|directive| directive.name.eq_ignore_ascii_case("robots"))
            .map(|directive| directive.content.clone().into_owned())
            .collect(),
    }
}

/// What the crawl keeps of a page.
#[derive(Debug)]
#[expect(dead_code, reason = "compared in its debug form")]
struct Crawled {
    title: Option<String>,
    canonical: Option<CrawlUrl>,
    refresh: Option<CrawlUrl>,
    /// Each once, with whether every link to it says `nofollow`.
    links: Vec<(CrawlUrl, bool)>,
    frames: Vec<CrawlUrl>,
}

impl Crawled {
    /// What it must keep, given the facts in the standard's spelling.
    fn of(page: &str, facts: &PageFacts) -> Crawled {
        let own = CrawlUrl::parse(page).ok();
        let crawl = |url: &String| CrawlUrl::parse(url).ok();
        let mut links: Vec<(CrawlUrl, bool)> = Vec::new();
        for link in &facts.links {
            let nofollow = link.rel.contains("nofollow");
            match crawl(&link.url).filter(|url| Some(url) != own.as_ref()) {
                None => {}
                Some(url) => match links.iter_mut().find(|(known, _)| *known == url) {
                    Some((_, all)) => *all &= nofollow,
                    None => links.push((url, nofollow)),
                },
            }
        }
        let mut frames: Vec<CrawlUrl> = Vec::new();
        for url in facts.frames.iter().filter_map(crawl).filter(|url| Some(url) != own.as_ref()) {
            if !frames.contains(&url) {
                frames.push(url);
            }
        }
        Crawled {
            title: facts.title.clone(),
            canonical: facts.canonical.as_ref().and_then(crawl),
            refresh: facts.refresh.as_ref().and_then(crawl),
            links,
            frames,
        }
    }
}
