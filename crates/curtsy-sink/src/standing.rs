//! Is a link to this URL broken? What a row says about the target of a link.
//!
//! Broken is what a reader who follows the link would not get: an answer that says so (404, 500), or none at all (no such name, a
//! connection that fails, a redirect that leads nowhere). What the crawl did not look at, and what a site shows to people but not to
//! a crawler, is not broken: it was not checked.

/// What is known of the target of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is there.
    Fine,
    /// It is not there: the status, or what went wrong.
    Broken(String),
    /// Nobody knows: why it was not checked.
    NotChecked(&'static str),
}

/// How the row of a URL ended, as far as that says whether it is there.
#[derive(Clone, Debug, Default)]
pub struct RowEnd<'a> {
    /// How it ended: the column `decision`.
    pub decision: &'a str,
    /// The gate that refused it.
    pub gate: Option<&'a str>,
    /// The status of its answer.
    pub http_status: Option<u16>,
    /// Why there is no page, where the status does not tell.
    pub error: Option<&'a str>,
    /// Whether the answer asked us to wait.
    pub told_to_wait: bool,
    /// Whether it is on a host that was not crawled itself.
    pub external: bool,
}

impl Standing {
    /// What a row says.
    pub fn of(row: &RowEnd<'_>) -> Standing {
        match (row.decision, row.gate) {
            ("refused", Some("robots")) => return Standing::NotChecked("robots.txt forbids it"),
            // In a file of version 0.1.0 a trap was the budget's.
            ("refused", Some("budget")) => {
                return Standing::NotChecked(
                    "the crawl's budget is used up, or it looks like a trap",
                );
            }
            ("refused", Some("trap")) => return Standing::NotChecked("it looks like a trap"),
            ("refused", Some("risk")) => return Standing::NotChecked("the site showed friction"),
            ("refused", _) => return Standing::NotChecked("a gate refused it"),
            ("login_wall", _) => return Standing::NotChecked("it is behind a login"),
            ("unheard", _) => return Standing::NotChecked("no answer was heard in time"),
            _ => {}
        }
        let answered_well = row.http_status.is_some_and(|status| status < 400);
        match row.error {
            Some("challenge") => return Standing::NotChecked("a bot wall answered"),
            Some("guard" | "port") => {
                return Standing::NotChecked("its address may not be dialled from here");
            }
            Some("not_sent") => return Standing::NotChecked("it was not asked for"),
            // The head of the answer says that the file is there. That it is too large or of a kind that is not wanted says nothing else.
            Some("over_limit" | "content_type" | "too_slow") if answered_well => {
                return Standing::Fine;
            }
            Some("over_limit" | "content_type" | "too_slow") if row.http_status.is_none() => {
                return Standing::NotChecked("the answer went over a limit");
            }
            _ => {}
        }
        match (row.http_status, row.error) {
            (Some(401 | 407), _) => Standing::NotChecked("it is behind a login"),
            (Some(403), _) if row.external => {
                Standing::NotChecked("the site refuses us (403), perhaps not its visitors")
            }
            (Some(429), _) => Standing::NotChecked("the site asks us to wait"),
            (Some(503), _) if row.told_to_wait => Standing::NotChecked("the site asks us to wait"),
            (Some(status), _) if status >= 400 => Standing::Broken(status.to_string()),
            (_, Some("lost_redirect")) => {
                Standing::Broken("a redirect that leads nowhere".to_owned())
            }
            (_, Some(error @ ("dns" | "connect" | "connect_timeout" | "reset"))) => {
                Standing::Broken(format!(
                    "its server does not answer ({})",
                    error.replace('_', " ")
                ))
            }
            (_, Some(error)) => Standing::Broken(error.replace('_', " ")),
            (_, None) => Standing::Fine,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(row: RowEnd<'_>, expected: &str) {
        let said = match Standing::of(&row) {
            Standing::Fine => "fine".to_owned(),
            Standing::Broken(why) => format!("broken: {why}"),
            Standing::NotChecked(why) => format!("not checked: {why}"),
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
        // A row keeps the answer of an earlier run.
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
