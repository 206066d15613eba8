//! Numbered items and the lists that link them: what a shop, a forum and an archive have in common.

use crate::worlds::page::{WorldPage, WorldReply};
use crate::worlds::target::WorldTarget;

/// Items from 0, their lists, and the addresses of both.
pub(super) struct Catalogue {
    pub(super) items: u32,
    pub(super) per_list: u32,
    /// The heading of the lists.
    pub(super) title: &'static str,
    pub(super) item: fn(u32) -> String,
    pub(super) list: fn(u32) -> String,
    /// The item that a target may be: its address decides.
    pub(super) item_of: fn(&WorldTarget<'_>) -> Option<u32>,
    /// The list that a target may be: its address decides.
    pub(super) list_of: fn(&WorldTarget<'_>) -> Option<u32>,
    /// What links to an item say.
    pub(super) label: fn(&WorldTarget<'_>, u32) -> String,
    pub(super) write: fn(&WorldTarget<'_>, u32) -> WorldPage,
}

impl Catalogue {
    pub(super) const fn lists(&self) -> u32 {
        self.items.div_ceil(self.per_list)
    }

    /// How many pages there are, with the home page.
    pub(super) const fn pages(&self) -> u32 {
        1 + self.lists() + self.items
    }

    /// The reply to a request for the home page, a list or an item.
    pub(super) fn reply(&self, asked: &WorldTarget<'_>) -> WorldReply {
        if asked.whole == "/" {
            return self.home(asked).into();
        }
        let exact = |n: &u32| *n < self.items && (self.item)(*n) == asked.whole;
        if let Some(n) = (self.item_of)(asked).filter(exact) {
            return self.write(asked, n).into();
        }
        let exact = |n: &u32| *n < self.lists() && (self.list)(*n) == asked.whole;
        match (self.list_of)(asked).filter(exact) {
            Some(n) => self.list(asked, n).into(),
            None => WorldReply::Missing,
        }
    }

    fn home(&self, asked: &WorldTarget<'_>) -> WorldPage {
        let last = self.lists() - 1;
        let lists = (0..=last.min(5)).chain((last > 5).then_some(last));
        let newest = (0..self.items.min(10)).map(|n| ((self.item)(n), (self.label)(asked, n)));
        WorldPage::new("Welcome")
            .texts(&mut asked.words("home"), 2, 50)
            .links(newest)
            .heading(self.title)
            .links(lists.map(|n| ((self.list)(n), format!("{}, page {}", self.title, n + 1))))
    }

    fn list(&self, asked: &WorldTarget<'_>, n: u32) -> WorldPage {
        let last = self.lists() - 1;
        let items = n * self.per_list..((n + 1) * self.per_list).min(self.items);
        let mut near: Vec<u32> = (n.saturating_sub(3)..=(n + 3).min(last)).collect();
        near.extend([0, last]);
        near.sort_unstable();
        near.dedup();
        WorldPage::new(format!("{}, page {} of {}", self.title, n + 1, last + 1))
            .links(items.map(|n| ((self.item)(n), (self.label)(asked, n))))
            .links(near.iter().map(|&n| ((self.list)(n), (n + 1).to_string())))
    }

    fn write(&self, asked: &WorldTarget<'_>, n: u32) -> WorldPage {
        let next = (n + 1) % self.items;
        let before = (n + self.items - 1) % self.items;
        (self.write)(asked, n).links([
            ((self.item)(before), "previous"),
            ((self.list)(n / self.per_list), "list"),
            ((self.item)(next), "next"),
        ])
    }
}
