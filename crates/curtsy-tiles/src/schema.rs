//! Reads facts from objects of schema.org, for JSON-LD, microdata and RDFa alike.
//!
//! Only properties of the business are followed (departments, menu, offers, questions), not the
//! places of its events, the makers of its products or the people who review it.

use serde_json::Value;

use crate::hours::{self, Interval, WaitingDays};
use crate::lines::text_of;
use crate::money::{self, Currency, Period};
use crate::plain::{fold, plain};
use crate::tree::PageTree;

/// A fact of a structured object, before the country of its numbers and signs is known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SchemaFact {
    /// The name of a business.
    Name(String),
    /// The name of a website.
    SiteName(String),
    /// What the business says of itself.
    Description(String),
    /// The type of the business, in lower case.
    Trade(String),
    /// A telephone number as written.
    Phone(String),
    /// An e-mail address as written.
    Email(String),
    /// An address.
    Address(Box<Postal>),
    /// An interval of opening.
    Hours(Interval),
    /// A dish.
    Dish {
        section: Option<String>,
        name: String,
        description: Option<String>,
        price: Option<SchemaPrice>,
    },
    /// Something for sale; `service` if it says that it is one.
    Offer { name: String, description: Option<String>, price: Option<SchemaPrice>, service: bool },
    /// A question with its answer.
    Question { question: String, answer: String },
}

/// An address, part by part.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Postal {
    pub(crate) street: String,
    pub(crate) postal_code: Option<String>,
    pub(crate) locality: String,
    pub(crate) region: Option<String>,
    pub(crate) country: Option<String>,
}

/// A price, as written in a structured object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SchemaPrice {
    pub(crate) amount: String,
    pub(crate) currency: Option<String>,
    pub(crate) period: Period,
}

/// Everything that a page's objects say.
pub(crate) fn read(items: &[Value]) -> Vec<SchemaFact> {
    let mut said = Vec::new();
    let mut next: Vec<(&Value, Option<String>)> =
        items.iter().rev().map(|item| (item, None)).collect();
    let mut budget = OBJECTS_MAX;
    while let Some((value, section)) = next.pop() {
        if budget == 0 {
            break;
        }
        budget -= 1;
        match value {
            Value::Array(list) => {
                next.extend(list.iter().rev().map(|inner| (inner, section.clone())))
            }
            Value::Object(_) => {
                let object = SchemaObject(value);
                object.read(section.as_deref(), &mut said);
                let section = if object.is("menusection") { object.text("name") } else { section };
                let keys = FOLLOWED.split(' ').rev().filter(|_| !object.is_leaf());
                let inner = keys.filter_map(|key| value.get(key));
                next.extend(inner.map(|inner| (inner, section.clone())));
            }
            _ => {}
        }
    }
    said
}

/// A structured object.
struct SchemaObject<'v>(&'v Value);

impl<'v> SchemaObject<'v> {
    /// Whether one of its types is among these, which spaces separate.
    fn is(&self, wanted: &str) -> bool {
        self.kinds().any(|kind| wanted.split(' ').any(|wanted| wanted == kind))
    }

    /// Its types in lower case.
    fn kinds(&self) -> impl Iterator<Item = String> {
        let kinds = self.0.get("@type").map(each).unwrap_or_default();
        kinds
            .into_iter()
            .filter_map(|kind| kind.as_str())
            .map(|kind| kind.rsplit(['/', '#', ':']).next().unwrap_or(kind).to_ascii_lowercase())
    }

    /// What is somebody else's, or ends here.
    fn is_leaf(&self) -> bool {
        self.is("person review postaladdress imageobject searchaction aggregaterating rating")
            || self.is("geocoordinates brand")
            || self.is_event()
    }

    fn is_event(&self) -> bool {
        self.0.get("startDate").is_some() || self.is("event jobposting")
    }

