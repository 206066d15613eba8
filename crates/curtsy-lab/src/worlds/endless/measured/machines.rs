//! Programs of developers: ViewVC, a bug tracker, tokens of a protocol, states in Base64.

use super::PURPOSE;
use crate::worlds::WebWorld;
use crate::worlds::page::{SiteFrame, WorldPage, WorldReply};
use crate::worlds::target::WorldTarget;

pub(super) static WORLDS: [WebWorld; 4] = [
    WebWorld::endless(
        PURPOSE,
        (
            "viewvc-revisions",
            "A ViewVC whose files have annotations, logs and coloured differences of any two \
             revisions at any revision.",
        ),
        SiteFrame {
            title: "svn.marwick",
            nav: &[("/viewvc/trunk/main.c?view=log", "Source"), ("/licence", "Licence")],
        },
        &["/", "/licence", "/download", "/manual/{1-26}.html"],
        viewvc,
    ),
    WebWorld::endless(
        PURPOSE,
        (
            "bug-lists",
            "A bug tracker whose list can be sorted by a column after another, and keeps the \
             whole order in the address.",
        ),
        SiteFrame {
            title: "Bugs of Marwick",
            nav: &[("/buglist.cgi?product=loom", "All bugs"), ("/help", "Help")],
        },
        &["/", "/help", "/show_bug.cgi?id={1-40}"],
        bugs,
    ),
    WebWorld::endless(
        PURPOSE,
        (
            "resumption-tokens",
            "A repository of theses whose list hands out a token for the next part, without an \
             end.",
        ),
        SiteFrame {
            title: "Theses of the College",
            nav: &[("/list?set=all", "List"), ("/faculties", "Faculties")],
        },
        &["/", "/faculties", "/deposit", "/thesis/{slug:32}"],
        tokens,
    ),
    WebWorld::endless(
        PURPOSE,
        (
            "view-state",
            "An ASP site that keeps the state of menus that a visitor opened in one long \
             parameter.",
        ),
        SiteFrame {
            title: "District Council",
            nav: &[("/forms", "Forms"), ("/default.aspx?state=AA", "Services")],
        },
        &["/", "/forms", "/councillors", "/service/{1-30}.aspx"],
        states,
    ),
];

fn viewvc(asked: &WorldTarget<'_>) -> WorldReply {
    const FILES: [&str; 6] = ["main.c", "loom.c", "loom.h", "parse.c", "yarn.c", "Makefile"];
    let ["viewvc", "trunk", file] = asked.parts()[..] else { return WorldReply::Missing };
    if !FILES.contains(&file) {
        return WorldReply::Missing;
    }
    let mut words = asked.own_words();
    let at = asked.number("pathrev").or(asked.number("r2")).unwrap_or(900);
    let base = format!("/viewvc/trunk/{file}");
    let page = WorldPage::new(format!("Contents of /trunk/{file}"));
    if asked.param("view") == Some("log") {
        let entries = (0..8).flat_map(|n| {
            let (revision, who) = (at.saturating_sub(n * 3).max(1), words.person());
            [
                (
                    format!("{base}?revision={revision}&view=markup&pathrev={at}"),
                    format!("Revision {revision} by {who}"),
                ),
                (
                    format!(
                        "{base}?r1={}&r2={revision}&view=diff&pathrev={at}",
                        revision.saturating_sub(3)
                    ),
                    "Diff to previous".to_owned(),
                ),
                (format!("{base}?annotate={revision}&pathrev={at}"), "annotate".to_owned()),
            ]
        });
        let entries: Vec<_> = entries.collect();
        return page
            .links(entries)
            .link(format!("{base}?view=log&pathrev={}", at + 1), "Sticky revision")
            .into();
    }
    let revision = asked.number("revision").or(asked.number("annotate")).unwrap_or(at);
    let mut code = asked.words(format!("{file} {}", revision / 40));
    let lines: Vec<String> =
        (0..15).map(|_| format!("    {}({});", code.joined(2, "_"), code.noun())).collect();
    let other = u64::from(words.between(1, 2_000));
    let file = words.one_of(&FILES);
    page.pre(lines.join("\n"))
        .links([
            (
                format!("{base}?r1={revision}&r2={other}&view=diff&diff_format=h&pathrev={at}"),
                "Colored Diff".to_owned(),
            ),
            (format!("{base}?view=log&pathrev={revision}"), "Revision log".to_owned()),
            (format!("/viewvc/trunk/{file}?view=markup&pathrev={}", revision + 1), file.to_owned()),
        ])
        .into()
}

fn bugs(asked: &WorldTarget<'_>) -> WorldReply {
    const COLUMNS: [&str; 9] = [
        "bug_id",
        "severity",
        "priority",
        "assignee",
        "status",
        "resolution",
        "changed",
        "component",
        "votes",
    ];
    if asked.path == "/enter_bug.cgi" {
        return WorldPage::new("Log in to Bugs of Marwick")
            .text("You must log in to report a bug.")
            .into();
    }
    if asked.path != "/buglist.cgi" {
        return WorldReply::Missing;
    }
    let order: Vec<&str> = asked
        .param("order")
        .unwrap_or_default()
        .split(',')
        .filter(|column| !column.is_empty())
        .collect();
    let by = |column: &str| {
        let kept: Vec<&str> =
            order.iter().copied().filter(|it| it.split('.').next() != Some(column)).collect();
        let way = if order.first() == Some(&column) {
            format!("{column}.desc")
        } else {
            column.to_owned()
        };
        let order: Vec<&str> = [way.as_str()].into_iter().chain(kept).collect();
        (format!("/buglist.cgi?product=loom&order={}", order.join(",")), column.to_owned())
    };
    let mut words = asked.own_words();
    let shift = words.below(40);
    let found = (0..40).map(|n| (n * 7 + shift) % 40 + 1);
    let found = found.map(|id| {
        (
            format!("/show_bug.cgi?id={id}"),
            asked.words(format!("title /show_bug.cgi?id={id}")).title(),
        )
    });
    WorldPage::new("Bug list")
        .links(COLUMNS.map(by))
        .links(found)
        .link("/enter_bug.cgi", "Report a bug")
        .into()
}

fn tokens(asked: &WorldTarget<'_>) -> WorldReply {
    if asked.path != "/list" {
        return WorldReply::Missing;
    }
    let mut words = asked.own_words();
    let theses: Vec<&String> =
        asked.honest().iter().filter(|it| it.starts_with("/thesis/")).collect();
    let shown: Vec<_> = (0..8)
        .map(|_| {
            let to = theses[words.below(theses.len() as u32) as usize];
            (to, asked.words(format!("title {to}")).title())
        })
        .collect();
    WorldPage::new("List of theses")
        .links(shown)
        .link(format!("/list?resumptionToken={}", words.hex(24)), "next part")
        .into()
}

/// A byte for each menu that was opened, in hexadecimal.
fn states(asked: &WorldTarget<'_>) -> WorldReply {
    let (Some(state), "/default.aspx") = (asked.param("state"), asked.path) else {
        return WorldReply::Missing;
    };
    let mut words = asked.words("menus");
    let kept = &state[state.len().saturating_sub(120)..];
    let menus: Vec<_> = (0..14)
        .map(|n| {
            (format!("/default.aspx?state={kept}{:02X}", n * 17), format!("▸ {}", words.title()))
        })
        .collect();
    let open = state.len() % 30 + 1;
    WorldPage::new("Services of the council")
        .text("Choose an area to see its services.")
        .links(menus)
        .link(format!("/service/{open}.aspx"), "Service of the day")
        .into()
}
