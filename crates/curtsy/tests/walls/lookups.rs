//! What name servers say: addresses inside, alone or among public ones, today this and tomorrow that, thousands of them, loops, nothing.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use curtsy_core::policy::{Policy, Preset};
use curtsy_core::url::CrawlUrl;
use curtsy_fetch::{Callback, FetchSettings, Lookup, Resolve};

use crate::corpus::addresses;
use crate::entrances::{endings, site_address};
use crate::namespace::{World, inside};
use crate::resolver::Said;
use crate::sites::{Answer, Request};

const INWARD: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

const POLICY: &str = "preset = 'careful'\npatience = '20s'\n[pace]\ndelay = '200ms'\n[slots]\nper_address = 256\n[cache]\nmode = 'off'\n";

fn seeds(world: &World, names: impl Iterator<Item = String>) -> usize {
    world.write("policy.toml", POLICY);
    let seeds: Vec<String> = names.map(|name| format!("http://{name}/")).collect();
    world.write("seeds.txt", &seeds.join("\n"));
    seeds.len()
}

const ARGS: [&str; 5] = ["--from", "seeds.txt", "--policy", "policy.toml", "--no-sitemaps"];

fn page(request: &Request) -> Answer {
    if request.target == "/robots.txt" { Answer::status(404) } else { Answer::page("a page") }
}

/// Each address alone, before and behind a public one, and behind an alias.
#[test]
fn one_address_inside_refuses_the_name() {
    let names = |name: &str, _: usize| {
        let (how, rest) = name.split_at(1);
        let all = addresses();
        let at = rest.strip_suffix(".dns.test").and_then(|n| all.get(n.parse::<usize>().ok()?));
        let (Some(inward), public) = (at.copied(), site_address(name)) else { return Said::Nobody };
        match how {
            "a" => Said::At(vec![inward]),
            "b" => Said::At(vec![inward, public]),
            "c" => Said::At(vec![public, inward]),
            _ => Said::Alias("deep.dns.test".into(), vec![public, inward]),
        }
    };
    inside("lookups::one_address_inside_refuses_the_name", names, page, |world| {
        let count = addresses().len();
        let names =
            "abcd".chars().flat_map(|how| (0..count).map(move |n| format!("{how}{n}.dns.test")));
        let seeds = seeds(world, names);
        world.crawl(&ARGS).ends(4);
        let dials = world.assert_walls_held();
        let ended = endings(&world.db("crawl.db"), "true");
        eprintln!("name servers: {count} addresses in 4 ways, {dials} dials, rows {ended:?}");
        assert_eq!(dials, 0);
        assert_eq!(ended["dead - guard"], seeds);
    });
}

/// Public at every other question. A process asks once for each name, so the program is run several times.
#[test]
fn a_name_that_is_moved_inward_gains_nothing() {
    const NAMES: usize = 150;
    let names = |name: &str, nth: usize| match nth % 2 {
        0 => Said::At(vec![site_address(name)]),
        _ => Said::At(vec![INWARD]),
    };
    inside("lookups::a_name_that_is_moved_inward_gains_nothing", names, page, |world| {
        seeds(world, (0..NAMES).map(|n| format!("h{n}.flip.test")));
        for run in 0..4 {
            let into = format!("run{run}.db");
            let code = if run % 2 == 0 { 0 } else { 4 };
            world.crawl(&[&ARGS[..], &["--into", &into]].concat()).ends(code);
            let ended = endings(&world.db(&into), "true");
            let expected = if run % 2 == 0 { "fetched 200 -" } else { "dead - guard" };
            assert_eq!(ended[expected], NAMES, "{ended:?}");
        }
        let (dials, questions) = (world.assert_walls_held(), world.names.questions());
        eprintln!(
            "rebinding, the program: {} lookups, {questions} questions, {dials} dials",
            4 * NAMES
        );
    });
}

/// Public at the first question for a name, inward at every later one, and the other way round.
struct Flips {
    asked: AtomicUsize,
    inward_first: AtomicBool,
}

impl Resolve for Flips {
    fn lookup<'a>(&'a self, name: &'a str) -> Lookup<'a> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let inward = self.inward_first.fetch_xor(true, Ordering::SeqCst);
        let address = if inward { INWARD } else { site_address(name) };
        Box::pin(std::future::ready(Ok::<_, io::Error>(vec![address])))
    }
}

