//! Links: that none is lost without a word, and which of them are broken.

use std::net::Ipv4Addr;

use curtsy_lab::sites::{Answer, Body, Host, Listen, Scene};
use serde_json::Value as Json;

use crate::harness::{Ran, Town, assert_clean, judge, number, policy};

/// One site with these answers.
fn site(answers: Vec<Answer>) -> Town {
    let mut host = Host { robots: Some(String::new()), ..Host::default() };
    host.answers = answers;
    Town::new(Scene { hosts: vec![host], ..Scene::default() })
}

fn html(path: &str, text: &str) -> Answer {
    Answer::to(path).body(Body::Html(text.to_owned()))
}

/// At once, also after a 403, which is an ordinary answer then.
const FAST: [&str; 9] = [
    "--delay",
    "0s",
    "--no-sitemaps",
    "--slots",
    "4",
    "--set",
    "backoff.forbidden=permanent",
    "--patience",
    "1s",
];

#[test]
fn an_index_with_thirty_thousand_references_loses_none_of_its_pages() {
    let reference = |n: usize| format!("<a href='p{}.html#entry-{n}'>{n}</a>", n % 600);
    let index: String = (0..30_000).map(reference).collect();
    let town = site(vec![html("/", &index)]);
    let ran = town.crawl(&[&[town.url(0, "/").as_str()], &FAST[..], &["--depth", "0"]].concat());
    assert!(!ran.ends(0).err.contains("more links"));
    let db = town.db("crawl.db");
    assert_eq!(number(&db, "SELECT links_count FROM pages"), 600);
    assert_eq!(number(&db, "SELECT count(*) FROM pages WHERE links_cut IS NOT NULL"), 0);
}

#[test]
fn links_that_were_not_read_are_in_the_row_in_why_and_in_the_report() {
    let many: String = (0..100_050).map(|n| format!("<a href=/{n}>")).collect();
    let town = site(vec![html("/", &many)]);
    let home = town.url(0, "/");
    let crawl = |more: &[&str]| {
        town.crawl(&[&[home.as_str(), "--depth", "0", "--quiet"], &FAST[..], more].concat()).ends(0)
    };
    let said = "had more links than are read of one page (100,000): 50 links were not read";
    let ran = crawl(&[]);
    assert!(ran.err.contains(&format!("1 page {said}")), "{}", ran.err);
    let report: Json = serde_json::from_str(&crawl(&["--again", "--json"]).out).unwrap();
    assert_eq!((&report["links_cut_pages"], &report["links_cut"]), (&1.into(), &50.into()));
    let db = town.db("crawl.db");
    assert_eq!(number(&db, "SELECT links_cut FROM pages"), 50);
    assert_eq!(number(&db, "SELECT links_count FROM pages"), 100_000);
    let why = |more: &[&str]| town.run(&[&["why", home.as_str()], more].concat()).ends(0).out;
    assert!(why(&[]).contains("has more links than are read of one page (100,000): 50 links were"));
    let json: Json = serde_json::from_str(&why(&["--json"])).unwrap();
    assert_eq!(json["links_cut"], 50);
}

fn links(town: &Town, args: &[&str]) -> Ran {
    town.run(&[&["links"], args].concat())
}

/// The lines of `--json`: problem, end of the target, pages; the last is the summary.
fn problems(ran: &Ran) -> (Vec<(String, String, u64)>, Json) {
    let mut lines: Vec<Json> =
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary = lines.pop().unwrap()["summary"].take();
    let text = |json: &Json| json.as_str().unwrap().to_owned();
    let told = lines.iter().map(|line| {
        let target = text(&line["target"]);
        let end = target.splitn(4, '/').nth(3).map_or(target.clone(), |path| format!("/{path}"));
        (text(&line["problem"]), end, line["pages"].as_u64().unwrap())
    });
    (told.collect(), summary)
}

