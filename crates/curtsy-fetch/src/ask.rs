//! Builds a request: GET or HEAD, the host, the crawler's name, accepted types, and validators.
//!
//! A request never has a referrer or a fragment. It has a cookie or a credential only if the policy
//! names its origin as the user's own.

use curtsy_core::url::{Authority, CrawlUrl};
use curtsy_engine::Request;
use http::header::{self, HeaderName, HeaderValue};
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, Uri, Version};

use crate::own::Credentials;

/// The headers that are the same in every request of a process.
#[derive(Clone, Debug)]
pub(crate) struct Manner {
    from: Option<HeaderValue>,
    accept_encoding: Option<HeaderValue>,
    proxy_authorization: Option<HeaderValue>,
    own: Vec<Credentials>,
}

impl Manner {
    pub(crate) fn new(
        from: Option<&str>,
        compress: bool,
        proxy_login: Option<&str>,
        own: Vec<Credentials>,
    ) -> Manner {
        let value = |text: &str| HeaderValue::from_str(text).ok();
        let secret = |text: &str| {
            let mut value = HeaderValue::from_str(text).ok()?;
            value.set_sensitive(true);
            Some(value)
        };
        Manner {
            from: from.and_then(value),
            accept_encoding: compress.then_some(HeaderValue::from_static(ACCEPT_ENCODING)),
            proxy_authorization: proxy_login.and_then(secret),
            own,
        }
    }

    /// Returns the credentials for an origin of the user's own, unless a proxy could read them.
    pub(crate) fn credentials(&self, at: &Authority, proxied: Proxied) -> Option<&Credentials> {
        self.own.iter().find(|own| own.at == *at && proxied == Proxied::No)
    }

    fn add_credentials(&self, headers: &mut HeaderMap, url: &CrawlUrl, proxied: Proxied) {
        if self.own.is_empty() {
            return;
        }
        if let Some(own) = self.credentials(&url.authority(), proxied) {
            headers.extend(own.headers.iter().cloned());
        }
    }

    /// Returns the request for HTTP/1.1, to the site or through a proxy; none if a value cannot be
    /// a header.
    pub(crate) fn http1<B: Default>(
        &self,
        url: &CrawlUrl,
        request: &Request,
        proxied: Proxied,
    ) -> Option<http::Request<B>> {
        let mut out = http::Request::new(B::default());
        *out.method_mut() = method(request);
        *out.uri_mut() = match proxied {
            Proxied::Plainly => absolute(url)?,
            Proxied::No => Uri::from(target(url)?),
        };
        let headers = out.headers_mut();
        headers.reserve(HEADERS);
        headers.insert(header::HOST, HeaderValue::from_str(&host(url)).ok()?);
        self.headers(headers, request)?;
        self.add_credentials(headers, url, proxied);
        if proxied == Proxied::Plainly
            && let Some(login) = &self.proxy_authorization
        {
            headers.insert(header::PROXY_AUTHORIZATION, login.clone());
        }
        Some(out)
    }

    /// Returns the request for HTTP/2.
    pub(crate) fn http2(&self, url: &CrawlUrl, request: &Request) -> Option<http::Request<()>> {
        let mut out = http::Request::new(());
        *out.method_mut() = method(request);
        *out.version_mut() = Version::HTTP_2;
        *out.uri_mut() = absolute(url)?;
        self.headers(out.headers_mut(), request)?;
        // Behind a proxy this request is inside a tunnel.
        self.add_credentials(out.headers_mut(), url, Proxied::No);
        Some(out)
    }

    fn headers(&self, headers: &mut HeaderMap, request: &Request) -> Option<()> {
        let mut put = |name: HeaderName, text: &str| {
            headers.insert(name, HeaderValue::from_str(text).ok()?);
            Some(())
        };
        put(header::USER_AGENT, &request.user_agent)?;
        // A validator that cannot be written is left out: the response is then complete.
        if let Some(etag) = &request.if_none_match {
            let _ = put(header::IF_NONE_MATCH, etag);
        }
        if let Some(modified) = &request.if_modified_since {
            let _ = put(header::IF_MODIFIED_SINCE, modified);
        }
        headers.insert(header::ACCEPT, HeaderValue::from_static(ACCEPT));
        if let Some(codings) = &self.accept_encoding {
            headers.insert(header::ACCEPT_ENCODING, codings.clone());
        }
        if let Some(from) = &self.from {
            headers.insert(header::FROM, from.clone());
        }
        Some(())
    }
}

/// Whether the request itself goes to a proxy. A request inside a tunnel does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proxied {
    No,
    Plainly,
}

fn method(request: &Request) -> Method {
    match request.method {
        "HEAD" => Method::HEAD,
        _ => Method::GET,
    }
}

