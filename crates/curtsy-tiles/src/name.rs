//! Finds the name of the business: structured data, titles, logos and copyright lines vote; the
//! host breaks ties.

use std::collections::BTreeMap;

use crate::plain::{identity, plain};
use crate::schema::SchemaFact;
use crate::site::SitePages;
use crate::tile::Via;
use crate::topic::Topic;
use crate::words::GENERIC_NAME;

/// The name of a business.
#[derive(Clone, Debug)]
pub(crate) struct BusinessName {
    /// As written.
    pub(crate) text: String,
    /// The page it was seen on first.
    pub(crate) page: usize,
    /// What it was read out of.
    pub(crate) via: Via,
    /// From 0.5 to 1.
    pub(crate) confidence: f32,
}

/// The name that most speaks for.
pub(crate) fn of(site: &SitePages<'_>) -> Option<BusinessName> {
    let mut ballot = Ballot { votes: BTreeMap::new(), order: 0 };
    for (at, page) in site.pages.iter().enumerate() {
        for (via, said) in &page.said {
            match said {
                SchemaFact::Name(name) => ballot.vote(name, 6.0, at, *via),
                SchemaFact::SiteName(name) => ballot.vote(name, 4.0, at, *via),
                _ => {}
            }
        }
        if let Some(name) = page.meta("og:site_name").or_else(|| page.meta("application-name")) {
            ballot.vote(&name, 3.0, at, Via::OpenGraph);
        }
        let parts: Vec<&str> = parts(&page.title);
        if let Some((first, _)) = parts.first().and_then(|first| first.split_once(',')) {
            ballot.vote(first.trim(), 0.6, at, Via::OpenGraph);
        }
        for (place, part) in parts.iter().enumerate() {
            let weight = match (page.topic, place) {
                (Topic::Home, 0) => 2.5,
                (Topic::Home, _) => 1.0,
                (_, 0) => 0.3,
                _ => 1.5,
            };
            ballot.vote(part, weight, at, Via::OpenGraph);
        }
        // The logo: a picture or words that lead home, or a picture in the header.
        for image in page.tree.all("img").take(3) {
            if let Some(alt) = page.tree.attribute(image, "alt") {
                let alt = plain(alt, 100);
                let alt = alt
                    .strip_prefix("Logo ")
                    .or(alt.strip_suffix(" logo"))
                    .or(alt.strip_suffix(" Logo"))
                    .unwrap_or(&alt);
                ballot.vote(alt, 0.8, at, Via::Heading);
            }
        }
        for (number, line) in page.lines.all.iter().enumerate() {
            let leads_home = line.pieces.iter().all(|piece| {
                piece.style.link.is_some_and(|link| page.tree.attribute(link, "href") == Some("/"))
            });
            let is_top = number < 3 && line.level <= 1;
            if (leads_home || is_top) && !line.text.is_empty() {
                ballot.vote(&line.text, if leads_home { 1.2 } else { 0.5 }, at, Via::Heading);
            }
            if let Some(after) = copyright(&line.text) {
                ballot.vote(after, 0.8, at, Via::Text);
            }
        }
    }
    ballot.winner(site)
}

/// Folded words of the names that a business goes by, without those that many share.
pub(crate) fn words(site: &SitePages<'_>) -> Vec<String> {
    let mut words: Vec<String> = site
        .name
        .iter()
        .flat_map(|name| identity(&name.text).split(' ').map(str::to_owned).collect::<Vec<_>>())
        .collect();
    for page in &site.pages {
        for (_, said) in &page.said {
            if let SchemaFact::Name(name) = said {
                words.extend(identity(name).split(' ').map(str::to_owned));
            }
        }
    }
    let label = site.domain.split('.').next().unwrap_or_default();
    words.extend(label.split('-').map(str::to_owned));
    words.retain(|word| {
        word.len() >= 3
            && !["the", "and", "und", "der", "die", "das", "les", "del", "della", "des", "von"]
                .contains(&word.as_str())
    });
    words.sort();
    words.dedup();
    words
}

fn parts(title: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in title
        .split(['|', '–', '—', '·', '•', '»', '«', '›', '~'])
        .flat_map(|part| part.split(" - "))
        .flat_map(|part| part.split(": "))
        .flat_map(|part| part.split(" :: "))
    {
        let part = part.trim();
        if !part.is_empty() {
            parts.push(part);
        }
    }
    parts.truncate(6);
    parts
}

