//! Draws the README's picture: a terminal in which the real program crawls the demonstration site.
//!
//! The commands are typed into a shell in a pseudo-terminal, and the picture shows only what the shell and the program printed.

mod screen;
mod session;
mod svg;

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, bail};

use self::session::{RecordedCommand, TerminalSession};
use crate::files;

/// Columns of the terminal: at 800 pixels of width, the text has the size of a page's own.
const COLUMNS: usize = 90;

/// A picture with more rows is too small to read.
const ROWS_MAX: usize = 34;

/// The file is part of a page that people load: a bigger one has too many frames.
const BYTES_MAX: usize = 60_000;

/// A command of the picture, and texts that its output must contain to be worth a picture.
struct PictureStep {
    command: &'static str,
    expected: &'static [&'static str],
}

const STEPS: &[PictureStep] = &[
    PictureStep {
        command: "curtsy crawl demo.localhost:8080",
        expected: &["done: ", "fetched) on 1 host", "refused by robots.txt"],
    },
    PictureStep {
        command: "curtsy why demo.localhost:8080/private/diary",
        expected: &["not fetched", "`Disallow: /private/`"],
    },
    PictureStep {
        command: "curtsy why demo.localhost:8080/private/open",
        expected: &["fetched with 200", "`Allow: /private/open`", "200 ms", "Crawl-delay"],
    },
];

/// The document that has the settings of the crawl.
const TUTORIAL: &str = "docs/tutorial/1-first-crawl.md";

pub(crate) fn run(words: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let choice = choice(words)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let out = choice.out.unwrap_or_else(|| root.join("docs/images/curtsy.svg"));
    let curtsy = fs::canonicalize(&choice.curtsy)
        .with_context(|| format!("looking for the program `{}`", choice.curtsy.display()))?;
    let tutorial = files::read_text(root.join(TUTORIAL))?;
    let settings = settings(&tutorial).with_context(|| format!("`{TUTORIAL}` has no settings"))?;

    let mut session = TerminalSession::start(&curtsy, settings, COLUMNS)?;
    let scenes: Vec<RecordedCommand> =
        STEPS.iter().map(|step| perform(&mut session, step)).collect::<anyhow::Result<_>>()?;
    drop(session);

    let picture = svg::draw(&scenes, COLUMNS);
    let rows = svg::rows(&scenes);
    if rows > ROWS_MAX || picture.len() > BYTES_MAX {
        bail!(
            "the picture has {rows} rows and {} bytes, expected at most {ROWS_MAX} and {BYTES_MAX}",
            picture.len()
        );
    }
    files::write(&out, &picture)?;
    crate::say(&format!("{}: {rows} rows, {} bytes", out.display(), picture.len()));
    Ok(())
}

struct PictureChoice {
    curtsy: PathBuf,
    out: Option<PathBuf>,
}

fn choice(mut words: impl Iterator<Item = String>) -> anyhow::Result<PictureChoice> {
    let (mut curtsy, mut out) = (None, None);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--out" => out = Some(words.next().context("expected a value after --out")?.into()),
            _ if word.starts_with('-') || curtsy.is_some() => {
                bail!("unexpected `{word}`\n{}", crate::HELP)
            }
            _ => curtsy = Some(word.into()),
        }
    }
    let curtsy =
        curtsy.with_context(|| format!("expected the path of the program\n{}", crate::HELP))?;
    Ok(PictureChoice { curtsy, out })
}

/// Types one command and returns its scene, or an error if the output is not the expected one.
fn perform(session: &mut TerminalSession, step: &PictureStep) -> anyhow::Result<RecordedCommand> {
    let scene = session.run(step.command)?;
    let text: Vec<String> = scene.output.iter().map(|row| row.text()).collect();
    let text = text.join("\n");
    for expected in step.expected {
        if !text.contains(expected) {
            bail!("`{}` did not print `{expected}`, but:\n{text}", step.command);
        }
    }
    Ok(scene)
}

/// The `curtsy.toml` that the tutorial tells its readers to save.
fn settings(tutorial: &str) -> Option<&str> {
    let (_, rest) = tutorial.split_once("<!-- file: curtsy.toml -->\n```toml\n")?;
    let (settings, _) = rest.split_once("```")?;
    Some(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_the_block_after_the_mark() {
        let page = "# 1\n<!-- file: curtsy.toml -->\n```toml\ndelay = \"0s\"\n```\nmore\n";
        assert_eq!(settings(page), Some("delay = \"0s\"\n"));
        assert_eq!(settings("# 1\n```toml\nx\n```\n"), None);
    }
}
