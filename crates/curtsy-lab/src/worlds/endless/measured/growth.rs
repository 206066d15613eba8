//! Addresses that grow by a step: moves of a game, letters of a word, generations of a family.

use super::PURPOSE;
use crate::worlds::WebWorld;
use crate::worlds::page::{SiteFrame, WorldPage, WorldReply};
use crate::worlds::target::WorldTarget;

pub(super) static WORLDS: [WebWorld; 4] = [
    WebWorld::endless(
        PURPOSE,
        (
            "game-tree",
            "A board game that is played by links: each page lists the moves, and the address \
             has all moves so far.",
        ),
        SiteFrame {
            title: "Draughts by Post",
            nav: &[("/rules", "Rules"), ("/play?moves=", "Play")],
        },
        &["/", "/rules", "/clubs", "/lesson/{1-28}"],
        game,
    ),
    WebWorld::endless(
        PURPOSE,
        (
            "prefix-index",
            "A name register that is browsed by letters: each prefix has a page for every \
             longer one.",
        ),
        SiteFrame {
            title: "Register of Names",
            nav: &[("/browse/a", "Browse"), ("/sources", "Sources")],
        },
        &["/", "/sources", "/method", "/names/{slug:30}"],
        prefixes,
    ),
    WebWorld::endless(
        PURPOSE,
        (
            "ancestor-paths",
            "A family's site that makes up a father and a mother for each person, as one more \
             part of the path.",
        ),
        SiteFrame {
            title: "The Halford Family",
            nav: &[("/reunion", "Reunion"), ("/tree/", "Tree")],
        },
        &["/", "/reunion", "/photos", "/letters/{1-30}.html"],
        ancestors,
    ),
    WebWorld::endless(
        PURPOSE,
        (
            "breadcrumb-trail",
            "An insurer whose links carry the trail of the pages that a visitor has seen.",
        ),
        SiteFrame {
            title: "Mutual Insurance",
            nav: &[("/home-cover", "Home"), ("/claims", "Claims")],
        },
        &["/", "/home-cover", "/claims", "/offices", "/guide/{1-30}"],
        trail,
    )
    .decorated(|asked, page| {
        let mut words = asked.words(format!("onward {}", asked.whole));
        let to = words.one_of(&asked.honest().iter().map(String::as_str).collect::<Vec<_>>());
        page.link(format!("{to}?trail={}", crumb(asked.path)), "You may also need")
    }),
];

fn game(asked: &WorldTarget<'_>) -> WorldReply {
    let (Some(moves), "/play") = (asked.param("moves"), asked.path) else {
        return WorldReply::Missing;
    };
    if moves.len() > 1_200 {
        return WorldPage::new("Draw")
            .text("The game has ended in a draw.")
            .link("/play?moves=", "New game")
            .into();
    }
    let mut words = asked.own_words();
    let next: Vec<_> = (0..6)
        .map(|_| {
            let from = words.between(1, 32);
            let to = (from + words.between(3, 5)).min(32);
            let step = format!("{from}-{to}");
            let all = if moves.is_empty() { step.clone() } else { format!("{moves},{step}") };
            (format!("/play?moves={all}"), step)
        })
        .collect();
    let board: Vec<String> =
        (0..8).map(|_| (0..8).map(|_| words.one_of(&[". ", "w ", "b "])).collect()).collect();
    let count = if moves.is_empty() { 0 } else { moves.split(',').count() };
    WorldPage::new(format!("Move {}", count + 1)).pre(board.join("\n")).links(next).into()
}

fn prefixes(asked: &WorldTarget<'_>) -> WorldReply {
    let Some(prefix) = asked.below("/browse/").and_then(|rest| rest.rsplit('/').next()) else {
        return WorldReply::Missing;
    };
    if prefix.is_empty()
        || !prefix.bytes().all(|byte| byte.is_ascii_lowercase())
        || prefix.len() > 60
    {
        return WorldReply::Missing;
    }
    let longer = ('a'..='z')
        .map(|letter| (format!("{}/{prefix}{letter}", asked.path), format!("{prefix}{letter}…")));
    WorldPage::new(format!("Names that begin with {prefix}"))
        .text(format!(
            "There are {} names that begin with these letters.",
            asked.own_words().below(900)
        ))
        .links(longer.collect::<Vec<_>>())
        .into()
}

fn ancestors(asked: &WorldTarget<'_>) -> WorldReply {
    let ["tree", ref steps @ ..] = asked.parts()[..] else { return WorldReply::Missing };
    if !steps.iter().all(|step| matches!(*step, "f" | "m"))
        || steps.len() > 300
        || !asked.path.ends_with('/')
    {
        return WorldReply::Missing;
    }
    let mut words = asked.own_words();
    let born = 1_980_i64 - 28 * steps.len() as i64 - i64::from(words.below(9));
    let (work, place) = (words.noun(), words.place());
    let children = words.between(2, 9);
    WorldPage::new(words.person())
        .table([
            ("Born", format!("{born}")),
            ("Place", place),
            ("Trade", format!("owner of a {work}")),
        ])
        .text(format!("{children} children are known. {}", words.sentence()))
        .links([("f/", "Father"), ("m/", "Mother")])
        .into()
}

/// The last part of a path, as a crumb.
fn crumb(path: &str) -> &str {
    match path.rsplit('/').next() {
        Some("") | None => "start",
        Some(last) => last,
    }
}

fn trail(asked: &WorldTarget<'_>) -> WorldReply {
    let (Some(trail), Some(page)) = (asked.param("trail"), asked.copy_of(asked.path)) else {
        return WorldReply::Missing;
    };
    let from = trail.len().saturating_sub(160);
    let onward = format!("{}>{}", trail.get(from..).unwrap_or(trail), crumb(asked.path));
    page.relinked(move |href| {
        let (path, _) = href.split_once('?').unwrap_or((href, ""));
        format!("{path}?trail={onward}")
    })
    .into()
}
