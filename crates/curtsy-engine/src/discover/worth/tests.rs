//! Whole sites, read as a worker reads them: which pages are requested, and which are left.

use std::collections::{BTreeMap, HashSet};

use curtsy_core::host::TrapReason;
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, Region};

use crate::discover::{Discovery, DiscoverySpec, LeftRegion};
use crate::{Fetched, Head, Reader, UrlRecord};

/// Reads a site from `/` until nothing is left, or `most` pages are read. Returns what was read in
/// order, and what was left.
fn read_site(site: impl Fn(&str) -> Option<String>, most: usize) -> (Vec<String>, Vec<LeftRegion>) {
    let seed = CrawlUrl::parse("http://a.org/").unwrap();
    let seeds = vec![seed.clone()];
    let spec = DiscoverySpec { seeds, check_assets: true, ..DiscoverySpec::default() };
    let discovery = Discovery::new(spec).unwrap();
    let head = Head { status: 200, content_type: Some("text/html".into()), ..Head::default() };
    let now = Time::from_secs(1_790_000_000);
    let mut queue: BTreeMap<(u8, usize), UrlRecord> = BTreeMap::new();
    let mut known = HashSet::from([seed.key()]);
    queue.insert((0, 0), UrlRecord::page(seed, 0));
    let (mut read, mut arrived) = (Vec::new(), 1);
    while let Some((_, record)) = queue.pop_first() {
        if discovery.leaves(&record).is_some() {
            continue;
        }
        read.push(record.url.path_and_query().to_owned());
        if read.len() >= most {
            break;
        }
        let Some(body) = site(record.url.path_and_query()) else { continue };
        let document = discovery.read(&record, &head, &Fetched { body: body.into() }, now);
        for offer in document.offers {
            if known.insert(offer.id) {
                queue.insert((offer.worth, arrived), offer);
                arrived += 1;
            }
        }
    }
    (read, discovery.left_regions())
}

/// A number that looks random, from a text.
fn random(text: &str) -> usize {
    xxhash_rust::xxh3::xxh3_64(text.as_bytes()) as usize
}

/// A few sentences of their own for each page.
fn prose(seed: &str) -> String {
    const WORDS: [&str; 24] = [
        "river", "stone", "quiet", "lamp", "garden", "winter", "copper", "letter", "window",
        "harbour", "candle", "meadow", "silver", "market", "thunder", "paper", "orchard", "bridge",
        "velvet", "mirror", "anchor", "barley", "cellar", "feather",
    ];
    let sentence = |s: usize| {
        let word = |w: usize| WORDS[random(&format!("{seed}/{s}/{w}")) % WORDS.len()];
        format!("<p>{}.</p>", (0..9).map(word).collect::<Vec<_>>().join(" "))
    };
    (0..3).map(sentence).collect()
}

fn links(targets: impl IntoIterator<Item = String>) -> String {
    targets.into_iter().map(|target| format!("<a href='{target}'>more</a> ")).collect()
}

/// A site with twenty pages of its own and a menu, and `part` at `/part`.
fn home_and(part: impl Fn(&str) -> Option<String>) -> impl Fn(&str) -> Option<String> {
    move |path| {
        let menu = links((0..20).map(|n| format!("/own/{n}")).chain(["/part".to_owned()]));
        let main = match path {
            "/" => "<h1>welcome to our house</h1>".to_owned(),
            path if path.starts_with("/own/") => prose(path),
            path => part(path)?,
        };
        Some(format!("<html><body>{menu}{main}<footer>all rights reserved</footer>"))
    }
}

/// Checks that an endless part is left after at most `most` requests, and the rest is read.
#[track_caller]
fn ends(part: impl Fn(&str) -> Option<String>, most: usize) -> Vec<LeftRegion> {
    let (read, left) = read_site(home_and(part), most + 1);
    assert!(read.len() <= most, "{} requests: {:?}", read.len(), &read[most - 20..]);
    let own = read.iter().filter(|path| path.starts_with("/own/")).count();
    assert_eq!(own, 20, "pages of the site itself");
    assert!(!left.is_empty() && left.iter().all(|left| left.links > 0), "{left:?}");
    left
}

