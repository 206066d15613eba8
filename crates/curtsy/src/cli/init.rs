//! `curtsy init`: a commented template of the settings.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;

use super::config::{NAME, template};
use super::{Console, Exit};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct InitArgs {
    /// The file
    #[arg(default_value = NAME)]
    file: PathBuf,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &InitArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let path = args.file.display();
    let mut options = std::fs::OpenOptions::new();
    options.write(true);
    match args.force {
        true => options.create(true).truncate(true),
        false => options.create_new(true),
    };
    let mut file = match options.open(&args.file) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            bail!("`{path}` is there already\nhint: `--force` replaces it")
        }
        Err(e) => return Err(e).with_context(|| format!("could not write `{path}`")),
    };
    file.write_all(template().as_bytes()).with_context(|| format!("could not write `{path}`"))?;
    writeln!(
        console.err,
        "wrote `{path}`: give a contact and your URLs there, then run `curtsy crawl`"
    )?;
    Ok(Exit::Fine)
}

const HELP: &str = "\
Every command that crawls or decides reads `curtsy.toml` in the folder where it runs; `--config \
FILE` names another.

Examples:
  curtsy init
  curtsy init news.toml && curtsy crawl --config news.toml

Exit codes: 0 written; 2 the file is there already, or can't be written.";
