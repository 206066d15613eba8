//! What is a page about? By its path, its headings and its title.

use std::sync::LazyLock;

use regex::Regex;

use crate::plain::{fold, words};

/// What a page is about, as far as it matters for which facts may stand on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    /// The front page.
    Home,
    /// How to reach the business.
    Contact,
    /// Who is responsible for the site: imprint, legal notice.
    Imprint,
    /// Privacy, terms: other people's addresses, conditions, fees that nobody asks for.
    Terms,
    /// News, blog, press, events, jobs, reviews, links: facts of others and of other times.
    News,
    /// Food and drinks.
    Menu,
    /// What things cost.
    Pricing,
    /// Goods.
    Shop,
    /// What the business does.
    Services,
    /// Questions and answers.
    Faq,
    /// Who the business is.
    About,
    /// Something else.
    Other,
}

/// Decides about a page. `path` is as in its URL, `title` and `heading` as a reader sees them.
pub(crate) fn topic(path: &str, title: &str, heading: &str) -> Topic {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let words_of_path = fold(&path.replace(['/', '-', '_', '.'], " "));
    let trimmed = path.trim_matches('/').to_ascii_lowercase();
    let is_front = [
        "",
        "index.html",
        "index.htm",
        "index.php",
        "home",
        "home.html",
        "start",
        "en",
        "de",
        "fr",
        "accueil",
    ]
    .contains(&trimmed.as_str());
    if is_front {
        return Topic::Home;
    }
    // A post's path has its date.
    if DATED.is_match(path) {
        return Topic::News;
    }
    // The site's own name is in most titles: what comes first in it says more.
    let title = title.split(['|', '–', '—', '·', '«', '»']).next().unwrap_or(title);
    for text in [words_of_path.trim(), &fold(heading), &fold(title)] {
        if let Some((_, topic)) = table().into_iter().find(|(words, _)| words.are_in(text)) {
            return topic;
        }
    }
    Topic::Other
}

fn table() -> [(&'static crate::plain::Words, Topic); 10] {
    [
        (&TERMS, Topic::Terms),
        (&IMPRINT, Topic::Imprint),
        (&NEWS, Topic::News),
        (&FAQ, Topic::Faq),
        (&CONTACT, Topic::Contact),
        (&MENU, Topic::Menu),
        (&SHOP, Topic::Shop),
        (&PRICING, Topic::Pricing),
        (&SERVICES, Topic::Services),
        (&ABOUT, Topic::About),
    ]
}

static DATED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"/(?:19|20)\d\d/(?:\d\d?/|[a-z])").expect("a constant pattern"));

/// The language of a folded text by its small words, if there are enough of them.
pub(crate) fn language(folded: &str) -> Option<&'static str> {
    let mut counts = [0usize; SMALL_WORDS.len()];
    for word in folded.split(|c: char| !c.is_alphabetic()).take(LANGUAGE_WORDS_MAX) {
        for (count, (_, words)) in counts.iter_mut().zip(SMALL_WORDS) {
            *count += usize::from(words.contains(&word));
        }
    }
    let (best, count) = counts.iter().enumerate().max_by_key(|(_, count)| **count)?;
    (*count >= 5).then_some(SMALL_WORDS[best].0)
}

#[rustfmt::skip]
const SMALL_WORDS: [(&str, &[&str]); 13] = [
    ("en", &["the", "and", "of", "with", "our", "for", "you", "your", "is", "are", "from", "we"]),
    ("de", &["und", "der", "die", "das", "mit", "fur", "wir", "ist", "bei", "von", "sie", "ihr", "uhr"]),
    ("fr", &["et", "le", "les", "des", "vous", "nous", "du", "avec", "pour", "est", "votre", "sur", "une"]),
    ("es", &["y", "el", "los", "las", "con", "para", "por", "una", "nuestro", "su", "del", "nuestra", "es"]),
    ("it", &["il", "di", "e", "per", "con", "della", "che", "gli", "alla", "sono", "dal", "nostro", "nel"]),
    ("nl", &["de", "het", "een", "en", "van", "voor", "met", "wij", "ons", "onze", "bij", "uw", "zijn"]),
    ("pt", &["e", "o", "os", "das", "dos", "com", "para", "uma", "nosso", "nossa", "por", "ao", "nao"]),
    ("pl", &["i", "w", "na", "z", "do", "oraz", "sie", "dla", "nasze", "jest", "od", "lub", "nie"]),
    ("sv", &["och", "att", "vi", "med", "for", "av", "ar", "till", "som", "pa", "din", "hos", "eller"]),
    ("da", &["og", "at", "vi", "med", "for", "af", "er", "til", "som", "pa", "din", "hos", "eller"]),
    ("nb", &["og", "vi", "med", "for", "av", "er", "til", "som", "pa", "din", "hos", "eller", "ikke"]),
    ("cs", &["a", "v", "na", "se", "pro", "je", "nase", "nas", "jsme", "od", "nebo", "vam", "ve"]),
    ("fi", &["ja", "on", "tai", "ovat", "meidan", "sekä", "myos", "kanssa", "mukaan", "avoinna", "teille", "olemme", "me"]),
];

