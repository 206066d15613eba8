//! README, tutorial and guides are true: their commands, settings and queries are run from the documents themselves, in their order, and print
//! what the documents show.
//!
//! A comment in front of a block says what is special about it:
//!
//! | comment | meaning |
//! |---|---|
//! | `<!-- setup: demo web redis -->`, below the heading | the servers that the document's blocks reach |
//! | `<!-- run: exit=4 -->` | the exit code that is expected; otherwise 0 |
//! | `<!-- not run: REASON -->` | the block can't be run here; it is counted |
//! | `<!-- file: NAME -->` | the block is the content of a file |
//! | `<!-- output -->` | the block is what the one before it printed; `…` is any text, or any lines |

mod block;
mod database;
mod shell;
mod web;

use std::path::{Path, PathBuf};

use block::{Block, Document, What};
use shell::Folder;

macro_rules! documents {
    ($($name:ident $path:literal,)*) => {
        const DOCUMENTS: &[&str] = &[$($path),*];
        $(#[test]
        fn $name() {
            run($path);
        })*
    };
}

documents! {
    readme "README.md",
    tutorial_first_crawl "docs/tutorial/1-first-crawl.md",
    tutorial_why "docs/tutorial/2-why.md",
    tutorial_sql "docs/tutorial/3-sql.md",
    tutorial_recrawl "docs/tutorial/4-recrawl.md",
    guide_audit_robots "docs/guides/audit-robots.md",
    guide_business_sites "docs/guides/business-sites.md",
    guide_coming_from "docs/guides/coming-from.md",
    guide_fleet "docs/guides/fleet.md",
    guide_links_in_ci "docs/guides/links-in-ci.md",
    guide_own_site "docs/guides/own-site.md",
    guide_polite_at_scale "docs/guides/polite-at-scale.md",
    guide_python "docs/guides/python.md",
    guide_site_owner_wrote "docs/guides/site-owner-wrote.md",
    guide_warehouse "docs/guides/warehouse.md",
}

/// Blocks that are not run, in all documents together. Whoever adds one says why in the document, and counts it here.
const NOT_RUN: usize = 26;

#[test]
fn every_document_is_run_and_every_block_that_is_not_is_counted() {
    let mut found = vec!["README.md".to_owned()];
    for folder in ["docs/tutorial", "docs/guides"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            found.extend(name.ends_with(".md").then(|| format!("{folder}/{name}")));
        }
    }
    found.sort();
    let mut listed = DOCUMENTS.to_vec();
    listed.sort_unstable();
    assert_eq!(found, listed, "each document has a test");
    let mut not_run = Vec::new();
    for path in DOCUMENTS {
        for block in Document::read(&root().join(path)).blocks {
            if let What::NotRun(reason) = block.what {
                not_run.push(format!("{path}:{}: {reason}", block.line));
            }
        }
    }
    assert_eq!(not_run.len(), NOT_RUN, "{not_run:#?}");
}

/// Runs the blocks of a document.
#[track_caller]
fn run(path: &str) {
    let document = Document::read(&root().join(path));
    let folder = Folder::new(&document.setups);
    let mut database = None;
    let mut printed = String::new();
    for Block { line, text, what } in &document.blocks {
        let at = format!("{path}:{line}");
        match what {
            What::NotRun(_) => printed.clear(),
            What::File(name) => folder.write(name, text),
            What::Shell { exit } => printed = folder.run(text, *exit, &at),
            What::Output => block::assert_shown(text, &printed, &at),
            What::Sql { table } => {
                let database = database.get_or_insert_with(|| database::Database::open(&folder));
                database.run(text, table.as_deref(), &folder, &at);
            }
            What::Python => {
                let database = database.get_or_insert_with(|| database::Database::open(&folder));
                printed = database.python(text, &folder, &at);
            }
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
