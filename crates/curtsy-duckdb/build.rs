//! Compiles `shim/statement.cpp` against DuckDB's own headers, which come with `libduckdb-sys`.
//!
//! Without a C++ compiler, and on other systems than Linux, the extension has no CRAWL statement.

use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, io};

use flate2::read::GzDecoder;
use serde_json::Value as Json;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=shim/statement.cpp");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let object = out.join("statement.so");
    let built = match env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux") => build(&out, &object),
        _ => Err("it is made for Linux only".into()),
    };
    if let Err(reason) = built {
        println!(
            "cargo:warning=the DuckDB extension is built without the CRAWL statement: {reason}"
        );
        fs::write(&object, []).expect("OUT_DIR can be written");
    }
}

fn build(out: &Path, object: &Path) -> Outcome<()> {
    let headers = headers(out)?;
    let manifest: Json = serde_json::from_slice(&fs::read(headers.join("manifest.json"))?)?;
    let folders = manifest["base"]["include_dirs"].as_array().ok_or("no include_dirs")?;

    // DuckDB is built with GNU's C++ library, and the shim must be too. A build by another compiler
    // (the packages', by Zig) names GNU's here.
    println!("cargo:rerun-if-env-changed=CURTSY_SHIM_CXX");
    let compiler = match env::var_os("CURTSY_SHIM_CXX") {
        Some(compiler) => PathBuf::from(compiler),
        None => {
            let compiler = cc::Build::new().cpp(true).cargo_warnings(false).try_get_compiler()?;
            compiler.path().to_owned()
        }
    };
    // These flags must be those with which DuckDB was built; the flags of `cc` follow the profile.
    let mut command = Command::new(&compiler);
    command.args([
        "-std=c++17",
        "-O1",
        "-fPIC",
        "-shared",
        "-DNDEBUG",
        "-fvisibility=hidden",
        "-s",
        "-w",
    ]);
    for folder in folders.iter().filter_map(Json::as_str) {
        command.arg("-I").arg(headers.join(folder));
    }
    let done = command.arg("shim/statement.cpp").arg("-o").arg(object).output();
    let done = done.map_err(|error| format!("{}: {error}", compiler.display()))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        let first = said.lines().find(|line| line.contains("error")).unwrap_or("it failed");
        return Err(format!("{}: {first}", compiler.display()).into());
    }
    Ok(())
}

/// Returns DuckDB's headers and the list of their folders, unpacked once.
fn headers(out: &Path) -> Outcome<PathBuf> {
    let folder = out.join("duckdb");
    let done = out.join("duckdb.unpacked");
    if done.exists() {
        return Ok(folder);
    }
    let archive = bindings(out)?.join("duckdb.tar.gz");
    let file = File::open(&archive).map_err(|error| format!("{}: {error}", archive.display()))?;
    let mut archive = tar::Archive::new(GzDecoder::new(io::BufReader::new(file)));
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
        if matches!(end, "h" | "hpp" | "ipp" | "inc" | "tcc") || path.ends_with("manifest.json") {
            entry.unpack_in(out)?;
        }
    }
    fs::write(done, [])?;
    Ok(folder)
}

/// Returns the folder of `libduckdb-sys`. The question to cargo is about a package without another
/// dependency, so nothing else must be on the machine.
fn bindings(out: &Path) -> Outcome<PathBuf> {
    let own = fs::read_to_string("Cargo.toml")?;
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let pinned = fs::read_to_string(root.join("Cargo.toml"))?;
    let pinned = pinned.lines().find(|line| line.starts_with("libduckdb-sys ="));
    let pinned = pinned.filter(|_| own.contains("libduckdb-sys.workspace")).ok_or("not pinned")?;

    let asked = out.join("bindings");
    fs::create_dir_all(asked.join("src"))?;
    fs::write(asked.join("src/lib.rs"), [])?;
    let manifest = format!(
        "[package]\nname = \"bindings\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n{pinned}\n"
    );
    fs::write(asked.join("Cargo.toml"), manifest)?;
    fs::copy(root.join("Cargo.lock"), asked.join("Cargo.lock"))?;

    let cargo = env::var_os("CARGO").ok_or("CARGO is not set")?;
    let said = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--offline", "--filter-platform"])
        .arg(env::var("TARGET")?)
        .arg("--manifest-path")
        .arg(asked.join("Cargo.toml"))
        .output()?;
    if !said.status.success() {
        return Err(String::from_utf8_lossy(&said.stderr).trim().replace('\n', " ").into());
    }
    let known: Json = serde_json::from_slice(&said.stdout)?;
    let packages = known["packages"].as_array().ok_or("cargo metadata has no packages")?;
    let package = packages.iter().find(|package| package["name"] == "libduckdb-sys");
    let manifest = package.and_then(|package| package["manifest_path"].as_str());
    let folder = manifest.and_then(|manifest| Path::new(manifest).parent());
    Ok(folder.ok_or("cargo metadata doesn't know libduckdb-sys")?.to_owned())
}