    fn read(&self, section: Option<&str>, said: &mut Vec<SchemaFact>) {
        if self.is_leaf() {
            return;
        }
        if self.is("website") {
            said.extend(self.text("name").map(SchemaFact::SiteName));
            return;
        }
        if self.is("question") {
            self.read_question(said);
            return;
        }
        if self.is("menuitem") {
            let name = self.text("name").filter(|name| !name.is_empty());
            let Some(name) = name else { return };
            // One for each size.
            let mut prices: Vec<Option<SchemaPrice>> =
                self.prices().into_iter().map(Some).collect();
            if prices.is_empty() {
                prices.push(None);
            }
            said.extend(prices.into_iter().map(|price| SchemaFact::Dish {
                section: section.map(str::to_owned),
                name: name.clone(),
                description: self.text("description"),
                price,
            }));
            return;
        }
        if self.is("product service individualproduct offer course hotelroom book") {
            self.read_offer(said);
            return;
        }
        self.read_business(said);
    }

    fn read_question(&self, said: &mut Vec<SchemaFact>) {
        let answer = self
            .0
            .get("acceptedAnswer")
            .or(self.0.get("suggestedAnswer"))
            .map(each)
            .unwrap_or_default();
        let answer = answer.first().and_then(|answer| SchemaObject(answer).text("text"));
        let question = self.text("name").or(self.text("text"));
        if let (Some(question), Some(answer)) = (question, answer)
            && !question.is_empty()
            && !answer.is_empty()
        {
            said.push(SchemaFact::Question { question, answer });
        }
    }

    fn read_offer(&self, said: &mut Vec<SchemaFact>) {
        // An offer of something names it inside.
        let inner = self
            .0
            .get("itemOffered")
            .map(each)
            .and_then(|list| list.first().copied())
            .map(SchemaObject);
        let named = inner.as_ref().unwrap_or(self);
        let Some(name) = named.text("name").or(self.text("name")).filter(|name| !name.is_empty())
        else {
            return;
        };
        let service = named.is("service course hotelroom");
        let price = self.price().or(named.price());
        said.push(SchemaFact::Offer {
            name,
            description: named.text("description"),
            price,
            service,
        });
    }

    fn read_business(&self, said: &mut Vec<SchemaFact>) {
        let is_contact_point = self.is("contactpoint");
        let is_business =
            "telephone address openingHours openingHoursSpecification servesCuisine priceRange geo"
                .split(' ')
                .any(|key| self.0.get(key).is_some())
                || self.is("organization localbusiness corporation");
        if !is_business && !is_contact_point {
            return;
        }
        if !is_contact_point && !self.is("place webpage") {
            said.extend(self.text("name").map(SchemaFact::Name));
            said.extend(self.text("description").map(SchemaFact::Description));
            said.extend(
                self.kinds()
                    .filter(|kind| !["organization", "localbusiness"].contains(&kind.as_str()))
                    .map(SchemaFact::Trade),
            );
        }
        said.extend(self.texts("telephone").into_iter().map(SchemaFact::Phone));
        said.extend(self.texts("email").into_iter().map(SchemaFact::Email));
        for address in self.0.get("address").map(each).unwrap_or_default() {
            said.extend(
                SchemaObject(address).address().map(|postal| SchemaFact::Address(Box::new(postal))),
            );
        }
        if !is_contact_point {
            said.extend(self.hours().into_iter().map(SchemaFact::Hours));
        }
    }

    fn address(&self) -> Option<Postal> {
        let street = self.texts("streetAddress").join(", ");
        let locality = self.text("addressLocality").unwrap_or_default();
        let country = self.text("addressCountry").or_else(|| {
            self.0.get("addressCountry").and_then(|country| SchemaObject(country).text("name"))
        });
        (!street.is_empty()
            && !locality.is_empty()
            && !fold(&street).contains("postfach")
            && !fold(&street).contains("po box"))
        .then(|| Postal {
            street,
            postal_code: self.text("postalCode"),
            locality,
            region: self.text("addressRegion"),
            country,
        })
    }

