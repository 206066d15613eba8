//! Generated documentation, a repository browser, a mailing list: much of each page is the same.

use super::PURPOSE;
use crate::worlds::WebWorld;
use crate::worlds::honest::catalogue::Catalogue;
use crate::worlds::page::{SiteFrame, WorldPage, WorldReply};
use crate::worlds::target::WorldTarget;
use crate::worlds::text::{WorldText, capital};

pub(super) static WORLDS: [WebWorld; 3] = [
    WebWorld::honest(
        PURPOSE,
        (
            "api-docs",
            "Generated documentation of 10,000 types: long common boilerplate around a short text.",
        ),
        TYPES.pages(),
        SiteFrame { title: "libkettle 4.2 API", nav: &[("/api/index-1.html", "All types")] },
        |asked| TYPES.reply(asked),
    ),
    WebWorld::honest(
        PURPOSE,
        (
            "git-log",
            "A cgit repository of 3,000 commits, with a page for each commit and one for its \
             difference to its parent.",
        ),
        1 + LOG_PAGES + COMMITS * 2 - 1,
        SiteFrame { title: "cgit: kettle.git", nav: &[("/kettle/log/", "log")] },
        commits,
    ),
    WebWorld::honest(
        PURPOSE,
        ("mail-archive", "A mailing list archive of 8,000 messages in monthly folders."),
        MAILS.pages(),
        SiteFrame {
            title: "kettle-users archive",
            nav: &[("/2009-January/threads.html", "First month")],
        },
        |asked| MAILS.reply(asked),
    ),
];

const TYPES: Catalogue = Catalogue {
    items: 10_000,
    per_list: 100,
    title: "All types",
    item: |n| {
        let name = type_name(n);
        format!("/api/module_{}/struct.{name}.html", n / 100)
    },
    list: |n| format!("/api/index-{}.html", n + 1),
    item_of: |asked| {
        let [_, _, file] = asked.parts()[..] else { return None };
        let digits = file.strip_suffix(".html")?.trim_start_matches(|c: char| !c.is_ascii_digit());
        digits.parse().ok()
    },
    list_of: |asked| asked.number_in("/api/index-", ".html")?.checked_sub(1),
    label: |_, n| type_name(n),
    write: |asked, n| {
        let mut words = asked.own_words();
        let (name, count) = (type_name(n), words.between(12, 35));
        // What every type inherits is documented on every page.
        let mut shared = asked.words("inherited");
        let mut page = WorldPage::new(format!("Struct {name}")).text(words.text(count));
        page = page.heading("Own methods");
        for _ in 0..words.between(1, 3) {
            let signature = format!(
                "fn {}_{}(&self) -> {}",
                words.adjective(),
                words.noun(),
                capital(words.noun())
            );
            page = page.pre(signature).text(words.sentence());
        }
        page = page.heading("Inherited methods");
        for _ in 0..24 {
            let method = format!("fn {}(&self)", shared.joined(2, "_"));
            page = page.pre(method).text(shared.text(16));
        }
        page
    },
};

fn type_name(n: u32) -> String {
    let mut words = WorldText::of("api-docs", &format!("type {n}"));
    format!("{}{}{n}", capital(words.adjective()), capital(words.noun()))
}

const COMMITS: u32 = 3_000;
const PER_LOG: u32 = 50;
const LOG_PAGES: u32 = COMMITS / PER_LOG;

