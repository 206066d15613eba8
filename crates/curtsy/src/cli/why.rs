//! `curtsy why URL`: why a URL was fetched or not, and everything that was asked on the way.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use curtsy_core::evidence::{
    RobotsEvidence, SLOT_TIMEOUT_TEXT, SentenceContext, Sureness, sentence, timestamp,
};
use curtsy_core::host::{Finding, Gate, Reason, RiskReason, RobotsReason, Verdict};
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, HostKey};
use curtsy_engine::UrlRecord;
use curtsy_fetch::GuardRefusal;
use curtsy_sink::PRIVATE_ADDRESS;
use curtsy_sink::read::{CrawlRunRow, DecisionRow, PageRow, PagesFile};
use curtsy_store::queued_in;
use serde_json::{Value as Json, json};

use super::explain::{self, HowFlags};
use super::failure::{self, CommandFailure};
use super::settings::CommandSettings;
use super::{Console, Exit, file, printable, progress};
use curtsy_crawl::{UrlLeftOut, left_out, other_scheme, seed};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct WhyArgs {
    /// The URL, as it was found or given
    url: String,
    /// The crawl's file [default: the crawl in this folder that knows the URL, the file named after
    /// its host first, or the newest]
    #[arg(long = "in", value_name = "FILE")]
    file: Option<PathBuf>,
    /// Say what a crawl would do with the URL now, and not what one did; nothing is sent to the
    /// site
    #[arg(long, conflicts_with = "file")]
    now: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten, next_help_heading = "How a crawl would ask (with --now)")]
    how: HowFlags,
}

pub(super) fn run(args: WhyArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    if args.now {
        return explain::now(args.url, args.how.0, args.json, console);
    }
    let mut urls = vec![seed(&args.url)?];
    urls.extend(other_scheme(&args.url));
    let file = file::find(args.file.as_deref(), &urls, &args.how.0, console)?;
    let settings = args.how.0.settings()?;
    let is_blocked = |host: &HostKey| is_blocked(&settings, host, console);
    // A URL that was written without a scheme is the one that the crawl knows.
    let found = urls.iter().find_map(|url| find(&file, url.as_str(), is_blocked).transpose());
    let found = found.transpose()?;
    match found {
        Some(why) if args.json => writeln!(console.out, "{:#}", why.json)?,
        Some(why) => write!(console.out, "{}", why.text)?,
        None => {
            let UrlLeftOut { why, hint, .. } = left_out(&PagesFile::open(&file)?, &urls[0])?;
            let (url, file) = (printable(&args.url), file.display());
            let message = format!("{url} is not in `{file}`: {}", printable(&why));
            console.refuse(CommandFailure { code: failure::NOT_TAKEN, message, hint })?;
            return Ok(Exit::Refused);
        }
    }
    Ok(Exit::Fine)
}

/// An answer to "why?".
pub(super) struct Why {
    pub(super) text: String,
    pub(super) json: Json,
}

/// Whether the ledger has an order that blocks a host. Without a ledger no command can have lifted
/// the order of a run.
fn is_blocked(
    settings: &CommandSettings,
    host: &HostKey,
    console: &Console<'_>,
) -> anyhow::Result<bool> {
    if !settings.ledger_file(console)?.exists() {
        return Ok(true);
    }
    let stops = settings.ledger(console)?.stops().context("could not read the ledger of hosts")?;
    Ok(stops.iter().any(|(blocked, _)| blocked == host))
}

/// Returns what a crawl's file knows of a URL. `is_blocked` says whether a host is blocked now,
/// which the file does not know.
pub(super) fn find(
    file: &Path,
    url: &str,
    is_blocked: impl Fn(&HostKey) -> anyhow::Result<bool>,
) -> anyhow::Result<Option<Why>> {
    let url = seed(url)?;
    let pages = PagesFile::open(file)?;
    let row = pages.row(&url)?;
    let decisions = pages.decisions(&url)?;
    let refused = match &row {
        Some(row) if row.error.as_deref() == Some("guard") => Some(not_dialled(&pages, row)?),
        _ => None,
    };
    let queued = queued_in(file, &url)?.filter(|record| !record.held || row.is_none());
    if row.is_none() && decisions.is_empty() && queued.is_none() {
        let found = UrlHistory::beside_pages(&pages, &url)?;
        return Ok(found.map(|found| Why { text: text(&url, &found), json: in_json(&url, &found) }));
    }
    let queued = match queued {
        Some(record) => Some(WaitingUrl::of(&record, pages.runs()?.last(), is_blocked)?),
        None => None,
    };
    let found = UrlHistory { row, refused, decisions, queued, role: None };
    Ok(Some(Why { text: text(&url, &found), json: in_json(&url, &found) }))
}

