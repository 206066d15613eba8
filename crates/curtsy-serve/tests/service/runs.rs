//! Runs that have ended: lists, parts of them, and what is known of a host.

use serde_json::{Value, json};

use crate::place::{Folder, Service, spec};
use crate::sites::{page, plain, serve};

fn ids(list: &Value) -> Vec<u64> {
    list["runs"].as_array().unwrap().iter().map(|run| run["id"].as_u64().unwrap()).collect()
}

#[test]
fn runs_are_listed_newest_first_and_in_parts() {
    let folder = Folder::new();
    let sites = serve(vec![plain("shop.test")]);
    let service = Service::start(spec(folder.store()));
    let order = json!({"url": page(&sites, "shop.test", "/"), "mode": "light"});
    let traces: Vec<Value> =
        (0..5).map(|_| service.ingest("shop", &order)["evidence"]["traceId"].clone()).collect();
    service.ingest("other", &order);

    let all = service.get("/api/orbit/shop/runs").ends(200).json();
    let listed: Vec<&Value> =
        all["runs"].as_array().unwrap().iter().map(|run| &run["traceId"]).collect();
    assert_eq!(listed, traces.iter().rev().collect::<Vec<_>>());
    for run in all["runs"].as_array().unwrap() {
        assert_eq!(
            (&run["orbitSlug"], &run["mode"], &run["outcome"]),
            (&json!("shop"), &json!("light"), &json!("success"))
        );
        assert_eq!((&run["url"], &run["hostname"]), (&order["url"], &json!("shop.test")));
        assert!(
            run["startedAt"].as_str().unwrap() <= run["completedAt"].as_str().unwrap(),
            "{run}"
        );
        assert_eq!(run["evidence"]["traceId"], run["traceId"]);
    }
    let ids_of_all = ids(&all);
    let first = service.get("/api/orbit/shop/runs?limit=2").json();
    assert_eq!(ids(&first), ids_of_all[..2]);
    let next =
        service.get(&format!("/api/orbit/shop/runs?limit=2&before={}", ids_of_all[1])).json();
    assert_eq!(ids(&next), ids_of_all[2..4]);
    let last =
        service.get(&format!("/api/orbit/shop/runs?limit=2&before={}", ids_of_all[3])).json();
    assert_eq!(ids(&last), ids_of_all[4..]);
    assert_eq!(ids(&service.get("/api/orbit/nobody/runs").json()), [0; 0]);

    let wrong = [
        "limit=0",
        "limit=201",
        "limit=-1",
        "limit=x",
        "limit=1.5",
        "limit=",
        "before=0",
        "before=9999999999",
        "limit=1&limit=2",
    ];
    for query in wrong {
        let answer = service.get(&format!("/api/orbit/shop/runs?{query}")).ends(400).json();
        assert_eq!(answer["error"]["code"], "bad_request", "{query}");
    }
}

#[test]
fn a_run_belongs_to_its_orbit() {
    let folder = Folder::new();
    let sites = serve(vec![plain("shop.test")]);
    let service = Service::start(spec(folder.store()));
    let answer = service.ingest("shop", &json!({"url": page(&sites, "shop.test", "/")}));
    let trace = answer["evidence"]["traceId"].as_str().unwrap();
    for rest in ["", "/evidence", "/tiles", "/events"] {
        service.get(&format!("/api/orbit/shop/runs/{trace}{rest}")).ends(200);
        service.get(&format!("/api/orbit/other/runs/{trace}{rest}")).ends(404);
    }
}

#[test]
fn a_host_shows_its_risk_its_requests_and_its_runs() {
    let folder = Folder::new();
    let sites = serve(vec![plain("shop.test")]);
    let service = Service::start(spec(folder.store()));
    let order = json!({"url": page(&sites, "shop.test", "/")});
    let answer = service.ingest("shop", &order);
    service.ingest("other", &order);
    for name in ["shop.test", "SHOP.test", "shop.test."] {
        let domain = service.get(&format!("/api/domains/{name}")).ends(200).json();
        assert_eq!(domain["hostname"], "shop.test");
        assert_eq!(
            (&domain["risk"]["riskScore"], &domain["risk"]["frictionEvents"]),
            (&json!(0), &json!([]))
        );
        assert!(domain["risk"]["lastFetchAt"].is_string());
        let orbits: Vec<&Value> =
            domain["runs"].as_array().unwrap().iter().map(|run| &run["orbitSlug"]).collect();
        assert_eq!(orbits, ["other", "shop"]);
        assert_eq!(domain["requests"], service.evidence("shop", &answer)["requests"]);
    }
}
