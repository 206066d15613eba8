//! The first five minutes: a seed on one's own machine, a second try, a second site.

use std::process::{Child, Command, Stdio};

use curtsy_lab::sites::Scene;
use curtsy_testkit::services::could_not_run;

use crate::harness::{Served, Town, number, texts};

/// Pages that are there, from the site or from the cache that all crawls share.
const FETCHED: &str = "SELECT count(*) FROM pages
    WHERE decision IN ('fetched', 'cached', 'confirmed') AND kind = 'page' AND body IS NOT NULL";

/// A site of three pages in a folder.
fn three_pages(town: &Town) -> Served {
    let site = town.path("site");
    std::fs::create_dir(&site).unwrap();
    let page = |name: &str, text: &str| std::fs::write(site.join(name), text).unwrap();
    page("index.html", "<title>home</title><a href=a.html>a</a>");
    page("a.html", "<title>a</title><a href=b.html>b</a>");
    page("b.html", "<title>b</title>");
    Served::folder(&site)
}

#[test]
fn your_own_machine_is_crawled_without_a_flag() {
    let town = Town::empty();
    let site = three_pages(&town);
    let port = site.port;
    for (n, seed) in [
        format!("http://localhost:{port}/"),
        format!("http://127.0.0.1:{port}/"),
        format!("localhost:{port}"),
        format!("127.0.0.1:{port}"),
        format!("http://docs.localhost:{port}/"),
    ]
    .iter()
    .enumerate()
    {
        let into = format!("{n}.db");
        town.run(&["crawl", seed, "--delay", "0s", "--into", &into]).ends(0);
        assert_eq!(number(&town.db(&into), FETCHED), 3, "{seed}");
    }
    // A list is data: what it names has to be allowed.
    std::fs::write(town.path("seeds.txt"), format!("http://localhost:{port}/\n")).unwrap();
    let list = ["crawl", "--from", "seeds.txt", "--into", "list.db", "--no-cache"];
    let ran = town.run(&list).ends(4);
    let both = "`--allow-net 127.0.0.0/8 --allow-net ::1/128` allows it";
    assert!(ran.err.contains(both), "{}", ran.err);
    // `plan` and `sitemap list` take the same way.
    let home = format!("localhost:{port}");
    let plan = town.run(&["plan", &home, "--delay", "0s"]).ends(0);
    assert!(plan.out.contains("no sitemap lists pages of localhost"), "{}", plan.out);
}

#[test]
fn a_password_in_a_seed_is_refused_with_the_reason() {
    let town = Town::empty();
    let ran = town.run(&["crawl", "https://me:s3cret@example.org/", "--contact", "a@b.test"]);
    let ran = ran.ends(2);
    assert!(ran.err.contains("a user name or a password"), "{}", ran.err);
    assert!(ran.err.contains("`header`"), "{}", ran.err);
    assert!(!ran.err.contains("s3cret"), "{}", ran.err);
}

#[test]
fn a_seed_without_a_scheme_is_tried_with_both() {
    let town = Town::empty();
    let site = three_pages(&town);
    // A name of a site elsewhere, which is here: https comes first, and is not spoken.
    let seed = format!("plain.test:{}", site.port);
    let way = ["--resolve", "*.test=127.0.0.1", "--allow-net", "127.0.0.0/8", "--delay", "0s"];
    let crawl = |args: &[&str]| town.run(&[&["crawl", &seed], &way[..], args].concat());
    let ran = crawl(&[]).ends(0);
    assert!(ran.err.contains("does not speak https: http is used"), "{}", ran.err);
    let file = format!("plain.test-{}.db", site.port);
    assert_eq!(number(&town.db(&file), FETCHED), 3);
    // The crawl's file knows which it was, and so does the ledger.
    assert!(crawl(&[]).ends(0).err.contains("complete since"));
    crawl(&["--into", "other.db"]).ends(0);
    assert_eq!(number(&town.db("other.db"), FETCHED), 3);
    let why = town.run(&["why", &format!("{seed}/a.html"), "--in", &file]).ends(0);
    assert!(why.out.starts_with("http://plain.test"), "{}", why.out);
    let plan = town.run(&[&["plan", &seed], &way[..]].concat()).ends(0);
    assert!(plan.err.contains("http is used"), "{}", plan.err);
}

