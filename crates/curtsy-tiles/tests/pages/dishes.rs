//! What a house serves, in the ways in which menus are written, and what stands beside them.

use crate::{check, check_site};

#[test]
fn numbers_that_count_dishes_are_no_prices() {
    check(
        "/speisekarte",
        "<html lang=de><h1>Speisekarte</h1><h2>Suppen</h2><div class=d><span>7</span><div><b>Linsensuppe</b></div><i>4,50 €</i></div><div class=d><span>8</span><div><b>Zwiebelsuppe</b></div><i>5,20 €</i></div><div class=d><span>9</span><div><b>Fischsuppe</b></div><i>7,90 €</i></div>",
        "dish Suppen/Linsensuppe: 4.50 EUR
         dish Suppen/Zwiebelsuppe: 5.20 EUR
         dish Suppen/Fischsuppe: 7.90 EUR",
    );
}

#[test]
fn minimum_orders_are_no_dishes() {
    check(
        "/menu",
        "<html lang=en-GB><title>Curry house</title><h1>Menu</h1><h2>Mains</h2><ul><li>Lamb curry £11.50</li><li>Chicken curry £10.50</li></ul><h2>To your door</h2><table><tr><th>Area</th><th>Minimum</th><th>Fee</th></tr><tr><td>Old Town</td><td>£15.00</td><td>£2.00</td></tr><tr><td>Harbour</td><td>£20.00</td><td>£3.00</td></tr></table>",
        "dish Mains/Lamb curry: 11.50 GBP
         dish Mains/Chicken curry: 10.50 GBP",
    );
}

#[test]
fn what_a_house_teaches_is_not_served() {
    check(
        "/menu",
        "<html lang=en-GB><title>Bean Cafe</title><h1>Menu</h1><h2>Coffee</h2><ul><li>Espresso £2.40</li><li>Flat white £3.20</li></ul><h2>Coffee workshops</h2><ul><li>Latte art £35</li><li>Espresso basics £45</li></ul>",
        "price Latte art: 35 GBP Once
         price Espresso basics: 45 GBP Once
         dish Coffee/Espresso: 2.40 GBP
         dish Coffee/Flat white: 3.20 GBP",
    );
}

#[test]
fn cups_and_pots_are_sizes_of_a_tea() {
    check(
        "/menu",
        "<html lang=en-GB><h1>Menu</h1><h2>Tea</h2><ul><li><h3>Assam</h3><span>Cup £2.80</span> <span>Pot £4.60</span></li><li><h3>Darjeeling</h3><span>Pot £5.10</span></li></ul>",
        "dish Tea/Assam: 2.80 GBP
         dish Tea/Assam: 4.60 GBP
         dish Tea/Darjeeling: 5.10 GBP",
    );
}

#[test]
fn times_of_meals_are_no_prices() {
    check(
        "/menu",
        "<html lang=en-AU><h1>Menu</h1><h2>Dinner from 17.30</h2><p>Lamb shank 29.50</p><p>Beef pie 24.00</p><p>Fish of the day 31.00</p>",
        "dish Dinner from 17.30/Lamb shank: 29.50 AUD
         dish Dinner from 17.30/Beef pie: 24.00 AUD
         dish Dinner from 17.30/Fish of the day: 31.00 AUD",
    );
}

#[test]
fn raised_numbers_are_notes() {
    check(
        "/carte",
        "<html lang=fr><h1>La carte</h1><h2>Plats</h2><p><b>Poulet rôti</b> <sup>2,9</sup> — 14,50 €</p><p><b>Steak frites</b> <sup>1,12</sup> — 17 €</p>",
        "dish Plats/Poulet rôti: 14.50 EUR
         dish Plats/Steak frites: 17 EUR",
    );
}

#[test]
fn marks_of_diets_are_part_of_a_name_unless_the_page_explains_them() {
    check(
        "/menu",
        "<html lang=en-GB><h1>Menu</h1><h2>Mains</h2><ul><li>Nut roast (v) £14</li><li>Fish cakes (3) £12</li><li>Dal 🌶🌶 £11</li></ul>",
        "dish Mains/Nut roast (v): 14 GBP
         dish Mains/Fish cakes (3): 12 GBP
         dish Mains/Dal: 11 GBP",
    );
}

