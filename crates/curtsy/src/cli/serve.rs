//! `curtsy serve`: the service, an HTTP API and web pages for products that ingest small business
//! sites.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use curtsy_core::policy::read_span;
use curtsy_crawl::{RouteChoices, state_dir};
use curtsy_serve::{Demo, ServeSpec, rotate_token, start};
use curtsy_store::LedgerPlace;

use super::flags::{CONFIG, Flags, MANNERS, WAY};
use super::progress::counted;
use super::{Console, Exit};
use crate::signals::Signals;

/// How long a run waits for a host that must wait: somebody sits before the page.
const PATIENCE: &str = "1m";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
#[command(mut_arg("policy", |arg| arg.help("The manners: careful, audit, warehouse, fleet, survey, or a policy file [default: survey]")))]
#[command(mut_arg("config", |arg| arg.help("Settings from a file with the keys of `curtsy.toml`; without this flag none is read")))]
pub(super) struct ServeArgs {
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8787")]
    bind: SocketAddr,
    /// A name under which it is asked for besides its address, as `ingest.example.org`; repeatable
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,
    /// Where hosts, runs and pages are kept: a SQLite file or `postgres://user@host/database` [env:
    /// CURTSY_SERVE_STORE] [default: the ledger of hosts, $XDG_STATE_HOME/curtsy/hosts.db, so that
    /// every crawl of this user keeps one pace]
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// Try it: synthetic business sites on this machine to ingest, and a store that goes with the
    /// process; needs no internet
    #[arg(long, conflicts_with_all = ["store"])]
    demo: bool,
    /// Read the token for changing calls from a file [env: CURTSY_SERVE_TOKEN] [default: made at
    /// the first start and shown once]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Make a new token, show it, and end; the old one is worth nothing from then on (start the
    /// service again)
    #[arg(long)]
    rotate_token: bool,
    /// How often the contract's checks are carried out by themselves, as `15m`; `never` for none
    #[arg(long, value_name = "SPAN", default_value = "15m")]
    check_every: String,
    #[command(flatten)]
    flags: Flags<{ MANNERS | WAY | CONFIG }>,
}

pub(super) fn run(args: &ServeArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let demo = args.demo.then(Demo::start).transpose()?;
    let spec = spec(args, demo.as_ref(), console)?;
    if args.rotate_token {
        writeln!(console.out, "{}", rotate_token(&spec.store)?)?;
        return Ok(Exit::Fine);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let serving = start(spec).await?;
        greet(&serving, demo.as_ref(), console)?;
        let mut signals = Signals::listen()?;
        let (told, hears) = tokio::sync::oneshot::channel();
        let waits = async move {
            signals.next().await;
            // The service has ended by itself if nobody listens.
            let _ = told.send(());
            signals.next().await;
            // Asked twice: nothing is lost by a kill either.
            std::process::exit(130);
        };
        let waiting = tokio::spawn(waits);
        let stopped = async move {
            let _ = hears.await;
        };
        let served = serving.serve(stopped).await;
        waiting.abort();
        served.map_err(anyhow::Error::from)
    })?;
    writeln!(console.err, "stopped; runs that were at work go on when the service starts again")?;
    Ok(Exit::Stopped)
}

fn greet(
    serving: &curtsy_serve::Serving,
    demo: Option<&Demo>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let address = serving.address;
    writeln!(console.err, "listening on http://{address}/")?;
    if let Some(token) = &serving.new_token {
        writeln!(console.err, "the token for changing calls, shown this once: {token}")?;
    }
    writeln!(console.err, "sign a browser in (works once): {}", serving.sign_in)?;
    if serving.resumed > 0 {
        let runs = counted(serving.resumed as u64, "run");
        writeln!(console.err, "{runs} cut off by the last end: resumed")?;
    }
    if let Some(demo) = demo {
        writeln!(console.err, "\nsites to try, on this machine:")?;
        for (url, what) in demo.urls() {
            writeln!(console.err, "  {url}  {what}")?;
        }
        writeln!(
            console.err,
            "\nfirst: open the sign-in link, then http://{address}/orbit/demo/import"
        )?;
    }
    console.err.flush()?;
    Ok(())
}

