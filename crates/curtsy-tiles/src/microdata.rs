//! Turns Microdata and RDFa Lite into the objects that JSON-LD would have.

use serde_json::{Map, Value};

use crate::lines::text_of;
use crate::tree::PageTree;

/// Which of the two notations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    /// `itemscope`, `itemtype`, `itemprop`.
    Microdata,
    /// `vocab`, `typeof`, `property`.
    Rdfa,
}

impl Notation {
    fn property(self) -> &'static str {
        match self {
            Notation::Microdata => "itemprop",
            Notation::Rdfa => "property",
        }
    }

    /// The type of an element that is an item; empty if it names none.
    fn kind(self, tree: &PageTree, at: usize) -> Option<String> {
        let named = match self {
            Notation::Microdata => tree
                .attribute(at, "itemscope")
                .map(|_| tree.attribute(at, "itemtype").unwrap_or_default())?,
            Notation::Rdfa => tree.attribute(at, "typeof")?,
        };
        let first = named.split_ascii_whitespace().next().unwrap_or_default();
        Some(first.rsplit(['/', '#', ':']).next().unwrap_or_default().to_owned())
    }
}

/// The items of a page that are not part of another one.
pub(crate) fn items(tree: &PageTree, notation: Notation) -> Vec<Value> {
    // All items in document order, so that an inner item comes after its outer one.
    let mut items: Vec<(usize, Map<String, Value>)> = Vec::new();
    let mut owner: Vec<Option<(usize, Vec<String>)>> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for at in 1..tree.len() {
        if tree.element(at).is_none() {
            continue;
        }
        while let Some(&last) = open.last()
            && tree.node(items[last].0).end <= at
        {
            open.pop();
        }
        let names: Vec<String> =
            tree.attribute(at, notation.property()).map(property_names).unwrap_or_default();
        let kind =
            notation.kind(tree, at).filter(|_| items.len() < ITEMS_MAX && open.len() < DEPTH_MAX);
        let outer = open.last().copied();
        match (kind, outer) {
            (Some(kind), _) => {
                let mut map = Map::new();
                map.insert("@type".into(), Value::String(kind));
                items.push((at, map));
                owner.push(outer.filter(|_| !names.is_empty()).map(|outer| (outer, names)));
                open.push(items.len() - 1);
            }
            (None, Some(outer)) if !names.is_empty() => {
                let value = Value::String(value_of(tree, at));
                for name in names {
                    add(&mut items[outer].1, name, value.clone());
                }
            }
            _ => {}
        }
    }
    // From the last to the first, every item is handed to the one it belongs to.
    let mut top = Vec::new();
    for at in (0..items.len()).rev() {
        let value = Value::Object(std::mem::take(&mut items[at].1));
        match owner[at].take() {
            Some((outer, names)) => {
                if let Some(name) = names.into_iter().next() {
                    add(&mut items[outer].1, name, value);
                }
            }
            None => top.push(value),
        }
    }
    top.reverse();
    top
}

fn property_names(value: &str) -> Vec<String> {
    let is_other = |name: &&str| {
        ["og:", "article:", "fb:", "twitter:", "product:", "business:"]
            .iter()
            .all(|prefix| !name.starts_with(prefix))
    };
    value
        .split_ascii_whitespace()
        .filter(is_other)
        .take(4)
        .map(|name| name.rsplit(['/', '#', ':']).next().unwrap_or(name).to_owned())
        .collect()
}

fn value_of(tree: &PageTree, at: usize) -> String {
    let attribute = match tree.name(at) {
        "meta" => tree.attribute(at, "content"),
        "time" => tree.attribute(at, "datetime").or(tree.attribute(at, "content")),
        "data" | "meter" => tree.attribute(at, "value").or(tree.attribute(at, "content")),
        "link" => tree.attribute(at, "href"),
        "a" => tree.attribute(at, "content").or(tree
            .attribute(at, "href")
            .filter(|href| href.starts_with("mailto:") || href.starts_with("tel:"))),
        _ => tree.attribute(at, "content"),
    };
    attribute.map_or_else(|| text_of(tree, at, VALUE_CHARS_MAX), str::to_owned)
}

/// Adds a value; a second one of the same name makes a list.
fn add(map: &mut Map<String, Value>, name: String, value: Value) {
    match map.get_mut(&name) {
        None => {
            map.insert(name, value);
        }
        Some(Value::Array(list)) if list.len() < ITEMS_MAX => list.push(value),
        Some(Value::Array(_)) => {}
        Some(single) => {
            let first = single.take();
            *single = Value::Array(vec![first, value]);
        }
    }
}

/// The most items of a page that are read.
pub(crate) const ITEMS_MAX: usize = 2_000;
/// Items inside each other.
pub(crate) const DEPTH_MAX: usize = 16;
/// The most of one value that is read.
pub(crate) const VALUE_CHARS_MAX: usize = 2_000;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn microdata_becomes_objects() {
        let html = "<div itemscope itemtype='https://schema.org/Store'><b itemprop=name>A  &amp; B</b><a itemprop=email href='mailto:a@b.example'>mail</a>
            <p itemprop=address itemscope itemtype='https://schema.org/PostalAddress'><span itemprop=streetAddress>Way 1</span></p>
            <time itemprop=openingHours datetime='Mo 09:00-12:00'>Mon</time><time itemprop=openingHours datetime='Tu 09:00-12:00'>Tue</time></div>";
        let expected = json!({"@type": "Store", "name": "A & B", "email": "mailto:a@b.example",
            "address": {"@type": "PostalAddress", "streetAddress": "Way 1"}, "openingHours": ["Mo 09:00-12:00", "Tu 09:00-12:00"]});
        assert_eq!(items(&PageTree::parse(html), Notation::Microdata), [expected]);
    }

    #[test]
    fn rdfa_lite_becomes_objects() {
        let html = "<meta property='og:title' content=no><div vocab='https://schema.org/' typeof=Bakery><span property=name>Brot</span><span property='schema:telephone'>1</span></div>";
        assert_eq!(
            items(&PageTree::parse(html), Notation::Rdfa),
            [json!({"@type": "Bakery", "name": "Brot", "telephone": "1"})]
        );
    }
}
