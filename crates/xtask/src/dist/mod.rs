//! `cargo xtask dist`: the packages of a release, from one command.
//!
//! Every package holds the same program, with `fleet` and `serve` in it, and the same extension for
//! DuckDB. The packages are made here and not by a tool for each format, so that they need nothing
//! but this repository, and so that the same inputs give the same bytes: files are sorted, owned by
//! root, and dated by the commit (or by `SOURCE_DATE_EPOCH`).

mod build;
mod deb;
mod licences;
mod sbom;
mod tree;
mod wheel;

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

pub(crate) use self::build::Toolchain;
use self::build::{Binaries, CLibrary};
use self::tree::{PROGRAM, PackageTree, TEXT};
use crate::files;
pub(crate) use crate::site::root;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a user chose on the command line.
struct DistChoice {
    out: PathBuf,
    profile: String,
    native: bool,
    program: Option<PathBuf>,
    extension: Option<PathBuf>,
    attempt: bool,
}

/// All that the packages are made of.
struct Contents {
    program: Vec<u8>,
    extension: Vec<u8>,
    needs: CLibrary,
    man: PackageTree,
    completions: Vec<(&'static str, Vec<u8>)>,
    sbom: Vec<u8>,
    third_party: Vec<u8>,
    /// Seconds since 1970 that every file is dated with.
    time: u64,
}

pub(crate) fn run(words: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let choice = choice(words)?;
    let binaries = match (&choice.program, &choice.extension) {
        (Some(program), Some(extension)) => {
            Binaries { program: program.clone(), extension: extension.clone() }
        }
        (None, None) => {
            let toolchain = if choice.native { Toolchain::native() } else { Toolchain::zig()? };
            build::build(&toolchain, &choice.profile)?
        }
        _ => bail!("`--program` and `--extension` are given together"),
    };
    let contents = collect(&binaries)?;

    let mut sums = String::new();
    let mut put = |name: String, bytes: Vec<u8>| -> anyhow::Result<PathBuf> {
        let path = choice.out.join(&name);
        files::write(&path, &bytes)?;
        sums.push_str(&format!("{}  {name}\n", HEXLOWER.encode(&Sha256::digest(&bytes))));
        crate::print(path.display());
        Ok(path)
    };
    let tarball = put(format!("curtsy-{VERSION}-linux-x86_64.tar.gz"), tarball(&contents)?)?;
    let deb = put(format!("curtsy_{VERSION}_amd64.deb"), deb::package(&contents)?)?;
    let (name, bytes) = wheel::package(&contents)?;
    let wheel = put(name, bytes)?;
    put(format!("curtsy-{VERSION}.cdx.json"), contents.sbom.clone())?;
    let path = choice.out.join("SHA256SUMS");
    files::write(&path, sums)?;
    crate::print(path.display());

    if choice.attempt {
        attempt(&[&deb, &tarball, &wheel])?;
    }
    Ok(())
}

fn choice(mut words: impl Iterator<Item = String>) -> anyhow::Result<DistChoice> {
    let mut choice = DistChoice {
        out: target_folder().join("packages"),
        profile: "dist".to_owned(),
        native: false,
        program: None,
        extension: None,
        attempt: false,
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("expected a value after {word}"));
        match word.as_str() {
            "--out" => choice.out = value()?.into(),
            "--profile" => choice.profile = value()?,
            "--native" => choice.native = true,
            "--program" => choice.program = Some(value()?.into()),
            "--extension" => choice.extension = Some(value()?.into()),
            "--try" => choice.attempt = true,
            _ => bail!("unexpected `{word}`\n{}", crate::HELP),
        }
    }
    Ok(choice)
}

fn collect(binaries: &Binaries) -> anyhow::Result<Contents> {
    let program = files::read(&binaries.program)?;
    let extension = files::read(&binaries.extension)?;
    let needs = build::needs(&program)?.max(build::needs(&extension)?);
    let time = time()?;
    let packages = sbom::packages()?;
    let scratch = target_folder().join("man");
    files::remove_folder(&scratch)?;
    output(Command::new(&binaries.program).args(["man", "--into"]).arg(&scratch))?;
    let man = PackageTree::read(&scratch, "")?;
    if man.is_empty() {
        bail!("`{} man` wrote no manual page", binaries.program.display());
    }
    let mut completions = Vec::new();
    for shell in ["bash", "zsh", "fish"] {
        let text = output(Command::new(&binaries.program).args(["completions", shell]))?;
        completions.push((shell, text));
    }
    Ok(Contents {
        program,
        extension,
        needs,
        man,
        completions,
        sbom: sbom::document(&packages, time)?,
        third_party: licences::notice(&packages)?,
        time,
    })
}

/// A folder that can be unpacked anywhere, laid out as below `/usr`.
fn tarball(contents: &Contents) -> anyhow::Result<Vec<u8>> {
    let mut tree = usr(contents);
    tree.add("lib/curtsy/curtsy.duckdb_extension", TEXT, contents.extension.clone());
    for page in contents.man.files() {
        tree.add(&format!("share/man/man1/{}", page.path), TEXT, page.bytes.clone());
    }
    for name in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        tree.add(name, TEXT, files::read(root().join(name))?);
    }
    tree.add("THIRD-PARTY.txt", TEXT, contents.third_party.clone());
    tree.tar_gz(&format!("curtsy-{VERSION}-linux-x86_64/"), contents.time)
}

/// The program and its completions, with paths below `/usr`.
fn usr(contents: &Contents) -> PackageTree {
    let mut tree = PackageTree::default();
    tree.add("bin/curtsy", PROGRAM, contents.program.clone());
    for (shell, text) in &contents.completions {
        let path = match *shell {
            "bash" => "share/bash-completion/completions/curtsy",
            "zsh" => "share/zsh/vendor-completions/_curtsy",
            _ => "share/fish/vendor_completions.d/curtsy.fish",
        };
        tree.add(path, TEXT, text.clone());
    }
    tree
}

/// Installs, uses and removes each package in a fresh Debian that `debootstrap` makes in a folder.
fn attempt(packages: &[&PathBuf]) -> anyhow::Result<()> {
    let script = root().join("crates/xtask/src/dist/attempt.sh");
    let done = Command::new("sh")
        .arg(script)
        .arg(target_folder().join("attempt"))
        .args(packages)
        .status()
        .context("starting the trial of the packages")?;
    if !done.success() {
        bail!("the trial of the packages failed: {done}");
    }
    Ok(())
}

/// The date of the packages: `SOURCE_DATE_EPOCH`, or that of the commit.
fn time() -> anyhow::Result<u64> {
    if let Ok(text) = env::var("SOURCE_DATE_EPOCH") {
        return text.parse().with_context(|| format!("SOURCE_DATE_EPOCH is `{text}`"));
    }
    let said = output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root()))
        .context(
            "the packages are dated by the commit\nhint: without git, set SOURCE_DATE_EPOCH",
        )?;
    let text = String::from_utf8(said).context("reading git's answer")?;
    text.trim().parse().with_context(|| format!("git's date is `{}`", text.trim()))
}

fn output(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let done = command.output().with_context(|| format!("starting {command:?}"))?;
    if !done.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&done.stderr).trim());
    }
    Ok(done.stdout)
}

pub(crate) fn target_folder() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
