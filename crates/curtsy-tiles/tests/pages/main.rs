//! Small pages with one way of writing each, and what they say. None of them is from the corpus.

mod dishes;

use curtsy_core::url::CrawlUrl;
use curtsy_tiles::{Contact, PageText, TileFact, extract};

/// The facts of a page at `path`, one a line, without its name.
fn facts(path: &str, html: &str) -> String {
    facts_of_site(&[(path, html)])
}

/// The facts of several pages of a site, one a line, without its name.
fn facts_of_site(pages: &[(&str, &str)]) -> String {
    let urls: Vec<CrawlUrl> = pages
        .iter()
        .map(|(path, _)| CrawlUrl::parse(&format!("https://www.test.example{path}")).unwrap())
        .collect();
    let texts: Vec<PageText<'_>> = urls
        .iter()
        .zip(pages)
        .map(|(url, (_, html))| PageText {
            url,
            content_type: Some("text/html; charset=utf-8"),
            body: html.as_bytes(),
        })
        .collect();
    let tiles = extract(&texts);
    let lines = tiles.into_iter().filter_map(|tile| {
        Some(match tile.fact {
            TileFact::About { .. } => return None,
            TileFact::Services { name, .. } => format!("service {name}"),
            TileFact::Pricing { name, amount, currency, period } => {
                format!("price {name}: {amount} {currency} {period:?}")
            }
            TileFact::Contact(Contact::Phone(phone)) => format!("phone {phone}"),
            TileFact::Contact(Contact::Email(email)) => format!("email {email}"),
            TileFact::Contact(Contact::Address(address)) => format!(
                "at {}, {} {}",
                address.street,
                address.postal_code.unwrap_or_default(),
                address.locality
            ),
            TileFact::Contact(Contact::Hours(hours)) => {
                format!("{:?} {}-{}", hours.day, hours.opens, hours.closes)
            }
            TileFact::Menu { section, name, amount, currency, .. } => format!(
                "dish {}/{name}: {} {}",
                section.unwrap_or_default(),
                amount.unwrap_or_default(),
                currency.unwrap_or_default()
            )
            .trim_end()
            .to_owned(),
            TileFact::Products { name, amount, currency, .. } => format!(
                "product {name}: {} {}",
                amount.unwrap_or_default(),
                currency.unwrap_or_default()
            ),
            TileFact::Faq { question, answer } => format!("{question} -> {answer}"),
        })
    });
    lines.collect::<Vec<_>>().join("\n")
}

pub(crate) fn check(path: &str, html: &str, expected: &str) {
    let expected: Vec<&str> =
        expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(facts(path, html), expected.join("\n"), "{html}");
}

pub(crate) fn check_site(pages: &[(&str, &str)], expected: &str) {
    let expected: Vec<&str> =
        expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(facts_of_site(pages), expected.join("\n"), "{pages:?}");
}

#[test]
fn treatments_in_boxes_of_lines() {
    check(
        "/preise",
        "<html lang=de><h1>Preise</h1><div class=x><p>Rückenmassage</p><p>30 min</p><p>45 €</p></div><div class=x><p>Ganzkörpermassage</p><p>60 min</p><p>75 €</p></div>",
        "price Rückenmassage: 45 EUR Once
         price Ganzkörpermassage: 75 EUR Once",
    );
}

#[test]
fn a_price_inside_its_heading() {
    check(
        "/prices",
        "<html lang=en-GB><h1>Prices</h1><h3>Wet cut <span>£24</span></h3><p>With a wash.</p><h3>Beard trim <span>£12.50</span></h3><p>Hot towel.</p>",
        "price Wet cut: 24 GBP Once
         price Beard trim: 12.50 GBP Once",
    );
}

