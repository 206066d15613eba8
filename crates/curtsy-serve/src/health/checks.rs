//! The nine checks.

use std::time::{Duration, Instant};

use curtsy_core::evidence::read_timestamp;
use curtsy_core::policy::Mode;
use curtsy_judge::Exchange;
use serde_json::{Value as Json, json};

use super::trial::{GRUMPY, HealthTrial, WALLED, WELL};
use super::{ITEMS, breaks::Break};
use crate::db::{DbError, ServiceDatabase, record};
use crate::ingest::{RunAnswer, now_text};
use crate::orbit::Slug;
use crate::records::{self, RequestRecord, RunRecord};
use crate::{ServeSpec, pages};

/// What one check found.
pub(crate) struct CheckResult {
    pub(crate) passed: bool,
    pub(crate) summary: String,
    pub(crate) evidence: Json,
    /// When.
    pub(crate) at: String,
    /// How long the runs took that it rests on, and the look at them.
    pub(crate) took: Duration,
}

/// Stored runs that are looked at.
const STORED: i64 = 50;

/// What the trial's runs came to, and what the sites saw.
struct TrialResults<'t> {
    trial: &'t HealthTrial,
    spec: &'t ServeSpec,
    stored: Vec<RunRecord>,
    well: RunAnswer,
    again: RunAnswer,
    walled: RunAnswer,
    grumpy: [RunAnswer; 3],
    well_log: Vec<Exchange>,
    /// How many of them were there before the second run.
    well_first: usize,
    walled_log: Vec<Exchange>,
    grumpy_log: Vec<Exchange>,
    /// Lengths of the log after each run.
    grumpy_parts: [usize; 3],
    /// When each run began and ended.
    times: Times,
}

/// When runs began and ended.
struct Times {
    well: RunSpan,
    again: RunSpan,
    walled: RunSpan,
    grumpy: [RunSpan; 3],
}

#[derive(Clone, Copy)]
struct RunSpan {
    from: Instant,
    to: Instant,
}

impl RunSpan {
    /// From the beginning of the first to the end of the last.
    fn of_all(spans: &[RunSpan]) -> Duration {
        let (from, to) =
            (spans.iter().map(|span| span.from).min(), spans.iter().map(|span| span.to).max());
        from.zip(to).map_or(Duration::ZERO, |(from, to)| to - from)
    }
}