/// What follows the sign and the years: `© 2019–2024 Name Ltd.`
fn copyright(text: &str) -> Option<&str> {
    let after = &text[text.find('©')? + '©'.len_utf8()..];
    let after = after.trim_start_matches(|c: char| {
        c.is_ascii_digit() || c.is_whitespace() || "-–—,/".contains(c)
    });
    let end = after.find(['|', '·', '–', '—', '•', ',']).unwrap_or(after.len());
    let end = after[..end].find(". ").unwrap_or(end);
    let name = after[..end].trim().trim_end_matches('.');
    (!name.is_empty()).then_some(name)
}

struct Ballot {
    votes: BTreeMap<String, Vote>,
    order: usize,
}

struct Vote {
    weight: f32,
    spellings: BTreeMap<String, (usize, usize)>,
    page: usize,
    via: Via,
    order: usize,
}

impl Ballot {
    fn vote(&mut self, name: &str, weight: f32, page: usize, via: Via) {
        let name = without_legal_form(name);
        let key = identity(name);
        if key.len() < 2 || name.chars().count() > NAME_CHARS_MAX || GENERIC_NAME.are(&key) {
            return;
        }
        self.order += 1;
        let order = self.order;
        let vote = self.votes.entry(key).or_insert(Vote {
            weight: 0.0,
            spellings: BTreeMap::new(),
            page,
            via,
            order,
        });
        vote.weight += weight;
        if via < vote.via {
            (vote.via, vote.page) = (via, page);
        }
        vote.spellings.entry(name.to_owned()).or_insert((0, order)).0 += 1;
    }

    fn winner(mut self, site: &SitePages<'_>) -> Option<BusinessName> {
        let label: String = site.domain.split('.').next().unwrap_or_default().replace('-', "");
        for (key, vote) in &mut self.votes {
            let squashed = key.replace(' ', "");
            if squashed == label {
                vote.weight += 4.0;
            } else if label.len() > 3
                && (squashed.contains(&label) || (label.contains(&squashed) && squashed.len() > 3))
            {
                vote.weight += 2.5;
            } else if key.split(' ').any(|word| word.len() > 3 && label.contains(word)) {
                vote.weight += 1.0;
            }
        }
        // `Name, Town` speaks for `Name`, where that has votes of its own.
        let longer: Vec<(String, f32)> =
            self.votes.iter().map(|(key, vote)| (key.clone(), vote.weight)).collect();
        for (key, vote) in &mut self.votes {
            let squashed = key.replace(' ', "");
            if squashed == label {
                vote.weight += longer
                    .iter()
                    .filter(|(other, _)| other.starts_with(&format!("{key} ")))
                    .map(|(_, weight)| weight)
                    .sum::<f32>();
            }
        }
        let best = self
            .votes
            .values()
            .max_by(|a, b| a.weight.total_cmp(&b.weight).then(b.order.cmp(&a.order)))?;
        let (text, _) = best
            .spellings
            .iter()
            .max_by_key(|(_, (count, order))| (*count, usize::MAX - *order))?;
        let confidence = match best.via {
            Via::JsonLd | Via::Microdata | Via::Rdfa => 0.95,
            _ if best.weight >= 6.0 => 0.9,
            _ if best.weight >= 3.0 => 0.75,
            _ => 0.6,
        };
        (best.weight >= 1.5).then(|| BusinessName {
            text: text.clone(),
            page: best.page,
            via: best.via,
            confidence,
        })
    }
}

/// Without `Ltd` and the like at its end: a reader calls the business by the rest.
fn without_legal_form(name: &str) -> &str {
    let name = name.trim().trim_end_matches('.');
    let without = |form| name.strip_suffix(form).filter(|short: &&str| short.ends_with(' '));
    let short = LEGAL_FORMS.split('|').find_map(without);
    short.map_or(name, |short| short.trim_end_matches([',', ' ']))
}

/// The ends of the names of companies.
const LEGAL_FORMS: &str = "Ltd|Limited|LLC|Inc|GmbH|GmbH & Co. KG|e.K|S.n.c|S.r.l|SARL|SAS|B.V|BV|AB|ApS|A/S|AS|\
    s.r.o|Sp. z o.o|S.L|Lda|Oy|AG";
/// Longer texts are no names.
const NAME_CHARS_MAX: usize = 70;