#[test]
fn a_price_before_its_name() {
    check(
        "/tickets",
        "<html lang=en-GB><h1>Tickets</h1><ul><li>£9 Adults<li>£4.50 Children</ul>",
        "price Adults: 9 GBP Once
         price Children: 4.50 GBP Once",
    );
    check(
        "/pricing",
        "<html lang=en-US><h1>Pricing</h1><div class=c><div class=p>$45</div><h3>Tune-up</h3><p>Brakes and gears.</p></div><div class=c><div class=p>$90</div><h3>Overhaul</h3><p>Everything.</p></div>",
        "price Tune-up: 45 USD Once
         price Overhaul: 90 USD Once",
    );
}

#[test]
fn a_period_in_a_cell_or_a_head_of_its_own() {
    check(
        "/zimmer",
        "<html lang=de><h1>Zimmer</h1><table><tr><td>Einzelzimmer<td>ab 65 €<td>pro Nacht<tr><td>Doppelzimmer<td>89 €<td>pro Nacht</table>",
        "price Einzelzimmer: 65 EUR Night
         price Doppelzimmer: 89 EUR Night",
    );
    check(
        "/rates",
        "<html lang=en-IE><h1>Rates</h1><table><tr><th>Boat<th>Per hour<th>Per day<tr><td>Kayak<td>€15<td>€50</table>",
        "price Kayak: 15 EUR Hour
         price Kayak: 50 EUR Day",
    );
}

#[test]
fn two_pairs_in_a_row() {
    check(
        "/eintritt",
        "<html lang=de><h1>Eintritt</h1><table><tr><td>Erwachsene<td>12 €<td>Kinder<td>6 €</table>",
        "price Erwachsene: 12 EUR Once
         price Kinder: 6 EUR Once",
    );
}

#[test]
fn menus_without_signs() {
    check(
        "/speisekarte",
        "<html lang=de><h1>Speisekarte</h1><h2>Suppen</h2><p>Tagessuppe ..... 4,80<br>Gulaschsuppe ..... 6,90</p><h2>Hauptgerichte</h2><p>Käsespätzle ..... 11,50<br>Schnitzel ..... 15,20</p>",
        "dish Suppen/Tagessuppe: 4.80 EUR
         dish Suppen/Gulaschsuppe: 6.90 EUR
         dish Hauptgerichte/Käsespätzle: 11.50 EUR
         dish Hauptgerichte/Schnitzel: 15.20 EUR",
    );
}

#[test]
fn a_page_of_one_product() {
    check(
        "/products/blue-jug",
        "<html lang=en-GB><main><h1>Blue jug</h1><div class=price>£32.00</div><p>Tax included. Shipping calculated at checkout.</p><p>Thrown by hand.</p><button>Add to cart</button></main>",
        "product Blue jug: 32.00 GBP",
    );
}

#[test]
fn goods_of_a_shop_without_a_basket() {
    check(
        "/",
        "<html lang=fr><title>Savonnerie du Port</title><meta name=description content='Savons et bougies, boutique à Brest'><h1>Nos savons</h1>
         <figure><img src=a><figcaption>Savon à l’avoine, 6,50 €</figcaption></figure><figure><img src=b><figcaption>Savon au miel, 7 €</figcaption></figure>",
        "product Savon à l’avoine: 6.50 EUR
         product Savon au miel: 7 EUR",
    );
}

#[test]
fn prices_in_running_text_are_no_list() {
    check(
        "/about",
        "<html lang=en-GB><h1>About us</h1><p>In 1985 our first loaf cost 40p and the rent was £50 a week.<p>Last year we raised £1,200 for the lifeboat.",
        "",
    );
    check(
        "/",
        "<html lang=de><h1>Willkommen</h1><p>Ab 50 € Bestellwert liefern wir frei Haus, sonst für 4,90 €. Sie sparen bis zu 20 €.",
        "",
    );
}

