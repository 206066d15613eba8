//! Which requests use which proxy: one that the user chose for all, or those of the environment.
//!
//! The variables are those of curl and git: `http_proxy`, `https_proxy`, `all_proxy` and
//! `no_proxy`, in lower or upper case. They are for other machines, so this machine is never
//! reached through them.

use std::net::IpAddr;

use curtsy_core::url::{CrawlUrl, HostKey, Scheme};
use ipnet::IpNet;

use crate::settings::{HttpProxy, NamePin, SettingsError};

/// The proxies of an outlet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    http: Option<HttpProxy>,
    https: Option<HttpProxy>,
    /// Hosts without a proxy.
    direct: Vec<NoProxy>,
}

/// One entry of `no_proxy`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NoProxy {
    /// Every host (`*`).
    All,
    /// This machine.
    ThisMachine,
    /// A host and every host below it, at one port or at all ports.
    Host { name: HostKey, port: Option<u16> },
    /// Addresses.
    Net(IpNet),
    /// A name with addresses that the user gave.
    Pinned(NamePin),
}

impl Proxies {
    /// Returns one proxy for every request.
    pub fn all(proxy: HttpProxy) -> Proxies {
        Proxies { http: Some(proxy.clone()), https: Some(proxy), direct: Vec::new() }
    }

    /// Returns the proxies of the environment. An error has the name of the wrong variable.
    ///
    /// ```
    /// use curtsy_core::url::CrawlUrl;
    /// use curtsy_fetch::Proxies;
    /// let set = [("https_proxy", "proxy.example:3128"), ("no_proxy", ".intern.example,10.0.0.0/8")];
    /// let value = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
    /// let proxies = Proxies::of_environment(value).unwrap();
    /// let is_proxied = |url: &str| proxies.of(&CrawlUrl::parse(url).unwrap()).is_some();
    /// assert!(is_proxied("https://example.org/") && !is_proxied("http://example.org/"));
    /// assert!(!is_proxied("https://wiki.intern.example/") && !is_proxied("https://10.1.2.3/"));
    /// assert!(!is_proxied("https://localhost:8443/"), "this machine is never behind a proxy");
    /// ```
    pub fn of_environment<'v>(
        value: impl Fn(&str) -> Option<&'v str>,
    ) -> Result<Proxies, (&'static str, SettingsError)> {
        let find = |names: [&'static str; 2]| {
            let said = |name| value(name).map(str::trim).filter(|text| !text.is_empty());
            names.into_iter().find_map(|name| Some((name, said(name)?)))
        };
        let read = |found: Option<(&'static str, &str)>| {
            let read =
                found.map(|(name, text)| text.parse::<HttpProxy>().map_err(|why| (name, why)));
            read.transpose()
        };
        let all = find(["all_proxy", "ALL_PROXY"]);
        let http = read(find(["http_proxy", "HTTP_PROXY"]).or(all))?;
        let https = read(find(["https_proxy", "HTTPS_PROXY"]).or(all))?;
        let list = find(["no_proxy", "NO_PROXY"]).map_or("", |(_, list)| list);
        let mut direct = vec![NoProxy::ThisMachine];
        direct.extend(list.split([',', ' ']).filter_map(NoProxy::read));
        Ok(Proxies { http, https, direct })
    }

    /// Excludes names with addresses that the user gave (`--resolve`).
    pub fn sparing(mut self, pins: &[NamePin]) -> Proxies {
        self.direct.extend(pins.iter().cloned().map(NoProxy::Pinned));
        self
    }

    /// Returns the proxy for a URL; none for a direct connection.
    pub fn of(&self, url: &CrawlUrl) -> Option<&HttpProxy> {
        self.of_origin(url.scheme(), url.host(), url.port())
    }

    /// Returns the proxy for an origin.
    pub(crate) fn of_origin(
        &self,
        scheme: Scheme,
        host: &HostKey,
        port: u16,
    ) -> Option<&HttpProxy> {
        let proxy = match scheme {
            Scheme::Http => self.http.as_ref(),
            Scheme::Https => self.https.as_ref(),
        };
        proxy.filter(|_| !self.direct.iter().any(|direct| direct.covers(host, port)))
    }

    /// Returns one of the proxies, for messages.
    pub fn any(&self) -> Option<&HttpProxy> {
        self.https.as_ref().or(self.http.as_ref())
    }

    /// Returns the login that a plain request to a proxy carries.
    pub(crate) fn plain_login(&self) -> Option<&str> {
        self.http.as_ref()?.authorization.as_deref()
    }

    /// Returns the logins of all proxies.
    pub(crate) fn logins(&self) -> [Option<&str>; 2] {
        [&self.http, &self.https].map(|proxy| proxy.as_ref()?.authorization.as_deref())
    }
}

