//! Records: a phone directory, decisions of courts, objects of a museum, weather, games of chess.

use super::PURPOSE;
use crate::worlds::WebWorld;
use crate::worlds::honest::catalogue::Catalogue;
use crate::worlds::page::{SiteFrame, WorldPage};
use crate::worlds::text::WorldText;

pub(super) static WORLDS: [WebWorld; 5] = [
    WebWorld::honest(
        PURPOSE,
        (
            "phone-directory",
            "A phone directory of 5,000 households in 100 towns, with two lines a page.",
        ),
        PHONES.pages(),
        SiteFrame { title: "Phone Directory", nav: &[("/town-1/", "First town")] },
        |asked| PHONES.reply(asked),
    ),
    WebWorld::honest(
        PURPOSE,
        (
            "court-decisions",
            "6,000 decisions of a court in long texts with fixed phrases, by year and docket \
             number.",
        ),
        DECISIONS.pages(),
        SiteFrame {
            title: "Decisions of the High Court",
            nav: &[("/decisions/2000/index.html", "First year")],
        },
        |asked| DECISIONS.reply(asked),
    ),
    WebWorld::honest(
        PURPOSE,
        (
            "museum-objects",
            "8,000 objects of a museum at `/object?acc=1974.12.3`, each with a label of a few \
             words.",
        ),
        OBJECTS.pages(),
        SiteFrame { title: "County Museum Online", nav: &[("/objects?offset=0", "Objects")] },
        |asked| OBJECTS.reply(asked),
    ),
    WebWorld::honest(
        PURPOSE,
        (
            "weather-months",
            "Tables of 50 weather stations for ten years of months: pages of numbers with the \
             same words.",
        ),
        WEATHER.pages(),
        SiteFrame { title: "Weather Records", nav: &[("/station/1001/", "First station")] },
        |asked| WEATHER.reply(asked),
    ),
    WebWorld::honest(
        PURPOSE,
        (
            "chess-games",
            "8,000 games of chess at `/game?gid=1000123`: two names and a list of moves.",
        ),
        GAMES.pages(),
        SiteFrame { title: "Chess Archive", nav: &[("/games?page=0", "Games")] },
        |asked| GAMES.reply(asked),
    ),
];

const PHONES: Catalogue = Catalogue {
    items: 5_000,
    per_list: 50,
    title: "Town",
    item: |n| format!("/town-{}/{}-{n}/", n / 50 + 1, household(n).to_lowercase()),
    list: |n| format!("/town-{}/", n + 1),
    item_of: |asked| asked.path.trim_end_matches('/').rsplit('-').next()?.parse().ok(),
    list_of: |asked| asked.number_in("/town-", "/")?.checked_sub(1),
    label: |_, n| household(n),
    write: |asked, n| {
        let mut words = asked.own_words();
        WorldPage::new(household(n))
            .text(format!(
                "{} {}, {} Street",
                words.between(1, 120),
                words.person(),
                words.surname()
            ))
            .text(format!(
                "Phone 0{} {}",
                words.between(1_000, 9_999),
                words.between(100_000, 999_999)
            ))
    },
};

fn household(n: u32) -> String {
    WorldText::of("phone-directory", &format!("household {n}")).surname()
}

const DECISIONS: Catalogue = Catalogue {
    items: 6_000,
    per_list: 300,
    title: "Decisions",
    item: |n| format!("/decisions/{}/HC_{}_{:02}.html", 2000 + n / 300, n % 300 + 1, n / 300),
    list: |n| format!("/decisions/{}/index.html", 2000 + n),
    item_of: |asked| {
        let [_, year, file] = asked.parts()[..] else { return None };
        let year: u32 = year.parse().ok()?;
        let docket: u32 = file.strip_prefix("HC_")?.split('_').next()?.parse().ok()?;
        (year < 9_999).then_some(year.checked_sub(2000)? * 300 + docket.checked_sub(1)?)
    },
    list_of: |asked| asked.number_in("/decisions/", "/index.html")?.checked_sub(2000),
    label: |_, n| format!("HC {}/{:02}", n % 300 + 1, n / 300),
    write: |asked, n| {
        let mut words = asked.own_words();
        let mut phrases = asked.words("phrases");
        let mut page = WorldPage::new(format!("High Court, HC {}/{:02}", n % 300 + 1, n / 300));
        page = page.text(format!("In the matter of {} against {}", words.person(), words.person()));
        page = page
            .heading("Operative part")
            .text("The appeal is dismissed. The appellant bears the costs.");
        page = page.heading("Reasons");
        for number in 1..=words.between(6, 16) {
            let count = words.between(25, 80);
            page = page.text(format!("{number}. {} {}", phrases.text(14), words.text(count)));
        }
        page
    },
};