#[test]
fn a_table_with_opening_and_closing_in_two_cells() {
    check(
        "/hours",
        "<html lang=en-GB><h1>Opening hours</h1><table><tr><th>Day<th>Open<th>Close<tr><td>Monday<td>09:00<td>17:00<tr><td>Tuesday<td>10:00<td>16:00<tr><td>Wednesday<td colspan=2>Closed</table>",
        "Mo 09:00-17:00\nTu 10:00-16:00",
    );
}

#[test]
fn daily_but_for_a_day_on_the_next_line() {
    check(
        "/kontakt",
        "<html lang=de><h1>Öffnungszeiten</h1><p>Samstag bis Montag 11–22 Uhr<br>Kein Ruhetag",
        "Mo 11:00-22:00\nSa 11:00-22:00\nSu 11:00-22:00",
    );
    check(
        "/kontakt",
        "<html lang=de><h1>Öffnungszeiten</h1><p>Am Wochenende 11–22 Uhr<br>Sonntag geschlossen",
        "Sa 11:00-22:00",
    );
}

#[test]
fn contacts_of_others_are_not_ours() {
    let html = "<html lang=de><title>Gärtnerei Lindner</title><h1>Kontakt</h1><p>Gärtnerei Lindner<br>Feldweg 8<br>04103 Leipzig<br>Telefon 0341 / 555 01 20</p>
        <p>Hosting: Serverhaus AG, Rackstraße 1, 10115 Berlin, Tel. 030 555 99 00</p><p>Unser Nachbar, der Imker Vogt (0341 555 77 00), verkauft Honig.</p>
        <p>IBAN DE12 3456 7890 1234 5678 90, Steuernummer 231/555/01234</p>";
    check("/kontakt", html, "phone +493415550120\nat Feldweg 8, 04103 Leipzig");
}

#[test]
fn questions_need_company() {
    check("/", "<html lang=en><h2>Hungry?</h2><p>Book a table.</p>", "");
    check(
        "/faq",
        "<html lang=en><h1>FAQ</h1><p><b>Can I park?</b> Yes, behind the house.</p><p><b>Are dogs welcome?</b> Only small ones.</p>",
        "Can I park? -> Yes, behind the house.\nAre dogs welcome? -> Only small ones.",
    );
    check(
        "/faq",
        "<html lang=en><h1>Questions</h1><p>Q: Do you ship?</p><p>A: Within Ireland.</p><p>Q: Do you gift-wrap?</p><p>A: Yes.</p>",
        "Do you ship? -> Within Ireland.\nDo you gift-wrap? -> Yes.",
    );
}

#[test]
fn services_in_boxes_lists_and_paragraphs() {
    check(
        "/services",
        "<html lang=en><h1>Our services</h1><div class=g><div class=s><div>Rewiring</div><div>Old houses a speciality.</div></div><div class=s><div>Fuse boxes</div><div>Replaced in a day.</div></div><div class=s><div>EV chargers</div><div>All makes.</div></div></div>",
        "service Rewiring\nservice Fuse boxes\nservice EV chargers",
    );
    check(
        "/leistungen",
        "<html lang=de><h1>Leistungen</h1><p><strong>Dachsanierung</strong> vom First bis zur Traufe</p><p><strong>Gauben</strong> nach Maß</p>",
        "service Dachsanierung\nservice Gauben",
    );
}

/// Names and prices of a page, as `name amount period`, in order.
fn priced(path: &str, html: &str) -> Vec<String> {
    let url = CrawlUrl::parse(&format!("https://shop.example{path}")).unwrap();
    let page = PageText { url: &url, content_type: Some("text/html"), body: html.as_bytes() };
    let mut all: Vec<String> = extract(&[page])
        .into_iter()
        .filter_map(|tile| match tile.fact {
            TileFact::Pricing { name, amount, period, .. } => {
                Some(format!("{name} {amount} {period:?}"))
            }
            TileFact::Menu { name, amount, .. } | TileFact::Products { name, amount, .. } => {
                Some(format!("{name} {}", amount.unwrap_or_default()))
            }
            _ => None,
        })
        .collect();
    all.sort();
    all
}

