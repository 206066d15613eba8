//! Probes of hosts that were in trouble: their answers lead inward, or their names do by then.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::corpus::spellings;
use crate::entrances::{endings, site_address};
use crate::namespace::{World, inside};
use crate::resolver::Said;
use crate::sites::{Answer, Request};

/// Every fourth spelling: each is a host with its own breaker.
const STEP: usize = 4;

/// One failure opens the breaker, and a probe follows soon.
fn seeds(world: &World, below: &str, count: usize) {
    let policy = "preset = 'careful'\npatience = '20s'\n[pace]\ndelay = '200ms'\n[slots]\nper_address = 256\n\
        [breaker]\nfailures = 1\n[breaker.curve]\nbase = '1s'\n[retry.curve]\nbase = '100ms'\n";
    world.write("policy.toml", policy);
    let seeds: Vec<_> = (0..count).map(|n| format!("http://h{n}.{below}/page")).collect();
    world.write("seeds.txt", &seeds.join("\n"));
}

const ARGS: [&str; 5] = ["--from", "seeds.txt", "--policy", "policy.toml", "--no-sitemaps"];

#[test]
fn a_probe_that_is_answered_with_a_way_inward() {
    let corpus = spellings();
    let count = corpus.len().div_ceil(STEP);
    let pages: Mutex<HashMap<String, usize>> = Mutex::default();
    let site = move |request: &Request| {
        let n = request
            .host
            .strip_prefix('h')
            .and_then(|rest| rest.split('.').next()?.parse::<usize>().ok());
        let location = || corpus[n.unwrap() * STEP].url.clone();
        match (request.target.as_str(), request.method.as_str()) {
            ("/robots.txt", _) => Answer::status(404),
            ("/", "HEAD") => Answer::moved(302, &location()),
            _ => {
                let mut pages = pages.lock().unwrap();
                let count = pages.entry(request.host.clone()).or_default();
                *count += 1;
                if *count == 1 { Answer::status(502) } else { Answer::moved(307, &location()) }
            }
        }
    };
    let names = |name: &str, _: usize| match name.ends_with(".broken.test") {
        true => Said::At(vec![site_address(name)]),
        false => crate::entrances::names(name, 0),
    };
    inside("breakers::a_probe_that_is_answered_with_a_way_inward", names, site, move |world| {
        seeds(world, "broken.test", count);
        world.crawl(&ARGS);
        let dials = world.assert_walls_held();
        let ended = endings(&world.db("crawl.db"), "true");
        let probes = world.sites.heard().iter().filter(|request| request.method == "HEAD").count();
        eprintln!(
            "probes: {count} spellings, {probes} probes answered, {dials} dials, rows {ended:?}"
        );
        assert_eq!(probes, count, "every host was tried by a probe");
    });
}

#[test]
fn a_probe_of_a_name_that_was_moved_inward() {
    const HOSTS: usize = 150;
    let moved = Arc::new(AtomicBool::new(false));
    let by_now = Arc::clone(&moved);
    let names = move |name: &str, _: usize| match by_now.load(Ordering::SeqCst) {
        false => Said::At(vec![site_address(name)]),
        true => Said::At(vec![[169, 254, 169, 254].into()]),
    };
    let site = |request: &Request| match request.target.as_str() {
        "/robots.txt" => Answer::status(404),
        _ => Answer::status(502),
    };
    inside("breakers::a_probe_of_a_name_that_was_moved_inward", names, site, move |world| {
        seeds(world, "broken.test", HOSTS);
        world.crawl(&[&ARGS[..], &["--patience", "0s"]].concat()).ends(3);
        let before = world.assert_walls_held();
        moved.store(true, Ordering::SeqCst);
        // A new process: it knows of the open breakers by the ledger, and looks names up anew.
        world.crawl(&ARGS).ends(4);
        let after = world.assert_walls_held();
        let ended = endings(&world.db("crawl.db"), "true");
        eprintln!("probes of moved names: {HOSTS} hosts, rows {ended:?}");
        assert_eq!(after, before, "nothing was dialled");
        assert_eq!(ended["dead - guard"], HOSTS);
    });
}
