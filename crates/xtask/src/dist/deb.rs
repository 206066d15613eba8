//! The package for Debian and its relatives: an `ar` archive of two `.tar.gz`.

use std::time::{Duration, UNIX_EPOCH};

use super::tree::{PROGRAM, PackageTree, TEXT, gzip};
use super::{Contents, VERSION, root};
use crate::files;

/// Files of `deploy` that the administrator may change: they survive an upgrade.
const SETTINGS: [&str; 2] = ["worker.env", "serve.env"];
const MAINTAINER: &str = "The curtsy maintainers <maintainers@curtsy.invalid>";
const UNITS: [&str; 2] = ["curtsy-worker.service", "curtsy-serve.service"];
/// What dpkg runs when the package is installed and removed.
const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

pub(super) fn package(contents: &Contents) -> anyhow::Result<Vec<u8>> {
    let read = |path: &str| files::read(root().join(path));
    let mut data = PackageTree::default();
    for file in super::usr(contents).files() {
        data.add(&format!("usr/{}", file.path), file.mode, file.bytes.clone());
    }
    data.add("usr/lib/curtsy/curtsy.duckdb_extension", TEXT, contents.extension.clone());
    for page in contents.man.files() {
        let path = format!("usr/share/man/man1/{}.gz", page.path);
        data.add(&path, TEXT, gzip(&page.bytes)?);
    }
    for unit in UNITS {
        let bytes = read(&format!("deploy/systemd/{unit}"))?;
        data.add(&format!("usr/lib/systemd/system/{unit}"), TEXT, bytes);
    }
    for settings in SETTINGS {
        // A file that may come to hold a password is for root only.
        data.add(
            &format!("etc/curtsy/{settings}"),
            0o600,
            read(&format!("deploy/systemd/{settings}"))?,
        );
    }
    let doc = "usr/share/doc/curtsy";
    data.add(&format!("{doc}/changelog.gz"), TEXT, gzip(changelog(contents.time).as_bytes())?);
    data.add(&format!("{doc}/CHANGELOG.md.gz"), TEXT, gzip(&read("CHANGELOG.md")?)?);
    data.add(&format!("{doc}/README.md"), TEXT, read("README.md")?);
    data.add(&format!("{doc}/THIRD-PARTY.txt.gz"), TEXT, gzip(&contents.third_party)?);
    data.add(&format!("{doc}/curtsy.cdx.json.gz"), TEXT, gzip(&contents.sbom)?);
    data.add(&format!("{doc}/copyright"), TEXT, copyright(&read("LICENSE-MIT")?));

    let bytes: usize = data.files().iter().map(|file| file.bytes.len()).sum();
    let mut control = PackageTree::default();
    control.add("control", TEXT, fields(contents, bytes).into_bytes());
    let settings: String = SETTINGS.iter().map(|name| format!("/etc/curtsy/{name}\n")).collect();
    control.add("conffiles", TEXT, settings.into_bytes());
    for script in SCRIPTS {
        control.add(script, PROGRAM, read(&format!("deploy/debian/{script}"))?);
    }
    let time = contents.time;
    Ok(ar(
        &[
            ("debian-binary", b"2.0\n".to_vec()),
            ("control.tar.gz", control.tar_gz("./", time)?),
            ("data.tar.gz", data.tar_gz("./", time)?),
        ],
        time,
    ))
}

fn fields(contents: &Contents, bytes: usize) -> String {
    format!(
        "Package: curtsy\n\
         Version: {VERSION}\n\
         Architecture: amd64\n\
         Maintainer: {MAINTAINER}\n\
         Installed-Size: {}\n\
         Depends: libc6 (>= {})\n\
         Suggests: redis-server | valkey-server, postgresql\n\
         Section: web\n\
         Priority: optional\n\
         Description: web crawler that keeps a site's rules\n \
         curtsy crawls web sites at the pace that their owners ask for, records a\n \
         reason for every URL, and resumes without a loss after it was killed.\n \
         .\n \
         The package holds the command line, the fleet worker, the service, and an\n \
         extension for DuckDB. The units curtsy-worker and curtsy-serve are installed\n \
         and not started.\n",
        bytes.div_ceil(1024),
        contents.needs,
    )
}

/// Debian's own changelog, in the format that its tools read. It points to ours.
fn changelog(time: u64) -> String {
    let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(time));
    let date = date.replace("GMT", "+0000");
    format!(
        "curtsy ({VERSION}) unstable; urgency=medium\n\n  \
         * Release {VERSION}. CHANGELOG.md.gz beside this file lists its changes.\n\n \
         -- {MAINTAINER}  {date}\n"
    )
}

fn copyright(mit: &[u8]) -> Vec<u8> {
    let mut text =
        b"curtsy is licensed under the MIT licence (below) or the Apache License, Version 2.0\n\
        (/usr/share/common-licenses/Apache-2.0 on Debian), at your choice. The licences of the\n\
        libraries in the program are in THIRD-PARTY.txt.gz beside this file.\n\n"
            .to_vec();
    text.extend_from_slice(mit);
    text
}

/// The archive format of `ar`: a line of 60 bytes before each member, members at even offsets.
fn ar(members: &[(&str, Vec<u8>)], time: u64) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let line =
            format!("{name:<16}{time:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 100_644, content.len());
        assert_eq!(line.len(), 60, "a member's line has 60 bytes");
        bytes.extend_from_slice(line.as_bytes());
        bytes.extend_from_slice(content);
        if bytes.len() % 2 == 1 {
            bytes.push(b'\n');
        }
    }
    bytes
}
