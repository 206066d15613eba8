//! Forms that are links: timetables, maps, graphs and calculators, each answer with others beside.

use super::PURPOSE;
use crate::worlds::WebWorld;
use crate::worlds::page::{SiteFrame, WorldPage, WorldReply};
use crate::worlds::target::WorldTarget;

pub(super) static WORLDS: [WebWorld; 4] = [
    WebWorld::endless(
        PURPOSE,
        (
            "train-times",
            "A railway whose timetable answers link earlier and later trains, the way back, and \
             the next day.",
        ),
        SiteFrame {
            title: "Vale Light Railway",
            nav: &[("/stations", "Stations"), ("/trains?from=0&to=5&t=29000000", "Trains")],
        },
        &["/", "/stations", "/fares", "/lines/{1-30}"],
        trains,
    ),
    WebWorld::endless(
        PURPOSE,
        ("map-views", "A county map without JavaScript: links pan in four directions and zoom."),
        SiteFrame {
            title: "County Map",
            nav: &[("/legend", "Legend"), ("/map?lat=5100000&lon=-120000&z=9", "Map")],
        },
        &["/", "/legend", "/about", "/walks/{slug:28}"],
        map,
    ),
    WebWorld::endless(
        PURPOSE,
        (
            "server-graphs",
            "Munin-like graphs of a few machines that can be zoomed and moved to any time.",
        ),
        SiteFrame {
            title: "Status of the machines",
            nav: &[("/machines", "Machines"), ("/graph/web1/load/1795000000/1795086400", "Load")],
        },
        &["/", "/machines", "/incidents", "/reports/2026-{1-26}.html"],
        graphs,
    ),
    WebWorld::endless(
        PURPOSE,
        (
            "loan-calculator",
            "A bank whose loan calculator puts amount, years and rate into the path and links \
             the neighbours.",
        ),
        SiteFrame {
            title: "Farmers' Credit Union",
            nav: &[
                ("/accounts", "Accounts"),
                ("/loans/amount-100000/years-20/rate-3.50/", "Loans"),
            ],
        },
        &["/", "/accounts", "/branches", "/advice/{1-27}-loans"],
        loan,
    ),
];

/// `t` counts minutes.
fn trains(asked: &WorldTarget<'_>) -> WorldReply {
    let (Some(from), Some(to), Some(t), "/trains") =
        (asked.number("from"), asked.number("to"), asked.number("t"), asked.path)
    else {
        return WorldReply::Missing;
    };
    let station = |n: u64| asked.words(format!("station {}", n % 24)).place();
    let link =
        |from: u64, to: u64, t: u64| format!("/trains?from={}&to={}&t={t}", from % 24, to % 24);
    let clock = |t: u64| format!("{:02}:{:02}", t / 60 % 24, t % 60);
    let mut words = asked.own_words();
    let rows: Vec<_> = (0..4)
        .map(|n| {
            let leaves = t + n * 30 + u64::from(words.below(9));
            let arrives = leaves + 20 + u64::from(words.below(70));
            (clock(leaves), format!("arrives {}, platform {}", clock(arrives), words.between(1, 6)))
        })
        .collect();
    WorldPage::new(format!("{} to {}", station(from), station(to)))
        .table(rows)
        .links([
            (link(from, to, t.saturating_sub(120)), "earlier"),
            (link(from, to, t + 120), "later"),
            (link(from, to, t + 1_440), "next day"),
            (link(to, from, t + 60), "way back"),
            (link(to, to + 3, t + 90), "connections"),
        ])
        .into()
}

