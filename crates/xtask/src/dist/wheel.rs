//! The wheel for `pip install`: the program for the PATH, the Python module, and the extension.

use std::io::{Cursor, Write};

use anyhow::Context;
use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;

use super::tree::{PROGRAM, PackageTree, TEXT};
use super::{Contents, VERSION, root};
use crate::files;

/// The name of the wheel and its bytes.
pub(super) fn package(contents: &Contents) -> anyhow::Result<(String, Vec<u8>)> {
    let tag =
        format!("py3-none-manylinux_{}_{}_x86_64", contents.needs.major, contents.needs.minor);
    let read = |path: &str| files::read(root().join(path));
    let mut tree = PackageTree::read(&root().join("python/curtsy"), "curtsy/")?;
    tree.add("curtsy/curtsy.duckdb_extension", TEXT, contents.extension.clone());
    tree.add(&format!("curtsy-{VERSION}.data/scripts/curtsy"), PROGRAM, contents.program.clone());
    tree.sort();
    let info = format!("curtsy-{VERSION}.dist-info");
    let readme =
        String::from_utf8(read("python/README.md")?).context("reading python/README.md")?;
    tree.add(&format!("{info}/METADATA"), TEXT, format!("{}\n{readme}", metadata()).into_bytes());
    let about = format!(
        "Wheel-Version: 1.0\nGenerator: curtsy-xtask {VERSION}\nRoot-Is-Purelib: false\nTag: {tag}\n"
    );
    tree.add(&format!("{info}/WHEEL"), TEXT, about.into_bytes());
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        tree.add(&format!("{info}/licenses/{name}"), TEXT, read(name)?);
    }
    tree.add(&format!("{info}/licenses/THIRD-PARTY.txt"), TEXT, contents.third_party.clone());
    tree.add(&format!("{info}/sboms/curtsy.cdx.json"), TEXT, contents.sbom.clone());

    let record = format!("{info}/RECORD");
    let mut lines = String::new();
    for file in tree.files() {
        // RECORD wants Base64 for URLs, without padding.
        let digest = BASE64URL_NOPAD.encode(&Sha256::digest(&file.bytes));
        lines.push_str(&format!("{},sha256={digest},{}\n", file.path, file.bytes.len()));
    }
    lines.push_str(&format!("{record},,\n"));
    tree.add(&record, TEXT, lines.into_bytes());

    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for file in tree.files() {
        // Zip's dates begin in 1980 and have no zone: the earliest one is the same everywhere.
        let options = SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Deflated)
            .last_modified_time(zip::DateTime::default())
            .unix_permissions(file.mode);
        archive.start_file(&file.path, options).context("writing the wheel")?;
        archive.write_all(&file.bytes).context("writing the wheel")?;
    }
    let bytes = archive.finish().context("writing the wheel")?.into_inner();
    Ok((format!("curtsy-{VERSION}-{tag}.whl"), bytes))
}

/// The head of METADATA; python/README.md follows it.
fn metadata() -> String {
    format!(
        "Metadata-Version: 2.4\n\
         Name: curtsy\n\
         Version: {VERSION}\n\
         Summary: A web crawler that keeps a site's rules, and proves it\n\
         License-Expression: MIT OR Apache-2.0\n\
         License-PackageFile: LICENSE-MIT\n\
         License-PackageFile: LICENSE-APACHE\n\
         License-PackageFile: THIRD-PARTY.txt\n\
         Requires-Python: >=3.9\n\
         Provides-Extra: duckdb\n\
         Requires-Dist: duckdb>=1.5.6; extra == \"duckdb\"\n\
         Keywords: crawler,robots.txt,polite,duckdb\n\
         Classifier: Development Status :: 4 - Beta\n\
         Classifier: Environment :: Console\n\
         Classifier: Operating System :: POSIX :: Linux\n\
         Classifier: Programming Language :: Python :: 3\n\
         Classifier: Programming Language :: Rust\n\
         Classifier: Topic :: Internet :: WWW/HTTP :: Indexing/Search\n\
         Classifier: Typing :: Typed\n\
         Description-Content-Type: text/markdown\n"
    )
}

#[cfg(test)]
mod tests {
    use super::BASE64URL_NOPAD;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        assert_eq!(BASE64URL_NOPAD.encode(b""), "");
        assert_eq!(BASE64URL_NOPAD.encode(b"f"), "Zg");
        assert_eq!(BASE64URL_NOPAD.encode(b"fo"), "Zm8");
        assert_eq!(BASE64URL_NOPAD.encode(b"foo"), "Zm9v");
        assert_eq!(BASE64URL_NOPAD.encode(&[0xfb, 0xff]), "-_8");
    }
}
