//! News, recipes, products by path, and a site in three languages.

use super::PURPOSE;
use crate::worlds::WebWorld;
use crate::worlds::honest::catalogue::Catalogue;
use crate::worlds::page::{SiteFrame, WorldPage, WorldReply};
use crate::worlds::target::WorldTarget;
use crate::worlds::text::WorldText;

pub(super) static WORLDS: [WebWorld; 4] = [
    WebWorld::honest(
        PURPOSE,
        ("dated-news", "A regional news site of 6,000 articles at `/news/2019-04-03-title`."),
        NEWS.pages(),
        SiteFrame { title: "Vale News", nav: &[("/news?page=1", "All news")] },
        |asked| NEWS.reply(asked),
    ),
    WebWorld::honest(
        PURPOSE,
        (
            "recipe-book",
            "A collection of 4,000 recipes in 20 chapters, each with ingredients and steps.",
        ),
        RECIPES.pages(),
        SiteFrame { title: "The Recipe Book", nav: &[("/recipes/chapter-1/", "First chapter")] },
        |asked| RECIPES.reply(asked),
    ),
    WebWorld::honest(
        PURPOSE,
        (
            "shop-paths",
            "A shop of 10,000 spare parts at `/p/1234-name`, many of which differ by a number \
             and a size only.",
        ),
        PARTS.pages(),
        SiteFrame { title: "Gasket & Sons", nav: &[("/c/parts/1", "Parts")] },
        |asked| PARTS.reply(asked),
    ),
    WebWorld::honest(
        PURPOSE,
        (
            "three-languages",
            "A town's site of 400 pages in three languages, each linked with its translations.",
        ),
        1 + LANGUAGES.len() as u32 * TOWN_PAGES,
        SiteFrame {
            title: "Belmouth",
            nav: &[("/en/1", "English"), ("/de/1", "Deutsch"), ("/fr/1", "Français")],
        },
        town,
    ),
];

fn slug(world: &str, n: u32) -> String {
    WorldText::of(world, &format!("slug {n}")).joined(4, "-")
}

const NEWS: Catalogue = Catalogue {
    items: 6_000,
    per_list: 30,
    title: "News",
    // Two articles a day; the part of a day keeps their addresses apart.
    item: |n| {
        let day = n / 2;
        let date = format!("{}-{:02}-{:02}", 2014 + day / 336, day / 28 % 12 + 1, day % 28 + 1);
        format!("/news/{date}-{}-{}", ["am", "pm"][(n % 2) as usize], slug("dated-news", n))
    },
    list: |n| format!("/news?page={}", n + 1),
    item_of: |asked| {
        let mut parts = asked.below("/news/")?.split('-');
        let mut number = || parts.next()?.parse::<u32>().ok();
        let (year, month, day) =
            (number()?.checked_sub(2014)?, number()?.checked_sub(1)?, number()?.checked_sub(1)?);
        let half = u32::from(parts.next()? == "pm");
        (year < 100 && month < 12 && day < 28).then_some((year * 336 + month * 28 + day) * 2 + half)
    },
    list_of: |asked| asked.number("page")?.checked_sub(1)?.try_into().ok(),
    label: |_, n| slug("dated-news", n).replace('-', " "),
    write: |asked, n| {
        let mut words = asked.own_words();
        let (paragraphs, title) = (words.between(3, 8), words.title());
        WorldPage::new(slug("dated-news", n).replace('-', " "))
            .text(format!("{}. By {}", words.place(), words.person()))
            .texts(&mut words, paragraphs, 55)
            .heading(title)
            .texts(&mut words, 1, 40)
    },
};

