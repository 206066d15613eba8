//! Forums, wikis and repository browsers: each real page has actions that name other actions.

use super::PURPOSE;
use crate::worlds::WebWorld;
use crate::worlds::page::{SiteFrame, WorldPage, WorldReply};
use crate::worlds::target::WorldTarget;

pub(super) static WORLDS: [WebWorld; 3] = [
    WebWorld::endless(
        PURPOSE,
        (
            "forum-actions",
            "A forum of forty topics whose posts can be quoted, printed, reported and sorted, \
             and each of those pages links the others.",
        ),
        SiteFrame {
            title: "Bee Keepers' Forum",
            nav: &[("/rules", "Rules"), ("/members?sort=name", "Members")],
        },
        &["/", "/rules", "/topic/{1-40}"],
        actions,
    )
    .decorated(|asked, page| page.heading("Replies").links(post_links(asked))),
    WebWorld::endless(
        PURPOSE,
        (
            "wiki-history",
            "A small wiki whose histories link every revision and the difference of any two.",
        ),
        SiteFrame {
            title: "Loomwiki",
            nav: &[("/wiki/Weaving", "Weaving"), ("/wiki/Help", "Help")],
        },
        &["/", "/wiki/Weaving", "/wiki/Help", "/wiki/{slug:32}"],
        history,
    )
    .decorated(|asked, page| {
        let title = asked.path.trim_start_matches("/wiki/").trim_matches('/');
        let title = if title.is_empty() { "Main" } else { title };
        page.links([
            (format!("/index.php?title={title}&action=history"), "View history"),
            (format!("/index.php?title={title}&action=edit"), "Edit"),
        ])
    }),
    WebWorld::endless(
        PURPOSE,
        (
            "gitweb-pairs",
            "A gitweb with a short log whose pages offer the difference between any two objects.",
        ),
        SiteFrame {
            title: "git.wenham",
            nav: &[("/about", "About"), ("/?p=loom.git;a=shortlog", "loom.git")],
        },
        &["/", "/about", "/readme/{1-26}"],
        gitweb,
    ),
];

/// Five posts in each topic, each with four actions.
fn post_links(asked: &WorldTarget<'_>) -> Vec<(String, String)> {
    let Some(topic) = asked.number_in("/topic/", "") else { return Vec::new() };
    (1..=5)
        .flat_map(|post| {
            let id = topic * 100 + post;
            [
                (format!("/posting?mode=quote&t={topic}&p={id}"), "Quote".to_owned()),
                (format!("/posting?mode=reply&t={topic}&p={id}"), "Reply".to_owned()),
                (format!("/report?p={id}"), "Report".to_owned()),
                (format!("/view?t={topic}&p={id}&view=print"), format!("Print post {id}")),
            ]
        })
        .collect()
}

fn actions(asked: &WorldTarget<'_>) -> WorldReply {
    let post = asked.number("p").unwrap_or(0) % 100_000;
    let topic = asked.number("t").unwrap_or(post / 100).clamp(1, 40);
    match asked.path {
        "/posting" | "/report" => {
            let mode = asked.param("mode").unwrap_or("report");
            // A draft is saved with each view, and its number is in the links.
            let draft = asked.own_words().hex(8);
            WorldPage::new(format!("Post a message ({mode})"))
                .text("You must be logged in to post a message in this forum.")
                .links([
                    (format!("/posting?mode={mode}&t={topic}&p={post}&draft={draft}"), "Preview"),
                    (format!("/posting?mode=smilies&t={topic}&p={post}&draft={draft}"), "Smilies"),
                    (format!("/topic/{topic}"), "Back to the topic"),
                ])
                .into()
        }
        "/view" => {
            let start = asked.number("start").unwrap_or(0);
            let order = ["asc", "desc"].map(|order| {
                (
                    format!(
                        "/view?t={topic}&p={post}&view={}&sd={order}&start={}",
                        asked.param("view").unwrap_or("print"),
                        start + 10
                    ),
                    order,
                )
            });
            let mut words = asked.words(format!("post {post}"));
            WorldPage::new(format!("Topic {topic}"))
                .texts(&mut words, 2, 40)
                .links(order)
                .links([(format!("/view?t={topic}&p={}&view=next", post + 1), "next post")])
                .into()
        }
        "/members" => {
            let start = asked.number("start").unwrap_or(0);
            let sort = asked.param("sort").unwrap_or("name");
            let names =
                (0..20).map(|n| asked.words(format!("member {}", (start + n) % 90)).person());
            let sorts = ["name", "posts", "joined", "rank"].map(|to| {
                (
                    format!(
                        "/members?sort={to}&start={start}&dir={}",
                        if to == sort { "d" } else { "a" }
                    ),
                    to,
                )
            });
            WorldPage::new("Members")
                .pre(names.collect::<Vec<_>>().join("\n"))
                .links(sorts)
                .link(format!("/members?sort={sort}&start={}", start + 20), "next")
                .into()
        }
        _ => WorldReply::Missing,
    }
}

