//! The one way out.
//!
//! Everything that leaves for a site (pages, robots.txt, sitemaps, probes, redirect hops, the proxy) is dialled by [`dial`]. The root's
//! `clippy.toml` forbids every other `connect`, and the house rules count the exceptions.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use curtsy_core::host::Problem;
use curtsy_core::url::HostKey;
use ipnet::IpNet;
use tokio::net::TcpStream;

use crate::guard::{Forbidden, Guard};
use crate::port;

/// Why a socket could not be had.
#[derive(Debug)]
pub(crate) enum Undialled {
    /// The address may not be dialled.
    Guard(Forbidden),
    /// The port may not.
    Port,
    /// The network said no, or it could not be asked whose address it is.
    Io(io::Error),
}

impl Undialled {
    pub(crate) fn problem(self) -> Problem {
        match self {
            Undialled::Guard(_) => Problem::Guard,
            Undialled::Port => Problem::Port,
            Undialled::Io(error) if error.kind() == io::ErrorKind::TimedOut => {
                Problem::ConnectTimeout
            }
            Undialled::Io(_) => Problem::Connect,
        }
    }
}

/// To whom a connection goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To<'a> {
    /// A site under this name: judged.
    Site(&'a HostKey),
    /// The proxy that the user named: theirs to answer for.
    Proxy,
}

/// Opens a connection to one address, if the guard lets it.
#[expect(clippy::disallowed_methods, reason = "the one egress function")]
pub(crate) async fn dial(
    address: SocketAddr,
    to: To<'_>,
    guard: &Guard,
) -> Result<TcpStream, Undialled> {
    if let To::Site(host) = to {
        judge(host, address, guard)?;
    }
    let stream = TcpStream::connect(address).await.map_err(Undialled::Io)?;
    stream.set_nodelay(true).map_err(Undialled::Io)?;
    if let To::Site(host) = to {
        // What was dialled is what was judged; a look at what the socket has says so.
        let peer = stream.peer_addr().map_err(Undialled::Io)?;
        guard.judge_for(host, peer).map_err(Undialled::Guard)?;
    }
    Ok(stream)
}

/// Judges an address that is about to be dialled, by us or by the proxy: public, not one of this machine's own, and a port for
/// HTTP. No answer, no connection.
pub(crate) fn judge(host: &HostKey, address: SocketAddr, guard: &Guard) -> Result<(), Undialled> {
    if port::is_spoken_for(address.port()) {
        return Err(Undialled::Port);
    }
    guard.judge_for(host, address).map_err(Undialled::Guard)?;
    match guard.allows_for(host, address) || !is_our_own(address).map_err(Undialled::Io)? {
        true => Ok(()),
        false => Err(Undialled::Guard(Forbidden {
            what: "an address of this machine",
            net: Some(IpNet::from(address.ip())),
        })),
    }
}

/// Whether an address is one of this machine's own: the system then takes it as the source as well. Connecting a datagram socket sends
/// nothing; it only asks for the route. An address without a route is not ours, and can't be dialled either.
#[expect(clippy::disallowed_methods, reason = "asks the system for a route and sends nothing")]
fn is_our_own(address: SocketAddr) -> io::Result<bool> {
    let any: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = match UdpSocket::bind((any, 0)) {
        // A machine without IPv6 has no such address.
        Err(_) if address.is_ipv6() && UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).is_ok() => {
            return Ok(false);
        }
        socket => socket?,
    };
    if socket.connect(address).is_err() {
        return Ok(false);
    }
    Ok(socket.local_addr()?.ip().to_canonical() == address.ip().to_canonical())
}