const RECIPES: Catalogue = Catalogue {
    items: 4_000,
    per_list: 200,
    title: "Recipes",
    item: |n| {
        format!("/recipes/chapter-{}/{}-{}.html", n / 200 + 1, slug("recipe-book", n), n % 200 + 1)
    },
    list: |n| format!("/recipes/chapter-{}/", n + 1),
    item_of: |asked| {
        let [_, chapter, file] = asked.parts()[..] else { return None };
        let chapter: u32 = chapter.strip_prefix("chapter-")?.parse().ok()?;
        let place: u32 = file.strip_suffix(".html")?.rsplit('-').next()?.parse().ok()?;
        (chapter < 1_000).then_some(chapter.checked_sub(1)? * 200 + place.checked_sub(1)?)
    },
    list_of: |asked| asked.number_in("/recipes/chapter-", "/")?.checked_sub(1),
    label: |_, n| slug("recipe-book", n).replace('-', " "),
    write: |asked, n| {
        let mut words = asked.own_words();
        let things: Vec<_> = (0..words.between(4, 9))
            .map(|_| (format!("{} g", words.between(1, 80) * 10), words.noun()))
            .collect();
        let mut page = WorldPage::new(slug("recipe-book", n).replace('-', " ")).table(things);
        page = page.text(format!(
            "For {} people, {} minutes.",
            words.between(1, 8),
            words.between(5, 180)
        ));
        for _ in 0..words.between(3, 7) {
            page = page.text(words.sentence());
        }
        page
    },
};

const PARTS: Catalogue = Catalogue {
    items: 10_000,
    per_list: 60,
    title: "Parts",
    item: |n| format!("/p/{}-{}", n + 1, part_name(n).replace(' ', "-")),
    list: |n| format!("/c/parts/{}", n + 1),
    item_of: |asked| asked.below("/p/")?.split('-').next()?.parse::<u32>().ok()?.checked_sub(1),
    list_of: |asked| asked.number_in("/c/parts/", "")?.checked_sub(1),
    label: |_, n| format!("{} no. {}", part_name(n), n + 1),
    write: |asked, n| {
        let mut words = asked.own_words();
        let size = [n % 50 * 2 + 6, words.between(1, 90), words.between(1, 30)];
        let mut kind = asked.words(format!("kind {}", n / 50));
        WorldPage::new(format!("{} {} mm", part_name(n), size[0]))
            .table([
                ("Part number", format!("GS-{:05}", n + 1)),
                ("Size", format!("{} x {} x {} mm", size[0], size[1], size[2])),
                ("Fits", format!("{} {}", words.surname(), words.between(100, 999))),
                ("Price", format!("{}.{:02}", words.between(1, 60), words.below(100))),
            ])
            .text(kind.text(35))
            .text("Prices with VAT. Orders before noon leave on the same day.")
    },
};

/// Fifty sizes in a row have the same name.
fn part_name(n: u32) -> String {
    let mut words = WorldText::of("shop-paths", &format!("kind {}", n / 50));
    format!("{} {}", words.adjective(), words.noun())
}

const LANGUAGES: [&str; 3] = ["en", "de", "fr"];
const TOWN_PAGES: u32 = 400;

fn town(asked: &WorldTarget<'_>) -> WorldReply {
    let at = |lang: &str, n: u32| format!("/{lang}/{n}");
    if asked.whole == "/" {
        let page = WorldPage::new("Belmouth").texts(&mut asked.words("home"), 1, 30);
        return page.links(LANGUAGES.map(|lang| (at(lang, 1), lang))).into();
    }
    let [lang, number] = asked.parts()[..] else { return WorldReply::Missing };
    let Some(lang) = LANGUAGES.into_iter().find(|known| *known == lang) else {
        return WorldReply::Missing;
    };
    let Some(n) =
        number.parse().ok().filter(|n| (1..=TOWN_PAGES).contains(n) && at(lang, *n) == asked.whole)
    else {
        return WorldReply::Missing;
    };
    // A translation: words of another language, as many as the first has.
    let length = asked.words(format!("length {n}")).between(40, 160);
    let mut words = asked.own_words();
    let text: Vec<String> = match lang {
        "en" => vec![words.text(length)],
        "de" => (0..length / 8 + 1)
            .map(|_| format!("{}en {}.", words.syllables(3), words.joined(7, "e ")))
            .collect(),
        _ => (0..length / 8 + 1)
            .map(|_| format!("{}ez {}.", words.syllables(3), words.joined(7, "ique ")))
            .collect(),
    };
    let others = LANGUAGES.into_iter().filter(|other| *other != lang);
    WorldPage::new(words.title())
        .lang(lang)
        .text(text.join(" "))
        .links(others.map(|other| (at(other, n), other)))
        .links(
            [n % TOWN_PAGES + 1, (n * 3) % TOWN_PAGES + 1]
                .map(|to| (at(lang, to), format!("{lang} {to}"))),
        )
        .into()
}