#[test]
fn marks_that_a_page_explains_are_notes() {
    check(
        "/menu",
        "<html lang=en-GB><h1>Menu</h1><p>(v) vegetarian, (n) contains nuts</p><h2>Mains</h2><ul><li>Nut roast (v) (n) £14</li><li>Steak pie £12</li></ul>",
        "dish Mains/Nut roast: 14 GBP
         dish Mains/Steak pie: 12 GBP",
    );
}

#[test]
fn single_numbers_are_notes_where_others_are() {
    check(
        "/carta",
        "<html lang=it><h1>La carta</h1><h2>Primi</h2><ul><li>Lasagne (1, 3, 7) € 11</li><li>Minestrone (9) € 8</li></ul>",
        "dish Primi/Lasagne: 11 EUR
         dish Primi/Minestrone: 8 EUR",
    );
}

#[test]
fn a_dash_in_a_column_names_nothing() {
    check(
        "/menu",
        "<html lang=en-GB><h1>Menu</h1><h2>Tapas</h2><table><tr><th></th><th>Small</th><th>Half</th><th>Large</th></tr><tr><td>Squid</td><td>£4.50</td><td>–</td><td>£9.00</td></tr><tr><td>Olives</td><td>£3.00</td><td>£4.00</td><td>£5.00</td></tr></table>",
        "dish Tapas/Squid: 4.50 GBP
         dish Tapas/Squid: 9.00 GBP
         dish Tapas/Olives: 3.00 GBP
         dish Tapas/Olives: 4.00 GBP
         dish Tapas/Olives: 5.00 GBP",
    );
}

#[test]
fn a_cell_may_have_a_price_for_each_size() {
    check(
        "/menu",
        "<html lang=en-IE><h1>Menu</h1><table><tr><th>Sweet</th><th>€</th></tr><tr><td>Apple cake</td><td>5.00</td></tr><tr><td>Pancakes</td><td>1 pc. 4.00 / 2 pcs. 7.00</td></tr></table>",
        "dish Sweet/Apple cake: 5.00 EUR
         dish Sweet/Pancakes: 4.00 EUR
         dish Sweet/Pancakes: 7.00 EUR",
    );
}

#[test]
fn a_name_over_several_columns_is_in_the_first() {
    check(
        "/menu",
        "<html lang=en-US><h1>Menu</h1><table><tr><td colspan=4><b>TO START</b></td></tr><tr><td colspan=3>Okra</td><td>7.50</td></tr><tr><td colspan=3>Wedge</td><td>8.95</td></tr><tr><td colspan=3>Chili</td><td>5.75</td></tr><tr><td><b>STEAKS</b></td><td>10 oz</td><td>16 oz</td><td>24 oz</td></tr><tr><td>Ribeye</td><td>29.95</td><td>38.95</td><td>52.95</td></tr><tr><td>Strip</td><td>27.95</td><td>36.95</td><td></td></tr></table>",
        "dish TO START/Okra: 7.50 USD
         dish TO START/Wedge: 8.95 USD
         dish TO START/Chili: 5.75 USD
         dish STEAKS/Ribeye: 29.95 USD
         dish STEAKS/Ribeye: 38.95 USD
         dish STEAKS/Ribeye: 52.95 USD
         dish STEAKS/Strip: 27.95 USD
         dish STEAKS/Strip: 36.95 USD",
    );
}

#[test]
fn a_row_may_have_the_price_of_all_rows_below() {
    check(
        "/menu",
        "<html lang=en-GB><h1>Menu</h1><table><tr><td colspan=2><b>BURGERS</b></td></tr><tr><td>Lamb burger</td><td>£6.40</td></tr><tr><td>Bean burger</td><td>£5.90</td></tr><tr><td colspan=2><b>WRAPS</b> - all £7.20</td></tr><tr><td colspan=2>Falafel wrap<br>Chicken wrap</td></tr></table>",
        "dish BURGERS/Lamb burger: 6.40 GBP
         dish BURGERS/Bean burger: 5.90 GBP
         dish WRAPS/Falafel wrap: 7.20 GBP
         dish WRAPS/Chicken wrap: 7.20 GBP",
    );
}