#[test]
fn what_is_there_is_not_called_broken() {
    let home = "<a href=/large.bin>l</a><a href=/paper.pdf>p</a><a href=/walled>w</a>\
        <a href=/login>i</a><a href=/forbidden>f</a><a href=/secret/x>s</a><a href=/fine>f</a>";
    let mut town = site(vec![
        html("/", home),
        Answer::to("/large.bin").body(Body::Bytes(11 * 1024 * 1024)),
        Answer { content_type: Some("application/pdf".into()), ..html("/paper.pdf", "%PDF") },
        Answer::wall("/walled"),
        Answer::to("/login").status(401),
        html("/fine", "fine"),
        html("/forbidden", "not in fact"),
        Answer::to("/secret/x").status(404),
        Answer::to("/robots.txt").body(Body::Text("User-agent: *\nDisallow: /secret/".into())),
    ]);
    let home = town.url(0, "/");
    let args = [&[home.as_str(), "--quiet", "--set", "body.accept=text/html"], &FAST[..]].concat();
    town.crawl(&args).ends(0);
    let db = town.db("crawl.db");
    let error = |path: &str| {
        let sql = format!("SELECT error FROM pages WHERE url LIKE '%{path}'");
        db.query_row(&sql, [], |row| row.get::<_, Option<String>>(0)).unwrap()
    };
    assert_eq!(error("/paper.pdf").as_deref(), Some("content_type"));
    assert_eq!(error("/walled").as_deref(), Some("challenge"));
    let ran = links(&town, &["--json"]);
    let (told, summary) = problems(&ran);
    assert_eq!(told, [] as [(String, String, u64); 0], "{}", ran.out);
    ran.ends(0);
    let not_checked = &summary["not_checked"];
    assert_eq!(not_checked["robots.txt forbids it"], 1);
    assert_eq!(not_checked["a bot wall answered"], 1);
    assert_eq!(not_checked["it is behind a login"], 1);
    let ran = links(&town, &[]).ends(0);
    assert!(ran.err.contains("not checked: 1 target, robots.txt forbids it"), "{}", ran.err);
    assert!(ran.err.contains("0 broken links, 0 warnings"), "{}", ran.err);
    town.close();
}

#[test]
fn a_file_over_the_limit_is_there_and_what_a_budget_left_out_is_not_broken() {
    let home = "<a href=/large.bin>l</a><a href=/1>1</a><a href=/2>2</a><a href=/3>3</a>";
    let town = site(vec![
        html("/", home),
        Answer::to("/large.bin").body(Body::Bytes(11 * 1024 * 1024)),
        html("/1", "1"),
        html("/2", "2"),
        html("/3", "3"),
    ]);
    let home = town.url(0, "/");
    let args = [&[home.as_str(), "--quiet", "--pages", "3"], &FAST[..]].concat();
    town.crawl(&args).ends(0);
    let large = "SELECT count(*) FROM pages WHERE error = 'over_limit' AND http_status = 200";
    assert_eq!(number(&town.db("crawl.db"), large), 1);
    let ran = links(&town, &["--json"]).ends(0);
    let (told, summary) = problems(&ran);
    assert_eq!(told.len(), 0, "{}", ran.out);
    let queued = "it is still queued: the same crawl goes on with it";
    assert_eq!(summary["not_checked"][queued], 2, "{summary}");
}

