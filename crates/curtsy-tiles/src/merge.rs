//! Facts that are the same become one tile; several sources make it surer.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use crate::found::FoundFact;
use crate::plain::{identity, plain};
use crate::site::SitePages;
use crate::tile::{Contact, Evidence, Tile, TileFact};

/// Merges what was found, in a stable order: by kind, then as found.
pub(crate) fn merge(site: &SitePages<'_>, found: Vec<FoundFact>) -> Vec<Tile> {
    let mut groups: Vec<Vec<FoundFact>> = Vec::new();
    let mut known: FixedHashMap<String, usize> = FixedHashMap::default();
    for found in found {
        if found.confidence < CONFIDENCE_MIN || !is_bounded(&found.fact) {
            continue;
        }
        let key = key(&found.fact);
        match known.get(&key) {
            Some(&group) => groups[group].push(found),
            None => {
                known.insert(key, groups.len());
                groups.push(vec![found]);
            }
        }
    }
    let mut tiles: Vec<Tile> = groups.into_iter().filter_map(|group| tile(site, group)).collect();
    tiles.sort_by_key(Tile::kind);
    let mut counts = [0usize; 7];
    tiles.retain(|tile| {
        counts[tile.kind() as usize] += 1;
        counts[tile.kind() as usize] <= TILES_PER_KIND_MAX
    });
    tiles
}

/// A hash table whose order nobody sees, with the same keys in every run.
type FixedHashMap<K, V> = HashMap<K, V, BuildHasherDefault<std::hash::DefaultHasher>>;

/// What two facts have in common if they are the same.
fn key(fact: &TileFact) -> String {
    match fact {
        TileFact::About { name, .. } => format!("about {}", identity(name)),
        TileFact::Services { name, .. } => format!("services {}", identity(name)),
        TileFact::Pricing { name, amount, currency, period } => {
            format!("pricing {} {} {currency} {period:?}", identity(name), number(amount))
        }
        TileFact::Contact(Contact::Phone(phone)) => format!("phone {phone}"),
        TileFact::Contact(Contact::Email(email)) => format!("email {email}"),
        TileFact::Contact(Contact::Address(address)) => {
            // Of one code and number there is one door, however the street is written.
            let number: String = address
                .street
                .chars()
                .skip_while(|c| !c.is_ascii_digit())
                .take_while(char::is_ascii_digit)
                .collect();
            let place = match &address.postal_code {
                Some(code) if !number.is_empty() => {
                    format!("{} {number}", identity(code).replace(' ', ""))
                }
                _ => crate::street::key(&address.street),
            };
            format!(
                "address {place} {}",
                identity(&address.locality).split(' ').next().unwrap_or_default()
            )
        }
        TileFact::Contact(Contact::Hours(hours)) => {
            format!("hours {:?} {} {}", hours.day, hours.opens, hours.closes)
        }
        TileFact::Menu { name, amount, .. } => {
            format!("menu {} {}", identity(name), amount.as_deref().map(number).unwrap_or_default())
        }
        TileFact::Products { name, amount, .. } => {
            let amount = amount.as_deref().map(number).unwrap_or_default();
            format!("products {} {amount}", identity(name))
        }
        TileFact::Faq { question, .. } => format!("faq {}", identity(question)),
    }
}

/// An amount without the zeros that say nothing: `29.90` and `29.9` are one.
fn number(amount: &str) -> String {
    match amount.contains('.') {
        true => amount.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => amount.to_owned(),
    }
}

fn tile(site: &SitePages<'_>, mut group: Vec<FoundFact>) -> Option<Tile> {
    // The surest speaks for all; of equals the first.
    let mut best = 0;
    for (at, found) in group.iter().enumerate() {
        if found.confidence > group[best].confidence {
            best = at;
        }
    }
    let mut vias: Vec<_> = group.iter().map(|found| found.via).collect();
    vias.sort();
    vias.dedup();
    let mut pages: Vec<_> = group.iter().map(|found| found.page).collect();
    pages.sort();
    pages.dedup();
    // Every further source takes a third of the doubt, every further page a tenth.
    let doubt = (1.0 - group[best].confidence)
        * 0.67f32.powi(vias.len() as i32 - 1)
        * 0.9f32.powi((pages.len() as i32 - 1).min(5));
    let confidence = ((1.0 - doubt).clamp(0.0, 0.99) * 100.0).round() / 100.0;
    let url = |page: usize| site.pages.get(page).map(|page| page.url.as_str().to_owned());
    let source_url = url(group[best].page)?;
    let fact = group[best].fact.clone();
    group.dedup_by(|a, b| a.page == b.page && a.via == b.via && a.text == b.text);
    let evidence = group
        .iter()
        .filter_map(|found| {
            Some(Evidence {
                url: url(found.page)?,
                via: found.via,
                text: plain(&found.text, EVIDENCE_CHARS_MAX),
            })
        })
        .take(EVIDENCE_MAX)
        .collect();
    Some(Tile { fact, source_url, confidence, evidence })
}

/// Whether all of a fact's texts are of a sensible length and not empty.
fn is_bounded(fact: &TileFact) -> bool {
    let fits = |text: &str| (1..=NAME_CHARS_MAX).contains(&text.chars().count());
    match fact {
        TileFact::About { name, .. }
        | TileFact::Services { name, .. }
        | TileFact::Pricing { name, .. }
        | TileFact::Menu { name, .. }
        | TileFact::Products { name, .. } => fits(name),
        TileFact::Contact(Contact::Phone(text) | Contact::Email(text)) => fits(text),
        TileFact::Contact(Contact::Address(address)) => {
            fits(&address.street)
                && fits(&address.locality)
                && address.postal_code.as_deref().is_none_or(fits)
        }
        TileFact::Contact(Contact::Hours(_)) => true,
        TileFact::Faq { question, answer } => !question.is_empty() && !answer.is_empty(),
    }
}

/// What is less sure is not said.
const CONFIDENCE_MIN: f32 = 0.5;
/// The most tiles of one kind that are given.
pub(crate) const TILES_PER_KIND_MAX: usize = 500;
/// The most places where a fact was seen that are given.
pub(crate) const EVIDENCE_MAX: usize = 5;
/// The most of the words it was read from that is given.
pub(crate) const EVIDENCE_CHARS_MAX: usize = 200;
/// Longer names are none.
pub(crate) const NAME_CHARS_MAX: usize = 160;
