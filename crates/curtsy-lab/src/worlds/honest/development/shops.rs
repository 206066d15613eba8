//! A shop, a gallery and a forum: numbered items with short texts.

use super::PURPOSE;
use crate::worlds::WebWorld;
use crate::worlds::honest::catalogue::Catalogue;
use crate::worlds::page::{SiteFrame, WorldPage, WorldReply};
use crate::worlds::target::WorldTarget;

pub(super) static WORLDS: [WebWorld; 3] = [
    WebWorld::honest(
        PURPOSE,
        ("shop-ids", "A shop of 16,000 products at `product.php?id=N`, each with a short text."),
        PRODUCTS.pages(),
        SiteFrame { title: "Parcel & Press", nav: &[("/list.php?page=1", "All products")] },
        |asked| PRODUCTS.reply(asked),
    ),
    WebWorld::honest(
        PURPOSE,
        ("photo-captions", "A gallery of 5,000 photos, each with a caption of one sentence."),
        PHOTOS.pages(),
        SiteFrame { title: "County Picture Library", nav: &[("/albums/1/", "Albums")] },
        |asked| PHOTOS.reply(asked),
    ),
    WebWorld::honest(
        PURPOSE,
        ("forum-topics", "A forum of 6,000 topics, most of which have several pages."),
        TOPICS_PAGES,
        SiteFrame { title: "Allotment Talk", nav: &[("/viewforum.php?f=1", "Forum")] },
        topics,
    ),
];

const PRODUCTS: Catalogue = Catalogue {
    items: 16_000,
    per_list: 40,
    title: "Products",
    item: |n| format!("/product.php?id={}", n + 1_000),
    list: |n| format!("/list.php?page={}", n + 1),
    item_of: |asked| asked.number("id")?.checked_sub(1_000)?.try_into().ok(),
    list_of: |asked| asked.number("page")?.checked_sub(1)?.try_into().ok(),
    label: product_name,
    write: |asked, n| {
        let mut words = asked.own_words();
        let (price, weight) = (words.between(199, 29_900), words.between(40, 9_000));
        let count = words.between(25, 60);
        WorldPage::new(product_name(asked, n))
            .table([
                ("Article number", format!("{}", n + 1_000)),
                ("Price", format!("{}.{:02} EUR", price / 100, price % 100)),
                ("Weight", format!("{weight} g")),
                ("Maker", words.surname()),
            ])
            .text(words.text(count))
            .text("Delivery within three working days. Returns are free within 30 days.")
    },
};

fn product_name(asked: &WorldTarget<'_>, n: u32) -> String {
    let mut words = asked.words(format!("product {n}"));
    format!("{} {} {} {}", words.surname(), words.adjective(), words.noun(), words.between(10, 999))
}

const PHOTOS: Catalogue = Catalogue {
    items: 5_000,
    per_list: 50,
    title: "Album",
    item: |n| format!("/albums/{}/photo-{}.html", n / 50 + 1, n + 1),
    list: |n| format!("/albums/{}/", n + 1),
    item_of: |asked| {
        let last = asked.parts().last()?.strip_prefix("photo-")?;
        last.strip_suffix(".html")?.parse::<u32>().ok()?.checked_sub(1)
    },
    list_of: |asked| asked.number_in("/albums/", "/")?.checked_sub(1),
    label: |_, n| format!("Photo {}", n + 1),
    write: |asked, n| {
        let mut words = asked.own_words();
        WorldPage::new(format!("Photo {}", n + 1)).text(words.sentence()).text(format!(
            "{}, {}",
            words.place(),
            words.between(1890, 2019)
        ))
    },
};

const TOPICS: u32 = 6_000;
const PER_FORUM_PAGE: u32 = 50;
const POSTS_PER_PAGE: u32 = 10;
const FORUM_PAGES: u32 = TOPICS / PER_FORUM_PAGE;
/// A topic has one to three pages, by its number.
const TOPICS_PAGES: u32 = 1 + FORUM_PAGES + TOPICS * 2;

fn topics(asked: &WorldTarget<'_>) -> WorldReply {
    let title = |topic: u32| asked.words(format!("topic {topic}")).title();
    let forum = |n: u32| match n {
        0 => "/viewforum.php?f=1".to_owned(),
        n => format!("/viewforum.php?f=1&start={}", n * PER_FORUM_PAGE),
    };
    let topic_at = |topic: u32, page: u32| match page {
        0 => format!("/viewtopic.php?t={topic}"),
        page => format!("/viewtopic.php?t={topic}&start={}", page * POSTS_PER_PAGE),
    };
    let start = asked.number("start").unwrap_or(0) as u32;
    match asked.path {
        "/" if asked.query.is_empty() => WorldPage::new("Board index")
            .texts(&mut asked.words("home"), 1, 50)
            .link(forum(0), "Growing vegetables")
            .link(forum(FORUM_PAGES - 1), "The oldest topics")
            .into(),
        "/viewforum.php" => {
            let n = start / PER_FORUM_PAGE;
            if n >= FORUM_PAGES || forum(n) != asked.whole {
                return WorldReply::Missing;
            }
            let topics = n * PER_FORUM_PAGE..(n + 1) * PER_FORUM_PAGE;
            let near = n.saturating_sub(4)..(n + 5).min(FORUM_PAGES);
            WorldPage::new(format!("Growing vegetables, page {}", n + 1))
                .links(topics.map(|topic| (topic_at(topic, 0), title(topic))))
                .links(near.map(|n| (forum(n), (n + 1).to_string())))
                .into()
        }
        "/viewtopic.php" => {
            let Some(topic) = asked.number("t").filter(|&topic| topic < TOPICS.into()) else {
                return WorldReply::Missing;
            };
            let (topic, page) = (topic as u32, start / POSTS_PER_PAGE);
            let pages = topic % 3 + 1;
            if page >= pages || topic_at(topic, page) != asked.whole {
                return WorldReply::Missing;
            }
            let mut words = asked.own_words();
            let mut out =
                WorldPage::new(format!("{} (page {} of {pages})", title(topic), page + 1));
            for _ in 0..words.between(3, POSTS_PER_PAGE) {
                let (who, count) = (words.person(), words.between(12, 60));
                out =
                    out.heading(format!("Re: {}, by {who}", title(topic))).text(words.text(count));
            }
            out.links((0..pages).map(|page| (topic_at(topic, page), (page + 1).to_string())))
                .link(forum(topic / PER_FORUM_PAGE), "Back to the forum")
                .into()
        }
        _ => WorldReply::Missing,
    }
}