#[test]
fn one_command_checks_links_images_scripts_and_fragments() {
    let home = "<link rel=stylesheet href=/s.css><script src=/gone.js></script>\
        <img src=/i.png alt=Logo><img src=/gone.png alt='A map' srcset='/gone-2x.png 2x, /i.png 1x'>\
        <a href=/a>A</a><a href=/gone>The <b>lost</b> page</a><a href='/a#here'>x</a>\
        <a href='/a#there'>There</a><a href='#top'>up</a><a href='#'>up</a>\
        <a href='/a#:~:text=word'>w</a><a href='/a#na%20me'>n</a><a href='http://[bad'>b</a>\
        <a href='mailto:a@b'>mail</a><a href=/old>old</a><a href=/soon>soon</a>\
        <object data=/gone.svg></object><link rel=next href=/a>";
    let mut town = site(vec![
        html("/", home),
        html("/a", "<p id=here>x</p><a name='na me'></a><a href=/gone>Lost</a><img src=/i.png>"),
        Answer::to("/s.css").body(Body::Text("x".into())),
        Answer::to("/i.png").body(Body::Bytes(100)),
        Answer::moved("/old", 301, "/a"),
        Answer::moved("/soon", 302, "/a"),
    ]);
    let home = town.url(0, "/");
    let net = ["--allow-net", "127.0.0.0/8"];
    let args = [&[home.as_str(), "--quiet", "--fragments"], &FAST[..], &net].concat();
    let ran = links(&town, &[&args[..], &["--json"]].concat()).ends(1);
    let (told, summary) = problems(&ran);
    let told: Vec<_> = told.iter().map(|(a, b, n)| (a.as_str(), b.as_str(), *n)).collect();
    let expected = [
        ("broken", "/gone", 2),
        ("broken", "/gone-2x.png", 1),
        ("broken", "/gone.js", 1),
        ("broken", "/gone.png", 1),
        ("broken", "/gone.svg", 1),
        ("fragment", "/a#there", 1),
        ("not_a_url", "http://[bad", 1),
        ("moved", "/old", 1),
    ];
    assert_eq!(told, expected);
    assert_eq!((&summary["broken"], &summary["warnings"]), (&7.into(), &1.into()));
    // The file says the same again, and asks nobody.
    let asked = town.sites.as_ref().unwrap().log().len();
    let ran = links(&town, &["--fragments"]).ends(1);
    for part in [
        "/gone: 404\n    link on ",
        ", “The lost page”\n",
        ", “Lost”\n",
        "/gone.png: 404\n    image on ",
        "“A map”",
        "/a#there: the page has no such place",
        "warning http://",
        "/old: moved for good to ",
    ] {
        assert!(ran.out.contains(part), "no `{part}` in {}", ran.out);
    }
    assert!(ran.err.contains("7 broken links, 1 warning\n"), "{}", ran.err);
    let log = town.close();
    assert_eq!(log.len(), asked);
    let by = |path: &str| -> Vec<String> {
        log.iter().filter(|x| &*x.target == path).map(|x| x.method.to_string()).collect()
    };
    assert_eq!(by("/i.png"), ["HEAD"], "an image is asked for once, and not loaded");
    assert_eq!(by("/gone.png"), ["HEAD", "GET"], "a server may have no HEAD");
    assert_eq!(by("/gone"), ["GET"]);
}