#[test]
fn dishes_between_bars_have_the_price_of_their_heading() {
    check(
        "/menu",
        "<html lang=en-GB><h1>Menu</h1><h2>Mains</h2><ul><li>Stew £12</li><li>Pie £11</li></ul><h2>Puddings, all £6</h2><p>Crumble · Lemon tart · Rice pudding with jam</p>",
        "dish Mains/Stew: 12 GBP
         dish Mains/Pie: 11 GBP
         dish Puddings, all/Crumble: 6 GBP
         dish Puddings, all/Lemon tart: 6 GBP
         dish Puddings, all/Rice pudding with jam: 6 GBP",
    );
}

#[test]
fn a_menu_at_one_price_has_dishes_without_one() {
    check(
        "/menus",
        "<html lang=fr><h1>Nos menus</h1><h2>Menu du marché – 29 €</h2><p>Velouté de courge<br>ou<br>Terrine de canard</p><p>Tarte aux poires</p>",
        "dish Nos menus/Menu du marché: 29 EUR
         dish Menu du marché/Velouté de courge:
         dish Menu du marché/Terrine de canard:
         dish Menu du marché/Tarte aux poires:",
    );
}

#[test]
fn small_print_with_a_price_describes_the_line_above() {
    check(
        "/menu",
        "<html lang=en-GB><h1>Menu</h1><p><b>FROM THE ICE</b><br>Prawn cocktail £9<br>Cured trout<br><i>rhubarb, dill oil</i> £11</p>",
        "dish FROM THE ICE/Prawn cocktail: 9 GBP
         dish FROM THE ICE/Cured trout: 11 GBP",
    );
}

#[test]
fn buttons_may_choose_a_size() {
    check(
        "/menu",
        "<html lang=en-GB><h1>Menu</h1><h2>Bowls</h2><div class=item><h3>Salmon bowl</h3><button>Regular £9.50</button><button>Large £12</button></div><div class=item><h3>Tofu bowl</h3><button>Regular £8.50</button><button>Large £11</button></div>",
        "dish Bowls/Salmon bowl: 9.50 GBP
         dish Bowls/Salmon bowl: 12 GBP
         dish Bowls/Tofu bowl: 8.50 GBP
         dish Bowls/Tofu bowl: 11 GBP",
    );
}

#[test]
fn options_of_a_dish_are_its_sizes() {
    check(
        "/menu",
        "<html lang=en-AU><h1>Menu</h1><div class=item><div class=title>Dumplings</div><div class=option><span>Four</span> <span>$10</span></div><div class=option><span>Eight</span> <span>$18</span></div></div><div class=item><div class=title>Noodles</div><div class=price>$16</div></div>",
        "dish Menu/Dumplings: 10 AUD
         dish Menu/Dumplings: 18 AUD
         dish Menu/Noodles: 16 AUD",
    );
}

#[test]
fn names_and_prices_side_by_side() {
    check(
        "/menu",
        "<html lang=en-GB><h1>Menu</h1><h2>Mezze</h2><div><div><p>Hummus</p><p>Labneh with mint</p><p>Vine leaves</p></div><div><p>£5.50</p><p>£5.20</p><p>£5.70</p></div></div>",
        "dish Mezze/Hummus: 5.50 GBP
         dish Mezze/Labneh with mint: 5.20 GBP
         dish Mezze/Vine leaves: 5.70 GBP",
    );
}

#[test]
fn a_week_of_dishes_at_one_price() {
    check(
        "/pranzo",
        "<html lang=it><title>Bar Roma</title><h1>Pranzo</h1><h2>Piatto del giorno, € 9</h2><table><tr><td>lunedì</td><td>Lasagne</td></tr><tr><td>martedì</td><td>Polenta e funghi</td></tr><tr><td>mercoledì</td><td>Bollito misto</td></tr></table>",
        "dish Piatto del giorno, € 9/Lasagne: 9 EUR
         dish Piatto del giorno, € 9/Polenta e funghi: 9 EUR
         dish Piatto del giorno, € 9/Bollito misto: 9 EUR",
    );
}

