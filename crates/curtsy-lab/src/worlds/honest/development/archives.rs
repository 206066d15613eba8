//! A wiki, a daily archive, a dictionary and a blog: texts that link each other.

use super::PURPOSE;
use crate::worlds::WebWorld;
use crate::worlds::honest::catalogue::Catalogue;
use crate::worlds::page::{SiteFrame, WorldPage, WorldReply};
use crate::worlds::target::WorldTarget;
use crate::worlds::text::{ADJECTIVES, NOUNS, WorldText, capital};

pub(super) static WORLDS: [WebWorld; 4] = [
    WebWorld::honest(
        PURPOSE,
        ("big-wiki", "A wiki of 20,000 articles that link a dozen others each."),
        1 + ARTICLES,
        SiteFrame { title: "Countrypedia", nav: &[("/wiki/Amber_acorn", "First article")] },
        wiki,
    ),
    WebWorld::honest(
        PURPOSE,
        (
            "daily-archive",
            "A newspaper's archive with a page for every day of twelve years, at `/2015/03/07/`.",
        ),
        1 + YEARS * (1 + 12 + 12 * 30),
        SiteFrame { title: "The Daily Courier", nav: &[("/2010/", "The first year")] },
        days,
    ),
    WebWorld::honest(
        PURPOSE,
        ("dictionary", "A dictionary with a page for each of 8,000 words."),
        ENTRIES.pages(),
        SiteFrame { title: "Dictionary of Trade Words", nav: &[("/words?part=1", "All words")] },
        |asked| ENTRIES.reply(asked),
    ),
    WebWorld::honest(
        PURPOSE,
        (
            "tagged-blog",
            "A blog of 2,000 posts with 60 tags and 12 authors, whose lists have pages.",
        ),
        1 + POSTS + POSTS / PER_PAGE + TAGS * TAG_PAGES + AUTHORS * AUTHOR_PAGES,
        SiteFrame { title: "Workshop Notes", nav: &[("/page/1/", "All posts")] },
        blog,
    ),
];

const ARTICLES: u32 = 20_000;

fn wiki(asked: &WorldTarget<'_>) -> WorldReply {
    let nouns = NOUNS.len() as u32;
    let title = |n: u32| {
        format!("{} {}", capital(ADJECTIVES[(n / nouns) as usize]), NOUNS[(n % nouns) as usize])
    };
    let link = |n: u32| (format!("/wiki/{}", title(n).replace(' ', "_")), title(n));
    let mut words = asked.own_words();
    if asked.whole == "/" {
        let featured: Vec<u32> = (0..40).map(|n| n * 500).collect();
        let page = WorldPage::new("Main page").texts(&mut words, 2, 60);
        return page.links(featured.into_iter().map(link)).into();
    }
    let number = || {
        let (adjective, noun) = asked.below("/wiki/")?.split_once('_')?;
        let adjective = ADJECTIVES.iter().position(|word| capital(word) == adjective)? as u32;
        let noun = NOUNS.iter().position(|word| *word == noun)? as u32;
        asked.query.is_empty().then_some(adjective * nouns + noun)
    };
    let Some(n) = number().filter(|&n| n < ARTICLES) else { return WorldReply::Missing };
    let mut page = WorldPage::new(title(n));
    for _ in 0..words.between(2, 5) {
        let count = words.between(40, 110);
        page = page.heading(words.title()).text(words.text(count));
        let others: Vec<u32> = (0..3).map(|_| words.below(ARTICLES)).collect();
        page = page.links(others.into_iter().map(link));
    }
    page.heading("See also").links([link((n + 1) % ARTICLES), link((n * 7 + 1) % ARTICLES)]).into()
}

const YEARS: u32 = 12;

