//! Reads business facts from the pages of one site: contacts, hours, offers with prices, questions
//! and answers.
//!
//! Pages go in as bytes, and [`Tile`]s come out: one for each fact, with its places and confidence.
//! No connection, file, clock or chance is used. Nothing panics, whatever the bytes; everything has
//! a bound; time is linear in the size of the pages.
//!
//! A page becomes a [`tree`], and the tree becomes [`lines`] under each [`heading`]. [`schema`]
//! reads structured data ([`jsonld`], [`microdata`]). [`site`] finds name, country and currency
//! from all pages together. Then each kind of fact has its reader: [`contact`] and [`opening`]
//! (with [`whose`], which decides to whom a number belongs), [`priced`] and [`table`] for items
//! with a price ([`payable`], [`naming`]), [`goods`] for their kind, [`dishes`] and [`week`] for
//! dishes without a price, [`faq`], [`services`]. At the end [`merge`] joins equal facts. Word
//! lists are files in `data`, read by [`words`].
//!
//! Not here: fetching, choosing pages, pictures, and scripts.

#![allow(rustdoc::private_intra_doc_links, reason = "the map above is for readers of the source")]

mod address;
mod card;
mod clock;
mod contact;
mod country;
mod dishes;
mod email;
mod entry;
mod faq;
mod found;
mod goods;
mod heading;
mod hours;
mod jsonld;
mod kind;
mod limits;
mod lines;
mod merge;
mod microdata;
mod money;
mod name;
mod naming;
mod opening;
mod payable;
mod phone;
mod plain;
mod priced;
mod schema;
mod services;
mod site;
mod street;
mod table;
mod tile;
mod told;
mod topic;
mod tree;
mod week;
mod whose;
mod words;

use curtsy_core::url::CrawlUrl;

use found::FoundFact;
pub use limits::limits;
use site::SitePages;
pub use tile::{
    Contact, Day, Evidence, OpeningHours, Period, PostalAddress, Tile, TileFact, TileKind, Via,
};

/// A page of a site, as it was sent.
#[derive(Clone, Copy, Debug)]
pub struct PageText<'p> {
    /// Where it was found.
    pub url: &'p CrawlUrl,
    /// Its `Content-Type` header.
    pub content_type: Option<&'p str>,
    /// Its body.
    pub body: &'p [u8],
}

/// All tiles of a site, duplicates merged, in a stable order: by kind, then as found.
///
/// ```
/// use curtsy_core::url::CrawlUrl;
/// use curtsy_tiles::{Contact, TileFact, PageText, extract};
///
/// let url = CrawlUrl::parse("https://shop.example/").unwrap();
/// let body = b"<title>Shop</title><p>Call us: <a href='tel:+44 20 7946 0123'>020 7946 0123</a>";
/// let tiles = extract(&[PageText { url: &url, content_type: Some("text/html"), body }]);
/// let phone = TileFact::Contact(Contact::Phone("+442079460123".into()));
/// assert!(tiles.iter().any(|tile| tile.fact == phone));
/// ```
pub fn extract(pages: &[PageText<'_>]) -> Vec<Tile> {
    let site = SitePages::read(pages);
    let mut found: Vec<FoundFact> = about(&site).into_iter().collect();
    found.extend(services::find(&site));
    found.extend(goods::find(&site));
    found.extend(contact::find(&site));
    found.extend(opening::find(&site));
    found.extend(faq::find(&site));
    merge::merge(&site, found)
}

/// The name, with what the site says of itself.
fn about(site: &SitePages<'_>) -> Option<FoundFact> {
    let name = site.name.as_ref()?;
    let said = site.pages.iter().flat_map(|page| &page.said).find_map(|(_, said)| match said {
        schema::SchemaFact::Description(text) => Some(text.clone()),
        _ => None,
    });
    let home = site.pages.iter().find(|page| page.topic == topic::Topic::Home);
    let description =
        said.or_else(|| home?.meta("description")).or_else(|| home?.meta("og:description"));
    let fact = TileFact::About {
        name: name.text.clone(),
        description: description.map(|text| plain::plain(&text, 500)),
    };
    Some(FoundFact::new(fact, name.page, name.via, &name.text, name.confidence))
}
