//! Decides whether a priced item is a dish, a product or a service: by page, headings, words, card
//! and trade.

use std::collections::BTreeMap;

use crate::money::Period;
use crate::plain::fold;
use crate::priced::PricedItem;
use crate::schema::SchemaFact;
use crate::site::{SitePage, SitePages};
use crate::topic::Topic;
use crate::words::{
    BASKET, COURSE_ALONE, COURSES, EATERY, FEE, FOOD, GOODS, GOODS_TRADE, MENU, PRICED_SERVICE,
    SERVICE_TRADE, SERVICES, SHOP, SHOP_CLASS, STARTERS_OR_TICKETS, TAUGHT, VOUCHER, patterns,
};

/// The tile to which a priced item belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PricedKind {
    Menu,
    Products,
    Pricing,
}

/// Returns the kind of each item of a page. Items of one section are weighed together.
pub(crate) fn kinds(
    site: &SitePages<'_>,
    page: &SitePage<'_>,
    items: &[PricedItem],
) -> Vec<PricedKind> {
    let trade = trade(site);
    let has_shop = site.pages.iter().any(|page| page.topic == Topic::Shop);
    let mut weights: Vec<Weights> =
        items.iter().map(|item| weigh(page, item, trade, has_shop)).collect();
    if trade.menu == 0.0 && trade.pricing > 0.0 {
        without_food(items, &mut weights);
    }
    let of_page = weights.iter().fold(Weights::default(), Weights::plus).share(items.len());
    items
        .iter()
        .zip(&weights)
        .map(|(item, own)| {
            let same =
                items.iter().zip(&weights).filter(|(other, _)| other.section == item.section);
            let of_section = same
                .clone()
                .map(|(_, weights)| weights)
                .fold(Weights::default(), Weights::plus)
                .share(same.count());
            let all = own.plus_times(&of_section, 2.0).plus_times(&of_page, 0.2);
            let recurs = item.prices.iter().any(|(_, period)| *period != Period::Once)
                || item.prices.first().is_some_and(|(price, _)| price.amount == "0");
            let is_fee = FEE.begin(&fold(&item.name));
            if is_fee || recurs && !has_basket(page, item.line) {
                PricedKind::Pricing
            } else if all.largest() == PricedKind::Menu && VOUCHER.are_in(&fold(&item.name)) {
                PricedKind::Products
            } else {
                all.largest()
            }
        })
        .collect()
}

/// A salon may call its prices a menu, with starters and mains: somewhere there has to be food.
fn without_food(items: &[PricedItem], weights: &mut [Weights]) {
    let is_food = |item: &PricedItem| {
        let name = fold(&item.name);
        is_food(&name)
            || MEAL_COURSES.is_match(&name)
            || item.section.as_deref().is_some_and(|text| is_food(&fold(text)))
    };
    // How many things each section has, and how many of them are food.
    let mut sections: BTreeMap<Option<&str>, (usize, usize)> = BTreeMap::new();
    for item in items {
        let (all, food) = sections.entry(item.section.as_deref()).or_default();
        *all += 1;
        *food += usize::from(is_food(item));
    }
    let food: usize = sections.values().map(|(_, food)| food).sum();
    if FOOD_SHARE * food >= items.len() {
        return;
    }
    for (item, weights) in items.iter().zip(weights) {
        let (all, food) = sections.get(&item.section.as_deref()).copied().unwrap_or_default();
        if 4 * food < 3 * all {
            weights.menu = 0.0;
        }
    }
}

/// How much speaks for each kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weights {
    menu: f32,
    products: f32,
    pricing: f32,
}

impl Weights {
    fn plus(self, other: &Weights) -> Weights {
        self.plus_times(other, 1.0)
    }

    fn plus_times(self, other: &Weights, times: f32) -> Weights {
        Weights {
            menu: self.menu + times * other.menu,
            products: self.products + times * other.products,
            pricing: self.pricing + times * other.pricing,
        }
    }

    fn share(self, count: usize) -> Weights {
        Weights::default().plus_times(&self, 1.0 / count.max(1) as f32)
    }

    fn sum(self) -> f32 {
        self.menu + self.products + self.pricing
    }

    fn largest(self) -> PricedKind {
        if self.menu > self.products && self.menu > self.pricing {
            PricedKind::Menu
        } else if self.products > self.pricing {
            PricedKind::Products
        } else {
            PricedKind::Pricing
        }
    }
}