/// Years from 2010 on, of twelve months with 30 days.
fn days(asked: &WorldTarget<'_>) -> WorldReply {
    let parts = asked.parts();
    let numbers: Vec<u32> = parts.iter().map_while(|part| part.parse().ok()).collect();
    let year_at = |year: u32| format!("/{year}/");
    let month_at = |year: u32, month: u32| format!("/{year}/{month:02}/");
    let day_at =
        |day: u32| format!("/{}/{:02}/{:02}/", 2010 + day / 360, day / 30 % 12 + 1, day % 30 + 1);
    let inside = |year: u32, month: u32, day: u32| {
        (2010..2010 + YEARS).contains(&year) && (1..=12).contains(&month) && (1..=30).contains(&day)
    };
    match numbers[..] {
        [] if asked.whole == "/" => WorldPage::new("Archive")
            .texts(&mut asked.words("home"), 1, 40)
            .links((2010..2010 + YEARS).map(|year| (year_at(year), year.to_string())))
            .into(),
        [year] if inside(year, 1, 1) && year_at(year) == asked.whole => {
            WorldPage::new(format!("The year {year}"))
                .links((1..=12).map(|month| (month_at(year, month), format!("{year}-{month:02}"))))
                .into()
        }
        [year, month] if inside(year, month, 1) && month_at(year, month) == asked.whole => {
            let first = (year - 2010) * 360 + (month - 1) * 30;
            WorldPage::new(format!("{year}-{month:02}"))
                .links((first..first + 30).map(|day| (day_at(day), day_at(day).replace('/', " "))))
                .into()
        }
        [year, month, day] if inside(year, month, day) => {
            let number = (year - 2010) * 360 + (month - 1) * 30 + day - 1;
            if day_at(number) != asked.whole {
                return WorldReply::Missing;
            }
            let mut words = asked.own_words();
            let mut page = WorldPage::new(format!("{year}-{month:02}-{day:02}"));
            for _ in 0..words.between(2, 5) {
                let count = words.between(30, 80);
                page = page.heading(words.title()).text(words.text(count));
            }
            let before = day_at(number.saturating_sub(1));
            let after = day_at((number + 1).min(YEARS * 360 - 1));
            page.links([(before, "previous day"), (after, "next day")]).into()
        }
        _ => WorldReply::Missing,
    }
}

/// The digits of a word's number in base 20: no two begin with the same letter.
const PARTS: [&str; 20] = [
    "ba", "cor", "del", "fen", "gar", "hol", "jor", "kin", "len", "mor", "nel", "or", "per",
    "quin", "ros", "sal", "tar", "ul", "ver", "wen",
];

/// A word whose letters say its number.
fn entry_word(n: u32) -> String {
    let part = |digit: u32| PARTS[(digit % 20) as usize];
    format!("{}{}{}", part(n / 400), part(n / 20), part(n))
}

/// The number that a word says.
fn entry_number(mut word: &str) -> Option<u32> {
    let mut number = 0;
    for _ in 0..3 {
        let digit = PARTS.iter().position(|part| word.starts_with(part))?;
        word = &word[PARTS[digit].len()..];
        number = number * 20 + digit as u32;
    }
    Some(number)
}

const ENTRIES: Catalogue = Catalogue {
    items: 8_000,
    per_list: 100,
    title: "Words",
    item: |n| format!("/word/{}", entry_word(n)),
    list: |n| format!("/words?part={}", n + 1),
    item_of: |asked| entry_number(asked.below("/word/")?),
    list_of: |asked| asked.number("part")?.checked_sub(1)?.try_into().ok(),
    label: |_, n| entry_word(n),
    write: |asked, n| {
        let mut words = asked.own_words();
        let count = words.between(12, 40);
        WorldPage::new(entry_word(n))
            .text(format!("noun, from {} {}", words.surname(), words.between(1400, 1900)))
            .text(words.text(count))
            .heading("Example")
            .text(words.sentence())
    },
};

const POSTS: u32 = 2_000;
const PER_PAGE: u32 = 20;
const TAGS: u32 = 60;
const AUTHORS: u32 = 12;
/// Each post has three tags: its number, and its number halved and thirded, by the number of tags.
const TAG_PAGES: u32 = 4;
const AUTHOR_PAGES: u32 = 9;

