//! A name server that says whatever the test wants: other addresses at every question, thousands of them, loops, nothing.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::namespace::RESOLVER;

/// What a name server says of a name.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    /// Its addresses, of both families; a question gets those of its own.
    At(Vec<IpAddr>),
    /// Another name, and the addresses of that.
    Alias(String, Vec<IpAddr>),
    /// There is no such name.
    Nobody,
    /// SERVFAIL.
    Trouble,
}

/// Answers questions. `nth` counts those for the same name and family, from zero.
pub(crate) trait Answers: Send + Sync {
    fn say(&self, name: &str, nth: usize) -> Said;
}

impl<F: Fn(&str, usize) -> Said + Send + Sync> Answers for F {
    fn say(&self, name: &str, nth: usize) -> Said {
        self(name, nth)
    }
}

/// The name server, and how often it was asked.
pub(crate) struct Resolver(Arc<Inner>);

struct Inner {
    answers: Box<dyn Answers>,
    asked: Mutex<HashMap<(String, u16), usize>>,
    questions: AtomicUsize,
}

impl Resolver {
    pub(crate) fn start(answers: impl Answers + 'static) -> Resolver {
        let answers = Box::new(answers);
        let (asked, questions) = (Mutex::default(), AtomicUsize::new(0));
        let inner = Arc::new(Inner { answers, asked, questions });
        let socket = UdpSocket::bind((RESOLVER, 53)).unwrap();
        let here = Arc::clone(&inner);
        std::thread::spawn(move || {
            let mut question = [0; 1500];
            while let Ok((n, from)) = socket.recv_from(&mut question) {
                if let Some(mut answer) = here.answer(&question[..n]) {
                    if answer.len() > DATAGRAM_MAX {
                        // Cut off: to be asked for over TCP.
                        answer.truncate(n);
                        answer[2] |= 0x02;
                        answer[6..12].fill(0);
                    }
                    #[expect(clippy::disallowed_methods, reason = "inside the test's namespace")]
                    let _ = socket.send_to(&answer, from);
                }
            }
        });
        let listener = TcpListener::bind((RESOLVER, 53)).unwrap();
        let here = Arc::clone(&inner);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let here = Arc::clone(&here);
                std::thread::spawn(move || here.talk(stream));
            }
        });
        Resolver(inner)
    }

    /// Questions so far.
    pub(crate) fn questions(&self) -> usize {
        self.0.questions.load(Ordering::SeqCst)
    }
}

/// What goes into a datagram without EDNS.
const DATAGRAM_MAX: usize = 512;
const A: u16 = 1;
const AAAA: u16 = 28;
const CNAME: u16 = 5;

impl Inner {
    fn talk(&self, mut stream: std::net::TcpStream) -> Option<()> {
        loop {
            let mut length = [0; 2];
            stream.read_exact(&mut length).ok()?;
            let mut question = vec![0; usize::from(u16::from_be_bytes(length))];
            stream.read_exact(&mut question).ok()?;
            let answer = self.answer(&question)?;
            stream.write_all(&u16::try_from(answer.len()).ok()?.to_be_bytes()).ok()?;
            stream.write_all(&answer).ok()?;
        }
    }

    /// RFC 1035 §4.1, as far as a stub's question needs it.
    fn answer(&self, question: &[u8]) -> Option<Vec<u8>> {
        let (mut at, mut labels) = (12, Vec::new());
        loop {
            let length = usize::from(*question.get(at)?);
            let label = question.get(at + 1..at + 1 + length)?;
            at += 1 + length;
            if length == 0 {
                break;
            }
            labels.push(String::from_utf8_lossy(label).to_lowercase());
        }
        let kind = u16::from_be_bytes(*question.get(at..)?.first_chunk()?);
        let name = labels.join(".");
        self.questions.fetch_add(1, Ordering::SeqCst);
        let nth = {
            let mut asked = self.asked.lock().unwrap();
            let count = asked.entry((name.clone(), kind)).or_default();
            *count += 1;
            *count - 1
        };
        let (code, records) = match self.answers.say(&name, nth) {
            Said::Nobody => (3, Vec::new()),
            Said::Trouble => (2, Vec::new()),
            Said::At(addresses) => (0, records(&[0xc0, 12], kind, &addresses)),
            Said::Alias(to, addresses) => {
                let to = wire_name(&to);
                let mut all = vec![record(&[0xc0, 12], CNAME, &to)];
                all.extend(records(&to, kind, &addresses));
                (0, all)
            }
        };
        let mut out = question.get(..at + 4)?.to_vec();
        // An answer, with authority over everything, recursion available.
        (out[2], out[3]) = (0x85, 0x80 | code);
        let count = u16::try_from(records.len()).ok()?;
        out[6..8].copy_from_slice(&count.to_be_bytes());
        out[8..12].fill(0);
        out.extend(records.into_iter().flatten());
        Some(out)
    }
}

fn records(name: &[u8], kind: u16, addresses: &[IpAddr]) -> Vec<Vec<u8>> {
    let records = addresses.iter().filter_map(|address| match address {
        IpAddr::V4(v4) if kind == A => Some(record(name, A, &v4.octets())),
        IpAddr::V6(v6) if kind == AAAA => Some(record(name, AAAA, &v6.octets())),
        _ => None,
    });
    records.collect()
}

/// One record, with a TTL of nothing.
fn record(name: &[u8], kind: u16, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).expect("a short record");
    let fixed = [&kind.to_be_bytes()[..], &[0, 1], &[0; 4], &length.to_be_bytes()].concat();
    [name, &fixed, data].concat()
}

fn wire_name(name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for label in name.split('.').filter(|label| !label.is_empty()) {
        out.push(u8::try_from(label.len()).expect("a short label"));
        out.extend_from_slice(label.as_bytes());
    }
    out.push(0);
    out
}
