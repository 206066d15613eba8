//! Builds the web site of the documents with MkDocs, and checks its links with curtsy itself.
//!
//! MkDocs gets a copy of the documents in the layout of the repository, so the links between documents are the same on GitHub and on the
//! site. Other files that a document links to (sources, examples, licences) become pages of their own. Nothing on the site loads anything
//! from elsewhere.
//!
//! MkDocs with Material: it is a wheel of PyPI, searches in the browser without a server, and its `--strict` finds dead links and anchors.
//! mdBook takes minutes to compile. Zensical 0.0.73 reads the same configuration but reported "No issues found" with six dead links.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, bail, ensure};

use crate::check;
use crate::dist::target_folder;
use crate::files::{self, has_end};
use crate::markdown::{BlockKind, blocks, code_spans};

/// Documents at the top of the repository.
pub(crate) const AT_THE_TOP: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
];

/// A longer file that a document links to does not become a page.
const SOURCE_BYTES_MAX: u64 = 128 << 10;

struct SiteChoice {
    out: Option<PathBuf>,
    check: Option<PathBuf>,
}

pub(crate) fn run(words: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let choice = choice(words)?;
    // The server of a check and curtsy run in other folders.
    let curtsy = choice.check.map(fs::canonicalize).transpose().context("looking for curtsy")?;
    let built = std::path::absolute(target_folder())?;
    let out = std::path::absolute(choice.out.unwrap_or_else(|| built.join("site")))?;
    let venv = venv(&built.join("venv/site"))?;
    let work = built.join("site-work");
    stage(&root(), &work)?;
    let mkdocs = Command::new(venv.join("bin/mkdocs"))
        .args(["build", "--strict", "--quiet", "--clean", "--site-dir"])
        .arg(&out)
        .current_dir(&work)
        // Material's advertisement for its successor.
        .env("NO_MKDOCS_2_WARNING", "1")
        .status()
        .context("starting mkdocs")?;
    ensure!(mkdocs.success(), "the site could not be built");
    check::nothing_from_elsewhere(&out)?;
    if let Some(curtsy) = curtsy {
        check::links(&out, &curtsy, &venv.join("bin/python"))?;
    }
    crate::print(out.display());
    Ok(())
}

pub(crate) fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the repository that this was built in")
}

/// All documents, by their paths in the repository.
pub(crate) fn documents(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = AT_THE_TOP.iter().map(PathBuf::from).collect();
    let documents = files::below(&root.join("docs"))?;
    let documents = documents.into_iter().filter(|file| has_end(file, "md"));
    for document in documents {
        found.push(document.strip_prefix(root)?.to_owned());
    }
    Ok(found)
}

fn choice(mut words: impl Iterator<Item = String>) -> anyhow::Result<SiteChoice> {
    let mut choice = SiteChoice { out: None, check: None };
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("expected a value after {word}"));
        match word.as_str() {
            "--out" => choice.out = Some(value()?.into()),
            "--check" => choice.check = Some(value()?.into()),
            _ => bail!("unexpected `{word}`\n{}", crate::HELP),
        }
    }
    Ok(choice)
}

/// Installs MkDocs from PyPI if the versions in `docs/requirements.txt` are not there yet.
fn venv(venv: &Path) -> anyhow::Result<PathBuf> {
    let wanted = root().join("docs/requirements.txt");
    let installed = venv.join("requirements.txt");
    let text = files::read(&wanted)?;
    if fs::read(&installed).is_ok_and(|installed| installed == text) {
        return Ok(venv.to_owned());
    }
    files::remove_folder(venv)?;
    let python = env::var_os("CURTSY_PYTHON").unwrap_or_else(|| "python3".into());
    let made = Command::new(python).args(["-m", "venv"]).arg(venv).status();
    ensure!(made.context("starting python3")?.success(), "no virtual environment could be made");
    let pip = Command::new(venv.join("bin/pip"))
        .args(["install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r"])
        .arg(&wanted)
        .status()
        .context("starting pip")?;
    ensure!(pip.success(), "MkDocs could not be installed");
    files::write(&installed, text)?;
    Ok(venv.to_owned())
}

/// Copies the documents, and makes pages of the files that they link to.
fn stage(root: &Path, work: &Path) -> anyhow::Result<()> {
    files::remove_folder(work)?;
    let pages = work.join("pages");
    let mut linked = BTreeSet::new();
    for document in documents(root)? {
        let text = files::read_text(root.join(&document))?;
        files::write(&pages.join(&document), for_mkdocs(root, &document, &text, &mut linked))?;
    }
    for file in files::below(&root.join("docs"))? {
        let path = file.strip_prefix(root)?;
        let is_the_sites_own =
            ["docs/mkdocs.yml", "docs/requirements.txt"].map(Path::new).contains(&path);
        if !is_the_sites_own && !has_end(&file, "md") {
            let text = files::read(&file)?;
            files::write(&pages.join(path), text)?;
        }
    }
    for file in linked {
        let (page, text) = source_page(root, &file)?;
        files::write(&pages.join(page), text)?;
    }
    files::write(&work.join("mkdocs.yml"), files::read(root.join("docs/mkdocs.yml"))?)
}