/// The requests that choose between https and http belong to the crawl: its report and its evidence have them.
#[test]
fn a_seed_without_a_scheme_has_all_its_requests_in_the_books() {
    let mut town = Town::new(Scene::plain(1, 3, 2, 500));
    let site = town.url(0, "/").replace("http://", "");
    let ran = town.crawl(&[&site, "--delay", "0s", "--json"]).ends(0);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let robots = "SELECT count(*) FROM decisions WHERE kind = 'robots' AND http_status IS NOT NULL";
    assert_eq!(number(&town.db("crawl.db"), robots), 1);
    let sent = report["requests"].as_object().unwrap().values();
    let sent: u64 = sent.map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(sent, town.close().len() as u64, "{report:#}");
}

#[test]
fn a_typo_of_this_machines_name_is_named() {
    let town = Town::empty();
    let ran = town.run(&["crawl", "lcoalhost:8000"]).ends(2);
    for part in ["`lcoalhost` is not this machine", "did you mean `localhost`?", "--contact"] {
        assert!(ran.err.contains(part), "no `{part}` in {}", ran.err);
    }
    let ran = town.run(&["crawl", "https://example.org/"]).ends(2);
    assert!(ran.err.contains("`example.org` is not this machine"), "{}", ran.err);
    assert!(!ran.err.contains("did you mean"), "{}", ran.err);
}

/// A crawl to which nobody ever answered is no crawl that other seeds could spoil.
#[test]
fn a_crawl_without_one_answer_makes_room_for_the_right_seed() {
    let town = Town::empty();
    let site = three_pages(&town);
    let way = ["--resolve", "*.test=127.0.0.1", "--allow-net", "127.0.0.0/8", "--delay", "0s"];
    let crawl = |seed: &str| {
        let args = ["crawl", seed, "--patience", "1s", "--into", "shop.db"];
        town.run(&[&args[..], &way].concat())
    };
    // TLS is not spoken there, and an explicit scheme is not changed.
    crawl(&format!("https://shop.test:{}/", site.port)).ends(4);
    crawl(&format!("http://shop.test:{}/", site.port)).ends(0);
    let db = town.db("shop.db");
    assert_eq!(number(&db, FETCHED), 3);
    assert_eq!(texts(&db, "SELECT url FROM seeds"), [format!("http://shop.test:{}/", site.port)]);
    // From now on it is the crawl of this seed.
    crawl(&format!("http://www.shop.test:{}/", site.port)).ends(2);

    // A seed without a scheme is tried with both again.
    let port = free_port();
    let seed = format!("later.test:{port}");
    let args = [&["crawl", &seed, "--patience", "1s"], &way[..]].concat();
    town.run(&args).ends(4);
    let _late = Served::folder_at(&town.path("site"), port);
    town.run(&args).ends(0);
    assert_eq!(number(&town.db(&format!("later.test-{port}.db")), FETCHED), 3);
}

#[test]
fn a_crawl_that_ended_leaves_one_file() {
    let town = Town::empty();
    let site = three_pages(&town);
    for _ in 0..2 {
        town.run(&["crawl", &format!("localhost:{}", site.port), "--delay", "0s"]).ends(0);
        let all = std::fs::read_dir(&town.folder).unwrap();
        let names: Vec<_> = all.map(|entry| entry.unwrap().file_name()).collect();
        let beside: Vec<_> =
            names.iter().filter(|name| name.to_string_lossy().contains(".db-")).collect();
        assert!(beside.is_empty(), "{beside:?}");
    }
}

