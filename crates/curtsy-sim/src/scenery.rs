//! Makes the hosts of a run: who is slow, who loses patience, whose robots.txt changes.

use std::sync::Arc;

use curtsy_core::url::Scheme;

use crate::chance::Chance;
use crate::run::{Mode, Set, Spec};
use crate::web::{HostModel, Mood, Oddity, RobotsAnswer, SECOND, Told, address};

const HOUR: u64 = 3600 * SECOND;

/// The hosts of a run. Moods end at `calm`: from then on everybody is polite, so that everything
/// can end.
pub(crate) fn hosts(spec: &Spec, start: u64, calm: u64, chance: &mut Chance) -> Vec<HostModel> {
    let drawn = (0..spec.hosts as u64).map(|n| host(spec, n, start, calm, &mut chance.fork()));
    drawn
        .map(|host| if let Some(set) = &spec.set { fixed(host, set, start, calm) } else { host })
        .collect()
}

/// The same host, with what a run fixes.
fn fixed(host: HostModel, set: &Set, start: u64, calm: u64) -> HostModel {
    HostModel {
        ip: if set.one_address { address(0) } else { host.ip },
        handshake: set.handshake,
        think: set.think,
        way: (100, 2_000),
        late: set.late,
        robots: vec![(0, set.robots.clone()), (calm, RobotsAnswer::Status(404))],
        moods: vec![
            (0, Mood::Polite),
            (start + set.mood_after * SECOND, set.mood.clone()),
            (calm, Mood::Polite),
        ],
        oddity: set.oddity,
        ..host
    }
}

fn host(spec: &Spec, n: u64, start: u64, calm: u64, chance: &mut Chance) -> HostModel {
    let name: Arc<str> = format!("h{n}.test").into();
    // Some hosts share an address.
    let ip = address(if chance.percent(15) { 0 } else { n });
    let fast = chance.percent(60);
    let handshake = if fast { (500, 30_000) } else { (0, 3 * SECOND) };
    let mut moods = vec![(0, Mood::Polite)];
    let mut at = start + chance.below(4 * HOUR);
    while at < calm {
        let (mood, lasts) = mood(spec.mode, chance);
        moods.push((at, mood));
        moods.push((at + lasts, Mood::Polite));
        at += lasts + chance.below(12 * HOUR);
    }
    moods.retain(|(from, _)| *from < calm);
    moods.push((calm, Mood::Polite));
    let mut robots = vec![(0, robots_text(chance))];
    let mut at = start + chance.below(10 * HOUR);
    while at < calm {
        robots.push((at, robots_phase(spec, n, chance)));
        at += chance.between(HOUR / 4, 12 * HOUR);
    }
    robots.retain(|(from, _)| *from < calm);
    robots.push((calm, robots_text(chance)));
    HostModel {
        name,
        ip,
        authorities: vec![(Scheme::Http, 80), (Scheme::Https, 443), (Scheme::Http, 8080)],
        handshake,
        think: if fast { (1_000, 60_000) } else { (20_000, 900_000) },
        way: (100, if fast { 2_000 } else { 8_000 }),
        // A test server reads within 20 ms; the way is part of what it may be late.
        late: if chance.percent(50) { 0 } else { 12_000 },
        skew: if chance.percent(30) { chance.between(0, 7200) as i64 - 3600 } else { 0 },
        keep_alive: chance.between(2, 60) * SECOND,
        robots,
        moods,
        pages: 100_000,
        links: spec.links,
        oddity: if spec.mode == Mode::Liveness { Oddity::None } else { Oddity::Mixed },
        seed: chance.draw(),
    }
}

fn told(chance: &mut Chance) -> Told {
    match chance.below(5) {
        0 | 1 => Told::Nothing,
        2 => Told::Seconds(*chance.pick(&[0, 1, 5, 30, 120, 900, 7200])),
        3 => Told::Date(*chance.pick(&[0, 10, 60, 600, 3600])),
        _ => Told::Junk,
    }
}

/// A mood and how long it lasts.
fn mood(mode: Mode, chance: &mut Chance) -> (Mood, u64) {
    let minutes = |chance: &mut Chance, low, high| chance.between(low, high) * 60 * SECOND;
    let kind = match mode {
        // Failures make URLs wait on their own account, which a server's log can't show.
        Mode::Liveness => chance.below(4),
        Mode::Safety => chance.below(12),
    };
    match kind {
        0 => (Mood::Slow(chance.between(2, 8)), minutes(chance, 5, 120)),
        1 => (Mood::TooMany(told(chance)), minutes(chance, 1, 30)),
        2 => (Mood::SomeTooMany(10, told(chance)), minutes(chance, 5, 60)),
        3 => (Mood::Busy(Told::Seconds(chance.between(1, 600))), minutes(chance, 1, 20)),
        4 => (Mood::Status(*chance.pick(&[502, 503, 504])), minutes(chance, 1, 180)),
        5 => (Mood::Refuse, minutes(chance, 1, 180)),
        6 => {
            let lasts = minutes(chance, 1, 60);
            let shut = (lasts / (60 * SECOND)).is_multiple_of(2);
            (if shut { Mood::Shut } else { Mood::Reset }, lasts)
        }
        7 => (Mood::Hang, minutes(chance, 1, 60)),
        8 => (Mood::Some(30, *chance.pick(&[500, 502, 503, 504])), minutes(chance, 5, 90)),
        9 => (Mood::Status(403), minutes(chance, 1, 20)),
        10 => (Mood::Some(20, 403), minutes(chance, 5, 60)),
        _ => (Mood::Status(500), minutes(chance, 1, 30)),
    }
}

fn robots_phase(spec: &Spec, n: u64, chance: &mut Chance) -> RobotsAnswer {
    if spec.mode == Mode::Liveness && chance.percent(80) {
        return robots_text(chance);
    }
    match chance.below(10) {
        0 => RobotsAnswer::Status(404),
        1 => RobotsAnswer::Status(*chance.pick(&[500, 503, 429])),
        2 => RobotsAnswer::Status(*chance.pick(&[401, 403, 410])),
        3 => RobotsAnswer::Hang,
        4 => RobotsAnswer::Truncated,
        5 => {
            let other = chance.below(spec.hosts as u64);
            let to = match chance.below(4) {
                0 => format!("https://h{n}.test/robots.txt"),
                1 => format!("http://h{other}.test/robots.txt"),
                2 => format!("http://h{other}.test/rules/robots.txt"),
                _ => format!("http://h{n}.test:8080/robots.txt"),
            };
            RobotsAnswer::Moved(to.into())
        }
        _ => robots_text(chance),
    }
}

fn robots_text(chance: &mut Chance) -> RobotsAnswer {
    let mut text = String::from("User-agent: *\n");
    if chance.percent(30) {
        let delay = chance.pick(&["0.5", "1.5", "2", "4.25", "10", "30", "120"]);
        text.push_str(&format!("Crawl-delay: {delay}\n"));
    }
    for _ in 0..chance.below(4) {
        let part = chance.below(10);
        text.push_str(&format!("Disallow: /p/{part}\n"));
    }
    if chance.percent(20) {
        text.push_str("Disallow: /*7$\nAllow: /p/17\n");
    }
    if chance.percent(8) {
        text.push_str("User-agent: curtsy\nDisallow: /\n");
    }
    let etag: Option<Arc<str>> =
        chance.percent(40).then(|| format!("\"r{:x}\"", chance.draw()).into());
    RobotsAnswer::Text(text.into_bytes().into(), etag)
}
