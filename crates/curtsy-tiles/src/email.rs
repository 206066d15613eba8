//! Finds e-mail addresses, also those that are spelled for people only: `info (at) shop [dot]
//! example`.

use std::ops::Range;
use std::sync::LazyLock;

use crate::words::patterns;
use regex::Regex;

/// Returns all e-mail addresses in lower case, with their places. At the site's own `domain`, a
/// plain `at` is enough.
pub(crate) fn emails(text: &str, domain: &str) -> Vec<(Range<usize>, String)> {
    let mut found: Vec<(Range<usize>, String)> = Vec::new();
    for pattern in [&*WRITTEN, &*SPELLED] {
        for caught in pattern.captures_iter(text).take(EMAILS_MAX) {
            let at = caught.get(0).expect("group 0 is the match").range();
            if found.iter().any(|(known, _)| known.start < at.end && at.start < known.end) {
                continue;
            }
            if let Some(email) = email(&caught[1], &caught[2]) {
                found.push((at, email));
            }
        }
    }
    for caught in AT_DOMAIN
        .captures_iter(text)
        .take(EMAILS_MAX)
        .filter(|caught| caught[2].eq_ignore_ascii_case(domain))
    {
        let at = caught.get(0).expect("group 0 is the match").range();
        found.extend(email(&caught[1], &caught[2]).map(|email| (at, email)));
    }
    found.sort_by_key(|(at, _)| at.start);
    found
}

/// The address of a `mailto:` link.
pub(crate) fn of_link(href: &str) -> Option<String> {
    let address = href
        .get(..7)
        .filter(|scheme| scheme.eq_ignore_ascii_case("mailto:"))
        .map(|_| &href[7..])?;
    let address = address.split(['?', ',', ';']).next().unwrap_or_default();
    let decoded = percent_decoded(address.trim());
    let (name, domain) = decoded.rsplit_once('@')?;
    email(name, domain)
}

/// What a proxy hid behind a script: hexadecimal bytes, each combined with the first.
pub(crate) fn of_cfemail(hex: &str) -> Option<String> {
    let bytes: Option<Vec<u8>> = (0..hex.len().min(400) / 2)
        .map(|at| hex.get(2 * at..2 * at + 2).and_then(|two| u8::from_str_radix(two, 16).ok()))
        .collect();
    let (key, rest) = bytes.as_deref()?.split_first().map(|(key, rest)| (*key, rest.to_vec()))?;
    let text: String = rest.into_iter().map(|byte| char::from(byte ^ key)).collect();
    let (name, domain) = text.rsplit_once('@')?;
    email(name, domain)
}

fn email(name: &str, domain: &str) -> Option<String> {
    let domain = DOT.replace_all(domain, ".").to_lowercase();
    let domain = domain.trim_matches(['.', '-', ' ']);
    let name = DOT.replace_all(name.trim(), ".").to_lowercase();
    let name = name.trim_matches(['.', '-']);
    let is_name = !name.is_empty()
        && name.len() <= 64
        && name.chars().all(|c| c.is_alphanumeric() || "._%+-'".contains(c));
    let labels: Vec<&str> = domain.split('.').collect();
    let is_label =
        |label: &&str| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-');
    let is_domain = labels.len() >= 2 && domain.len() <= 200 && labels.iter().all(is_label);
    // `logo@2x.png` is a picture.
    let last = labels.last().copied().unwrap_or_default();
    let is_file = ["png", "jpg", "jpeg", "gif", "svg", "webp", "css", "js"].contains(&last);
    let is_top = last.chars().all(char::is_alphabetic) && last.chars().count() >= 2;
    (is_name && is_domain && is_top && !is_file).then(|| format!("{name}@{domain}"))
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let two = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match two.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

const AT_WORDS: &str = "at|AT|At|ät|ÄT|chiocciola|arroba|arobase|arobas|apenstaartje|małpa|malpa|snabel-a|snabela|krøllalfa|alfakrøll|zavináč|zavinac|kukac|miuku|@";
const DOT_WORDS: &str =
    "dot|DOT|punkt|Punkt|PUNKT|point|punto|ponto|punt|kropka|prik|tečka|tecka|piste";

static WRITTEN: LazyLock<Regex> = LazyLock::new(|| {
    let dot = format!(r"(?:\.|\s?[\[({{<]\s?(?:{DOT_WORDS}|\.)\s?[\])}}>]\s?)");
    let at = format!(r"(?:\s?[@＠]\s?|\s?[\[({{<|_]\s?(?:{AT_WORDS})\s?[\])}}>|_]\s?)");
    let pattern = format!(
        r"([\p{{Alphabetic}}0-9](?:[\p{{Alphabetic}}0-9_%+-]|{dot})*){at}([\p{{Alphabetic}}0-9-]+(?:{dot}[\p{{Alphabetic}}0-9-]+)+)"
    );
    Regex::new(&pattern).expect("e-mail addresses are a pattern")
});
/// Without brackets the dot has to be spelled too, or it may be a sentence.
static SPELLED: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = format!(
        r"([A-Za-z0-9._%+-]+)\s(?:{AT_WORDS})\s([A-Za-z0-9-]+(?:\s(?:{DOT_WORDS})\s[A-Za-z0-9-]+)+)"
    );
    Regex::new(&pattern).expect("spelled addresses are a pattern")
});
patterns! {
    AT_DOMAIN: r"([A-Za-z0-9._%+-]+)\s(?:at|AT|ät|chiocciola|arroba|arobase|małpa)\s([A-Za-z0-9.-]+\.[A-Za-z]{2,})";
    DOT: format!(r"\s?[\[({{<]\s?(?:{DOT_WORDS}|\.)\s?[\])}}>]\s?|\s(?:{DOT_WORDS})\s");
}

/// The most addresses of one text that are read.
const EMAILS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<String> =
            emails(text, "own.example").into_iter().map(|(_, email)| email).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn plain_and_hidden_spellings() {
        check(
            "Mail Info@Shop.example, or jobs@shop.co.example.",
            &["info@shop.example", "jobs@shop.co.example"],
        );
        check("backstube(at)baeckerei.example", &["backstube@baeckerei.example"]);
        check("tavoli [chiocciola] gamberozoppo.example", &["tavoli@gamberozoppo.example"]);
        check("bonjour[at]meche[point]example", &["bonjour@meche.example"]);
        check("info at shop dot example", &["info@shop.example"]);
        check("info @ shop.example", &["info@shop.example"]);
        check("meet at shop.example", &[]);
        check("info at own.example", &["info@own.example"]);
        check("logo@2x.png", &[]);
    }

    #[test]
    fn links_and_scripts() {
        assert_eq!(
            of_link("mailto:Hola@masa.example?subject=Hi").as_deref(),
            Some("hola@masa.example")
        );
        assert_eq!(of_link("MAILTO:a%40b.example").as_deref(), Some("a@b.example"));
        assert_eq!(of_link("tel:1"), None);
        assert_eq!(of_cfemail("422302206c273a232f322e27").as_deref(), Some("a@b.example"));
        assert_eq!(of_cfemail("zz"), None);
    }
}
