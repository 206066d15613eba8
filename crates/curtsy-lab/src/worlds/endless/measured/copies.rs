//! Copies of honest pages under names that grow: proxies, snapshots, spellings, states.

use super::PURPOSE;
use crate::worlds::WebWorld;
use crate::worlds::page::{SiteFrame, WorldPage, WorldReply};
use crate::worlds::target::WorldTarget;

pub(super) static WORLDS: [WebWorld; 5] = [
    WebWorld::endless(
        PURPOSE,
        (
            "web-proxy",
            "A school with an open web proxy whose pages, on hosts that it makes up, are linked \
             through the proxy again.",
        ),
        SiteFrame {
            title: "Wilwick School",
            nav: &[("/staff", "Staff"), ("/proxy/http/www.example.test/", "Safe surfing")],
        },
        &["/", "/staff", "/term-dates", "/classes/{1-28}"],
        proxy,
    ),
    WebWorld::endless(
        PURPOSE,
        (
            "snapshots",
            "A society that keeps snapshots of its own pages, each with the capture before and \
             after.",
        ),
        SiteFrame {
            title: "Canal Society",
            nav: &[("/archive/20150307120000/", "Archived pages"), ("/boats", "Boats")],
        },
        &["/", "/boats", "/locks", "/minutes/{1-30}.html"],
        snapshots,
    ),
    WebWorld::endless(
        PURPOSE,
        (
            "slash-spellings",
            "A server that ignores empty and encoded parts of a path, with a template that adds \
             a slash too many.",
        ),
        SiteFrame {
            title: "Brickworks Theatre",
            nav: &[("/programme", "Programme"), ("/tickets", "Tickets")],
        },
        &["/", "/programme", "/tickets", "/plays/{slug:28}"],
        slashes,
    )
    .decorated(|asked, page| page.links(misspelled(asked))),
    WebWorld::endless(
        PURPOSE,
        (
            "path-parameters",
            "A Java catalogue that writes the session and the view as matrix parameters into \
             each segment.",
        ),
        SiteFrame {
            title: "Museum of Tools",
            nav: &[("/catalogue", "Catalogue"), ("/visit", "Visit")],
        },
        &["/", "/catalogue", "/visit", "/objects/{1-30}/details"],
        matrix,
    )
    .decorated(|asked, page| {
        let id = asked.own_words().hex(32).to_uppercase();
        page.link(format!("{};jsessionid={id}", asked.path), "Larger text")
    }),
    WebWorld::endless(
        PURPOSE,
        (
            "view-of-view",
            "A magazine whose articles have views for print, mail and large text, and each view \
             has views.",
        ),
        SiteFrame {
            title: "Orchard Monthly",
            nav: &[("/issues", "Issues"), ("/letters", "Letters")],
        },
        &["/", "/issues", "/letters", "/article/{1-32}"],
        views,
    )
    .decorated(|asked, page| {
        page.links(VIEWS.map(|view| (format!("{}/{view}", asked.path.trim_end_matches('/')), view)))
    }),
];

fn proxy(asked: &WorldTarget<'_>) -> WorldReply {
    let ["proxy", "http", host, ref path @ ..] = asked.parts()[..] else {
        return WorldReply::Missing;
    };
    if path.len() > 40 {
        return WorldReply::Missing;
    }
    let mut words = asked.own_words();
    let prefix = format!("/proxy/http/{host}");
    let here: Vec<_> = (0..5)
        .map(|_| {
            let (folder, file) = (words.noun(), words.joined(2, "-"));
            (format!("{prefix}/{folder}/{file}.html"), file.replace('-', " "))
        })
        .collect();
    let there: Vec<_> = (0..3)
        .map(|_| {
            let name = format!("www.{}{}.test", words.adjective(), words.syllables(2));
            (format!("/proxy/http/{name}/"), name)
        })
        .collect();
    let paragraphs = words.between(1, 4);
    WorldPage::new(words.title())
        .text(format!("You see {host} through the proxy of Wilwick School."))
        .texts(&mut words, paragraphs, 50)
        .links(here)
        .links(there)
        .into()
}

