//! Matches URLs with the user's patterns, in linear time. They are compiled once.
//!
//! A pattern between slashes is a regular expression, searched anywhere in the URL. Any other is a
//! glob, which must match as a whole: `*` matches any characters, slashes too; every other
//! character is literal, `?` too. Without a `?`, the query is ignored.

use std::fmt::Write;

use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

use super::DiscoveryError;

/// The compiled patterns to include and to exclude.
#[derive(Debug)]
pub(super) struct Patterns {
    include: Option<RegexSet>,
    exclude: Option<RegexSet>,
}

impl Patterns {
    pub(super) fn new(include: &[String], exclude: &[String]) -> Result<Patterns, DiscoveryError> {
        Ok(Patterns { include: compile(include)?, exclude: compile(exclude)? })
    }

    pub(super) fn admit(&self, url: &str) -> bool {
        self.include.as_ref().is_none_or(|set| set.is_match(url)) && !self.excludes(url)
    }

    pub(super) fn excludes(&self, url: &str) -> bool {
        self.exclude.as_ref().is_some_and(|set| set.is_match(url))
    }
}

fn compile(patterns: &[String]) -> Result<Option<RegexSet>, DiscoveryError> {
    let count = patterns.len();
    if count == 0 {
        return Ok(None);
    }
    if count > PATTERNS_MAX {
        let why = format!("{PATTERNS_MAX} at most");
        return Err(DiscoveryError::Patterns { count, why });
    }
    let read: Result<Vec<Regex>, DiscoveryError> = patterns.iter().map(|p| expression(p)).collect();
    let read = read?;
    let set = RegexSetBuilder::new(read.iter().map(Regex::as_str))
        .size_limit(SET_BYTES_MAX)
        .dfa_size_limit(DFA_BYTES_MAX)
        .build();
    set.map(Some).map_err(|_| DiscoveryError::Patterns {
        count,
        why: format!("they take more than {SET_BYTES_MAX} bytes"),
    })
}

/// Returns the regular expression of one pattern, known to compile.
fn expression(pattern: &str) -> Result<Regex, DiscoveryError> {
    let refused = |why: String, hint| {
        let pattern = pattern.chars().take(SHOWN_CHARS_MAX).collect();
        Err(DiscoveryError::Pattern { pattern, why, hint })
    };
    if pattern.len() > PATTERN_BYTES_MAX {
        let why = format!("it is longer than {PATTERN_BYTES_MAX} bytes");
        return refused(why, "a `*` stands for any signs");
    }
    let between = pattern.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
    let text = match between {
        Some("") => {
            return refused("it has nothing between its slashes".into(), "`*` matches every URL");
        }
        Some(expression) => expression.to_owned(),
        None if pattern.contains(['*', '/', '.']) => glob(pattern),
        None => {
            return refused(
                "as a whole it is no URL".into(),
                "`*word*` matches every URL with that word, `/blog/*` a folder, `/v\\d+/` a regular expression",
            );
        }
    };
    let built = RegexBuilder::new(&text).size_limit(PATTERN_SIZE_MAX).build();
    match built {
        Ok(regex) => Ok(regex),
        Err(regex::Error::CompiledTooBig(_)) => refused(
            "it grows too large".into(),
            "large repeats like `{1000}` are what makes an expression grow",
        ),
        Err(error) => {
            let said = error.to_string();
            let last = said.lines().last().unwrap_or_default();
            let why = last.strip_prefix("error: ").unwrap_or(last).to_owned();
            refused(why, "without slashes around it, it is a glob: `*` stands for any signs")
        }
    }
}

/// Returns a glob as an expression over the whole URL.
fn glob(pattern: &str) -> String {
    let mut text = String::with_capacity(pattern.len() * 2 + 32);
    let mut rest = pattern;
    text.push('^');
    if pattern.starts_with('/') {
        text.push_str("https?://[^/]*");
    } else if !pattern.starts_with('*') {
        // Host names have no case, and the scheme is optional.
        let (scheme, after) = pattern.split_once("://").unwrap_or(("http*", pattern));
        let (host, path) = after.split_at(after.find('/').unwrap_or(after.len()));
        add(&scheme.to_ascii_lowercase(), &mut text);
        text.push_str("://");
        add(&host.to_ascii_lowercase(), &mut text);
        rest = if path.is_empty() { "/*" } else { path };
    }
    add(rest, &mut text);
    if !pattern.contains('?') {
        text.push_str(r"(?:\?.*)?");
    }
    text.push('$');
    text
}

