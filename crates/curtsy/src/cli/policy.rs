//! `curtsy policy`: show, compare and check policies.

use std::io::ErrorKind;

use anyhow::Context;
use clap::{Args, Subcommand};
use curtsy_core::policy::{
    Difference, FIELDS, FieldNote, FieldValue, HOST_FIELDS, Layers, Mode, Origin, Policy,
    PolicyError, PolicyFault, Preset, Reach, SettledPolicy, ValueKind, ValuePlace,
};
use curtsy_crawl::PolicyChoice;
use serde_json::{Map, Value as Json, json};

use super::flags::{CONFIG, Flags, POLICY};
use super::progress::counted;
use super::{CommandFailure, Console, Exit, SETTINGS, refusal};

#[derive(Debug, Args)]
pub(super) struct PolicyArgs {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    /// Print a whole policy as a crawl would go by it, the environment included
    #[command(after_help = SHOW_HELP)]
    Show(ShowPolicyArgs),
    /// Print the fields in which two policies differ
    #[command(after_help = DIFF_HELP)]
    Diff(DiffArgs),
    /// Say everything that is wrong with a policy file
    #[command(after_help = CHECK_HELP)]
    Check(CheckArgs),
}

#[derive(Debug, Args)]
struct ShowPolicyArgs {
    /// A preset (careful, audit, warehouse, fleet, survey) or a file [default: that of
    /// `curtsy.toml`, else careful]
    #[arg(value_name = "POLICY")]
    policy: Option<String>,
    #[command(flatten)]
    flags: Flags<{ POLICY | CONFIG }>,
    /// Say where each value came from instead of what it means
    #[arg(long)]
    origin: bool,
    /// Print JSON: the fields, where they came from, and the hash
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct DiffArgs {
    /// A preset or a file
    left: String,
    /// Another one
    right: String,
    /// Print JSON: a list of fields with both values
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct CheckArgs {
    /// The policy file
    file: String,
    /// Check it as for a crawl inside `--allow-net`, where any delay goes
    #[arg(long)]
    allow_net: bool,
    /// Print JSON: a list of mistakes with key, place and hint
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: PolicyArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    match args.command {
        PolicyCommand::Show(args) => show(args, console),
        PolicyCommand::Diff(args) => diff(&args, console),
        PolicyCommand::Check(args) => check(&args, console),
    }
}

fn show(args: ShowPolicyArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let ShowPolicyArgs { policy: named, flags: Flags(mut flags), origin, json } = args;
    if let Some(policy) = &named {
        flags.add("policy", policy);
    }
    let settings = flags.settings()?;
    let reach = settings.reach()?;
    let mut settled = settings.manners(reach, console);
    if settled.is_err()
        && !settings.has_seeds()
        && reach == Reach::Public
        && let Ok(here) = settings.manners(Reach::AllowedNet, console)
    {
        // Nobody said where the crawl begins, and somewhere this policy holds.
        console.warn(&[
            "this policy holds for your own machine and inside `--allow-net` only: a public site is not asked so fast"
                .to_owned(),
        ])?;
        settled = Ok(here);
    }
    let settled = match settled {
        Ok(settled) => settled,
        Err(error) => match error.downcast_ref::<PolicyError>() {
            Some(wrong) => {
                say_faults(named.as_deref().unwrap_or("the policy"), wrong, console)?;
                return Ok(Exit::Usage);
            }
            None => return Err(error),
        },
    };
    console.warn(&settled.warnings)?;
    if json {
        writeln!(console.out, "{:#}", policy_json(&settled))?;
    } else {
        let origins = |key: &str| FieldNote::Beside(settled.origin[key].to_string());
        let text = match origin {
            false => settled.policy.to_toml(),
            true => settled.policy.toml_with(|field| origins(field.key)),
        };
        write!(console.out, "# policy {}\n{text}", settled.policy.hash_hex())?;
    }
    Ok(Exit::Fine)
}

fn diff(args: &DiffArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let mut policies = Vec::new();
    for name in [&args.left, &args.right] {
        // Two named policies are compared as they are written, whatever the environment says.
        match read(&PolicyChoice::find(name)?) {
            Ok(policy) => policies.push(policy),
            Err(error) => {
                say_faults(name, &error, console)?;
                return Ok(Exit::Usage);
            }
        }
    }
    let found = policies[0].diff(&policies[1]);
    if args.json {
        let list: Vec<_> = found
            .iter()
            .map(|d| json!({ "field": d.key, "left": d.left, "right": d.right }))
            .collect();
        writeln!(console.out, "{:#}", Json::from(list))?;
    } else if found.is_empty() {
        writeln!(console.out, "{} and {} are equal: no field differs", args.left, args.right)?;
    } else {
        let head = Difference {
            key: "field".to_owned(),
            left: args.left.clone(),
            right: args.right.clone(),
        };
        let rows = || std::iter::once(&head).chain(&found);
        let width = |of: fn(&Difference) -> &str| rows().map(|d| of(d).chars().count()).max();
        let (keys, lefts) = (width(|d| &d.key), width(|d| &d.left));
        for d in rows() {
            let (keys, lefts) = (keys.unwrap_or(0), lefts.unwrap_or(0));
            writeln!(console.out, "{:keys$}  {:lefts$}  {}", d.key, d.left, d.right)?;
        }
    }
    Ok(Exit::Fine)
}

fn check(args: &CheckArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let text = match std::fs::read_to_string(&args.file) {
        Err(error)
            if error.kind() == ErrorKind::NotFound && Preset::parse(&args.file).is_some() =>
        {
            let name = &args.file;
            let text = format!(
                "`{name}` is a preset, not a file\nhint: `curtsy policy show {name}` shows it"
            );
            return Err(refusal(SETTINGS, text));
        }
        read => read.with_context(|| format!("could not read the policy file `{}`", args.file))?,
    };
    let reach = if args.allow_net { Reach::AllowedNet } else { Reach::Public };
    let settled = Layers { file: Some(&text), ..Layers::default() }.settle(reach);
    if args.json {
        let faults =
            settled.as_ref().err().map(|error| error.faults.as_slice()).unwrap_or_default();
        let list = faults.iter().map(|fault| {
            json!({
                "field": fault.key,
                "at": fault.at.as_ref().map(ToString::to_string),
                "problem": fault.problem,
                "hint": fault.hint,
            })
        });
        writeln!(console.out, "{:#}", Json::from(list.collect::<Vec<_>>()))?;
    }
    match settled {
        Ok(settled) => {
            if !args.json {
                let changed = settled.origin.values().filter(|o| matches!(o, Origin::Said(_)));
                writeln!(
                    console.out,
                    "{}: fine, preset {} with {} and {} of its own, policy {}",
                    args.file,
                    settled.policy.preset.name(),
                    counted(changed.count() as u64, "field"),
                    counted(settled.policy.host.len() as u64, "host"),
                    settled.policy.hash_hex()
                )?;
                for own in settled.policy.own_hosts() {
                    writeln!(console.out, "credentials are sent to {} only", own.at)?;
                }
            }
            Ok(Exit::Fine)
        }
        Err(_) if args.json => Ok(Exit::Refused),
        Err(error) => {
            say_faults(&args.file, &error, console)?;
            Ok(Exit::Refused)
        }
    }
}

/// Reads a policy as it is written, without the environment.
pub(super) fn read(choice: &PolicyChoice) -> Result<Policy, PolicyError> {
    match choice {
        PolicyChoice::Preset(preset) => Ok(Policy::preset(*preset)),
        PolicyChoice::File { text, .. } => Policy::parse(text),
    }
}

/// Prints what is wrong with a policy, one mistake after the other. Whether that is the answer
/// (`policy check`) or keeps the command from its work is for the caller to say.
pub(super) fn say_faults(
    name: &str,
    error: &PolicyError,
    console: &mut Console<'_>,
) -> std::io::Result<()> {
    for fault in &error.faults {
        // A flag or a variable names itself: the policy under it is not to blame.
        let name = match fault.at {
            Some(ValuePlace::Line { .. }) | None => format!("{name}: "),
            Some(_) => String::new(),
        };
        match console.json {
            true => {
                let message = PolicyFault { hint: None, ..fault.clone() };
                let (message, hint) = (format!("{name}{message}"), fault.hint.clone());
                CommandFailure { code: SETTINGS, message, hint }.tell_json(console.err)?;
            }
            false => writeln!(console.err, "error: {name}{fault}")?,
        }
    }
    Ok(())
}

fn policy_json(settled: &SettledPolicy) -> Json {
    let policy = &settled.policy;
    let fields = FIELDS.iter().map(|field| {
        let value = field.get(policy);
        let value = value_json(&value, || field.kind.write_text(&value));
        let origin = settled.origin[field.key].to_string();
        (field.key.to_owned(), json!({ "value": value, "origin": origin }))
    });
    let hosts = policy.host.iter().map(|(host, section)| {
        let set = HOST_FIELDS.iter().filter_map(|field| {
            let value = field.get(section)?;
            let json = value_json(&value, || field.kind.write_text(&value));
            Some((field.key.to_owned(), json))
        });
        (host.clone(), Json::Object(set.collect()))
    });
    json!({
        "preset": policy.preset.name(),
        "mode": policy.mode.map(Mode::name),
        "hash": policy.hash_hex(),
        "fields": fields.collect::<Map<_, _>>(),
        "host": hosts.collect::<Map<_, _>>(),
    })
}

fn value_json(value: &FieldValue, text: impl FnOnce() -> String) -> Json {
    match value {
        FieldValue::Absent => Json::Null,
        FieldValue::Count(count) => json!(count),
        FieldValue::Switch(on) => json!(on),
        FieldValue::Texts(texts) => json!(texts),
        FieldValue::Spans(_) => json!(text().split(',').collect::<Vec<_>>()),
        _ => json!(text()),
    }
}

pub(super) fn mode(word: &str) -> Result<Mode, String> {
    Mode::parse(word).ok_or_else(|| {
        let hint = ValueKind::Word(Mode::WORDS).meant(word).map(|meant| format!("\nhint: {meant}"));
        format!("expected one of {}{}", Mode::WORDS.join(", "), hint.unwrap_or_default())
    })
}

pub(super) fn assignment(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected FIELD=VALUE, as in pace.delay=5s")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

const SHOW_HELP: &str = "\
The output is a policy file.

Examples:
  curtsy policy show                       as a crawl here would go by it
  curtsy policy show survey --mode light   a survey in light mode
  curtsy policy show my.toml --origin      where each value came from
  curtsy policy show fleet > my.toml       a file to start from

Flag beats environment beats `curtsy.toml` beats policy file beats preset.

Exit codes: 0 shown; 2 no such preset or file, or a policy with mistakes.";

const DIFF_HELP: &str = "\
Compares two policies as they are written: the environment and `curtsy.toml` are not looked at.

Examples:
  curtsy policy diff audit fleet
  curtsy policy diff careful my.toml --json

Exit codes: 0 compared, equal or not; 2 no such preset or file, or a policy with mistakes.";

const CHECK_HELP: &str = "\
Each mistake names the line, the field, the value, and the values that would do.

Examples:
  curtsy policy check my.toml
  curtsy policy check my.toml --allow-net    as for a crawl inside a network

Exit codes: 0 fine; 1 something is wrong; 2 no such file.";
