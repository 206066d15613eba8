//! Builds the program and the extension, and says which C library they need.
//!
//! A program that is linked on this machine needs this machine's glibc or a newer one. Zig links
//! against the symbols of an older glibc, so that the packages run on older systems too.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, bail};
use object::read::elf::{Dyn, ElfFile64};

use super::{root, target_folder};
use crate::cargo;

const ZIG: &str = "0.17.0";
const ZIGBUILD: &str = "0.24.0";
/// The oldest glibc that the packages run on: librdkafka uses C11 threads, which came with 2.28
/// (Debian 10, Ubuntu 20.04, RHEL 8).
const GLIBC: &str = "2.28";
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The files that go into the packages.
pub(super) struct Binaries {
    pub program: PathBuf,
    pub extension: PathBuf,
}

/// How cargo is called.
pub(crate) struct Toolchain {
    command: Vec<String>,
    variables: Vec<(String, String)>,
}

impl Toolchain {
    /// Plain cargo: the result needs this machine's glibc.
    pub(crate) fn native() -> Self {
        Self { command: vec!["build".to_owned()], variables: Vec::new() }
    }

    /// Cargo with Zig's compiler and linker, both from PyPI.
    pub(super) fn zig() -> anyhow::Result<Self> {
        if env::consts::ARCH != "x86_64" || env::consts::OS != "linux" {
            bail!(
                "packages are built on Linux on x86-64\nhint: `--native` builds for this machine"
            );
        }
        let venv = install()?;
        let bin = venv.join("bin");
        let zig = |language: &str| wrapper(&venv, language);
        let path = env::var("PATH").unwrap_or_default();
        let home = env::var("CARGO_HOME")
            .or_else(|_| env::var("HOME").map(|home| format!("{home}/.cargo")))
            .unwrap_or_default();
        let here = root().canonicalize().context("finding the repository")?;
        let here = here.display();
        let variables = [
            ("PATH", format!("{}:{path}", bin.display())),
            // librdkafka's own configure script knows no other way to be given a compiler.
            ("CC", zig("cc")?),
            ("CXX", zig("c++")?),
            // Its script for the linker names symbols that are not there; GNU ld accepts that.
            ("LDFLAGS", "-Wl,--undefined-version".to_owned()),
            // Zig has no libz for the system to link with.
            ("LIBZ_SYS_STATIC", "1".to_owned()),
            // DuckDB is built with GNU's C++ library, so what is loaded into it must be too.
            ("CURTSY_SHIM_CXX", "g++".to_owned()),
            // The same bytes whatever the folder of the build.
            (
                "RUSTFLAGS",
                format!("--remap-path-prefix={here}=/curtsy --remap-path-prefix={home}=/cargo"),
            ),
        ];
        Ok(Self {
            command: vec![
                "zigbuild".to_owned(),
                "--target".to_owned(),
                format!("{TARGET}.{GLIBC}"),
            ],
            variables: variables.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        })
    }

    /// The command that builds; what to build is added by the caller.
    pub(crate) fn cargo(&self) -> Command {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(&self.command).envs(self.variables.iter().cloned()).current_dir(root());
        command
    }
}

pub(super) fn build(toolchain: &Toolchain, profile: &str) -> anyhow::Result<Binaries> {
    let mut command = toolchain.cargo();
    command.args(["--package", "curtsy", "--bin", "curtsy", "--features", "fleet,serve"]);
    command.args(["--locked", "--profile", profile]);
    let program = cargo::build(&mut command, "curtsy")?;
    let extension = target_folder().join("packages.duckdb_extension");
    crate::duckdb::write(toolchain, profile, &extension)?;
    Ok(Binaries { program, extension })
}