fn commits(asked: &WorldTarget<'_>) -> WorldReply {
    // The number of a commit is hidden in its id, so that an id leads back to it.
    let id =
        |n: u32| format!("{}{n:08x}", WorldText::of("git-log", &format!("commit {n}")).hex(32));
    let number = |id: &str| u32::from_str_radix(id.get(32..)?, 16).ok().filter(|&n| n < COMMITS);
    let title = |n: u32| asked.words(format!("subject {n}")).title();
    let log = |n: u32| match n {
        0 => "/kettle/log/".to_owned(),
        n => format!("/kettle/log/?ofs={}", n * PER_LOG),
    };
    let commit = |n: u32| format!("/kettle/commit/?id={}", id(n));
    // Commit 0 is the newest; its parent is 1, and the last has none.
    let diff = |n: u32| format!("/kettle/diff/?id={}&id2={}", id(n), id(n + 1));
    if asked.whole == "/" {
        let page = WorldPage::new("kettle.git").texts(&mut asked.words("home"), 1, 40);
        return page.link(log(0), "log").link(commit(0), "head").into();
    }
    let n = asked.param("id").and_then(number);
    let code = |words: &mut WorldText, sign: char| {
        let lines = words.between(4, 20);
        (0..lines)
            .map(|_| format!("{sign}    {}({});", words.joined(3, "_"), words.noun()))
            .collect::<Vec<_>>()
            .join("\n")
    };
    match (asked.path, n) {
        ("/kettle/log/", _) => {
            let n = asked.number("ofs").unwrap_or(0) as u32 / PER_LOG;
            if n >= LOG_PAGES || log(n) != asked.whole {
                return WorldReply::Missing;
            }
            let page = WorldPage::new(format!("log, from {}", n * PER_LOG));
            let page = page.links((n * PER_LOG..(n + 1) * PER_LOG).map(|n| (commit(n), title(n))));
            let others = [n.saturating_sub(1), (n + 1).min(LOG_PAGES - 1)];
            page.links(others.map(|n| (log(n), format!("from {}", n * PER_LOG)))).into()
        }
        ("/kettle/commit/", Some(n)) if commit(n) == asked.whole => {
            let mut words = asked.own_words();
            let count = words.between(10, 50);
            let page = WorldPage::new(title(n))
                .table([("author", words.person()), ("commit", id(n))])
                .text(words.text(count));
            match n + 1 < COMMITS {
                true => page
                    .links([(commit(n + 1), "parent".to_owned()), (diff(n), "diff".to_owned())])
                    .into(),
                false => page.text("The first commit.").into(),
            }
        }
        ("/kettle/diff/", Some(n)) if n + 1 < COMMITS && diff(n) == asked.whole => {
            let mut words = asked.own_words();
            let file = format!("src/{}.c", words.joined(2, "/"));
            WorldPage::new(format!("diff of {file}"))
                .pre(code(&mut words, '-'))
                .pre(code(&mut words, '+'))
                .link(commit(n), "commit")
                .into()
        }
        _ => WorldReply::Missing,
    }
}

const PER_MONTH: u32 = 80;
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

fn mail_folder(month: u32) -> String {
    format!("/{}-{}", 2009 + month / 12, MONTHS[(month % 12) as usize])
}

const MAILS: Catalogue = Catalogue {
    items: 8_000,
    per_list: PER_MONTH,
    title: "Threads",
    item: |n| format!("{}/msg{:05}.html", mail_folder(n / PER_MONTH), n % PER_MONTH + 1),
    list: |n| format!("{}/threads.html", mail_folder(n)),
    item_of: |asked| {
        let [_, file] = asked.parts()[..] else { return None };
        let in_month: u32 = file.strip_prefix("msg")?.strip_suffix(".html")?.parse().ok()?;
        Some(mail_month(asked)? * PER_MONTH + in_month.checked_sub(1)?)
    },
    list_of: mail_month,
    label: |asked, n| asked.words(format!("subject {}", n / 3)).title(),
    write: |asked, n| {
        let mut words = asked.own_words();
        let subject = asked.words(format!("subject {}", n / 3)).title();
        let subject = if n % 3 == 0 { subject } else { format!("Re: {subject}") };
        let (lines, count) = (words.between(1, 4), words.between(15, 70));
        let page = WorldPage::new(format!("[kettle-users] {subject}")).table([
            ("From", words.person()),
            ("Message-ID", format!("<{}@{}.example>", words.hex(12), words.noun())),
        ]);
        page.texts(&mut words, lines, count)
    },
};

fn mail_month(asked: &WorldTarget<'_>) -> Option<u32> {
    let (year, month) = asked.parts().first()?.split_once('-')?;
    let month = MONTHS.iter().position(|name| *name == month)? as u32;
    (year.parse::<u32>().ok()?.checked_sub(2009)? * 12).checked_add(month)
}