#[test]
fn under_a_weekday_stand_its_dishes() {
    check(
        "/jadlospis",
        "<html lang=pl><h1>Jadłospis</h1><h3>Poniedziałek</h3><p>Zupa: Pomidorowa (1, 7)<br>Danie: Kotlet z kapustą</p><h3>Wtorek</h3><p>Zupa: Ogórkowa (7)<br>Danie: Naleśniki z serem</p><h3>Środa</h3><p>Zupa: Żurek (1)<br>Danie: Dorsz z ryżem</p>",
        "dish Poniedziałek/Pomidorowa:
         dish Poniedziałek/Kotlet z kapustą:
         dish Wtorek/Ogórkowa:
         dish Wtorek/Naleśniki z serem:
         dish Środa/Żurek:
         dish Środa/Dorsz z ryżem:",
    );
}

#[test]
fn a_salon_may_call_its_prices_a_menu() {
    check(
        "/menu",
        "<html lang=en-AU><title>Menu | Kelp Hair Salon</title><h1>Our menu</h1><h2>Mains</h2><ul><li>Short cut $45</li><li>Long cut $60</li></ul><h2>Sides</h2><ul><li>Beard trim $25</li><li>Scalp scrub $20</li></ul>",
        "price Short cut: 45 AUD Once
         price Long cut: 60 AUD Once
         price Beard trim: 25 AUD Once
         price Scalp scrub: 20 AUD Once",
    );
}

#[test]
fn a_price_for_each_guest_is_that_of_an_evening() {
    check(
        "/friends",
        "<html lang=en-GB><title>The Oak Restaurant</title><h1>With friends</h1><ul><li>Hog roast evening £24 per person</li><li>Garden supper £19 per person</li></ul>",
        "price Hog roast evening: 24 GBP Once
         price Garden supper: 19 GBP Once",
    );
}

#[test]
fn a_list_of_class_shop_has_goods() {
    check(
        "/visit",
        "<html lang=en-GB><title>Press Cafe</title><h1>Around the cafe</h1><h2>By the till</h2><ul class=shop><li>Lead letter on a chain £14</li><li>Printed cards, set of six £9</li></ul>",
        "product Lead letter on a chain: 14 GBP
         product Printed cards, set of six: 9 GBP",
    );
}

#[test]
fn a_style_may_keep_lines_as_they_are_written() {
    check(
        "/karte",
        "<html lang=de><style>.k{color:red;white-space:pre-wrap}</style><h1>Speisekarte</h1><h2>Brotzeit</h2><p class=k>Obazda mit Breze\t9,80\nWurstsalat\t9,20\nRadi\t4,90</p>",
        "dish Brotzeit/Obazda mit Breze: 9.80 EUR
         dish Brotzeit/Wurstsalat: 9.20 EUR
         dish Brotzeit/Radi: 4.90 EUR",
    );
}

#[test]
fn an_article_with_its_date_is_a_post() {
    check(
        "/kitchen",
        "<html lang=en-GB><title>The Oak Restaurant</title><h1>From the kitchen</h1><article><h2>Five breakfasts in Lisbon</h2><p>12 January</p><ul><li>Custard tart £1.30</li><li>Toast £2.50</li></ul></article>",
        "",
    );
}

#[test]
fn prices_in_brackets_that_are_no_prices_of_a_dish() {
    check(
        "/menu",
        "<html lang=en-GB><h1>Menu</h1><h2>Mains</h2><p><b>Roast chicken</b><br>mustard, paprika (supplement for morels £7)<br>£18</p><p><b>Hake</b><br>leeks<br>£21</p><h2>To do at home</h2><ul><li>Crab meat, 80 g (about £9 at the market)</li></ul>",
        "dish Mains/Roast chicken: 18 GBP
         dish Mains/Hake: 21 GBP",
    );
}

#[test]
fn what_may_be_added_is_no_dish() {
    check(
        "/menu",
        "<html lang=en-GB><h1>Menu</h1><h2>Mains</h2><h3>Rump steak £22</h3><p>add pepper sauce for £2.50</p><h3>Lamb pie £17</h3><p>mash, gravy</p>",
        "dish Mains/Rump steak: 22 GBP
         dish Mains/Lamb pie: 17 GBP",
    );
}

#[test]
fn a_term_without_a_price_among_others_is_a_dish() {
    check(
        "/carta",
        "<html lang=it><h1>La carta</h1><h2>Primi</h2><dl><dt>Tajarin al burro <sup>1,3</sup></dt><dd>€ 13,50</dd><dt>Risotto</dt><dd>€ 16,00</dd><dt>Gnocchi del giorno <sup>1</sup></dt><dd>chiedere in sala</dd></dl>",
        "dish Primi/Tajarin al burro: 13.50 EUR
         dish Primi/Risotto: 16.00 EUR
         dish Primi/Gnocchi del giorno:",
    );
}

