//! A site as a whole: its pages, and the name, country and currency that follow from all of them.

use std::collections::BTreeMap;

use curtsy_core::url::CrawlUrl;
use curtsy_parse::charset::Charset;

use crate::PageText;
use crate::country::{COUNTRIES, Country};
use crate::jsonld;
use crate::lines::{PageLines, text_of};
use crate::microdata::{self, Notation};
use crate::money::Currency;
use crate::name;
use crate::phone;
use crate::plain::{fold, identity, plain};
use crate::schema::{self, SchemaFact};
use crate::tile::Via;
use crate::topic::{self, Topic};
use crate::tree::PageTree;
use crate::words::COMMON;

/// A page of the site.
pub(crate) struct SitePage<'p> {
    /// Its place among the pages that can be read.
    pub(crate) number: usize,
    /// Its URL.
    pub(crate) url: &'p CrawlUrl,
    /// Its tree.
    pub(crate) tree: PageTree,
    /// Its lines.
    pub(crate) lines: PageLines,
    /// What its structured data says.
    pub(crate) said: Vec<(Via, SchemaFact)>,
    /// What it is about.
    pub(crate) topic: Topic,
    /// Its title.
    pub(crate) title: String,
    /// The language: from the attribute `lang` (`de`, `en-gb`), or else from the page's small
    /// words.
    pub(crate) language: Option<String>,
}

/// All pages of a site, and what they state together.
pub(crate) struct SitePages<'p> {
    /// The pages.
    pub(crate) pages: Vec<SitePage<'p>>,
    /// The name of the business.
    pub(crate) name: Option<name::BusinessName>,
    /// Folded words of all names that the business goes by.
    pub(crate) name_words: Vec<String>,
    /// The host without `www.`.
    pub(crate) domain: String,
    /// The country, if the site makes it clear.
    pub(crate) country: Option<&'static Country>,
    /// The currency that most prices are in.
    pub(crate) currency: Option<&'static str>,
}

