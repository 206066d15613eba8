//! Pages of words that were made up for the occasion: articles, doorway pages, comments, searches.

use super::PURPOSE;
use crate::worlds::WebWorld;
use crate::worlds::page::{SiteFrame, WorldPage, WorldReply};
use crate::worlds::target::WorldTarget;
use crate::worlds::text::capital;

pub(super) static WORLDS: [WebWorld; 5] = [
    WebWorld::endless(
        PURPOSE,
        (
            "false-encyclopedia",
            "A tarpit in the manner of Iocaine: well-formed articles whose every link leads to \
             one more article.",
        ),
        SiteFrame {
            title: "The Parish Companion",
            nav: &[("/people", "People"), ("/companion/Welcome", "Companion")],
        },
        &["/", "/people", "/places", "/leaflets/{1-28}"],
        encyclopedia,
    ),
    WebWorld::endless(
        PURPOSE,
        (
            "doorway-pages",
            "A trader whose doorway pages combine a product, a quality and a town, with spun text.",
        ),
        SiteFrame {
            title: "Thornton Trading",
            nav: &[("/company", "Company"), ("/best-cheap-lamp-in-kelford-1.html", "Offers")],
        },
        &["/", "/company", "/delivery", "/catalogue-{1-30}.html"],
        doorway,
    ),
    WebWorld::endless(
        PURPOSE,
        (
            "nested-comments",
            "A columnist's blog in which each comment has a page of its own with three replies.",
        ),
        SiteFrame {
            title: "Plain Speaking",
            nav: &[("/columns", "Columns"), ("/house-rules", "House rules")],
        },
        &["/", "/columns", "/house-rules", "/column/{slug:30}"],
        comments,
    )
    .decorated(|asked, page| {
        let mut words = asked.words(format!("comments {}", asked.whole));
        page.heading("Comments").links(
            (0..4)
                .map(|_| {
                    (format!("/comment/{}", words.between(10_000, 9_999_999)), words.sentence())
                })
                .collect::<Vec<_>>(),
        )
    }),
    WebWorld::endless(
        PURPOSE,
        (
            "related-searches",
            "A recipe site whose search results offer related searches, also for searches \
             without results.",
        ),
        SiteFrame {
            title: "Plain Cooking",
            nav: &[("/search?q=soup", "Search"), ("/seasons", "Seasons")],
        },
        &["/", "/seasons", "/tips", "/recipe/{1-34}"],
        searches,
    ),
    WebWorld::endless(
        PURPOSE,
        (
            "random-article",
            "A collection of sayings with a link to a random one, which redirects to a \
             permanent address made for it.",
        ),
        SiteFrame {
            title: "Sayings and Proverbs",
            nav: &[("/about", "About"), ("/random", "Random saying")],
        },
        &["/", "/about", "/sources", "/saying/{1-36}"],
        random,
    ),
];

fn encyclopedia(asked: &WorldTarget<'_>) -> WorldReply {
    let Some(name) = asked.below("/companion/") else { return WorldReply::Missing };
    let mut words = asked.own_words();
    let mut page = WorldPage::new(name.replace('_', " "));
    for _ in 0..words.between(3, 6) {
        let count = words.between(50, 120);
        page = page.heading(words.title()).text(words.text(count));
        let links: Vec<_> = (0..words.between(1, 4))
            .map(|_| {
                let (first, second) = (capital(words.adjective()), words.noun());
                let place = words.place();
                (format!("/companion/{first}_{second}_of_{place}"), format!("{first} {second}"))
            })
            .collect();
        page = page.links(links);
    }
    page.into()
}

fn doorway(asked: &WorldTarget<'_>) -> WorldReply {
    if !asked.path.ends_with(".html") || asked.parts().len() != 1 || !asked.path.contains("-in-") {
        return WorldReply::Missing;
    }
    let name = asked.path.trim_matches('/').trim_end_matches(".html").replace('-', " ");
    let mut words = asked.own_words();
    let mut page = WorldPage::new(capital(&name));
    for _ in 0..3 {
        let (adjective, noun, place) = (words.adjective(), words.noun(), words.place());
        page = page.text(format!(
            "Are you looking for {name}? Our {adjective} {noun} is the first choice in {place}. {}",
            words.text(30)
        ));
    }
    let links: Vec<_> = (0..12)
        .map(|_| {
            let quality = words.one_of(&["best", "cheap", "top", "online", "new", "discount"]);
            let (adjective, noun) = (words.adjective(), words.noun());
            let (place, id) = (words.place().to_lowercase(), words.between(1, 9_999));
            let name = format!("{quality}-{adjective}-{noun}-in-{place}-{id}");
            (format!("/{name}.html"), name.replace('-', " "))
        })
        .collect();
    page.links(links).into()
}

fn comments(asked: &WorldTarget<'_>) -> WorldReply {
    let Some(number) = asked.number_in("/comment/", "") else { return WorldReply::Missing };
    let mut words = asked.own_words();
    let count = words.between(4, 40);
    let page = WorldPage::new(format!("Comment {number} by {}", words.person()));
    let page = page.text(words.text(count));
    let replies: Vec<_> = (0..3)
        .map(|_| {
            (
                format!("/comment/{}", words.between(10_000, 9_999_999)),
                format!("Reply by {}", words.person()),
            )
        })
        .collect();
    let column = words.one_of(&asked.honest().iter().map(String::as_str).collect::<Vec<_>>());
    page.heading("Replies").links(replies).link(column, "To the column").into()
}

fn searches(asked: &WorldTarget<'_>) -> WorldReply {
    let (Some(query), "/search") = (asked.param("q"), asked.path) else {
        return WorldReply::Missing;
    };
    let mut words = asked.own_words();
    let terms: Vec<&str> = query.split('+').filter(|term| !term.is_empty()).collect();
    let recipes = if terms.len() < 3 { words.below(4) } else { 0 };
    let hits: Vec<_> = (0..recipes)
        .map(|_| {
            let to = format!("/recipe/{}", words.between(1, 34));
            let title = asked.words(format!("title {to}")).title();
            (to, title)
        })
        .collect();
    let kept = terms[terms.len().saturating_sub(4)..].join("+");
    let related: Vec<_> = (0..6)
        .map(|n| {
            let word = words.noun();
            let q = if n % 2 == 0 {
                format!("{kept}+{word}")
            } else {
                format!("{word}+{}", terms.last().unwrap_or(&"soup"))
            };
            (format!("/search?q={q}"), q.replace('+', " "))
        })
        .collect();
    let page = WorldPage::new(format!("Search for {}", query.replace('+', " ")));
    let page = match hits.is_empty() {
        true => page.text("Nothing was found. Please try other words."),
        false => page.links(hits),
    };
    page.heading("Related searches").links(related).into()
}

fn random(asked: &WorldTarget<'_>) -> WorldReply {
    match asked.parts()[..] {
        ["random"] => {
            // Only a parameter makes one draw differ from the next: pages without state draw by it.
            WorldReply::To(302, format!("/s/{}", asked.own_words().hex(9)))
        }
        ["s", token] => {
            let mut words =
                asked.words(format!("saying {}", token.bytes().map(u32::from).sum::<u32>() % 36));
            let seed = asked.own_words().hex(6);
            WorldPage::new("A saying")
                .text(words.sentence())
                .links([
                    (format!("/random?{seed}"), "Another one"),
                    (format!("/s/{}", asked.own_words().hex(9)), "The next one"),
                    (format!("/random?{token}.{}", &seed[..2]), "By the same author"),
                ])
                .into()
        }
        _ => WorldReply::Missing,
    }
}