    fn hours(&self) -> Vec<Interval> {
        let mut intervals = Vec::new();
        for text in self.texts("openingHours") {
            for part in text.split(';') {
                intervals.extend(hours::read(part, "en", WaitingDays::default()).intervals);
            }
        }
        for specification in self.0.get("openingHoursSpecification").map(each).unwrap_or_default() {
            let specification = SchemaObject(specification);
            // Hours of a season or a holiday.
            if specification.0.get("validThrough").is_some()
                || specification.0.get("validFrom").is_some()
            {
                continue;
            }
            let (Some(opens), Some(closes)) =
                (specification.text("opens"), specification.text("closes"))
            else {
                continue;
            };
            for day in specification.texts("dayOfWeek") {
                let day = day.rsplit(['/', '#', ':']).next().unwrap_or(&day).to_owned();
                intervals.extend(
                    hours::read(&format!("{day} {opens} - {closes}"), "en", WaitingDays::default())
                        .intervals,
                );
            }
        }
        intervals.truncate(INTERVALS_MAX);
        intervals
    }

    fn price(&self) -> Option<SchemaPrice> {
        self.prices().into_iter().next()
    }

    /// The prices of all offers of a thing, or its own.
    fn prices(&self) -> Vec<SchemaPrice> {
        let offers = self.0.get("offers").map(each).unwrap_or_default();
        let offers = if offers.is_empty() { vec![self.0] } else { offers };
        offers.into_iter().take(TEXTS_MAX).filter_map(|offer| self.price_of(offer)).collect()
    }

    fn price_of(&self, offer: &Value) -> Option<SchemaPrice> {
        let specification = offer.get("priceSpecification").map(each).unwrap_or_default();
        let places = [Some(offer), specification.first().copied()];
        let amount = places.into_iter().flatten().find_map(|place| {
            ["price", "lowPrice", "minPrice"].iter().find_map(|key| SchemaObject(place).text(key))
        })?;
        let named = places
            .into_iter()
            .flatten()
            .find_map(|place| SchemaObject(place).text("priceCurrency"));
        let with_sign = money::prices(&amount).into_iter().next();
        let signed = with_sign.as_ref().and_then(|price| match price.currency {
            Currency::Iso(code) => Some(code.to_owned()),
            _ => None,
        });
        let amount = with_sign.map(|price| price.amount).or_else(|| money::bare_amount(&amount))?;
        let unit = places.into_iter().flatten().find_map(|place| {
            ["unitText", "unitCode", "billingDuration"]
                .iter()
                .find_map(|key| SchemaObject(place).text(key))
        });
        Some(SchemaPrice {
            amount,
            currency: named.filter(|code| code.len() == 3).or(signed),
            period: unit.map_or(Period::Once, |unit| period(&unit)),
        })
    }

    /// A property's text, as a reader would see it.
    fn text(&self, key: &str) -> Option<String> {
        self.texts(key).into_iter().next()
    }

    fn texts(&self, key: &str) -> Vec<String> {
        let values = self.0.get(key).map(each).unwrap_or_default();
        values
            .into_iter()
            .take(TEXTS_MAX)
            .filter_map(text)
            .filter(|text| !text.is_empty())
            .collect()
    }
}

fn period(unit: &str) -> Period {
    match fold(unit).as_str() {
        "mon" | "p1m" | "month" => Period::Month,
        "ann" | "p1y" | "year" => Period::Year,
        "wee" | "p1w" | "week" => Period::Week,
        "day" | "p1d" => Period::Day,
        "hur" | "hour" | "pt1h" => Period::Hour,
        "night" => Period::Night,
        other => money::period(&format!("/{other}")).unwrap_or(Period::Once),
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.contains(['<', '&']) => Some(text_of(
            &PageTree::parse(&text.replace("<br", " <br").replace("</p>", " </p>")),
            0,
            TEXT_CHARS_MAX,
        )),
        Value::String(text) => Some(plain(text, TEXT_CHARS_MAX)),
        Value::Number(number) => Some(number.to_string()),
        Value::Object(object) => object
            .get("@value")
            .and_then(|value| value.as_str())
            .map(|text| plain(text, TEXT_CHARS_MAX)),
        _ => None,
    }
}

