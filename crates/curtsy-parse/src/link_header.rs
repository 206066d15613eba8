//! Finds the canonical URL in a `Link` header: `rel=canonical` of RFC 8288, read as tolerantly as
//! pages are.

use curtsy_core::url::CrawlUrl;

/// Returns the first canonical URL in the `Link` lines of a page at this URL.
///
/// A link about another page (`anchor`) does not count, nor does one that cannot be crawled.
///
/// ```
/// use curtsy_core::url::CrawlUrl;
/// use curtsy_parse::link_header::canonical;
/// let page = CrawlUrl::parse("https://example.org/a?utm=1").unwrap();
/// let found = canonical(&page, ["</style.css>; rel=preload, </a>; rel=\"Canonical\""]).unwrap();
/// assert_eq!(found.as_str(), "https://example.org/a");
/// ```
pub fn canonical<'l>(
    page: &CrawlUrl,
    lines: impl IntoIterator<Item = &'l str>,
) -> Option<CrawlUrl> {
    lines.into_iter().take(LINES_MAX).find_map(|line| in_line(page, line))
}

fn in_line(page: &CrawlUrl, line: &str) -> Option<CrawlUrl> {
    let mut rest = line;
    for _ in 0..LINKS_MAX {
        let start = rest.find('<')?;
        let (target, after) = rest[start + 1..].split_once('>')?;
        let (params, next) = params(after);
        rest = next;
        let value = |name: &str| {
            params.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
        };
        let is_canonical = value("rel").is_some_and(|rel| {
            rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("canonical"))
        });
        let is_ours = value("anchor").is_none_or(|anchor| page.join(anchor).as_ref() == Ok(page));
        let target = target.trim();
        if is_canonical
            && is_ours
            && !target.is_empty()
            && let Ok(url) = page.join(target)
        {
            return Some(url);
        }
    }
    None
}

/// Reads the parameters of one link, and returns them with the text after its comma.
fn params(mut rest: &str) -> (Vec<(&str, String)>, &str) {
    let mut params = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t', ';']);
        if rest.is_empty() || rest.starts_with(',') || params.len() >= PARAMS_MAX {
            return (params, rest);
        }
        let (name, after) = rest.split_at(rest.find(['=', ';', ',']).unwrap_or(rest.len()));
        let name = name.trim();
        rest = after;
        let Some(after) = after.strip_prefix('=') else {
            params.push((name, String::new()));
            continue;
        };
        let after = after.trim_start_matches([' ', '\t']);
        let value;
        (value, rest) = match after.strip_prefix('"') {
            Some(inside) => quoted(inside),
            None => {
                let (value, rest) = after.split_at(after.find([';', ',']).unwrap_or(after.len()));
                (value.trim().to_owned(), rest)
            }
        };
        params.push((name, value));
    }
}

/// Reads a quoted string after its first quote. A missing last quote ends with the line.
fn quoted(inside: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => value.extend(chars.next()),
            c => value.push(c),
        }
    }
    (value, chars.as_str())
}

/// Limits of the lines, of the links of a line and of the parameters of a link.
const LINES_MAX: usize = 64;
const LINKS_MAX: usize = 256;
const PARAMS_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::canonical;
    use curtsy_core::url::CrawlUrl;

    #[test]
    fn canonical_links_and_what_surrounds_them() {
        let page = CrawlUrl::parse("https://example.org/dir/page").unwrap();
        let check = |line: &str, expected: Option<&str>| {
            let found = canonical(&page, [line]);
            assert_eq!(found.as_ref().map(CrawlUrl::as_str), expected, "{line:?}");
        };
        check("<https://example.org/c>; rel=\"canonical\"", Some("https://example.org/c"));
        check("<c>;rel=canonical", Some("https://example.org/dir/c"));
        check("< /c > ; REL = CANONICAL", Some("https://example.org/c"));
        check("</a,b;c>; rel=\"next canonical\"", Some("https://example.org/a,b;c"));
        check("</x>; rel=next, </c>; rel=canonical", Some("https://example.org/c"));
        check(
            "</x>; title=\"a, <b>; rel=canonical\", </c>; rel=canonical",
            Some("https://example.org/c"),
        );
        check("</x>; title=\"a \\\" b\"; rel=canonical", Some("https://example.org/x"));
        check("</c>; rel=canonical; rel=next", Some("https://example.org/c"));
        check("</c>; rel=next; rel=canonical", None);
        check("</c>; rel=canonical; anchor=\"/other\"", None);
        check("</c>; rel=canonical; anchor=\"page\"", Some("https://example.org/c"));
        check("<mailto:me>; rel=canonical, </c>; rel=canonical", Some("https://example.org/c"));
        check("<>; rel=canonical", None);
        check("</c; rel=canonical", None);
        check("/c; rel=canonical", None);
        check("</c>; rel=\"canonical", Some("https://example.org/c"));
        check("</c>; rel=\"Cano\\nical\"", Some("https://example.org/c"));
        check("", None);
    }
}