/// A check, and the runs that it rests on.
type CheckWithRuns = (fn(&TrialResults<'_>) -> CheckOutcome, fn(&Times) -> Vec<RunSpan>);

/// The checks, in the order of the contract.
const CHECKS: [CheckWithRuns; 9] = [
    (evidence_markers, |times| vec![times.well]),
    (discovery_first, |times| vec![times.well]),
    (robots_respected, |times| vec![times.well]),
    (throttling, |times| vec![times.well, times.grumpy[0], times.grumpy[1]]),
    (early_stop, |times| vec![times.grumpy[0]]),
    (caching, |times| vec![times.well, times.again]),
    (mode_selector, |_| Vec::new()),
    (bot_walls, |times| vec![times.walled]),
    (risk_tracking, |times| times.grumpy.to_vec()),
];

/// Runs all checks, in the order of the contract. All fail if the trial fails.
pub(super) fn carry_out(spec: &ServeSpec, database: &ServiceDatabase) -> Vec<CheckResult> {
    let trial = HealthTrial::start(spec);
    let seen = trial.as_ref().map_err(Clone::clone).and_then(|trial| see(trial, spec, database));
    let one = |(check, rests_on): &CheckWithRuns| {
        let began = Instant::now();
        let checked = match &seen {
            Ok(seen) => check(seen),
            Err(why) => bad(format!("the trial could not be held: {why}"), Json::Null),
        };
        let runs = seen.as_ref().map_or_else(|_| Vec::new(), |seen| rests_on(&seen.times));
        let took = RunSpan::of_all(&runs) + began.elapsed();
        let passed = checked.is_ok();
        let (Ok((summary, evidence)) | Err((summary, evidence))) = checked;
        CheckResult { passed, summary, evidence, at: now_text(), took }
    };
    debug_assert_eq!(CHECKS.len(), ITEMS.len());
    CHECKS.iter().map(one).collect()
}

/// Good or bad, with a sentence and what it rests on.
type CheckOutcome = Result<(String, Json), (String, Json)>;

fn good(summary: impl Into<String>, evidence: Json) -> CheckOutcome {
    Ok((summary.into(), evidence))
}

fn bad(summary: impl Into<String>, evidence: Json) -> CheckOutcome {
    Err((summary.into(), evidence))
}

fn see<'t>(
    trial: &'t HealthTrial,
    spec: &'t ServeSpec,
    database: &ServiceDatabase,
) -> Result<TrialResults<'t>, String> {
    // A run, how much its site had seen when it ended, and when it was.
    let run = |host: &str| {
        let from = Instant::now();
        let answer = trial.run(host, "light")?;
        Ok::<_, String>((answer, trial.log(host).len(), RunSpan { from, to: Instant::now() }))
    };
    // Hosts have paces of their own, so their runs go beside each other.
    std::thread::scope(|threads| {
        let well = threads.spawn(|| Ok::<_, String>((run(WELL)?, run(WELL)?)));
        let walled = threads.spawn(|| run(WALLED));
        let grumpy = [run(GRUMPY)?, run(GRUMPY)?, run(GRUMPY)?];
        let grumpy_parts = [grumpy[0].1, grumpy[1].1, grumpy[2].1];
        let grumpy_times = [grumpy[0].2, grumpy[1].2, grumpy[2].2];
        let lost = |_| "a run of the trial panicked".to_owned();
        let ((well, well_first, well_time), (again, _, again_time)) =
            well.join().map_err(lost)??;
        let (walled, _, walled_time) = walled.join().map_err(lost)??;
        let times =
            Times { well: well_time, again: again_time, walled: walled_time, grumpy: grumpy_times };
        let stored = database.with(|db| RunRecord::ended(db, STORED)).map_err(|e| e.to_string())?;
        Ok(TrialResults {
            trial,
            spec,
            stored,
            well,
            again,
            walled,
            grumpy: grumpy.map(|(answer, _, _)| answer),
            well_log: trial.log(WELL),
            well_first,
            walled_log: trial.log(WALLED),
            grumpy_log: trial.log(GRUMPY),
            grumpy_parts,
            times,
        })
    })
}

/// INGEST_001: stored evidence has every marker of the contract, in the trial and in all stored
/// runs.
fn evidence_markers(seen: &TrialResults<'_>) -> CheckOutcome {
    let trial = kept(seen, &seen.well.evidence.trace_id);
    let trial = match trial {
        Ok(Some(run)) => run,
        Ok(None) => return bad("the trial's run was not kept", Json::Null),
        Err(error) => return bad(error.to_string(), Json::Null),
    };
    for run in std::iter::once(&trial).chain(&seen.stored) {
        let evidence = run.evidence.clone().unwrap_or_default();
        if let Some(missing) = missing_marker(&evidence) {
            let summary = format!("run {} lacks `{missing}`", run.trace_id);
            return bad(summary, json!({"run": run.trace_id, "evidence": evidence}));
        }
    }
    let runs = seen.stored.len() + 1;
    good(format!("every marker is there in {runs} runs"), trial.evidence.unwrap_or_default())
}

fn kept(seen: &TrialResults<'_>, trace: &str) -> Result<Option<RunRecord>, DbError> {
    let ended = seen.trial.database.with(|db| RunRecord::ended(db, STORED))?;
    Ok(ended.into_iter().find(|run| run.trace_id == trace))
}