#[test]
fn names_may_follow_prices_and_periods_stand_beside() {
    let html = "<h1>Hire</h1><div><div>€12</div><div>Fondue pot</div><div>per day</div>\
        <div>€25</div><div>Raclette stove</div><div>per day</div></div>";
    assert_eq!(priced("/prices", html), ["Fondue pot 12 Day", "Raclette stove 25 Day"]);
}

#[test]
fn sizes_belong_to_what_is_named_above_them() {
    let html = "<h1>Menu</h1><ul><li>Soup of the day<ul><li>Half £4.20</li><li>Full £6.80</li></ul></li>\
        <li>Rarebit<ul><li>Half £5.50</li><li>Full £8.40</li></ul></li></ul>";
    let expected = ["Rarebit 5.50", "Rarebit 8.40", "Soup of the day 4.20", "Soup of the day 6.80"];
    assert_eq!(priced("/menu", html), expected);
}

#[test]
fn rows_are_named_by_the_column_that_tells_them_apart() {
    let html = "<html lang=fr><h1>Menu</h1><p>Prix en euros.<table><tr><th>Region<th>Wine<th>Glass<th>Bottle</tr>\
        <tr><td rowspan=2>Loire<td>Muscadet<td>4,50<td>24</tr><tr><td>Chinon<td>6<td>32</tr>\
        <tr><td>Rhone<td>Crozes<td>7<td>41</tr></table>";
    let expected =
        ["Chinon 32", "Chinon 6", "Crozes 41", "Crozes 7", "Muscadet 24", "Muscadet 4.50"];
    assert_eq!(priced("/menu", html), expected);
}

#[test]
fn prices_told_in_passing_are_nobodys() {
    let html = "<h1>Prices</h1><ul><li>Haircut £30</li><li>Shave £18</li></ul>\
        <p>The network charges £46 for a seal; we pass it on at cost. Ring us to ask.</p>";
    assert_eq!(priced("/prices", html), ["Haircut 30 Once", "Shave 18 Once"]);
}

#[test]
fn bare_numbers_are_prices_where_they_stand_together() {
    let html = "<html lang=en-GB><h1>Drinks</h1><pre>\nBEER\nLager - half 2.5 / pint 4.8\nStout - half 2.7 / pint 5.2\nMild - half 2.4 / pint 4.6\n</pre>";
    let expected = ["Lager 2.5", "Lager 4.8", "Mild 2.4", "Mild 4.6", "Stout 2.7", "Stout 5.2"];
    assert_eq!(priced("/drinks", html), expected);
}

#[test]
fn notes_hold_for_what_stands_under_their_heading() {
    let html = "<h1>Rooms</h1><p>Prices are per room and per night.</p><table><tr><td>Loft<td>£110</tr></table>\
        <h2>Extras</h2><ul><li>Airport transfer £78</li></ul>";
    assert_eq!(priced("/rooms", html), ["Airport transfer 78 Once", "Loft 110 Night"]);
}

#[test]
fn what_visitors_see_is_newer_than_structured_data() {
    let url = CrawlUrl::parse("https://shop.example/").unwrap();
    let body = br#"<script type="application/ld+json">{"@type":"Store","name":"Shop","telephone":"+44 20 7946 0123",
        "openingHours":["Mo-Fr 09:00-18:00"]}</script><h1>Shop</h1><p>Open Mon to Thu 10am-4pm</p>"#;
    let page = PageText { url: &url, content_type: Some("text/html"), body };
    let hours: Vec<String> = extract(&[page])
        .into_iter()
        .filter_map(|tile| match tile.fact {
            TileFact::Contact(Contact::Hours(hours)) => {
                Some(format!("{:?} {}-{}", hours.day, hours.opens, hours.closes))
            }
            _ => None,
        })
        .collect();
    let expected = ["Mo 10:00-16:00", "Tu 10:00-16:00", "We 10:00-16:00", "Th 10:00-16:00"];
    assert_eq!(hours, expected);
}