/// Everything that a crawl's file has about a URL.
struct UrlHistory {
    row: Option<PageRow>,
    /// Why its host was not dialled.
    refused: Option<String>,
    decisions: Vec<DecisionRow>,
    queued: Option<WaitingUrl>,
    /// What it is, if it is no page.
    role: Option<StepRole>,
}

/// What a URL is that a crawl asks for on behalf of pages.
enum StepRole {
    /// The robots.txt of a site: how many pages it refused, and how many others have a row.
    Robots { refused: u64, others: u64 },
    /// A sitemap: how many pages it lists.
    Sitemap { listed: u64 },
}

impl UrlHistory {
    /// What the file has about a robots.txt or a sitemap; none if the URL is neither.
    fn beside_pages(pages: &PagesFile, url: &CrawlUrl) -> anyhow::Result<Option<UrlHistory>> {
        let (refused, queued) = (None, None);
        if let Some(row) = pages.sitemap_row(url)? {
            let role = Some(StepRole::Sitemap { listed: pages.listed_by(&row.final_url)? });
            let decisions = pages.sitemap_decisions(url)?;
            return Ok(Some(UrlHistory { row: Some(row), refused, decisions, queued, role }));
        }
        let authority = url.authority();
        if *url != authority.robots_url() {
            return Ok(None);
        }
        let decisions = pages.robots_requests(url)?;
        let (forbidden, others) = pages.ruled_by_robots(&authority)?;
        if decisions.is_empty() && forbidden + others == 0 {
            return Ok(None);
        }
        let role = Some(StepRole::Robots { refused: forbidden, others });
        Ok(Some(UrlHistory { row: None, refused, decisions, queued, role }))
    }
}

impl StepRole {
    /// What is said about it, each in a line.
    fn lines(&self, requests: usize) -> Vec<String> {
        match self {
            StepRole::Sitemap { listed } => {
                vec![format!("a sitemap; it lists {}", super::count(*listed, "URL"))]
            }
            StepRole::Robots { refused, others } => {
                let asked = match requests {
                    0 => "not asked for by this crawl: the ledger of hosts had it".to_owned(),
                    1 => "the robots.txt of the site, asked for once".to_owned(),
                    n => format!("the robots.txt of the site, asked for {n} times"),
                };
                let pages = super::count(refused + others, "page");
                vec![asked, format!("it refused {refused} of the {pages} of its site in this file")]
            }
        }
    }

    fn in_json(&self) -> Json {
        match self {
            StepRole::Sitemap { listed } => json!({"is": "sitemap", "urls_listed": listed}),
            StepRole::Robots { refused, others } => {
                json!({"is": "robots", "pages_refused": refused, "pages_not_refused": others})
            }
        }
    }
}

/// Returns why the host of a row was not dialled, and what would allow it: by its address, or from
/// the run that tried.
fn not_dialled(pages: &PagesFile, row: &PageRow) -> anyhow::Result<String> {
    let url = CrawlUrl::parse(&row.final_url)?;
    let host = GuardRefusal::host(&url);
    if let Some(refused) = GuardRefusal::of_literal(&url) {
        return Ok(refused.to_string());
    }
    let run = pages.runs()?.into_iter().find(|run| Some(run.number) == row.run);
    let figures = run.and_then(|run| serde_json::from_str::<Json>(&run.figures?).ok());
    let all = figures.as_ref().and_then(|figures| figures["not_dialled"].as_array());
    let said = all.into_iter().flatten().find(|refused| refused["host"] == host);
    let word = |key: &str| said.and_then(|refused| refused[key].as_str());
    Ok(match (word("address"), word("what"), word("allow")) {
        (Some(address), Some(what), Some(flag)) => {
            format!("{host} is at {address}, which is not dialled ({what}): `{flag}` allows it")
        }
        (Some(address), Some(what), None) => {
            format!("{host} is at {address}, which is not dialled ({what})")
        }
        _ => format!("{host} is at an address that is not public: `--allow-net` allows networks"),
    })
}