fn history(asked: &WorldTarget<'_>) -> WorldReply {
    let (Some(title), "/index.php") = (asked.param("title"), asked.path) else {
        return WorldReply::Missing;
    };
    let mut words = asked.own_words();
    let base = format!("/index.php?title={title}");
    let heading = title.replace(['_', '-'], " ");
    match asked.param("action").unwrap_or("view") {
        "history" => {
            let offset = asked.number("offset").unwrap_or(900_000);
            let rows = (0..20).flat_map(|n| {
                let id = offset.saturating_sub(n * 7);
                let (who, day) = (words.person(), words.between(1, 28));
                [
                    (format!("{base}&oldid={id}"), format!("{day} March, {who}")),
                    (format!("{base}&diff={offset}&oldid={id}"), "cur".to_owned()),
                    (
                        format!("{base}&action=edit&undo={id}&undoafter={}", id.saturating_sub(7)),
                        "undo".to_owned(),
                    ),
                ]
            });
            WorldPage::new(format!("{heading}: revision history"))
                .links(rows.collect::<Vec<_>>())
                .links([
                    (
                        format!(
                            "{base}&action=history&offset={}",
                            offset.saturating_sub(140).max(1)
                        ),
                        "older 20",
                    ),
                    (format!("{base}&action=history&offset={}&limit=500", offset + 1), "500"),
                ])
                .into()
        }
        "edit" => WorldPage::new(format!("Editing {heading}"))
            .text("You do not have permission to edit this page. You can view and copy its source.")
            .link(format!("/wiki/{title}"), "Return")
            .into(),
        _ => {
            let id = asked.number("oldid").unwrap_or(1);
            let mut old = asked.words(format!("text {title} {}", id / 50));
            WorldPage::new(format!("{heading}, old revision"))
                .text(format!(
                    "This is revision {id} of this page, as edited by {}.",
                    words.person()
                ))
                .texts(&mut old, 3, 60)
                .links([
                    (format!("{base}&diff=prev&oldid={id}"), "diff"),
                    (
                        format!(
                            "{base}&oldid={}",
                            id.saturating_sub(words.between(1, 9).into()).max(1)
                        ),
                        "← older revision",
                    ),
                    (format!("{base}&oldid={}", id + 3), "newer revision →"),
                ])
                .into()
        }
    }
}

fn gitweb(asked: &WorldTarget<'_>) -> WorldReply {
    let (Some(project), "/") = (asked.param("p"), asked.path) else { return WorldReply::Missing };
    let action = asked.param("a").unwrap_or("summary");
    let mut words = asked.own_words();
    let base = format!("/?p={project}");
    let own = asked.param("h").map_or_else(|| words.hex(40), str::to_owned);
    let commit = |words: &mut crate::worlds::text::WorldText| words.hex(40);
    match action {
        "shortlog" | "log" => {
            let page = asked.number("pg").unwrap_or(0);
            let rows = (0..12).flat_map(|_| {
                let (id, title) = (commit(&mut words), words.title());
                [
                    (format!("{base};a=commit;h={id}"), title),
                    (format!("{base};a=commitdiff;h={id};hp={own}"), "commitdiff".to_owned()),
                    (format!("{base};a=tree;h={id};hb={id}"), "tree".to_owned()),
                ]
            });
            let rows: Vec<_> = rows.collect();
            WorldPage::new(format!("{project} / {action}"))
                .links(rows)
                .link(format!("{base};a={action};h={own};pg={}", page + 1), "next")
                .into()
        }
        "tree" => {
            let files = (0..8).map(|_| {
                let (file, blob) = (words.noun(), commit(&mut words));
                (format!("{base};a=blob;f={file}.c;h={blob};hb={own}"), format!("{file}.c"))
            });
            let files: Vec<_> = files.collect();
            WorldPage::new(format!("{project} / tree")).links(files).into()
        }
        _ => {
            let (parent, other) = (commit(&mut words), commit(&mut words));
            let code: Vec<String> =
                (0..12).map(|_| format!("+ {}", words.joined(4, "_"))).collect();
            WorldPage::new(format!("{project} / {action}"))
                .table([
                    ("author", words.person()),
                    ("commit", own.clone()),
                    ("parent", parent.clone()),
                ])
                .pre(code.join("\n"))
                .links([
                    (format!("{base};a=commit;h={parent}"), "parent"),
                    (format!("{base};a=commitdiff;h={own};hp={other}"), "diff to current"),
                    (format!("{base};a=commitdiff_plain;h={own};hp={parent}"), "raw"),
                    (format!("{base};a=shortlog;h={own}"), "shortlog"),
                ])
                .into()
        }
    }
}