#[test]
fn a_class_that_everything_has_is_not_that_of_dishes() {
    check(
        "/menu",
        "<html lang=en-GB><h1>Menu</h1><p class=text>We cook over wood</p><p class=text>Bring your dog</p><h2>Mains</h2><p class=text>Stew £12</p><p class=text>Pie £11</p><p class=text>Ask for the board</p><h2>The house</h2><p class=text>Built in oak</p><p class=text>Warm in winter</p>",
        "dish Mains/Stew: 12 GBP
         dish Mains/Pie: 11 GBP",
    );
}

#[test]
fn names_after_their_prices_may_begin_with_a_number() {
    check(
        "/menu",
        "<html lang=da><title>Isbar</title><h1>Menu</h1><h2>Kugler</h2><div class=linje><span class=pris>32,-</span><span class=navn>1 kugle</span></div><div class=linje><span class=pris>44,-</span><span class=navn>2 kugler</span></div>",
        "dish Kugler/1 kugle: 32 DKK
         dish Kugler/2 kugler: 44 DKK",
    );
}

#[test]
fn a_size_with_what_it_is_a_size_of_is_a_name() {
    check(
        "/menu",
        "<html lang=en-GB><h1>Menu</h1><h2>Build a bowl</h2><p>One base, three greens, one sauce.</p><div class=card><b>Small bowl</b><span>£8</span></div><div class=card><b>Large bowl</b><span>£11</span></div>",
        "dish Build a bowl/Small bowl: 8 GBP
         dish Build a bowl/Large bowl: 11 GBP",
    );
}

#[test]
fn what_is_led_to_its_price_in_a_list_may_speak_to_guests() {
    check(
        "/rooms",
        "<html lang=en-GB><h1>Rooms</h1><ul><li>Double room: £95 a night</li><li>Dog in your room: £12 a night</li></ul>",
        "price Double room: 95 GBP Night
         price Dog in your room: 12 GBP Night",
    );
}

#[test]
fn what_a_size_costs_may_stand_in_brackets() {
    check(
        "/menu",
        "<html lang=en-GB><h1>Menu</h1><h2>Soup</h2><p><b>Leek soup</b> £7 (half £4.50)<br><b>Broth</b> £6</p>",
        "dish Soup/Leek soup: 7 GBP
         dish Soup/Leek soup: 4.50 GBP
         dish Soup/Broth: 6 GBP",
    );
}

#[test]
fn what_is_free_on_a_menu_has_no_price() {
    check(
        "/menu",
        "<html lang=en-GB><h1>Menu</h1><h2>Drinks</h2><ul><li>Lemonade £3</li><li>Cider £5</li><li>Tap water: free</li></ul>",
        "dish Drinks/Lemonade: 3 GBP
         dish Drinks/Cider: 5 GBP
         dish Drinks/Tap water:",
    );
}

#[test]
fn what_a_slogan_says_of_the_front_page_is_not_its_matter() {
    check(
        "/",
        "<html lang=fr><title>Le Bleu</title><h1>On presse, on mijote</h1><h2>Horaires</h2><p>Mardi : 12h – 14h</p>",
        "Tu 12:00-14:00",
    );
}

#[test]
fn days_of_which_something_else_is_said_have_no_times() {
    check(
        "/",
        "<html lang=en-GB><title>The Oak</title><h2>Hours</h2><p>Mon: gone fishing again<br>Tue: 9am to 5pm</p>",
        "Tu 09:00-17:00",
    );
}

#[test]
fn what_is_served_beside_a_shop_with_a_page_of_its_own() {
    check_site(
        &[
            (
                "/",
                "<html lang=fr><title>Ferme du Lac, produits de la ferme, boutique</title><h1>Ferme du Lac</h1>",
            ),
            (
                "/boutique",
                "<html lang=fr><h1>La boutique</h1><ul><li>Miel de sapin, 500 g : 11,50 €</li><li>Savon : 6 €</li></ul>",
            ),
            (
                "/midi",
                "<html lang=fr><h1>Le midi</h1><h2>Les plats</h2><ul><li>Omelette : 14 €</li><li>Truite : 17 €</li></ul><h2>À boire</h2><ul><li>Jus de pomme : 3 €</li><li>Tisane : 3 €</li></ul>",
            ),
        ],
        "dish Les plats/Omelette: 14 EUR
         dish Les plats/Truite: 17 EUR
         dish À boire/Jus de pomme: 3 EUR
         dish À boire/Tisane: 3 EUR
         product Miel de sapin, 500 g: 11.50 EUR
         product Savon: 6 EUR",
    );
}

