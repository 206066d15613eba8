//! `curtsy site`: serves scripted sites on loopback until it is stopped, and writes the access log
//! that `curtsy judge` reads.
//!
//! It serves tests of any crawler. It listens on 127.0.0.0/8 only and needs no network.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use curtsy_lab::sites::{Listen, Scene, Served, Sites, SitesHealth, SitesSettings};
use curtsy_lab::worlds::{WebWorld, WorldNature, WorldPurpose, worlds};
use serde_json::json;

use super::ends::Ends;
use super::{Console, Exit, count};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct SiteArgs {
    /// A description of the sites in TOML; without it the moods and numbers below make them
    #[arg(value_name = "FILE", conflicts_with_all = ["hosts", "pages", "links", "bytes", "moods", "tls"])]
    file: Option<String>,
    /// What kind of sites
    #[arg(long, value_enum, default_value_t = Moods::Plain)]
    moods: Moods,
    /// Worlds to measure trap detection with, each at NAME.localhost: `all`, `development`, `measured`, or names
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with_all = ["file", "hosts", "pages", "links", "bytes", "moods", "tls"])]
    worlds: Vec<String>,
    /// Writes the pages of the worlds that deserve to be read to this file, as JSON
    #[arg(long, value_name = "FILE", requires = "worlds")]
    pages_out: Option<PathBuf>,
    /// How many hosts, each at an address of its own [default: 3; mixed: 36]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    hosts: Option<u32>,
    /// Pages of each plain host
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pages: u32,
    /// Links on each page of a plain host
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    links: u32,
    /// Bytes of each page of a plain host, at least
    #[arg(long, value_name = "N", default_value_t = 10_240, value_parser = clap::value_parser!(u32).range(..=(64 << 20)))]
    bytes: u32,
    /// The port of all hosts; 0 is any free one
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// The sites speak TLS, with certificates that `--ca-out` vouches for
    #[arg(long)]
    tls: bool,
    /// Writes the certificate of the sites' authority to this file, for the crawler's `--ca-file`
    #[arg(long, value_name = "FILE")]
    ca_out: Option<PathBuf>,
    /// Writes the access log to this file, as JSON lines
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Prints one line of JSON instead of text when the sites are ready
    #[arg(long)]
    json: bool,
    /// Stops when stdin is closed too: for scripts that can't send a signal
    #[arg(long)]
    until_stdin_closes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Moods {
    /// Well-behaved hosts without a robots.txt
    Plain,
    /// Each host with a mood of its own: refusals, redirects, walls, traps, outages, odd bytes
    Mixed,
    /// The small town that `curtsy demo` crawls: three hosts at 127.0.0.1
    Demo,
}

pub(super) fn run(args: &SiteArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let mut scene = scene(args)?;
    if let Some(port) = args.port {
        match scene.hosts.iter().any(|host| host.listen.plain()) {
            true => scene.port = port,
            false => scene.tls_port = port,
        }
    }
    let settings =
        SitesSettings { log: args.log.clone(), log_in_memory_max: 0, ..SitesSettings::default() };
    // Signals are listened for before anybody is told that the sites are ready.
    let ends = Ends::listen()?;
    let sites = Sites::start(scene, settings)?;
    if let Some(path) = &args.ca_out {
        let Some(pem) = sites.ca_pem() else {
            bail!(
                "no site speaks TLS, so there is no certificate for `--ca-out`\nhint: add `--tls`"
            );
        };
        std::fs::write(path, pem)
            .with_context(|| format!("could not write the certificate `{}`", path.display()))?;
    }
    if let Some(path) = &args.pages_out {
        std::fs::write(path, pages_of_worlds(&args.worlds)?.to_string())
            .with_context(|| format!("could not write the pages `{}`", path.display()))?;
    }
    ready(args, &sites, console)?;
    ends.wait(args.until_stdin_closes, None)?;
    let left = sites.stop().context("the sites ended with an error")?;
    told(args, &left.health, console)?;
    Ok(Exit::Fine)
}

fn scene(args: &SiteArgs) -> anyhow::Result<Scene> {
    if let Some(file) = &args.file {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("could not read the description `{file}`"))?;
        return Scene::read(&text).with_context(|| format!("`{file}`"));
    }
    if !args.worlds.is_empty() {
        return Ok(Scene::of_worlds(&chosen_worlds(&args.worlds)?));
    }
    let mut scene = match args.moods {
        Moods::Plain => Scene::plain(args.hosts.unwrap_or(3), args.pages, args.links, args.bytes),
        Moods::Mixed => Scene::mixed(args.hosts.unwrap_or(36)),
        Moods::Demo => Scene::demo(),
    };
    if args.tls {
        scene.hosts.iter_mut().for_each(|host| host.listen = Listen::Https);
    }
    Ok(scene)
}

