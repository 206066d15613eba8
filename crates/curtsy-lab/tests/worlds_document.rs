//! The table of worlds in `docs/reference/test-sites.md` is that of the code. `UPDATE_DOCS=1 cargo
//! test -p curtsy-lab --test worlds_document` writes it anew.

use std::fmt::Write;
use std::path::Path;

use curtsy_lab::worlds::{WorldNature, WorldPurpose, worlds};

#[test]
fn the_table_of_worlds_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/test-sites.md");
    let mut text = std::fs::read_to_string(&path).expect("docs/reference/test-sites.md is there");
    let (begin, end) = ("<!-- begin worlds -->\n", "<!-- end worlds -->");
    let from = text.find(begin).expect("the table begins") + begin.len();
    let to = from + text[from..].find(end).expect("the table ends");
    let table = table();
    let stale = text[from..to] != table;
    text.replace_range(from..to, &table);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).expect("docs/reference/test-sites.md can be written");
        return;
    }
    assert!(
        !stale,
        "docs/reference/test-sites.md is stale\nhint: UPDATE_DOCS=1 cargo test -p curtsy-lab --test worlds_document"
    );
}

/// Every world for development; of the others only how many there are, since a reader of this page
/// may be about to write a rule.
fn table() -> String {
    let worlds = worlds();
    let count = |endless: bool, purpose: WorldPurpose| {
        let fits = |nature| endless == (nature == WorldNature::Endless);
        worlds.iter().filter(|world| fits(world.nature) && world.purpose == purpose).count()
    };
    let mut text = String::from("| | for development | only measured |\n|---|---:|---:|\n");
    for (name, endless) in [("endless", true), ("honest", false)] {
        let counts = [WorldPurpose::Development, WorldPurpose::MeasuredOnly];
        let [development, measured] = counts.map(|purpose| count(endless, purpose));
        writeln!(text, "| {name} | {development} | {measured} |").unwrap();
    }
    text.push_str(
        "\nThe worlds for development:\n\n| world | pages | what it is |\n|---|---:|---|\n",
    );
    for world in worlds.iter().filter(|world| world.purpose == WorldPurpose::Development) {
        let pages = match world.nature {
            WorldNature::Endless => "endless".to_owned(),
            WorldNature::Honest { pages } => pages.to_string(),
        };
        writeln!(text, "| `{}` | {pages} | {} |", world.name, world.about).unwrap();
    }
    text
}

/// Enough of each for a share to mean something, and small enough to be crawled.
#[test]
fn there_are_enough_worlds_of_each_kind() {
    let worlds = worlds();
    for purpose in [WorldPurpose::Development, WorldPurpose::MeasuredOnly] {
        let here = worlds.iter().filter(|world| world.purpose == purpose);
        let natures: Vec<WorldNature> = here.map(|world| world.nature).collect();
        let endless = natures.iter().filter(|nature| **nature == WorldNature::Endless).count();
        assert!(endless >= 22 && natures.len() - endless >= 11, "{purpose:?}");
    }
    let sizes = worlds.iter().filter_map(|world| match world.nature {
        WorldNature::Endless => None,
        WorldNature::Honest { pages } => Some(pages),
    });
    let sizes: Vec<u32> = sizes.collect();
    assert!(sizes.iter().all(|pages| (1_000..=30_000).contains(pages)), "{sizes:?}");
    assert!(sizes.iter().sum::<u32>() < 200_000);
}
