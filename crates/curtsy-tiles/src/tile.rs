//! What comes out: tiles, each one fact of a business with where it was seen.

use serde::{Deserialize, Serialize};

pub use crate::money::Period;

/// One fact of a business.
///
/// In JSON the fact's fields are beside the others: `{"kind":"contact","phone":…,"sourceUrl":…}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tile {
    /// The fact; its `kind` is the tile's.
    #[serde(flatten)]
    pub fact: TileFact,
    /// The page it was read from first.
    #[serde(rename = "sourceUrl")]
    pub source_url: String,
    /// How sure it is, from 0.5 (unsure) to 1, in hundredths.
    pub confidence: f32,
    /// Where it was seen: at most five places.
    pub evidence: Vec<Evidence>,
}

impl Tile {
    /// What kind of fact it is.
    pub fn kind(&self) -> TileKind {
        self.fact.kind()
    }
}

curtsy_core::word_enum! {
    /// The kinds of facts, in the order in which they come out.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum TileKind {
        /// Who it is.
        About = "about",
        /// What it does.
        Services = "services",
        /// What plans, treatments, rooms, courses and the like cost.
        Pricing = "pricing",
        /// How to reach it, and when.
        Contact = "contact",
        /// Food and drinks that it serves.
        Menu = "menu",
        /// Goods that it sells.
        Products = "products",
        /// Questions and answers.
        Faq = "faq",
    }
}

/// A fact. Texts are plain, amounts are decimal with a dot, currencies are ISO 4217 codes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum TileFact {
    /// The business.
    About {
        /// Its name.
        name: String,
        /// What it says of itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    /// A service it offers.
    Services {
        /// The service.
        name: String,
        /// What is said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    /// A price of a plan, a treatment, a ticket, a room, a course.
    Pricing {
        /// What it is for.
        name: String,
        /// The amount; the lower end of a range.
        amount: String,
        /// The currency.
        currency: String,
        /// How often it is paid.
        period: Period,
    },
    /// A way to the business.
    Contact(Contact),
    /// A dish or a drink.
    Menu {
        /// The heading it stands under.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        section: Option<String>,
        /// The dish.
        name: String,
        /// What is said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// The amount; several sizes are several facts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        amount: Option<String>,
        /// The currency.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        currency: Option<String>,
    },
    /// Something it sells.
    Products {
        /// The product.
        name: String,
        /// What it costs now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        amount: Option<String>,
        /// The currency.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        currency: Option<String>,
        /// What is said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    /// A question that is asked often, and its answer.
    Faq {
        /// The question.
        question: String,
        /// The answer.
        answer: String,
    },
}

impl TileFact {
    /// What kind of fact it is.
    pub fn kind(&self) -> TileKind {
        match self {
            TileFact::About { .. } => TileKind::About,
            TileFact::Services { .. } => TileKind::Services,
            TileFact::Pricing { .. } => TileKind::Pricing,
            TileFact::Contact(_) => TileKind::Contact,
            TileFact::Menu { .. } => TileKind::Menu,
            TileFact::Products { .. } => TileKind::Products,
            TileFact::Faq { .. } => TileKind::Faq,
        }
    }
}

/// A way to the business.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Contact {
    /// A telephone number (E.164); never a fax.
    Phone(String),
    /// An e-mail address in lower case.
    Email(String),
    /// Where it is.
    Address(PostalAddress),
    /// When it is open.
    Hours(OpeningHours),
}

impl From<Contact> for TileFact {
    fn from(contact: Contact) -> TileFact {
        TileFact::Contact(contact)
    }
}

/// Where a business, or a branch of it, is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostalAddress {
    /// Street and number as written.
    pub street: String,
    /// As written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postal_code: Option<String>,
    /// Town or village.
    pub locality: String,
    /// County, state or province.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// ISO 3166, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
}

/// One interval on one weekday.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpeningHours {
    /// The weekday.
    pub day: Day,
    /// `HH:MM`.
    pub opens: String,
    /// `HH:MM`; a time that is not after `opens` is on the next day, `00:00` is midnight.
    pub closes: String,
}

/// A weekday.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // the names say it
pub enum Day {
    Mo,
    Tu,
    We,
    Th,
    Fr,
    Sa,
    Su,
}

impl Day {
    /// The week.
    pub const ALL: [Day; 7] = [Day::Mo, Day::Tu, Day::We, Day::Th, Day::Fr, Day::Sa, Day::Su];
}

/// A place where a fact was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The page.
    pub url: String,
    /// What it was read out of.
    pub via: Via,
    /// The words it was read from: plain text, at most 200 characters.
    pub text: String,
}

/// What a fact was read out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// A JSON-LD block.
    #[serde(rename = "json-ld")]
    JsonLd,
    /// `itemprop` attributes.
    Microdata,
    /// `property` attributes.
    Rdfa,
    /// `og:` and other `meta` elements, or the title.
    OpenGraph,
    /// A table.
    Table,
    /// A list, or cards that repeat.
    List,
    /// A heading and what follows it.
    Heading,
    /// A link: `tel:`, `mailto:`.
    Link,
    /// A pattern in running text.
    Text,
}

impl Via {
    /// Whether the fact comes from data for machines, not from what visitors see.
    pub(crate) fn is_structured(self) -> bool {
        matches!(self, Via::JsonLd | Via::Microdata | Via::Rdfa | Via::OpenGraph)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(fact: TileFact) -> Tile {
        let evidence =
            vec![Evidence { url: "https://a.example/".into(), via: Via::JsonLd, text: "x".into() }];
        Tile { fact, source_url: "https://a.example/".into(), confidence: 0.5, evidence }
    }

    #[test]
    fn tiles_are_written_as_documented_and_read_again() {
        let cases = [
            (
                TileFact::Contact(Contact::Phone("+491".into())),
                r#"{"kind":"contact","phone":"+491","#,
            ),
            (
                TileFact::Contact(Contact::Hours(OpeningHours {
                    day: Day::Mo,
                    opens: "09:00".into(),
                    closes: "12:00".into(),
                })),
                r#"{"kind":"contact","hours":{"day":"mo","opens":"09:00","closes":"12:00"},"#,
            ),
            (
                TileFact::Menu {
                    section: Some("S".into()),
                    name: "N".into(),
                    description: None,
                    amount: Some("1.50".into()),
                    currency: Some("EUR".into()),
                },
                r#"{"kind":"menu","section":"S","name":"N","amount":"1.50","currency":"EUR","#,
            ),
            (
                TileFact::Pricing {
                    name: "Pro".into(),
                    amount: "29".into(),
                    currency: "USD".into(),
                    period: Period::Month,
                },
                r#"{"kind":"pricing","name":"Pro","amount":"29","currency":"USD","period":"month","#,
            ),
        ];
        for (fact, start) in cases {
            let tile = tile(fact);
            let json = serde_json::to_string(&tile).unwrap();
            assert!(json.starts_with(start), "{json}");
            assert!(json.ends_with(r#""sourceUrl":"https://a.example/","confidence":0.5,"evidence":[{"url":"https://a.example/","via":"json-ld","text":"x"}]}"#), "{json}");
            assert_eq!(serde_json::from_str::<Tile>(&json).unwrap(), tile);
        }
    }
}
