//! The few dozen pages of an endless world that deserve to be read: home, about, articles.
//!
//! A pattern is a target, or a series: `/news/{1-30}.html` has numbers, and `/blog/{slug:24}` has
//! names.

use std::collections::HashMap;

use super::page::WorldPage;
use super::target::WorldTarget;
use super::text::{WorldText, capital};

/// The pages, by their targets.
pub(super) struct FixedPages {
    targets: Vec<String>,
    /// The place of each target, and where its series begins and ends.
    places: HashMap<String, (usize, usize, usize)>,
    title: &'static str,
}

impl FixedPages {
    pub(super) fn new(title: &'static str, patterns: &[&str]) -> FixedPages {
        let mut fixed = FixedPages { targets: Vec::new(), places: HashMap::new(), title };
        for pattern in patterns {
            let series = expanded(pattern);
            let begin = fixed.targets.len();
            let end = begin + series.len();
            for target in series {
                fixed.places.insert(target.clone(), (fixed.targets.len(), begin, end));
                fixed.targets.push(target);
            }
        }
        fixed
    }

    pub(super) fn targets(&self) -> &[String] {
        &self.targets
    }

    /// The page at this target, with links to others of its series. The home page links the single
    /// pages and the first of each series.
    pub(super) fn page(&self, asked: &WorldTarget<'_>) -> Option<WorldPage> {
        let &(place, begin, end) = self.places.get(asked.whole)?;
        let mut words = asked.own_words();
        if asked.whole == "/" {
            let page = WorldPage::new(format!("Welcome to {}", self.title));
            let linked = self.targets.iter().enumerate().filter(|(index, target)| {
                let (_, begin, end) = self.places[*target];
                target.as_str() != "/" && (end == begin + 1 || index - begin < 10)
            });
            let links: Vec<_> =
                linked.map(|(_, target)| (target, self.label(asked, target))).collect();
            return Some(page.texts(&mut words, 2, 60).links(links));
        }
        let paragraphs = words.between(2, 5);
        let page = WorldPage::new(self.label(asked, &asked.whole.to_owned()));
        let page = page.texts(&mut words, paragraphs, 70);
        let length = end - begin;
        if length == 1 {
            return Some(page);
        }
        let near = [1, length - 1, 5 % length, 7 % length];
        let near = near.map(|step| &self.targets[begin + (place - begin + step) % length]);
        Some(page.heading("More like this").links(near.map(|to| (to, self.label(asked, to)))))
    }

    fn label(&self, asked: &WorldTarget<'_>, target: &String) -> String {
        let single = self.places.get(target).is_none_or(|&(_, begin, end)| end == begin + 1);
        let name = target.trim_matches('/').split(['.', '?']).next().unwrap_or_default();
        match single && !name.is_empty() {
            true => capital(&name.replace(['-', '_', '/'], " ")),
            false => asked.words(format!("title {target}")).title(),
        }
    }
}

/// The targets of a pattern.
fn expanded(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('{') else { return vec![pattern.to_owned()] };
    let Some((series, after)) = rest.split_once('}') else { return vec![pattern.to_owned()] };
    if let Some(count) = series.strip_prefix("slug:") {
        let count: u32 = count.parse().unwrap_or(0);
        let slug = |n| WorldText::of(pattern, &format!("slug {n}")).joined(4, "-");
        return (0..count).map(|n| format!("{before}{}{after}", slug(n))).collect();
    }
    let (from, to) = series.split_once('-').unwrap_or((series, series));
    let (from, to): (u32, u32) = (from.parse().unwrap_or(0), to.parse().unwrap_or(0));
    (from..=to).map(|n| format!("{before}{n}{after}")).collect()
}
