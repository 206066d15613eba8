//! How often may somebody do something?

use curtsy_lab::sites::Answer as Said;
use serde_json::json;

use crate::client::send;
use crate::place::{Folder, NO_RUN, Service, TOKEN, spec, spec_with};
use crate::sites::{page, plain, serve};

#[test]
fn too_many_changes_are_refused_for_a_while_and_reading_goes_on() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let cancel = format!("/api/orbit/shop/runs/{NO_RUN}/cancel");
    // 600 at once and ten more in each second.
    let answers = (0..20_000).map(|_| service.post(&cancel, &json!({})));
    let refused = answers.enumerate().find(|(_, answer)| answer.status != 404);
    let (after, answer) = refused.expect("somebody is too many");
    assert!(after >= 600, "{after}");
    assert_eq!(answer.status, 429);
    assert_eq!(answer.header("retry-after"), Some("60"));
    let body = answer.json();
    assert_eq!(body["error"]["code"], "too_many_requests");
    assert_eq!(body["error"]["hint"], "wait a minute");
    service.get("/api/orbit/shop/runs").ends(200);
}

#[test]
fn whoever_guesses_the_token_is_soon_not_heard() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let guess = |n: u32| {
        let headers = [service.host(), format!("Authorization: Bearer {n:032x}")];
        send(service.address, "POST", "/api/health/checks", &headers, b"").status
    };
    // Twenty at once and one more in three seconds.
    let heard = (0..1_000).map(guess).position(|status| status == 429).expect("a limit");
    assert!(heard >= 20, "{heard}");
    // Nor is the right one, or it could be found by trying.
    let headers = [service.host(), format!("Authorization: Bearer {TOKEN}")];
    assert_eq!(send(service.address, "POST", "/api/health/checks", &headers, b"").status, 429);
}

/// Another site's page has a browser ask for things as often as it likes: that must not shut its
/// user out.
#[test]
fn another_sites_page_cant_use_up_the_guesses() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let image = [
        service.host(),
        "Sec-Fetch-Site: cross-site".to_owned(),
        "Sec-Fetch-Mode: no-cors".to_owned(),
    ];
    for n in 0..40 {
        let answer = send(service.address, "GET", &format!("/login?code={n}"), &image, b"");
        assert!(answer.header("set-cookie").is_none());
    }
    service.get("/").ends(200);
    service.post("/api/health/checks", &json!({})).ends(202);
}

#[test]
fn more_runs_than_there_may_be_are_refused() {
    let folder = Folder::new();
    // None of them ends before the gate is opened.
    let held = Said::to("/robots.txt").behind("robots");
    let sites = serve(vec![plain("shop.test").pages(100, 20, 300).says_unlinked(held)]);
    let answered = [("timeout.first_byte", "10m"), ("timeout.whole", "10m"), ("patience", "10m")];
    let service = Service::start(spec_with(folder.store(), &answered));
    let order = |n: usize| json!({"mode": "user_assisted", "userUrls": [page(&sites, "shop.test", &format!("/p/{n}"))]});
    let ask =
        |n| service.post_with("/api/orbit/shop/ingest", &order(n), &["Prefer: respond-async"]);
    let refused = (0..80).map(ask).enumerate().find(|(_, answer)| answer.status != 202);
    let (after, answer) = refused.expect("a limit");
    assert_eq!(after, 64);
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("60")));
    assert_eq!(answer.json()["error"]["code"], "busy");
    sites.open("robots");
}
