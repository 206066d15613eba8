//! The service over Postgres: what it keeps comes back the same as from SQLite.

use curtsy_store::LedgerPlace;
use curtsy_testkit::services::Postgres;
use serde_json::json;

use crate::place::{Service, spec};
use crate::sites::{asked, business, serve};

#[test]
fn a_service_over_postgres_does_all_that_one_over_sqlite_does() {
    let server = Postgres::start();
    let store = || LedgerPlace::Postgres(server.url("service"));
    server.run_sql("postgres", "CREATE DATABASE service");
    let sites = serve(vec![business("shop.test")]);
    let mut service = Service::start(spec(store()));
    let order = json!({"url": format!("http://shop.test:{}/", sites.port()), "mode": "light"});

    let planned = service.post("/api/orbit/shop/plan", &order);
    assert_eq!(planned.status, 200, "{}", planned.body);
    let answer = service.post("/api/orbit/shop/ingest", &order);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let first = answer.json();
    assert_eq!(first["evidence"]["nm_ingest"]["outcome"], "success", "{first}");
    let count = asked(&sites, "shop.test").len();

    // Another process on the same database.
    service.end();
    let service = Service::start(spec(store()));
    let again = service.post("/api/orbit/shop/ingest", &order).json();
    let ingest = &again["evidence"]["nm_ingest"];
    assert_eq!(ingest["cacheHits"], ingest["pagesPlanned"], "{ingest}");
    assert_eq!(asked(&sites, "shop.test").len(), count, "everything was in the cache");

    let run = first["evidence"]["traceId"].as_str().unwrap();
    let kept = service.get(&format!("/api/orbit/shop/runs/{run}")).json();
    assert_eq!(kept["run"]["evidence"], first["evidence"]);
    let tiles = service.get(&format!("/api/orbit/shop/runs/{run}/tiles")).json();
    assert_eq!(tiles["tiles"], first["tiles"]);
    let evidence = service.get(&format!("/api/orbit/shop/runs/{run}/evidence")).json();
    assert!(!evidence["requests"].as_array().unwrap().is_empty(), "{evidence}");
    let runs = service.get("/api/orbit/shop/runs?limit=1").json();
    assert_eq!(runs["runs"].as_array().unwrap().len(), 1, "{runs}");
    assert_eq!(service.get("/api/domains/shop.test").status, 200);
    for page in [
        "/",
        "/orbit/shop/import",
        "/orbit/shop/import?tab=history",
        "/domains/shop.test",
        "/admin/orbits/health",
    ] {
        assert_eq!(service.get(page).status, 200, "{page}");
    }
    assert_eq!(service.get(&format!("/orbit/shop/runs/{run}")).status, 200);
}