/// A virtual environment with Zig and `cargo zigbuild` in it.
fn install() -> anyhow::Result<PathBuf> {
    let venv = target_folder().join(format!("venv/zig-{ZIG}-{ZIGBUILD}"));
    let done = venv.join("installed");
    if done.exists() {
        return venv.canonicalize().context("finding Zig");
    }
    crate::say(&format!("installing Zig {ZIG} and cargo-zigbuild {ZIGBUILD} from PyPI"));
    let python = env::var("CURTSY_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let run = |command: &mut Command| -> anyhow::Result<()> {
        let status = command.status().with_context(|| format!("starting {command:?}"))?;
        if !status.success() {
            bail!("{command:?} failed\nhint: `--native` builds without Zig, for this machine");
        }
        Ok(())
    };
    run(Command::new(python).args(["-m", "venv"]).arg(&venv))?;
    run(Command::new(venv.join("bin/pip"))
        .args(["install", "--quiet", "--disable-pip-version-check"])
        .arg(format!("ziglang=={ZIG}"))
        .arg(format!("cargo-zigbuild=={ZIGBUILD}")))?;
    fs::write(done, []).context("installing Zig")?;
    venv.canonicalize().context("finding Zig")
}

/// A file that can be called as a compiler of this language.
fn wrapper(venv: &Path, language: &str) -> anyhow::Result<String> {
    use std::os::unix::fs::PermissionsExt;

    let path = venv.join(format!("bin/zig-{language}"));
    let python = venv.join("bin/python3");
    let text = format!(
        "#!/bin/sh\nexec '{}' -m ziglang {language} -target x86_64-linux-gnu.{GLIBC} \"$@\"\n",
        python.display()
    );
    fs::write(&path, text).with_context(|| format!("writing `{}`", path.display()))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("writing `{}`", path.display()))?;
    Ok(path.display().to_string())
}

/// A version of glibc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CLibrary {
    pub major: u32,
    pub minor: u32,
}

impl fmt::Display for CLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The newest glibc whose symbols a file asks for. Libraries that a bare system lacks are refused.
pub(super) fn needs(bytes: &[u8]) -> anyhow::Result<CLibrary> {
    const EVERYWHERE: [&str; 7] = [
        "libc.so.6",
        "libdl.so.2",
        "libgcc_s.so.1",
        "libm.so.6",
        "libpthread.so.0",
        "librt.so.1",
        "ld-linux-x86-64.so.2",
    ];
    let file = ElfFile64::<object::Endianness>::parse(bytes).context("reading an ELF file")?;
    let endian = file.endian();
    let sections = file.elf_section_table();
    let mut needs = CLibrary { major: 2, minor: 17 };
    if let Some((dynamic, link)) = sections.dynamic(endian, bytes).context("reading an ELF file")? {
        let strings = sections.strings(endian, bytes, link).context("reading an ELF file")?;
        for entry in dynamic {
            if entry.tag(endian) != object::elf::DT_NEEDED {
                continue;
            }
            let name = entry.string(endian, strings).context("reading an ELF file")?;
            let name = String::from_utf8_lossy(name);
            if !EVERYWHERE.contains(&name.as_ref()) {
                bail!("the program needs `{name}`, which not every system has");
            }
        }
    }
    let Some((mut libraries, link)) =
        sections.gnu_verneed(endian, bytes).context("reading an ELF file")?
    else {
        return Ok(needs);
    };
    let strings = sections.strings(endian, bytes, link).context("reading an ELF file")?;
    while let Some((_, mut versions)) = libraries.next().context("reading an ELF file")? {
        while let Some(version) = versions.next().context("reading an ELF file")? {
            let name = version.name(endian, strings).context("reading an ELF file")?;
            if let Some(version) = glibc(&String::from_utf8_lossy(name)) {
                needs = needs.max(version);
            }
        }
    }
    Ok(needs)
}

fn glibc(name: &str) -> Option<CLibrary> {
    let (major, rest) = name.strip_prefix("GLIBC_")?.split_once('.')?;
    let minor = rest.split('.').next()?;
    Some(CLibrary { major: major.parse().ok()?, minor: minor.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_glibc_are_compared_as_numbers() {
        assert_eq!(glibc("GLIBC_2.2.5"), Some(CLibrary { major: 2, minor: 2 }));
        assert!(glibc("GLIBC_2.4") < glibc("GLIBC_2.28"));
        assert_eq!(glibc("GCC_3.0"), None);
        assert_eq!(glibc("GLIBC_PRIVATE"), None);
    }

    #[test]
    fn this_very_program_needs_a_glibc() {
        let own = fs::read(env::current_exe().unwrap()).unwrap();
        assert!(needs(&own).unwrap() >= CLibrary { major: 2, minor: 17 });
        assert!(needs(b"#!/bin/sh\n").is_err());
    }
}
