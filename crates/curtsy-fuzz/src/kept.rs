//! Stored inputs: seeds, inputs that the fuzzer found useful, and every input that ever broke a
//! property.

use std::fs;
use std::path::{Path, PathBuf};

use crate::FuzzTarget;

/// An input with its name.
pub struct StoredInput {
    /// The name of the file, or `seed`.
    pub name: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Returns all stored inputs of a target: its seeds, `corpus/NAME` and `found/NAME`.
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