/// A URL that is still queued.
struct WaitingUrl {
    /// Not before this: a try that failed, or a host that waits.
    ready: Option<Time>,
    /// Why it is not asked for now.
    why: String,
}

impl WaitingUrl {
    /// What the last run says of it.
    fn of(
        record: &UrlRecord,
        run: Option<&CrawlRunRow>,
        is_blocked: impl Fn(&HostKey) -> anyhow::Result<bool>,
    ) -> anyhow::Result<WaitingUrl> {
        let figures = run.and_then(|run| run.figures.as_deref());
        let figures: Json = figures.and_then(|f| serde_json::from_str(f).ok()).unwrap_or_default();
        let waits = figures["waits"].as_array().map(Vec::as_slice).unwrap_or_default();
        let host = waits.iter().find(|wait| wait["host"] == record.host().as_str());
        if host.is_some_and(|wait| wait["gate"] == Gate::Stop.name()) {
            let name = record.host().as_str();
            let why = match is_blocked(record.host())? {
                true => format!(
                    "{name} is blocked; `curtsy block {name} --lift` lets it be asked again, and then the same command goes on with it"
                ),
                false => format!(
                    "{name} was blocked when the last run ended; the block was lifted since, and the same command goes on with it"
                ),
            };
            return Ok(WaitingUrl { ready: record.ready, why });
        }
        let why = match run.map(|run| (run.ended_at, run.outcome.as_deref())) {
            None | Some((None, _)) => {
                "the crawl is at work, or was killed; the same command goes on with it".to_owned()
            }
            Some((_, Some("waits"))) => {
                let after = figures["resume_after"].as_str().unwrap_or("somebody lifts the block");
                let why = host.and_then(|wait| wait["why"].as_str());
                let why =
                    why.unwrap_or("what is left had to wait longer than the crawl's patience");
                format!("{why}; the last run ended, resume after {after} with the same command")
            }
            Some((_, Some("stopped"))) => {
                let why = host.and_then(|wait| wait["why"].as_str());
                let why = why.map(|why| format!("{why}; ")).unwrap_or_default();
                format!("{why}the last run was stopped; the same command goes on with it")
            }
            Some(_) => match figures["budget"]["limit"].as_str() {
                Some("pages") => {
                    format!("the page limit ({}) is reached", figures["budget"]["max"])
                }
                Some("time") => "the time limit is reached".to_owned(),
                _ => "the same command goes on with it".to_owned(),
            },
        };
        Ok(WaitingUrl { ready: record.ready, why })
    }
}

fn text(url: &CrawlUrl, found: &UrlHistory) -> String {
    let UrlHistory { row, refused, decisions, queued, role } = found;
    let row = row.as_ref();
    let mut text = format!("{}\n", printable(url.as_str()));
    match row {
        Some(row) => {
            let _ = writeln!(text, "  {}", printable(&verdict(row)));
            if row.access.as_deref() == Some("own") {
                text.push_str(
                    "  asked for with the credentials that the policy has for this host\n",
                );
            }
            if row.redirect_count > 0 {
                let _ = writeln!(
                    text,
                    "  followed {} to {}",
                    super::count(row.redirect_count.into(), "redirect"),
                    printable(&row.final_url)
                );
            }
            if let Some(cut) = row.links_cut {
                let _ = writeln!(
                    text,
                    "  has more links than are read of one page ({}): {} not read",
                    super::links_max(),
                    if cut == 1 { "1 link was".to_owned() } else { format!("{cut} links were") },
                );
            }
        }
        None if queued.is_none() && role.is_none() => text.push_str("  has not ended yet\n"),
        None => {}
    }
    for line in role.iter().flat_map(|role| role.lines(decisions.len())) {
        let _ = writeln!(text, "  {line}");
    }
    if let Some(WaitingUrl { ready, why }) = queued {
        let _ = writeln!(text, "  queued: {}", printable(why));
        let tried = decisions.iter().any(|step| step.decision == "retry");
        if let Some(ready) = ready.filter(|_| tried) {
            let _ = writeln!(text, "  its next try is not before {}", timestamp(ready));
        }
    }
    if let Some(refused) = refused {
        let _ = writeln!(text, "  {}", printable(refused));
    }
    let last = decisions.last();
    let rule = row.and_then(|row| row.robots_rule.as_deref());
    if let Some(last) = last {
        for line in findings(last, rule) {
            let _ = writeln!(text, "  {}", printable(&line));
        }
    }
    let is_request = |d: &DecisionRow| d.http_status.is_some() || d.error.is_some();
    if decisions.len() > 1 || decisions.first().is_some_and(is_request) {
        text.push_str("  on the way:\n");
        for step in decisions {
            let _ = writeln!(text, "    {}", printable(&told(step)));
        }
    }
    text
}

