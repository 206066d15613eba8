//! The only way out: [`dial`] opens every connection to a site or a proxy.
//!
//! The root's `clippy.toml` forbids every other `connect`, and the house rules count the
//! exceptions.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use curtsy_core::host::Problem;
use curtsy_core::url::HostKey;
use ipnet::IpNet;
use tokio::net::TcpStream;

use crate::guard::{ForbiddenAddress, Guard};
use crate::port;

/// Why a connection was not opened.
#[derive(Debug)]
pub(crate) enum Undialled {
    /// The guard refuses the address.
    Guard(ForbiddenAddress),
    /// The port is never dialled.
    Port,
    /// The network failed, or the check of our own addresses did.
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

/// The target of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To<'a> {
    /// A site with this name: the guard judges it.
    Site(&'a HostKey),
    /// A proxy that the user chose: not judged.
    Proxy,
}

/// Opens a connection to one address, if the guard permits it.
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
        // Checks that the socket's peer is the address that was judged.
        let peer = stream.peer_addr().map_err(Undialled::Io)?;
        guard.judge_for(host, peer).map_err(Undialled::Guard)?;
    }
    Ok(stream)
}

/// Judges an address before it is dialled, by us or by a proxy: it must be public, not of this
/// machine, and the port must be one for HTTP. If the check fails, there is no connection.
pub(crate) fn judge(host: &HostKey, address: SocketAddr, guard: &Guard) -> Result<(), Undialled> {
    if port::is_spoken_for(address.port()) {
        return Err(Undialled::Port);
    }
    guard.judge_for(host, address).map_err(Undialled::Guard)?;
    match guard.allows_for(host, address) || !is_our_own(address).map_err(Undialled::Io)? {
        true => Ok(()),
        false => Err(Undialled::Guard(ForbiddenAddress {
            what: "an address of this machine",
            net: Some(IpNet::from(address.ip())),
        })),
    }
}

/// Whether an address belongs to this machine: the system then uses it as the source address too.
/// Connecting a datagram socket sends nothing. An address without a route is not ours, and cannot
/// be dialled.
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