#[test]
fn dishes_of_courses_may_go_without_a_price() {
    let html = "<html lang=en-GB><h1>Lunch</h1><p>Two courses £19</p><h2>Starters</h2><ul><li>Leek soup</li><li>Terrine</li></ul>";
    assert_eq!(priced("/menu", html), ["Leek soup ", "Terrine ", "Two courses 19"]);
}

#[test]
fn commas_inside_numbers_separate_nothing() {
    let html = "<html lang=nl><h1>Kaart</h1><ul><li>Koffie 2,90</li><li>Thee 2,80</li><li>Cappuccino klein 3,20 groot 3,90</li>\
        <li>Bier 0,2 l 3,00 – 0,4 l 5,00</li></ul>";
    let expected = [
        "Bier 3.00",
        "Bier 5.00",
        "Cappuccino 3.20",
        "Cappuccino 3.90",
        "Koffie 2.90",
        "Thee 2.80",
    ];
    assert_eq!(priced("/kaart", html), expected);
}

#[test]
fn what_describes_a_priced_heading_is_no_dish() {
    let html = "<html lang=de><h1>Karte</h1><h3>Kleines Frühstück 6,80</h3><p>1 Brötchen, Butter, Kaffee</p>\
        <h3>Großes Frühstück 12,40</h3><p>2 Brötchen, Käse, Ei</p><h3>Süßes Frühstück 7,90</h3><p>Croissant, Honig</p>";
    let expected = ["Großes Frühstück 12.40", "Kleines Frühstück 6.80", "Süßes Frühstück 7.90"];
    assert_eq!(priced("/speisekarte", html), expected);
}

#[test]
fn the_sign_may_be_the_point() {
    check(
        "/carte",
        "<html lang=fr><h1>La carte</h1><h2>Galettes</h2><p><b>Complète</b> ..... 9€20</p><p><b>Beurre</b> ..... 3€80</p>",
        "dish Galettes/Complète: 9.20 EUR
         dish Galettes/Beurre: 3.80 EUR",
    );
}

#[test]
fn small_words_with_a_capital_are_names() {
    check(
        "/pricing",
        "<html lang=en-GB><h1>Pricing</h1><table><tr><td>Licence class A</td><td>£420</td></tr><tr><td>Class from</td><td>£40</td></tr></table><div class=p><h3>Solo</h3><p>£8 per month</p></div><div class=p><h3>Team</h3><p>£19 per month</p></div>",
        "price Licence class A: 420 GBP Once
         price Class: 40 GBP Once
         price Solo: 8 GBP Month
         price Team: 19 GBP Month",
    );
}

#[test]
fn a_class_of_most_of_the_page_is_no_part() {
    check(
        "/prices",
        "<html lang=en-GB><div class=not-footer><h1>Prices</h1><ul><li>Under 12s £13</li><li>Screen replacement £45</li></ul></div>",
        "price Under 12s: 13 GBP Once
         price Screen replacement: 45 GBP Once",
    );
}

#[test]
fn old_prices_and_quoted_ones_are_none() {
    check(
        "/preise",
        "<html lang=de><h1>Preise</h1><ul><li>Schnitt <s>39</s> 35 €</li><li>Färben 60 €</li></ul><p>Gast: „Für 90 Euro haben wir so viel bekommen!“</p><h3>Alte Preise (nicht mehr gültig)</h3><ul><li>Schnitt 20 €</li></ul>",
        "price Schnitt: 35 EUR Once
         price Färben: 60 EUR Once",
    );
}

