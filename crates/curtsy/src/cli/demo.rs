//! `curtsy demo`: crawls a small synthetic site on this machine, explains the result, and judges
//! the crawl by the site's access log.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use curtsy_core::policy::{FlagValue, Layers, Preset, Reach};
use curtsy_core::url::CrawlUrl;
use curtsy_engine::discover::{DiscoverySpec, Scope};
use curtsy_fetch::FetchSettings as Outlet;
use curtsy_judge::{InStartOrder, Judge};
use curtsy_lab::sites::{Scene, Sites, SitesSettings};
use curtsy_sim::manners_of;

use super::progress::Progressing;
use super::report::{RowsAre, summary_of};
use super::{Console, Exit, columns, printable, why};
use crate::signals::Signals;
use curtsy_crawl::{
    Begin, CrawlReport, FileSpec, JobSpec, PageSharing, Prelude, RowsTarget, SeedsAre,
    run as run_job,
};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct DemoArgs {
    /// Keep the crawl's file and the access log in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Print the report and the verdict as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &DemoArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let temporary = std::env::temp_dir().join(format!("curtsy-demo-{}", std::process::id()));
    let folder = args.keep.clone().unwrap_or_else(|| temporary.clone());
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("could not make the folder `{}`", folder.display()))?;
    let shown = show(args, &folder, console);
    if args.keep.is_none() {
        // A folder of ours; if it can't be removed, the system does it some day.
        let _ = std::fs::remove_dir_all(&temporary);
    }
    shown
}

fn show(args: &DemoArgs, folder: &Path, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let log = folder.join("access.jsonl");
    let settings = SitesSettings { log: Some(log.clone()), ..SitesSettings::default() };
    let sites = Sites::start(Scene::demo(), settings)?;
    let port = sites.port();
    if !args.json {
        writeln!(
            console.err,
            "a small town's site stands on this machine: http://demo.localhost:{port}/ and two more hosts, with a robots.txt that asks for 0.2 s between\nrequests, sitemaps, a page that says 429, one that says 503, redirects, a bot wall and a calendar without end\n"
        )?;
    }
    let (spec, into) = spec(port, folder)?;
    let report = {
        let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        let mut watch = Progressing::new(console.err, args.json, args.json, terminal);
        let mut signals = None;
        let report = run_job(&spec, &into, &mut watch, async || Signals::heard(&mut signals).await);
        watch.end();
        report?
    };
    let left = sites.stop().context("the sites ended with an error")?;
    let mut judge = Judge::new(manners_of(&spec.policy));
    let mut order = InStartOrder::new(std::time::Duration::from_secs(120));
    // A connection is accepted before its requests.
    left.connections.into_iter().for_each(|event| order.push(event));
    left.log.into_iter().for_each(|exchange| order.push(exchange));
    while let Some(entry) = order.drain() {
        judge.see(entry);
    }
    let verdict = judge.finish();
    let clean = verdict.clean();
    if args.json {
        let whys = whys(&into, port)?;
        let all = serde_json::json!({
            "report": serde_json::to_value(&report)?,
            "why": whys.iter().map(|w| w.json.clone()).collect::<Vec<_>>(),
            "judge": verdict.to_json(),
        });
        writeln!(console.out, "{all:#}")?;
    } else {
        let rows = if args.keep.is_some() { RowsAre::Kept } else { RowsAre::Removed };
        tell(&report, (&into, rows), port, console)?;
        let mut text = Vec::new();
        verdict.print(&mut text)?;
        writeln!(console.out, "The judge read the site's own access log:\n")?;
        let text = String::from_utf8_lossy(&text);
        let text: Vec<String> = text.lines().map(printable).collect();
        columns::print(&text.join("\n"), columns::of_stdout(), console.out)?;
        let kept = match &args.keep {
            Some(folder) => format!("The crawl's file and the log are in {}.", folder.display()),
            None => "`--keep DIR` keeps the crawl's file and the log.".to_owned(),
        };
        writeln!(
            console.out,
            "\n{kept}\nNext: curtsy crawl https://your.site/ --contact you@your.site"
        )?;
    }
    Ok(if clean { Exit::Fine } else { Exit::Refused })
}

fn tell(
    report: &CrawlReport,
    (into, rows): (&FileSpec, RowsAre),
    port: u16,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    write!(console.out, "{}", summary_of(report, into, rows))?;
    for why in whys(into, port)? {
        write!(console.out, "\n{}", why.text)?;
    }
    writeln!(console.out)?;
    Ok(())
}

/// Three answers to "why?".
fn whys(into: &FileSpec, port: u16) -> anyhow::Result<Vec<why::Why>> {
    let find = |path: &str| {
        why::find(&into.file, &format!("http://demo.localhost:{port}{path}"), |_| Ok(true))
    };
    let mut found = Vec::new();
    for path in ["/private/diary", "/busy"] {
        found.extend(find(path)?);
    }
    // Where the calendar became a trap depends on which of its pages came first.
    for month in 1..=24 {
        let why = find(&format!("/calendar/{}/{}", 2025 + (month - 1) / 12, (month - 1) % 12 + 1))?;
        if let Some(why) = why.filter(|why| why.json["gate"] == "trap") {
            found.push(why);
            break;
        }
    }
    Ok(found)
}

/// The demonstration's crawl: all of it, at the pace that the town asks for.
fn spec(port: u16, folder: &Path) -> anyhow::Result<(JobSpec, FileSpec)> {
    let flags = [
        FlagValue { flag: "demo", key: "pace.delay", value: "100ms" },
        // A demonstration has little time.
        FlagValue { flag: "demo", key: "traps.vain_max", value: "2" },
        FlagValue { flag: "demo", key: "identity.contact", value: "demo@localhost" },
    ];
    let layers = Layers { preset: Some(Preset::Warehouse), flags: &flags, ..Layers::default() };
    let policy = layers.settle(Reach::AllowedNet)?.policy;
    let seeds = vec![CrawlUrl::parse(&format!("http://demo.localhost:{port}/"))?];
    let mut outlet = Outlet::of(&policy);
    outlet.allow_net = vec!["127.0.0.0/8".parse()?];
    outlet.public = false;
    outlet.pins = vec!["*.localhost=127.0.0.1".parse()?];
    let job = JobSpec {
        user_agent: policy.user_agent()?,
        discovery: DiscoverySpec {
            seeds: seeds.clone(),
            scope: Scope::Subdomains,
            ..DiscoverySpec::default().under(&policy)
        },
        policy: Arc::new(policy),
        seeds,
        outlet,
        ledger: folder.join("hosts.db").into(),
        seeds_are: SeedsAre::Pages,
        sharing: PageSharing::default(),
        prelude: Prelude::default(),
    };
    let into = FileSpec {
        file: folder.join("crawl.db"),
        targets: vec![RowsTarget::Sqlite],
        begin: Begin::GoOn,
        // The site has another port each time.
        add: true,
        command: "curtsy demo".to_owned(),
    };
    Ok((job, into))
}

const HELP: &str = "\
Needs no internet: the site is served on 127.0.0.1 and nothing else is asked.

Examples:
  curtsy demo
  curtsy demo --keep demo    keeps the crawl's file and the access log there

Exit codes: 0 the judge finds nothing; 1 it finds a violation.";