#[test]
fn courses_without_prices_have_dishes_and_notes() {
    check(
        "/dinner",
        "<html lang=en-GB><h1>Dinner</h1><h2>To start</h2><p>Leek soup</p><p>Served with bread</p><p>Smoked trout</p><h2>To finish</h2><p>Rhubarb fool</p><p>Treacle tart</p>",
        "dish To start/Leek soup:
         dish To start/Smoked trout:
         dish To finish/Rhubarb fool:
         dish To finish/Treacle tart:",
    );
}

#[test]
fn columns_of_strength_have_no_prices() {
    check(
        "/drinks",
        "<html lang=en-GB><h1>Drinks</h1><table><tr><th>Ale</th><th>ABV</th><th>Half</th><th>Pint</th></tr><tr><td>Best</td><td>3.9</td><td>2.20</td><td>4.20</td></tr><tr><td>Stout</td><td>5.2</td><td>2.70</td><td>5.10</td></tr></table>",
        "dish Ale/Best: 2.20 GBP
         dish Ale/Best: 4.20 GBP
         dish Ale/Stout: 2.70 GBP
         dish Ale/Stout: 5.10 GBP",
    );
}

#[test]
fn a_heading_over_one_price_names_it() {
    check(
        "/menu",
        "<html lang=da><h1>Menukort</h1><h2>Frokost</h2><h4>Stjerneskud</h4><p>Rødspætte, rejer, asparges<br>kr. 189,-</p><h4>Tre slags sild</h4><p>Kapers, rugbrød<br>kr. 125,-</p>",
        "dish Frokost/Stjerneskud: 189 DKK
         dish Frokost/Tre slags sild: 125 DKK",
    );
}

#[test]
fn a_course_with_a_price_has_it_for_all() {
    check(
        "/carta",
        "<html lang=it><h1>La carta</h1><h2>Primi</h2><p>Lasagne € 11<br>Gnocchi € 10</p><h2>Dolci € 5</h2><p>Tiramisù<br>Panna cotta</p>",
        "dish Primi/Lasagne: 11 EUR
         dish Primi/Gnocchi: 10 EUR
         dish Dolci/Tiramisù: 5 EUR
         dish Dolci/Panna cotta: 5 EUR",
    );
}

#[test]
fn a_heading_may_have_a_bare_number_for_each() {
    check(
        "/menu",
        "<html lang=en-GB><h1>Menu</h1><h2>Mains</h2><p>Stew 12<br>Pie 11.5<br>Hake 16</p><h2>Sides 4.5 each</h2><ul><li>Chips</li><li>Greens</li></ul>",
        "dish Mains/Stew: 12 GBP
         dish Mains/Pie: 11.5 GBP
         dish Mains/Hake: 16 GBP
         dish Sides/Chips: 4.5 GBP
         dish Sides/Greens: 4.5 GBP",
    );
}

#[test]
fn numbers_in_a_row_with_names() {
    check(
        "/menu",
        "<html lang=en-AU><h1>Menu</h1><h2>Mains</h2><p>Burger $24</p><p>Fish $26</p><h2>Coffee</h2><p>Espresso 4 / Flat white, latte 5 / Mocha 5.5</p><h2>Bar</h2><p>+ egg 3 + bacon 6 + halloumi 5</p><p>Friday from four: house red 8, olives 4</p>",
        "dish Mains/Burger: 24 AUD
         dish Mains/Fish: 26 AUD
         dish Coffee/Espresso: 4 AUD
         dish Coffee/Flat white, latte: 5 AUD
         dish Coffee/Mocha: 5.5 AUD",
    );
}