/// The text of a document as MkDocs needs it. `linked` collects the files that need a page.
fn for_mkdocs(root: &Path, document: &Path, text: &str, linked: &mut BTreeSet<PathBuf>) -> String {
    let mut out = String::with_capacity(text.len());
    for block in blocks(text) {
        match block.kind {
            // Python-Markdown wants 4 columns for a block inside an item of a list, GitHub wants 2 or 3.
            BlockKind::Code if block.text.starts_with(' ') => {
                let indent = block.text.len() - block.text.trim_start_matches(' ').len();
                for line in block.text.split_inclusive('\n') {
                    out.push_str("    ");
                    out.push_str(line.get(indent..).unwrap_or("\n"));
                }
            }
            BlockKind::Text | BlockKind::Heading | BlockKind::Row => {
                // Only on GitHub a pipe in a code span needs a backslash inside a table.
                let is_row = block.kind == BlockKind::Row;
                let mut at = 0;
                for span in code_spans(block.text) {
                    links(root, document, &block.text[at..span.start], linked, &mut out);
                    let code = &block.text[span.clone()];
                    if is_row {
                        out.push_str(&code.replace("\\|", "|"));
                    } else {
                        out.push_str(code);
                    }
                    at = span.end;
                }
                links(root, document, &block.text[at..], linked, &mut out);
            }
            BlockKind::Code | BlockKind::Comment | BlockKind::Blank => out.push_str(block.text),
        }
    }
    out
}

/// Copies text without code. A link to a file or folder that is no document leads to the page which is made of it.
fn links(
    root: &Path,
    document: &Path,
    mut text: &str,
    linked: &mut BTreeSet<PathBuf>,
    out: &mut String,
) {
    while let Some((before, rest)) = text.split_once("](") {
        let Some((link, after)) = rest.split_once(')') else {
            break;
        };
        out.push_str(before);
        out.push_str("](");
        let target = plain(&document.with_file_name(link));
        let is_ours = !link.contains("://") && !link.starts_with('#') && !link.contains(".md");
        if is_ours && root.join(&target).is_dir() {
            out.push_str(link.trim_end_matches('/'));
            out.push_str("/index.md");
            linked.insert(target);
        } else if is_ours && root.join(&target).is_file() && !target.starts_with("docs") {
            out.push_str(link);
            out.push_str(".md");
            linked.insert(target);
        } else {
            out.push_str(link);
        }
        out.push(')');
        text = after;
    }
    out.push_str(text);
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// A page that shows a file of the repository, or lists a folder.
fn source_page(root: &Path, file: &Path) -> anyhow::Result<(PathBuf, String)> {
    let path = root.join(file);
    let shown = file.display();
    if path.is_dir() {
        let mut text = format!("# {shown}\n\nFiles in this folder of the repository:\n\n");
        for file in files::below(&path)? {
            text.push_str(&format!("- `{}`\n", file.strip_prefix(&path)?.display()));
        }
        return Ok((file.join("index.md"), text));
    }
    let size = fs::metadata(&path)?.len();
    ensure!(
        size <= SOURCE_BYTES_MAX,
        "a document links to `{shown}`, which is too long for a page: link to a smaller file"
    );
    let text = files::read_text(&path)?;
    let language = file.extension().and_then(|end| end.to_str()).unwrap_or("text");
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let page = format!("# {shown}\n\n~~~~~{language}\n{text}{end}~~~~~\n");
    Ok((format!("{shown}.md").into(), page))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let document = Path::new("docs/reference/page.md");
        let mut linked = BTreeSet::new();
        assert_eq!(for_mkdocs(&root(), document, text, &mut linked), expected);
    }

    #[test]
    fn links_between_documents_stay() {
        check(
            "[a](sql.md#json), [b](#x), [c](https://e.org/)",
            "[a](sql.md#json), [b](#x), [c](https://e.org/)",
        );
        check("[the schema](webpage_event.schema.json)", "[the schema](webpage_event.schema.json)");
    }

    #[test]
    fn links_to_sources_lead_to_their_pages() {
        check("[a](../../examples/site.toml)", "[a](../../examples/site.toml.md)");
        check("[a](../../examples/)", "[a](../../examples/index.md)");
        check("`[a](../../examples/)`", "`[a](../../examples/)`");
    }

    #[test]
    fn lists_and_tables_are_written_for_mkdocs() {
        check("- a\n\n  ```sh\n  b\n  ```\n", "- a\n\n    ```sh\n    b\n    ```\n");
        check("| `A\\|B` | c \\| d |\n", "| `A|B` | c \\| d |\n");
    }
}