fn spec(
    args: &ServeArgs,
    demo: Option<&Demo>,
    console: &mut Console<'_>,
) -> anyhow::Result<ServeSpec> {
    let mut settings = args.flags.0.clone().settings_if_named()?;
    if settings.get("mode").is_some() {
        bail!("each run has a mode of its own\nhint: leave `--mode` out");
    }
    settings.file.add_default("policy", "survey");
    settings.file.add_default("patience", PATIENCE);
    let mut way = settings.way(&console.variables, &[])?;
    if let Some(demo) = demo {
        let RouteChoices { named, pins, .. } = demo.way();
        way.named.extend(named);
        way.pins.extend(pins);
        settings.flags.add_default("contact", "demo@localhost");
    }
    let settled = settings.manners(way.reach(&[]), console)?;
    console.warn(&settled.warnings)?;
    if let [own, ..] = &settled.policy.own_hosts()[..] {
        bail!(
            "the policy has credentials for `{}`, and a service would show what is behind them to everyone who may ask it\n\
             hint: crawl that host with `curtsy crawl`, and leave its `header`, `basic_auth` and `cookie` out here",
            own.at
        );
    }
    if settled.policy.identity.contact.is_none() && !args.rotate_token {
        let only = "without `--contact you@example.org` only sites on this machine can be ingested";
        console.warn(&[only.to_owned()])?;
    }
    let store = store(args, demo, console)?;
    let check_every = match args.check_every.as_str() {
        "never" => None,
        span => Some(read_span(span).with_context(|| {
            format!("`--check-every {span}` is no span\nhint: `15m`, `1h`, or `never`")
        })?),
    };
    if check_every.is_some_and(|span| span < Duration::from_secs(60)) {
        bail!("`--check-every` is at least `1m`: a round of checks takes half a minute");
    }
    Ok(ServeSpec {
        bind: args.bind,
        names: args.name.clone(),
        store,
        settled,
        way,
        token: token(args, console)?,
        check_every,
        bounds: curtsy_serve::Bounds::default(),
        example: demo.map(Demo::example),
        breaks: None,
    })
}

fn store(
    args: &ServeArgs,
    demo: Option<&Demo>,
    console: &Console<'_>,
) -> anyhow::Result<LedgerPlace> {
    let said = args.store.clone().or_else(|| console.variables.get("CURTSY_SERVE_STORE").cloned());
    Ok(match (said, demo) {
        (_, Some(demo)) => LedgerPlace::File(demo.store()),
        (Some(text), None)
            if text.starts_with("postgres://") || text.starts_with("postgresql://") =>
        {
            LedgerPlace::Postgres(text)
        }
        (Some(text), None) => LedgerPlace::File(PathBuf::from(text)),
        (None, None) => {
            let usual = state_dir(&console.variables).map(|state| state.join("hosts.db"));
            LedgerPlace::File(
                usual.context(
                    "no folder for the store\nhint: name a file with `--store service.db`",
                )?,
            )
        }
    })
}

fn token(args: &ServeArgs, console: &Console<'_>) -> anyhow::Result<Option<String>> {
    let given = match &args.token_file {
        Some(path) => Some(
            std::fs::read_to_string(path)
                .with_context(|| format!("could not read the token in `{}`", path.display()))?,
        ),
        None => console.variables.get("CURTSY_SERVE_TOKEN").cloned(),
    };
    let given = given.map(|token| token.trim().to_owned());
    match &given {
        Some(token) if token.len() < TOKEN_MIN => bail!(
            "the token has {} characters, and needs {TOKEN_MIN} at least\nhint: `openssl rand -hex 32` makes one; without a token the service makes its own",
            token.len()
        ),
        _ => Ok(given),
    }
}

/// Signs of a token, at least.
const TOKEN_MIN: usize = 32;

const HELP: &str = "\
Needs nothing but this program: hosts, runs and cached pages are kept in one SQLite file, or in \
Postgres.

Examples:
  curtsy serve --demo
      synthetic business sites, everything on, offline
  curtsy serve --contact you@example.org
      for real; POST /api/orbit/NAME/ingest begins a run
  curtsy serve --store postgres://app@db/ingest --bind 0.0.0.0:8787 \\
      --name ingest.example.org

Whatever changes something needs `Authorization: Bearer TOKEN`; a browser signs in with the link \
that is printed at the start. The API is described at /openapi.json, and in docs/reference/service.md. The \
service speaks plain HTTP: put a proxy with TLS before it if it is not on loopback. \
`curtsy.toml` is read only if `--config` names it.

Ctrl-C ends it; runs that were at work go on at the next start.";
