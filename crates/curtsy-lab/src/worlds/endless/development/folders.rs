//! Servers that answer more spellings and deeper paths than there are files.

use super::PURPOSE;
use crate::worlds::WebWorld;
use crate::worlds::page::{SiteFrame, WorldPage, WorldReply};
use crate::worlds::target::WorldTarget;
use crate::worlds::text::WorldText;

pub(super) static WORLDS: [WebWorld; 4] = [
    WebWorld::endless(
        PURPOSE,
        (
            "folder-loop",
            "An Apache listing with sort links in which two folders are symbolic links to their \
             parent.",
        ),
        SiteFrame {
            title: "ftp.fenmouth archive",
            nav: &[("/pub/", "pub"), ("/README.html", "README")],
        },
        &["/", "/README.html", "/mirrors.html", "/docs/{1-24}.html"],
        folder_loop,
    ),
    WebWorld::endless(
        PURPOSE,
        (
            "relative-echo",
            "A handbook whose template has relative links without a slash, on a server that \
             ignores the rest of a path.",
        ),
        SiteFrame {
            title: "Grain Handbook",
            nav: &[("/preface", "Preface"), ("/guide/", "Guide")],
        },
        &["/", "/preface", "/glossary", "/chapter/{slug:30}"],
        relative,
    ),
    WebWorld::endless(
        PURPOSE,
        (
            "case-server",
            "A server that ignores case, with pages written by hand whose links have all \
             spellings.",
        ),
        SiteFrame {
            title: "Nelwick Motor Museum",
            nav: &[("/visitors.htm", "Visitors"), ("/shop.htm", "Shop")],
        },
        &["/", "/visitors.htm", "/shop.htm", "/collection/motorcars/{1-32}.htm"],
        any_case,
    )
    .decorated(|asked, page| page.links(spellings(asked, asked.words("spellings")))),
    WebWorld::endless(
        PURPOSE,
        (
            "soft-404",
            "A portal that answers every unknown address with 200 and suggestions made from its \
             words.",
        ),
        SiteFrame {
            title: "Allandale Portal",
            nav: &[("/trades", "Trades"), ("/events", "Events")],
        },
        &["/", "/trades", "/events", "/guides/{slug:30}"],
        soft,
    )
    .decorated(|asked, page| page.link(format!("{}-tips", asked.path), "Tips on this topic")),
];

/// `/pub/current/old/current/`: both lead back to `/pub/`.
fn folder_loop(asked: &WorldTarget<'_>) -> WorldReply {
    let Some(rest) = asked.below("/pub/") else { return WorldReply::Missing };
    let mut folders = rest.split('/').filter(|part| !part.is_empty());
    if !asked.path.ends_with('/')
        || !folders.all(|folder| folder == "current" || folder == "latest")
    {
        return WorldReply::Missing;
    }
    let sorts = ["?C=N;O=D", "?C=M;O=A", "?C=S;O=A", "?C=D;O=A"];
    let mut entries: Vec<(String, String)> = vec![("../".into(), "Parent Directory".into())];
    entries.extend(["current/", "latest/"].map(|name| (name.to_owned(), name.to_owned())));
    let docs = (1..=24).map(|n| (format!("/docs/{n}.html"), format!("{n}.html")));
    entries.extend(docs);
    if asked.query.contains("O=D") {
        entries.reverse();
    }
    WorldPage::new(format!("Index of {}", asked.path.trim_end_matches('/')))
        .links(sorts.map(|sort| (sort, "Name, Last modified, Size, Description")))
        .links(entries)
        .text("Apache/2.4.62 (Debian) Server")
        .into()
}

/// Everything below `/guide/` shows one of six sections.
fn relative(asked: &WorldTarget<'_>) -> WorldReply {
    const SECTIONS: [&str; 6] = ["sowing", "growing", "harvest", "drying", "storage", "milling"];
    let Some(rest) = asked.below("/guide/") else { return WorldReply::Missing };
    let last = rest.split('/').rfind(|part| !part.is_empty()).unwrap_or("contents");
    if last != "contents" && !SECTIONS.contains(&last) {
        return WorldReply::Missing;
    }
    let mut words = asked.words(format!("section {last}"));
    WorldPage::new(format!("Guide: {last}"))
        .texts(&mut words, 3, 60)
        .links(SECTIONS.map(|name| (format!("{name}/"), name)))
        .into()
}

fn any_case(asked: &WorldTarget<'_>) -> WorldReply {
    let Some(page) = asked.copy_of(&asked.whole.to_ascii_lowercase()) else {
        return WorldReply::Missing;
    };
    page.links(spellings(asked, asked.own_words())).into()
}

/// Links to rooms of the collection, with letters in any case.
fn spellings(asked: &WorldTarget<'_>, mut words: WorldText) -> Vec<(String, String)> {
    let rooms: Vec<&String> = asked.honest().iter().filter(|it| it.starts_with("/coll")).collect();
    (0..4)
        .map(|_| {
            let room = rooms[words.below(rooms.len() as u32) as usize];
            let spelled = room.chars().map(|letter| match words.below(3) {
                0 => letter.to_ascii_uppercase(),
                _ => letter,
            });
            (spelled.collect(), format!("Room {room}"))
        })
        .collect()
}

/// Suggestions are below the address that was asked for, with a word more or less.
fn soft(asked: &WorldTarget<'_>) -> WorldReply {
    let mut words = asked.own_words();
    let tail = asked.path.rsplit('/').next().unwrap_or_default();
    let parts: Vec<&str> = tail.split('-').filter(|part| !part.is_empty()).collect();
    let kept = parts[parts.len().saturating_sub(3)..].join("-");
    let folder = asked.parts().first().copied().unwrap_or("guides").to_owned();
    let near: Vec<_> = (0..5)
        .map(|_| {
            let word = words.noun();
            (format!("/{folder}/{kept}-{word}"), format!("{} {word}", kept.replace('-', " ")))
        })
        .collect();
    WorldPage::new("Sorry, we could not find that page")
        .text("The page may have moved. Perhaps one of these pages is what you were looking for:")
        .links(near)
        .into()
}
