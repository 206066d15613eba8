//! One accepted connection's bytes, plain or over TLS.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::Duration;

use mio::net::TcpStream;
use rustls::ServerConnection;
use socket2::SockRef;

pub(crate) enum ServerWire {
    Plain(TcpStream),
    Secure(Box<ServerConnection>, TcpStream),
}

impl ServerWire {
    pub(crate) fn stream(&mut self) -> &mut TcpStream {
        match self {
            ServerWire::Plain(stream) | ServerWire::Secure(_, stream) => stream,
        }
    }

    /// Reads what is there; 0 is the end. Over TLS the handshake goes on meanwhile.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            ServerWire::Plain(stream) => stream.read(into),
            ServerWire::Secure(session, stream) => loop {
                match session.reader().read(into) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    other => return other,
                }
                if session.read_tls(stream)? == 0 {
                    return Ok(0);
                }
                let read = session.process_new_packets();
                // The handshake's own messages, or the alert that says what was wrong.
                ServerWire::push(session, stream)?;
                read.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
            },
        }
    }

    /// Writes as much as goes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            ServerWire::Plain(stream) => stream.write(bytes),
            ServerWire::Secure(session, stream) => {
                ServerWire::push(session, stream)?;
                if session.wants_write() {
                    return Err(ErrorKind::WouldBlock.into());
                }
                let taken = session.writer().write(bytes)?;
                ServerWire::push(session, stream)?;
                Ok(taken)
            }
        }
    }

    /// Whether everything written has left.
    pub(crate) fn flushed(&mut self) -> io::Result<bool> {
        match self {
            ServerWire::Plain(_) => Ok(true),
            ServerWire::Secure(session, stream) => {
                ServerWire::push(session, stream)?;
                Ok(!session.wants_write())
            }
        }
    }

    fn push(session: &mut ServerConnection, stream: &mut TcpStream) -> io::Result<()> {
        while session.wants_write() {
            match session.write_tls(stream) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Says that nothing more comes. After a whole answer TLS says so too.
    pub(crate) fn end(&mut self, whole: bool) {
        // A client that is gone already needs no goodbye.
        if let ServerWire::Secure(session, stream) = self
            && whole
        {
            session.send_close_notify();
            let _ = ServerWire::push(session, stream);
        }
        let _ = self.stream().shutdown(Shutdown::Write);
    }

    /// Makes the coming close a reset.
    pub(crate) fn reset(&mut self) {
        let _ = SockRef::from(&*self.stream()).set_linger(Some(Duration::ZERO));
    }
}
