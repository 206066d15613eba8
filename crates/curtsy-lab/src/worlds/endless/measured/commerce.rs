//! Shops that answer more numbers than they have goods, and doors that test for cookies.

use super::PURPOSE;
use crate::worlds::WebWorld;
use crate::worlds::page::{SiteFrame, WorldPage, WorldReply};
use crate::worlds::target::WorldTarget;

pub(super) static WORLDS: [WebWorld; 2] = [
    WebWorld::endless(
        PURPOSE,
        (
            "every-number",
            "A shop of forty articles whose template answers any number with an offer on request \
             and the next number.",
        ),
        SiteFrame {
            title: "Spare Parts Direct",
            nav: &[("/how-to-order", "How to order"), ("/part.php?no=41", "Further parts")],
        },
        &["/", "/how-to-order", "/contact", "/part.php?no={1-40}"],
        numbers,
    ),
    WebWorld::endless(
        PURPOSE,
        (
            "cookie-check",
            "A holiday site that sends each visitor without a cookie through a check with a new \
             token, page by page.",
        ),
        SiteFrame {
            title: "Lakeside Holidays",
            nav: &[("/houses", "Houses"), ("/prices", "Prices")],
        },
        &["/", "/houses", "/prices", "/house/{slug:30}"],
        check,
    )
    .decorated(|asked, page| {
        page.link(
            format!("/check?to={}&token={}", asked.path, asked.own_words().hex(14)),
            "Check availability",
        )
    }),
];

fn numbers(asked: &WorldTarget<'_>) -> WorldReply {
    let (Some(number), "/part.php") = (asked.number("no"), asked.path) else {
        return WorldReply::Missing;
    };
    let link = |number: u64| format!("/part.php?no={number}");
    WorldPage::new(format!("Part no. {number}"))
        .text(format!("The price of part {number} is on request. Please write to us."))
        .links([
            (link(number + 1), "next part"),
            (link(number.saturating_sub(1).max(1)), "previous part"),
            (link(number + 100), "100 further on"),
        ])
        .into()
}

/// `/check` redirects to the page with the token, whose links lead to the check again.
fn check(asked: &WorldTarget<'_>) -> WorldReply {
    if asked.path == "/check" {
        let (Some(to), Some(token)) = (asked.param("to"), asked.param("token")) else {
            return WorldReply::Missing;
        };
        return WorldReply::To(302, format!("{to}?checked={token}"));
    }
    let Some(page) = asked.copy_of(asked.path).filter(|_| asked.param("checked").is_some()) else {
        return WorldReply::Missing;
    };
    let token = asked.own_words().hex(14);
    let mut count = asked.own_words().below(90);
    count += 10;
    page.relinked(move |href| format!("/check?to={href}&token={token}{count}")).into()
}
