//! Sites that don't want to be crawled: a run of `survey` stops early and says so.

use curtsy_lab::sites::Scene;

use crate::harness::{Town, number, texts};

#[test]
fn three_refusals_in_a_row_end_a_survey_of_that_host() {
    let scene = r#"
[[host]]
pages = { count = 1 }
[[host.answer]]
path = "/private/*"
status = 403
[[host]]
pages = { count = 3, links = 3 }
"#;
    let mut town = Town::new(Scene::read(scene).unwrap());
    let mut seeds: Vec<String> =
        ('a'..='g').map(|name| town.url(0, &format!("/private/{name}"))).collect();
    let survey = |town: &Town, seeds: &[String], into: &str, code| -> serde_json::Value {
        let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
        let way = ["--policy", "survey", "--no-sitemaps", "--json", "--into", into];
        serde_json::from_str(&town.crawl(&[&seeds[..], &way].concat()).ends(code).out).unwrap()
    };
    let report = survey(&town, &seeds, "blocked.db", 4);
    let evidence = &report["evidence"]["nm_ingest"];
    assert_eq!(evidence["outcome"], "blocked", "{report:#}");
    assert_eq!(evidence["pagesUsed"], 0);
    let signals = evidence["frictionSignals"].as_array().unwrap();
    assert_eq!(signals.len(), 3, "{signals:?}");
    assert!(signals.iter().all(|s| s.as_str().unwrap().starts_with("403:127.")), "{signals:?}");
    let db = town.db("blocked.db");
    assert_eq!(number(&db, "SELECT count(*) FROM pages WHERE http_status = 403"), 3);
    assert_eq!(number(&db, "SELECT count(*) FROM pages WHERE decision = 'refused'"), 4);
    assert_eq!(texts(&db, "SELECT DISTINCT gate FROM pages WHERE decision = 'refused'"), ["risk"]);
    let refused = texts(&db, "SELECT url FROM pages WHERE decision = 'refused'");
    let why = town.run(&["why", &refused[0], "--in", "blocked.db"]).ends(0);
    assert!(why.out.contains("3"), "{}", why.out);

    // Its neighbour is not to blame.
    seeds.push(town.url(1, "/"));
    let report = survey(&town, &seeds, "partial.db", 0);
    assert_eq!(report["evidence"]["nm_ingest"]["outcome"], "partial", "{report:#}");
    let log = town.close();
    let asked = log.iter().filter(|x| x.target.starts_with("/private/")).count();
    // A new run is a new chance for a host whose risk is not critical: three more.
    assert!((3..=6).contains(&asked), "{asked}");
}
