//! The routes that a user chose: networks, names, a proxy, certificates.

use std::net::IpAddr;
use std::path::Path;

use curtsy_core::policy::{Policy, Reach, Variables};
use curtsy_core::url::{CrawlUrl, HostKey};
use curtsy_fetch::{FetchSettings, HttpProxy, IpNet, NamePin, NamedHost, Proxies};

use crate::{SpecError, printable, without_login};

/// The user's choices besides the policy.
#[derive(Clone, Debug, Default)]
pub struct RouteChoices {
    /// Networks that may be dialled although they are not public.
    pub allow_net: Vec<IpNet>,
    /// Hosts of this machine that the user wrote. Hosts that only a list, a table or a site names
    /// are not among them.
    pub named: Vec<NamedHost>,
    /// Addresses for names.
    pub pins: Vec<NamePin>,
    /// Which requests go through which proxy.
    pub proxies: Proxies,
    /// Further certificate authorities, in PEM.
    pub ca_pem: Vec<u8>,
}

impl RouteChoices {
    /// Reads the address of a proxy. The message does not show its password.
    pub fn through(&mut self, proxy: &str) -> Result<(), SpecError> {
        let read = proxy.parse::<HttpProxy>();
        let read = read.map_err(|why| SpecError::Proxy { text: without_login(proxy), why })?;
        self.proxies = Proxies::all(read);
        Ok(())
    }

    /// Reads the proxies of the environment (`http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`).
    pub fn through_environment(&mut self, variables: &Variables) -> Result<(), SpecError> {
        let value = |name: &str| variables.get(name).map(String::as_str);
        let read = Proxies::of_environment(value);
        let read = read.map_err(|(name, why)| SpecError::Proxy { text: name.to_owned(), why })?;
        self.proxies = read.sparing(&self.pins);
        Ok(())
    }

    /// Permits requests to a host of this machine, at the port of a URL that the user wrote. For
    /// any other URL this does nothing.
    pub fn name(&mut self, url: &CrawlUrl) {
        let own = NamedHost { host: url.host().clone(), port: url.port() };
        if own.host.names_this_machine() && !self.named.contains(&own) {
            self.named.push(own);
        }
    }

    /// Returns whether these seeds lead to an allowed network, to this machine, or to strangers.
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

    /// Returns the settings for policy and user.
    pub fn settings(&self, policy: &Policy) -> FetchSettings {
        let mut settings = FetchSettings::of(policy);
        settings.allow_net = self.allow_net.clone();
        settings.named = self.named.clone();
        settings.pins = self.pins.clone();
        settings.proxies = self.proxies.clone();
        settings.ca_pem = self.ca_pem.clone();
        settings
    }

    /// Whether every seed is on this machine: by its address, as `localhost`, or by a name that is
    /// pinned to a loopback address.
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

/// Reads a network as people write it: `10.0.0.0/8`, or one address.
///
/// ```
/// use curtsy_crawl::network;
/// assert_eq!(network("127.0.0.1").unwrap().to_string(), "127.0.0.1/32");
/// assert!(network("10.0.0.1/8").unwrap_err().to_string().contains("did you mean `10.0.0.0/8`"));
/// ```
pub fn network(text: &str) -> Result<IpNet, SpecError> {
    let wrong = |why: String, hint: String| SpecError::Network { text: printable(text), why, hint };
    let (address, prefix) = match text.trim().split_once('/') {
        Some((address, prefix)) => (address, Some(prefix)),
        None => (text.trim(), None),
    };
    let bare = address.trim_start_matches('[').trim_end_matches(']');
    let Ok(ip) = bare.parse::<IpAddr>() else {
        let is_name = prefix.is_none() && HostKey::parse(address).is_ok();
        return Err(match is_name {
            true => wrong(
                "is a name, and a network has addresses".to_owned(),
                "this machine is `127.0.0.0/8` and `::1/128`; a name gets an address with `--resolve name=10.0.0.1`".to_owned(),
            ),
            false => wrong(
                "does not begin with an address".to_owned(),
                "write `10.0.0.0/8`, `192.168.1.0/24` or `fd00::/8`".to_owned(),
            ),
        });
    };
    let longest = if ip.is_ipv4() { 32 } else { 128 };
    let length = match prefix {
        None => longest,
        Some(text) => match text.parse::<u8>() {
            Ok(length) if length <= longest && !text.starts_with('+') => length,
            _ => {
                let family = if ip.is_ipv4() { "IPv4" } else { "IPv6" };
                return Err(wrong(
                    format!(
                        "has the prefix `/{}`, and one of {family} is from `/0` to `/{longest}`",
                        printable(text)
                    ),
                    format!("`{ip}/{longest}` is this address alone"),
                ));
            }
        },
    };
    let net = IpNet::new(ip, length).map_err(|e| wrong(e.to_string(), String::new()))?;
    match net.addr() == net.network() {
        true => Ok(net),
        false => Err(wrong(
            format!(
                "is an address inside a network, not a network: its last {} bits are not zero",
                longest - length
            ),
            format!("did you mean `{}`, or `{ip}/{longest}` for this address alone?", net.trunc()),
        )),
    }
}