impl NoProxy {
    /// Reads one entry: `*`, `example.org`, `.example.org`, `example.org:8080`, `10.0.0.1`,
    /// `10.0.0.0/8`. An invalid entry is skipped, as other programs do.
    fn read(text: &str) -> Option<NoProxy> {
        let text = text.trim();
        if text == "*" {
            return Some(NoProxy::All);
        }
        if let Ok(net) = text.parse::<IpNet>() {
            return Some(NoProxy::Net(net));
        }
        if let Ok(ip) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
            return Some(NoProxy::Net(ip.into()));
        }
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) => (name, Some(port.parse().ok()?)),
            None => (text, None),
        };
        let name = name.trim_start_matches('*').trim_start_matches('.');
        let name = Some(name).filter(|name| !name.is_empty())?;
        Some(NoProxy::Host { name: HostKey::parse(name).ok()?, port })
    }

    fn covers(&self, host: &HostKey, port: u16) -> bool {
        match self {
            NoProxy::All => true,
            NoProxy::ThisMachine => host.names_this_machine(),
            NoProxy::Host { name, port: only } => {
                let below = host.as_str().strip_suffix(name.as_str());
                let named = below.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
                named && only.is_none_or(|only| only == port)
            }
            NoProxy::Pinned(pin) => pin.fits(host.as_str()),
            NoProxy::Net(net) => host.ip().is_some_and(|ip| net.contains(&ip)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks which proxy a URL uses with these variables.
    #[track_caller]
    fn check(variables: &[(&str, &str)], url: &str, expected: Option<&str>) {
        let value = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
        let proxies = Proxies::of_environment(value).unwrap();
        let proxy = proxies.of(&CrawlUrl::parse(url).unwrap());
        let shown = proxy.map(|proxy| format!("{}:{}", proxy.host, proxy.port));
        assert_eq!(shown.as_deref(), expected, "{url} with {variables:?}");
    }

    #[test]
    fn a_scheme_has_its_own_proxy_and_all_proxy_is_for_the_rest() {
        let both = [("http_proxy", "http://a.example:1"), ("ALL_PROXY", "b.example:2")];
        check(&both, "http://example.org/", Some("a.example:1"));
        check(&both, "https://example.org/", Some("b.example:2"));
        check(&[("HTTPS_PROXY", "a.example")], "https://example.org/", Some("a.example:80"));
        check(&[("https_proxy", ""), ("HTTPS_PROXY", " ")], "https://example.org/", None);
        let cases = [("http_proxy", "lower.example:1"), ("HTTP_PROXY", "upper.example:1")];
        check(&cases, "http://example.org/", Some("lower.example:1"));
    }

    #[test]
    fn no_proxy_names_hosts_that_are_asked_directly() {
        let through = |list: &str, url: &str, expected| {
            check(&[("all_proxy", "p.example:3128"), ("no_proxy", list)], url, expected);
        };
        let proxy = Some("p.example:3128");
        through("", "http://example.org/", proxy);
        through("*", "http://example.org/", None);
        for list in ["example.org", ".example.org", "*.example.org", "x.test, example.org"] {
            through(list, "http://example.org/", None);
            through(list, "https://www.example.org/", None);
            through(list, "http://notexample.org/", proxy);
        }
        through("example.org:8080", "http://example.org:8080/", None);
        through("example.org:8080", "http://example.org/", proxy);
        through("10.0.0.0/8,192.168.1.7", "http://10.9.8.7/", None);
        through("10.0.0.0/8,192.168.1.7", "http://192.168.1.7/", None);
        through("10.0.0.0/8,192.168.1.7", "http://192.168.1.8/", proxy);
        through("::1/128,[2001:db8::1]", "http://[2001:db8::1]/", None);
        for own in ["http://localhost:8000/", "http://127.0.0.1/", "http://[::1]/"] {
            through("", own, None);
        }
    }

    #[test]
    fn a_proxy_that_can_not_be_used_is_named_by_its_variable() {
        let wrong = |name: &str| (name == "all_proxy").then_some("socks5://127.0.0.1:1080");
        let (name, why) = Proxies::of_environment(wrong).unwrap_err();
        assert_eq!(name, "all_proxy");
        assert!(why.to_string().contains("SOCKS"), "{why}");
    }
}
