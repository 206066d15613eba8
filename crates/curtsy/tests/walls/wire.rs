//! What was dialled, as the wire has it.
//!
//! A packet socket reads every TCP segment that opens a connection, whether somebody listens there or not. Listeners would miss closed
//! ports, and counters of a firewall don't tell addresses. A filter in the kernel leaves all other packets out, so none is dropped for
//! want of room.

use std::collections::HashSet;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, SockFilter, Socket, Type};

/// Ethernet, as loopback pretends.
const LINK_BYTES: usize = 14;
/// Dialled to know that everything before them was read.
const SENTINEL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 1)), 1);
/// All protocols, in network order.
const EVERYTHING: i32 = 0x0003_u16.to_be() as i32;

/// The wire, watched from the beginning.
pub(crate) struct Wire(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    /// On loopback a segment passes twice, out and in; so do repeats.
    segments: HashSet<(SocketAddr, SocketAddr, u32)>,
    dialled: Vec<SocketAddr>,
}

impl Wire {
    pub(crate) fn watch() -> Wire {
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(EVERYTHING)));
        let mut socket = socket.expect("a packet socket: root of this namespace");
        socket.attach_filter(&opening_segments()).unwrap();
        let _ = socket.set_recv_buffer_size(8 << 20);
        let seen = Arc::new(Mutex::new(Seen::default()));
        let here = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut packet = [0; 256];
            while let Ok(n) = socket.read(&mut packet) {
                let Some((from, to, sequence)) = opening(&packet[..n]) else { continue };
                let mut seen = here.lock().unwrap();
                if seen.segments.insert((from, to, sequence)) {
                    seen.dialled.push(to);
                }
            }
        });
        Wire(seen)
    }

    /// Everything that was dialled until now, in order.
    pub(crate) fn dialled(&self) -> Vec<SocketAddr> {
        let sentinels = |seen: &Seen| seen.dialled.iter().filter(|to| **to == SENTINEL).count();
        let before = sentinels(&self.0.lock().unwrap());
        dial(SENTINEL);
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            let seen = self.0.lock().unwrap();
            if sentinels(&seen) > before {
                return seen.dialled.iter().filter(|to| **to != SENTINEL).copied().collect();
            }
            drop(seen);
            assert!(Instant::now() < end, "the wire is not read any more");
            std::thread::yield_now();
        }
    }

    /// Dials by hand and says whether the wire showed it. False: the system itself does not dial this.
    pub(crate) fn shows(&self, to: SocketAddr) -> bool {
        let before = self.dialled().len();
        dial(to);
        self.dialled().len() > before
    }
}

#[expect(clippy::disallowed_methods, reason = "the test itself, inside its namespace")]
fn dial(to: SocketAddr) {
    // Whether somebody listens is not what is asked.
    let _ = TcpStream::connect_timeout(&to, Duration::from_secs(1));
}

/// TCP with SYN and without ACK, over IPv4 (without options, as ours are) and IPv6 (without extension headers).
fn opening_segments() -> [SockFilter; 14] {
    const LOAD_HALF: u16 = 0x28;
    const LOAD_BYTE: u16 = 0x30;
    const AND: u16 = 0x54;
    const EQUAL: u16 = 0x15;
    const GO: u16 = 0x05;
    const RETURN: u16 = 0x06;
    // The number of each step stands before it: jumps count from the next one.
    [
        /* 0 */ SockFilter::new(LOAD_HALF, 0, 0, 12),
        /* 1 */ SockFilter::new(EQUAL, 0, 4, 0x0800),
        /* 2 */ SockFilter::new(LOAD_BYTE, 0, 0, 14 + 9),
        /* 3 */ SockFilter::new(EQUAL, 0, 9, 6),
        /* 4 */ SockFilter::new(LOAD_BYTE, 0, 0, 14 + 20 + 13),
        /* 5 */ SockFilter::new(GO, 0, 0, 4),
        /* 6 */ SockFilter::new(EQUAL, 0, 6, 0x86dd),
        /* 7 */ SockFilter::new(LOAD_BYTE, 0, 0, 14 + 6),
        /* 8 */ SockFilter::new(EQUAL, 0, 4, 6),
        /* 9 */ SockFilter::new(LOAD_BYTE, 0, 0, 14 + 40 + 13),
        /* 10 */ SockFilter::new(AND, 0, 0, 0x12),
        /* 11 */ SockFilter::new(EQUAL, 0, 1, 0x02),
        /* 12 */ SockFilter::new(RETURN, 0, 0, 256),
        /* 13 */ SockFilter::new(RETURN, 0, 0, 0),
    ]
}

/// From, to and the sequence number of a segment that opens a connection.
fn opening(packet: &[u8]) -> Option<(SocketAddr, SocketAddr, u32)> {
    let ip = packet.get(LINK_BYTES..)?;
    let v4 = |at: usize| Some(IpAddr::from(Ipv4Addr::from(*ip.get(at..)?.first_chunk::<4>()?)));
    let v6 = |at: usize| Some(IpAddr::from(Ipv6Addr::from(*ip.get(at..)?.first_chunk::<16>()?)));
    let (from, to, tcp) = match packet.get(12..14)? {
        [0x08, 0x00] => (v4(12)?, v4(16)?, ip.get(20..)?),
        [0x86, 0xdd] => (v6(8)?, v6(24)?, ip.get(40..)?),
        _ => return None,
    };
    let port = |at: usize| Some(u16::from_be_bytes(*tcp.get(at..)?.first_chunk()?));
    let sequence = u32::from_be_bytes(*tcp.get(4..)?.first_chunk()?);
    Some((SocketAddr::new(from, port(0)?), SocketAddr::new(to, port(2)?), sequence))
}