/// Positions in units of 0.00001 degrees.
fn map(asked: &WorldTarget<'_>) -> WorldReply {
    let signed = |name: &str| asked.param(name)?.parse::<i64>().ok();
    let (Some(lat), Some(lon), Some(z), "/map") =
        (signed("lat"), signed("lon"), signed("z"), asked.path)
    else {
        return WorldReply::Missing;
    };
    let step = 4_000_000 >> z.clamp(1, 18);
    let link =
        |lat: i64, lon: i64, z: i64| format!("/map?lat={lat}&lon={lon}&z={}", z.clamp(1, 18));
    let square = asked.words(format!("square {} {}", lat / 40_000, lon / 40_000)).place();
    WorldPage::new(format!("Map near {square}"))
        .text("To see the map in one piece, please switch on JavaScript.")
        .links([
            (link(lat + step, lon, z), "north"),
            (link(lat - step, lon, z), "south"),
            (link(lat, lon + step, z), "east"),
            (link(lat, lon - step, z), "west"),
            (link(lat, lon, z + 1), "closer"),
            (link(lat, lon, z - 1), "farther"),
        ])
        .into()
}

/// `/graph/MACHINE/WHAT/FROM/TO`.
fn graphs(asked: &WorldTarget<'_>) -> WorldReply {
    const MACHINES: [&str; 4] = ["web1", "web2", "db1", "mail"];
    const KINDS: [&str; 5] = ["load", "memory", "disk", "net", "users"];
    let ["graph", machine, kind, from, to] = asked.parts()[..] else { return WorldReply::Missing };
    let (Ok(from), Ok(to)) = (from.parse::<u64>(), to.parse::<u64>()) else {
        return WorldReply::Missing;
    };
    if !MACHINES.contains(&machine) || !KINDS.contains(&kind) || from >= to {
        return WorldReply::Missing;
    }
    let (span, link) = (to - from, |kind: &str, from: u64, to: u64| {
        format!("/graph/{machine}/{kind}/{from}/{to}")
    });
    let mut words = asked.own_words();
    let (low, high) = (words.below(40), words.between(41, 99));
    let kinds = KINDS.map(|other| (link(other, from, to), other));
    let page = WorldPage::new(format!("{kind} of {machine}")).table([
        ("minimum", format!("0.{low:02}")),
        ("maximum", format!("0.{high:02}")),
        ("average", format!("0.{:02}", (low + high) / 2)),
    ]);
    page.links(kinds)
        .links([
            (link(kind, from.saturating_sub(span), from), "« earlier"),
            (link(kind, to, to + span), "later »"),
            (link(kind, from + span / 4, (to - span / 4).max(from + span / 4 + 60)), "zoom in"),
            (link(kind, from.saturating_sub(span / 2), to + span / 2), "zoom out"),
        ])
        .into()
}

fn loan(asked: &WorldTarget<'_>) -> WorldReply {
    let ["loans", amount, years, rate] = asked.parts()[..] else { return WorldReply::Missing };
    let read = || {
        let amount: u64 = amount.strip_prefix("amount-")?.parse().ok()?;
        let years: u64 = years.strip_prefix("years-")?.parse().ok()?;
        let (whole, hundredths) = rate.strip_prefix("rate-")?.split_once('.')?;
        let rate = whole.parse::<u64>().ok()? * 100 + hundredths.parse::<u64>().ok()?;
        Some((amount, years.clamp(1, 99), rate))
    };
    let Some((amount, years, rate)) = read() else { return WorldReply::Missing };
    let link = |amount: u64, years: u64, rate: u64| {
        format!("/loans/amount-{amount}/years-{years}/rate-{}.{:02}/", rate / 100, rate % 100)
    };
    let interest = amount * rate * years / 20_000;
    WorldPage::new(format!("A loan of {amount} over {years} years"))
        .table([
            ("Interest rate", format!("{}.{:02} %", rate / 100, rate % 100)),
            ("Interest in all", interest.to_string()),
            ("Each month", ((amount + interest) / (years * 12)).to_string()),
        ])
        .text("This calculation is not an offer. Please make an appointment at your branch.")
        .links([
            (link(amount + 500, years, rate), "500 more"),
            (link(amount.saturating_sub(500).max(500), years, rate), "500 less"),
            (link(amount, (years + 1).min(40), rate), "a year longer"),
            (link(amount, (years - 1).max(1), rate), "a year shorter"),
            (link(amount, years, rate + 5), "if rates rise"),
        ])
        .into()
}
