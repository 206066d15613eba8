//! The synthetic web over real sockets: hosts on loopback that play scripted sites and keep the access log that the judge reads.
//!
//! A [`Scene`] says what stands there: plain data, in Rust or in TOML, played the same way each time but for the times themselves. [`Sites`] are
//! the running servers: each host has an address of its own in 127.0.0.0/8 (or shares one by its name), all on one port, served by one thread
//! that ends when the `Sites` are dropped. Any crawler can be let loose on them.
//!
//! The log has a line for each exchange, with the times of the server's reads and writes, and marks what the server read too late for
//! its own fault or by its script: the judge leaves spacing there out. Nothing here opens a connection.
//!
//! What can't be played: a slow TCP handshake (the kernel shakes hands by itself; a slow TLS handshake can), HTTP/2, lost packets.

mod answer;
mod coding;
mod demo;
mod door;
mod head;
mod line;
mod mixed;
mod page;
mod scene;
mod server;
mod sitemap;
mod stage;
mod tls;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::thread::JoinHandle;

use curtsy_judge::Exchange;
use mio::net::TcpListener;
use mio::{Poll, Token, Waker};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Protocol, Socket, Type};

pub use crate::clock::Stalls;
pub use answer::{Answer, Body, Coding, Ending, Framing, PageParts};
pub use scene::{
    Deaf, Host, Listen, Pages, Range, Scene, SceneError, Sitemap, SitemapKind, Trap, TrapKind,
    Window,
};
pub use server::Health;

use crate::log::Log;
use door::Door;
use server::{Order, Server, WAKER};
use stage::Stage;
use tls::Authority;

/// Sites that are being served; dropping them ends that.
///
/// ```
/// use curtsy_lab::sites::{Scene, Settings, Sites};
/// let sites = Sites::start(Scene::plain(2, 10, 3, 1024), Settings::default()).unwrap();
/// assert!(sites.hosts()[1].url.starts_with("http://h1.test:"));
/// assert!(sites.log().is_empty());
/// ```
pub struct Sites {
    hosts: Vec<Served>,
    port: u16,
    tls_port: u16,
    ca_pem: Option<String>,
    orders: Sender<Order>,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<Ended>>,
}

type Ended = (Vec<Exchange>, Health, io::Result<()>);

/// How to serve.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Also writes the log to this file, as JSON lines.
    pub log: Option<PathBuf>,
    /// Exchanges kept in memory at most; the first are kept.
    pub log_in_memory_max: usize,
    /// Connections at once at most; more are closed as they come.
    pub connections_max: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { log: None, log_in_memory_max: 1 << 20, connections_max: 16_384 }
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
    /// Its home page by its address: any client finds it. Hosts that share an address have only the first's.
    pub url_by_address: String,
}

/// Why sites can't be served.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The description is wrong.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// An address can't be listened on.
    #[error(
        "could not listen on {address}: {source}\nhint: leave `port` out, and any free port is taken"
    )]
    Listen {
        /// The address.
        address: SocketAddrV4,
        /// Why.
        source: io::Error,
    },
    /// The log can't be written.
    #[error("could not write the log `{}`: {source}", path.display())]
    Log {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No certificate.
    #[error("could not make a certificate: {0}")]
    Tls(String),
    /// Something else of the system.
    #[error("could not start to serve: {0}")]
    System(#[from] io::Error),
}

/// What is left when sites have ended.
#[derive(Debug)]
pub struct Left {
    /// The log, in the order of starts.
    pub log: Vec<Exchange>,
    /// How the server fared.
    pub health: Health,
}

impl Sites {
    /// Checks the description, listens, and serves on a thread of its own. The process is allowed more open files if it needs them and may
    /// have them.
    pub fn start(mut scene: Scene, settings: Settings) -> Result<Sites, StartError> {
        scene.check()?;
        allow_open_files(scene.hosts.len() * 2 + settings.connections_max);
        let addresses = scene.addresses();
        let tls = scene.hosts.iter().any(|host| host.listen.tls());
        let authority = tls.then(Authority::new).transpose()?;
        let (doors, port, tls_port) = open_doors(&scene, &addresses, authority.as_ref())?;
        scene.name_ports(port, tls_port);
        let hosts = served(&scene, &addresses, port, tls_port);
        let log =
            Log::new(settings.log_in_memory_max, settings.log.as_deref()).map_err(|source| {
                StartError::Log { path: settings.log.clone().unwrap_or_default(), source }
            })?;
        let seed = scene.seed;
        let stages = scene.hosts.into_iter().enumerate();
        let stages = stages.map(|(n, host)| Stage::new(host, mixed_seed(seed, n))).collect();
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), Token(WAKER))?);
        let (orders, taken) = channel();
        let server = Server::new(poll, taken, doors, stages, log, settings.connections_max)?;
        let thread = std::thread::Builder::new().name("sites".to_owned()).spawn(|| server.run())?;
        let ca_pem = authority.map(|authority| authority.pem);
        Ok(Sites { hosts, port, tls_port, ca_pem, orders, waker, thread: Some(thread) })
    }

    /// The hosts, in the order of their description; one that listens on both ports is there with its plain one.
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

    /// The exchanges that have ended so far, in the order of their starts. What a client has read to its end is in it.
    pub fn log(&self) -> Vec<Exchange> {
        self.ask(Order::Log).unwrap_or_default()
    }

    /// How the server fares.
    pub fn health(&self) -> Health {
        self.ask(Order::Health).unwrap_or_default()
    }

    /// How many requests stand before a gate: their answers are held back ([`Answer::behind`]).
    pub fn at_gate(&self, gate: &str) -> usize {
        self.ask(|tell| Order::AtGate(gate.to_owned(), tell)).unwrap_or_default()
    }

    /// Opens a gate. What was held behind it is sent, and what comes later is not held.
    pub fn open(&self, gate: &str) {
        // A server that has failed holds nobody.
        let _ = self.ask(|tell| Order::Open(gate.to_owned(), tell));
    }

    /// Ends it, breaking off what is under way. The log's file is whole then.
    pub fn stop(mut self) -> Result<Left, io::Error> {
        let (log, health, ended) = self.end().unwrap_or_else(|| {
            (Vec::new(), Health::default(), Err(io::Error::other("the server's thread panicked")))
        });
        ended.map(|()| Left { log, health })
    }

    fn ask<T>(&self, order: impl FnOnce(std::sync::mpsc::SyncSender<T>) -> Order) -> Option<T> {
        let (tell, told) = sync_channel(1);
        self.orders.send(order(tell)).ok()?;
        self.waker.wake().ok()?;
        told.recv().ok()
    }

    fn end(&mut self) -> Option<Ended> {
        let thread = self.thread.take()?;
        // A server that has failed already has nobody to tell.
        let _ = self.orders.send(Order::Stop);
        let _ = self.waker.wake();
        thread.join().ok()
    }
}

