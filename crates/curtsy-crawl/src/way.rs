//! The way out that a user chose: networks, names, a proxy, certificates.

use std::net::IpAddr;
use std::path::Path;

use curtsy_core::policy::Policy;
use curtsy_core::url::{CrawlUrl, HostKey};
use curtsy_fetch::{IpNet, NamePin, Proxy, Settings};

use crate::{SpecError, without_login};

/// What a user chose besides the policy.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// Networks that may be dialled although they are not public.
    pub allow_net: Vec<IpNet>,
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
        settings.pins = self.pins.clone();
        settings.proxy = self.proxy.clone();
        settings.ca_pem = self.ca_pem.clone();
        settings
    }

    /// Whether every seed lies on this machine, by its address or by a name that is pinned to one.
    pub(crate) fn is_local(&self, seeds: &[CrawlUrl]) -> bool {
        seeds.iter().all(|seed| {
            let host = seed.host();
            let pinned = self.pins.iter().find(|pin| pin.fits(host.as_str()));
            match (pinned, address(host)) {
                (Some(pin), _) => pin.addresses.iter().all(IpAddr::is_loopback),
                (None, Some(address)) => address.is_loopback(),
                (None, None) => false,
            }
        })
    }
}

fn address(host: &HostKey) -> Option<IpAddr> {
    host.as_str().trim_start_matches('[').trim_end_matches(']').parse().ok()
}
