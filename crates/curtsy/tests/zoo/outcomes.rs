//! Every case ends as its table says.

use std::collections::HashMap;
use std::time::Duration;

use curtsy_judge::Exchange;
use curtsy_lab::zoo::{CaseGroup, Expectation, ZooCase, ZooHost, cases};
use rusqlite::Connection;

use crate::visit::{Said, Visit, is_guarded, last_of, refused_by, row_of};

/// A wait that a server did not tell, or not so that anybody could read it: the policy's own.
const UNTOLD: Duration = Duration::from_secs(900);

/// Cases of these groups, visited together.
fn check(wanted: impl Fn(&ZooCase) -> bool, more: &[&str]) {
    let mut chosen = cases();
    // One that behaves is where others redirect to.
    chosen.retain(|case| case.name == "good" || wanted(case));
    let mut visit = Visit::to(chosen);
    let output = visit.crawl(more);
    // What must wait is not asked again, whoever begins anew.
    let again = visit.crawl(more);
    assert!(again.status.code().is_some(), "{:?}", again.status);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(0 | 3 | 4)), "{:?}\n{told}", output.status);
    assert!(!told.contains("panicked"), "{told}");
    let hosts = visit.hosts().to_vec();
    let seen = visit.zoo.take().unwrap().close().unwrap();
    let mut asked: HashMap<String, Vec<&Exchange>> = HashMap::new();
    for exchange in &seen.log {
        let at = exchange.local.unwrap().to_string();
        asked.entry(at).or_default().push(exchange);
    }
    let db = visit.db();
    // What was cut is no content and is not kept for the next time; what nobody asked for is nobody's page.
    for never in [
        "error <> 'challenge' AND (body IS NOT NULL OR content_hash IS NOT NULL OR fresh_until IS NOT NULL)",
        "title LIKE '%POISON%'",
        "url LIKE '%/never' AND decision = 'fetched'",
    ] {
        let sql = format!("SELECT count(*) FROM pages WHERE {never}");
        let count: i64 = db.query_row(&sql, [], |row| row.get(0)).unwrap();
        assert_eq!(count, 0, "{never}");
    }
    let mut wrong = Vec::new();
    for host in &hosts {
        let log = asked.remove(&host.address.ip().to_string()).unwrap_or_default();
        if let Err(why) = judge(&db, host, &log) {
            wrong.push(format!("{}: expected {}, but {why}", host.case.name, host.case.expect));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), hosts.len(), wrong.join("\n"));
}

fn judge(db: &Connection, host: &ZooHost, log: &[&Exchange]) -> Result<(), String> {
    let case = &host.case;
    let fits = fits(db, host, case.expect, log);
    match (fits, case.or) {
        (Err(_), Some(or)) => self::fits(db, host, or, log)?,
        (fits, _) => fits?,
    }
    // Others redirect to the one that behaves.
    if case.group != CaseGroup::Control && log.len() > case.requests_max as usize {
        let targets: Vec<_> = log.iter().map(|exchange| exchange.target.to_string()).collect();
        return Err(format!("{} requests: {targets:?}", log.len()));
    }
    Ok(())
}