impl<'p> SitePages<'p> {
    /// Reads all pages.
    pub(crate) fn read(pages: &[PageText<'p>]) -> SitePages<'p> {
        let pages = pages.iter().take(PAGES_MAX).filter_map(SitePage::read).enumerate();
        let pages: Vec<SitePage<'p>> =
            pages.map(|(number, page)| SitePage { number, ..page }).collect();
        let domain = pages
            .first()
            .map(|page| page.url.host().as_str().trim_start_matches("www.").to_owned())
            .unwrap_or_default();
        let mut site = SitePages {
            pages,
            name: None,
            name_words: Vec::new(),
            domain,
            country: None,
            currency: None,
        };
        site.name = name::of(&site);
        site.name_words = name::words(&site);
        site.country = site.find_country();
        site.currency = site.find_currency();
        site
    }

    /// The ISO code of a currency as written here; none if it stays unclear.
    pub(crate) fn iso(&self, currency: Currency) -> Option<&'static str> {
        let own = self.country.map(|country| country.currency);
        match currency {
            Currency::Iso(code) => Some(code),
            Currency::Dollar => {
                let is_dollar =
                    |code: &&str| code.ends_with('D') || ["MXN", "CLP", "ARS"].contains(code);
                own.filter(is_dollar).or(Some("USD"))
            }
            Currency::Krone => own.filter(|code| ["SEK", "NOK", "DKK", "ISK"].contains(code)),
            Currency::Unsaid => self.currency,
        }
    }

    /// Whether a folded text names the business: half of the words of its name that only it has.
    pub(crate) fn is_named_in(&self, folded: &str) -> bool {
        let Some(name) = &self.name else { return false };
        let own = identity(&name.text);
        let telling: Vec<&str> =
            own.split(' ').filter(|word| word.len() >= 3 && !COMMON.are(word)).collect();
        let own: Vec<&str> = if telling.is_empty() { own.split(' ').collect() } else { telling };
        let found = own
            .iter()
            .filter(|own| folded.split(|c: char| !c.is_alphanumeric()).any(|word| word == **own))
            .count();
        found > 0 && 2 * found >= own.len()
    }

    fn find_country(&self) -> Option<&'static Country> {
        let mut votes: BTreeMap<&'static str, f32> = BTreeMap::new();
        let mut vote = |code: &'static str, weight: f32| *votes.entry(code).or_default() += weight;
        let mut counted = Vec::new();
        let international = |text: &str| {
            let digits = phone::candidates(text).into_iter();
            digits.filter(|digits| digits.dialled.starts_with('+'))
        };
        for page in &self.pages {
            for (_, said) in &page.said {
                match said {
                    SchemaFact::Address(postal) => {
                        if let Some(country) =
                            postal.country.as_deref().and_then(|name| Country::by_name(&fold(name)))
                        {
                            vote(country.code, 10.0);
                        }
                    }
                    SchemaFact::Phone(number) => counted.extend(international(number)),
                    _ => {}
                }
            }
            if let Some(language) = page.language.as_deref() {
                let (language, region) = language.split_once('-').unwrap_or((language, ""));
                if let Some(country) = Country::by_code(region) {
                    vote(country.code, 1.5);
                }
                if let Some(country) = Country::by_language(language) {
                    vote(country.code, 1.0);
                }
            }
            for (at, line) in page.lines.all.iter().enumerate() {
                if line.part.quote || line.part.post || page.topic == Topic::News {
                    continue;
                }
                counted.extend(international(&line.text));
                for price in line.prices.iter().take(3) {
                    if let Currency::Iso(code) = price.currency {
                        let countries: Vec<_> =
                            COUNTRIES.iter().filter(|country| country.currency == code).collect();
                        let weight = if countries.len() == 1 { 2.0 } else { 0.2 };
                        countries.iter().for_each(|country| vote(country.code, weight));
                    } else if price.currency == Currency::Krone {
                        ["SE", "NO", "DK"].into_iter().for_each(|code| vote(code, 0.5));
                    } else if price.currency == Currency::Dollar {
                        ["US", "CA", "AU", "NZ"].into_iter().for_each(|code| vote(code, 0.5));
                    }
                }
                for country in COUNTRIES.iter() {
                    if let Some((hints, weight)) = &country.hints
                        && hints.are_in(&line.folded)
                    {
                        vote(country.code, *weight);
                    }
                }
                let paragraph = page.lines.paragraph(at);
                if paragraph.start == at {
                    let text = page.text_of_lines(paragraph);
                    for place in crate::address::places(&text, None) {
                        if let Some(code) = place.country.filter(|code| *code != "NZ") {
                            vote(code, 4.0);
                        }
                    }
                }
                let last = line.text.rsplit([',', ' ', '–', '-']).next().unwrap_or_default();
                if let Some(country) = Country::by_name(&fold(last.trim())).filter(|country| {
                    country.names.contains(&fold(last.trim()).as_str()) && last.len() > 3
                }) {
                    vote(country.code, 2.0);
                }
            }
            for link in page.tree.all("a") {
                if let Some(number) =
                    page.tree.attribute(link, "href").and_then(|href| href.strip_prefix("tel:"))
                {
                    counted.extend(international(number));
                }
            }
        }
        if let Some(country) = self.domain.rsplit('.').next().and_then(Country::by_code) {
            vote(country.code, 4.0);
        }
        counted.sort_by(|a, b| a.dialled.cmp(&b.dialled));
        counted.dedup_by(|a, b| a.dialled == b.dialled);
        for digits in counted {
            if let Some(country) = phone::international(&digits.dialled, None)
                .and_then(|number| Country::by_calling(&number[1..]))
            {
                // North America shares its code.
                let codes: &[&'static str] =
                    if country.calling == "1" { &["US", "CA"] } else { &[country.code] };
                for code in codes {
                    vote(code, 4.0);
                }
            }
        }
        let best = votes.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        (*best.1 >= 1.0).then(|| Country::by_code(best.0)).flatten()
    }

    fn find_currency(&self) -> Option<&'static str> {
        let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
        for line in self.pages.iter().flat_map(|page| &page.lines.all) {
            for price in &line.prices {
                if price.currency != Currency::Unsaid
                    && let Some(code) = self.iso(price.currency)
                {
                    *counts.entry(code).or_default() += 1;
                }
            }
        }
        counts
            .into_iter()
            .max_by_key(|(_, count)| *count)
            .map(|(code, _)| code)
            .or(self.country.map(|country| country.currency))
    }
}

