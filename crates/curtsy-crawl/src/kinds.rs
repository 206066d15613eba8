//! What a page is about, by its address. A plan and a sample take some pages of each kind.

use curtsy_core::url::CrawlUrl;

curtsy_core::word_enum! {
    /// What a page is about, in the order in which a sample takes pages (seed 004: "homepage,
    /// about, services, contact" first).
    pub enum PageKind {
        /// The first page of the site.
        Homepage = "homepage",
        /// About pages, team, company info.
        About = "about",
        /// Service offerings, features.
        Services = "services",
        /// Contact information.
        Contact = "contact",
        /// Pricing pages, plans.
        Pricing = "pricing",
        /// Restaurant menus, food items.
        Menu = "menu",
        /// Product catalogs, items.
        Products = "products",
        /// FAQ pages, help content.
        Faq = "faq",
        /// Anything else.
        Other = "other",
    }
}

impl PageKind {
    /// What a page is about, by its address.
    ///
    /// ```
    /// use curtsy_core::url::CrawlUrl;
    /// use curtsy_crawl::PageKind;
    /// let kind = |url: &str| PageKind::of(&CrawlUrl::parse(url).unwrap());
    /// assert_eq!(kind("https://a.example/"), PageKind::Homepage);
    /// assert_eq!(kind("https://a.example/ueber-uns.html"), PageKind::About);
    /// assert_eq!(kind("https://a.example/blog/menu-of-the-day"), PageKind::Menu);
    /// ```
    pub fn of(url: &CrawlUrl) -> PageKind {
        let path = url.path_and_query().to_ascii_lowercase();
        if path == "/" {
            return PageKind::Homepage;
        }
        let says = |(_, words): &&(PageKind, &[&str])| words.iter().any(|word| path.contains(word));
        SIGNS.iter().find(says).map_or(PageKind::Other, |(kind, _)| *kind)
    }
}

/// Parts of words in URLs, in lower case, in the languages that are frequent on small sites.
#[rustfmt::skip]
const SIGNS: &[(PageKind, &[&str])] = &[
    (PageKind::About, &[
        "about", "company", "/team", "who-we-are", "our-story", "ueber-uns", "uber-uns", "wir-ueber", "a-propos", "qui-sommes",
        "nosotros", "quienes-somos", "chi-siamo", "over-ons", "sobre", "quem-somos", "o-nas", "om-oss", "om-os", "unternehmen",
    ]),
    (PageKind::Services, &[
        "service", "what-we-do", "solutions", "features", "leistung", "prestation", "servicio", "servizi", "diensten", "servico",
        "uslugi", "tjanster", "ydelser", "behandlung", "treatments", "angebot",
    ]),
    (PageKind::Contact, &[
        "contact", "kontakt", "contatti", "contacto", "contato", "location", "find-us", "anfahrt", "impressum", "imprint",
        "opening", "oeffnungszeit", "horaires", "visit",
    ]),
    (PageKind::Pricing, &["pric", "rates", "plans", "preis", "tarif", "prix", "precio", "prezzi", "preco", "cennik", "priser"]),
    (PageKind::Menu, &["menu", "speise", "getraenke", "carte", "carta", "cardapio", "food", "drinks", "jidelni", "meny"]),
    (PageKind::Products, &[
        "product", "produ", "shop", "store", "item", "catalog", "collection", "boutique", "tienda", "negozio", "winkel", "sklep",
    ]),
    (PageKind::Faq, &["faq", "help", "questions", "fragen", "preguntas", "domande", "vragen", "duvidas"]),
];