/// The first marker that evidence lacks, or that is not what it should be.
fn missing_marker(evidence: &Json) -> Option<&'static str> {
    let ingest = &evidence["nm_ingest"];
    let texts =
        [("traceId", &evidence["traceId"]), ("nm_policyVersion", &evidence["nm_policyVersion"])];
    let texts =
        texts.into_iter().chain([("mode", &ingest["mode"]), ("outcome", &ingest["outcome"])]);
    let lists = ["discoverySources", "frictionSignals"].map(|name| (name, &ingest[name]));
    let numbers = [
        "pagesPlanned",
        "pagesFetched",
        "pagesUsed",
        "cacheHits",
        "cacheMisses",
        "domainRiskScore",
        "durationMs",
    ];
    let numbers = numbers.map(|name| (name, &ingest[name]));
    let lacks = |found: Option<(&'static str, &Json)>| found.map(|(name, _)| name);
    lacks(texts.into_iter().find(|(_, value)| value.as_str().is_none_or(str::is_empty)))
        .or(lacks(lists.into_iter().find(|(_, value)| !value.is_array())))
        .or(lacks(numbers.into_iter().find(|(_, value)| !value.is_u64())))
}

/// INGEST_002: robots.txt, then sitemaps, then the home page, then what was chosen of them.
fn discovery_first(seen: &TrialResults<'_>) -> CheckOutcome {
    let asked: Vec<&str> =
        seen.well_log[..seen.well_first].iter().map(|exchange| &*exchange.target).collect();
    let sources = json!(seen.well.evidence.ingest.discovery_sources);
    let evidence = json!({"asked": asked, "discoverySources": sources});
    let at = |path: &str| asked.iter().position(|target| *target == path);
    match (at("/robots.txt"), at("/sitemap.xml"), at("/")) {
        (Some(0), Some(sitemap), Some(home)) if sitemap < home && home + 1 < asked.len() => {
            match sources == json!(["sitemap", "robots", "homepage"]) {
                true => {
                    good("robots.txt, sitemap and home page came before the other pages", evidence)
                }
                false => {
                    bad("the evidence names other sources than those that were used", evidence)
                }
            }
        }
        _ => bad("pages were asked for before discovery was through", evidence),
    }
}

/// INGEST_003: nothing forbidden was asked for, and the row says which line forbade it.
fn robots_respected(seen: &TrialResults<'_>) -> CheckOutcome {
    let forbidden: Vec<&str> = seen
        .well_log
        .iter()
        .map(|exchange| &*exchange.target)
        .filter(|target| target.starts_with("/private/"))
        .collect();
    let trace = &seen.well.evidence.trace_id;
    let pages = match seen.trial.database.with(|db| records::pages(db, trace)) {
        Ok(pages) => pages,
        Err(error) => return bad(error.to_string(), Json::Null),
    };
    let row = pages.iter().find(|page| page.url.contains("/private/"));
    let rule = row.and_then(|row| row.robots_rule.clone());
    let evidence = json!({"asked": forbidden, "row": row});
    match (forbidden.is_empty(), rule.as_deref()) {
        (true, Some("Disallow: /private/")) => {
            good("the forbidden page was not asked for; its row names the line", evidence)
        }
        (true, _) => bad("the forbidden page has no row that names the line", evidence),
        (false, _) => bad("a page was asked for that robots.txt forbids", evidence),
    }
}

