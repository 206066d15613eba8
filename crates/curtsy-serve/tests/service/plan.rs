//! A plan, and the run that follows it.

use serde_json::json;

use crate::place::{Folder, Service, spec};
use crate::sites::{asked, business, serve};

#[test]
fn a_run_after_its_plan_asks_for_the_pages_of_the_plan_and_for_nothing_twice() {
    let folder = Folder::new();
    let sites = serve(vec![business("shop.test")]);
    let service = Service::start(spec(folder.store()));
    let order = json!({"url": format!("http://shop.test:{}/", sites.port()), "mode": "light"});
    let planned = service.post("/api/orbit/shop/plan", &order).json();
    let pages = |of: &serde_json::Value| -> Vec<String> {
        let pages = of.as_array().expect("pages").iter();
        pages.map(|page| page["url"].as_str().expect("a URL").to_owned()).collect()
    };
    for table in ["ingestion_runs", "run_orders", "run_pages", "run_requests", "run_tiles"] {
        let count = format!("SELECT count(*) FROM {table}");
        let rows: i64 = folder.database().query_row(&count, [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 0, "a plan is no run: {table}");
    }
    let before = asked(&sites, "shop.test");
    assert!(before.len() < 5, "only discovery: {before:?}");
    let answer = service.post("/api/orbit/shop/ingest", &order).json();
    let ingest = &answer["evidence"]["nm_ingest"];
    assert_eq!(ingest["outcome"], "success", "{ingest}");
    let run = answer["evidence"]["traceId"].as_str().unwrap();
    let evidence = service.get(&format!("/api/orbit/shop/runs/{run}/evidence")).json();
    assert_eq!(pages(&evidence["plan"]["pages"]), pages(&planned["plan"]["pages"]));
    assert_eq!(evidence["plan"]["sources"], planned["plan"]["sources"]);
    let mut all = asked(&sites, "shop.test");
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count, "nothing was asked for twice: {all:?}");
}
