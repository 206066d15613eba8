//! A line to a server that fails as networks do: cut, stalled, slow, or with answers that are lost
//! on their way.
//!
//! Two threads carry each connection, one for each way. What a stalled line has taken is passed on
//! when it is well again, even if whoever sent it has hung up since: a network does that too.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use super::dial;

/// What goes wrong between a client and its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Connections are closed, and new ones at once.
    Cut,
    /// Connections stand, and nothing passes.
    Stall(Way),
    /// What passes is so much later, each way.
    Delay(Duration),
    /// Each connection is closed when so many further bytes of answers have come: what was asked is
    /// done, and nobody hears of it.
    LoseAnswers {
        /// Bytes of answers that still pass.
        after: usize,
    },
}

/// Which way a line is stalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// What is asked.
    There,
    /// What is answered.
    Back,
    /// Either.
    Both,
}

/// A port on loopback that leads to another.
pub struct Proxy {
    /// Where it listens.
    pub port: u16,
    between: Arc<Between>,
}

impl Proxy {
    /// A way to a server, in good order.
    pub fn to(server: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let between = Arc::new(Between::default());
        let taken = Arc::clone(&between);
        std::thread::spawn(move || taken.take(&listener, server));
        Proxy { port, between }
    }

    /// Its address, as that of a Redis.
    pub fn redis_url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// Its address, as that of a database.
    pub fn postgres_url(&self, database: &str) -> String {
        format!("postgres://app@127.0.0.1:{}/{database}", self.port)
    }

    /// Something goes wrong from now on.
    pub fn begin(&self, trouble: Trouble) {
        self.between.change(Some(trouble));
    }

    /// Everything is well again.
    pub fn heal(&self) {
        self.between.change(None);
    }

    /// Connections that it has cut so far.
    pub fn cuts(&self) -> u64 {
        self.between.now().cuts
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.between.now().over = true;
        self.between.change(Some(Trouble::Cut));
        // Whoever takes connections finds out by one more.
        let _ = dial(self.port);
    }
}

#[derive(Default)]
struct Between {
    now: Mutex<Now>,
    changed: Condvar,
}

#[derive(Default)]
struct Now {
    trouble: Option<Trouble>,
    /// How often that has changed.
    changes: u64,
    /// The two ends of each connection.
    lines: BTreeMap<u64, [TcpStream; 2]>,
    taken: u64,
    cuts: u64,
    over: bool,
}

impl Between {
    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().expect("nobody panics with it")
    }

    fn change(&self, trouble: Option<Trouble>) {
        let mut now = self.now();
        now.trouble = trouble;
        now.changes += 1;
        if trouble == Some(Trouble::Cut) {
            let lines: Vec<u64> = now.lines.keys().copied().collect();
            for line in lines {
                now.cut(line);
            }
        }
        self.changed.notify_all();
    }

    /// Takes connections until it is over.
    fn take(self: Arc<Between>, listener: &TcpListener, server: u16) {
        while let Ok((client, _)) = listener.accept() {
            if self.now().over {
                return;
            }
            // A server that is not there takes nobody: the client is hung up on.
            let _ = dial(server).and_then(|server| self.join(client, server));
        }
    }

    fn join(self: &Arc<Between>, client: TcpStream, server: TcpStream) -> std::io::Result<()> {
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let there = (client.try_clone()?, server.try_clone()?);
        let back = (server.try_clone()?, client.try_clone()?);
        let line = {
            let mut now = self.now();
            if now.trouble == Some(Trouble::Cut) {
                now.cuts += 1;
                return Ok(());
            }
            now.taken += 1;
            let line = now.taken;
            now.lines.insert(line, [client, server]);
            line
        };
        for (way, (from, to)) in [(Way::There, there), (Way::Back, back)] {
            let between = Arc::clone(self);
            std::thread::spawn(move || {
                between.carry(line, way, from, to);
                between.now().end(line);
            });
        }
        Ok(())
    }

    /// Carries what comes one way, until one end hangs up or the line is cut.
    fn carry(&self, line: u64, way: Way, mut from: TcpStream, mut to: TcpStream) {
        let mut piece = [0; 16 * 1024];
        let (mut changes, mut passed) = (0, 0);
        while let Ok(read @ 1..) = from.read(&mut piece) {
            let mut now = self.now();
            while now.trouble.is_some_and(|trouble| trouble.stalls(way)) {
                now = self.changed.wait(now).expect("nobody panics with it");
            }
            if now.changes != changes {
                (changes, passed) = (now.changes, 0);
            }
            let passes = match now.trouble {
                Some(Trouble::LoseAnswers { after }) if way == Way::Back => {
                    read.min(after - passed)
                }
                _ => read,
            };
            passed += passes;
            let delay = match now.trouble {
                Some(Trouble::Delay(delay)) => delay,
                _ => Duration::ZERO,
            };
            drop(now);
            std::thread::sleep(delay);
            if to.write_all(&piece[..passes]).is_err() {
                return;
            }
            if passes < read {
                self.now().cut(line);
                return;
            }
        }
    }
}

impl Now {
    fn cut(&mut self, line: u64) {
        self.cuts += u64::from(self.end(line));
    }

    /// Closes both ends, if nobody has yet.
    fn end(&mut self, line: u64) -> bool {
        let Some(ends) = self.lines.remove(&line) else { return false };
        for end in ends {
            // One that is closed by its peer needs no closing.
            let _ = end.shutdown(Shutdown::Both);
        }
        true
    }
}

