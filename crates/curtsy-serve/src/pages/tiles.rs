//! Tiles as people read them: by kind, menus by section, hours as a table.
//!
//! Tiles come from the database as JSON. Missing or invalid parts are skipped, and so are empty
//! tiles.

use serde_json::Value as Json;

use super::link::OutsideUrl;

/// Tiles of one kind.
#[derive(Debug, Default)]
pub(super) struct TileGroup {
    pub(super) kind: &'static str,
    pub(super) heading: &'static str,
    pub(super) sections: Vec<Section>,
    pub(super) hours: Vec<HoursRow>,
}

/// Tiles that stand under one heading.
#[derive(Debug)]
pub(super) struct Section {
    /// The heading, in menus.
    pub(super) heading: Option<String>,
    pub(super) tiles: Vec<TileView>,
}

/// A tile.
#[derive(Debug)]
pub(super) struct TileView {
    /// What it is: a name, a question, a number.
    pub(super) name: String,
    /// What kind of contact it is.
    pub(super) label: Option<&'static str>,
    /// More lines: a description, an answer, the parts of an address.
    pub(super) lines: Vec<String>,
    pub(super) price: Option<String>,
    pub(super) proof: Proof,
}

/// When a business is open, one interval.
#[derive(Debug)]
pub(super) struct HoursRow {
    pub(super) day: &'static str,
    pub(super) opens: String,
    pub(super) closes: String,
    pub(super) proof: Proof,
}

/// Where a tile comes from, and how sure it is.
#[derive(Debug)]
pub(super) struct Proof {
    pub(super) source: Option<OutsideUrl>,
    /// In percent.
    pub(super) confidence: Option<u8>,
    pub(super) seen: Vec<SeenAt>,
}

/// A place where a fact was seen.
#[derive(Debug)]
pub(super) struct SeenAt {
    pub(super) via: String,
    pub(super) url: OutsideUrl,
    pub(super) text: String,
}

impl TileGroup {
    /// How many tiles there are.
    pub(super) fn count(&self) -> usize {
        self.hours.len() + self.sections.iter().map(|section| section.tiles.len()).sum::<usize>()
    }
}

/// The kinds of tiles in the order of the requirement, with their headings.
const KINDS: [(&str, &str); 7] = [
    ("about", "About"),
    ("services", "Services"),
    ("pricing", "Prices"),
    ("contact", "Contact"),
    ("menu", "Menu"),
    ("products", "Products"),
    ("faq", "Questions and answers"),
];

const DAYS: [(&str, &str); 7] = [
    ("mo", "Monday"),
    ("tu", "Tuesday"),
    ("we", "Wednesday"),
    ("th", "Thursday"),
    ("fr", "Friday"),
    ("sa", "Saturday"),
    ("su", "Sunday"),
];

/// Tiles by kind, and within a kind in the order in which they were found.
pub(super) fn groups(tiles: &[Json]) -> Vec<TileGroup> {
    let group = |(kind, heading): (&'static str, &'static str)| {
        let mut group = TileGroup { kind, heading, ..TileGroup::default() };
        for tile in tiles.iter().filter(|tile| tile["kind"] == kind) {
            group.add(tile);
        }
        group.hours.sort_by_key(|row| DAYS.iter().position(|(_, day)| *day == row.day));
        group
    };
    KINDS.into_iter().map(group).filter(|group| group.count() > 0).collect()
}

impl TileGroup {
    fn add(&mut self, tile: &Json) {
        if let Some(row) = hours(tile) {
            self.hours.push(row);
            return;
        }
        let Some(view) = view(self.kind, tile) else { return };
        let heading = text(tile, "section").filter(|_| self.kind == "menu");
        match self.sections.iter_mut().find(|section| section.heading == heading) {
            Some(section) => section.tiles.push(view),
            None => self.sections.push(Section { heading, tiles: vec![view] }),
        }
    }
}

fn view(kind: &str, tile: &Json) -> Option<TileView> {
    let mut lines: Vec<String> = Vec::new();
    let mut label = None;
    let name = match kind {
        "faq" => {
            lines.extend(text(tile, "answer"));
            text(tile, "question")?
        }
        "contact" => {
            let (said, name) = contact(tile, &mut lines)?;
            label = Some(said);
            name
        }
        _ => {
            lines.extend(text(tile, "description"));
            text(tile, "name")?
        }
    };
    Some(TileView { name, label, lines, price: price(tile), proof: proof(tile) })
}

/// A way to the business: what it is called, and its first line.
fn contact(tile: &Json, lines: &mut Vec<String>) -> Option<(&'static str, String)> {
    if let Some(phone) = text(tile, "phone") {
        return Some(("Phone", phone));
    }
    if let Some(email) = text(tile, "email") {
        return Some(("E-mail", email));
    }
    let address = &tile["address"];
    let town = [text(address, "postal_code"), text(address, "locality")];
    let town = town.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let parts =
        [text(address, "street"), Some(town), text(address, "region"), text(address, "country")];
    let mut parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
    let first = parts.next()?;
    lines.extend(parts);
    Some(("Address", first))
}

