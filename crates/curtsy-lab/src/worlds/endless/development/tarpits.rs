//! Pages made for crawlers: random words, each page with more of them.

use super::PURPOSE;
use crate::worlds::WebWorld;
use crate::worlds::page::{SiteFrame, WorldPage, WorldReply};
use crate::worlds::target::WorldTarget;

pub(super) static WORLDS: [WebWorld; 3] = [
    WebWorld::endless(
        PURPOSE,
        (
            "word-tarpit",
            "A blog with a tarpit in the manner of Nepenthes: random words of text, and a \
             handful of links of random words.",
        ),
        SiteFrame { title: "Notes on Gardening", nav: &[("/about", "About"), ("/seeds", "Seeds")] },
        &["/", "/about", "/seeds", "/post/{slug:30}"],
        tarpit,
    )
    .decorated(|asked, page| match asked.whole {
        "/" | "/about" => page.link("/compost/", "Archive"),
        _ => page,
    }),
    WebWorld::endless(
        PURPOSE,
        (
            "deeper-tree",
            "A directory of firms in which each category has five categories below it, one level \
             deeper in the path.",
        ),
        SiteFrame {
            title: "Firms of the Region",
            nav: &[("/directory/", "Directory"), ("/add", "Add your firm")],
        },
        &["/", "/add", "/terms", "/firm/{1-34}"],
        deeper,
    ),
    WebWorld::endless(
        PURPOSE,
        (
            "redirect-maze",
            "A link exchange whose links are redirects to pages of further redirects, with three \
             hops each.",
        ),
        SiteFrame {
            title: "Click Partners",
            nav: &[("/how-it-works", "How it works"), ("/go/start", "Surf now")],
        },
        &["/", "/how-it-works", "/faq", "/partners/{1-28}.php"],
        maze,
    ),
];

fn tarpit(asked: &WorldTarget<'_>) -> WorldReply {
    if asked.below("/compost/").is_none() {
        return WorldReply::Missing;
    }
    let mut words = asked.own_words();
    let paragraphs: Vec<String> = (0..words.between(3, 8))
        .map(|_| {
            let count = words.between(30, 90);
            words.joined(count, " ")
        })
        .collect();
    let links: Vec<_> = (0..words.between(5, 12))
        .map(|_| {
            let count = words.between(1, 3);
            let depth = words.between(1, 3);
            let path: Vec<String> = (0..depth).map(|_| words.joined(count, "-")).collect();
            (format!("/compost/{}", path.join("/")), words.joined(3, " "))
        })
        .collect();
    let page = WorldPage::new(words.joined(3, " "));
    paragraphs.iter().fold(page, |page, text| page.text(text)).links(links).into()
}

fn deeper(asked: &WorldTarget<'_>) -> WorldReply {
    let Some(rest) = asked.below("/directory/") else { return WorldReply::Missing };
    if !asked.path.ends_with('/') || rest.len() > 1_000 {
        return WorldReply::Missing;
    }
    let mut words = asked.own_words();
    let below: Vec<_> = (0..5)
        .map(|_| {
            let name = format!("{}-{}", words.adjective(), words.noun());
            (format!("{}{name}/", asked.path), name.replace('-', " "))
        })
        .collect();
    let last = rest.trim_end_matches('/').rsplit('/').next().unwrap_or("All").replace('-', " ");
    WorldPage::new(format!("Firms: {last}"))
        .text(words.text(25))
        .heading("Categories")
        .links(below)
        .into()
}

/// `/go/ID` redirects to `/via/ID/1`, `/via/ID/2` and then `/landing/ID`.
fn maze(asked: &WorldTarget<'_>) -> WorldReply {
    let parts = asked.parts();
    match parts[..] {
        ["go", id] => WorldReply::To(302, format!("/via/{id}/1")),
        ["via", id, "1"] => WorldReply::To(302, format!("/via/{id}/2")),
        ["via", id, "2"] => WorldReply::To(307, format!("/landing/{id}")),
        ["landing", id] => {
            let mut words = asked.own_words();
            let links: Vec<_> =
                (0..5).map(|_| (format!("/go/{}", words.hex(8)), words.title())).collect();
            WorldPage::new(format!("Partner page {id}"))
                .text("Thank you for your visit. Please visit our other partners, too.")
                .links(links)
                .into()
        }
        _ => WorldReply::Missing,
    }
}
