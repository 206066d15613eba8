//! The synthetic web over real sockets: hosts on loopback that play scripted sites and keep the
//! access log that the judge reads.
//!
//! A [`Scene`] says what stands there: plain data, in Rust or in TOML, played the same way each
//! time but for the times themselves. [`Sites`] are the running servers: each host has an address
//! of its own in 127.0.0.0/8 (or shares one by its name), all on one port, served by one thread
//! that ends when the `Sites` are dropped. Any crawler can be let loose on them.
//!
//! The log has a line for each exchange, with the times of the server's reads and writes, and a line
//! for each connection that was accepted or closed. It marks what the server read too late for its
//! own fault or by its script: the judge leaves spacing there out. Nothing here opens a connection.
//!
//! What can't be played: a slow TCP handshake (the kernel shakes hands by itself; a slow TLS
//! handshake can), HTTP/2, lost packets.

mod answer;
mod coding;
mod connection;
mod head;
mod page;
mod scene;
mod scenes;
mod server;
mod sitemap;
mod stage;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;

use curtsy_judge::{ConnectionEvent, Exchange};

pub use crate::clock::Stalls;
pub use answer::{Answer, Body, Coding, Ending, Framing, PageParts};
pub use scene::{
    Deaf, Host, Listen, Pages, Range, Scene, SceneError, Sitemap, SitemapKind, Trap, TrapKind,
    Window,
};
pub use server::SitesHealth;

use crate::StartError;
use crate::certificate::{CertificateFault, TestAuthority};
use crate::event_loop::{
    ListeningPort, RunningServer, Serve, allow_open_files, listen_on_one_port, open_log,
};
use server::SiteServer;
use stage::HostStage;

/// Sites that are being served; dropping them ends that.
///
/// ```
/// use curtsy_lab::sites::{Scene, SitesSettings, Sites};
/// let sites = Sites::start(Scene::plain(2, 10, 3, 1024), SitesSettings::default()).unwrap();
/// assert!(sites.hosts()[1].url.starts_with("http://h1.test:"));
/// assert!(sites.log().is_empty());
/// ```
pub struct Sites {
    hosts: Vec<Served>,
    port: u16,
    tls_port: u16,
    ca_pem: Option<String>,
    running: RunningServer<SiteServer>,
}

/// How to serve.
#[derive(Clone, Debug)]
pub struct SitesSettings {
    /// Also writes the log to this file, as JSON lines.
    pub log: Option<PathBuf>,
    /// Exchanges kept in memory at most; the first are kept.
    pub log_in_memory_max: usize,
    /// Connections at once at most; more are closed as they come.
    pub connections_max: usize,
}

impl Default for SitesSettings {
    fn default() -> SitesSettings {
        SitesSettings { log: None, log_in_memory_max: 1 << 20, connections_max: 16_384 }
    }
}

/// A host that is being served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// Its name, or its address if it has none.
    pub name: String,
    /// Where it listens.
    pub address: SocketAddrV4,
    /// Its home page by its name: the client must be told the address.
    pub url: String,
    /// Its home page by its address: any client finds it. Hosts that share an address have only the
    /// first's.
    pub url_by_address: String,
}

/// What is left when sites have ended.
#[derive(Debug)]
pub struct SitesLeft {
    /// The log, in the order of starts.
    pub log: Vec<Exchange>,
    /// The connections of the log: accepted and closed, as it happened.
    pub connections: Vec<ConnectionEvent>,
    /// How the server fared.
    pub health: SitesHealth,
}

impl Sites {
    /// Checks the description, listens, and serves on a thread of its own. The process is allowed
    /// more open files if it needs them and may have them.
    pub fn start(mut scene: Scene, settings: SitesSettings) -> Result<Sites, StartError> {
        scene.check()?;
        allow_open_files(scene.hosts.len() * 2 + settings.connections_max);
        let addresses = scene.addresses();
        let tls = scene.hosts.iter().any(|host| host.listen.tls());
        let authority = tls.then(|| TestAuthority::new("curtsy site, for tests")).transpose()?;
        let (plain, secure) =
            (scene.residents(&addresses, Listen::plain), scene.residents(&addresses, Listen::tls));
        let mut listeners = listen_on(scene.port, &plain)?;
        let mut secure_listeners = listen_on(scene.tls_port, &secure)?;
        let port_of =
            |listeners: &[ListeningPort]| listeners.first().map_or(0, |it| it.address.port());
        let (port, tls_port) = (port_of(&listeners), port_of(&secure_listeners));
        if let Some(authority) = &authority {
            for (listener, residents) in secure_listeners.iter_mut().zip(secure.values()) {
                // One certificate for all hosts of an address, by their names and by the address.
                let names = residents.iter().map(|&n| scene.hosts[n].name.clone());
                let mut names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
                names.push(listener.address.ip().to_string());
                listener.tls =
                    Some(authority.server(names, CertificateFault::None, b"http/1.1")?);
            }
        }
        listeners.extend(secure_listeners);
        scene.name_ports(port, tls_port);
        let hosts = served(&scene, &addresses, port, tls_port);
        let log = open_log(settings.log_in_memory_max, settings.log.as_deref())?;
        let seed = scene.seed;
        let stages = scene.hosts.into_iter().enumerate();
        let stages = stages.map(|(n, host)| HostStage::new(host, mixed_seed(seed, n))).collect();
        let server = SiteServer::new(stages, plain.into_iter().chain(secure).collect());
        let running =
            RunningServer::start("sites", server, listeners, log, settings.connections_max)?;
        let ca_pem = authority.map(|authority| authority.pem);
        Ok(Sites { hosts, port, tls_port, ca_pem, running })
    }

