//! A site that is out to have its text taken for markup: payloads wherever a page of ours might
//! show what a site says.

use curtsy_lab::sites::{Answer, Body, Host, Sitemap};
use serde_json::{Value, json};

use crate::shapes::SHAPES;

/// The site, and what is planted on it.
pub(crate) struct Hostile {
    pub(crate) hosts: Vec<Host>,
    /// Each payload with its mark and where it is.
    pub(crate) planted: Vec<Value>,
    /// Pages that a person would name.
    pub(crate) paths: Vec<String>,
}

/// Pages that are named: as many as may be.
const NAMED: usize = 50;
/// The page whose answer is held back until those before it were seen on the page of the run at
/// work.
const HELD: usize = 40;
/// Pages of each kind that a run finds by itself.
const FOUND: usize = 4;

/// The site.
pub(crate) fn site() -> Hostile {
    let mut garden = Garden::default();
    let mut robots = String::from("User-agent: *\n");
    let mut host = Host::named("hostile.test");
    let mut paths = Vec::new();
    for number in 0..NAMED {
        let prefix = format!("/x/{number}/");
        let said = one_line(&garden.plant("robots.txt"));
        match number % 10 {
            // One of ten is forbidden.
            9 => robots.push_str(&format!("Disallow: {prefix} # {said}\n")),
            _ => robots.push_str(&format!("Allow: {prefix} # {said}\n")),
        }
        let path = match number % 2 {
            0 => in_address(&garden.plant("address")),
            _ => percent(&garden.plant("address, encoded")),
        };
        paths.push(format!("{prefix}{path}"));
        let mut said = answer(&mut garden, number, &format!("{prefix}*"));
        if number == HELD {
            said = said.behind("hostile");
        }
        host = host.says_unlinked(said);
    }
    let mut found = Vec::new();
    for kind in ["about", "services", "contact", "menu", "faq"] {
        for number in 0..FOUND {
            let prefix = format!("/{kind}-{number}/");
            found.push(format!("{prefix}{}", percent(&garden.plant("sitemap"))));
            host = host.says_unlinked(answer(&mut garden, number, &format!("{prefix}*")));
        }
    }
    let rule = one_line(&garden.plant("robots.txt, found"));
    robots.push_str(&format!(
        "Disallow: /no/ # {rule}\nAllow: / # {}\n",
        one_line(&garden.plant("robots.txt, found"))
    ));
    found.push(format!("/no/{}", percent(&garden.plant("forbidden address"))));
    let sitemap = Sitemap { path: "/sitemap.xml".to_owned(), locs: found, ..Sitemap::default() };
    robots.push_str("Sitemap: {base}/sitemap.xml\n");
    let home = document(&mut garden, 0);
    let home = Answer::to("/").body(Body::Html(home));
    Hostile {
        hosts: vec![host.robots(&robots).sitemap(sitemap).says_unlinked(home)],
        planted: garden.planted,
        paths,
    }
}

/// What is planted, and where.
#[derive(Default)]
struct Garden {
    planted: Vec<Value>,
}

impl Garden {
    /// Another payload. All shapes come to all places, in turn.
    fn plant(&mut self, place: &str) -> String {
        let number = self.planted.len();
        let mark = format!("xss{number}x");
        let before = self.planted.iter().filter(|planted| planted["place"] == place).count();
        // Places begin with different shapes.
        let first = place.bytes().fold(0, |sum, byte| sum * 31 % 1_009 + usize::from(byte));
        let text = SHAPES[(first + before) % SHAPES.len()].replace("{m}", &mark);
        self.planted.push(json!({"mark": mark, "place": place, "text": text}));
        text
    }
}

/// The answer for one page: most are documents, some lead elsewhere or refuse.
fn answer(garden: &mut Garden, number: usize, path: &str) -> Answer {
    match number {
        11 => Answer::moved(path, 302, &one_line(&garden.plant("redirect"))),
        17 => {
            Answer::moved(path, 301, &format!("/to/{}", in_address(&garden.plant("redirect path"))))
        }
        23 => Answer::moved(
            path,
            302,
            &format!("javascript:__xss('{}')", percent(&garden.plant("redirect, javascript:"))),
        ),
        31 => Answer::to(path).status(403),
        37 => Answer::to(path).status(404).body(Body::Html(document(garden, number))),
        41 => {
            let kind = format!("Content-Type: {}", one_line(&garden.plant("Content-Type")));
            Answer::to(path).header(&kind).body(Body::Html(document(garden, number)))
        }
        _ => Answer::to(path).body(Body::Html(document(garden, number))),
    }
}