#[test]
fn other_sites_are_asked_by_head_then_get_under_their_own_robots_txt() {
    let mut other = Host::named("other.test").at(Ipv4Addr::LOCALHOST);
    other.robots = Some("User-agent: *\nDisallow: /private".to_owned());
    other.answers = vec![
        html("/page", "<a href=/further>f</a>"),
        Answer::to("/no-head").first(1).status(405),
        html("/no-head", "here"),
        Answer::to("/refuses").status(403),
    ];
    let paths = ["page", "no-head", "gone", "private/x", "refuses", "page?utm_source=a#x"];
    let link = |path| format!("<a href='http://other.test:{{port}}/{path}'>{path}</a>");
    let home: String = paths.map(link).concat();
    let mut own = Host::named("own.test").at(Ipv4Addr::LOCALHOST);
    own.answers = vec![html("/", &home)];
    let mut first = Town::new(Scene { hosts: vec![own, other], ..Scene::default() });
    let seed = format!("http://own.test:{}/", first.sites.as_ref().unwrap().port());
    let net = ["--allow-net", "127.0.0.0/8", "--resolve", "*.test=127.0.0.1", "--quiet", "--json"];
    let text = "preset = 'careful'\n[pace]\ndelay = '20ms'\n[backoff]\nforbidden = 'permanent'\n";
    std::fs::write(first.path("p.toml"), text).unwrap();
    let manners = ["--policy", "p.toml", "--no-sitemaps", "--patience", "1s"];
    let args = [&[seed.as_str()], &manners[..], &net].concat();
    let ran = links(&first, &args).ends(0);
    let (told, summary) = problems(&ran);
    assert_eq!(told.len(), 0, "{}", ran.out);
    let outside = "it is on another site: `--external` asks there";
    assert_eq!(summary["not_checked"][outside], 6, "{summary}");

    let args = [&args[..], &["--external", "--again", "--contact", "me@example.org"]].concat();
    let ran = links(&first, &args).ends(1);
    let (told, summary) = problems(&ran);
    assert_eq!(told, [("broken".to_owned(), "/gone".to_owned(), 1)], "{}", ran.out);
    let not_checked = &summary["not_checked"];
    assert_eq!(not_checked["robots.txt forbids it"], 1, "{summary}");
    let refused = "the site refuses us (403), perhaps not its visitors";
    assert_eq!(not_checked[refused], 1, "{summary}");
    let policy = policy(&first.path("p.toml"));
    let log = first.close();
    assert_clean(&judge(log.clone(), &policy, &[]));
    let other = log.iter().filter(|x| x.host.starts_with("other.test"));
    let asked: Vec<_> = other.map(|x| format!("{} {}", x.method, x.target)).collect();
    assert_eq!(asked[0], "GET /robots.txt", "{asked:?}");
    for (request, times) in [
        ("HEAD /page", 1),
        ("GET /page", 0),
        ("HEAD /no-head", 1),
        ("GET /no-head", 1),
        ("HEAD /gone", 1),
        ("GET /gone", 1),
        ("HEAD /private/x", 0),
        ("GET /further", 0),
        ("HEAD /further", 0),
    ] {
        assert_eq!(asked.iter().filter(|asked| *asked == request).count(), times, "{asked:?}");
    }
}

/// A staging site often forbids everything, and a check in CI is quiet: the log must say why nothing was checked. What is not found
/// then is not gone, or the next baseline lacks it.
#[test]
fn a_check_of_nothing_says_why_and_keeps_the_baseline() {
    let mut host = Host::named("own.test").at(Ipv4Addr::LOCALHOST);
    host.robots = Some("User-agent: *\nDisallow: /".to_owned());
    let town = Town::new(Scene { hosts: vec![host], ..Scene::default() });
    let seed = format!("http://127.0.0.1:{}/", town.sites.as_ref().unwrap().port());
    let known = format!("{{\"problem\":\"broken\",\"target\":\"{seed}gone\"}}\n");
    std::fs::write(town.path("known.jsonl"), known).unwrap();
    std::fs::write(town.path("empty.jsonl"), "").unwrap();
    let args = [seed.as_str(), "--quiet", "--delay", "0", "--baseline", "known.jsonl"];
    let ran = links(&town, &args).ends(4);
    for part in [
        &format!("nothing could be checked: {seed}: refused by robots.txt: line 2"),
        "0 known problems still there, 1 not found, and the check is not complete",
    ] {
        assert!(ran.err.contains(part), "no `{part}` in {}", ran.err);
    }
    let ran = links(&town, &[&args[..4], &["--baseline", "empty.jsonl"]].concat()).ends(4);
    assert!(ran.err.contains("the baseline `empty.jsonl` is empty"), "{}", ran.err);
}