words! { TERMS: "privacy, datenschutz*, terms, agb, conditions, cgv, cookies, cookie, confidentialite, privacidad, privacidade, politica de*, condiciones, prywatnosc, polityka, regulamin, integritet*, gdpr, vilkar, villkor, handelsbetingelser, ochrana, podminky, obchodni podminky, privacybeleid, voorwaarden, algemene voorwaarden, informativa, rgpd, widerruf*, returns, retouren" }
words! { IMPRINT: "impressum, imprint, mentions, legal, aviso legal, note legali, colofon, tiraz, legal notice, disclaimer" }
words! { NEWS: "area, local area, the area, out and about, things to do, nearby, attractions, umgebung, ausflugsziele, ausfluge, environs, alentours, dintorni, alrededores, omgeving, okolica, okoli, ausflug, blog, news, journal, aktuelles, neuigkeiten, actualites, actus, noticias, novedades, notizie, nieuws, aktualnosci, nyheter, nyheder, aktuality, novinky, ajankohtaista, press, presse, events, veranstaltungen, evenements, eventi, eventos, agenda, reviews, testimonials, bewertungen, avis, opiniones, recensioni, opinie, jobs, careers, karriere, links, gastebuch, guestbook, diary, stories, magazine, magazin, articles, archiv, archive, hiring, nytt, whats on, tips, tipps, rad, novita, nyt, weblog, dagboek, recenze, customers, kundenstimmen, case studies, case study, gallery, galerie, galeria, referenzen, portfolio" }
words! { FAQ: "faq, faqs, questions, haufige fragen, fragen, foire aux questions, preguntas, domande, veelgestelde vragen, vragen, perguntas, pytania, fragor, vanliga fragor, sporgsmal, sporsmal, ofte stillede*, casto kladene*, casté dotazy, caste dotazy, dotazy, kysymykset, kysymyksia, help, hilfe, aide, ayuda, good to know, gut zu wissen, ukk" }
words! { CONTACT: "contact, contacts, contact us, kontakt, kontakte, contacto, contatti, contato, contactos, contatos, yhteystiedot, find us, find, visit, visit us, say hello, get in touch, dove siamo, donde estamos, onde estamos, anfahrt, anreise, so finden sie uns, standort, standorte, filialen, locations, location, our shops, branches, infos pratiques, infos, acces, nous trouver, hours, opening hours, offnungszeiten, sprechzeiten, horaires, orari, horario, openingstijden, oppettider, abningstider, apningstider, oteviraci doba, hitta, hitta hit, find vej, gdzie jestesmy, dojazd, kde nas najdete, bereikbaarheid, ons bezoeken, come trovarci, wo sie uns finden, plan d'acces, ota yhteytta, venez, where" }
words! { MENU: "menu, menus, menue, menukarte, speisekarte, speisen, getranke, getrankekarte, karte, mittagskarte, fruhstuck, carte, la carte, carta, la carta, menukaart, kaart, jidelni listek, jidelni, napojovy listek, napoje, meny, matsedel, spisekort, menukort, ruokalista, lounas, lunch, lunchmeny, dinner, breakfast, brunch, drinks, food, food and drink, eat, cardapio, ementa, karta dan, karta, jadlospis, dania, wine list, vinkort, weinkarte, beers, cocktails, on tap, taps, taplist, brews, piatti, pizze, pizzas, our beer, beer list, desayunos, tapas, la table, notre table, table d'hotes, mittagstisch, mittagsmenu, wochenkarte, abendkarte, dejeuner, almuerzo, almuerzos, comidas, menjar, pranzo, colazione, poledni menu, obedy, snidane, obiady, sniadania, frukost, frokost, almoco, almocos, petiscos" }
words! { SHOP: "occasions, second-hand, gebraucht, gebrauchte, used, merch, shop, store, boutique, winkel, webshop, webwinkel, laden, onlineshop, tienda, negozio, loja, sklep, butik, obchod, e-shop, eshop, products, product, produkte, produkt, produits, productos, prodotti, produtos, produkty, produkter, producten, sortiment, assortiment, catalogue, catalog, katalog, catalogo, collection, collections, bouquets, flowers, blumen, books, bucher, livres, tuotteet, kauppa, merch, goods, cart, artikel, angebote, plants, bikes, velos, fahrrader, hofladen, farm shop, bestellen, verkauf, vente" }
words! { PRICING: "prices, price, pricing, price list, pricelist, fees, rates, tariffs, tariff, plans, plan, membership, memberships, preise, preis, preisliste, tarife, tarif, tarifs, prix, precios, precio, tarifas, tarifa, prezzi, listino, tariffe, tarieven, prijzen, prijs, precos, preco, cennik, ceny, cenik, priser, prislista, prisliste, pris, hinnasto, hinnat, tickets, ticket, eintritt, eintrittspreise, entradas, biglietti, billets, bilety, biljetter, vstupne, vstupenky, packages, abos, abonnement, abonnements, rooms, zimmer, chambres, habitaciones, camere, pokoje, courses, kurse, course fees, cours, cursos, corsi, costs, kosten, cost, fleet, hire, rental, rooms and rates, bilhetes, ingressos" }
words! { SERVICES: "services, service, leistungen, angebot, unser angebot, dienstleistungen, prestations, servicios, servizi, servicos, diensten, uslugi, oferta, tjanster, ydelser, tjenester, sluzby, palvelut, treatments, what we do, behandlungen, soins, tratamientos, trattamenti, behandelingen, zabiegi, expertise, metier, nos metiers, savoir-faire, repairs, offer, nabidka, behandlinger, behandlingar, catering, trabajos, lavori, werkzaamheden, competences, therapien, was wir machen, was wir tun, was ich mache, was wir bieten, wir bieten, unsere schwerpunkte, schwerpunkte, fachgebiete, ce que je propose, ce que nous proposons, nous proposons, ce que nous faisons, ce que je fais, ce que nous faisons aussi, que hacemos, lo que hacemos, que ofrecemos, cosa facciamo, cosa offriamo, wat we doen, wat wij doen, wat ik doe, wat we bieden, co robimy, co oferujemy, det har gor jag, det har gor vi, vad vi gor, vad jag gor, vi erbjuder, hvad vi laver, vi tilbyder, hva vi gjor, co nabizime, co delame, nabizime, o que fazemos, o que oferecemos, mita teemme, what i do, what we offer, what i offer, how we can help, how we help, practice areas, areas of practice" }
words! { ABOUT: "about, about us, uber uns, wir uber uns, a propos, qui sommes-nous, sobre nosotros, quienes somos, chi siamo, over ons, sobre, sobre nos, o nas, om oss, om os, our story, team, history, geschichte, histoire, meista, el estudio, the studio" }

/// More words of a page are not looked at to know its language.
const LANGUAGE_WORDS_MAX: usize = 3_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_by_path_heading_and_title() {
        let check = |path: &str, title: &str, heading: &str, expected: Topic| {
            assert_eq!(topic(path, title, heading), expected, "{path} {title} {heading}")
        };
        check("/", "Menu of the day", "", Topic::Home);
        check("/la-carta/", "", "", Topic::Menu);
        check("/impressum.html", "", "", Topic::Imprint);
        check("/mentions-legales", "", "", Topic::Imprint);
        check("/p/3", "", "Häufige Fragen", Topic::Faq);
        check("/x", "Kontakt – Praxis", "Willkommen", Topic::Contact);
        check("/x", "x", "x", Topic::Other);
    }

    #[test]
    fn languages_by_small_words() {
        assert_eq!(
            language("wir sind fur sie da und das mit der besten laune von allen"),
            Some("de")
        );
        assert_eq!(language("a b c"), None);
    }
}