impl Drop for Sites {
    fn drop(&mut self) {
        self.end();
    }
}

/// Opens every address on the same port, another one if somebody has it somewhere.
fn open_doors(
    scene: &Scene,
    addresses: &[Ipv4Addr],
    authority: Option<&Authority>,
) -> Result<(Vec<Door>, u16, u16), StartError> {
    let mut plain = BTreeMap::<Ipv4Addr, Vec<usize>>::new();
    let mut tls = plain.clone();
    for (index, (host, address)) in scene.hosts.iter().zip(addresses).enumerate() {
        if host.listen.plain() {
            plain.entry(*address).or_default().push(index);
        }
        if host.listen.tls() {
            tls.entry(*address).or_default().push(index);
        }
    }
    let (mut doors, port) = on_one_port(scene.port, plain)?;
    let (mut secure, tls_port) = on_one_port(scene.tls_port, tls)?;
    if let Some(authority) = authority {
        for door in &mut secure {
            let names = door.residents.iter().map(|&n| scene.hosts[n].name.clone());
            door.tls = Some(authority.server(&names.collect::<Vec<_>>(), door.address)?);
        }
    }
    doors.extend(secure);
    Ok((doors, port, tls_port))
}

fn on_one_port(
    wanted: u16,
    residents: BTreeMap<Ipv4Addr, Vec<usize>>,
) -> Result<(Vec<Door>, u16), StartError> {
    if residents.is_empty() {
        return Ok((Vec::new(), 0));
    }
    let mut tries = 0;
    loop {
        tries += 1;
        let mut port = wanted;
        let mut doors = Vec::with_capacity(residents.len());
        let mut failed = None;
        for (&address, residents) in &residents {
            match listen(address, port) {
                Ok(listener) => {
                    port = listener.local_addr()?.port();
                    let (listener, residents) = (Some(listener), residents.clone());
                    doors.push(Door { address, port, tls: None, listener, residents });
                }
                Err(source) => {
                    failed = Some((SocketAddrV4::new(address, port), source));
                    break;
                }
            }
        }
        match failed {
            None => return Ok((doors, port)),
            Some((_, source))
                if wanted == 0 && source.kind() == io::ErrorKind::AddrInUse && tries < TRIES => {}
            Some((address, source)) => return Err(StartError::Listen { address, source }),
        }
    }
}

/// Raises the soft limit of open files as far as the hard one lets it.
pub(crate) fn allow_open_files(sockets: usize) {
    let limit = getrlimit(Resource::Nofile);
    let wanted = sockets as u64 + OTHER_FILES;
    let allowed = limit.maximum.map_or(wanted, |most| most.min(wanted));
    if limit.current.is_some_and(|now| now < allowed) {
        // With fewer, connections wait at the door until others have left.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(allowed), ..limit });
    }
}

/// Listens with the longest queue that the system gives: connections come in bursts.
pub(crate) fn listen(address: Ipv4Addr, port: u16) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SocketAddrV4::new(address, port).into())?;
    socket.listen(BACKLOG)?;
    Ok(TcpListener::from_std(socket.into()))
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

/// What the rest of the process may have open.
const OTHER_FILES: u64 = 1_024;
const TRIES: u32 = 20;
const BACKLOG: i32 = 4096;