#[test]
fn a_baseline_leaves_what_is_known_out_and_strict_counts_warnings() {
    let home = "<a href=/gone>g</a><a href=/old>o</a>";
    let town = site(vec![html("/", home), Answer::moved("/old", 308, "/new"), html("/new", "n")]);
    let home = town.url(0, "/");
    town.crawl(&[&[home.as_str(), "--quiet"], &FAST[..]].concat()).ends(0);
    let first = links(&town, &["--json"]).ends(1);
    std::fs::write(town.path("known.jsonl"), &first.out).unwrap();
    let ran = links(&town, &["--baseline", "known.jsonl", "--strict"]).ends(0);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("2 known problems still there, 0 gone"), "{}", ran.err);
    assert!(ran.err.contains("0 new broken links, 0 new warnings"), "{}", ran.err);
    let only_warning: String =
        first.out.lines().filter(|line| line.contains("moved")).collect::<String>() + "\n";
    std::fs::write(town.path("old.jsonl"), only_warning).unwrap();
    links(&town, &["--baseline", "old.jsonl"]).ends(1);
    let only_broken: String =
        first.out.lines().filter(|line| line.contains("404")).collect::<String>() + "\n";
    std::fs::write(town.path("old.jsonl"), only_broken).unwrap();
    links(&town, &["--baseline", "old.jsonl"]).ends(0);
    links(&town, &["--baseline", "old.jsonl", "--strict"]).ends(1);
    std::fs::write(town.path("old.jsonl"), "no JSON\n").unwrap();
    let ran = links(&town, &["--baseline", "old.jsonl"]).ends(2);
    assert!(ran.err.contains("line 1 of the baseline"), "{}", ran.err);
    // What is not looked for is not gone.
    let fragment = format!("{{\"problem\":\"fragment\",\"target\":\"{home}#x\"}}\n");
    std::fs::write(town.path("old.jsonl"), first.out.clone() + &fragment).unwrap();
    let ran = links(&town, &["--baseline", "old.jsonl"]).ends(0);
    assert!(ran.err.contains("2 known problems still there, 0 gone"), "{}", ran.err);
    assert!(ran.err.contains("1 fragment not looked for: `--fragments` does"), "{}", ran.err);
    let ran = links(&town, &["--baseline", "old.jsonl", "--fragments"]).ends(0);
    assert!(ran.err.contains("2 known problems still there, 1 gone"), "{}", ran.err);
    // A file may be named as it is for `why`.
    links(&town, &["--in", "crawl.db"]).ends(1);
    // Flags of a crawl don't go with a file, and say so.
    let ran = links(&town, &["crawl.db", "--external"]).ends(2);
    assert!(ran.err.contains("only read"), "{}", ran.err);
}

#[test]
fn a_page_over_https_that_loads_over_http_is_warned_of() {
    let page = "<img src='http://pics.example/a.png'><a href='http://old.example/'>old</a>";
    let mut host = Host::named("shop.test").at(Ipv4Addr::LOCALHOST);
    host.listen = Listen::Https;
    host.answers = vec![html("/", page)];
    let town = Town::new(Scene { hosts: vec![host], ..Scene::default() });
    let sites = town.sites.as_ref().unwrap();
    std::fs::write(town.path("ca.pem"), sites.ca_pem().unwrap()).unwrap();
    let home = format!("https://shop.test:{}/", sites.tls_port());
    let way =
        ["--allow-net", "127.0.0.0/8", "--resolve", "*.test=127.0.0.1", "--ca-file", "ca.pem"];
    let args = [&[home.as_str(), "--quiet", "--json"], &FAST[..], &way].concat();
    let (told, _) = problems(&links(&town, &args).ends(0));
    let told: Vec<_> = told.iter().map(|(a, b, n)| (a.as_str(), b.as_str(), *n)).collect();
    assert_eq!(told, [("mixed", "/a.png", 1), ("insecure", "/", 1)]);
}

/// A site that is mended is clean in the next crawl into the same file, whose rows of the old site stay.
#[test]
fn what_was_mended_is_no_longer_reported() {
    let town = site(vec![
        html("/", "<a href=/gone>g</a><a href=/a>a</a>").first(1),
        html("/", "<a href=/b>b</a>"),
        html("/a", "<a href=/gone-too>g</a>"),
        html("/b", "fine"),
    ]);
    let home = town.url(0, "/");
    let net = ["--allow-net", "127.0.0.0/8", "--quiet", "--json", "--set", "cache.mode=off"];
    let args = [&[home.as_str()], &FAST[..], &net, &["--into", "crawl.db"]].concat();
    let (told, _) = problems(&links(&town, &args).ends(1));
    let targets: Vec<&str> = told.iter().map(|(_, target, _)| target.as_str()).collect();
    assert_eq!(targets, ["/gone", "/gone-too"]);
    let (told, summary) = problems(&links(&town, &[&args[..], &["--again"]].concat()).ends(0));
    assert_eq!((told.len(), &summary["pages"]), (0, &2.into()), "{told:?}");
    assert_eq!(number(&town.db("crawl.db"), "SELECT count(*) FROM pages"), 5);
}

