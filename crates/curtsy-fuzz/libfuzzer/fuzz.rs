//! One program for all targets: `CURTSY_FUZZ_TARGET` names the one that it runs, and libFuzzer does
//! the rest. `./fuzz` builds and runs it.
//!
//! With `CURTSY_FUZZ_OUT` it runs none: seeds and dictionaries of all targets go into that folder,
//! their names to stdout.

#![no_main]

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use curtsy_fuzz::{TARGETS, FuzzTarget};
use libfuzzer_sys::fuzz_target;

static TARGET: OnceLock<&FuzzTarget> = OnceLock::new();

fuzz_target!(
    init: {
        if let Some(folder) = std::env::var_os("CURTSY_FUZZ_OUT") {
            for target in TARGETS {
                write(target, Path::new(&folder)).expect("the folder can be written to");
                println!("{}", target.name);
            }
            std::process::exit(0);
        }
        let name = std::env::var("CURTSY_FUZZ_TARGET").unwrap_or_default();
        let target = FuzzTarget::find(&name).unwrap_or_else(|| panic!("no target is called `{name}`"));
        TARGET.get_or_init(|| target);
    },
    |data: &[u8]| {
        (TARGET.get().expect("it was chosen first").run)(data);
    }
);

fn write(target: &FuzzTarget, folder: &Path) -> std::io::Result<()> {
    let seeds = folder.join(target.name);
    fs::create_dir_all(&seeds)?;
    for (n, seed) in target.seeds.iter().enumerate() {
        fs::write(seeds.join(format!("seed-{n}")), seed)?;
    }
    fs::write(folder.join(format!("{}.dict", target.name)), target.dictionary)
}
