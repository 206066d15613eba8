//! The bill of materials (CycloneDX 1.5): every crate that is linked into the program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;
use chrono::DateTime;
use data_encoding::HEXLOWER;
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use super::{VERSION, output, root};
use crate::files;

/// A crate that is linked into the program or the extension.
pub(super) struct Package {
    pub name: String,
    pub version: String,
    pub licence: Option<String>,
    pub folder: PathBuf,
    /// From crates.io, not from this repository.
    pub foreign: bool,
    checksum: Option<String>,
    uses: BTreeSet<String>,
}

impl Package {
    /// How package managers name a crate.
    fn purl(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version)
    }
}

/// The crates of the program with all its features, and of the extension, by name and version.
pub(super) fn packages() -> anyhow::Result<Vec<Package>> {
    let mut found = BTreeMap::new();
    let checksums = checksums()?;
    for (folder, features) in [("curtsy", "fleet,serve"), ("curtsy-duckdb", "")] {
        let manifest = root().join(format!("crates/{folder}/Cargo.toml"));
        let said = output(
            Command::new("cargo")
                .args(["metadata", "--format-version", "1", "--locked", "--features", features])
                .args(["--filter-platform", "x86_64-unknown-linux-gnu", "--manifest-path"])
                .arg(manifest),
        )?;
        let known: Json = serde_json::from_slice(&said).context("reading cargo metadata")?;
        walk(&known, folder, &checksums, &mut found)?;
    }
    Ok(found.into_values().collect())
}

fn walk(
    known: &Json,
    start: &str,
    checksums: &BTreeMap<(String, String), String>,
    found: &mut BTreeMap<String, Package>,
) -> anyhow::Result<()> {
    let list = |value: &Json| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, Json> = list(&known["packages"])
        .into_iter()
        .map(|package| (text(&package["id"]), package))
        .collect();
    let nodes: BTreeMap<String, Json> = list(&known["resolve"]["nodes"])
        .into_iter()
        .map(|node| (text(&node["id"]), node))
        .collect();
    let first = packages.iter().find(|(_, package)| package["name"] == start);
    let (first, _) = first.with_context(|| format!("cargo metadata has no `{start}`"))?;
    let mut open = vec![first.clone()];
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        let package = packages.get(&id).with_context(|| format!("no package `{id}`"))?;
        let (name, version) = (text(&package["name"]), text(&package["version"]));
        let mut uses = BTreeSet::new();
        for dep in list(&nodes[&id]["deps"]) {
            // What only builds or tests the program is not in it.
            let linked = list(&dep["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
            if linked {
                let used = &packages[&text(&dep["pkg"])];
                uses.insert(format!(
                    "pkg:cargo/{}@{}",
                    text(&used["name"]),
                    text(&used["version"])
                ));
                open.push(text(&dep["pkg"]));
            }
        }
        let manifest = PathBuf::from(text(&package["manifest_path"]));
        let new = Package {
            checksum: checksums.get(&(name.clone(), version.clone())).cloned(),
            licence: package["license"].as_str().map(str::to_owned),
            folder: manifest.parent().context("a manifest has a folder")?.to_owned(),
            foreign: !package["source"].is_null(),
            name,
            version,
            uses,
        };
        let key = new.purl();
        match found.get_mut(&key) {
            Some(old) => old.uses.extend(new.uses),
            None => drop(found.insert(key, new)),
        }
    }
    Ok(())
}

/// The checksums of Cargo.lock, by name and version.
fn checksums() -> anyhow::Result<BTreeMap<(String, String), String>> {
    let lock = files::read_text(root().join("Cargo.lock"))?;
    let mut checksums = BTreeMap::new();
    for section in lock.split("[[package]]").skip(1) {
        let field = |key: &str| {
            let start = format!("{key} = \"");
            let line = section.lines().find(|line| line.starts_with(&start))?;
            Some(line[start.len()..].trim_end_matches('"').to_owned())
        };
        if let (Some(name), Some(version), Some(sum)) =
            (field("name"), field("version"), field("checksum"))
        {
            checksums.insert((name, version), sum);
        }
    }
    Ok(checksums)
}

/// The document, dated by the commit.
pub(super) fn document(packages: &[Package], time: u64) -> anyhow::Result<Vec<u8>> {
    let stamp = i64::try_from(time).ok().and_then(|time| DateTime::from_timestamp(time, 0));
    let stamp = stamp.context("the packages' date is out of range")?.naive_utc();
    let stamp = format!("{}T{}Z", stamp.date(), stamp.time());
    let main = format!("pkg:cargo/curtsy@{VERSION}");
    let components: Vec<Json> = packages
        .iter()
        .filter(|package| package.purl() != main)
        .map(|package| {
            let mut component = json!({
                "type": "library",
                "bom-ref": package.purl(),
                "name": package.name,
                "version": package.version,
                "purl": package.purl(),
                "scope": "required",
            });
            if let Some(licence) = &package.licence {
                // Old manifests write `/` for OR.
                let expression = licence.replace('/', " OR ");
                component["licenses"] = json!([{ "expression": expression }]);
            }
            if let Some(sum) = &package.checksum {
                component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
            }
            component
        })
        .collect();
    let dependencies: Vec<Json> = packages
        .iter()
        .map(|package| json!({ "ref": package.purl(), "dependsOn": package.uses }))
        .collect();
    let mut document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": stamp,
            "component": {
                "type": "application",
                "bom-ref": main,
                "name": "curtsy",
                "version": VERSION,
                "purl": main,
                "licenses": [{ "expression": "MIT OR Apache-2.0" }],
            },
        },
        "components": components,
        "dependencies": dependencies,
    });
    // The same contents have the same serial number.
    let digest = HEXLOWER
        .encode(&Sha256::digest(serde_json::to_vec(&document).context("writing the SBOM")?));
    document["serialNumber"] = json!(format!(
        "urn:uuid:{}-{}-8{}-8{}-{}",
        &digest[..8],
        &digest[8..12],
        &digest[13..16],
        &digest[17..20],
        &digest[20..32]
    ));
    let mut bytes = serde_json::to_vec_pretty(&document).context("writing the SBOM")?;
    bytes.push(b'\n');
    Ok(bytes)
}