/// INGEST_004: every request kept the span that was in force, and friction made that longer.
///
/// The rows have the spans in force. The sites' logs must not contradict them: no gap is shorter,
/// however much longer a busy machine makes it. A gap beside a request that the site read late
/// proves nothing.
fn throttling(seen: &TrialResults<'_>) -> CheckOutcome {
    let policy = &seen.spec.settled.policy;
    let floor = millis(policy.clone().with_mode(Mode::Light).pace.delay_min);
    let medium = millis(policy.risk.delay[1]);
    let rows = |host| seen.trial.database.with(|db| records::requests_to(db, host));
    let (well, grumpy) = match (rows(WELL), rows(GRUMPY)) {
        (Ok(well), Ok(grumpy)) => (well, grumpy),
        (Err(error), _) | (_, Err(error)) => return bad(error.to_string(), Json::Null),
    };
    let spans = |rows: &[RequestRecord]| -> Vec<u64> {
        rows.iter().map(|row| row.delay_ms.unwrap_or(0).try_into().unwrap_or(0)).collect()
    };
    let (plain, slowed) = (spans(&well), spans(&grumpy));
    let (plain_gaps, slowed_gaps) = (gaps(&seen.well_log), gaps(&seen.grumpy_log));
    // Two refusals make a risk of 40: from then on the span is that of medium risk.
    let refused = grumpy.iter().enumerate().filter(|(_, row)| row.status_code == Some(403));
    let after = refused.map(|(at, _)| at + 1).nth(1).and_then(|at| slowed.get(at..));
    let evidence = json!({
        "floorMs": floor,
        "mediumMs": medium,
        "spansMs": plain,
        "gapsMs": plain_gaps,
        "spansOfTheRefusingSiteMs": slowed,
        "gapsOfTheRefusingSiteMs": slowed_gaps,
    });
    // A gap lies before each request but the first.
    let early = |spans: &[u64], gaps: &[Option<u64>]| {
        let later = spans.iter().skip(1).zip(gaps);
        later.into_iter().any(|(span, gap)| gap.is_some_and(|gap| gap < *span))
    };
    match after {
        _ if plain.len() != seen.well_log.len() || slowed.len() != seen.grumpy_log.len() => {
            bad("the rows don't tell of every request", evidence)
        }
        _ if plain.is_empty() || plain.iter().chain(&slowed).any(|span| *span < floor) => {
            bad("a shorter span than the mode's was in force", evidence)
        }
        _ if early(&plain, &plain_gaps) || early(&slowed, &slowed_gaps) => {
            bad("requests came closer than the span in force", evidence)
        }
        Some([]) | None => bad("the refusing site was not asked often enough to see it", evidence),
        Some(after) if after.iter().all(|span| *span >= medium) => {
            good("spans were kept, and grew with friction", evidence)
        }
        Some(_) => bad("friction did not make the span longer", evidence),
    }
}

