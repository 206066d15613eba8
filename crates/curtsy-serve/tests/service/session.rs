//! Browsers: signing in, cookies, and forms that are sent by whom they were given to.

use serde_json::json;

use crate::client::{Answer, send};
use crate::kept::places;
use crate::place::{Folder, Service, TOKEN, spec};
use crate::sites::{asked, page, plain, serve};

/// A browser that is signed in: its cookie, and what its forms hold.
struct Browser<'s> {
    service: &'s Service,
    cookie: String,
    csrf: String,
}

impl<'s> Browser<'s> {
    /// Signs in with the token.
    fn sign_in(service: &'s Service) -> Browser<'s> {
        let form = format!("token={TOKEN}&next=/");
        let headers =
            [service.host(), "Content-Type: application/x-www-form-urlencoded".to_owned()];
        let answer = send(service.address, "POST", "/login", &headers, form.as_bytes()).ends(303);
        Browser::with(service, &answer)
    }

    /// Goes on with the session that an answer has opened.
    fn with(service: &'s Service, answer: &Answer) -> Browser<'s> {
        let cookie = answer.header("set-cookie").expect("a session");
        let cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
        let mut browser = Browser { service, cookie, csrf: String::new() };
        let html = browser.get("/orbit/shop/import").ends(200).body;
        let (_, rest) =
            html.split_once("name=\"csrf\" value=\"").expect("a form with a token of its own");
        browser.csrf = rest.split('"').next().unwrap().to_owned();
        browser
    }

    fn get(&self, target: &str) -> Answer {
        send(self.service.address, "GET", target, &[self.service.host(), self.cookie.clone()], b"")
    }

    /// Sends a form with this token of its own.
    fn form(&self, target: &str, csrf: &str, rest: &str) -> Answer {
        let kind = "Content-Type: application/x-www-form-urlencoded".to_owned();
        let headers = [self.service.host(), self.cookie.clone(), kind];
        let body = format!("csrf={csrf}&{rest}");
        send(self.service.address, "POST", target, &headers, body.as_bytes())
    }
}

#[test]
fn a_sign_in_link_works_once() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let target = service.sign_in.strip_prefix(&format!("http://{}", service.address)).unwrap();
    let answer = service.get(target).ends(303);
    Browser::with(&service, &answer);
    assert!(service.get(target).header("set-cookie").is_none(), "a second time");
    for code in ["", "x", &TOKEN.to_uppercase()] {
        let answer = service.get(&format!("/login?code={code}"));
        assert!(answer.header("set-cookie").is_none(), "{code}");
    }
    let answer = service.get("/login?code=x&next=//example.org/");
    assert!(!answer.body.contains("example.org"), "a way out of the house");
}

#[test]
fn a_session_is_a_strict_cookie_and_ends_when_its_owner_says() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let form = format!("token={TOKEN}");
    let headers = [service.host(), "Content-Type: application/x-www-form-urlencoded".to_owned()];
    let answer = send(service.address, "POST", "/login", &headers, form.as_bytes()).ends(303);
    let cookie = answer.header("set-cookie").unwrap();
    let (pair, flags) = cookie.split_once(';').unwrap();
    let value = pair.strip_prefix("curtsy_session=").unwrap();
    assert_eq!(value.len(), 64);
    assert_eq!(flags.trim(), "HttpOnly; SameSite=Strict; Path=/; Max-Age=43200");
    assert!(!cookie.contains(TOKEN));

    let browser = Browser::with(&service, &answer);
    browser.form("/logout", "wrong", "").ends(403);
    browser.form("/logout", &browser.csrf, "").ends(303);
    browser.form("/admin/orbits/health", &browser.csrf, "").ends(401);
    // Sessions end with the process; nothing of them is in the file.
    let db = folder.database();
    for secret in [TOKEN, value, &browser.csrf] {
        assert_eq!(places(&db, secret), [""; 0]);
    }
}

#[test]
fn a_form_needs_the_token_of_its_own_session() {
    let folder = Folder::new();
    let sites = serve(vec![plain("shop.test")]);
    let service = Service::start(spec(folder.store()));
    let (mine, other) = (Browser::sign_in(&service), Browser::sign_in(&service));
    assert_ne!(mine.csrf, other.csrf);
    let rest = format!(
        "url={}&mode=light",
        page(&sites, "shop.test", "/").replace(':', "%3A").replace('/', "%2F")
    );
    for csrf in ["", "0", &other.csrf, &mine.csrf.to_uppercase(), TOKEN] {
        let answer = mine.form("/orbit/shop/ingest", csrf, &rest);
        assert_eq!(answer.status, 403, "{csrf}: {}", answer.body);
    }
    assert_eq!(service.run_count("shop"), 0);
    let begun = mine.form("/orbit/shop/ingest", &mine.csrf, &rest).ends(303);
    let run = begun.header("location").unwrap();
    assert!(run.starts_with("/orbit/shop/runs/"), "{run}");
    service.wait_for_end(&format!("/api{run}"));

    // The API takes a session too, with the same token in a header.
    let call = |lines: &[String]| {
        let headers = [&[service.host(), mine.cookie.clone()], lines].concat();
        send(service.address, "POST", "/api/health/checks", &headers, b"")
    };
    call(&[]).ends(403);
    call(&[format!("X-Csrf-Token: {}", other.csrf)]).ends(403);
    call(&[format!("X-Csrf-Token: {}", mine.csrf)]).ends(202);
    // Whoever brings a token is held to it.
    call(&[format!("X-Csrf-Token: {}", mine.csrf), "Authorization: Bearer x".to_owned()]).ends(401);
}

#[test]
fn a_form_of_another_sites_page_begins_nothing() {
    let folder = Folder::new();
    let sites = serve(vec![plain("shop.test")]);
    let service = Service::start(spec(folder.store()));
    let browser = Browser::sign_in(&service);
    let url = page(&sites, "shop.test", "/");
    // What a page without script can have a browser send, with the cookie that an old browser would
    // add.
    for kind in
        ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"]
    {
        for cookie in [&browser.cookie, "X-None: 1"] {
            let headers = [service.host(), cookie.to_owned(), format!("Content-Type: {kind}")];
            for (target, body) in [
                ("/orbit/shop/ingest", format!("url={url}&mode=light")),
                ("/api/orbit/shop/ingest", json!({"url": url}).to_string()),
            ] {
                let answer = send(service.address, "POST", target, &headers, body.as_bytes());
                assert!(
                    matches!(answer.status, 401 | 403 | 415),
                    "{target} {kind}: {} {}",
                    answer.status,
                    answer.body
                );
            }
        }
    }
    assert_eq!(service.run_count("shop"), 0);
    assert_eq!(asked(&sites, "shop.test"), [""; 0]);
}

#[test]
fn after_signing_in_one_stays_in_the_house() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let headers = [service.host(), "Content-Type: application/x-www-form-urlencoded".to_owned()];
    for next in [
        "//example.org/",
        "http://example.org/",
        "/\\example.org",
        "\\\\example.org",
        "javascript:alert(1)",
        "/%0d%0aSet-Cookie:x=y",
        "/\t/example.org",
    ] {
        let form = format!("token={TOKEN}&next={}", percent(next));
        let answer = send(service.address, "POST", "/login", &headers, form.as_bytes()).ends(303);
        let to = answer.header("location").unwrap();
        assert!(
            to.starts_with('/') && !to.starts_with("//") && !to.contains(['\\', '\t']),
            "{next} led to {to}"
        );
    }
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}