/// `has_shop`: the goods of the site have a page of their own.
fn weigh(page: &SitePage<'_>, item: &PricedItem, trade: Weights, has_shop: bool) -> Weights {
    let mut weights = trade;
    // A shop has drinks and sweets too; dishes that a shop serves are apart from its goods.
    let is_shop = page.topic == Topic::Shop
        || trade.products > trade.menu && page.topic != Topic::Menu && !has_shop;
    match page.topic {
        Topic::Menu => weights.menu += 3.0,
        Topic::Shop => weights.products += 3.0,
        Topic::Pricing => weights.pricing += 2.0,
        // What is offered may be anything that the trade has.
        Topic::Services => weights.pricing += 1.0,
        _ => {}
    }
    let name = fold(&item.name);
    let said = item.description.as_deref().map(fold).unwrap_or_default();
    for head in heads(page) {
        weights.menu += if EATERY.are_in(&head) { 1.5 } else { 0.0 };
        weights.pricing += if PRICED_SERVICE.are_in(&head) { 1.5 } else { 0.0 };
    }
    // The nearest heading says most.
    let mut near = 1.0;
    let section = item.section.as_deref().map(fold).unwrap_or_default();
    let headings = page
        .lines
        .headings(item.line)
        .map(|heading| page.lines.all[heading].folded.clone())
        .filter(|heading| *heading != name);
    for heading in std::iter::once(section.clone())
        .chain(headings.filter(|heading| *heading != section))
        .take(4)
    {
        let before = weights.sum();
        // `Entradas` are starters or tickets, as the house is.
        let is_first_course = STARTERS_OR_TICKETS.are(&heading) && trade.menu >= trade.pricing;
        let is_taught = TAUGHT.are_in(&heading) && !is_first_course;
        let is_course = COURSES.are_in(&heading) && !is_taught;
        if MENU.are_in(&heading) || is_course || COURSE_ALONE.are(&heading) {
            weights.menu += if is_shop { 0.15 } else { 1.0 } * HEADED * near;
        }
        if EATERY.are_in(&heading) && !is_taught {
            weights.menu += 0.5 * HEADED * near;
        }
        if GOODS.are_in(&heading)
            || SHOP.are_in(&heading)
            || VOUCHER.are_in(&heading)
            || TO_TAKE_HOME.is_match(&heading)
        {
            weights.products += HEADED * near;
        }
        if PRICED_SERVICE.are_in(&heading) && !is_first_course {
            weights.pricing += HEADED * near;
        } else if SERVICES.are_in(&heading) {
            // `Our offer` is whatever the trade has.
            weights.pricing += if trade.pricing >= trade.products { HEADED } else { 1.0 } * near;
        }
        // Once a heading has said what is under it, those over it say less.
        near *= if weights.sum() > before { 0.15 } else { 0.35 };
    }
    // `Two courses` are those of a meal.
    if MEAL_COURSES.is_match(&name) {
        weights.menu += 6.0;
    } else if PRICED_SERVICE.are_in(&name) {
        weights.pricing += 3.0;
    }
    // Food is served or sold, as the trade is.
    if !TAUGHT.are_in(&section) && (is_food(&name) || is_food(&said)) {
        let to_go = trade.products > trade.menu;
        weights.menu += if to_go { 1.0 } else { 3.0 };
        weights.products += if to_go { 2.0 } else { 0.5 };
    }
    if DURATION.is_match(&name) || DURATION.is_match(&said) {
        weights.pricing += 2.0;
    }
    if QUANTITY.is_match(&name) {
        weights.products += 1.5;
        weights.menu += 1.0;
    }
    if VOUCHER.are_in(&name) {
        weights.products += 6.0;
    }
    if is_per_person(page, item) && !MENU.are_in(&name) {
        weights.pricing += 9.0;
    }
    let card = card(page, item.line);
    if says_shop(page, page.lines.all[item.line].block) {
        weights.products += 8.0;
    }
    if has_basket(page, item.line) {
        weights.products += 8.0;
    }
    let tree = &page.tree;
    let leads_to_product = |at: usize| {
        tree.name(at) == "a"
            && tree
                .attribute(at, "href")
                .is_some_and(|href| PRODUCT_PATH.is_match(&href.to_ascii_lowercase()))
    };
    if tree.inside(card).take(CARD_NODES_MAX).any(leads_to_product)
        || tree.around(card).take(2).any(leads_to_product)
    {
        weights.products += 4.0;
    }
    if tree.inside(card).take(CARD_NODES_MAX).any(|at| tree.name(at) == "img") {
        weights.products += 1.5;
    }
    weights
}

/// The page's path and the first words of its title. The front page has the title of the business.
fn heads(page: &SitePage<'_>) -> Vec<String> {
    if page.topic == Topic::Home {
        return Vec::new();
    }
    let path = fold(&page.url.path_and_query().replace(['/', '-', '_', '.'], " "));
    let title = page.title.split(['|', '–', '—', '·', '-']).next().unwrap_or_default();
    vec![path, fold(title)]
}