    /// The hosts, in the order of their description; one that listens on both ports is there with
    /// its plain one.
    pub fn hosts(&self) -> &[Served] {
        &self.hosts
    }

    /// The port of the plain hosts; 0 if there is none.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port of the hosts that speak TLS; 0 if there is none.
    pub fn tls_port(&self) -> u16 {
        self.tls_port
    }

    /// The certificate of the authority that signed the hosts' certificates, if any speaks TLS.
    pub fn ca_pem(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }

    /// The exchanges that have ended so far, in the order of their starts. What a client has read
    /// to its end is in it.
    pub fn log(&self) -> Vec<Exchange> {
        self.running.ask(|server| server.log.so_far()).unwrap_or_default()
    }

    /// The connections that were accepted and closed so far.
    pub fn connections(&self) -> Vec<ConnectionEvent> {
        self.running.ask(|server| server.log.connections()).unwrap_or_default()
    }

    /// How the server fares.
    pub fn health(&self) -> SitesHealth {
        self.running.ask(|server| SiteServer::summary(server)).unwrap_or_default()
    }

    /// How many requests wait at a gate: their answers are held back ([`Answer::behind`]).
    pub fn at_gate(&self, gate: &str) -> usize {
        let gate = gate.to_owned();
        self.running.ask(move |server| server.at_gate(&gate).len()).unwrap_or_default()
    }

    /// Opens a gate. What was held behind it is sent, and what comes later is not held.
    pub fn open(&self, gate: &str) {
        let gate = gate.to_owned();
        // A server that has failed holds nothing.
        let _ = self.running.ask(move |server| server.open_gate(gate));
    }

    /// Stops the server; what is under way is cut off. The log's file is complete afterwards.
    pub fn stop(mut self) -> Result<SitesLeft, io::Error> {
        let panicked = || io::Error::other("the server's thread panicked");
        let left = self.running.stop().ok_or_else(panicked)?;
        let (log, connections, health) = (left.exchanges, left.connections, left.summary);
        left.ended.map(|()| SitesLeft { log, connections, health })
    }
}

impl Scene {
    /// The hosts at each address, of those that listen in this way.
    fn residents(
        &self,
        addresses: &[Ipv4Addr],
        listens: impl Fn(Listen) -> bool,
    ) -> BTreeMap<Ipv4Addr, Vec<usize>> {
        let mut residents = BTreeMap::<Ipv4Addr, Vec<usize>>::new();
        for (index, (host, address)) in self.hosts.iter().zip(addresses).enumerate() {
            if listens(host.listen) {
                residents.entry(*address).or_default().push(index);
            }
        }
        residents
    }
}

fn listen_on(
    port: u16,
    residents: &BTreeMap<Ipv4Addr, Vec<usize>>,
) -> Result<Vec<ListeningPort>, StartError> {
    listen_on_one_port(port, &residents.keys().copied().collect::<Vec<_>>())
}

fn served(scene: &Scene, addresses: &[Ipv4Addr], port: u16, tls_port: u16) -> Vec<Served> {
    let each = scene.hosts.iter().zip(addresses).map(|(host, &ip)| {
        let (scheme, port) = if host.listen.plain() { ("http", port) } else { ("https", tls_port) };
        let address = SocketAddrV4::new(ip, port);
        let name = if host.name.is_empty() { ip.to_string() } else { host.name.clone() };
        let url = format!("{scheme}://{name}:{port}/");
        Served { name, address, url, url_by_address: format!("{scheme}://{address}/") }
    });
    each.collect()
}

/// Hosts of one scene have seeds of their own.
fn mixed_seed(seed: u64, host: usize) -> u64 {
    curtsy_sim::Chance::new(seed ^ (host as u64) << 20).draw()
}