/// Returns host and port for the `Host` header: the port only if it is not the scheme's default
/// (RFC 9110 §7.2).
pub(crate) fn host(url: &CrawlUrl) -> String {
    match url.port() {
        port if port == url.scheme().default_port() => url.host().as_str().to_owned(),
        port => format!("{}:{port}", url.host()),
    }
}

fn absolute(url: &CrawlUrl) -> Option<Uri> {
    let parts = Uri::builder().scheme(url.scheme().as_str()).authority(host(url));
    parts.path_and_query(target(url)?).build().ok()
}

/// Returns the path and query of a URL. Characters that WHATWG allows and a request line does not
/// are percent-encoded.
fn target(url: &CrawlUrl) -> Option<PathAndQuery> {
    let text = url.path_and_query();
    PathAndQuery::try_from(text).or_else(|_| PathAndQuery::try_from(escaped(text))).ok()
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '!' | '$'..=';' | '=' | '?'..='Z' | '_' | 'a'..='z' | '~' => out.push(c),
            _ => out.extend(c.to_string().bytes().map(|byte| format!("%{byte:02X}"))),
        }
    }
    out
}

pub(crate) const ACCEPT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
pub(crate) const ACCEPT_ENCODING: &str = "gzip, deflate, br, zstd";
/// The largest number of headers in a request.
const HEADERS: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(url: &str) -> http::Request<()> {
        let manner = Manner::new(Some("me@example.org"), true, Some("Basic eA=="), Vec::new());
        let request = Request {
            method: "GET",
            user_agent: "curtsy/0.1 (+me@example.org)".to_owned(),
            if_none_match: Some("\"a\"".to_owned()),
            if_modified_since: None,
        };
        manner.http1(&CrawlUrl::parse(url).unwrap(), &request, Proxied::No).unwrap()
    }

    #[test]
    fn every_url_that_can_be_crawled_can_be_asked_for() {
        for byte in 0..=255u8 {
            for place in ["/", "/?"] {
                let text = format!("http://example.org{place}a{}b", byte as char);
                let Ok(url) = CrawlUrl::parse(&text) else { continue };
                let uri = asked(url.as_str()).uri().to_string();
                let same = uri == url.path_and_query() || uri.contains('%');
                assert!(same, "`{text}` is asked for as `{uri}`");
            }
        }
    }

    #[test]
    fn nothing_is_told_that_was_not_asked_for() {
        let request = asked("http://user:secret@example.org:8080/a?b#c");
        assert_eq!(request.uri(), "/a?b");
        let mut names: Vec<&str> = request.headers().keys().map(|n| n.as_str()).collect();
        names.sort_unstable();
        let expected = ["accept", "accept-encoding", "from", "host", "if-none-match", "user-agent"];
        assert_eq!(names, expected);
        assert_eq!(request.headers()["host"], "example.org:8080");
        assert!(!format!("{request:?}").contains("secret"));
    }

    #[test]
    fn credentials_go_to_their_origin_only() {
        let at = CrawlUrl::parse("https://own.test:8443/").unwrap().authority();
        let value = HeaderValue::from_static("tulip");
        let own = vec![Credentials { at, headers: vec![(header::COOKIE, value)] }];
        let manner = Manner::new(None, true, None, own);
        let request = Request { method: "GET", ..Request::default() };
        let carries = |url: &str, proxied| {
            let url = CrawlUrl::parse(url).unwrap();
            let out: http::Request<()> = manner.http1(&url, &request, proxied).unwrap();
            out.headers().contains_key("cookie")
        };
        assert!(carries("https://own.test:8443/a?b", Proxied::No));
        assert!(!carries("https://own.test:8443/a", Proxied::Plainly));
        for other in [
            "https://own.test/a",
            "http://own.test:8443/a",
            "https://a.own.test:8443/",
            "https://own.test.evil:8443/",
            "https://own.test:844/",
        ] {
            assert!(!carries(other, Proxied::No), "{other}");
        }
    }

    #[test]
    fn the_login_of_a_proxy_goes_to_the_proxy_only() {
        let manner = Manner::new(None, true, Some("Basic eA=="), Vec::new());
        let url = CrawlUrl::parse("http://example.org/a").unwrap();
        let request = Request { method: "HEAD", ..Request::default() };
        let plain: http::Request<()> = manner.http1(&url, &request, Proxied::Plainly).unwrap();
        assert_eq!(plain.uri(), "http://example.org/a");
        assert_eq!(plain.headers()["proxy-authorization"], "Basic eA==");
        let direct: http::Request<()> = manner.http1(&url, &request, Proxied::No).unwrap();
        assert!(!direct.headers().contains_key("proxy-authorization"));
        assert!(
            !manner.http2(&url, &request).unwrap().headers().contains_key("proxy-authorization")
        );
    }
}
