//! What a fleet's worker reads in a page: whether it is one, and, if links are followed, where it leads.

use curtsy_core::host::{Friction, Kind};
use curtsy_core::policy::Policy;
use curtsy_core::time::Time;
use curtsy_engine::discover::{Discovery, DiscoveryError, DiscoverySpec};
use curtsy_engine::{Document, Fetched, Head, Reader, UrlRecord};

/// Reads pages for consumers who read them themselves.
pub(super) struct FleetReader {
    discovery: Discovery,
    follow: bool,
}

impl FleetReader {
    pub(super) fn new(policy: &Policy, follow: bool) -> Result<FleetReader, DiscoveryError> {
        let discovery = Discovery::new(DiscoverySpec {
            follow_links: follow,
            follow_sitemaps: false,
            product: policy.product_token().to_owned(),
            ..DiscoverySpec::default()
        })?;
        Ok(FleetReader { discovery, follow })
    }
}

impl Reader for FleetReader {
    fn read(&self, record: &UrlRecord, head: &Head, page: &Fetched, now: Time) -> Document {
        if !self.follow {
            // Nobody asks what is in it: its consumers read it.
            return Document::default();
        }
        if record.depth == 0 {
            self.discovery.admit_root(&record.url);
        }
        self.discovery.read(record, head, page, now)
    }

    fn friction(&self, kind: Kind, head: &Head, page: &Fetched) -> Option<Friction> {
        self.discovery.friction(kind, head, page)
    }
}
