//! What holds for every world: endless ones do not end, honest ones are whole.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::page::main_part;
use super::{WebWorld, WorldNature, WorldPurpose, links, worlds};

fn endless() -> impl Iterator<Item = &'static WebWorld> {
    worlds().into_iter().filter(|world| world.nature == WorldNature::Endless)
}

#[test]
fn names_of_worlds_are_labels_and_unique() {
    let names: Vec<&str> = worlds().iter().map(|world| world.name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    for world in worlds() {
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(world.name.chars().all(legal) && world.name.len() < 40, "{}", world.name);
        assert!(world.about.ends_with('.'), "{}", world.name);
    }
}

#[test]
fn every_endless_world_yields_more_than_twenty_thousand_targets() {
    for world in endless() {
        let found = world.walk(20_001);
        let distinct: HashSet<&String> = found.iter().collect();
        assert_eq!(distinct.len(), 20_001, "{} ends", world.name);
    }
}

#[test]
fn honest_pages_of_an_endless_world_are_linked_and_their_own() {
    for world in endless() {
        let honest = world.honest_targets();
        assert!((24..=64).contains(&honest.len()), "{}: {}", world.name, honest.len());
        let mut reached = HashSet::from(["/".to_owned()]);
        let mut texts = HashSet::new();
        let mut waiting = vec!["/".to_owned()];
        while let Some(target) = waiting.pop() {
            let answer = world.answer(&target);
            assert_eq!(answer.status, 200, "{} {target}", world.name);
            assert!(
                texts.insert(prose(&answer.body)),
                "{} {target}: its text is another's",
                world.name
            );
            for link in links(&answer, &target) {
                if honest.contains(&link) && reached.insert(link.clone()) {
                    waiting.push(link);
                }
            }
        }
        assert_eq!(reached.len(), honest.len(), "{}: honest pages are linked", world.name);
    }
}

#[test]
fn honest_worlds_for_development_are_whole() {
    whole(WorldPurpose::Development);
}

#[test]
fn honest_worlds_for_measuring_are_whole() {
    whole(WorldPurpose::MeasuredOnly);
}

/// Every link leads to a page, the pages are as many as declared, and no two have the same text.
fn whole(purpose: WorldPurpose) {
    for world in worlds() {
        let WorldNature::Honest { pages } = world.nature else { continue };
        if world.purpose != purpose {
            continue;
        }
        let mut texts = HashMap::new();
        let targets = world.walk_with(pages as usize + 1, |target, answer| {
            assert_eq!(answer.status, 200, "{} {target}", world.name);
            if let Some(other) = texts.insert(hashed(&prose(&answer.body)), target.to_owned()) {
                panic!("{}: {target} and {other} have the same text", world.name);
            }
        });
        assert_eq!(targets.len(), pages as usize, "{}: pages found by a walk", world.name);
    }
}

#[test]
fn a_world_gives_the_same_answer_again() {
    for world in worlds() {
        for target in world.walk(60) {
            assert_eq!(world.answer(&target), world.answer(&target), "{} {target}", world.name);
        }
        assert_eq!(world.answer("/robots.txt").status, 404, "{}", world.name);
    }
}

/// The text of a page without its frame and its tags.
fn prose(body: &str) -> String {
    let parts = main_part(body).split('<').filter_map(|part| part.split_once('>'));
    parts.map(|(_, text)| text).collect()
}

fn hashed(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
