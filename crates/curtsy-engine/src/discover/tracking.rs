//! Which parameters only trace where a visitor came from? A page is the same without them, so it is offered without them: the address
//! that is asked for is then the address that the row names.

use curtsy_core::url::CrawlUrl;

/// The URL without such parameters, if it has any.
pub(super) fn stripped(url: &CrawlUrl) -> Option<CrawlUrl> {
    let (before, query) = url.as_str().split_once('?')?;
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
    let name = &parameter[..parameter.find('=').unwrap_or(parameter.len())];
    let starts = |start: &&str| {
        name.len() > start.len()
            && name.as_bytes()[..start.len()].eq_ignore_ascii_case(start.as_bytes())
    };
    STARTS.iter().any(starts) || NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Urchin and its heirs, Matomo, HubSpot ads.
const STARTS: [&str; 4] = ["utm_", "mtm_", "piwik_", "hsa_"];

/// The click and campaign ids of advertisers, mailers and counters, each named in its vendor's own documents.
const NAMES: [&str; 46] = [
    "gclid",
    "gclsrc",
    "dclid",
    "gbraid",
    "wbraid",
    "srsltid",
    "_ga",
    "_gl",
    "_gac",
    "fbclid",
    "igshid",
    "igsh",
    "msclkid",
    "yclid",
    "ysclid",
    "ymclid",
    "_openstat",
    "twclid",
    "ttclid",
    "li_fat_id",
    "epik",
    "rdt_cid",
    "sccid",
    "mc_cid",
    "mc_eid",
    "_hsenc",
    "_hsmi",
    "__hssc",
    "__hstc",
    "__hsfp",
    "hsctatracking",
    "mkt_tok",
    "vero_id",
    "vero_conv",
    "oly_anon_id",
    "oly_enc_id",
    "wickedid",
    "_ke",
    "ml_subscriber",
    "ml_subscriber_hash",
    "pk_campaign",
    "pk_kwd",
    "pk_keyword",
    "pk_source",
    "pk_medium",
    "s_kwcid",
];

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