/// Checks that every page of a part that ends is read.
#[track_caller]
fn is_read(part: impl Fn(&str) -> Option<String>, pages: usize) {
    let (read, left) = read_site(home_and(part), pages + 1_000);
    assert_eq!((read.len(), left), (pages + 21, Vec::new()));
}

fn number(path: &str, before: &str) -> Option<usize> {
    path.strip_prefix(before)?.parse().ok()
}

#[test]
fn a_calendar_in_the_path_ends() {
    let left = ends(
        |path| {
            let month = if path == "/part" { 24_000 } else { number(path, "/part/cal/")? };
            let days = (1..=28).map(|d| format!("<td>{d}</td>")).collect::<String>();
            let next =
                links([format!("/part/cal/{}", month + 1), format!("/part/cal/{}", month - 1)]);
            Some(format!("<h2>Calendar {month}</h2><table>{days}</table>{next}"))
        },
        200,
    );
    let [LeftRegion { name, reason, .. }] = left.as_slice() else { panic!("{left:?}") };
    assert_eq!(name, "/part/cal/N");
    let TrapReason::Vain { region: Region::Shape, new: 0..=2, limit: 64, .. } = reason else {
        panic!("{reason:?}");
    };
}

/// A checker of links requests documents that are related to a page too.
#[test]
fn a_calendar_that_names_its_neighbours_in_its_head_ends() {
    let month = |path: &str| {
        let month = if path == "/part" { 24_000 } else { number(path, "/part/cal/")? };
        let next = format!("<link rel=next href='/part/cal/{}'>", month + 1);
        Some(format!("{next}<h2>Calendar {month}</h2><p>There is nothing today.</p>"))
    };
    ends(month, 200);
}

#[test]
fn numbered_items_and_soft_404s_end() {
    let item = |path: &str| {
        let n = if path == "/part" { 0 } else { number(path, "/part/item?id=")? };
        let more = links((1..8).map(|k| format!("/part/item?id={}", n * 7 + k)));
        Some(format!("<h2>Item {n}</h2><p>This item is not there today.</p>{more}"))
    };
    ends(item, 400);
    let names = |path: &str| {
        path.starts_with("/part").then(|| {
            let more = (0..5).map(|k| {
                let name = char::from(b'a' + (random(&format!("{path}{k}")) % 26) as u8);
                format!("<a href='{path}{name}'>{path}{name}</a>")
            });
            format!("<p>Nothing is called {path}.</p>{}", more.collect::<String>())
        })
    };
    ends(names, 600);
}

#[test]
fn one_level_deeper_on_every_page_ends() {
    let deeper = |path: &str| {
        let names = ["red", "green", "blue", "large", "small", "cheap"];
        path.starts_with("/part").then(|| {
            format!(
                "<p>Things of this kind.</p>{}",
                links(names.map(|name| format!("{path}/{name}")))
            )
        })
    };
    ends(deeper, 400);
}

#[test]
fn new_words_without_end_are_left_where_nothing_leads_back() {
    for branches in [3, 5, 12, 40] {
        let maze = |path: &str| {
            path.starts_with("/part").then(|| {
                let next = (0..branches).map(|k| {
                    format!("/part/{:x}", random(&format!("{path}-{k}")) % 1_000_000_000_000)
                });
                format!("{}{}<a href=/>home</a>", prose(path), links(next))
            })
        };
        let left = ends(maze, 1_500);
        assert!(
            left.iter()
                .any(|l| matches!(l.reason, TrapReason::Endless { .. }) && l.name == "/part/"),
            "{left:?}"
        );
    }
}

