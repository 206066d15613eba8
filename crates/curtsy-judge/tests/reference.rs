//! A small crawler that keeps every rule is found clean on sites of every kind. With one planted
//! fault it is caught.
//!
//! The crawler is a model of one worker, written for this test from the rules alone. It is no part
//! of the product: the simulator runs the real worker.

use std::collections::VecDeque;

use curtsy_judge::{ConnectionEvent, Exchange, Judge, JudgeReport, Manners, Rule};

const S: u64 = 1_000_000;

#[test]
fn a_crawler_with_manners_is_found_clean() {
    let reports: Vec<JudgeReport> =
        (1..=20).map(|seed| crawl(seed, Plant::Nothing, 3000)).collect();
    for (report, seed) in reports.iter().zip(1..) {
        assert!(report.clean(), "seed {seed}: {:#?}", report.first);
    }
    for rule in Rule::ALL {
        let judged: u64 = reports.iter().map(|report| report.rule(rule).judged).sum();
        // The model has no address, budget, fault or redirect, and asks for each page once.
        let never = [Rule::P6, Rule::P10, Rule::P12, Rule::P13, Rule::P14].contains(&rule);
        assert_eq!(judged == 0, never, "{rule} was judged {judged} times");
    }
}

#[test]
fn each_planted_fault_is_caught() {
    for (plant, rule) in [
        (Plant::ShortDelay, Rule::P4),
        (Plant::CrawlDelayCut, Rule::P4),
        (Plant::AliasPace, Rule::P4),
        (Plant::NoRobots, Rule::P1),
        (Plant::StaleRobots, Rule::P1),
        (Plant::Disobedience, Rule::P2),
        (Plant::FailOpen, Rule::P3),
        (Plant::RobotsHurry, Rule::P3),
        (Plant::RetryAfterCapped, Rule::P7),
        (Plant::BackoffFlat, Rule::P7),
        (Plant::EndlessRetries, Rule::P9),
        (Plant::HastyRetries, Rule::P9),
        (Plant::RetriedGone, Rule::P9),
        (Plant::AskedTwice, Rule::P10),
        (Plant::RobotsTwice, Rule::P11),
        (Plant::NoBreaker, Rule::P15),
        (Plant::FlatBreaker, Rule::P15),
        (Plant::Idle, Rule::P16),
        (Plant::TwoDials, Rule::P17),
    ] {
        let reports = (1..=6).map(|seed| crawl(seed, plant, 3000));
        let caught = reports.filter(|report| report.rule(rule).violations > 0).count();
        assert!(caught >= 2, "{plant:?}: {rule} was broken in {caught} of 6 logs only");
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Plant {
    Nothing,
    ShortDelay,
    CrawlDelayCut,
    AliasPace,
    NoRobots,
    StaleRobots,
    Disobedience,
    FailOpen,
    RobotsHurry,
    RetryAfterCapped,
    BackoffFlat,
    EndlessRetries,
    HastyRetries,
    RetriedGone,
    AskedTwice,
    RobotsTwice,
    NoBreaker,
    FlatBreaker,
    Idle,
    TwoDials,
}

struct Draw(u64);

impl Draw {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// A URL that waits, the number of its failures, and when it may be tried again.
struct Url {
    path: u64,
    failures: u32,
    not_before: u64,
}

/// What the model crawler knows about a host, and what the host does.
struct Site {
    name: String,
    mood: u64,
    mood_ends: u64,
    last_start: u64,
    not_before: u64,
    refusals: u32,
    last_wait: u64,
    waited_until: u64,
    down: u32,
    robots_end: Option<u64>,
    robots_not_before: u64,
    robots_wait: u64,
    crawl_delay: u64,
    urls: VecDeque<Url>,
    next_path: u64,
}

impl Site {
    fn delay(&self, plant: Plant) -> u64 {
        let crawl_delay = match plant {
            Plant::CrawlDelayCut => self.crawl_delay / S * S,
            _ => self.crawl_delay,
        };
        let floor = if plant == Plant::ShortDelay { 2_980_000 } else { 3 * S };
        floor.max(crawl_delay) + if plant == Plant::Idle { 2 * S } else { 10_000 }
    }

    fn robots_due(&self, now: u64, plant: Plant) -> bool {
        let ttl = match plant {
            Plant::StaleRobots => 7200 * S,
            Plant::RobotsTwice => 1800 * S,
            _ => 3600 * S,
        };
        match self.robots_end {
            _ if plant == Plant::NoRobots => false,
            None => true,
            Some(_) if self.robots_not_before > 0 => now >= self.robots_not_before,
            Some(end) => now > end + ttl,
        }
    }
}

fn crawl(seed: u64, plant: Plant, requests: u64) -> JudgeReport {
    let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut judge = Judge::new(Manners { adaptive: None, ..Manners::default() });
    let mut sites: Vec<Site> = (0..4).map(|i| site(i, &mut judge)).collect();
    for _ in 0..requests {
        let due = |site: &Site| {
            let next = if site.last_start == 0 { 0 } else { site.last_start + site.delay(plant) };
            let url = site.urls.iter().map(|url| url.not_before).min().unwrap_or(0);
            let blocked = site.robots_end.is_none() || site.robots_not_before > 0;
            let robots =
                if blocked && plant != Plant::FailOpen { site.robots_not_before } else { 0 };
            next.max(site.not_before).max(robots).max(if site.robots_due(next, plant) {
                0
            } else {
                url
            })
        };
        let place = (0..sites.len()).min_by_key(|&i| due(&sites[i])).unwrap();
        let start = due(&sites[place]).max(1);
        let x = ask(&mut sites[place], start, plant, &mut draw);
        // The model makes a new connection for each request.
        let dials = if plant == Plant::TwoDials { 2 } else { 1 };
        for _ in 0..dials {
            let host = Some(x.host.clone());
            judge.see(ConnectionEvent { at: x.start, host, ..ConnectionEvent::default() });
        }
        judge.see(x);
    }
    judge.finish()
}

fn site(number: u64, judge: &mut Judge) -> Site {
    let name = format!("site{number}.test");
    judge.work_waiting(&name, 0);
    Site {
        name,
        // The first site has no robots.txt to give for a while.
        mood: if number == 0 { 4 } else { 0 },
        mood_ends: 600 * S,
        last_start: 0,
        not_before: number * 100_000,
        refusals: 0,
        last_wait: 0,
        waited_until: 0,
        down: 0,
        robots_end: None,
        robots_not_before: 0,
        robots_wait: 0,
        crawl_delay: 0,
        urls: VecDeque::new(),
        next_path: 0,
    }
}

/// Does one request: the URL, the response of the site, and the reaction of the crawler.
fn ask(site: &mut Site, start: u64, plant: Plant, draw: &mut Draw) -> Exchange {
    while start > site.mood_ends {
        site.mood = draw.below(6);
        site.mood_ends += (60 + draw.below(1800)) * S;
    }
    while site.urls.len() < 8 {
        site.next_path += 1;
        site.urls.push_back(Url { path: site.next_path, failures: 0, not_before: 0 });
    }
    let robots = site.robots_due(start, plant);
    let ready = site.urls.iter().position(|url| url.not_before <= start).unwrap_or(0);
    let target = match robots {
        true => "/robots.txt".to_owned(),
        // One page in 40 is forbidden, and a polite crawler does not ask for it.
        false if plant == Plant::Disobedience && draw.below(40) == 0 => "/private/x".to_owned(),
        false => format!("/page/{}", site.urls[ready].path),
    };
    let mut x = Exchange::get(start, &site.name, &target, 200);
    if plant == Plant::AliasPace && draw.below(2) == 0 {
        x.host = format!("{}.", site.name.to_uppercase()).into();
        x.start = x.start.saturating_sub(S);
    }
    x.user_agent = Some("model/1 (+me@example.org)".into());
    x.end = x.start + (20 + draw.below(150)) * 1000;
    answer(&mut x, site.mood, robots, draw);
    x.start = x.start.max(site.last_start);
    x.end = x.end.max(x.start);
    learn(site, &x, robots, ready, plant);
    site.last_start = x.start;
    x
}

fn answer(x: &mut Exchange, mood: u64, robots: bool, draw: &mut Draw) {
    match (mood, draw.below(10)) {
        (1, _) => {
            x.status = [Some(502), Some(503), Some(504), None, Some(522)][draw.below(5) as usize]
        }
        (2, 0..=6) => {
            x.status = Some(429);
            x.retry_after = (draw.below(3) > 0).then(|| (5 + draw.below(900)).to_string().into());
        }
        (3, 0..=5) if !robots => {
            x.status = [Some(500), Some(404), Some(408)][draw.below(3) as usize]
        }
        (4, _) if robots => x.status = Some(500),
        (5, 0) => {
            x.status = Some(503);
            x.retry_after = Some((60 + draw.below(600)).to_string().into());
        }
        _ => {}
    }
    x.complete = x.status.is_some();
    if robots && x.status == Some(200) {
        let delay = ["", "Crawl-delay: 3.9\n", "Crawl-delay: 7.25\n"][draw.below(3) as usize];
        let text = format!("User-agent: *\nDisallow: /private/\n{delay}");
        x.robots_body = Some(text.into_bytes().into());
    }
}

fn learn(site: &mut Site, x: &Exchange, robots: bool, ready: usize, plant: Plant) {
    let end = x.end;
    let told = x.retry_after.as_ref().map(|value| value.parse::<u64>().unwrap() * S);
    let told = told.map(|w| if plant == Plant::RetryAfterCapped { w.min(60 * S) } else { w });
    let waits = |site: &mut Site, until: u64| site.not_before = site.not_before.max(until);
    let site_wide = matches!(x.status, None | Some(502 | 504 | 522))
        || (x.status == Some(503) && told.is_none());
    match x.status {
        Some(429) => {
            site.refusals += 1;
            let own = (900 * S) << (site.refusals - 1).min(6);
            let own = if plant == Plant::BackoffFlat { 900 * S } else { own.min(86_400 * S) };
            site.last_wait = told.unwrap_or(own).max(site.last_wait);
            site.waited_until = end + site.last_wait;
            waits(site, end + site.last_wait);
        }
        Some(503) if told.is_some() => waits(site, end + told.unwrap()),
        Some(_) if !site_wide && x.start >= site.waited_until => {
            (site.refusals, site.last_wait) = (0, 0);
        }
        _ => {}
    }
    if site_wide || x.status == Some(500) {
        site.down += 1;
        if site.down >= 5 && plant != Plant::NoBreaker {
            let level = if plant == Plant::FlatBreaker { 0 } else { (site.down - 5).min(4) };
            waits(site, end + [30, 60, 120, 240, 300][level as usize] * S);
        }
    } else {
        site.down = 0;
    }
    if robots {
        let unreachable = x.status.is_none_or(|status| status >= 500 || status == 429);
        if unreachable {
            let wait = if plant == Plant::RobotsHurry { 30 * S } else { 300 * S };
            site.robots_wait = site.robots_wait.max(wait).max(told.unwrap_or(0));
            site.robots_not_before = end + site.robots_wait;
            if site.robots_end.is_none() && plant == Plant::FailOpen {
                site.robots_end = Some(end);
            }
        } else {
            (site.robots_not_before, site.robots_wait) = (0, 0);
            site.robots_end = Some(end);
            let text =
                String::from_utf8_lossy(x.robots_body.as_deref().unwrap_or(b"")).into_owned();
            let delay =
                text.split("Crawl-delay: ").nth(1).and_then(|d| d.trim().parse::<f64>().ok());
            site.crawl_delay = delay.map_or(0, |d| (d * 1e6) as u64);
        }
        return;
    }
    if &*x.target == "/private/x" {
        return;
    }
    let Some(mut url) = site.urls.remove(ready) else {
        return;
    };
    match x.status {
        Some(200) if plant == Plant::AskedTwice && url.failures == 0 && url.path % 50 == 0 => {
            url.not_before = end + 30 * S;
            url.failures = 1;
            site.urls.push_back(url);
        }
        Some(404) if plant == Plant::RetriedGone => site.urls.push_back(url),
        Some(500 | 408) => {
            url.failures += 1;
            let most = if plant == Plant::EndlessRetries { 9 } else { 3 };
            let wait =
                if plant == Plant::HastyRetries { 0 } else { (2 * S) << url.failures.min(9) };
            url.not_before = end + wait;
            match plant {
                Plant::HastyRetries => site.urls.push_front(url),
                _ if url.failures <= most => site.urls.push_back(url),
                _ => {}
            }
        }
        // The site's failure: the URL goes to the end of the queue, twice at most.
        None | Some(429 | 502..=504 | 522) if url.failures < 2 => {
            url.failures += 1;
            site.urls.push_back(url);
        }
        _ => {}
    }
}