/// A page of a business that says payloads in every place that is read for tiles.
fn document(garden: &mut Garden, number: usize) -> String {
    let mut say = |place: &str| escaped(&garden.plant(place));
    let title = say("title");
    let description = say("meta description");
    let (heading, service, other) = (say("heading"), say("service"), say("service"));
    let (dish, plan, product) = (say("dish"), say("price table"), say("product"));
    let (question, answer) = (say("question"), say("answer"));
    let (phone, mail, link) = (say("tel: link"), say("mailto: link"), say("link"));
    let (street, hours) = (say("address"), say("opening hours"));
    let raw = garden.plant("markup as it is");
    let objects = structured(garden, number).to_string().replace('<', "\\u003c");
    format!(
        "<!doctype html><html lang=en><head><meta charset=utf-8><title>{title}</title>\
        <meta name=description content=\"{description}\"><meta property=og:site_name content=\"{heading}\">\
        <script type=application/ld+json>{objects}</script></head><body><h1>{heading}</h1>\
        <h2>Our services</h2><ul><li>{service}</li><li>{other}</li></ul>\
        <h2>Menu</h2><ul><li>{dish} <span>£9.50</span></li><li>Bread {dish} £2.50</li></ul>\
        <h2>Prices</h2><table><tr><th>Plan</th><th>Price</th></tr><tr><td>{plan}</td><td>£{number}.50 a month</td></tr></table>\
        <h2>Shop</h2><div><h3>{product}</h3><p>£12.00</p><button>Add to basket</button></div>\
        <h2>Frequently asked questions</h2><details><summary>{question}?</summary><p>{answer}</p></details>\
        <h2>Contact</h2><address>{street}<br>1{number} High Street {street}<br>London N1 9GU</address>\
        <p><a href=\"tel:+4420794601{number:02}{phone}\">{phone} 020 7946 01{number:02}</a>\
        <a href=\"mailto:{mail}@hostile.example\">{mail} m{number}@hostile.example</a> <a href=\"{link}\">{link}</a></p>\
        <p>Opening hours: Monday {hours} 09:00 - 17:00</p>{raw}</body></html>"
    )
}

/// The same as structured data. What is read as HTML there is escaped, what is read as it is stands
/// so.
fn structured(garden: &mut Garden, number: usize) -> Value {
    let mut say = |place: &str| escaped(&garden.plant(place));
    let mut business = json!({
        "@type": "Restaurant",
        "name": say("JSON-LD name"),
        "description": say("JSON-LD description"),
        "telephone": [format!("+44 20 7946 02{number:02} {}", say("JSON-LD phone")), say("JSON-LD phone")],
        "email": [say("JSON-LD e-mail"), format!("{}@hostile.example", say("JSON-LD e-mail"))],
        "priceRange": say("JSON-LD price range"),
        "openingHours": say("JSON-LD hours"),
        "address": {
            "@type": "PostalAddress",
            "streetAddress": format!("{number} {}", say("JSON-LD street")),
            "postalCode": say("JSON-LD postal code"),
            "addressLocality": say("JSON-LD town"),
            "addressRegion": say("JSON-LD region"),
            "addressCountry": say("JSON-LD country"),
        },
        "hasMenu": {"@type": "Menu", "hasMenuSection": {
            "@type": "MenuSection",
            "name": say("JSON-LD menu section"),
            "hasMenuItem": {
                "@type": "MenuItem",
                "name": say("JSON-LD dish"),
                "description": say("JSON-LD dish description"),
                "offers": {"@type": "Offer", "price": say("JSON-LD price"), "priceCurrency": say("JSON-LD currency")},
            },
        }},
    });
    business["url"] = json!(garden.plant("JSON-LD address"));
    let mut bare = |place: &str| json!({"@value": garden.plant(place)});
    let offer = json!({"@type": "Offer", "price": "9.50", "priceCurrency": "GBP"});
    json!({"@context": "https://schema.org", "@graph": [
        business,
        {"@type": "Product", "name": bare("JSON-LD product"), "description": bare("JSON-LD product description"), "offers": offer},
        {"@type": "Service", "name": bare("JSON-LD service"), "description": bare("JSON-LD service description"), "offers": offer},
        {"@type": "Question", "name": bare("JSON-LD question"), "acceptedAnswer": {"@type": "Answer", "text": bare("JSON-LD answer")}},
        {"@type": "MenuItem", "name": bare("JSON-LD bare dish"), "offers": offer},
    ]})
}

/// As HTML writes it, so that whoever reads the page has the payload in hand.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn one_line(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// As a careless hand puts it into an address: only what would end the address is encoded.
fn in_address(text: &str) -> String {
    let ends = |c: char| c.is_control() || c.is_whitespace() || "#?\\%".contains(c);
    text.chars().map(|c| if ends(c) { percent(&c.to_string()) } else { c.to_string() }).collect()
}

fn percent(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