#[test]
fn ten_thousand_tries_to_rebind() {
    const NAMES: usize = 5_000;
    let nobody = |_: &str, _: usize| Said::Nobody;
    inside("lookups::ten_thousand_tries_to_rebind", nobody, page, |world| {
        let flips =
            Arc::new(Flips { asked: AtomicUsize::new(0), inward_first: AtomicBool::new(false) });
        let settings = FetchSettings::of(&Policy::preset(Preset::Careful));
        let resolver = Arc::clone(&flips) as Arc<dyn Resolve>;
        let callback = Callback::with_resolver(&settings, resolver).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (mut public, mut refused) = (0, 0);
        runtime.block_on(async {
            for n in 0..2 * NAMES {
                let url = CrawlUrl::parse(&format!("http://h{}.flip.test/", n / 2)).unwrap();
                match callback.deliver(&url, "walls", b"{}").await {
                    Ok(200) => public += 1,
                    Err(curtsy_core::host::Problem::Guard) => refused += 1,
                    other => panic!("{other:?}"),
                }
            }
        });
        let dials = world.assert_walls_held();
        let asked = flips.asked.load(Ordering::SeqCst);
        eprintln!("rebinding, the way out: {} tries, {asked} lookups, {dials} dials", 2 * NAMES);
        // One lookup for both tries of a name: what it gave is judged and dialled.
        assert_eq!((asked, public, refused, dials), (NAMES, NAMES, NAMES, NAMES));
    });
}

/// Answers that take long, are long, or never end.
#[test]
fn name_servers_in_trouble_cost_seconds_and_open_nothing() {
    let many = |last: IpAddr| {
        let many = (0..3_900_u32).map(|n| IpAddr::from(Ipv4Addr::from(0x1401_0000 + n)));
        Said::At(many.chain([last]).collect())
    };
    let long: String =
        [&"a".repeat(63), ".", &"b".repeat(63), ".", &"c".repeat(63), ".", &"d".repeat(56)]
            .concat();
    let at_most = format!("{long}.test");
    assert_eq!(at_most.len(), 253);
    let longest = at_most.clone();
    let names = move |name: &str, nth: usize| match name {
        "many.test" => many(site_address(name)),
        "many-and-one.test" => many(INWARD),
        "loop.test" => Said::Alias("pool.test".into(), Vec::new()),
        "pool.test" => Said::Alias("loop.test".into(), Vec::new()),
        "self.test" => Said::Alias("self.test".into(), Vec::new()),
        "alias-and-address.test" => Said::Alias("any.test".into(), vec![INWARD]),
        "trouble.test" => Said::Trouble,
        "trouble-then-inside.test" if nth < 1 => Said::Trouble,
        "trouble-then-inside.test" => Said::At(vec![INWARD]),
        "trouble-then-public.test" if nth < 1 => Said::Trouble,
        "trouble-then-public.test" => Said::At(vec![site_address(name)]),
        _ if name == longest => Said::At(vec![site_address(name)]),
        _ => Said::Nobody,
    };
    inside(
        "lookups::name_servers_in_trouble_cost_seconds_and_open_nothing",
        names,
        page,
        move |world| {
            world.write("policy.toml", POLICY);
            let check = |name: &str, error: Option<&str>| {
                let began = Instant::now();
                let into = format!("{}.db", &name[..name.len().min(30)]);
                let url = format!("http://{name}/");
                world.crawl(&[&url, "--policy", "policy.toml", "--no-sitemaps", "--into", &into]);
                let took = began.elapsed();
                assert!(took < Duration::from_secs(7), "{name} took {took:?}");
                let db = world.db(&into);
                let sql = "SELECT error FROM decisions ORDER BY at DESC LIMIT 1";
                let said: Option<String> = db.query_row(sql, [], |row| row.get(0)).unwrap();
                assert_eq!(said.as_deref(), error, "{name}");
            };
            check("many.test", None);
            check("many-and-one.test", Some("guard"));
            check("loop.test", Some("dns"));
            check("self.test", Some("dns"));
            check("alias-and-address.test", Some("guard"));
            check("trouble.test", Some("dns"));
            // The system's resolver asks a second time by itself; what it brings then is judged as any other.
            check("trouble-then-inside.test", Some("guard"));
            check("trouble-then-public.test", None);
            check(&at_most, None);
            world.assert_walls_held();
            // One byte more is no name.
            let ran = world.crawl(&[&format!("http://{at_most}x/")]).ends(2);
            assert!(ran.said.contains("no URL that can be crawled"), "{}", ran.said);
        },
    );
}
