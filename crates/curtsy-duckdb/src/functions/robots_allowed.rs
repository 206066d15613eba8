//! `robots_allowed(robots, agent, url)`: whether a robots.txt lets an agent fetch a URL.

use curtsy_core::policy::AgentMatch;
use curtsy_core::robots::{AgentRules, Robots};
use curtsy_core::url::CrawlUrl;

use crate::duck::{Scalar, SqlError};

/// Returns NULL for a URL that cannot be crawled. Agents are compared by RFC 9309. The function
/// does not check whether the robots.txt belongs to the URL's host.
pub(crate) struct RobotsAllowed;

/// The robots.txt that was parsed last: it is often the same from row to row.
#[derive(Default)]
pub(crate) struct Last(Option<(String, String, AgentRules)>);

impl Scalar for RobotsAllowed {
    const NAME: &'static str = "robots_allowed";
    const ARGUMENTS: usize = 3;
    type Output = bool;
    type Memory = Last;

    fn call(last: &mut Last, arguments: &[&str]) -> Result<Option<bool>, SqlError> {
        let &[robots, agent, url] = arguments else {
            return Err("expected a robots.txt, an agent and a URL".into());
        };
        let Ok(url) = CrawlUrl::parse(url) else { return Ok(None) };
        if !matches!(&last.0, Some((text, name, _)) if text == robots && name == agent) {
            let rules = Robots::parse(robots.as_bytes()).for_agent(agent, AgentMatch::Rfc);
            last.0 = Some((robots.to_owned(), agent.to_owned(), rules));
        }
        Ok(last.0.as_ref().map(|(_, _, rules)| rules.decide(url.path_and_query()).allowed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_other_rules_are_read_anew() {
        let mut last = Last::default();
        let mut ask =
            |robots, url| RobotsAllowed::call(&mut last, &[robots, "curtsy", url]).unwrap();
        let closed = "User-agent: *\nDisallow: /private";
        assert_eq!(ask(closed, "https://example.org/private/a"), Some(false));
        assert_eq!(ask(closed, "https://example.org/public"), Some(true));
        assert_eq!(ask("", "https://example.org/private/a"), Some(true));
        assert_eq!(ask(closed, "not a URL"), None);
    }
}
