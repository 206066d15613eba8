//! Families: persons who link their parents and children, in a web that ends.

use super::PURPOSE;
use crate::worlds::WebWorld;
use crate::worlds::honest::catalogue::Catalogue;
use crate::worlds::page::{SiteFrame, WorldPage};
use crate::worlds::text::WorldText;

pub(super) static WORLDS: [WebWorld; 1] = [WebWorld::honest(
    PURPOSE,
    (
        "family-tree",
        "6,000 persons at `getperson.php?personID=I123&tree=main`, linked with parents and \
         children.",
    ),
    PERSONS.pages(),
    SiteFrame { title: "Families of the Marsh", nav: &[("/surnames.php?page=1", "All persons")] },
    |asked| PERSONS.reply(asked),
)];

const COUNT: u32 = 6_000;

const PERSONS: Catalogue = Catalogue {
    items: COUNT,
    per_list: 100,
    title: "Persons",
    item: person_at,
    list: |n| format!("/surnames.php?page={}", n + 1),
    item_of: |asked| {
        asked.param("personID")?.strip_prefix('I')?.parse::<u32>().ok()?.checked_sub(1)
    },
    list_of: |asked| asked.number("page")?.checked_sub(1)?.try_into().ok(),
    label: |_, n| person(n),
    write: |asked, n| {
        let mut words = asked.own_words();
        let born = words.between(1_600, 1_900);
        let page = WorldPage::new(person(n)).table([
            ("Born", format!("{} March {born}, {}", words.between(1, 31), words.place())),
            (
                "Died",
                format!(
                    "{} June {}, {}",
                    words.between(1, 30),
                    born + words.between(1, 90),
                    words.place()
                ),
            ),
            ("Trade", words.noun().to_owned()),
        ]);
        // Persons are numbered as a heap: the parents of n are 2n + 1 and 2n + 2.
        let parents = [2 * n + 1, 2 * n + 2].into_iter().filter(|&parent| parent < COUNT);
        let page = page.links(
            parents.map(|parent| (person_at(parent), format!("Parent: {}", person(parent)))),
        );
        match n.checked_sub(1) {
            Some(n) => page.link(person_at(n / 2), format!("Child: {}", person(n / 2))),
            None => page,
        }
    },
};

fn person_at(n: u32) -> String {
    format!("/getperson.php?personID=I{}&tree=main", n + 1)
}

fn person(n: u32) -> String {
    WorldText::of("family-tree", &format!("person {n}")).person()
}