/// A real nginx that speaks TLS, with a certificate of its own.
struct Nginx {
    server: Child,
    port: u16,
}

impl Nginx {
    /// None where there is no nginx or no openssl.
    fn start(town: &Town) -> Option<Nginx> {
        let names = "subjectAltName=DNS:localhost,DNS:shop.test,IP:127.0.0.1";
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"])
            .args(["-subj", "/CN=localhost", "-addext", names])
            .args(["-addext", "basicConstraints=critical,CA:FALSE"])
            .args(["-keyout", "key.pem", "-out", "cert.pem"])
            .current_dir(&town.folder)
            .output()
            .ok()?;
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        std::fs::create_dir(town.path("tls")).unwrap();
        std::fs::write(town.path("tls/index.html"), "<title>secure</title>").unwrap();
        let port = free_port();
        let folder = town.folder.display();
        let config = format!(
            "daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; events {{}}
            http {{ access_log off;
                client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2;
                fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
                server {{ listen 127.0.0.1:{port} ssl; root {folder}/tls;
                    ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem; }} }}"
        );
        std::fs::write(town.path("nginx.conf"), config).unwrap();
        let nginx = ["nginx", "/usr/sbin/nginx"].into_iter().find_map(|nginx| {
            let mut nginx = Command::new(nginx);
            nginx.arg("-c").arg(town.path("nginx.conf")).arg("-e").arg(town.path("error.log"));
            nginx.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
        });
        let mut server = nginx?;
        // It writes its number once it listens.
        while !town.path("nginx.pid").exists() {
            let ended = server.try_wait().unwrap();
            assert!(ended.is_none(), "{:?}", std::fs::read_to_string(town.path("error.log")));
            std::thread::yield_now();
        }
        Some(Nginx { server, port })
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // The master ends its worker when it is asked to, not when it is killed.
        let asked = Command::new("kill").arg(self.server.id().to_string()).status();
        if !asked.is_ok_and(|asked| asked.success()) {
            let _ = self.server.kill();
        }
        let _ = self.server.wait();
    }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn a_first_failure_does_not_stick_when_the_settings_change() {
    let town = Town::empty();
    // An address that may not be dialled, and then may: nobody listens there, but it is dialled.
    let port = free_port();
    let list = format!("http://127.0.0.9:{port}/\n");
    std::fs::write(town.path("list.txt"), list).unwrap();
    let guarded = ["crawl", "--from", "list.txt", "--patience", "0s", "--into", "guard.db"];
    town.run(&guarded).ends(4);
    let errors = "SELECT error FROM decisions WHERE error IS NOT NULL ORDER BY at";
    assert_eq!(texts(&town.db("guard.db"), errors), ["guard"]);
    town.run(&[&guarded[..], &["--allow-net", "127.0.0.0/8"]].concat()).ends(4);
    // The request for robots.txt, and with it the page.
    assert_eq!(texts(&town.db("guard.db"), errors), ["guard", "connect", "connect"]);

    // A name that does not resolve, and then does.
    let site = three_pages(&town);
    let seed = format!("http://nowhere.invalid:{}/", site.port);
    let named = ["crawl", &seed, "--contact", "a@b.test", "--patience", "5s", "--into", "dns.db"];
    let ran = town.run(&named).ends(4);
    assert!(ran.err.contains("name not resolved (nowhere.invalid)"), "{}", ran.err);
    let way = ["--resolve", "nowhere.invalid=127.0.0.1", "--allow-net", "127.0.0.0/8"];
    town.run(&[&named[..], &way, &["--delay", "0s"]].concat()).ends(0);
    assert_eq!(number(&town.db("dns.db"), FETCHED), 3);

    // A certificate that nobody is trusted for, and then somebody is.
    let Some(nginx) = Nginx::start(&town) else {
        return could_not_run("a server with TLS needs `nginx` and `openssl`");
    };
    let seed = format!("https://localhost:{}/", nginx.port);
    let secure = ["crawl", &seed, "--delay", "0s", "--patience", "1s", "--into", "tls.db"];
    let ran = town.run(&secure).ends(4);
    assert!(ran.err.contains("`--ca-file` adds roots"), "{}", ran.err);
    town.run(&[&secure[..], &["--ca-file", "cert.pem"]].concat()).ends(0);
    assert_eq!(number(&town.db("tls.db"), FETCHED), 1);
    // A certificate that is not trusted is TLS all the same: nothing is asked for in the clear because of it.
    let shop = format!("shop.test:{}", nginx.port);
    let way = ["--resolve", "*.test=127.0.0.1", "--allow-net", "127.0.0.0/8", "--patience", "0s"];
    let ran = town.run(&[&["crawl", &shop], &way[..]].concat()).ends(4);
    assert!(!ran.err.contains("http is used"), "{}", ran.err);
}

#[test]
fn a_finished_crawl_says_since_when_and_again_says_what_changed() {
    let town = Town::empty();
    let site = three_pages(&town);
    let seed = format!("localhost:{}", site.port);
    let crawl = |args: &[&str]| town.run(&[&["crawl", &seed, "--delay", "0s"], args].concat());
    crawl(&[]).ends(0);
    let ran = crawl(&[]).ends(0);
    assert!(ran.err.contains("complete since ") && ran.err.contains("`--again` asks again"));
    let ran = crawl(&["--json"]).ends(0);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert!(report["complete_since"].is_string(), "{report}");
    assert_eq!((&report["rows"], &report["pages_held"]), (&0.into(), &3.into()));
    assert_eq!(report["requests"], serde_json::json!({}), "nothing was sent");

    // Later by whole seconds, which is all that `Last-Modified` tells.
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(2);
    let page = |name: &str, text: &str| {
        let mut file = std::fs::File::create(town.path("site").join(name)).unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        file.set_modified(later).unwrap();
    };
    page("a.html", "<title>another a</title><a href=b.html>b</a><a href=c.html>c</a>");
    page("c.html", "<title>c</title>");
    std::fs::remove_file(town.path("site/b.html")).unwrap();
    // All of them are fresh: nothing is asked.
    let compared = |args: &[&str]| {
        let ran = crawl(&[args, &["--json"]].concat()).ends(0);
        let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let figures = ["changed", "unchanged", "gone", "new"].map(|what| {
            report["compared"][what].as_u64().unwrap_or_else(|| panic!("no {what} in {report}"))
        });
        (figures, report["requests"]["page"].as_u64().unwrap_or(0))
    };
    assert_eq!(compared(&["--again"]), ([0, 3, 0, 0], 0));
    assert_eq!(compared(&["--again", "--force"]), ([1, 1, 1, 1], 4));
    let ran = crawl(&["--again", "--force"]).ends(0);
    assert!(ran.err.contains("0 changed, 3 unchanged, 0 gone, 0 new"), "{}", ran.err);
    crawl(&["--force"]).ends(2);
}

/// Rows of a second crawl were taken for repeats of the first.
#[test]
fn crawling_again_into_json_lines_writes_what_changed() {
    let town = Town::empty();
    let site = three_pages(&town);
    let seed = format!("localhost:{}", site.port);
    let crawl = |args: &[&str]| {
        let all = ["crawl", &seed, "--delay", "0s", "--into", "pages.jsonl", "--no-cache"];
        town.run(&[&all[..], args].concat()).ends(0)
    };
    let titles = || {
        let text = std::fs::read_to_string(town.path("pages.jsonl")).unwrap();
        let rows =
            text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let pages = rows.filter(|row| row["kind"] == "page");
        pages.map(|row| row["title"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    crawl(&[]);
    assert_eq!(titles(), ["home", "a", "b"]);
    let page = town.path("site/a.html");
    std::fs::write(&page, "<title>another a</title><a href=b.html>b</a>").unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(2);
    std::fs::File::options().write(true).open(&page).unwrap().set_modified(later).unwrap();
    let ran = crawl(&["--again", "--force"]);
    assert!(ran.err.contains("1 changed, 2 unchanged"), "{}", ran.err);
    assert!(titles().contains(&"another a".to_owned()), "{:?}", titles());
    // A page that nothing leads to any more is not asked for, and counted.
    std::fs::write(town.path("site/index.html"), "<title>home</title>").unwrap();
    let index = std::fs::File::options().write(true).open(town.path("site/index.html")).unwrap();
    index.set_modified(later).unwrap();
    let ran = crawl(&["--again", "--force"]);
    assert!(ran.err.contains("; 2 no longer linked (not asked for)"), "{}", ran.err);
}

/// What `--again --force` was answered did not reach the page cache: later crawls got the older page, and a missing page came back.
#[test]
fn what_a_forced_crawl_was_answered_counts_for_later_crawls() {
    let town = Town::empty();
    let site = three_pages(&town);
    let seed = format!("localhost:{}", site.port);
    let crawl =
        |args: &[&str]| town.run(&[&["crawl", &seed, "--delay", "0s"], args].concat()).ends(0);
    crawl(&["--into", "one.db"]);
    let page = town.path("site/a.html");
    std::fs::write(&page, "<title>another a</title><a href=b.html>b</a>").unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(2);
    std::fs::File::options().write(true).open(&page).unwrap().set_modified(later).unwrap();
    std::fs::remove_file(town.path("site/b.html")).unwrap();
    let forced = crawl(&["--into", "one.db", "--again", "--force"]);
    assert!(forced.err.contains("1 changed, 1 unchanged, 1 gone, 0 new"), "{}", forced.err);

    // Another crawl, and the same one again.
    crawl(&["--into", "two.db"]);
    let titles = "SELECT title FROM pages WHERE kind = 'page' AND title IS NOT NULL ORDER BY 1";
    assert_eq!(texts(&town.db("two.db"), titles), ["another a", "home"]);
    crawl(&["--into", "one.db", "--again"]);
    let gone = "SELECT decision || ' ' || http_status FROM pages WHERE url LIKE '%/b.html'";
    assert_eq!(texts(&town.db("one.db"), gone), ["dead 404"]);
    // An answer that was still fresh is no request.
    let url = format!("http://{seed}/b.html");
    let why = town.run(&["why", &url, "--in", "one.db", "--json"]).ends(0);
    let why: serde_json::Value = serde_json::from_str(&why.out).unwrap();
    let steps = why["steps"].as_array().unwrap().iter();
    let requested: Vec<bool> = steps.map(|step| step["requested"].as_bool().unwrap()).collect();
    assert_eq!(requested, [true, true, false], "{why:#}");
}

/// Several hosts write at once, and one of two sums got lost.
#[test]
fn pages_of_several_hosts_are_all_compared() {
    let town = Town::new(Scene::plain(4, 20, 4, 300));
    let seeds = town.seeds();
    let args = ["--from", seeds.to_str().unwrap(), "--delay", "0s", "--json"];
    town.crawl(&args).ends(0);
    for _ in 0..3 {
        let ran = town.crawl(&[&args[..], &["--again"]].concat()).ends(0);
        let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(report["compared"]["unchanged"], 80, "{}", report["compared"]);
    }
}

#[test]
fn a_complete_crawl_without_a_page_says_why() {
    let town = Town::empty();
    let site = three_pages(&town);
    let args = ["crawl", &format!("localhost:{}/gone.html", site.port), "--delay", "0s"];
    town.run(&args).ends(4);
    let ran = town.run(&args).ends(4);
    for part in ["complete since", "1 not found (404)"] {
        assert!(ran.err.contains(part), "no `{part}` in {}", ran.err);
    }
    let ran = town.run(&["crawl", "http//localhost:8000/"]).ends(2);
    assert!(ran.err.contains("did you mean `http://localhost:8000/`?"), "{}", ran.err);
}

#[test]
fn a_crawl_has_a_file_of_its_own_named_after_its_host() {
    let town = Town::empty();
    let site = three_pages(&town);
    let seed = format!("http://localhost:{}/", site.port);
    town.run(&["crawl", &seed, "--delay", "0s"]).ends(0);
    let file = format!("localhost-{}.db", site.port);
    assert_eq!(number(&town.db(&file), FETCHED), 3);

    // Other seeds are another crawl, unless the user says that they are not.
    let other = format!("{seed}b.html");
    let ran = town.run(&["crawl", &other, "--delay", "0s"]).ends(2);
    for part in [&file, &other, "`--add`", "`--into other.db`"] {
        assert!(ran.err.contains(part), "no `{part}` in {}", ran.err);
    }
    assert_eq!(number(&town.db(&file), "SELECT count(*) FROM runs"), 1);
    town.run(&["crawl", &other, "--delay", "0s", "--add"]).ends(0);
    town.run(&["crawl", &seed, &other, "--delay", "0s"]).ends(0);

    // A second crawl beside it; each URL is found in its own, and it is said in which.
    let second = format!("http://127.0.0.1:{}/b.html", site.port);
    town.run(&["crawl", &second, "--delay", "0s", "--into", "z.db"]).ends(0);
    let why = |url: &str| town.run(&["why", url]);
    assert!(why(&seed).ends(0).err.contains(&format!("in {file}")));
    assert!(why(&second).ends(0).err.contains("in z.db"));
    assert!(why("https://example.org/never").ends(1).err.contains("in z.db"));
    assert!(town.run(&["links"]).ends(0).err.contains("in z.db"));
    assert!(town.run(&["links", &file]).ends(0).err.contains(": 0 broken links"));
    let forgot = town.run(&["forget", &format!("{seed}a.html")]).ends(0);
    assert!(forgot.err.contains("1 row"), "{}", forgot.err);
    let empty = Town::empty();
    let none = empty.run(&["why", &seed]).ends(2);
    assert!(none.err.contains("there is no crawl in this folder"), "{}", none.err);
}

#[test]
fn a_budget_of_pages_counts_for_each_run() {
    let town = Town::new(Scene::plain(1, 30, 6, 500));
    let url = town.url(0, "/");
    let args = [url.as_str(), "--delay", "0s", "--policy", "warehouse", "--pages", "10"];
    for fetched in [10, 20, 30] {
        town.crawl(&args);
        assert_eq!(number(&town.db("crawl.db"), FETCHED), fetched);
    }
    assert!(town.crawl(&args).ends(0).err.contains("complete since"));
}

#[test]
fn plan_sitemap_and_explain_end_as_the_crawl_does() {
    let town = Town::empty();
    let contact = ["--contact", "a@b.test", "--patience", "1s"];
    for (url, more, code, reason) in [
        ("http://10.1.2.3/", &contact[..], 4, "`--allow-net 10.0.0.0/8` allows it"),
        ("http://127.0.0.1:25/", &contact, 4, "something else than HTTP"),
        ("http://nosuch.invalid/", &contact, 4, "resolve"),
        ("http://example.org/", &[], 2, "`identity.contact` is not set"),
    ] {
        for command in [&["crawl"][..], &["plan"], &["sitemap", "list"], &["explain"]] {
            // A ledger of its own: what one of them learnt is not for the others.
            let ledger = format!("{}-{}.ledger", command[0], url.len());
            let args = [command, &[url, "--ledger", &ledger], more].concat();
            let ran = town.run(&args).ends(code);
            let said = ran.out + &ran.err;
            assert!(said.contains(reason), "{args:?}: {said}");
        }
    }
}
