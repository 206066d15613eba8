//! The key of a URL that needs only the simplest folds. Most URLs are such, and every row has a
//! key.

use super::host;

/// Returns the key of a host, a port that is not the scheme's own, and a path in their normal form.
/// Returns `None` if it needs a fold other than the order of the labels, `www.` and a slash at the
/// end.
pub(in crate::url) fn plain(host: &str, port: Option<u16>, path_and_query: &str) -> Option<String> {
    if !is_plain_host(host) || !is_plain_path(path_and_query) {
        return None;
    }
    let mut key = String::with_capacity(host.len() + path_and_query.len() + 8);
    let mut labels = host::without_www(host).unwrap_or(host).rsplit('.');
    key += labels.next()?;
    for label in labels {
        key.push(',');
        key += label;
    }
    // To archives port 0 means none, in every fold.
    if let Some(port) = port.filter(|port| *port != 0) {
        key.push(':');
        key += &port.to_string();
    }
    key.push(')');
    key += match path_and_query.strip_suffix('/') {
        Some("") | None => path_and_query,
        Some(path) => path,
    };
    Some(key)
}

fn is_plain_host(host: &str) -> bool {
    let mut label = 0;
    for byte in host.bytes() {
        label = match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' if label < 63 => label + 1,
            b'.' if label > 0 => 0,
            _ => return false,
        };
    }
    label > 0
}

fn is_plain_path(path: &str) -> bool {
    let mut before = 0;
    path.starts_with('/')
        && path.bytes().all(|byte| {
            let plain = matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.')
                || byte == b'/' && before != b'/';
            before = byte;
            plain
        })
}

#[cfg(test)]
mod tests {
    use crate::chance::{Purpose, draw};
    use crate::url::{CrawlUrl, SurtOptions, surt};

    const HOSTS: [&str; 7] =
        ["h", "www.h.test", "www2.h.test", "127.0.0.1", "a.b-c.test:8080", "xn--fa-hia.de", "x."];
    /// Text that the folds change, and text that they do not.
    const PARTS: &str = "a b2 - _ . .. / // www .www. %2e %41 A ? x=1 &y ;jsessionid=1 (s(0123456789abcdefghijklmn)) \
        .aspx ~ + ,";

    #[test]
    fn agrees_with_every_fold() {
        let parts: Vec<&str> = PARTS.split(' ').collect();
        let mut asked = 0;
        let mut below = |bound: usize| {
            asked += 1;
            draw(7, asked, Purpose::Delay) as usize % bound
        };
        let mut plain = 0;
        for _ in 0..60_000 {
            let mut text = format!("http://{}/", HOSTS[below(HOSTS.len())]);
            for _ in 0..below(6) {
                text += parts[below(parts.len())];
            }
            let Ok(url) = CrawlUrl::parse(&text) else { continue };
            let folded = surt(url.as_str(), &SurtOptions::default()).unwrap();
            assert_eq!(url.surt(), folded, "{url}");
            let port = (url.port() != 80).then(|| url.port());
            let key = super::plain(url.host().as_str(), port, url.path_and_query());
            plain += usize::from(key.is_some());
        }
        assert!(plain > 10_000, "only {plain} were plain");
    }

    /// Found by fuzzing.
    #[test]
    fn port_0_is_no_port() {
        let url = CrawlUrl::parse("https://example.org:0/a").unwrap();
        assert_eq!(url.surt(), "org,example)/a");
        assert_eq!(surt(url.as_str(), &SurtOptions::default()).unwrap(), url.surt());
    }
}