#[test]
fn volumes_between_bare_numbers() {
    check(
        "/karte",
        "<html lang=de><h1>Getränkekarte</h1><ul><li>Apfelschorle <span>0,2 l 2,60</span> <span>0,4 l 4,20</span></li><li>Mineralwasser <span>0,25 l 2,50</span> <span>0,75 l 5,90</span></li><li>Milchkaffee (mit Hafermilch +0,50) 3,90</li></ul>",
        "dish Getränkekarte/Apfelschorle: 2.60 EUR
         dish Getränkekarte/Apfelschorle: 4.20 EUR
         dish Getränkekarte/Mineralwasser: 2.50 EUR
         dish Getränkekarte/Mineralwasser: 5.90 EUR
         dish Getränkekarte/Milchkaffee: 3.90 EUR",
    );
}

#[test]
fn what_is_said_of_a_dish_beside_its_price() {
    check(
        "/menu",
        "<html lang=en-GB><h1>Menu</h1><h2>Mains</h2><div class=item><h4>Scallops</h4><p>Three, black pudding. Add another for £3</p><span class=price>12.5</span></div><div class=item><h4>Sirloin</h4><p>Chips. Sauces: pepper or blue cheese +£2.5</p><span class=price>26</span></div>",
        "dish Mains/Scallops: 12.5 GBP
         dish Mains/Sirloin: 26 GBP",
    );
}

#[test]
fn courses_of_a_meal_are_no_lessons() {
    check(
        "/dining",
        "<html lang=en-GB><title>Dining | Quay Hotel</title><h1>Dining</h1><h2>Early bird</h2><p>2 courses £28 | 3 courses £34</p>",
        "dish Early bird/2 courses: 28 GBP
         dish Early bird/3 courses: 34 GBP",
    );
}

#[test]
fn the_parts_of_a_dish_without_a_price() {
    check(
        "/menu",
        "<html lang=pl><h1>Menu</h1><h2>Ryby</h2><div class=poz><span class=n>Dorsz</span> <span class=g>200 g</span> <span class=c>36,00</span></div><div class=poz><span class=n>Pstrąg</span> <span class=g>250 g</span> <span class=c>34,00</span></div><div class=poz><span class=n>Ryba dnia</span> <span class=g>200 g</span> <span class=c>wg wagi</span></div>",
        "dish Ryby/Dorsz: 36.00 PLN
         dish Ryby/Pstrąg: 34.00 PLN
         dish Ryby/Ryba dnia:",
    );
}

#[test]
fn names_that_are_set_off_alike_are_names() {
    check(
        "/menu",
        "<html lang=en-US><h1>Menu</h1><h2>Breakfast</h2><p><b>Omelet</b> $9.49</p><p><b>Short stack</b> $6.99</p>",
        "dish Breakfast/Omelet: 9.49 USD
         dish Breakfast/Short stack: 6.99 USD",
    );
}

#[test]
fn a_comma_and_a_space_are_no_decimal_point() {
    check(
        "/carta",
        "<html lang=it><h1>La carta</h1><h2>Vini</h2><p>Rosso della casa: ½ € 5, 1 l € 9<br>Bianco € 6</p>",
        "dish Vini/Rosso della casa: 5 EUR
         dish Vini/Rosso della casa: 9 EUR
         dish Vini/Bianco: 6 EUR",
    );
}

#[test]
fn notes_beside_a_menu_are_no_dishes() {
    check(
        "/menus",
        "<html lang=en-GB><h1>Menus</h1><ul><li>Vegan options available</li><li>Dogs welcome in the bar</li></ul><h2>Monday</h2><p>Pub quiz</p><h2>Tuesday</h2><p>Steak night</p><h2>Mains</h2><ul><li>Pie £13</li><li>Stew £14</li></ul><h2>Children's menu £8</h2><p>Up to ten years</p><p>Starter + main</p>",
        "dish Mains/Pie: 13 GBP
         dish Mains/Stew: 14 GBP
         dish Menus/Children's menu: 8 GBP",
    );
}

#[test]
fn a_meal_with_a_price_is_one_thing() {
    check(
        "/menu",
        "<html lang=en-GB><h1>Menu</h1><h2>Full breakfast £9</h2><ul><li>Two eggs</li><li>Smoked bacon</li></ul><h2>Soups</h2><ul><li>Leek £5</li><li>Pea £5</li></ul>",
        "dish Menu/Full breakfast: 9 GBP
         dish Soups/Leek: 5 GBP
         dish Soups/Pea: 5 GBP",
    );
}