#[test]
fn a_question_may_be_over_a_list() {
    check(
        "/preise",
        "<html lang=de><h1>Was kostet das?</h1><div class=r><div>Meisterstunde</div><div>74 €/Std.</div></div><div class=r><div>Tür kürzen</div><div>ab 45 €</div></div>",
        "price Meisterstunde: 74 EUR Hour
         price Tür kürzen: 45 EUR Once",
    );
}

#[test]
fn plans_side_by_side_have_numbers_that_are_no_prices() {
    check(
        "/pricing",
        "<html lang=en-US><h1>Pricing</h1><table><tr><th></th><th>Solo</th><th>Team</th></tr><tr><td>Price</td><td>$9/mo</td><td>$29/mo</td></tr><tr><td>Users</td><td>1</td><td>30</td></tr><tr><td>Items</td><td>200</td><td>5000</td></tr></table>",
        "price Solo: 9 USD Month
         price Team: 29 USD Month",
    );
}

#[test]
fn numbers_in_tables_may_have_a_period() {
    check(
        "/prices",
        "<html lang=en><p>Phone: +49 30 23125 077</p><h1>Prices</h1><table><tr><td>Certificate</td><td>69.00 per year</td></tr><tr><td>Expert time</td><td>96.00 per hour</td></tr><tr><td>Setup</td><td>75.00 once</td></tr></table>",
        "price Certificate: 69.00 EUR Year
         price Expert time: 96.00 EUR Hour
         price Setup: 75.00 EUR Once
         phone +493023125077",
    );
}

#[test]
fn one_price_for_all_dishes_below() {
    check(
        "/menu",
        "<html lang=en-US><h1>Menu</h1><div><h2>Tacos</h2><p>All tacos $3.75 each, on corn.</p><div><h4>Al pastor</h4><p>Pork</p></div><div><h4>Suadero</h4><p>Brisket</p></div></div>",
        "dish Tacos/Al pastor: 3.75 USD
         dish Tacos/Suadero: 3.75 USD",
    );
}

#[test]
fn rows_of_sizes_are_of_the_heading() {
    check(
        "/services",
        "<html lang=en-GB><h1>Grooming</h1><h3>Full groom</h3><table><tr><td>Small (under 9 kg)</td><td>£35</td></tr><tr><td>Large</td><td>£55</td></tr></table>",
        "price Full groom: 35 GBP Once
         price Full groom: 55 GBP Once",
    );
}

#[test]
fn seasons_share_the_name_and_the_period() {
    check(
        "/zimmer",
        "<html lang=de><h1>Zimmer</h1><div class=z><h2>Zimmer Enzian</h2><p>Sommer: € 48,- Winter: € 62,- pro Person und Nacht</p></div><div class=z><h2>Zimmer Arnika</h2><p>Sommer: € 55,- Winter: € 69,- pro Person und Nacht</p></div>",
        "price Zimmer Enzian: 48 EUR Night
         price Zimmer Enzian: 62 EUR Night
         price Zimmer Arnika: 55 EUR Night
         price Zimmer Arnika: 69 EUR Night",
    );
}

#[test]
fn columns_of_ages_are_no_plans() {
    check(
        "/prices",
        "<html lang=en-GB><h1>Prices</h1><table><tr><th></th><th>Adult</th><th>Concession</th></tr><tr><td>Single visit</td><td>£12</td><td>£10</td></tr><tr><td>Monthly pass</td><td>£48</td><td>£42</td></tr></table>",
        "price Single visit: 12 GBP Once
         price Single visit: 10 GBP Once
         price Monthly pass: 48 GBP Month
         price Monthly pass: 42 GBP Month",
    );
}

#[test]
fn units_belong_to_the_price_before() {
    check(
        "/preise",
        "<html lang=de><h1>Preise</h1><ul><li>Bettwäsche 12 € pro Person, Fahrräder 8 € pro Tag</li><li>Sauna 15 €</li></ul>",
        "price Bettwäsche: 12 EUR Once
         price Fahrräder: 8 EUR Day
         price Sauna: 15 EUR Once",
    );
}