/// Whether a page is that of a house's cafe or bar.
pub(crate) fn is_eatery(page: &SitePage<'_>) -> bool {
    heads(page).iter().all(|head| EATERY.are_in(head)) && page.topic != Topic::Home
}

/// The largest box around a price that is small enough to be one thing's.
pub(crate) fn card(page: &SitePage<'_>, line: usize) -> usize {
    let tree = &page.tree;
    let mut card = page.lines.all[line].block;
    for around in tree.around(card).take(5) {
        let lines = page.lines.inside(tree, around);
        if lines.len() > 10
            || lines.filter(|&line| !page.lines.all[line].prices.is_empty()).count() > 2
        {
            break;
        }
        card = around;
    }
    card
}

/// A price is for each guest, as its line says, or a line under the same heading before it.
fn is_per_person(page: &SitePage<'_>, item: &PricedItem) -> bool {
    let lines = &page.lines.all;
    let heading = lines[item.line].heading;
    let before =
        (0..item.line).rev().take(NOTE_LINES).take_while(|&at| lines[at].heading == heading);
    let mut notes = before.filter(|&at| lines[at].prices.is_empty() && lines[at].level == 0);
    let is_note =
        |at: usize| lines[at].text.ends_with(':') && PER_PERSON.is_match(&lines[at].folded);
    PER_PERSON.is_match(&fold(&item.text))
        || heading.is_some_and(|heading| PER_PERSON.is_match(&lines[heading].folded))
        || notes.any(is_note)
}

/// A class around a thing says that it is for sale: `<ul class=shop>`, `<div class=merch>`.
fn says_shop(page: &SitePage<'_>, block: usize) -> bool {
    let tree = &page.tree;
    let around = std::iter::once(block).chain(tree.around(block)).take(SHOP_BOXES);
    let mut elements = around.filter_map(|at| tree.element(at));
    elements.any(|element| &*element.name != "body" && element.has_class(&SHOP_CLASS))
}

pub(crate) fn is_food(folded: &str) -> bool {
    FOOD.are_in(folded) || FOOD_STEM.is_match(folded)
}

/// A button near it puts it into a basket.
pub(crate) fn has_basket(page: &SitePage<'_>, line: usize) -> bool {
    let lines = &page.lines.all;
    (line.saturating_sub(1)..lines.len().min(line + 5))
        .any(|near| BASKET.are_in(&lines[near].folded) && lines[near].text.chars().count() < 40)
}

/// Weighs the trade of the whole site by its titles, descriptions and name. The sum is at most
/// three.
pub(crate) fn trade(site: &SitePages<'_>) -> Weights {
    let mut counts = [0f32; 3];
    let mut count = |text: &str, weight: f32| {
        for (count, words) in counts.iter_mut().zip([&*EATERY, &*GOODS_TRADE, &*SERVICE_TRADE]) {
            *count += if words.are_in(text) { weight } else { 0.0 };
        }
    };
    for page in &site.pages {
        for (_, said) in &page.said {
            if let SchemaFact::Trade(kind) = said {
                count(kind, 4.0);
            }
        }
        if page.topic == Topic::Home {
            count(&fold(&page.title), 3.0);
            count(
                &page
                    .meta("description")
                    .or_else(|| page.meta("og:description"))
                    .map(|text| fold(&text))
                    .unwrap_or_default(),
                2.0,
            );
            for line in
                page.lines.all.iter().filter(|line| line.is_matter() && !line.part.footer).take(30)
            {
                count(&line.folded, 0.5);
            }
        }
    }
    count(&site.name.as_ref().map(|name| fold(&name.text)).unwrap_or_default(), 3.0);
    let [food, goods, services] = counts;
    let times = 3.0 / (food + goods + services).max(TRADE_SEEN);
    Weights { menu: food * times, products: goods * times, pricing: services * times }
}

