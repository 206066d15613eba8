//! `curtsy completions`, `curtsy man`: shell completions and manual pages, generated from the
//! commands.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Cli, Console, Exit};

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_HELP)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = MAN_HELP)]
pub(super) struct ManArgs {
    /// Write `curtsy.1` and a page for each command into this folder
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

pub(super) fn completions(
    args: &CompletionsArgs,
    console: &mut Console<'_>,
) -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "curtsy", &mut text);
    console.out.write_all(&text)?;
    Ok(Exit::Fine)
}

pub(super) fn man(args: &ManArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    match &args.into {
        Some(folder) => {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("could not make the folder `{}`", folder.display()))?;
            clap_mangen::generate_to(Cli::command(), folder)
                .with_context(|| format!("could not write into `{}`", folder.display()))?;
            writeln!(console.err, "wrote the manual pages into `{}`", folder.display())?;
        }
        None => {
            let mut text = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut text)?;
            console.out.write_all(&text)?;
        }
    }
    Ok(Exit::Fine)
}

const COMPLETIONS_HELP: &str = "\
Examples:
  curtsy completions bash \\
      > ~/.local/share/bash-completion/completions/curtsy
  curtsy completions zsh > ~/.zfunc/_curtsy
  curtsy completions fish > ~/.config/fish/completions/curtsy.fish";

const MAN_HELP: &str = "\
Examples:
  curtsy man | man -l -
  curtsy man --into ~/.local/share/man/man1";
