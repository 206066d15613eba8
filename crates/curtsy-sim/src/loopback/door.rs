//! Where hosts listen: who is let in, who lives there, and when nobody is at home.

use std::cmp::Reverse;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use curtsy_judge::LogScheme;
use mio::net::{TcpListener, TcpStream};
use mio::{Interest, Token};
use rustls::{ServerConfig, ServerConnection};

use super::line::Line;
use super::server::{Alarm, DOORS, IDLE_MAX, LINES, Server};
use super::wire::Wire;

/// An address and port that hosts listen on.
pub(super) struct Door {
    pub(super) address: Ipv4Addr,
    pub(super) port: u16,
    pub(super) tls: Option<Arc<ServerConfig>>,
    pub(super) listener: Option<TcpListener>,
    /// Who lives there: the first answers to the bare address too.
    pub(super) residents: Vec<usize>,
}

impl Server {
    pub(super) fn register(&mut self, door: usize) -> io::Result<()> {
        match &mut self.doors[door].listener {
            Some(listener) => {
                self.poll.registry().register(listener, Token(DOORS + door), Interest::READABLE)
            }
            None => Ok(()),
        }
    }

    pub(super) fn accept(&mut self, door: usize) {
        loop {
            let Some(listener) = self.doors.get(door).and_then(|door| door.listener.as_ref())
            else {
                return;
            };
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(_) => {
                    // No descriptor is left: what knocks is let in when one is.
                    self.knocking = true;
                    return;
                }
            };
            self.health.accepted += 1;
            if self.lines.len() - self.free.len() >= self.lines_max {
                self.health.turned_away += 1;
                continue;
            }
            if let Ok(mut line) = self.welcome(door, stream) {
                let index = self.free.pop().unwrap_or_else(|| {
                    self.lines.push(None);
                    self.lines.len() - 1
                });
                let interest = Interest::READABLE | Interest::WRITABLE;
                let token = Token(LINES + index);
                if self.poll.registry().register(line.wire.stream(), token, interest).is_err() {
                    self.free.push(index);
                    continue;
                }
                // What is there already may have come as early as the connection.
                line.unread_since = Some(self.lateness.unread_since);
                let fate = self.receive(index, &mut line);
                self.settle(index, line, fate);
            }
        }
    }

    fn welcome(&mut self, index: usize, stream: TcpStream) -> io::Result<Line> {
        let now = self.clock.now();
        stream.set_nodelay(true)?;
        let door = &self.doors[index];
        let (wire, scheme) = match &door.tls {
            None => (Wire::Plain(stream), LogScheme::Http),
            Some(config) => {
                let session =
                    ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
                (Wire::Secure(Box::new(session), stream), LogScheme::Https)
            }
        };
        self.generations = self.generations.wrapping_add(1);
        let (address, port) = (IpAddr::V4(door.address), door.port);
        let number = self.health.accepted;
        let mut line =
            Line::new(wire, number, address, port, scheme, index, self.generations, now + IDLE_MAX);
        if scheme == LogScheme::Https
            && let Some(&resident) = door.residents.first()
        {
            let range = self.stages[resident].host.handshake;
            line.kept_waiting = true;
            line.deaf_until = now + self.stages[resident].wait(range).as_micros() as u64;
        }
        Ok(line)
    }

    /// Who is asked: by name, or by the bare address.
    pub(super) fn resident(&self, line: &Line, name: &str) -> Option<usize> {
        let door = &self.doors[line.listener];
        let name = name.strip_suffix('.').unwrap_or(name);
        // Most doors have one resident, asked by its own name.
        let first = *door.residents.first()?;
        if self.stages[first].host.name.eq_ignore_ascii_case(name) {
            return Some(first);
        }
        if let Some(&resident) = self.names.get(&(door.address, name.to_ascii_lowercase())) {
            return Some(resident).filter(|resident| door.residents.contains(resident));
        }
        let bare = name.parse() == Ok(door.address) || name.eq_ignore_ascii_case("localhost");
        bare.then_some(first)
    }

    /// Refuses connections to a host from now on, and breaks those that it has.
    pub(super) fn shut(&mut self, resident: usize, now: u64) {
        for index in 0..self.doors.len() {
            if !self.doors[index].residents.contains(&resident) {
                continue;
            }
            if let Some(mut listener) = self.doors[index].listener.take() {
                let _ = self.poll.registry().deregister(&mut listener);
            }
            for at in 0..self.lines.len() {
                if let Some(mut line) = self.lines[at].take_if(|line| line.listener == index) {
                    line.wire.reset();
                    let fate = self.hung_up(&mut line, now);
                    self.settle(at, line, fate);
                }
            }
        }
    }

    pub(super) fn open(&mut self, resident: usize, now: u64) {
        for index in 0..self.doors.len() {
            let door = &mut self.doors[index];
            if !door.residents.contains(&resident) || door.listener.is_some() {
                continue;
            }
            match super::listen(door.address, door.port) {
                Ok(listener) => door.listener = Some(listener),
                // Somebody else has the port: it is tried again.
                Err(_) => {
                    self.timers.push(Reverse((now + OPEN_AGAIN, Alarm::Open(resident))));
                    continue;
                }
            }
            if self.register(index).is_err() {
                self.doors[index].listener = None;
            }
        }
    }
}

/// In microseconds.
const OPEN_AGAIN: u64 = 100_000;