impl Trouble {
    fn stalls(self, way: Way) -> bool {
        matches!(self, Trouble::Stall(stalled) if stalled == way || stalled == Way::Both)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// A server that repeats what it is told, and how many bytes it has heard.
    struct Echo {
        port: u16,
        heard: Arc<Mutex<Vec<u8>>>,
    }

    impl Echo {
        fn new() -> Echo {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            let heard = Arc::new(Mutex::new(Vec::new()));
            let kept = Arc::clone(&heard);
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    let (mut stream, kept) = (stream.unwrap(), Arc::clone(&kept));
                    std::thread::spawn(move || {
                        let mut piece = [0; 1000];
                        while let Ok(read @ 1..) = stream.read(&mut piece) {
                            kept.lock().unwrap().extend(&piece[..read]);
                            let _ = stream.write_all(&piece[..read]);
                        }
                    });
                }
            });
            Echo { port, heard }
        }

        /// Waits until it has heard this, all in all.
        #[track_caller]
        fn hears(&self, text: &str) {
            let end = Instant::now() + Duration::from_secs(20);
            while *self.heard.lock().unwrap() != text.as_bytes() {
                assert!(Instant::now() < end, "{:?}", self.heard.lock().unwrap());
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// What comes back within a while, and whether the line was closed.
    fn answer(stream: &mut TcpStream, length: usize, within: Duration) -> (String, bool) {
        stream.set_read_timeout(Some(within)).unwrap();
        let mut text = Vec::new();
        while text.len() < length {
            let mut piece = [0; 100];
            match stream.read(&mut piece) {
                Ok(0) => return (String::from_utf8(text).unwrap(), true),
                Ok(read) => text.extend(&piece[..read]),
                Err(error) => {
                    let closed = !matches!(
                        error.kind(),
                        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                    );
                    return (String::from_utf8(text).unwrap(), closed);
                }
            }
        }
        (String::from_utf8(text).unwrap(), false)
    }

    const LONG: Duration = Duration::from_secs(20);
    const SHORT: Duration = Duration::from_millis(50);

    #[track_caller]
    fn passes(stream: &mut TcpStream, text: &str) {
        stream.write_all(text.as_bytes()).unwrap();
        assert_eq!(answer(stream, text.len(), LONG), (text.to_owned(), false));
    }

    #[test]
    fn what_is_cut_is_closed_and_new_ones_too_until_it_is_well_again() {
        let echo = Echo::new();
        let proxy = Proxy::to(echo.port);
        let mut line = dial(proxy.port).unwrap();
        passes(&mut line, "one");
        proxy.begin(Trouble::Cut);
        assert_eq!(answer(&mut line, 1, LONG), (String::new(), true));
        let mut refused = dial(proxy.port).unwrap();
        assert_eq!(answer(&mut refused, 1, LONG), (String::new(), true));
        assert_eq!(proxy.cuts(), 2);
        proxy.heal();
        passes(&mut dial(proxy.port).unwrap(), "two");
        echo.hears("onetwo");
    }

    #[test]
    fn a_lost_answer_is_to_something_that_was_done() {
        let echo = Echo::new();
        let proxy = Proxy::to(echo.port);
        let mut line = dial(proxy.port).unwrap();
        passes(&mut line, "one");
        proxy.begin(Trouble::LoseAnswers { after: 2 });
        line.write_all(b"two").unwrap();
        assert_eq!(answer(&mut line, 3, LONG), ("tw".into(), true));
        // A new line has as many bytes of its own.
        let mut line = dial(proxy.port).unwrap();
        line.write_all(b"six").unwrap();
        assert_eq!(answer(&mut line, 3, LONG), ("si".into(), true));
        echo.hears("onetwosix");
        assert_eq!(proxy.cuts(), 2);
    }

    #[test]
    fn what_a_stalled_line_has_taken_comes_late() {
        for (way, heard) in [(Way::There, false), (Way::Back, true), (Way::Both, false)] {
            let echo = Echo::new();
            let proxy = Proxy::to(echo.port);
            let mut line = dial(proxy.port).unwrap();
            proxy.begin(Trouble::Stall(way));
            line.write_all(b"late").unwrap();
            if heard {
                echo.hears("late");
            }
            assert_eq!(answer(&mut line, 4, SHORT), (String::new(), false));
            assert_eq!(echo.heard.lock().unwrap().is_empty(), !heard, "{way:?}");
            proxy.heal();
            assert_eq!(answer(&mut line, 4, LONG), ("late".into(), false));
        }
    }

    #[test]
    fn what_was_asked_before_hanging_up_is_still_done_after_a_stall() {
        let echo = Echo::new();
        let proxy = Proxy::to(echo.port);
        let mut line = dial(proxy.port).unwrap();
        passes(&mut line, "one");
        proxy.begin(Trouble::Stall(Way::There));
        line.write_all(b"two").unwrap();
        drop(line);
        std::thread::sleep(SHORT);
        echo.hears("one");
        proxy.heal();
        echo.hears("onetwo");
    }

    #[test]
    fn what_is_slow_takes_its_time_each_way() {
        let echo = Echo::new();
        let proxy = Proxy::to(echo.port);
        let mut line = dial(proxy.port).unwrap();
        proxy.begin(Trouble::Delay(SHORT));
        let asked = Instant::now();
        passes(&mut line, "slow");
        assert!(asked.elapsed() >= 2 * SHORT);
    }
}
