//! P0: every request has one consistent identity, and only reads.

use crate::bench::{Bench, Earlier};
use crate::exchange::Exchange;
use crate::rule::Rule;

/// The identity of the crawler in the log.
pub(crate) struct LogIdentity {
    /// The product token, once it is known.
    pub(crate) product: Option<Box<str>>,
    /// The last valid user agent: most requests have the same.
    good: Box<str>,
}

impl LogIdentity {
    pub(crate) fn new(product: Option<&str>) -> LogIdentity {
        // A promise may have `product/version`. Only the token counts.
        let product = product.map(|name| name.split('/').next().unwrap_or(name).into());
        LogIdentity { product, good: "".into() }
    }

    pub(crate) fn starts(&mut self, x: &Exchange, host: &str, bench: &mut Bench) {
        bench.judged(Rule::P0);
        if let Some(what) = self.fault(x) {
            bench.broken(Rule::P0, host, Earlier::Nothing, x, || what);
        }
    }

    fn fault(&mut self, x: &Exchange) -> Option<String> {
        if !matches!(&*x.method, "GET" | "HEAD") {
            return Some(format!("the method is `{}`, not GET or HEAD", x.method));
        }
        if x.cookie || x.authorization {
            let what = if x.cookie { "a cookie" } else { "a credential" };
            return Some(format!("the request carries {what}"));
        }
        if x.target.contains('#') {
            return Some("the target carries a fragment".to_owned());
        }
        let named = x.target.split_once("://").map_or("", |(_, rest)| rest);
        if x.host.contains('@') || named.split('/').next().unwrap_or("").contains('@') {
            return Some("the request carries userinfo".to_owned());
        }
        let Some(agent) = x.user_agent.as_deref() else {
            return Some("the request has no user agent".to_owned());
        };
        if agent == &*self.good {
            return None;
        }
        let Some(product) = product_of(agent) else {
            return Some(format!("the user agent `{agent}` is not `product/version (+contact)`"));
        };
        match &self.product {
            Some(known) if !known.eq_ignore_ascii_case(product) => {
                return Some(format!("the product `{product}` is another than `{known}`"));
            }
            Some(_) => {}
            None => self.product = Some(product.into()),
        }
        self.good = agent.into();
        None
    }
}

/// Returns the product token of `product/version (+contact)`.
fn product_of(agent: &str) -> Option<&str> {
    let (product, rest) = agent.split_once('/')?;
    let (version, comment) = rest.split_once(' ')?;
    let contact = comment.strip_prefix("(+")?.strip_suffix(')')?;
    let token = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.!~+".contains(&b))
    };
    (token(product) && token(version) && !contact.trim().is_empty()).then_some(product)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_agent_names_product_version_and_contact() {
        assert_eq!(product_of("curtsy/0.1.0 (+me@example.org)"), Some("curtsy"));
        assert_eq!(product_of("AEO-Audit/1.0 (+https://example.org/bot)"), Some("AEO-Audit"));
        for not in [
            "",
            "curtsy",
            "curtsy/0.1",
            "curtsy/0.1 (me)",
            "curtsy/0.1 (+)",
            "/1 (+me)",
            "Mozilla/5.0 (compatible; X/1.0; +http://x.test)",
        ] {
            assert_eq!(product_of(not), None, "{not}");
        }
    }
}