patterns! {
    /// Minutes, hours, people, lessons: what services are measured in.
    DURATION: r"\d\s?(?:min|mins|minuten|minutes|minuti|minutos|minut|std|stunden|heures|hours|hrs|ore|horas|godz|tim|timer|hodin|lektionen|lessons|sessions|sitzungen|seances|nights|nachte|nuits|personen|persons|people|personnes)\b";
    MEAL_COURSES: r"\b(?:one|two|three|four|five|six|[1-7])[- ](?:course|courses|gange|gang|gangen|plats|portate|platos|pratos|rett|retter|ratters|chod\w*|dan\w*)\b";
    /// A price for each guest: that of a party, a tasting, a course.
    PER_PERSON: r"(?:\b(?:per|pro|par|por|pr\.?|a|na|za|je)\s|/\s?)(?:the )?(?:person|persoon|personne|pers|persona|pessoa|osobe|osobu|osoba|guest|gast|head|pax|tete|cook|child|kind|enfant|nino|bambino|crianca|barn|dziecko|dite)\b|\bby the head\b|\d\s?(?:pp|p\.p\.|p/p)(?:$|[^a-z])";
    /// `Take Ruby home`: goods of a house that serves.
    TO_TAKE_HOME: r"^take\s.*\bhome$|(?:emporter|rapporter) (?:a la maison|chez)|\bto (?:take|bring) home\b|mit nach hause|fur daheim|mee naar huis|fur zu hause|pour la maison|para casa|para levar|per casa|voor thuis|\bdomu$|do domu|\bhjem$|med hjem";
    /// Weights, volumes and sizes: what goods and drinks are measured in.
    QUANTITY: r"\d\s?(?:g|gr|kg|ml|cl|dl|l|oz|lb|lbs|cm|mm|m2|stk|stuck|pcs|pieces|pieces|liter|litre|litres|inch|w|watt|er-pack)\b";
    /// Paths of pages about one product.
    PRODUCT_PATH: r"/(?:products?|produkte?|produits?|productos?|prodott[oi]|produtos?|produkty|producten|product-page|p|shop|store|item|items|artikel|tienda|boutique|winkel|sklep|butik|obchod|loja|negozio|catalog|collections)/";
    /// Parts of compounds that are food.
    FOOD_STEM: r"(?:^|[^a-z])(?:suppe|salat|kuchen|torte|strudel|schnitzel|braten|wurst|wurstchen|kartoffel|spatzle|knodel|nudel|sosse|gemuse|schinken|lachs|fisch|hahnchen|kaffee|schokolade|semmel|brezel|breze|rejer|sild|smorrebrod|frikadelle|kylling|flaeskesteg|boller|kottbull|kyckling|smorgas|soep|broodje|taart|biefstuk|kroket|bitterballen|stamppot|pannenkoek|keitto|salaatti|leipa|lohi|kahvi|juusto|polevk|svickov|gulas|smazen|knedl|kureci|hovezi|veprov|palacink|pierogi|zurek|barszcz|schabow|kotlet|nalesnik|placki|bacalhau|pasteis|francesinha|feijoa|picanha|croquet|tortilla|empanad|paella|croqueta|boquerones|pulpo|gazpacho|bruschett|tagliatell|spaghett|gnocch|ravioli|focaccia|gelato|panini|crostini|tartare|confit|magret|croque|quiche|ratatouille|gratin|espresso|cappuccino|macchiato|matcha|smoothie|milkshake|lemonad|limonad|pilsner|weissbier|radler|spritz|cocktail|mojito|negroni)|(?:suppe|salat|kuchen|torte|strudel|schnitzel|braten|wurst|wurstchen|kartoffel|spatzle|knodel|nudel|sosse|gemuse|schinken|lachs|fisch|hahnchen|kaffee|schokolade|semmel|brezel|breze|rejer|sild|smorrebrod|frikadelle|kylling|flaeskesteg|boller|kottbull|kyckling|smorgas|soep|broodje|taart|biefstuk|kroket|bitterballen|stamppot|pannenkoek|keitto|salaatti|leipa|lohi|kahvi|juusto|polevk|svickov|gulas|smazen|knedl|kureci|hovezi|veprov|palacink|pierogi|zurek|barszcz|schabow|kotlet|nalesnik|placki|bacalhau|pasteis|francesinha|feijoa|picanha|croquet|tortilla|empanad|paella|croqueta|boquerones|pulpo|gazpacho|bruschett|tagliatell|spaghett|gnocch|ravioli|focaccia|gelato|panini|crostini|tartare|confit|magret|croque|quiche|ratatouille|gratin|espresso|cappuccino|macchiato|matcha|smoothie|milkshake|lemonad|limonad|pilsner|weissbier|radler|spritz|cocktail|mojito|negroni)(?:n|s|e|en|er|erl)?(?:$|[^a-z])";
}

/// A note on what prices are for is no further above them.
const NOTE_LINES: usize = 12;

/// One thing in so many is food, where food is served.
const FOOD_SHARE: usize = 4;

/// A list of goods is no further around them.
const SHOP_BOXES: usize = 4;

/// What a site lives on is sure when it was said so often.
pub(crate) const TRADE_SEEN: f32 = 4.0;

/// How much the nearest heading says; each one over it says half of that.
pub(crate) const HEADED: f32 = 12.0;

/// The most of one card that is looked at.
pub(crate) const CARD_NODES_MAX: usize = 200;
