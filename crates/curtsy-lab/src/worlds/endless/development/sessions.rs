//! The same few pages under ever new names: session ids, tracking codes, return addresses.

use super::PURPOSE;
use crate::worlds::WebWorld;
use crate::worlds::page::{SiteFrame, WorldPage, WorldReply};
use crate::worlds::target::WorldTarget;

pub(super) static WORLDS: [WebWorld; 4] = [
    WebWorld::endless(
        PURPOSE,
        (
            "session-path",
            "A library whose pages are also under a session id in the path, and each page begins \
             new sessions.",
        ),
        SiteFrame {
            title: "Tarford Library",
            nav: &[("/opening-hours", "Opening hours"), ("/catalogue", "Catalogue")],
        },
        &["/", "/opening-hours", "/catalogue", "/about", "/books/{1-32}.html"],
        session_path,
    )
    .decorated(|asked, page| {
        let id = asked.own_words().hex(12);
        page.link(format!("/s/{id}{}", asked.whole), "Continue in a new session")
    }),
    WebWorld::endless(
        PURPOSE,
        (
            "session-query",
            "A PHP site without cookies that adds a new PHPSESSID to the links of each page.",
        ),
        SiteFrame {
            title: "Kelby Model Railways",
            nav: &[("/index.php", "Start"), ("/imprint.php", "Imprint")],
        },
        &["/", "/index.php", "/imprint.php", "/links.php", "/show.php?id={1-36}"],
        session_query,
    )
    .decorated(|asked, page| {
        let id = asked.own_words().hex(26);
        page.link(with_parameter(asked.whole, "PHPSESSID", &id), "Stay on this page")
    }),
    WebWorld::endless(
        PURPOSE,
        ("tracking-nonce", "A magazine that marks each link of a teaser with a new click id."),
        SiteFrame {
            title: "The Weekly Lantern",
            nav: &[("/subscribe", "Subscribe"), ("/masthead", "Masthead")],
        },
        &["/", "/subscribe", "/masthead", "/story/{slug:34}"],
        tracking,
    )
    .decorated(|asked, page| page.heading("Recommended for you").links(teasers(asked))),
    WebWorld::endless(
        PURPOSE,
        (
            "login-return",
            "A members' site whose login page carries the address to return to, and links itself \
             with it.",
        ),
        SiteFrame {
            title: "Harbour Rowing Club",
            nav: &[("/fleet", "Our boats"), ("/join", "Join")],
        },
        &["/", "/fleet", "/join", "/races/{1-28}"],
        login,
    )
    .decorated(|asked, page| {
        page.link(format!("/login?return={}", encoded(asked.whole)), "Members' login")
    }),
];

fn session_path(asked: &WorldTarget<'_>) -> WorldReply {
    let Some((id, _)) = asked.whole.strip_prefix("/s/").and_then(|rest| rest.split_once('/'))
    else {
        return WorldReply::Missing;
    };
    let target = &asked.whole[3 + id.len()..];
    let Some(page) = asked.copy_of(target) else { return WorldReply::Missing };
    let (own, salt) = (id.to_owned(), asked.own_words().hex(12));
    // Most links keep the session; the first of the navigation begins a new one.
    let kept = page.link(format!("/renew{target}"), "Your session is about to end: renew it");
    let page = kept.relinked(move |href| match href.strip_prefix("/renew") {
        Some(target) => format!("/s/{salt}{target}"),
        None => format!("/s/{own}{href}"),
    });
    page.into()
}

fn session_query(asked: &WorldTarget<'_>) -> WorldReply {
    let target = without_parameter(asked.whole, "PHPSESSID");
    let Some(page) = asked.copy_of(&target) else { return WorldReply::Missing };
    let id = asked.own_words().hex(26);
    page.relinked(move |href| with_parameter(href, "PHPSESSID", &id)).into()
}

fn tracking(asked: &WorldTarget<'_>) -> WorldReply {
    let target = without_parameter(asked.whole, "cid");
    let Some(page) = asked.copy_of(&target) else { return WorldReply::Missing };
    page.heading("Recommended for you").links(teasers(asked)).into()
}

/// Links to stories, each with a click id of its own.
fn teasers(asked: &WorldTarget<'_>) -> Vec<(String, String)> {
    let mut words = asked.words(format!("teasers {}", asked.whole));
    let stories = asked.honest();
    (0..6)
        .map(|_| {
            let story = &stories[words.below(stories.len() as u32) as usize];
            (format!("{story}?cid={}", words.hex(10)), words.title())
        })
        .collect()
}

fn login(asked: &WorldTarget<'_>) -> WorldReply {
    if asked.path != "/login" && asked.path != "/register" && asked.path != "/forgotten" {
        return WorldReply::Missing;
    }
    let back = encoded(asked.whole);
    WorldPage::new("Members' area")
        .text("Please enter your name and your password to see this page.")
        .links([
            (format!("/login?return={back}"), "Log in"),
            (format!("/register?return={back}"), "Register"),
            (format!("/forgotten?return={back}"), "Forgotten your password?"),
        ])
        .into()
}

fn with_parameter(target: &str, name: &str, value: &str) -> String {
    let mark = if target.contains('?') { '&' } else { '?' };
    format!("{target}{mark}{name}={value}")
}

/// The target without each parameter of this name.
fn without_parameter(target: &str, name: &str) -> String {
    let Some((path, query)) = target.split_once('?') else { return target.to_owned() };
    let kept = query.split('&').filter(|pair| pair.split('=').next() != Some(name));
    match kept.collect::<Vec<_>>() {
        kept if kept.is_empty() => path.to_owned(),
        kept => format!("{path}?{}", kept.join("&")),
    }
}

/// Percent-encodes what a parameter may not hold. The server forgets all but the last 600 bytes,
/// as servers with a bound on return addresses do.
fn encoded(target: &str) -> String {
    let from = target.len().saturating_sub(600);
    let target = target.get(from..).unwrap_or(target);
    target
        .replace('%', "%25")
        .replace('/', "%2F")
        .replace('?', "%3F")
        .replace('=', "%3D")
        .replace('&', "%26")
}
