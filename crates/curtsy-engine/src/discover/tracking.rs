//! Removes the parameters that only trace where a visitor came from. The page is the same without
//! them, so it is offered without them, and the requested URL is the one that the row names.

use curtsy_core::url::CrawlUrl;
use memchr::memchr;

/// Returns the URL without such parameters, if it has any.
pub(super) fn stripped(url: &CrawlUrl) -> Option<CrawlUrl> {
    let whole = url.as_str();
    let (before, query) = whole.split_at(memchr(b'?', whole.as_bytes())?);
    let query = &query[1..];
    if !query.split('&').any(is_tracking) {
        return None;
    }
    let mut text = String::with_capacity(url.as_str().len());
    text.push_str(before);
    let kept = query.split('&').filter(|parameter| !is_tracking(parameter));
    for (index, parameter) in kept.enumerate() {
        text.push(if index == 0 { '?' } else { '&' });
        text.push_str(parameter);
    }
    CrawlUrl::parse(&text).ok()
}

fn is_tracking(parameter: &str) -> bool {
    let name = parameter.split_once('=').map_or(parameter, |(name, _)| name);
    let is = |known: &&str| known.eq_ignore_ascii_case(name);
    let starts = |start: &str| {
        let found = name.as_bytes().get(..start.len());
        name.len() > start.len()
            && found.is_some_and(|found| found.eq_ignore_ascii_case(start.as_bytes()))
    };
    let Some(first) = name.as_bytes().first() else {
        return false;
    };
    // The click and campaign IDs of advertisers, mailers and counters, each documented by its
    // vendor.
    match first.to_ascii_lowercase() {
        b'_' => UNDERSCORED.iter().any(is),
        b'd' => is(&"dclid"),
        b'e' => is(&"epik"),
        b'f' => is(&"fbclid"),
        b'g' => ["gclid", "gclsrc", "gbraid"].iter().any(is),
        b'h' => starts("hsa_") || is(&"hsctatracking"),
        b'i' => ["igshid", "igsh"].iter().any(is),
        b'l' => is(&"li_fat_id"),
        b'm' => {
            let names =
                ["mc_cid", "mc_eid", "mkt_tok", "msclkid", "ml_subscriber", "ml_subscriber_hash"];
            starts("mtm_") || names.iter().any(is)
        }
        b'o' => ["oly_anon_id", "oly_enc_id"].iter().any(is),
        b'p' => {
            let names = ["pk_campaign", "pk_kwd", "pk_keyword", "pk_source", "pk_medium"];
            starts("piwik_") || starts("pk_") && names.iter().any(is)
        }
        b'r' => is(&"rdt_cid"),
        b's' => ["srsltid", "sccid", "s_kwcid"].iter().any(is),
        b't' => ["twclid", "ttclid"].iter().any(is),
        b'u' => starts("utm_"),
        b'v' => ["vero_id", "vero_conv"].iter().any(is),
        b'w' => ["wbraid", "wickedid"].iter().any(is),
        b'y' => ["yclid", "ysclid", "ymclid"].iter().any(is),
        _ => false,
    }
}

/// Google Analytics, HubSpot, Klaviyo, Openstat.
const UNDERSCORED: [&str; 10] =
    ["_ga", "_gl", "_gac", "_hsenc", "_hsmi", "__hssc", "__hstc", "__hsfp", "_ke", "_openstat"];

#[cfg(test)]
mod tests {
    use super::stripped;
    use curtsy_core::url::CrawlUrl;

    #[test]
    fn a_page_is_the_same_without_them() {
        let check = |query: &str, expected: &str| {
            let url = CrawlUrl::parse(&format!("http://a.org/x{query}")).unwrap();
            let found = stripped(&url).unwrap_or(url);
            assert_eq!(found.as_str(), format!("http://a.org/x{expected}"), "{query}");
        };
        check("", "");
        check("?a=1", "?a=1");
        check("?utm_source=x", "");
        check("?utm_source=x&a=1", "?a=1");
        check("?a=1&UTM_Medium=x&b=2&fbclid=y", "?a=1&b=2");
        check("?gclid", "");
        check("?utm_=x", "?utm_=x");
        check("?autm_source=x&gclidx=1", "?autm_source=x&gclidx=1");
        check("?&a=1&gclid=2", "?&a=1");
        check("?a=utm_source", "?a=utm_source");
        check("?", "?");
    }
}
