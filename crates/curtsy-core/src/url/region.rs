//! Regions of a host: which URLs are probably of one kind.
//!
//! A crawl counts what it reads by region: how many pages, and how many of them brought anything
//! new. A region is named by a text that a person can read, so that a report can show it.

use serde::{Deserialize, Serialize};

use super::CrawlUrl;

/// A set of URLs of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Region {
    /// URLs that differ in numbers, generated names and values of their query only.
    Shape,
    /// URLs in the same folder of a folder.
    Subfolder,
    /// URLs in the same folder.
    Folder,
    /// All URLs of a host.
    Host,
}

impl Region {
    /// All regions, from the narrowest to the widest.
    pub const ALL: [Region; 4] = [Region::Shape, Region::Subfolder, Region::Folder, Region::Host];
}

/// Letters and digits that stand for a generated name: at least this many.
const TOKEN_MIN: usize = 12;
/// Limit of the keys of a query that are part of a shape.
const KEYS_MAX: usize = 16;

impl CrawlUrl {
    /// Returns the name of the region of this URL, or `None` if the URL is not in such a folder.
    ///
    /// In a shape, `N` is a number, `*` is a generated name, and a query has its names only.
    ///
    /// ```
    /// use curtsy_core::url::{CrawlUrl, Region};
    /// let url = CrawlUrl::parse("http://example.org/shop/item-12/3?size=m&color=4").unwrap();
    /// assert_eq!(url.region(Region::Shape).as_deref(), Some("/shop/item-N/N?color&size"));
    /// assert_eq!(url.region(Region::Subfolder).as_deref(), Some("/shop/item-12/"));
    /// assert_eq!(url.region(Region::Folder).as_deref(), Some("/shop/"));
    /// assert_eq!(url.region(Region::Host).as_deref(), Some("/"));
    /// let url = CrawlUrl::parse("http://example.org/about").unwrap();
    /// assert_eq!(url.region(Region::Folder), None);
    /// ```
    pub fn region(&self, region: Region) -> Option<String> {
        let path = self.path();
        match region {
            Region::Shape => Some(shape(path, self.query())),
            Region::Subfolder => folder(path, 2).map(str::to_owned),
            Region::Folder => folder(path, 1).map(str::to_owned),
            Region::Host => Some("/".to_owned()),
        }
    }

    /// Returns the path.
    pub fn path(&self) -> &str {
        let target = self.path_and_query();
        target.split_once('?').map_or(target, |(path, _)| path)
    }

    /// Returns the query, or `""`.
    pub fn query(&self) -> &str {
        self.path_and_query().split_once('?').map_or("", |(_, query)| query)
    }
}

/// Returns the beginning of a path that is a folder at this depth.
pub fn folder(path: &str, depth: usize) -> Option<&str> {
    let end = path.bytes().enumerate().filter(|(_, b)| *b == b'/').nth(depth)?.0;
    Some(&path[..=end])
}

fn shape(path: &str, query: &str) -> String {
    let mut shape = String::with_capacity(path.len() + query.len());
    for (index, segment) in path.split('/').enumerate() {
        if index > 0 {
            shape.push('/');
        }
        match is_generated(segment) {
            true => shape.push('*'),
            false => without_numbers(segment, &mut shape),
        }
    }
    let mut keys: Vec<&str> = query
        .split(['&', ';'])
        .filter(|parameter| !parameter.is_empty())
        .map(|parameter| parameter.split_once('=').map_or(parameter, |(key, _)| key))
        .take(KEYS_MAX)
        .collect();
    keys.sort_unstable();
    keys.dedup();
    for (index, key) in keys.into_iter().enumerate() {
        shape.push(if index == 0 { '?' } else { '&' });
        without_numbers(key, &mut shape);
    }
    shape
}

/// Writes a text with `N` for each number.
fn without_numbers(text: &str, out: &mut String) {
    let mut in_number = false;
    for c in text.chars() {
        let is_digit = c.is_ascii_digit();
        match (is_digit, in_number) {
            (true, false) => out.push('N'),
            (true, true) => {}
            (false, _) => out.push(c),
        }
        in_number = is_digit;
    }
}

/// Returns whether a segment looks like a hash or a random ID: long, and digits among letters.
fn is_generated(segment: &str) -> bool {
    let stem = segment.split_once('.').map_or(segment, |(stem, _)| stem);
    // Words and dates are joined by hyphens; a UUID is neither.
    let has_letter = || stem.bytes().any(|b| b.is_ascii_alphabetic());
    let is_hex = || stem.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    let is_plain = || stem.bytes().all(|b| b.is_ascii_alphanumeric());
    let digits = stem.bytes().filter(u8::is_ascii_digit).count();
    let changes = stem
        .as_bytes()
        .windows(2)
        .filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit())
        .count();
    stem.len() >= TOKEN_MIN
        && digits * 5 >= stem.len()
        && changes >= 4
        && has_letter()
        && (is_plain() || is_hex())
}

#[cfg(test)]
mod tests {
    use super::{Region, folder};
    use crate::url::CrawlUrl;

    #[test]
    fn shapes() {
        let check = |target: &str, expected: &str| {
            let url = CrawlUrl::parse(&format!("http://a.org{target}")).unwrap();
            assert_eq!(url.region(Region::Shape).unwrap(), expected, "{target}");
        };
        check("/", "/");
        check("/a/b.html", "/a/b.html");
        check("/2024/05/01/", "/N/N/N/");
        check("/chapter-3/10", "/chapter-N/N");
        check("/c/3f2a9c0d11e84b", "/c/*");
        check("/c/3f2a9c0d11e84b.html", "/c/*");
        check("/c/3f2a9c0d-11e8-4b2f-9a00-c0ffee123456", "/c/*");
        check("/2024-05-01-12", "/N-N-N-N");
        check("/iso-8859-15-introduction", "/iso-N-N-introduction");
        check("/a?b=1&a=2&&b=3", "/a?a&b");
        check("/a?C=N;O=D", "/a?C&O");
        check("/a?12", "/a?N");
        check("/?q", "/?q");
    }

    #[test]
    fn folders() {
        assert_eq!(folder("/a/b/c", 1), Some("/a/"));
        assert_eq!(folder("/a/b/c", 2), Some("/a/b/"));
        assert_eq!(folder("/a/b/c", 3), None);
        assert_eq!(folder("//", 1), Some("//"));
        assert_eq!(folder("/", 1), None);
    }
}