fn hours(tile: &Json) -> Option<HoursRow> {
    let hours = &tile["hours"];
    let name = hours["day"].as_str()?;
    let (_, day) = DAYS.into_iter().find(|(short, _)| *short == name)?;
    let (opens, closes) = (text(hours, "opens")?, text(hours, "closes")?);
    Some(HoursRow { day, opens, closes, proof: proof(tile) })
}

/// `29.00 USD a month`.
fn price(tile: &Json) -> Option<String> {
    let mut said = text(tile, "amount")?;
    if let Some(currency) = text(tile, "currency") {
        said.push(' ');
        said.push_str(&currency);
    }
    match tile["period"].as_str() {
        Some("hour") => said.push_str(" an hour"),
        Some(period @ ("day" | "night" | "week" | "month" | "year")) => {
            said.push_str(" a ");
            said.push_str(period);
        }
        _ => {}
    }
    Some(said)
}

fn proof(tile: &Json) -> Proof {
    let seen = tile["evidence"].as_array().map(Vec::as_slice).unwrap_or_default();
    let seen = seen.iter().map(|seen| SeenAt {
        via: text(seen, "via").unwrap_or_default(),
        url: OutsideUrl(text(seen, "url").unwrap_or_default()),
        text: text(seen, "text").unwrap_or_default(),
    });
    Proof {
        source: text(tile, "sourceUrl").map(OutsideUrl),
        confidence: tile["confidence"]
            .as_f64()
            .map(|sure| (sure.clamp(0.0, 1.0) * 100.0).round() as u8),
        seen: seen.collect(),
    }
}

/// A text of a tile that is there and says something.
fn text(tile: &Json, field: &str) -> Option<String> {
    tile[field].as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tiles_stand_by_kind_and_menus_by_section() {
        let tiles = [
            json!({"kind": "menu", "section": "Pizza", "name": "Marinara", "amount": "8.50", "currency": "EUR"}),
            json!({"kind": "about", "name": "Lucia"}),
            json!({"kind": "menu", "section": "Dolci", "name": "Tiramisu"}),
            json!({"kind": "menu", "section": "Pizza", "name": "Margherita"}),
        ];
        let groups = groups(&tiles);
        let kinds: Vec<_> = groups.iter().map(|group| (group.kind, group.count())).collect();
        assert_eq!(kinds, [("about", 1), ("menu", 3)]);
        let sections: Vec<_> = groups[1]
            .sections
            .iter()
            .map(|section| (section.heading.as_deref().unwrap(), section.tiles.len()))
            .collect();
        assert_eq!(sections, [("Pizza", 2), ("Dolci", 1)]);
        assert_eq!(groups[1].sections[0].tiles[0].price.as_deref(), Some("8.50 EUR"));
    }

    #[test]
    fn hours_stand_in_the_order_of_the_week() {
        let day = |day: &str, opens: &str| json!({"kind": "contact", "hours": {"day": day, "opens": opens, "closes": "22:00"}});
        let groups = groups(&[day("su", "10:00"), day("mo", "17:00"), day("su", "18:00")]);
        let rows: Vec<_> =
            groups[0].hours.iter().map(|row| (row.day, row.opens.as_str())).collect();
        assert_eq!(rows, [("Monday", "17:00"), ("Sunday", "10:00"), ("Sunday", "18:00")]);
    }

    #[test]
    fn an_address_is_several_lines() {
        let tile = json!({"kind": "contact", "address": {"street": "Via Roma 12", "postal_code": "00184", "locality": "Roma"}});
        let groups = groups(&[tile]);
        let tile = &groups[0].sections[0].tiles[0];
        assert_eq!((tile.label, tile.name.as_str()), (Some("Address"), "Via Roma 12"));
        assert_eq!(tile.lines, ["00184 Roma"]);
    }

    #[test]
    fn tiles_of_another_shape_are_left_out() {
        let odd = [
            json!(null),
            json!({"kind": "menu"}),
            json!({"kind": "contact", "address": 7}),
            json!({"kind": "contact", "hours": {"day": "someday", "opens": "1", "closes": "2"}}),
            json!({"kind": "other", "name": "x"}),
            json!({"kind": "faq", "answer": "yes"}),
        ];
        assert!(groups(&odd).is_empty());
    }

    #[test]
    fn prices_say_how_often() {
        let said = |period: &str| {
            price(&json!({"amount": "29", "currency": "USD", "period": period})).unwrap()
        };
        assert_eq!(said("month"), "29 USD a month");
        assert_eq!(said("hour"), "29 USD an hour");
        assert_eq!(said("once"), "29 USD");
        assert_eq!(said("<b>"), "29 USD");
    }

    #[test]
    fn confidence_is_a_percentage_whatever_is_said() {
        let sure = |value: Json| proof(&json!({"confidence": value})).confidence;
        assert_eq!(
            (sure(json!(0.925)), sure(json!(7)), sure(json!("x"))),
            (Some(93), Some(100), None)
        );
    }
}