/// Adds a part of a glob. A character that a URL cannot have is escaped as in URLs.
fn add(part: &str, text: &mut String) {
    for c in part.chars() {
        match c {
            '*' if text.ends_with(".*") => {}
            '*' => text.push_str(".*"),
            'a'..='z' | 'A'..='Z' | '0'..='9' | '/' | '%' | '=' | '_' => text.push(c),
            // Printable characters are literal. A backslash before any of them is allowed.
            '!'..='~' => {
                text.push('\\');
                text.push(c);
            }
            c => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    // Writing to a string doesn't fail.
                    let _ = write!(text, "%{byte:02X}");
                }
            }
        }
    }
}

pub(crate) const PATTERNS_MAX: usize = 256;
pub(crate) const PATTERN_BYTES_MAX: usize = 2_048;
/// The size of a compiled pattern.
const PATTERN_SIZE_MAX: usize = 512 * 1024;
/// The size of all compiled patterns of a list.
const SET_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The memory of matching.
const DFA_BYTES_MAX: usize = 4 * 1024 * 1024;
const SHOWN_CHARS_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::Patterns;

    fn list(patterns: &str) -> Vec<String> {
        patterns.split_whitespace().map(str::to_owned).collect()
    }

    fn check(include: &str, exclude: &str, url: &str, expected: bool) {
        let patterns = Patterns::new(&list(include), &list(exclude)).unwrap();
        assert_eq!(patterns.admit(url), expected, "+ {include} - {exclude} {url}");
    }

    #[test]
    fn globs_over_the_path() {
        check("/blog/*", "", "https://a.org/blog/x", true);
        check("/blog/*", "", "https://a.org/blog/", true);
        check("/blog/*", "", "https://a.org/x/blog/", false);
        check("/blog/*", "", "https://a.org/?to=/blog/", false);
        check("/blog", "", "https://a.org/blog", true);
        check("/blog", "", "https://a.org/blog?page=2", true);
        check("/blog", "", "https://a.org/blogs", false);
        check("/a?b=*", "", "https://a.org/a?b=1", true);
        check("/a?b=*", "", "https://a.org/ab=1", false);
        check("/a.b", "", "https://a.org/axb", false);
        check("/*.pdf", "", "http://a.org:81/x/y.pdf", true);
        check("/caf\u{e9}*", "", "http://a.org/caf%C3%A9s", true);
    }

    #[test]
    fn globs_over_the_whole_url() {
        check("", "*.pdf", "https://a.org/x.pdf", false);
        check("", "*.pdf", "https://a.org/x.pdf?download", false);
        check("", "*.pdf", "https://a.org/x.pdfs", true);
        check("https://A.org/Docs/*", "", "https://a.org/Docs/x", true);
        check("https://a.org/*", "", "http://a.org/x", false);
        check("a.org/x/*", "", "http://a.org/x/y", true);
        check("a.org", "", "http://a.org/x/y", true);
        check("a.org", "", "http://b.a.org/x/y", false);
        check("*.a.org/*", "", "http://b.a.org/x/y", true);
        check("**", "", "http://b.a.org/x/y", true);
    }

    #[test]
    fn expressions_and_both_lists() {
        check(r"/\.(pdf|zip)$/", "", "https://a.org/x.pdf", true);
        check(r"/\.(pdf|zip)$/", "", "https://a.org/x.pdf?a", false);
        check(r"/(?i)BLOG/", "", "https://a.org/blog/", true);
        check(r"//\d{4}//", "", "https://a.org/2024/x", true);
        check("/blog/*", "*draft*", "https://a.org/blog/draft-1", false);
        check("/blog/* /news/*", "", "https://a.org/news/1", true);
        check("", "", "https://a.org/", true);
    }

    #[test]
    fn a_pattern_that_cannot_be_used_says_why() {
        let check = |pattern: &str, expected: &str| {
            let error = Patterns::new(&[], &[pattern.to_owned()]).unwrap_err().to_string();
            let (said, hint) = error.split_once("\nhint: ").unwrap();
            assert_eq!(said, format!("pattern `{pattern}` can't be used: {expected}"));
            assert!(!hint.is_empty());
        };
        check("/a(/", "unclosed group");
        check("//", "it has nothing between its slashes");
        check("pdf", "as a whole it is no URL");
        check("", "as a whole it is no URL");
        check(r"/(a{900}){900}/", "it grows too large");
        let many = vec!["*x*".to_owned(); 257];
        let error = Patterns::new(&many, &[]).unwrap_err().to_string();
        assert!(error.starts_with("257 patterns are too many: 256 at most"), "{error}");
    }
}