impl<'p> SitePage<'p> {
    fn read(page: &PageText<'p>) -> Option<SitePage<'p>> {
        let is_html = page.content_type.is_none_or(|kind| {
            let kind = kind.to_ascii_lowercase();
            kind.trim().is_empty()
                || kind.contains("html")
                || kind.contains("xml")
                || kind.starts_with("text/plain")
        });
        if !is_html {
            return None;
        }
        let body = &page.body[..page.body.len().min(BODY_BYTES_MAX)];
        let charset = Charset::of(body, page.content_type, Some(page.url.host().as_str()));
        let tree = PageTree::parse(&charset.decode(body));
        let lines = PageLines::of(&tree);
        let data = [
            (Via::JsonLd, jsonld::blocks(&tree)),
            (Via::Microdata, microdata::items(&tree, Notation::Microdata)),
            (Via::Rdfa, microdata::items(&tree, Notation::Rdfa)),
        ];
        let facts = data
            .iter()
            .flat_map(|(via, items)| schema::read(items).into_iter().map(|said| (*via, said)));
        let said = facts.collect();
        let title =
            tree.all("title").next().map(|at| plain(&tree.raw_text(at), 300)).unwrap_or_default();
        let heading = lines.all.iter().find(|line| line.level == 1 || line.level == 2);
        let heading = heading.map_or("", |line| line.text.as_str());
        let topic = topic::topic(page.url.path_and_query(), &title, heading);
        let language = tree
            .all("html")
            .next()
            .and_then(|at| tree.attribute(at, "lang"))
            .map(|language| language.trim().to_ascii_lowercase().replace('_', "-"));
        let language = language.filter(|language| language.len() >= 2).or_else(|| {
            let text: String =
                lines.all.iter().take(300).map(|line| format!("{} ", line.folded)).collect();
            topic::language(&text).map(str::to_owned)
        });
        Some(SitePage { number: 0, url: page.url, tree, lines, said, topic, title, language })
    }

    /// Its language without the country: `de`; empty if it is not known.
    pub(crate) fn language(&self) -> &str {
        self.language
            .as_deref()
            .map_or("", |language| language.split('-').next().unwrap_or(language))
    }

    /// The headings over a line that may announce another subject. The front page's title is over
    /// all of it.
    pub(crate) fn headings(&self, line: usize) -> impl Iterator<Item = usize> {
        let is_front = self.topic == Topic::Home;
        let headings = self.lines.headings(line);
        headings.filter(move |&heading| !(is_front && self.lines.all[heading].level == 1))
    }

    /// Some lines, each with its end.
    pub(crate) fn text_of_lines(&self, lines: std::ops::Range<usize>) -> String {
        let mut text = String::new();
        for line in &self.lines.all[lines] {
            text.push_str(&line.text);
            text.push('\n');
        }
        text
    }

    /// The content of a `meta` element.
    pub(crate) fn meta(&self, name: &str) -> Option<String> {
        let is_named = |at: &usize| {
            ["property", "name"].iter().any(|key| {
                self.tree.attribute(*at, key).is_some_and(|value| value.eq_ignore_ascii_case(name))
            })
        };
        let at = self.tree.all("meta").find(is_named)?;
        let text = plain(self.tree.attribute(at, "content")?, 1_000);
        (!text.is_empty()).then_some(text)
    }

    /// The text of an element.
    pub(crate) fn text(&self, at: usize) -> String {
        text_of(&self.tree, at, 500)
    }
}

/// The most pages of a site that are read.
pub(crate) const PAGES_MAX: usize = 500;
/// The most of a page that is read.
pub(crate) const BODY_BYTES_MAX: usize = 2 << 20;
