//! Calendars: there is always a next month, and a next day.

use super::PURPOSE;
use crate::worlds::WebWorld;
use crate::worlds::page::{SiteFrame, WorldPage, WorldReply};
use crate::worlds::target::WorldTarget;

pub(super) static WORLDS: [WebWorld; 2] = [
    WebWorld::endless(
        PURPOSE,
        (
            "calendar-months",
            "A parish site whose event calendar links the next and the previous month, and most \
             months are empty.",
        ),
        SiteFrame {
            title: "St Wilfrid's Parish",
            nav: &[
                ("/about", "About us"),
                ("/calendar/2026/11/", "Calendar"),
                ("/contact", "Contact"),
            ],
        },
        &["/", "/about", "/contact", "/services", "/history", "/news/{1-30}"],
        months,
    ),
    WebWorld::endless(
        PURPOSE,
        (
            "planner-days",
            "A sports hall whose booking planner shows a day, with links to the next day and \
             the next week.",
        ),
        SiteFrame {
            title: "Northgate Sports Hall",
            nav: &[
                ("/prices", "Prices"),
                ("/booking?date=2026-11-19", "Book a court"),
                ("/rules", "Rules"),
            ],
        },
        &["/", "/prices", "/rules", "/team", "/clubs/{slug:26}"],
        days,
    ),
];

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

/// `/calendar/2026/11/`.
fn months(asked: &WorldTarget<'_>) -> WorldReply {
    let parts = asked.parts();
    let (Some(&"calendar"), Some(year), Some(month)) =
        (parts.first(), number(&parts, 1), number(&parts, 2))
    else {
        return WorldReply::Missing;
    };
    if !(1..=12).contains(&month) || parts.len() != 3 {
        return WorldReply::Missing;
    }
    let at = year * 12 + month - 1;
    let link = |at: u64| format!("/calendar/{}/{:02}/", at / 12, at % 12 + 1);
    let name = |at: u64| format!("{} {}", MONTHS[(at % 12) as usize], at / 12);
    let mut words = asked.own_words();
    let events = if (2025..2028).contains(&year) { words.below(4) } else { 0 };
    let mut page = WorldPage::new(name(at));
    if events == 0 {
        page = page.text("There are no events in this month.");
    }
    for _ in 0..events {
        page = page.heading(words.title()).text(words.sentence());
    }
    let grid: Vec<String> = (1..=30).map(|day| day.to_string()).collect();
    page.pre(grid.join("  "))
        .links([(link(at.saturating_sub(1)), "« previous month"), (link(at + 1), "next month »")])
        .into()
}

/// `/booking?date=2026-11-19`: 30 days in each month, which is enough for a planner.
fn days(asked: &WorldTarget<'_>) -> WorldReply {
    let date: Vec<u64> = asked
        .param("date")
        .unwrap_or_default()
        .split('-')
        .map_while(|part| part.parse().ok())
        .collect();
    let (&[year, month, day], "/booking") = (&date[..], asked.path) else {
        return WorldReply::Missing;
    };
    if !(1..=12).contains(&month) || !(1..=30).contains(&day) {
        return WorldReply::Missing;
    }
    let at = (year * 12 + month - 1) * 30 + day - 1;
    let link = |at: u64| {
        format!("/booking?date={:04}-{:02}-{:02}", at / 360, at / 30 % 12 + 1, at % 30 + 1)
    };
    let hours =
        (8..22).map(|hour| (format!("{hour}:00"), "court 1 free, court 2 free, court 3 free"));
    WorldPage::new(format!("Courts on {year:04}-{month:02}-{day:02}"))
        .text("Choose a court and an hour. Bookings are open to members and guests.")
        .table(hours)
        .links([
            (link(at + 1), "next day"),
            (link(at.saturating_sub(1)), "previous day"),
            (link(at + 7), "next week"),
            (link(at + 30), "next month"),
        ])
        .into()
}

fn number(parts: &[&str], index: usize) -> Option<u64> {
    parts.get(index)?.parse().ok()
}
