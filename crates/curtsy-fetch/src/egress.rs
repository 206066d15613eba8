//! The one way out.
//!
//! Everything that leaves for a site (pages, robots.txt, sitemaps, probes, redirect hops, the proxy) is dialled by [`dial`]. The root's
//! `clippy.toml` forbids every other `connect`, and the house rules count the exceptions.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use tokio::net::TcpStream;

use crate::guard::Guard;

/// Why a socket could not be had.
#[derive(Debug)]
pub(crate) enum Undialled {
    /// The address may not be dialled.
    Guard,
    /// The network said no.
    Io(io::Error),
}

/// To whom a connection goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    /// A site: judged.
    Site,
    /// The proxy that the user named: theirs to answer for.
    Proxy,
}

/// Opens a connection to one address, if the guard lets it.
#[expect(clippy::disallowed_methods, reason = "the one egress function")]
pub(crate) async fn dial(
    address: SocketAddr,
    to: To,
    guard: &Guard,
) -> Result<TcpStream, Undialled> {
    if to == To::Site {
        guard.judge(address.ip()).map_err(|_| Undialled::Guard)?;
        if !guard.allows(address.ip()) && is_our_own(address) {
            return Err(Undialled::Guard);
        }
    }
    let stream = TcpStream::connect(address).await.map_err(Undialled::Io)?;
    stream.set_nodelay(true).map_err(Undialled::Io)?;
    if to == To::Site {
        // What was dialled is what was judged; a look at what the socket has says so.
        let peer = stream.peer_addr().map_err(Undialled::Io)?.ip();
        guard.judge(peer).map_err(|_| Undialled::Guard)?;
    }
    Ok(stream)
}

/// Whether an address is one of this machine's own: the system then takes it as the source as well. Connecting a datagram socket sends
/// nothing; it only asks for the route.
#[expect(clippy::disallowed_methods, reason = "asks the system for a route and sends nothing")]
fn is_our_own(address: SocketAddr) -> bool {
    let any: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let source = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect(address)?;
        socket.local_addr()
    });
    // Without a route there is no connection either, and the dial says so.
    source.is_ok_and(|source| source.ip().to_canonical() == address.ip().to_canonical())
}
