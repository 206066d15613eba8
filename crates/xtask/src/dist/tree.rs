//! Files of a package, and the archive that holds them.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;

use crate::files;
use anyhow::Context;
use flate2::{Compression, GzBuilder};

/// Rights of a file that is read.
pub(super) const TEXT: u32 = 0o644;
/// Rights of a file that is run.
pub(super) const PROGRAM: u32 = 0o755;

/// One file of a package.
pub(super) struct PackageFile {
    pub path: String,
    pub mode: u32,
    pub bytes: Vec<u8>,
}

/// The files of a package.
#[derive(Default)]
pub(super) struct PackageTree {
    files: Vec<PackageFile>,
}

impl PackageTree {
    /// Reads the files of a folder, without folders in it.
    pub(super) fn read(folder: &Path, prefix: &str) -> anyhow::Result<Self> {
        let mut tree = Self::default();
        let entries = fs::read_dir(folder)
            .with_context(|| format!("reading the folder `{}`", folder.display()))?;
        for entry in entries {
            let entry = entry.context("reading a folder")?;
            if !entry.file_type().context("reading a folder")?.is_file() {
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let bytes = files::read(entry.path())?;
            tree.add(&format!("{prefix}{name}"), TEXT, bytes);
        }
        tree.sort();
        Ok(tree)
    }

    pub(super) fn add(&mut self, path: &str, mode: u32, bytes: Vec<u8>) {
        self.files.push(PackageFile { path: path.to_owned(), mode, bytes });
    }

    pub(super) fn files(&self) -> &[PackageFile] {
        &self.files
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub(super) fn sort(&mut self) {
        self.files.sort_by(|one, other| one.path.cmp(&other.path));
    }

    /// The files as a `.tar.gz`, each below `prefix`, with their folders before them.
    pub(super) fn tar_gz(mut self, prefix: &str, time: u64) -> anyhow::Result<Vec<u8>> {
        self.sort();
        let mut archive = tar::Builder::new(Vec::new());
        let mut folders = BTreeSet::new();
        for file in &self.files {
            let path = format!("{prefix}{}", file.path);
            for (at, _) in path.match_indices('/') {
                let folder = &path[..=at];
                if folder != "./" && folders.insert(folder.to_owned()) {
                    entry(&mut archive, folder, tar::EntryType::Directory, PROGRAM, &[], time)?;
                }
            }
            entry(&mut archive, &path, tar::EntryType::Regular, file.mode, &file.bytes, time)?;
        }
        gzip(&archive.into_inner().context("writing an archive")?)
    }
}

fn entry(
    archive: &mut tar::Builder<Vec<u8>>,
    path: &str,
    kind: tar::EntryType,
    mode: u32,
    bytes: &[u8],
    time: u64,
) -> anyhow::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_mtime(time);
    header.set_uid(0);
    header.set_gid(0);
    header.set_username("root").context("writing an archive")?;
    header.set_groupname("root").context("writing an archive")?;
    header.set_size(bytes.len() as u64);
    archive
        .append_data(&mut header, path, bytes)
        .with_context(|| format!("adding `{path}` to an archive"))
}

/// Packs bytes without a name or a date.
pub(super) fn gzip(bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut packer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    packer.write_all(bytes).context("packing")?;
    packer.finish().context("packing")
}
