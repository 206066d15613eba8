//! A folder tree that is deep and ends.

use super::PURPOSE;
use crate::worlds::WebWorld;
use crate::worlds::page::{SiteFrame, WorldPage, WorldReply};
use crate::worlds::target::WorldTarget;

pub(super) static WORLDS: [WebWorld; 1] = [WebWorld::honest(
    PURPOSE,
    ("deep-folders", "A folder tree of ten levels with two folders and two files in each folder."),
    // Folders: 1 + 2 + 4 + … + 2^10. Each folder has two files. The home page is the first folder.
    3 * ((1 << (LEVELS + 1)) - 1),
    SiteFrame { title: "Records of the Estate", nav: &[("/", "All records")] },
    folders,
)];

const LEVELS: u32 = 10;
const FIRST: [&str; 10] =
    ["east", "upper", "field", "old", "north", "barn", "spring", "stone", "long", "red"];
const SECOND: [&str; 10] =
    ["west", "lower", "wood", "new", "south", "mill", "brook", "brick", "short", "blue"];
const FILES: [&str; 2] = ["survey.html", "accounts.html"];

fn folders(asked: &WorldTarget<'_>) -> WorldReply {
    let mut parts = asked.parts();
    let file = if asked.path.ends_with('/') { None } else { parts.pop() };
    let known = |(level, name): (usize, &&str)| {
        level < LEVELS as usize && (FIRST[level] == *name || SECOND[level] == *name)
    };
    let canonical = match parts.is_empty() {
        true => "/".to_owned(),
        false => format!("/{}/", parts.join("/")),
    };
    if !parts.iter().enumerate().all(known)
        || format!("{canonical}{}", file.unwrap_or("")) != asked.whole
    {
        return WorldReply::Missing;
    }
    let mut words = asked.own_words();
    match file {
        Some(file) if FILES.contains(&file) => {
            let paragraphs = words.between(2, 4);
            WorldPage::new(format!("{} of {}", file.trim_end_matches(".html"), parts.join(", ")))
                .texts(&mut words, paragraphs, 60)
                .link("./", "Folder")
                .into()
        }
        Some(_) => WorldReply::Missing,
        None => {
            let level = parts.len();
            let below: Vec<String> = match level < LEVELS as usize {
                true => vec![format!("{}/", FIRST[level]), format!("{}/", SECOND[level])],
                false => Vec::new(),
            };
            let page = WorldPage::new(format!("Records: {}", parts.join(", ")));
            page.text(words.sentence())
                .links(below.iter().map(|name| (name, name)))
                .links(FILES.map(|name| (name, name)))
                .into()
        }
    }
}
