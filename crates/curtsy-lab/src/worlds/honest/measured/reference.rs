//! Reference works: changelogs, manual pages, standards.

use super::PURPOSE;
use crate::worlds::WebWorld;
use crate::worlds::honest::catalogue::Catalogue;
use crate::worlds::page::{SiteFrame, WorldPage};
use crate::worlds::text::WorldText;

pub(super) static WORLDS: [WebWorld; 3] = [
    WebWorld::honest(
        PURPOSE,
        ("changelogs", "Changes of 3,000 versions of 30 programs, many of them one line long."),
        CHANGES.pages(),
        SiteFrame { title: "Release Notes", nav: &[("/program-1/changelog/", "First program")] },
        |asked| CHANGES.reply(asked),
    ),
    WebWorld::honest(
        PURPOSE,
        ("manual-pages", "5,000 manual pages of eight sections, with the same headings on each."),
        MANUALS.pages(),
        SiteFrame { title: "Online Manual", nav: &[("/man/index-1.html", "Index")] },
        |asked| MANUALS.reply(asked),
    ),
    WebWorld::honest(
        PURPOSE,
        (
            "standards-texts",
            "3,000 long texts of standards with the same preamble, numbered from 1.",
        ),
        STANDARDS.pages(),
        SiteFrame { title: "Standards Series", nav: &[("/index/1", "Index")] },
        |asked| STANDARDS.reply(asked),
    ),
];

const CHANGES: Catalogue = Catalogue {
    items: 3_000,
    per_list: 100,
    title: "Changelog",
    item: |n| format!("/program-{}/changelog/{}", n / 100 + 1, version(n)),
    list: |n| format!("/program-{}/changelog/", n + 1),
    item_of: |asked| {
        let [program, _, version] = asked.parts()[..] else { return None };
        let program: u32 = program.strip_prefix("program-")?.parse().ok()?;
        let mut parts = version.split('.').map_while(|part| part.parse::<u32>().ok());
        let (major, minor, patch) = (parts.next()?, parts.next()?, parts.next()?);
        let small = program < 1_000 && major <= 4 && minor < 5 && patch < 5;
        small.then_some(
            program.checked_sub(1)? * 100 + major.checked_sub(1)? * 25 + minor * 5 + patch,
        )
    },
    list_of: |asked| asked.number_in("/program-", "/changelog/")?.checked_sub(1),
    label: |_, n| version(n),
    write: |asked, n| {
        let mut words = asked.own_words();
        let mut page = WorldPage::new(format!("Program {} {}", n / 100 + 1, version(n)));
        page = page.text(format!(
            "Released on {} March {}",
            words.between(1, 31),
            words.between(2004, 2026)
        ));
        for _ in 0..words.between(1, 5) {
            page = page.text(words.sentence());
        }
        page
    },
};

fn version(n: u32) -> String {
    format!("{}.{}.{}", n % 100 / 25 + 1, n % 25 / 5, n % 5)
}

const MANUALS: Catalogue = Catalogue {
    items: 5_000,
    per_list: 125,
    title: "Index",
    item: |n| format!("/man/{}/{}.{n}.html", n % 8 + 1, command(n)),
    list: |n| format!("/man/index-{}.html", n + 1),
    item_of: |asked| asked.path.strip_suffix(".html")?.rsplit('.').next()?.parse().ok(),
    list_of: |asked| asked.number_in("/man/index-", ".html")?.checked_sub(1),
    label: |_, n| format!("{}({})", command(n), n % 8 + 1),
    write: |asked, n| {
        let mut words = asked.own_words();
        let mut page = WorldPage::new(format!("{}({})", command(n), n % 8 + 1));
        page = page.heading("NAME").text(format!("{} - {}", command(n), words.sentence()));
        page = page.heading("SYNOPSIS").pre(format!(
            "{} [-{}] {}",
            command(n),
            words.hex(3),
            words.noun()
        ));
        let count = words.between(30, 120);
        page = page.heading("DESCRIPTION").text(words.text(count)).heading("OPTIONS");
        let options: Vec<_> = (0..words.between(2, 8))
            .map(|_| (format!("--{}", words.noun()), words.sentence()))
            .collect();
        page.table(options)
            .heading("EXIT STATUS")
            .text("0 on success, 1 if an error occurred, 2 if the arguments are wrong.")
            .heading("COPYRIGHT")
            .text(
                "This is free software: you are free to change and redistribute it. There is \
                   no warranty, to the extent permitted by law.",
            )
    },
};

fn command(n: u32) -> String {
    WorldText::of("manual-pages", &format!("command {n}")).syllables(3)
}

const STANDARDS: Catalogue = Catalogue {
    items: 3_000,
    per_list: 100,
    title: "Index",
    item: |n| format!("/text/std{}.html", n + 1),
    list: |n| format!("/index/{}", n + 1),
    item_of: |asked| asked.number_in("/text/std", ".html")?.checked_sub(1),
    list_of: |asked| asked.number_in("/index/", "")?.checked_sub(1),
    label: |asked, n| format!("STD {}: {}", n + 1, asked.words(format!("standard {n}")).title()),
    write: |asked, n| {
        let mut words = asked.own_words();
        let title = asked.words(format!("standard {n}")).title();
        let mut page = WorldPage::new(format!("STD {}: {title}", n + 1));
        page = page.heading("Status of this text").text(asked.words("status").text(120));
        page = page.heading("Copyright").text(asked.words("copyright").text(90));
        for section in 1..=words.between(4, 10) {
            let count = words.between(60, 140);
            page = page.heading(format!("{section}. {}", words.title())).text(words.text(count));
        }
        page
    },
};
