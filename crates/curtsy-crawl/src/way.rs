//! The way out that a user chose: networks, names, a proxy, certificates.

use std::net::IpAddr;
use std::path::Path;

use curtsy_core::policy::{Policy, Reach};
use curtsy_core::url::CrawlUrl;
use curtsy_fetch::{IpNet, NamePin, OwnHost, Proxy, Settings};

use crate::{SpecError, without_login};

/// What a user chose besides the policy.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// Networks that may be dialled although they are not public.
    pub allow_net: Vec<IpNet>,
    /// Hosts of this machine that the user named. What a list, a table or a stranger names is not among them.
    pub named: Vec<OwnHost>,
    /// Addresses for names.
    pub pins: Vec<NamePin>,
    /// A proxy for everything.
    pub proxy: Option<Proxy>,
    /// Further certificate authorities, in PEM.
    pub ca_pem: Vec<u8>,
}

impl Way {
    /// Reads the address of a proxy. The message does not show its password.
    pub fn through(&mut self, proxy: &str) -> Result<(), SpecError> {
        let read = proxy.parse::<Proxy>();
        let read = read.map_err(|why| SpecError::Proxy { text: without_login(proxy), why })?;
        self.proxy = Some(read);
        Ok(())
    }

    /// Opens a host of this machine at the port of a URL that the user wrote, and nothing else. Every other URL opens nothing.
    pub fn name(&mut self, url: &CrawlUrl) {
        let own = OwnHost { host: url.host().clone(), port: url.port() };
        if own.host.names_this_machine() && !self.named.contains(&own) {
            self.named.push(own);
        }
    }

    /// Where these seeds lead: a network that was allowed, this machine, or strangers.
    pub fn reach(&self, seeds: &[CrawlUrl]) -> Reach {
        match self.allow_net.is_empty() && !self.stays_here(seeds) {
            true => Reach::Public,
            false => Reach::AllowedNet,
        }
    }

    /// Whether every seed is a host of this machine that the user named.
    pub(crate) fn stays_here(&self, seeds: &[CrawlUrl]) -> bool {
        let named = |seed: &CrawlUrl| {
            self.named.iter().any(|own| own.port == seed.port() && own.host == *seed.host())
        };
        !seeds.is_empty() && seeds.iter().all(named)
    }

    /// Reads further certificate authorities.
    pub fn trust(&mut self, file: &Path) -> Result<(), SpecError> {
        self.ca_pem = std::fs::read(file)
            .map_err(|source| SpecError::CaFile { path: file.to_owned(), source })?;
        Ok(())
    }

    /// The way out, as policy and user have it.
    pub fn settings(&self, policy: &Policy) -> Settings {
        let mut settings = Settings::of(policy);
        settings.allow_net = self.allow_net.clone();
        settings.named = self.named.clone();
        settings.pins = self.pins.clone();
        settings.proxy = self.proxy.clone();
        settings.ca_pem = self.ca_pem.clone();
        settings
    }

    /// Whether every seed lies on this machine: by its address, as `localhost`, or by a name that is pinned to such an address.
    pub(crate) fn is_local(&self, seeds: &[CrawlUrl]) -> bool {
        seeds.iter().all(|seed| {
            let host = seed.host();
            let pinned = self.pins.iter().find(|pin| pin.fits(host.as_str()));
            match pinned {
                Some(pin) => pin.addresses.iter().all(IpAddr::is_loopback),
                None => host.names_this_machine(),
            }
        })
    }
}