/// The gaps between requests in milliseconds, rounded up as in rows. `None` if the site read one of
/// the two requests late.
fn gaps(log: &[Exchange]) -> Vec<Option<u64>> {
    let gap = |pair: &[Exchange]| {
        let in_time = !pair[0].read_late && !pair[1].read_late;
        in_time.then(|| (pair[1].start - pair[0].start).div_ceil(1000))
    };
    log.windows(2).map(gap).collect()
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// INGEST_005: three signals in a row end a run.
fn early_stop(seen: &TrialResults<'_>) -> CheckOutcome {
    let refusals = |log: &[Exchange]| log.iter().filter(|e| e.status == Some(403)).count();
    let first = refusals(&seen.grumpy_log[..seen.grumpy_parts[0]]);
    let ingest = &seen.grumpy[0].evidence.ingest;
    let evidence = json!({"refusals": first, "nm_ingest": ingest});
    let signals =
        ingest.friction_signals.iter().filter(|signal| signal.starts_with("403:")).count();
    match (first, signals) {
        (3, 3) => good("the run ended after three refusals in a row", evidence),
        (3, _) => bad("the refusals are not in the evidence", evidence),
        _ => bad(format!("{first} refusals were taken in one run"), evidence),
    }
}

record! {
    struct StoredPage {
        content_hash: String,
        fetched_at: String,
        expires_at: String,
    }
}

/// INGEST_006: what was fetched is used again for a day.
fn caching(seen: &TrialResults<'_>) -> CheckOutcome {
    let repeated: Vec<&str> =
        seen.well_log[seen.well_first..].iter().map(|exchange| &*exchange.target).collect();
    let sql =
        "SELECT content_hash, fetched_at, expires_at FROM url_fetch_cache WHERE hostname = ?1";
    let rows: Vec<StoredPage> = match seen.trial.database.with(|db| db.all(sql, &[WELL.into()])) {
        Ok(rows) => rows,
        Err(error) => return bad(error.to_string(), Json::Null),
    };
    let day = Duration::from_secs(24 * 3600);
    let took = RunSpan::of_all(&[seen.times.well, seen.times.again]);
    let lasts_a_day = |row: &StoredPage| {
        let (from, to) = read_timestamp(&row.fetched_at).zip(read_timestamp(&row.expires_at))?;
        // The first is from the worker's clock at the response, the second from the store's at the
        // write: both during these runs.
        let apart = (to - (from + day)).max((from + day) - to);
        Some(apart <= took && row.content_hash.len() == 64)
    };
    let ingest = &seen.again.evidence.ingest;
    let evidence = json!({"askedAgain": repeated, "cached": rows.len(), "nm_ingest": ingest});
    match () {
        () if !repeated.is_empty() => bad("pages were asked for again within a day", evidence),
        () if ingest.cache_hits == 0 || ingest.cache_hits != ingest.pages_planned => {
            bad("the second run does not count its pages as found in the cache", evidence)
        }
        () if rows.is_empty() || !rows.iter().all(|row| lasts_a_day(row) == Some(true)) => {
            bad("cached pages do not last 24 hours, or have no hash", evidence)
        }
        () => good("the second run asked for nothing: every page was in the cache", evidence),
    }
}

/// INGEST_007: the page lets a person choose between the three modes.
fn mode_selector(seen: &TrialResults<'_>) -> CheckOutcome {
    let slug = Slug::parse("health-check").expect("a slug");
    let html = pages::import_html(seen.spec, &slug);
    let found: Vec<&str> = ["light", "standard", "user_assisted"]
        .into_iter()
        .filter(|mode| {
            let input = html.split("<input").find(|input| {
                let end = input.find('>').unwrap_or(input.len());
                let tag = &input[..end];
                tag.contains("type=\"radio\"")
                    && tag.contains("name=\"mode\"")
                    && tag.contains(&format!("value=\"{mode}\""))
            });
            input.is_some()
        })
        .collect();
    let evidence = json!({"modes": found});
    match found.len() {
        3 => good("all three modes can be chosen", evidence),
        _ => bad("the page does not offer all three modes", evidence),
    }
}

/// COMPLY_001: a bot wall is told apart, never climbed, and its run is shown with a way on.
fn bot_walls(seen: &TrialResults<'_>) -> CheckOutcome {
    let ingest = &seen.walled.evidence.ingest;
    let asked: Vec<&str> = seen.walled_log.iter().map(|exchange| &*exchange.target).collect();
    let html = pages::blocked_html(seen.spec, &seen.walled.evidence);
    let guided = html.contains("blocked-tile") && html.contains("user_assisted");
    let evidence = json!({"asked": asked, "nm_ingest": ingest, "guided": guided});
    let told = ingest.friction_signals.iter().any(|signal| signal.starts_with("challenge:"));
    let homes = asked.iter().filter(|target| **target == "/").count();
    match () {
        () if ingest.outcome.name() != "blocked" || !told => {
            bad("a bot wall was not told apart", evidence)
        }
        () if homes > 1 => bad("a wall was asked again in the same run", evidence),
        () if !guided => bad("a blocked run is shown without a way on", evidence),
        () => good("the wall was told apart, left alone, and explained", evidence),
    }
}

/// COMPLY_002: risk is counted per host, kept, and critical hosts are left alone.
fn risk_tracking(seen: &TrialResults<'_>) -> CheckOutcome {
    let scores: Vec<u8> =
        seen.grumpy.iter().map(|answer| answer.evidence.ingest.domain_risk_score).collect();
    let risk = match seen.trial.database.with(|db| records::risk(db, GRUMPY)) {
        Ok(risk) => risk,
        Err(error) => return bad(error.to_string(), Json::Null),
    };
    let events = risk.as_ref().and_then(|risk| risk.friction_events.as_array()).map_or(0, Vec::len);
    let refusals = seen.grumpy_log.iter().filter(|e| e.status == Some(403)).count();
    let [_, second, third] = seen.grumpy_parts;
    let evidence = json!({"scores": scores, "domain_risk": risk, "refusals": refusals, "asked": seen.grumpy_parts});
    match () {
        () if risk.is_none() || events == 0 => bad("the host's friction was not kept", evidence),
        () if events != refusals => bad("not every refusal was counted", evidence),
        () if scores != [60, 100, 100] => bad("the score is not that of the contract", evidence),
        () if second != third => bad("a critical host was asked again", evidence),
        () => good(
            "three refusals made 60, two more runs made the host critical, and it was left alone",
            evidence,
        ),
    }
}

/// What a service is told to break is broken in the trial's pages too.
pub(crate) fn shown(spec: &ServeSpec, html: String) -> String {
    spec.breaks.map_or(html.clone(), |which: Break| which.page(html))
}