#[test]
fn large_parts_that_end_are_read() {
    // Products, found from pages of a list.
    is_read(
        |path| {
            let list = if path == "/part" { Some(1) } else { number(path, "/part?page=") };
            if let Some(page) = list {
                let items = (0..20).map(|k| format!("/part/item/{}", (page - 1) * 20 + k));
                let next = (page < 150).then(|| format!("/part?page={}", page + 1));
                return Some(format!("<h2>All things</h2>{}", links(items.chain(next))));
            }
            let n = number(path, "/part/item/")?;
            let near = links((1..4).map(|k| format!("/part/item/{}", (n + k * 7) % 3_000)));
            Some(format!("<h2>Thing {n}</h2>{}{near}", prose(path)))
        },
        150 + 3_000,
    );
    // A wiki: random links among its pages only.
    is_read(
        |path| {
            let n = if path == "/part" { 0 } else { number(path, "/part/w/")? };
            let next = (0..6).map(|k| random(&format!("{n}:{k}")) % 4_000).chain([(n + 1) % 4_000]);
            Some(format!(
                "{}{}",
                prose(&format!("w{n}")),
                links(next.map(|n| format!("/part/w/{n}")))
            ))
        },
        4_000 + 1,
    );
    // A tree, with links to the parent only.
    is_read(
        |path| {
            let depth = path.matches('/').count();
            let more = (depth < 7).then(|| links((0..4).map(|k| format!("{path}/d{k}"))));
            path.starts_with("/part")
                .then(|| format!("{}{}", prose(path), more.unwrap_or_default()))
        },
        (0..7).map(|d| 4_usize.pow(d)).sum(),
    );
    // A chain, with a text for each day.
    is_read(
        |path| {
            let day = if path == "/part" { 0 } else { number(path, "/part/day/")? };
            let next = (day < 3_000).then(|| links([format!("/part/day/{}", day + 1)]));
            Some(format!("{}{}", prose(&format!("day {day}")), next.unwrap_or_default()))
        },
        3_000 + 1,
    );
    // Pages without a text of their own, found from pages that have one.
    is_read(
        |path| {
            if let Some(n) = number(path, "/part/uses/") {
                let back = links([format!("/part/class/{n}"), "/part".to_owned()]);
                return Some(format!("<p>Nobody uses it.</p>{back}"));
            }
            if path == "/part" {
                return Some(links((0..2_000).map(|n| format!("/part/class/{n}"))));
            }
            let n = number(path, "/part/class/")?;
            Some(format!("{}{}", prose(path), links([format!("/part/uses/{n}")])))
        },
        1 + 4_000,
    );
}

#[test]
fn all_links_are_taken_where_traps_are_switched_off() {
    use curtsy_core::policy::Policy;
    let policy = Policy::parse("[host.\"a.org\"]\ntraps = \"off\"").unwrap();
    let spec = DiscoverySpec::default().under(&policy);
    let discovery = Discovery::new(spec).unwrap();
    let head = Head { status: 200, ..Head::default() };
    let long = format!("/{}", "x".repeat(3_000));
    for (host, taken) in [("a.org", 1), ("b.org", 0)] {
        let seed = CrawlUrl::parse(&format!("http://{host}/")).unwrap();
        let page = Fetched { body: format!("<a href={long}>x</a>").into() };
        let found = discovery.read(&UrlRecord::page(seed, 0), &head, &page, Time::from_secs(0));
        assert_eq!(found.offers.len(), taken, "{host}");
    }
}

#[test]
fn memory_is_bounded() {
    use super::regions::{RegionCounts, Regions};
    let mut regions = Regions::new(crate::discover::hashes::Folding::new());
    for key in 0..400_000 {
        regions.of(key, || RegionCounts::new(1, 0)).read += 1;
        assert_eq!(regions.of(0, || RegionCounts::new(1, 0)).read, 1);
        assert!(regions.len() <= 2 << 16);
    }
}
