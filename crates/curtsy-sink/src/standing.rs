//! Decides from a row whether a link to its URL is broken.
//!
//! A link is broken if a reader who follows it gets an error response (404, 500) or no response. A
//! URL that the crawl did not request, and one that a site may show to people but not to a crawler,
//! is not broken: it was not checked.

/// Whether the target of a link exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkStanding {
    /// It exists.
    Fine,
    /// It does not exist: the status, or the error.
    Broken(String),
    /// Unknown: why it was not checked.
    NotChecked(&'static str),
}

/// The outcome of a URL, as far as it says whether the URL exists.
#[derive(Clone, Debug, Default)]
pub struct RowEnd<'a> {
    /// The outcome: the column `decision`.
    pub decision: &'a str,
    /// The gate that refused it.
    pub gate: Option<&'a str>,
    /// The status of its response.
    pub http_status: Option<u16>,
    /// Why there is no page, where the status does not say.
    pub error: Option<&'a str>,
    /// Whether the response asked for a wait.
    pub told_to_wait: bool,
    /// Whether it is on a host that was not crawled.
    pub external: bool,
}

impl LinkStanding {
    /// Decides by the outcome of a row.
    pub fn of(row: &RowEnd<'_>) -> LinkStanding {
        if let Some(why) = not_checked(row) {
            return LinkStanding::NotChecked(why);
        }
        let answered_well = row.http_status.is_some_and(|status| status < 400);
        match (row.http_status, row.error) {
            // The head of the response says that the file exists. Its size, type and speed say
            // nothing else.
            (_, Some("over_limit" | "content_type" | "too_slow")) if answered_well => {
                LinkStanding::Fine
            }
            (Some(status), _) if status >= 400 => LinkStanding::Broken(status.to_string()),
            (_, Some("lost_redirect")) => {
                LinkStanding::Broken("a redirect that leads nowhere".to_owned())
            }
            (_, Some(error @ ("dns" | "connect" | "connect_timeout" | "reset"))) => {
                let error = error.replace('_', " ");
                LinkStanding::Broken(format!("its server does not answer ({error})"))
            }
            (_, Some(error)) => LinkStanding::Broken(error.replace('_', " ")),
            (_, None) => LinkStanding::Fine,
        }
    }
}

/// Why the target of a link was not checked, if it was not.
fn not_checked(row: &RowEnd<'_>) -> Option<&'static str> {
    Some(match (row.decision, row.gate, row.http_status, row.error) {
        ("refused", Some("robots"), ..) => "robots.txt forbids it",
        // In a file of version 0.1.0 the budget gate refused traps.
        ("refused", Some("budget"), ..) => "the crawl's budget is used up, or it looks like a trap",
        ("refused", Some("trap"), ..) => "it looks like a trap",
        ("refused", Some("risk"), ..) => "the site showed friction",
        ("refused", ..) => "a gate refused it",
        ("login_wall", ..) => "it is behind a login",
        ("unheard", ..) => "no answer was heard in time",
        (.., Some("challenge")) => "a bot wall answered",
        (.., Some("guard" | "port")) => "its address may not be dialled from here",
        (.., Some("not_sent")) => "it was not asked for",
        (_, _, None, Some("over_limit" | "content_type" | "too_slow")) => {
            "the answer went over a limit"
        }
        (_, _, Some(401 | 407), _) => "it is behind a login",
        (_, _, Some(403), _) if row.external => {
            "the site refuses us (403), perhaps not its visitors"
        }
        (_, _, Some(429), _) => "the site asks us to wait",
        (_, _, Some(503), _) if row.told_to_wait => "the site asks us to wait",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(row: RowEnd<'_>, expected: &str) {
        let said = match LinkStanding::of(&row) {
            LinkStanding::Fine => "fine".to_owned(),
            LinkStanding::Broken(why) => format!("broken: {why}"),
            LinkStanding::NotChecked(why) => format!("not checked: {why}"),
        };
        assert_eq!(said, expected, "{row:?}");
    }

    #[test]
    fn a_file_that_is_there_is_fine_whatever_the_crawl_made_of_it() {
        let dead = RowEnd { decision: "dead", http_status: Some(200), ..RowEnd::default() };
        check(RowEnd { decision: "fetched", ..dead.clone() }, "fine");
        check(RowEnd { decision: "cached", ..dead.clone() }, "fine");
        check(RowEnd { error: Some("over_limit"), ..dead.clone() }, "fine");
        check(RowEnd { error: Some("content_type"), ..dead.clone() }, "fine");
        check(RowEnd { error: Some("too_slow"), ..dead.clone() }, "fine");
        check(RowEnd { error: Some("truncated"), ..dead }, "broken: truncated");
    }

    #[test]
    fn what_was_not_looked_at_is_not_broken() {
        let refused = |gate| RowEnd { decision: "refused", gate: Some(gate), ..RowEnd::default() };
        check(refused("robots"), "not checked: robots.txt forbids it");
        check(refused("trap"), "not checked: it looks like a trap");
        // A row keeps the response of an earlier run.
        let earlier = RowEnd { http_status: Some(404), ..refused("budget") };
        check(earlier, "not checked: the crawl's budget is used up, or it looks like a trap");
        let dead = |status| RowEnd { decision: "dead", http_status: status, ..RowEnd::default() };
        let wall = RowEnd { error: Some("challenge"), ..dead(Some(403)) };
        check(wall, "not checked: a bot wall answered");
        check(dead(Some(403)), "broken: 403");
        let external = RowEnd { external: true, ..dead(Some(403)) };
        check(external, "not checked: the site refuses us (403), perhaps not its visitors");
        check(dead(Some(401)), "not checked: it is behind a login");
        check(dead(Some(429)), "not checked: the site asks us to wait");
        check(dead(Some(503)), "broken: 503");
        let told = RowEnd { told_to_wait: true, ..dead(Some(503)) };
        check(told, "not checked: the site asks us to wait");
        let guard = RowEnd { error: Some("guard"), ..dead(None) };
        check(guard, "not checked: its address may not be dialled from here");
    }

    #[test]
    fn no_page_is_broken() {
        let dead = RowEnd { decision: "dead", ..RowEnd::default() };
        check(RowEnd { http_status: Some(404), ..dead.clone() }, "broken: 404");
        check(
            RowEnd { error: Some("dns"), ..dead.clone() },
            "broken: its server does not answer (dns)",
        );
        let large = RowEnd { http_status: Some(500), error: Some("over_limit"), ..dead.clone() };
        check(large, "broken: 500");
        let lost = RowEnd { decision: "lost_redirect", error: Some("lost_redirect"), ..dead };
        check(lost, "broken: a redirect that leads nowhere");
    }
}
