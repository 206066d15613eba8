//! The zoo: hosts that misbehave, each in one way of its own, for any crawler that wants to know
//! whether it survives them.
//!
//! A [`ZooCase`] is a name, what its server does, and what a polite crawler makes of it; [`cases`]
//! is the table of all of them. [`Zoo`] serves them on raw sockets: every host has an address of
//! its own in 127.66.0.0/16 and a good robots.txt, unless its case is about that. What is asked for
//! is each host's home page.
//!
//! It listens on loopback only, opens no connection, and everything that it sends has an end: a
//! gibibyte or two minutes for each answer.

mod bomb;
mod case;
mod cases;
mod connection;
mod frames;
mod hpack;
mod http;
mod script;
mod server;

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;

pub use case::{CaseGroup, Deadline, Expectation, ZooCase};
pub use cases::cases;
pub use server::{ConnectionRecord, ZooSeen};

use crate::StartError;
use crate::certificate::{CertificateFault, TestAuthority};
use crate::event_loop::{RunningServer, Serve, allow_open_files, listen_on_one_port, open_log};
use case::ZooProtocol;
use server::{CONNECTIONS_MAX, ZooServer};

/// A zoo that is open; dropping it closes it.
///
/// ```
/// use curtsy_lab::zoo::{Zoo, ZooSettings, cases};
/// let zoo = Zoo::open(cases(), ZooSettings::default()).unwrap();
/// assert!(zoo.hosts()[0].url.starts_with("http://127.66."));
/// ```
pub struct Zoo {
    hosts: Vec<ZooHost>,
    ca_pem: String,
    running: RunningServer<ZooServer>,
}

/// How to serve.
#[derive(Clone, Debug, Default)]
pub struct ZooSettings {
    /// Also writes the access log to this file, as JSON lines.
    pub log: Option<PathBuf>,
    /// The port of the plain hosts; 0 is any free one.
    pub port: u16,
    /// The port of those that speak TLS; 0 is any free one.
    pub tls_port: u16,
}

/// A case with its host.
#[derive(Clone, Debug)]
pub struct ZooHost {
    /// The case.
    pub case: ZooCase,
    /// Where it listens.
    pub address: SocketAddrV4,
    /// What to crawl.
    pub url: String,
}

impl Zoo {
    /// Listens, and serves on a thread of its own.
    pub fn open(cases: Vec<ZooCase>, settings: ZooSettings) -> Result<Zoo, StartError> {
        allow_open_files(cases.len() * 8);
        let authority = TestAuthority::new("curtsy zoo, for tests")?;
        let unknown = TestAuthority::new("nobody you know")?;
        let of_kind = |tls: bool| {
            let all = cases.iter().enumerate();
            let chosen = all.filter(|(_, case)| case.speaks.tls() == tls);
            chosen.map(|(index, _)| address(index)).collect::<Vec<_>>()
        };
        let mut plain = listen_on_one_port(settings.port, &of_kind(false))?.into_iter();
        let mut secure = listen_on_one_port(settings.tls_port, &of_kind(true))?.into_iter();
        let mut listeners = Vec::with_capacity(cases.len());
        let mut hosts = Vec::with_capacity(cases.len());
        for case in &cases {
            let of_its_kind = if case.speaks.tls() { &mut secure } else { &mut plain };
            let mut listener = of_its_kind.next().expect("one was opened for each case");
            let address = listener.address;
            let names = vec![address.ip().to_string()];
            listener.tls = match case.speaks {
                ZooProtocol::Plain | ZooProtocol::Raw => None,
                ZooProtocol::Tls(CertificateFault::UnknownIssuer) => {
                    Some(unknown.server(names, CertificateFault::None, b"http/1.1")?)
                }
                ZooProtocol::Tls(fault) => Some(authority.server(names, fault, b"http/1.1")?),
                ZooProtocol::Http2 => {
                    Some(authority.server(names, CertificateFault::None, b"h2")?)
                }
            };
            listeners.push(listener);
            let scheme = if case.speaks.tls() { "https" } else { "http" };
            let url = format!("{scheme}://{address}/");
            hosts.push(ZooHost { case: case.clone(), address, url });
        }
        let behaves =
            |host: &&ZooHost| host.case.group == CaseGroup::Control && !host.case.speaks.tls();
        let elsewhere = hosts.iter().find(behaves);
        let elsewhere = elsewhere.map_or(String::new(), |host| format!("http://{}", host.address));
        let log = open_log(LOG_IN_MEMORY_MAX, settings.log.as_deref())?;
        let server = ZooServer::new(cases, elsewhere);
        let running = RunningServer::start("zoo", server, listeners, log, CONNECTIONS_MAX)?;
        Ok(Zoo { hosts, ca_pem: authority.pem, running })
    }

    /// The cases with their hosts, in the order in which they were given.
    pub fn hosts(&self) -> &[ZooHost] {
        &self.hosts
    }

    /// The certificate of the authority that signed the certificates that are good.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// What the zoo has seen so far.
    pub fn look(&self) -> ZooSeen {
        let seen = self.running.ask(|server| (server.log.so_far(), ZooServer::summary(server)));
        let (log, seen) = seen.unwrap_or_default();
        ZooSeen { log, ..seen }
    }

    /// Closes the zoo; what is under way is cut off. The log's file is complete afterwards.
    pub fn close(mut self) -> io::Result<ZooSeen> {
        let panicked = || io::Error::other("the zoo's thread panicked");
        let left = self.running.stop().ok_or_else(panicked)?;
        left.ended.map(|()| ZooSeen { log: left.exchanges, ..left.summary })
    }
}

/// Cases have addresses in their order, 200 to a network.
fn address(index: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, 66, (index / 200) as u8, (index % 200 + 1) as u8)
}

const LOG_IN_MEMORY_MAX: usize = 1 << 20;
