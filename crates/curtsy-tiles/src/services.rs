//! Finds services: names in lists, cards and headings on a page about services, or below a heading
//! for them.

use crate::found::{FoundFact, LABELLED, LISTED};
use crate::naming::{clean_name, is_name};
use crate::plain::{fold, identity};
use crate::site::{SitePage, SitePages};
use crate::tile::{TileFact, Via};
use crate::topic::Topic;
use crate::words::{CONTACT, FAQ, NOT_SERVICES, OTHER_MATTER, SERVICES};

/// All services of a site.
pub(crate) fn find(site: &SitePages<'_>) -> Vec<FoundFact> {
    let mut found = Vec::new();
    for page in &site.pages {
        if matches!(
            page.topic,
            Topic::News | Topic::Terms | Topic::Imprint | Topic::Menu | Topic::Shop | Topic::Faq
        ) {
            continue;
        }
        for at in 0..page.lines.all.len() {
            if let Some((name, via)) = service(site, page, at) {
                let confidence = if page.topic == Topic::Services { LISTED } else { LABELLED };
                let text = name.clone();
                let fact = TileFact::Services { name, description: description(page, at) };
                found.push(FoundFact::new(fact, page.number, via, text, confidence));
            }
        }
    }
    found
}

fn service(site: &SitePages<'_>, page: &SitePage<'_>, at: usize) -> Option<(String, Via)> {
    let line = &page.lines.all[at];
    if !line.is_matter()
        || line.part.footer
        || line.part.header
        || line.part.aside
        || line.part.post
    {
        return None;
    }
    let headings: Vec<usize> = page.lines.headings(at).collect();
    let announced = headings.iter().copied().find(|&heading| {
        SERVICES.are_in(&page.lines.all[heading].folded) && page.lines.all[heading].level <= 7
    });
    // On a page about services its first heading announces them, whatever it says.
    let first = page.lines.all.iter().position(|line| line.level == 1 || line.level == 2);
    let over = announced.or_else(|| {
        first.filter(|first| {
            page.topic == Topic::Services
                && *first < at
                && (headings.contains(first) || headings.is_empty())
        })
    })?;
    let depth = headings.iter().position(|&heading| heading == over).unwrap_or(headings.len());
    if headings.iter().take(depth + 1).any(|&heading| is_other(page, heading)) {
        return None;
    }
    let name = clean_name(line.lead().filter(|_| line.level == 0).unwrap_or(&line.text));
    if !is_service_name(site, &name) || !line.prices.is_empty() {
        return None;
    }
    // A heading right below the one that announces, with others of its rank beside it.
    if line.level > 0 {
        let peers: Vec<usize> = (0..page.lines.all.len())
            .filter(|&other| {
                page.lines.all[other].level == line.level
                    && page.lines.all[other].heading == line.heading
                    && page.lines.all[other].is_matter()
            })
            .collect();
        let followed = |at: usize| {
            page.lines.all.get(at + 1).is_some_and(|next| next.level == 0 && !next.part.footer)
        };
        let is_followed =
            followed(at) || (peers.len() >= 3 && !peers.iter().any(|&peer| followed(peer)));
        return (depth == 0 && peers.len() >= 2 && is_followed).then_some((name, Via::Heading));
    }
    if depth > 0 {
        return None;
    }
    // A paragraph that begins with its name, among others that do.
    if line.lead().is_some()
        && page
            .lines
            .all
            .iter()
            .filter(|other| {
                other.heading == line.heading && other.level == 0 && other.lead().is_some()
            })
            .count()
            >= 2
        && page.tree.nearest(line.block, &["li", "dt"]).is_none()
    {
        return Some((name, Via::Text));
    }
    // An item of a list, or a box among others of its kind, without headings of its own inside.
    let item = std::iter::once(line.block)
        .chain(page.tree.around(line.block).take(3))
        .find(|&at| is_item(page, at))?;
    let inside = page.lines.inside(&page.tree, item);
    let has_heading = page.lines.all[inside.clone()].iter().any(|line| line.level > 0);
    (inside.start == at && inside.len() <= 6 && !has_heading).then_some((name, Via::List))
}

/// A list's item, or one of three or more boxes of one class side by side.
fn is_item(page: &SitePage<'_>, at: usize) -> bool {
    let tree = &page.tree;
    if matches!(tree.name(at), "li" | "dt") || tree.attribute(at, "role") == Some("listitem") {
        return tree
            .children(tree.node(at).parent)
            .filter(|&other| tree.name(other) == tree.name(at))
            .count()
            >= 2;
    }
    // The first class says what it is; others may count.
    let first =
        |at: usize| tree.attribute(at, "class").unwrap_or_default().split_ascii_whitespace().next();
    let class = first(at).unwrap_or_default();
    let same = |other: &usize| {
        tree.name(*other) == tree.name(at)
            && first(*other) == Some(class)
            && !page.lines.inside(tree, *other).is_empty()
    };
    let least = if page.topic == Topic::Services { 2 } else { 3 };
    matches!(tree.name(at), "div" | "article" | "a" | "section")
        && !class.is_empty()
        && tree.children(tree.node(at).parent).filter(same).count() >= least
}

fn is_other(page: &SitePage<'_>, heading: usize) -> bool {
    let line = &page.lines.all[heading];
    OTHER_MATTER.are_in(&line.folded)
        || NOT_SERVICES.are_in(&line.folded)
        || FAQ.are_in(&line.folded)
        || crate::faq::asks(&line.text)
}

fn is_service_name(site: &SitePages<'_>, name: &str) -> bool {
    let folded = fold(name);
    let words = name.split_whitespace().count();
    is_name(name)
        && words <= 9
        && name.chars().count() <= 70
        && !name.contains('?')
        && !NOT_SERVICES.are_in(&folded)
        && !OTHER_MATTER.are_in(&folded)
        && !CONTACT.are(&folded)
        && site.name.as_ref().is_none_or(|own| identity(&own.text) != identity(name))
        && !name.contains(". ")
}

fn description(page: &SitePage<'_>, at: usize) -> Option<String> {
    let line = &page.lines.all[at];
    if let Some(lead) = line.lead().filter(|_| line.level == 0) {
        let rest = line.text[line.text.find(lead)? + lead.len()..]
            .trim_matches(|c: char| !c.is_alphanumeric());
        return (rest.len() > 3).then(|| rest.to_owned());
    }
    let next = page.lines.all.get(at + 1)?;
    let follows = line.level > 0
        || page
            .tree
            .nearest(line.block, &["li"])
            .is_some_and(|item| page.tree.contains(item, next.nodes.0));
    (follows && next.level == 0 && next.text.chars().count() > 3)
        .then(|| crate::plain::plain(&next.text, 300))
}