fn fits(
    db: &Connection,
    host: &ZooHost,
    expect: Expectation,
    log: &[&Exchange],
) -> Result<(), String> {
    let row = row_of(db, &host.url);
    let last = last_of(db, &host.url);
    let said = || format!("the row is {row:?}, the last decision {last:?}");
    let when = |fits: bool| if fits { Ok(()) } else { Err(said()) };
    let answered = |said: &Said, status: u16| {
        said.status == Some(status)
            && said.error.is_none()
            && matches!(said.decision.as_str(), "fetched" | "confirmed" | "dead" | "cached")
    };
    match expect {
        Expectation::Page(status) => when(row.as_ref().is_some_and(|row| {
            answered(row, status)
                || host.case.group == CaseGroup::Control && row.decision == "cached"
        })),
        Expectation::Error(error) => {
            let is = |said: &Said| is_called(said, error) && said.decision != "fetched";
            // A hop that may not be dialled is never admitted: its robots.txt can't be had.
            let inside = error == "guard" && row.is_none() && is_guarded(db);
            when(inside || row.as_ref().or(last.as_ref()).is_some_and(is))
        }
        Expectation::NoRobots(error) => {
            if let Some(other) = log.iter().find(|exchange| &*exchange.target != "/robots.txt") {
                return Err(format!("`{}` was asked for", other.target));
            }
            let robots = last_of(db, &format!("{}robots.txt", host.url));
            let page = row.as_ref().is_some_and(|row| row.decision == "fetched");
            match robots {
                Some(robots) if is_called(&robots, error) && !page => Ok(()),
                Some(_) if error == "guard" && !page && is_guarded(db) => Ok(()),
                other => Err(format!("of robots.txt {other:?} is said, {}", said())),
            }
        }
        Expectation::Forbidden => {
            let forbids =
                |row: &Said| row.decision == "refused" && row.gate.as_deref() == Some("robots");
            when(row.as_ref().is_some_and(forbids))
        }
        Expectation::Wait(status, wait) => {
            let refused = refused_by(db, host.address.ip(), status);
            let told = refused.as_ref().and_then(|refused| refused.wait_ms);
            // What can't be read is the policy's own wait, which the row does not tell.
            let enough = wait == UNTOLD || told.is_some_and(|ms| ms as u128 >= wait.as_millis());
            match refused {
                Some(refused) if refused.decision == "retry" && row.is_none() && enough => Ok(()),
                refused => Err(format!("the host says {refused:?}, {}", said())),
            }
        }
        Expectation::Sitemap(error) => {
            if !row.as_ref().is_some_and(|row| answered(row, 200)) {
                return Err(said());
            }
            let sitemap = last_of(db, &format!("{}sitemap.xml", host.url));
            match sitemap {
                Some(sitemap) if is_called(&sitemap, error) => Ok(()),
                other => Err(format!("of the sitemap {other:?} is said")),
            }
        }
        Expectation::Parked => when(row.is_none() && last.is_none()),
        Expectation::Wall => {
            when(row.as_ref().is_some_and(|row| row.error.as_deref() == Some("challenge")))
        }
        Expectation::LostRedirect => {
            when(row.as_ref().is_some_and(|row| row.decision == "lost_redirect"))
        }
    }
}

/// Whether a decision has this error, or this status if it is a number.
fn is_called(said: &Said, error: &str) -> bool {
    match error.parse() {
        Ok(status) => said.status == Some(status),
        Err(_) => said.error.as_deref() == Some(error),
    }
}

#[test]
fn bombs_and_spoilt_codings() {
    // Room for all of them at once: what is read in a hurry for want of it may be given up before it has burst.
    check(|case| case.group == CaseGroup::Coding, &["--set", "slots.body_memory=1GiB"]);
}

#[test]
fn slow_silent_and_cut_connections() {
    check(|case| case.group == CaseGroup::Time, &[]);
}

#[test]
fn heads_and_lengths() {
    check(|case| matches!(case.group, CaseGroup::Head | CaseGroup::Length), &[]);
}

#[test]
fn handshakes_and_frames() {
    check(|case| matches!(case.group, CaseGroup::Control | CaseGroup::Tls | CaseGroup::Http2), &[]);
}

#[test]
fn pages_that_are_not_what_they_seem() {
    check(|case| case.group == CaseGroup::Content, &["--set", "timeout.whole=20s"]);
}

#[test]
fn redirects_and_robots() {
    check(|case| matches!(case.group, CaseGroup::Redirect | CaseGroup::Robots), &[]);
}

#[test]
fn refusals() {
    // A page that must wait has a try left: without one it would be given up, and nobody could see that the wait is kept.
    check(|case| case.group == CaseGroup::Refusal, &["--set", "retry.max=1"]);
}

#[test]
fn sitemaps() {
    check(|case| case.group == CaseGroup::Sitemap, &["--set", "timeout.whole=10s"]);
}

#[test]
fn sites_without_end() {
    for maze in cases().iter().filter(|case| case.group == CaseGroup::Maze) {
        // The crawl is given twice, and each run has its budget.
        check(|case| case.name == maze.name, &["--pages", "25"]);
    }
}
