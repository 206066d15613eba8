//! One dead host among many: the others are asked as often as ever, and what is wanted of it comes when it is back.

use std::collections::BTreeMap;
use std::time::Duration;

use curtsy_judge::Exchange;
use curtsy_lab::sites::{Answer, Ending, Scene, Window};

use crate::fleet::{Fleet, Running};
use crate::harness::{assert_clean, judge, policy};

/// In turns of a host after its first: when the dead one dies, when it is back, how many pages it has, and how many the others.
const DIES: u64 = 8;
const IS_BACK: u64 = 32;
const PAGES_OF_DEAD: u32 = 16;
const PAGES: u32 = 38;
/// A fault of ours slows the others down every time, the machine's other work does not.
const TRIES: usize = 3;

/// How a host is dead.
#[derive(Clone, Copy, Debug)]
enum Death {
    /// Connections are refused.
    Refuses,
    /// Connections are taken, and nothing is answered.
    Hangs,
}

/// Hosts, their pace, and two workers.
struct Town {
    fleet: Fleet,
    workers: Vec<Running>,
    urls: usize,
}

impl Town {
    fn new(hosts: u32, delay: u64, death: Option<Death>) -> Town {
        let mut scene = Scene::plain(hosts, 1_000, 3, 500);
        let (dies, back) = (DIES * delay, IS_BACK * delay);
        match death {
            None => {}
            Some(Death::Refuses) => scene.hosts[0].refuse = vec![Window::ms(dies, back)],
            Some(Death::Hangs) => {
                let hangs = Answer::to_all().between_ms(dies, back).ending(Ending::Hang);
                scene.hosts[0].answers = vec![hangs];
            }
        }
        let fleet = Fleet::new(scene);
        let manners = format!(
            "preset = 'fleet'\n[pace]\ndelay = '{delay}ms'\n[timeout]\nfirst_byte = '1s'\nwhole = '3s'\n\
             [retry.curve]\nbase = '{delay}ms'\n[breaker.curve]\nbase = '{}ms'\ncap = '{}ms'\n",
            3 * delay,
            6 * delay,
        );
        std::fs::write(fleet.town.path("p.toml"), manners).unwrap();
        let mut urls = fleet.pages(hosts, PAGES);
        urls.drain(PAGES_OF_DEAD as usize..PAGES as usize);
        fleet.push(&urls);
        let workers = (0..2).map(|_| fleet.start(&["--policy", "p.toml"])).collect();
        Town { fleet, workers, urls: urls.len() }
    }

    /// What its hosts saw, once all is done.
    #[track_caller]
    fn end(mut self) -> (Vec<Exchange>, String) {
        self.fleet.settle();
        for worker in self.workers {
            assert_eq!(worker.end(), Some(0), "{}", self.fleet.log());
        }
        for list in ["page_fetcher_dlq", "page_fetcher_rejected"] {
            let letters = self.fleet.list(list);
            assert!(letters.is_empty(), "{list}: {letters:?}");
        }
        assert_eq!(self.fleet.events().len(), self.urls, "every URL has its event");
        let policy = policy(&self.fleet.town.path("p.toml"));
        let log = self.fleet.town.close();
        assert_clean(&judge(log.clone(), &policy, &[]));
        (log, self.fleet.log())
    }
}

/// Requests a second that all hosts but one saw between two moments.
fn rate(log: &[Exchange], but: &str, from: u64, to: u64) -> f64 {
    let mut starts: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for exchange in log.iter().filter(|x| &*x.host != but && (from..to).contains(&x.start)) {
        starts.entry(&exchange.host).or_default().push(exchange.start);
    }
    let spans = starts.values().filter_map(|starts| {
        let span = Duration::from_micros(starts.iter().max()? - starts.iter().min()?);
        (starts.len() > 1).then(|| (starts.len() - 1) as f64 / span.as_secs_f64())
    });
    spans.sum()
}

/// The share of their rate that the other hosts keep while one is dead: beside the same hosts at the same time, none of which is dead.
fn kept(death: Death) -> f64 {
    let hosts: u32 = std::env::var("CURTSY_HOSTS").map_or(20, |n| n.parse().unwrap());
    let delay = u64::from(5 * hosts).max(250);
    let (living, dying) = (Town::new(hosts, delay, None), Town::new(hosts, delay, Some(death)));
    let host = |town: &Town| {
        let url = town.fleet.town.url(0, "");
        url.trim_start_matches("http://").split(':').next().unwrap().to_owned()
    };
    let (name, other) = (host(&dying), host(&living));
    let (log, said) = dying.end();
    let (beside, _) = living.end();
    let of_dead: Vec<&Exchange> = log.iter().filter(|x| *x.host == *name).collect();
    let first = of_dead.iter().map(|x| x.start).min().expect("it was asked before it died");
    let (from, to) = (first + DIES * delay * 1000, first + IS_BACK * delay * 1000);
    let tried = of_dead.iter().filter(|x| (from..to).contains(&x.start)).count();
    let after = of_dead.iter().filter(|x| x.start >= to && x.status == Some(200)).count();
    let (during, without) = (rate(&log, &name, from, to), rate(&beside, &other, from, to));
    let most = f64::from(hosts - 1) * 1000.0 / delay as f64;
    println!(
        "{death:?}: {hosts} hosts, {most:.1} requests a second at most: {during:.1} with a dead one, {without:.1} without; {tried} tries while it was \
         dead, {after} pages after"
    );
    assert!(after > 0, "it was dead before all of it was fetched");
    let opened = said.lines().filter(|line| line.contains("\"circuit_open\""));
    let opened: Vec<&str> = opened.collect();
    assert!(!opened.is_empty(), "a breaker that opens is a line of the log");
    assert!(opened.iter().all(|line| line.contains(&name)), "{opened:?}");
    assert!(said.contains("\"circuit_closed\""));
    during / without
}

#[track_caller]
fn check(death: Death) {
    let mut shares = Vec::new();
    while shares.len() < TRIES {
        shares.push(kept(death));
        if shares.last().is_some_and(|share| *share >= 0.98) {
            return;
        }
    }
    panic!("the others keep {shares:.3?} of their rate");
}

/// "1 dead host among 100: the others keep 98 % of their rate or more": `CURTSY_HOSTS=100`.
#[test]
fn a_host_that_refuses_costs_the_others_nothing() {
    check(Death::Refuses);
}

#[test]
fn a_host_that_never_answers_costs_the_others_nothing() {
    check(Death::Hangs);
}
