//! Request targets in absolute form: `GET http://a.test/page HTTP/1.1`.
//!
//! Clients send them to a proxy, and every server must accept them (RFC 9112 §3.2.2). Servers log
//! the target as it was sent. The rules compare paths, so a log reader splits such a target before
//! any rule sees the exchange.

use crate::exchange::{Exchange, LogScheme};
use crate::host_name::split_port;
use crate::log::SharedTexts;

/// Splits an absolute target into scheme, host, port and path. They replace those of the log's own
/// fields: a server has to go by the target and not by the `Host` header (RFC 9112 §3.2.2).
///
/// Userinfo stays with the host, where P0 finds it. A target in another form stays as it is.
pub(crate) fn split(x: &mut Exchange, names: &mut SharedTexts) {
    let Some((scheme, authority, path)) = parts(&x.target) else { return };
    let (userinfo, host) = match authority.rsplit_once('@') {
        Some((userinfo, host)) => (Some(userinfo), host),
        None => (None, authority),
    };
    let (host, port) = split_port(host);
    if host.is_empty() {
        return;
    }
    let host = match userinfo {
        Some(userinfo) => names.one(&format!("{userinfo}@{host}")),
        None => names.one(host),
    };
    let target = if path.starts_with('/') { path.into() } else { format!("/{path}").into() };
    x.scheme = scheme;
    x.host = host;
    x.port = port.unwrap_or(scheme.default_port());
    x.target = target;
}

/// Returns scheme, authority, and the rest.
fn parts(target: &str) -> Option<(LogScheme, &str, &str)> {
    // Nearly every target begins with a slash.
    if target.starts_with('/') {
        return None;
    }
    let (scheme, rest) = target.split_once("://")?;
    let scheme = match scheme {
        name if name.eq_ignore_ascii_case("http") => LogScheme::Http,
        name if name.eq_ignore_ascii_case("https") => LogScheme::Https,
        _ => return None,
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    Some((scheme, authority, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(target: &str, expected: &str) {
        let mut x = Exchange::get(0, "log.test", target, 200);
        split(&mut x, &mut SharedTexts::default());
        let found = format!("{}://{}:{} {}", x.scheme.as_str(), x.host, x.port, x.target);
        assert_eq!(found, expected, "{target}");
    }

    #[test]
    fn an_absolute_target_names_its_own_host() {
        check("http://a.test/x?y=http://b.test/", "http://a.test:80 /x?y=http://b.test/");
        check("HTTPS://A.test/x", "https://A.test:443 /x");
        check("http://a.test:8080", "http://a.test:8080 /");
        check("http://a.test?x", "http://a.test:80 /?x");
        check("http://[::1]:81/x#y", "http://[::1]:81 /x#y");
        check("http://me:pw@a.test:81/x", "http://me:pw@a.test:81 /x");
    }

    #[test]
    fn any_other_target_stays_as_it_is() {
        for target in ["/x", "/x?y=http://b.test/", "*", "", "b.test:443", "ftp://b.test/x"] {
            check(target, &format!("http://log.test:80 {target}"));
        }
        check("http:///x", "http://log.test:80 http:///x");
        check("http://:80/x", "http://log.test:80 http://:80/x");
    }
}