fn blog(asked: &WorldTarget<'_>) -> WorldReply {
    let slug = |n: u32| WorldText::of("tagged-blog", &format!("slug {n}")).joined(3, "-");
    let post = |n: u32| format!("/{}/{:02}/{}-{n}/", 2008 + n / 180, n / 15 % 12 + 1, slug(n));
    let tag = |n: u32| format!("{}-{}", ADJECTIVES[(n % 10) as usize], NOUNS[(n * 3) as usize]);
    let author = |n: u32| {
        WorldText::of("tagged-blog", &format!("author {n}"))
            .person()
            .replace(' ', "-")
            .to_lowercase()
    };
    let tag_at = |n: u32, page: u32| match page {
        0 => format!("/tag/{}/", tag(n)),
        page => format!("/tag/{}/page/{}/", tag(n), page + 1),
    };
    let author_at = |n: u32, page: u32| match page {
        0 => format!("/author/{}/", author(n)),
        page => format!("/author/{}/page/{}/", author(n), page + 1),
    };
    let page_at = |page: u32| format!("/page/{}/", page + 1);
    let tags_of = |n: u32| [n % TAGS, (n / TAGS + 7 * n) % TAGS];
    let listed =
        |title: String, posts: Vec<u32>, page: u32, pages: u32, at: &dyn Fn(u32) -> String| {
            let shown = posts.iter().skip((page * PER_PAGE) as usize).take(PER_PAGE as usize);
            let near = [page.saturating_sub(1), (page + 1).min(pages - 1)];
            let page = WorldPage::new(format!("{title}, page {}", page + 1));
            let page = page.links(shown.map(|&n| (post(n), slug(n).replace('-', " "))));
            page.links(near.map(|page| (at(page), format!("page {}", page + 1))))
        };
    if asked.whole == "/" {
        let page = WorldPage::new("Workshop Notes").texts(&mut asked.words("home"), 1, 40);
        let authors = (0..AUTHORS).map(|n| (author_at(n, 0), author(n)));
        return page
            .link(page_at(0), "All posts")
            .links((0..TAGS).map(|n| (tag_at(n, 0), tag(n))))
            .links(authors)
            .into();
    }
    let parts = asked.parts();
    let page = match parts[..] {
        [.., "page", n] => n.parse::<u32>().ok().and_then(|n| n.checked_sub(1)),
        _ => Some(0),
    };
    let Some(page) = page else { return WorldReply::Missing };
    match parts[..] {
        ["page", _] if page < POSTS / PER_PAGE && page_at(page) == asked.whole => {
            listed("All posts".to_owned(), (0..POSTS).collect(), page, POSTS / PER_PAGE, &page_at)
                .into()
        }
        ["tag", name, ..] => {
            let Some(n) = (0..TAGS).find(|&n| tag(n) == name) else { return WorldReply::Missing };
            if page >= TAG_PAGES || tag_at(n, page) != asked.whole {
                return WorldReply::Missing;
            }
            let posts = (0..POSTS).filter(|&it| tags_of(it).contains(&n)).collect();
            listed(format!("Posts about {name}"), posts, page, TAG_PAGES, &|page| tag_at(n, page))
                .into()
        }
        ["author", name, ..] => {
            let Some(n) = (0..AUTHORS).find(|&n| author(n) == name) else {
                return WorldReply::Missing;
            };
            if page >= AUTHOR_PAGES || author_at(n, page) != asked.whole {
                return WorldReply::Missing;
            }
            let posts = (0..POSTS).filter(|it| it % AUTHORS == n).collect();
            listed(format!("Posts by {name}"), posts, page, AUTHOR_PAGES, &|page| {
                author_at(n, page)
            })
            .into()
        }
        [_, _, name] => {
            let number = name.rsplit('-').next().and_then(|n| n.parse::<u32>().ok());
            let Some(n) = number.filter(|&n| n < POSTS && post(n) == asked.whole) else {
                return WorldReply::Missing;
            };
            let mut words = asked.own_words();
            let paragraphs = words.between(3, 7);
            WorldPage::new(capital(&slug(n).replace('-', " ")))
                .texts(&mut words, paragraphs, 60)
                .links(tags_of(n).map(|n| (tag_at(n, 0), tag(n))))
                .link(author_at(n % AUTHORS, 0), author(n % AUTHORS))
                .link(post((n + 1) % POSTS), "Next post")
                .into()
        }
        _ => WorldReply::Missing,
    }
}