/// The first line: what became of it.
fn verdict(row: &PageRow) -> String {
    let shared = row.source.as_deref() == Some("shared");
    let status = row.http_status.map(|s| format!(" with {s}")).unwrap_or_default();
    let error = match row.error.as_deref() {
        // What would allow it is said in the next line.
        Some("guard") => Some(PRIVATE_ADDRESS.to_owned()),
        Some(error) => Some(row.reason.clone().unwrap_or_else(|| error.replace('_', " "))),
        None => None,
    };
    match (row.decision.as_str(), &error) {
        ("fetched", _) => {
            let bytes =
                row.body_bytes.map(|b| format!(", {}", progress::size(b))).unwrap_or_default();
            let login = if row.access.as_deref() == Some("login") { ", a login form" } else { "" };
            format!("fetched{status}{bytes}{login}")
        }
        ("confirmed", _) if shared => {
            "asked again and not changed: the page that another crawl of yours fetched stands"
                .to_owned()
        }
        ("cached", _) if shared => {
            "not asked for: another crawl of yours fetched this page, and it is still fresh"
                .to_owned()
        }
        ("dead", _) if shared => {
            format!("not asked for: another crawl of yours was answered{status} a short while ago")
        }
        ("confirmed", _) => "asked again and not changed: the page that we hold stands".to_owned(),
        ("cached", _) => "not asked for: the page that we hold is fresh".to_owned(),
        ("login_wall", _) => login(row),
        ("refused", _) => {
            let gate = row.gate.as_deref().unwrap_or("?");
            match &row.reason {
                Some(reason) if reason.contains(gate) => format!("not fetched: {reason}"),
                Some(reason) => format!("not fetched: {reason} (refused by the {gate} gate)"),
                None => format!("not fetched: refused by the {gate} gate"),
            }
        }
        (_, Some(error)) if row.tries > 0 => {
            format!(
                "failed for good after {}: {error}{status}",
                super::count(u64::from(row.tries) + 1, "try").replace("trys", "tries")
            )
        }
        (_, Some(error)) => format!("failed: {error}{status}"),
        (_, None) if row.reason.is_some() => {
            format!("failed: {}", row.reason.as_deref().unwrap_or_default())
        }
        (other, None) => format!("{}{status}", other.replace('_', " ")),
    }
}

/// How the site said that it wants a login.
fn login(row: &PageRow) -> String {
    let how = match (row.http_status, &row.location) {
        (Some(401), _) => "the site answered 401".to_owned(),
        (Some(300..=399), Some(to)) => format!("the site redirects to a login, {to}"),
        _ => "the site shows a login form instead of the page".to_owned(),
    };
    let next = match row.access.as_deref() {
        Some("own") => "the credentials that the policy has for this host did not open it",
        _ => "a login is never tried",
    };
    format!("behind a login: {how}; {next}")
}