/// A seed that is not there is broken, though no page links to it.
#[test]
fn a_seed_that_is_not_there_is_broken() {
    let town = site(vec![html("/", "fine")]);
    let net = ["--allow-net", "127.0.0.0/8", "--quiet"];
    let seed = town.url(0, "/gone");
    let ran = links(&town, &[&[seed.as_str()], &FAST[..], &net].concat()).ends(1);
    assert!(ran.out.contains("/gone: 404\n    no page links to it"), "{}", ran.out);
}

/// A server that nobody answers at has no robots.txt either, so its pages wait in the queue: they are broken all the same.
#[test]
fn a_server_that_does_not_answer_is_broken() {
    // A port that was free a moment ago, and that nobody listens on.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let page = format!(
        "<a href='http://dead.test:{closed}/1'>1</a><a href='http://dead.test:{closed}/2'>2</a>"
    );
    let mut own = Host::named("own.test").at(Ipv4Addr::LOCALHOST);
    own.answers = vec![html("/", &page)];
    let town = Town::new(Scene { hosts: vec![own], ..Scene::default() });
    let seed = format!("http://own.test:{}/", town.sites.as_ref().unwrap().port());
    let net = ["--allow-net", "127.0.0.0/8", "--resolve", "*.test=127.0.0.1", "--quiet", "--json"];
    let asked = [seed.as_str(), "--external", "--contact", "me@example.org"];
    let args = [&asked[..], &FAST[..], &net].concat();
    let ran = links(&town, &args).ends(1);
    let (told, _) = problems(&ran);
    let targets: Vec<&str> = told.iter().map(|(_, target, _)| target.as_str()).collect();
    assert_eq!(targets, ["/1", "/2"], "{}", ran.out);
    assert!(ran.out.contains("its server does not answer (connect)"), "{}", ran.out);
}

/// A page that was deleted a minute ago counted as there, since it was still fresh: a check of a site on this machine passed with its server off.
#[test]
fn a_check_of_a_site_on_this_machine_looks_at_the_present() {
    let host = Host::named("a.test").pages(1, 0, 300).says(Answer::to("/b").first(1));
    let mut town = Town::new(Scene { hosts: vec![host], ..Scene::default() });
    let url = town.url(0, "/");
    let links = |town: &Town, into: &str| {
        town.run(&["links", url.as_str(), "--delay", "0s", "--quiet", "--into", into])
    };
    // Pages in the page cache are no answer to what is there now.
    town.crawl(&[url.as_str(), "--delay", "0s", "--quiet"]).ends(0);
    links(&town, "l.db").ends(1);
    // The same command starts a new check.
    let ran = links(&town, "l.db").ends(1);
    assert!(ran.out.contains("/b: 404"), "{}", ran.out);
    town.close();
    let ran = links(&town, "l.db").ends(1);
    assert!(ran.out.contains("does not answer"), "{}", ran.out);
    links(&town, "new.db").ends(1);
}

/// The check passed, and had checked no other site.
#[test]
fn a_check_of_other_sites_needs_a_contact() {
    let town = site(vec![html("/", "<a href='https://example.org/'>x</a>")]);
    let ran = links(&town, &[&town.url(0, "/"), "--external", "--delay", "0s"]).ends(2);
    assert!(ran.err.contains("`--external` requests other sites"), "{}", ran.err);
    assert!(ran.err.contains("--contact"), "{}", ran.err);
}