/// `/archive/20150307120000/boats`: any moment shows the page of today.
fn snapshots(asked: &WorldTarget<'_>) -> WorldReply {
    let Some(rest) = asked.whole.strip_prefix("/archive/") else { return WorldReply::Missing };
    let (stamp, _) = rest.split_once('/').unwrap_or((rest, ""));
    let Some(page) = asked.copy_of(rest.get(stamp.len()..).unwrap_or("/")) else {
        return WorldReply::Missing;
    };
    let Ok(moment) = stamp.parse::<u64>() else { return WorldReply::Missing };
    let mut words = asked.own_words();
    let (back, on) =
        (u64::from(words.between(1_000, 90_000)), u64::from(words.between(1_000, 90_000)));
    let target = rest[stamp.len()..].to_owned();
    let stamp = stamp.to_owned();
    page.text(format!("A snapshot taken at {moment}."))
        .links([
            (format!("!{}{target}", moment.saturating_sub(back)), "previous capture"),
            (format!("!{}{target}", moment + on), "next capture"),
        ])
        .relinked(move |href| match href.strip_prefix('!') {
            Some(capture) => format!("/archive/{capture}"),
            None if href.starts_with("/archive/") => href.to_owned(),
            None => format!("/archive/{stamp}{href}"),
        })
        .into()
}

/// The path with one slash each and no percent signs.
fn tidied(path: &str) -> String {
    let decoded = path.replace("%2F", "/").replace("%2f", "/").replace("%5F", "_");
    let parts: Vec<&str> = decoded.split('/').filter(|part| !part.is_empty()).collect();
    format!("/{}", parts.join("/"))
}

fn slashes(asked: &WorldTarget<'_>) -> WorldReply {
    match asked.copy_of(&tidied(asked.path)) {
        Some(page) => page.links(misspelled(asked)).into(),
        None => WorldReply::Missing,
    }
}

fn misspelled(asked: &WorldTarget<'_>) -> Vec<(String, &'static str)> {
    let path = asked.path.trim_start_matches('/');
    let mut words = asked.own_words();
    let at = words.below(path.len() as u32 + 1) as usize;
    let at = path[at.min(path.len())..].find('/').map_or(path.len(), |slash| at + slash);
    let (before, after) = path.split_at(at.min(path.len()));
    vec![
        (format!("/{before}/{after}"), "Read more"),
        (format!("/{before}%2F{after}"), "Share"),
        (format!("/{path}//"), "Comments"),
    ]
}

/// Parameters of segments are ignored.
fn matrix(asked: &WorldTarget<'_>) -> WorldReply {
    let bare = |part: &str| part.split(';').next().unwrap_or_default().to_owned();
    let plain: Vec<String> = asked.path.split('/').map(bare).collect();
    let Some(page) = asked.copy_of(&plain.join("/")) else { return WorldReply::Missing };
    let mut words = asked.own_words();
    let (id, font) = (words.hex(32).to_uppercase(), words.between(1, 9));
    page.relinked(move |href| match href.contains(';') {
        true => href.to_owned(),
        false => href
            .split('/')
            .map(|part| match part {
                "" => String::new(),
                part => format!("{part};jsessionid={id};font={font}"),
            })
            .collect::<Vec<_>>()
            .join("/"),
    })
    .into()
}

const VIEWS: [&str; 5] = ["print", "mail", "large", "text", "mobile"];

fn views(asked: &WorldTarget<'_>) -> WorldReply {
    let mut parts = asked.parts();
    while parts.last().is_some_and(|last| VIEWS.contains(last)) {
        parts.pop();
    }
    let Some(page) = asked.copy_of(&format!("/{}", parts.join("/"))) else {
        return WorldReply::Missing;
    };
    if asked.path.len() > 1_500 {
        return page.into();
    }
    page.links(VIEWS.map(|view| (format!("{}/{view}", asked.path), view))).into()
}