/// What the gates that had something to say found at the last decision.
fn findings(last: &DecisionRow, rule: Option<&str>) -> Vec<String> {
    let now = last.at.unwrap_or(Time::START);
    let names = SentenceContext { robots: None, now };
    let quiet = [Reason::Clear, Reason::Risk(RiskReason::Score { score: 0 })];
    let said = last.findings.iter().filter(|(_, f)| !quiet.contains(&f.reason));
    said.map(|(gate, finding)| {
        // A wait that was over when the request was made is a wait that was kept.
        let over = matches!(finding.verdict, Verdict::NotBefore(until) if until <= now);
        let finding =
            &Finding { verdict: if over { Verdict::Go } else { finding.verdict }, ..*finding };
        let unsure = gate == Gate::Robots && Sureness::of(finding) == Some(Sureness::Low);
        let mark = match finding.verdict {
            Verdict::Go if unsure => "!",
            Verdict::Go => "·",
            Verdict::NotBefore(_) => "…",
            Verdict::Never => "✗",
        };
        let rule = match finding.reason {
            Reason::Robots(
                RobotsReason::Allows { line: Some(_), .. } | RobotsReason::Forbids { .. },
            ) => rule.map(|rule| format!(": `{rule}`")).unwrap_or_default(),
            _ => String::new(),
        };
        format!("{mark} {:<9} {}{rule}", gate.name(), sentence(gate, finding, &names))
    })
    .collect()
}

/// One request or decision, in a line.
fn told(step: &DecisionRow) -> String {
    let at = step.at.map(timestamp).unwrap_or_default();
    let came = match (step.http_status, &step.error) {
        (Some(status), None) => status.to_string(),
        (Some(status), Some(error)) => format!("{status}, {}", error.replace('_', " ")),
        (None, Some(error)) => {
            let names = SentenceContext { robots: None, now: step.at.unwrap_or(Time::START) };
            // What was not sent was held up by a gate, if one is named.
            let held_up =
                step.findings.iter().find(|(gate, _)| Some(gate.name()) == step.gate.as_deref());
            let why = held_up.filter(|_| error == "not_sent");
            let why = why.map(|(gate, found)| format!(": {}", sentence(gate, found, &names)));
            let words = step.reason.clone().unwrap_or_else(|| error.replace('_', " "));
            format!("{words}{}", why.unwrap_or_default())
        }
        (None, None) => step.gate.as_ref().map(|g| format!("{g} gate")).unwrap_or_default(),
    };
    let friction = step.friction.as_ref().map(|f| format!(" ({f})")).unwrap_or_default();
    let wait = step
        .retry_after
        .map(|w| format!(", asks to wait {}", progress::span(w)))
        .unwrap_or_default();
    if was_not_asked(step) {
        let what = match step.http_status {
            Some(_) => "not asked for: the last answer is still fresh",
            None => "given up without a further try",
        };
        return format!("{at} {} {what}: {came}", step.url);
    }
    if is_head(step) {
        let url = &step.url;
        return format!(
            "{at} HEAD {url} {came}{friction}{wait} → asked again with GET: some servers refuse HEAD alone"
        );
    }
    let then = match (step.decision.as_str(), step.not_before, &step.follows) {
        ("retry", Some(next), _) => {
            let wait = step.at.map(|at| format!(", {} later", progress::span(next - at)));
            format!(" → tried again not before {}{}", timestamp(next), wait.unwrap_or_default())
        }
        ("follow", _, Some(to)) => format!(" → {to}"),
        ("decide", ..) => String::new(),
        ("dead", ..) => " → given up".to_owned(),
        (other, ..) => format!(" → {}", other.replace('_', " ")),
    };
    let what = match step.kind.as_str() {
        "page" => step.url.clone(),
        kind => format!("{kind} {}", step.url),
    };
    format!("{at} {what} {came}{friction}{wait}{then}")
}

/// Whether this was a `HEAD` that was repeated as `GET`: no other decision follows a URL to itself.
fn is_head(step: &DecisionRow) -> bool {
    step.decision == "follow" && step.follows.as_ref() == Some(&step.url)
}

/// Whether a URL ended at this decision without a request: its host had to wait and no other work
/// was left, or an earlier answer "missing" was still fresh.
fn was_not_asked(step: &DecisionRow) -> bool {
    let waits = |finding: &Finding| matches!((finding.verdict, step.at), (Verdict::NotBefore(until), Some(at)) if until > at);
    let remembered = waits(step.findings.of(Gate::Freshness));
    let failed = step.http_status.is_none() && step.findings.iter().any(|(_, f)| waits(f));
    step.decision == "dead" && (remembered || failed)
}

