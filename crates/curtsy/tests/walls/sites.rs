//! Sites on every address and on some ports, and everything that they were asked.

use std::net::{Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Where somebody listens.
pub(crate) const PORTS: [u16; 4] = [80, 8080, 3128, 6379];

/// What was asked.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Where the connection was made to.
    pub(crate) at: SocketAddr,
    pub(crate) method: String,
    /// The path, or what a proxy is asked for.
    pub(crate) target: String,
    /// The host, without its port.
    pub(crate) host: String,
    /// The whole head.
    pub(crate) head: String,
    /// When it was read.
    pub(crate) when: Instant,
}

/// What is answered.
pub(crate) struct Answer {
    /// How long it takes.
    pub(crate) think: Duration,
    pub(crate) status: u16,
    pub(crate) headers: Vec<String>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn page(body: impl Into<String>) -> Answer {
        Answer {
            think: Duration::ZERO,
            status: 200,
            headers: vec!["Content-Type: text/html".into()],
            body: body.into(),
        }
    }

    pub(crate) fn text(body: impl Into<String>) -> Answer {
        Answer {
            think: Duration::ZERO,
            status: 200,
            headers: vec!["Content-Type: text/plain".into()],
            body: body.into(),
        }
    }

    pub(crate) fn moved(status: u16, location: &str) -> Answer {
        Answer {
            think: Duration::ZERO,
            status,
            headers: vec![format!("Location: {location}")],
            body: String::new(),
        }
    }

    pub(crate) fn status(status: u16) -> Answer {
        Answer { think: Duration::ZERO, status, headers: Vec::new(), body: String::new() }
    }
}

/// The sites, on a thread of their own.
pub(crate) struct Sites {
    heard: Arc<Mutex<Vec<Request>>>,
    busy: Arc<Busy>,
}

/// Requests that are being answered, now and at most.
#[derive(Default)]
struct Busy {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Busy {
    fn enter(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
    }

    fn leave(&self) {
        self.now.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Sites {
    pub(crate) fn start(site: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Sites {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let busy = Arc::new(Busy::default());
        let (here, at_work) = (Arc::clone(&heard), Arc::clone(&busy));
        let listeners: Vec<_> = PORTS.into_iter().map(listen).collect();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let site = Arc::new(site);
            runtime.unwrap().block_on(async move {
                let accepting = listeners.into_iter().map(|listener| {
                    let listener = TcpListener::from_std(listener).unwrap();
                    let (site, heard) = (Arc::clone(&site), Arc::clone(&here));
                    let busy = Arc::clone(&at_work);
                    tokio::spawn(async move {
                        while let Ok((stream, _)) = listener.accept().await {
                            let (site, heard, busy) =
                                (Arc::clone(&site), Arc::clone(&heard), Arc::clone(&busy));
                            tokio::spawn(talk(stream, site, heard, busy));
                        }
                    })
                });
                for accepting in accepting.collect::<Vec<_>>() {
                    let _ = accepting.await;
                }
            });
        });
        Sites { heard, busy }
    }

    /// Requests at once, at most.
    pub(crate) fn at_once(&self) -> usize {
        self.busy.most.load(Ordering::SeqCst)
    }

    /// Everything that was asked until now.
    pub(crate) fn heard(&self) -> Vec<Request> {
        self.heard.lock().unwrap().clone()
    }
}

/// Both families, every address.
fn listen(port: u16) -> std::net::TcpListener {
    let socket = Socket::new(Domain::IPV6, Type::STREAM, None).unwrap();
    socket.set_only_v6(false).unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.bind(&SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)).into()).unwrap();
    socket.listen(1024).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket.into()
}

async fn talk(
    mut stream: TcpStream,
    site: Arc<impl Fn(&Request) -> Answer>,
    heard: Arc<Mutex<Vec<Request>>>,
    busy: Arc<Busy>,
) -> Option<()> {
    let at = stream.local_addr().ok()?;
    let at = SocketAddr::new(at.ip().to_canonical(), at.port());
    loop {
        let mut head = Vec::new();
        let end = loop {
            if let Some(at) = head.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            let mut some = [0; 4096];
            let n = stream.read(&mut some).await.ok().filter(|n| *n > 0)?;
            head.extend_from_slice(&some[..n]);
        };
        let mut body = head.split_off(end).len();
        let head = String::from_utf8_lossy(&head).to_string();
        let length = head.to_lowercase().split_once("content-length: ").map_or(0, |(_, rest)| {
            rest.lines().next().and_then(|n| n.parse().ok()).unwrap_or_default()
        });
        while body < length {
            body += stream.read(&mut [0; 4096]).await.ok().filter(|n| *n > 0)?;
        }
        let mut first = head.lines().next()?.split(' ');
        let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
        let host =
            head.lines().find_map(|l| l.strip_prefix("host: ").or(l.strip_prefix("Host: ")))?;
        let host = host.rsplit_once(':').filter(|_| !host.ends_with(']')).map_or(host, |(h, _)| h);
        let request =
            Request { at, method, target, host: host.to_owned(), head, when: Instant::now() };
        heard.lock().unwrap().push(request.clone());
        busy.enter();
        let Answer { think, status, headers, body } = site(&request);
        if !think.is_zero() {
            tokio::time::sleep(think).await;
        }
        let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        let shown = if request.method == "HEAD" { "" } else { body.as_str() };
        let length = body.len();
        let answer =
            format!("HTTP/1.1 {status} x\r\n{headers}Content-Length: {length}\r\n\r\n{shown}");
        busy.leave();
        stream.write_all(answer.as_bytes()).await.ok()?;
        if request.head.to_lowercase().contains("connection: close") {
            return Some(());
        }
    }
}