const OBJECTS: Catalogue = Catalogue {
    items: 8_000,
    per_list: 80,
    title: "Objects",
    item: |n| format!("/object?acc={}.{}.{}", 1920 + n / 100, n % 100 / 10 + 1, n % 10 + 1),
    list: |n| format!("/objects?offset={}", n * 80),
    item_of: |asked| {
        let mut parts = asked.param("acc")?.split('.').map_while(|part| part.parse::<u32>().ok());
        let (year, lot, piece) = (parts.next()?, parts.next()?, parts.next()?);
        let small = year < 9_999 && lot <= 10 && piece <= 10;
        small.then_some(
            year.checked_sub(1920)? * 100 + lot.checked_sub(1)? * 10 + piece.checked_sub(1)?,
        )
    },
    list_of: |asked| Some(u32::try_from(asked.number("offset")?).ok()? / 80),
    label: |asked, n| {
        let mut words = asked.words(format!("object {n}"));
        format!("{} {}", words.adjective(), words.noun())
    },
    write: |asked, n| {
        let mut words = asked.words(format!("object {n}"));
        let (name, count) =
            (format!("{} {}", words.adjective(), words.noun()), words.between(6, 25));
        WorldPage::new(&name)
            .table([
                ("Accession number", asked.param("acc").unwrap_or_default().to_owned()),
                ("Maker", words.person()),
                ("Place", words.place()),
                ("Height", format!("{} mm", words.between(12, 2_400))),
            ])
            .text(words.text(count))
            .text("On display in the county museum. Photographs may be ordered.")
    },
};

const WEATHER: Catalogue = Catalogue {
    items: 50 * 120,
    per_list: 120,
    title: "Station",
    item: |n| format!("/station/{}/{}-{:02}.html", 1001 + n / 120, 2010 + n % 120 / 12, n % 12 + 1),
    list: |n| format!("/station/{}/", 1001 + n),
    item_of: |asked| {
        let [_, station, file] = asked.parts()[..] else { return None };
        let (year, month) = file.strip_suffix(".html")?.split_once('-')?;
        let (year, month): (u32, u32) = (year.parse().ok()?, month.parse().ok()?);
        let (year, month) = (year.checked_sub(2010)?, month.checked_sub(1)?);
        let station = station.parse::<u32>().ok()?.checked_sub(1001)?;
        (station < 50 && year < 10 && month < 12).then_some(station * 120 + year * 12 + month)
    },
    list_of: |asked| asked.number_in("/station/", "/")?.checked_sub(1001),
    label: |_, n| format!("{}-{:02}", 2010 + n % 120 / 12, n % 12 + 1),
    write: |asked, n| {
        let mut words = asked.own_words();
        let place = asked.words(format!("station {}", n / 120)).place();
        let days: Vec<_> = (1..=30)
            .map(|day| {
                let (low, more, rain) = (words.below(20), words.below(12), words.below(30));
                (
                    format!("{day}"),
                    format!("min {low}.{} max {} rain {rain}", words.below(10), low + more),
                )
            })
            .collect();
        let month = format!("{}-{:02}", 2010 + n % 120 / 12, n % 12 + 1);
        WorldPage::new(format!("{place}, {month}"))
            .text(format!("Daily values of the station {} at {place}.", 1001 + n / 120))
            .table(days)
    },
};

const GAMES: Catalogue = Catalogue {
    items: 8_000,
    per_list: 100,
    title: "Games",
    item: |n| format!("/game?gid={}", 1_000_000 + n),
    list: |n| format!("/games?page={n}"),
    item_of: |asked| asked.number("gid")?.checked_sub(1_000_000)?.try_into().ok(),
    list_of: |asked| asked.number("page")?.try_into().ok(),
    label: |asked, n| {
        let mut words = asked.words(format!("players {n}"));
        format!("{} - {}", words.surname(), words.surname())
    },
    write: |asked, n| {
        let mut words = asked.words(format!("players {n}"));
        let title = format!("{} - {}", words.surname(), words.surname());
        let place = format!("{} {}", words.place(), words.between(1880, 2020));
        let moves: Vec<String> = (1..=words.between(18, 60))
            .map(|number| {
                let one = |words: &mut WorldText| {
                    let piece = words.one_of(&["", "", "N", "B", "R", "Q", "K"]);
                    let file = words.one_of(&["a", "b", "c", "d", "e", "f", "g", "h"]);
                    format!("{piece}{file}{}", words.between(1, 8))
                };
                format!("{number}. {} {}", one(&mut words), one(&mut words))
            })
            .collect();
        WorldPage::new(title).text(place).text(moves.join(" "))
    },
};
