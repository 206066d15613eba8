//! Shops: filters that combine, and links that put things into carts and comparisons.

use super::PURPOSE;
use crate::worlds::WebWorld;
use crate::worlds::page::{SiteFrame, WorldPage, WorldReply};
use crate::worlds::target::WorldTarget;

pub(super) static WORLDS: [WebWorld; 2] = [
    WebWorld::endless(
        PURPOSE,
        (
            "facets",
            "A shoe shop with forty products whose list can be filtered by any combination of \
             colours, sizes, brands and order.",
        ),
        SiteFrame {
            title: "Pelwick Shoes",
            nav: &[("/shoes", "All shoes"), ("/delivery", "Delivery"), ("/returns", "Returns")],
        },
        &["/", "/delivery", "/returns", "/shoes/{1-40}"],
        facets,
    ),
    WebWorld::endless(
        PURPOSE,
        (
            "cart-compare",
            "A tool shop whose pages link to the cart, the wish list and the comparison with a \
             new token each time.",
        ),
        SiteFrame {
            title: "Ironside Tools",
            nav: &[("/terms", "Terms"), ("/showroom", "Showroom")],
        },
        &["/", "/terms", "/showroom", "/tool/{slug:36}/"],
        cart,
    )
    .decorated(|asked, page| page.links(actions(asked))),
];

const FACETS: [(&str, &[&str]); 5] = [
    ("colour", &["black", "blue", "brown", "green", "red", "white"]),
    ("size", &["36", "37", "38", "39", "40", "41", "42", "43"]),
    ("brand", &["arrow", "canal", "heron", "mill", "oak", "tern"]),
    ("sort", &["price", "name", "new", "rating"]),
    ("material", &["leather", "canvas", "suede"]),
];

/// `/shoes?colour=red&colour=blue&size=38&sort=price`: filters in the order of their clicks.
fn facets(asked: &WorldTarget<'_>) -> WorldReply {
    if asked.path != "/shoes" {
        return WorldReply::Missing;
    }
    let chosen: Vec<&str> = asked.query.split('&').filter(|pair| !pair.is_empty()).collect();
    let mut more = Vec::new();
    for (name, values) in FACETS {
        for value in values {
            let pair = format!("{name}={value}");
            if !chosen.contains(&pair.as_str()) {
                let query: Vec<&str> = chosen.iter().copied().chain([pair.as_str()]).collect();
                more.push((format!("/shoes?{}", query.join("&")), format!("{name}: {value}")));
            }
        }
    }
    let fewer = chosen.iter().map(|gone| {
        let query: Vec<&str> = chosen.iter().copied().filter(|pair| pair != gone).collect();
        (format!("/shoes?{}", query.join("&")), format!("remove {gone}"))
    });
    let fits = |number: &u32| {
        let mut words = asked.words(format!("fits {number}"));
        chosen.iter().all(|_| words.below(3) > 0)
    };
    let products: Vec<_> = (1..=40)
        .filter(fits)
        .map(|n| (format!("/shoes/{n}"), asked.words(format!("title /shoes/{n}")).title()))
        .collect();
    WorldPage::new("Shoes")
        .text(format!("{} products", products.len()))
        .links(products)
        .heading("Filter")
        .links(more)
        .links(fewer)
        .into()
}

/// The links below a product.
fn actions(asked: &WorldTarget<'_>) -> Vec<(String, &'static str)> {
    let Some(slug) = asked.below("/tool/") else { return Vec::new() };
    let slug = slug.trim_end_matches('/');
    let mut words = asked.own_words();
    vec![
        (format!("/tool/{slug}/?add-to-cart={slug}&_wpnonce={}", words.hex(10)), "Add to cart"),
        (format!("/wishlist?add={slug}&_wpnonce={}", words.hex(10)), "Add to wish list"),
        (format!("/compare?ids={slug}&_wpnonce={}", words.hex(10)), "Compare"),
    ]
}

fn cart(asked: &WorldTarget<'_>) -> WorldReply {
    let mut words = asked.own_words();
    let listed =
        |title: &str, words: &mut crate::worlds::text::WorldText, path: &str, name: &str| {
            let ids: Vec<&str> = asked.param(name).unwrap_or_default().split(',').collect();
            let ids = &ids[ids.len().saturating_sub(4)..];
            let tools: Vec<&String> =
                asked.honest().iter().filter(|it| it.starts_with("/tool/")).collect();
            let offers: Vec<_> = (0..6)
                .map(|_| {
                    let tool = tools[words.below(tools.len() as u32) as usize];
                    let slug = tool.trim_start_matches("/tool/").trim_end_matches('/');
                    let nonce = words.hex(10);
                    (
                        format!("{path}?{name}={},{slug}&_wpnonce={nonce}", ids.join(",")),
                        format!("Add {slug}"),
                    )
                })
                .collect();
            WorldPage::new(title)
                .links(ids.iter().map(|id| (format!("/tool/{id}/"), *id)))
                .links(offers)
        };
    match asked.path {
        "/compare" => listed("Compare tools", &mut words, "/compare", "ids").into(),
        "/wishlist" => listed("Your wish list", &mut words, "/wishlist", "add").into(),
        path => match asked.copy_of(path) {
            Some(page) => {
                page.text("The tool was added to your cart.").links(actions(asked)).into()
            }
            None => WorldReply::Missing,
        },
    }
}
