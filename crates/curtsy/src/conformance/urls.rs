//! Facts about URL parsing: what the WHATWG algorithm makes of an input and a base.
//!
//! A row is judged in two steps: the fields of the parsed URL, then the [`CrawlUrl`] of the input,
//! which must equal the [`CrawlUrl`] of the expected address. So our normalisation neither loses
//! nor adds anything.

use std::path::Path;

use curtsy_core::url::{CrawlUrl, UrlError, parse_whatwg};
use serde::{Deserialize, Serialize};
use url::{ParseError, Url, quirks};

use super::{FactsReport, Judged, judge_rows};

#[derive(Deserialize)]
struct UrlFact {
    input: String,
    base: Option<String>,
    expect: ExpectedUrl,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ExpectedUrl {
    Failure(Failure),
    UrlFields(Box<UrlFields>),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Failure {
    Failure,
}

/// The fields of the standard's URL object.
#[derive(Serialize, Deserialize)]
struct UrlFields {
    href: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    protocol: String,
    username: String,
    password: String,
    host: String,
    hostname: String,
    port: String,
    pathname: String,
    search: String,
    hash: String,
}

/// Judges every row of the file that is about http or https.
pub fn urls(path: &Path) -> anyhow::Result<FactsReport> {
    judge_rows(path, judge)
}

fn judge(row: &UrlFact) -> anyhow::Result<Judged> {
    let parsed = parse(row);
    let expected = match &row.expect {
        ExpectedUrl::Failure(Failure::Failure) => {
            // An address that is none, or none that is ever crawled.
            return Ok(match parsed {
                Ok(url) if !matches!(url.scheme(), "http" | "https") => Judged::skipped(OTHER),
                Ok(url) => Judged::compared(FAILURE, url),
                Err(_) => Judged::compared(FAILURE, FAILURE),
            });
        }
        ExpectedUrl::UrlFields(fields) if !matches!(&*fields.protocol, "http:" | "https:") => {
            return Ok(Judged::skipped(OTHER));
        }
        ExpectedUrl::UrlFields(fields) => fields,
    };
    let (wanted, origin) = (CrawlUrl::parse(&expected.href), expected.origin.is_some());
    let got = match &parsed {
        Ok(url) => fields(url, origin),
        Err(ParseError::IdnaError) if has_ace_label(&expected.hostname) => {
            return Ok(Judged::skipped(NOT_PUNYCODE));
        }
        Err(_) => return Ok(Judged::compared(serde_json::to_string(&expected)?, FAILURE)),
    };
    if got.pathname != expected.pathname && has_drive_letter(&got.pathname) {
        return Ok(Judged::skipped(DRIVE_LETTER));
    }
    let (expected, got) = (serde_json::to_string(&expected)?, serde_json::to_string(&got)?);
    let crawled = crawl_url(row.base.as_deref(), &row.input);
    Ok(match got == expected && crawled != wanted {
        true => Judged::Compared(format!("{wanted:?}"), format!("{crawled:?}")),
        false => Judged::Compared(expected, got),
    })
}

fn parse(row: &UrlFact) -> Result<Url, ParseError> {
    let base = row.base.as_deref().map(Url::parse).transpose()?;
    parse_whatwg(base.as_ref(), &row.input)
}

/// A page has an address that can be crawled; an input that needs another kind of base is parsed
/// without a base.
fn crawl_url(base: Option<&str>, input: &str) -> Result<CrawlUrl, UrlError> {
    match base.map(CrawlUrl::parse) {
        Some(Ok(base)) => base.join(input),
        _ => CrawlUrl::parse(input),
    }
}

fn fields(url: &Url, origin: bool) -> UrlFields {
    UrlFields {
        href: quirks::href(url).to_owned(),
        origin: origin.then(|| quirks::origin(url)),
        protocol: quirks::protocol(url).to_owned(),
        username: quirks::username(url).to_owned(),
        password: quirks::password(url).to_owned(),
        host: quirks::host(url).to_owned(),
        hostname: quirks::hostname(url).to_owned(),
        port: quirks::port(url).to_owned(),
        pathname: quirks::pathname(url).to_owned(),
        search: quirks::search(url).to_owned(),
        hash: quirks::hash(url).to_owned(),
    }
}

fn has_ace_label(host: &str) -> bool {
    host.split('.').any(|label| label.starts_with("xn--"))
}

fn has_drive_letter(path: &str) -> bool {
    path.split('/')
        .any(|s| matches!(s.as_bytes(), [letter, b':' | b'|'] if letter.is_ascii_alphabetic()))
}

const FAILURE: &str = "failure";
const OTHER: &str = "neither http nor https: never crawled";
const NOT_PUNYCODE: &str = "a name with `xn--` that is not punycode: refused on purpose";
const DRIVE_LETTER: &str = "the crate `url` keeps a drive letter that `..` should take away";