/// The worlds of these names, each once.
fn chosen_worlds(names: &[String]) -> anyhow::Result<Vec<&'static WebWorld>> {
    let worlds = worlds();
    let fits = |world: &WebWorld, name: &str| match name {
        "all" => true,
        "development" => world.purpose == WorldPurpose::Development,
        "measured" => world.purpose == WorldPurpose::MeasuredOnly,
        name => world.name == name,
    };
    for name in names {
        if !worlds.iter().any(|world| fits(world, name)) {
            bail!(
                "there is no world `{name}`\nhint: docs/reference/test-sites.md has a table of the worlds"
            );
        }
    }
    let chosen = worlds.into_iter().filter(|world| names.iter().any(|name| fits(world, name)));
    Ok(chosen.collect())
}

/// The worlds with their pages that deserve to be read.
fn pages_of_worlds(names: &[String]) -> anyhow::Result<serde_json::Value> {
    let pages = chosen_worlds(names)?.into_iter().map(|world| {
        let (nature, pages) = match world.nature {
            WorldNature::Endless => ("endless", None),
            WorldNature::Honest { pages } => ("honest", Some(pages)),
        };
        let purpose = match world.purpose {
            WorldPurpose::Development => "development",
            WorldPurpose::MeasuredOnly => "measured",
        };
        json!({
            "name": world.name,
            "about": world.about,
            "nature": nature,
            "purpose": purpose,
            "pages": pages,
            "honest": world.honest_targets(),
        })
    });
    Ok(pages.collect())
}

/// Says that the sites can be asked, and where.
fn ready(args: &SiteArgs, sites: &Sites, console: &mut Console<'_>) -> anyhow::Result<()> {
    let hosts = sites.hosts();
    if args.json {
        let hosts: Vec<_> = hosts.iter().map(in_json).collect();
        let ports = (sites.port(), sites.tls_port());
        writeln!(
            console.out,
            "{}",
            json!({"ready": true, "port": ports.0, "tls_port": ports.1, "hosts": hosts})
        )?;
    } else {
        for host in hosts {
            // Clients resolve `.localhost` to this machine by themselves; other names need
            // `--resolve`.
            let url = match host.name.ends_with(".localhost") {
                true => &host.url,
                false => &host.url_by_address,
            };
            writeln!(console.out, "{url}  {}", host.name)?;
        }
        writeln!(console.out, "ready: {}, Ctrl-C ends it", count(hosts.len() as u64, "host"))?;
    }
    console.out.flush()?;
    Ok(())
}

fn in_json(host: &Served) -> serde_json::Value {
    json!({
        "name": host.name,
        "address": host.address.to_string(),
        "url": host.url,
        "url_by_address": host.url_by_address,
    })
}

/// Says how it went.
fn told(args: &SiteArgs, health: &SitesHealth, console: &mut Console<'_>) -> anyhow::Result<()> {
    writeln!(console.err, "stopped after {}", count(health.accepted, "connection"))?;
    if health.turned_away > 0 {
        writeln!(
            console.err,
            "{} turned away: too many at once",
            count(health.turned_away, "connection")
        )?;
    }
    if health.stalls.count > 0 {
        writeln!(
            console.err,
            "this server itself was late {} (longest {} ms): what it read then is marked `read_late`, and the judge leaves it out",
            count(health.stalls.count, "time"),
            health.stalls.longest.as_millis()
        )?;
    }
    if let Some(log) = &args.log {
        writeln!(console.err, "hint: curtsy judge {}", log.display())?;
    }
    Ok(())
}

const HELP: &str = "\
Tests any crawler's manners in three steps:
  1. curtsy site --moods mixed --log access.jsonl    serves, and prints where
  2. let the crawler loose on the printed addresses, in another terminal
  3. Ctrl-C, then: curtsy judge access.jsonl         which manners it broke

Each host has an address of its own in 127.0.0.0/8 and answers to its name and to the bare \
address. Names under `localhost` need no setting. For other names, curtsy takes their address:
  curtsy crawl http://town.test:8080/ --allow-net 127.0.0.0/8 \\
      --resolve '*.test=127.0.0.1'

More examples:
  curtsy site --hosts 50 --pages 200 --bytes 10240 --port 8080
      a benchmark's web: 10,000 pages of 10 KB
  curtsy site --moods demo --port 8080        what `curtsy demo` crawls
  curtsy site --worlds development --port 8080
      endless and large honest sites, to measure how a crawler tells them apart
  curtsy site town.toml --log access.jsonl
      your own, as in docs/reference/test-sites.md
  curtsy site --tls --ca-out ca.pem           over TLS

Listens on this machine only.

Exit codes: 0 ended by Ctrl-C, SIGTERM or stdin; 2 it could not serve.";