/// A value, or each of a list.
fn each(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(list) => list.iter().take(OBJECTS_MAX).collect(),
        single => vec![single],
    }
}

/// The properties that lead to more of the business itself.
const FOLLOWED: &str = "@graph mainEntity mainEntityOfPage about publisher department subOrganization \
    location contactPoint hasMenu menu hasMenuSection hasMenuItem makesOffer hasOfferCatalog \
    itemListElement item";
/// The most objects of a page that are read.
pub(crate) const OBJECTS_MAX: usize = 5_000;
/// The most intervals of one object that are read.
pub(crate) const INTERVALS_MAX: usize = 50;
/// The most texts of one property that are read.
pub(crate) const TEXTS_MAX: usize = 20;
/// The most of one text that is read.
pub(crate) const TEXT_CHARS_MAX: usize = 2_000;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_business_in_a_graph() {
        let items = [
            json!({"@graph": [{"@type": "WebSite", "name": "A"}, {"@type": ["Restaurant", "LocalBusiness"], "name": "A &amp; B", "telephone": "1",
            "address": {"streetAddress": "Way 1", "addressLocality": "Town"}, "openingHours": "Mo 09:00-12:00",
            "event": {"@type": "Event", "location": {"telephone": "2", "address": {}}}}]}),
        ];
        let expected = [
            SchemaFact::SiteName("A".into()),
            SchemaFact::Name("A & B".into()),
            SchemaFact::Trade("restaurant".into()),
            SchemaFact::Phone("1".into()),
            SchemaFact::Address(Box::new(Postal {
                street: "Way 1".into(),
                locality: "Town".into(),
                ..Postal::default()
            })),
            SchemaFact::Hours(Interval { day: 0, opens: 540, closes: 720 }),
        ];
        assert_eq!(read(&items), expected);
    }

    #[test]
    fn dishes_stand_in_their_sections() {
        let items = [
            json!({"@type": "Menu", "hasMenuSection": {"@type": "MenuSection", "name": "Soups",
            "hasMenuItem": [{"@type": "MenuItem", "name": "Tomato", "offers": {"price": "4,50", "priceCurrency": "EUR"}}]}}),
        ];
        let price = Some(SchemaPrice {
            amount: "4.50".into(),
            currency: Some("EUR".into()),
            period: Period::Once,
        });
        assert_eq!(
            read(&items),
            [SchemaFact::Dish {
                section: Some("Soups".into()),
                name: "Tomato".into(),
                description: None,
                price
            }]
        );
    }

    #[test]
    fn questions_offers_and_services() {
        let items = [
            json!({"@type": "FAQPage", "mainEntity": [{"@type": "Question", "name": "Why?", "acceptedAnswer": {"text": "<p>So.</p>"}}]}),
            json!({"@type": "Product", "name": "Pot", "offers": {"@type": "Offer", "price": 12.5, "priceCurrency": "GBP"}}),
            json!({"@type": "Plumber", "address": "x", "makesOffer": {"@type": "Offer", "itemOffered": {"@type": "Service", "name": "Repair"}}}),
        ];
        let price = Some(SchemaPrice {
            amount: "12.5".into(),
            currency: Some("GBP".into()),
            period: Period::Once,
        });
        let expected = [
            SchemaFact::Question { question: "Why?".into(), answer: "So.".into() },
            SchemaFact::Offer { name: "Pot".into(), description: None, price, service: false },
            SchemaFact::Trade("plumber".into()),
            SchemaFact::Offer {
                name: "Repair".into(),
                description: None,
                price: None,
                service: true,
            },
        ];
        assert_eq!(read(&items), expected);
    }
}
