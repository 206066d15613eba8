//! The zoo: hosts that misbehave, each in one way of its own, for any crawler that wants to know whether it survives them.
//!
//! A [`Case`] is a name, what its server does, and what a polite crawler makes of it; [`cases`] is the table of all of them. [`Zoo`] serves them on
//! raw sockets: every host has an address of its own in 127.66.0.0/16 and a good robots.txt, unless its case is about that. What is asked for is each
//! host's home page.
//!
//! It listens on loopback only, opens no connection, and everything that it sends has an end: a gibibyte or two minutes for each answer.

mod bomb;
mod case;
mod cases;
mod certificate;
mod frames;
mod hpack;
mod http;
mod line;
mod script;
mod server;

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::thread::JoinHandle;

use mio::net::TcpListener;
use mio::{Poll, Token, Waker};

pub use case::{Case, Deadline, Expect, Group};
pub use cases::cases;
pub use server::{Connection, Seen};

use case::Speaks;
use certificate::{Authorities, Certificate};
use server::{Den, Order, Server, WAKER};

use crate::log::Log;
use crate::sites::{StartError, allow_open_files, listen};

/// A zoo that is open; dropping it closes it.
///
/// ```
/// use curtsy_lab::zoo::{Zoo, Settings, cases};
/// let zoo = Zoo::open(cases(), Settings::default()).unwrap();
/// assert!(zoo.hosts()[0].url.starts_with("http://127.66."));
/// ```
pub struct Zoo {
    hosts: Vec<Host>,
    ca_pem: String,
    orders: Sender<Order>,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<io::Result<Seen>>>,
}

/// How to serve.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Also writes the access log to this file, as JSON lines.
    pub log: Option<PathBuf>,
    /// The port of the plain hosts; 0 is any free one.
    pub port: u16,
    /// The port of those that speak TLS; 0 is any free one.
    pub tls_port: u16,
}

/// A case with its host.
#[derive(Clone, Debug)]
pub struct Host {
    /// The case.
    pub case: Case,
    /// Where it listens.
    pub address: SocketAddrV4,
    /// What to crawl.
    pub url: String,
}

impl Zoo {
    /// Listens, and serves on a thread of its own.
    pub fn open(cases: Vec<Case>, settings: Settings) -> Result<Zoo, StartError> {
        allow_open_files(cases.len() * 8);
        let authorities = Authorities::new()?;
        let (dens, elsewhere) = dens(cases, &settings, &authorities)?;
        let hosts = dens.iter().map(Den::host).collect();
        let log = Log::new(LOG_IN_MEMORY_MAX, settings.log.as_deref()).map_err(|source| {
            StartError::Log { path: settings.log.clone().unwrap_or_default(), source }
        })?;
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), Token(WAKER))?);
        let (orders, taken) = channel();
        let server = Server::new(poll, taken, dens, elsewhere, log)?;
        let thread = std::thread::Builder::new().name("zoo".to_owned()).spawn(|| server.run())?;
        Ok(Zoo { hosts, ca_pem: authorities.pem, orders, waker, thread: Some(thread) })
    }

    /// The cases with their hosts, in the order in which they were given.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The certificate of the authority that vouches for those hosts whose certificates are good.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// What it has seen so far.
    pub fn look(&self) -> Seen {
        let (tell, told) = sync_channel(1);
        let asked = self.orders.send(Order::Look(tell)).is_ok() && self.waker.wake().is_ok();
        asked.then(|| told.recv().ok()).flatten().unwrap_or_default()
    }

    /// Closes it, breaking off what is under way. The log's file is whole then.
    pub fn close(mut self) -> io::Result<Seen> {
        self.end().unwrap_or_else(|| Err(io::Error::other("the zoo's thread panicked")))
    }

    fn end(&mut self) -> Option<io::Result<Seen>> {
        let thread = self.thread.take()?;
        // A server that has failed already has nobody to tell.
        let _ = self.orders.send(Order::Stop);
        let _ = self.waker.wake();
        thread.join().ok()
    }
}

impl Drop for Zoo {
    fn drop(&mut self) {
        self.end();
    }
}

impl Den {
    fn host(&self) -> Host {
        let scheme = if self.case.speaks.tls() { "https" } else { "http" };
        let url = format!("{scheme}://{}/", self.address);
        Host { case: self.case.clone(), address: self.address, url }
    }
}

/// Opens every host on the port of its kind, and says where one is that behaves.
fn dens(
    cases: Vec<Case>,
    settings: &Settings,
    authorities: &Authorities,
) -> Result<(Vec<Den>, String), StartError> {
    let mut tries = 0;
    loop {
        tries += 1;
        match try_dens(&cases, settings, authorities) {
            Err(StartError::Listen { source, .. })
                if source.kind() == io::ErrorKind::AddrInUse && tries < TRIES => {}
            other => return other,
        }
    }
}

fn try_dens(
    cases: &[Case],
    settings: &Settings,
    authorities: &Authorities,
) -> Result<(Vec<Den>, String), StartError> {
    let (mut port, mut tls_port) = (settings.port, settings.tls_port);
    let mut dens = Vec::with_capacity(cases.len());
    for (index, case) in cases.iter().enumerate() {
        let ip = address(index);
        let port = if case.speaks.tls() { &mut tls_port } else { &mut port };
        let listener = open(ip, *port)?;
        *port = listener.local_addr()?.port();
        let tls = match case.speaks {
            Speaks::Plain | Speaks::Raw => None,
            Speaks::Tls(fault) => Some(authorities.server(fault, ip, b"http/1.1")?),
            Speaks::Http2 => Some(authorities.server(Certificate::Good, ip, b"h2")?),
        };
        let address = SocketAddrV4::new(ip, *port);
        let listener = Some(listener);
        dens.push(Den { case: case.clone(), address, listener, tls, asked: HashMap::new() });
    }
    let good = dens.iter().find(|den| den.case.group == Group::Control && !den.case.speaks.tls());
    let elsewhere = good.map_or_else(String::new, |den| format!("http://{}", den.address));
    Ok((dens, elsewhere))
}

fn open(ip: Ipv4Addr, port: u16) -> Result<TcpListener, StartError> {
    let address = SocketAddrV4::new(ip, port);
    listen(ip, port).map_err(|source| StartError::Listen { address, source })
}

/// Cases have addresses in their order, 200 to a network.
fn address(index: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, 66, (index / 200) as u8, (index % 200 + 1) as u8)
}

const LOG_IN_MEMORY_MAX: usize = 1 << 20;
const TRIES: u32 = 20;
