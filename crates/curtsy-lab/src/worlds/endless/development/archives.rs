//! Blogs and galleries: lists that go on after their end, tags that combine, and views of views.

use super::PURPOSE;
use crate::worlds::WebWorld;
use crate::worlds::page::{SiteFrame, WorldPage, WorldReply};
use crate::worlds::target::WorldTarget;

pub(super) static WORLDS: [WebWorld; 4] = [
    WebWorld::endless(
        PURPOSE,
        (
            "older-posts",
            "A blog of thirty posts whose list always has a link to older posts, also after the \
             last.",
        ),
        SiteFrame {
            title: "Cycling in Brandale",
            nav: &[("/blog/page/1", "Blog"), ("/about", "About")],
        },
        &["/", "/about", "/equipment", "/blog/{slug:30}"],
        older,
    ),
    WebWorld::endless(
        PURPOSE,
        (
            "tag-intersections",
            "A photo blog in which any number of tags can be combined in the path.",
        ),
        SiteFrame { title: "Salmor Photographs", nav: &[("/tags/", "Tags"), ("/about", "About")] },
        &["/", "/about", "/prints", "/photo/{1-36}"],
        tags,
    )
    .decorated(|asked, page| {
        let mut words = asked.words(format!("tags {}", asked.whole));
        page.links(
            (0..3)
                .map(|_| words.one_of(TAGS))
                .map(|tag| (format!("/tags/{tag}"), tag))
                .collect::<Vec<_>>(),
        )
    }),
    WebWorld::endless(
        PURPOSE,
        (
            "slideshow-return",
            "A gallery whose slide show carries the page before it, the delay and the position.",
        ),
        SiteFrame {
            title: "Corham Art Society",
            nav: &[("/exhibitions", "Exhibitions"), ("/join", "Join")],
        },
        &["/", "/exhibitions", "/join", "/work/{1-36}"],
        slides,
    )
    .decorated(|asked, page| match asked.number_in("/work/", "") {
        Some(n) => page.link(format!("/slides?work={n}&pos=0&delay=5"), "Start the slide show"),
        None => page,
    }),
    WebWorld::endless(
        PURPOSE,
        (
            "language-prefix",
            "A hotel whose language switch puts the language before the path, also where there \
             is one already.",
        ),
        SiteFrame {
            title: "Hotel Belmar",
            nav: &[("/rooms", "Rooms"), ("/restaurant", "Restaurant")],
        },
        &["/", "/rooms", "/restaurant", "/arrival", "/offers/{slug:24}"],
        languages,
    )
    .decorated(|asked, page| {
        page.links(LANGUAGES.map(|lang| (format!("/{lang}{}", asked.whole), lang)))
    }),
];

const TAGS: &[&str] = &[
    "autumn",
    "beach",
    "birds",
    "boats",
    "bridges",
    "city",
    "clouds",
    "family",
    "film",
    "flowers",
    "fog",
    "forest",
    "lake",
    "macro",
    "mono",
    "morning",
    "mountains",
    "night",
    "people",
    "portrait",
    "rain",
    "river",
    "sea",
    "snow",
    "spring",
    "summer",
    "sunset",
    "travel",
    "trees",
    "winter",
];

const LANGUAGES: [&str; 5] = ["de", "en", "es", "fr", "it"];

fn older(asked: &WorldTarget<'_>) -> WorldReply {
    let Some(number) = asked.number_in("/blog/page/", "").filter(|&number| number > 0) else {
        return WorldReply::Missing;
    };
    let posts: Vec<&String> = asked.honest().iter().filter(|it| it.starts_with("/blog/")).collect();
    let from = (number as usize - 1).saturating_mul(10).min(posts.len());
    let shown = &posts[from..(from + 10).min(posts.len())];
    let page = WorldPage::new(format!("Blog, page {number}"));
    let page = match shown.is_empty() {
        true => page.text("No posts were found."),
        false => {
            page.links(shown.iter().map(|to| (to, asked.words(format!("title {to}")).title())))
        }
    };
    page.links([
        (format!("/blog/page/{}", number + 1), "Older posts"),
        (format!("/blog/page/{}", number.saturating_sub(1).max(1)), "Newer posts"),
    ])
    .into()
}

/// `/tags/sea+boats+morning`: the photos that have all of them, and each further tag.
fn tags(asked: &WorldTarget<'_>) -> WorldReply {
    let Some(rest) = asked.below("/tags/") else { return WorldReply::Missing };
    let chosen: Vec<&str> = rest.split('+').filter(|tag| !tag.is_empty()).collect();
    if !chosen.iter().all(|tag| TAGS.contains(tag)) {
        return WorldReply::Missing;
    }
    let photos = (1..=36).filter(|n| {
        let mut words = asked.words(format!("tagged {n}"));
        let has: Vec<&str> = (0..12).map(|_| words.one_of(TAGS)).collect();
        chosen.iter().all(|tag| has.contains(tag))
    });
    let photos: Vec<_> = photos.map(|n| (format!("/photo/{n}"), format!("Photo {n}"))).collect();
    let more = TAGS.iter().filter(|tag| !chosen.contains(*tag)).map(|tag| {
        let path: Vec<&str> = chosen.iter().copied().chain([*tag]).collect();
        (format!("/tags/{}", path.join("+")), *tag)
    });
    WorldPage::new(format!("Photos with {}", chosen.join(" and ")))
        .text(format!("{} photos", photos.len()))
        .links(photos)
        .heading("Related tags")
        .links(more)
        .into()
}

fn slides(asked: &WorldTarget<'_>) -> WorldReply {
    let (Some(work), "/slides") = (asked.number("work"), asked.path) else {
        return WorldReply::Missing;
    };
    let (pos, delay) = (asked.number("pos").unwrap_or(0), asked.number("delay").unwrap_or(5));
    let next = work % 36 + 1;
    let mut words = asked.words(format!("title /work/{work}"));
    WorldPage::new(words.title())
        .text(format!("Slide {} of 36", work.min(36)))
        .links([
            (format!("/slides?work={next}&pos={}&delay={delay}&from={work}", pos + 1), "next"),
            (format!("/slides?work={work}&pos={}&delay={}", pos + 1, delay + 1), "slower"),
            (
                format!(
                    "/slides?work={work}&pos={}&delay={}",
                    pos + 1,
                    delay.saturating_sub(1).max(1)
                ),
                "faster",
            ),
            (format!("/work/{}", work.clamp(1, 36)), "close"),
        ])
        .into()
}

fn languages(asked: &WorldTarget<'_>) -> WorldReply {
    let mut rest = asked.whole;
    while let Some(shorter) =
        LANGUAGES.iter().find_map(|lang| rest.strip_prefix('/')?.strip_prefix(lang))
    {
        if !shorter.starts_with('/') || asked.whole.len() > 2_000 {
            return WorldReply::Missing;
        }
        rest = shorter;
    }
    let lang = LANGUAGES.iter().copied().find(|lang| asked.path.get(1..3) == Some(lang));
    let Some(page) = asked.copy_of(rest) else { return WorldReply::Missing };
    let links = LANGUAGES.map(|lang| (format!("/{lang}{rest}"), lang));
    let prefix = asked.whole[..asked.whole.len() - rest.len()].to_owned();
    page.lang(lang.unwrap_or("en"))
        .links(links)
        .relinked(move |href| format!("{prefix}{href}"))
        .into()
}
