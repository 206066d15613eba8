//! Runs against simulated sites: what the checks look at.
//!
//! Three hosts on loopback: a normal one, one behind a bot wall, and one that refuses every page.
//! The runs use [`Runs`] with the service's policy and a temporary database.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;

use curtsy_judge::Exchange;
use curtsy_lab::sites::{Answer as Said, Host, Scene, Sitemap, Sites, SitesSettings};
use curtsy_store::LedgerPlace;

use crate::ServeSpec;
use crate::db::ServiceDatabase;
use crate::ingest::{IngestOrder, RunAnswer, Runs};
use crate::orbit::Slug;
use crate::secret::new_name;

/// The simulated sites.
pub(super) const WELL: &str = "well.check.test";
pub(super) const WALLED: &str = "walled.check.test";
pub(super) const GRUMPY: &str = "grumpy.check.test";

/// The orbit of the trial's runs.
const ORBIT: &str = "health-check";

/// A trial.
pub(super) struct HealthTrial {
    pub(super) database: ServiceDatabase,
    runs: Runs,
    sites: Sites,
    folder: PathBuf,
}

impl HealthTrial {
    /// Starts the sites and opens a database.
    pub(super) fn start(spec: &ServeSpec) -> Result<HealthTrial, String> {
        let sites =
            Sites::start(scene(spec), SitesSettings::default()).map_err(|e| e.to_string())?;
        let folder = std::env::temp_dir().join(format!("curtsy-check-{}", new_name()));
        std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        let mut spec =
            ServeSpec { store: LedgerPlace::File(folder.join("check.db")), ..spec.clone() };
        // The trial goes to this machine and nowhere else.
        spec.way = curtsy_crawl::RouteChoices::default();
        spec.way.allow_net = vec!["127.0.0.0/8".parse().expect("a network")];
        spec.way.pins = vec!["*.test=127.0.0.1".parse().expect("a pin")];
        let database = crate::app::open(&spec).map_err(|e| e.to_string())?;
        let runs = Runs::new(Arc::new(spec), database.clone());
        Ok(HealthTrial { database, runs, sites, folder })
    }

    /// Carries out a run on one of the sites.
    pub(super) fn run(&self, host: &str, mode: &str) -> Result<RunAnswer, String> {
        let url = format!("http://{host}:{}/", self.sites.port());
        let slug = Slug::parse(ORBIT).expect("a slug");
        let order = IngestOrder::read(slug, &url, mode, &[]).map_err(|e| e.to_string())?;
        let (_, ended) = self.runs.start(order).map_err(|e| e.to_string())?;
        match ended.blocking_recv() {
            Ok(answer) => answer.map_err(|e| e.to_string()),
            Err(_) => Err("the run ended without a word".to_owned()),
        }
    }

    /// What a site has seen, in the order in which it came.
    pub(super) fn log(&self, host: &str) -> Vec<Exchange> {
        let mut log: Vec<Exchange> = self.sites.log();
        log.retain(|exchange| exchange.host.split(':').next() == Some(host));
        log.sort_by_key(|exchange| exchange.start);
        log
    }
}

impl Drop for HealthTrial {
    fn drop(&mut self) {
        // A folder of ours; if it can't be removed, the system does it some day.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn scene(spec: &ServeSpec) -> Scene {
    let sitemap = Sitemap {
        path: "/sitemap.xml".to_owned(),
        locs: ["/about", "/services", "/contact", "/private/plans"].map(str::to_owned).to_vec(),
        ..Sitemap::default()
    };
    // The rules for everybody allow what those for us forbid.
    let product = spec.settled.policy.product_token();
    let robots = format!("User-agent: *\nAllow: /\n\nUser-agent: {product}\nDisallow: /private/\n");
    let well = Host::named(WELL)
        .robots(&robots)
        .sitemap(sitemap)
        .says(Said::page("/about", "About us", "", &[]))
        .says(Said::page("/services", "Services", "", &[]))
        .says(Said::page("/contact", "Contact", "", &[]))
        .says(Said::page("/private/plans", "Plans", "", &[]))
        .says(Said::page("/faq", "Questions", "", &[]));
    let walled = Host::named(WALLED)
        .robots("User-agent: *\nAllow: /\n")
        .says(Said::wall("/"))
        .says(Said::wall("/about"));
    let links = ["/about", "/services", "/contact", "/pricing", "/menu", "/faq"];
    let mut grumpy = Host::named(GRUMPY).robots("User-agent: *\nAllow: /\n");
    for link in links {
        grumpy = grumpy.says(Said::to(link).status(403));
    }
    let hosts = [well, walled, grumpy].map(|host| host.at(Ipv4Addr::LOCALHOST));
    Scene { seed: 7, hosts: hosts.to_vec(), ..Scene::default() }
}