/// What robots.txt said at a decision, as a record of its own; or that no slot came free.
fn evidence(step: &DecisionRow) -> Option<Json> {
    let url = CrawlUrl::parse(&step.url).ok()?;
    let at = step.at.unwrap_or(Time::START);
    if step.error.as_deref() == Some("slot_timeout") {
        return Some(json!({
            "type": "slot_timeout",
            "content": {"error": SLOT_TIMEOUT_TEXT, "timestamp": timestamp(at)},
            "metadata": {"url": url},
        }));
    }
    let found = step.findings.of(Gate::Robots);
    let rule = step.robots_rule.clone();
    let evidence = RobotsEvidence::with_rule(found, &url, rule, step.crawl_delay, at)?;
    // Plain data of ours always is JSON.
    serde_json::to_value(evidence).ok()
}

fn in_json(url: &CrawlUrl, found: &UrlHistory) -> Json {
    let UrlHistory { row, refused, decisions, queued, role } = found;
    let (row, queued) = (row.as_ref(), queued.as_ref());
    let rule = row.and_then(|row| row.robots_rule.as_deref());
    let steps: Vec<Json> = decisions
        .iter()
        .map(|step| {
            let gates: Vec<Json> = step
                .findings
                .iter()
                .filter(|(_, f)| f.reason != Reason::Clear)
                .map(|(gate, f)| {
                    let names = SentenceContext { robots: None, now: step.at.unwrap_or(Time::START) };
                    json!({"gate": gate.name(), "why": sentence(gate, f, &names)})
                })
                .collect();
            json!({
                "at": step.at.map(timestamp), "kind": step.kind, "url": step.url, "decision": step.decision,
                "http_status": step.http_status, "error": step.error, "friction": step.friction,
                "retry_after_ms": step.retry_after.map(|w| w.as_millis() as u64), "gate": step.gate,
                "not_before": step.not_before.map(timestamp), "follows": step.follows,
                "get_after_head": is_head(step),
                "delay_ms": step.delay.map(|d| d.as_millis() as u64), "delay_by": step.delay_by,
                "robots_line": step.robots_line, "findings": gates, "reason": step.reason,
                "wait_ms": step.not_before.zip(step.at).map(|(next, at)| (next - at).as_millis() as u64),
                "evidence": evidence(step),
                "requested": (step.http_status.is_some() || step.error.is_some()) && !was_not_asked(step),
            })
        })
        .collect();
    let unsure = decisions
        .iter()
        .any(|step| Sureness::of(step.findings.of(Gate::Robots)) == Some(Sureness::Low));
    let warnings: Vec<&str> = match unsure {
        true => vec!["robots.txt could not be fetched: low confidence"],
        false => Vec::new(),
    };
    json!({
        "url": url,
        "role": role.as_ref().map(StepRole::in_json),
        "queued": queued.map(|q| json!({"why": q.why, "ready": q.ready.map(timestamp)})),
        "warnings": warnings,
        "reason": row.and_then(|r| r.reason.clone()),
        "decision": row.map(|r| r.decision.clone()),
        "gate": row.and_then(|r| r.gate.clone()),
        "http_status": row.and_then(|r| r.http_status),
        "error": row.and_then(|r| r.error.clone()),
        "not_dialled": refused,
        "final_url": row.map(|r| r.final_url.clone()),
        "redirect_count": row.map(|r| r.redirect_count),
        "links_cut": row.and_then(|r| r.links_cut),
        "robots_rule": rule,
        "access": row.and_then(|r| r.access.clone()),
        "source": row.and_then(|r| r.source.clone()),
        "steps": steps,
    })
}

const HELP: &str = "\
What became of a URL in a crawl, read from the crawl's file: the robots line that decided, the \
delay in force and who set it, budgets, redirects, walls, traps, and every try with its time. Works \
while a crawl writes the file. What a crawl would do now is `curtsy why --now URL`, also called \
`curtsy explain URL`.

Examples:
  curtsy why https://example.org/page
  curtsy why https://example.org/page --in example.org.db --json
  curtsy why --now https://example.org/page --contact me@example.org

Exit codes: 0 there is an answer; 1 the URL was never considered; 2 no such file. With --now: those \
that the crawl would end with.";
