//! The bytes that are kept: seeds, what the fuzzer found worth keeping, and everything that ever
//! broke something.

use std::fs;
use std::path::{Path, PathBuf};

use crate::FuzzTarget;

/// Bytes with the name of what they are.
pub struct StoredInput {
    /// The file's name, or `seed`.
    pub name: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Everything kept for a target: its seeds, `corpus/NAME` and `found/NAME`.
pub fn kept(target: &FuzzTarget) -> Vec<StoredInput> {
    let seeds =
        target.seeds.iter().map(|seed| StoredInput { name: "seed".into(), bytes: seed.to_vec() });
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["corpus", "found"] {
        let entries = fs::read_dir(root.join(folder).join(target.name)).into_iter().flatten();
        files.extend(entries.flatten().map(|entry| entry.path()));
    }
    files.sort();
    seeds.chain(files.iter().filter_map(read)).collect()
}

fn read(path: &PathBuf) -> Option<StoredInput> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    Some(StoredInput { name, bytes: fs::read(path).ok()? })
}
