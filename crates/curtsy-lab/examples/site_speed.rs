//! How many pages a CPU second of the loopback server serves, so that a benchmark knows that it
//! measures the crawler.
//!
//! `cargo run --release -p curtsy-sim --example site_speed [SECONDS [CONNECTIONS [BYTES]]]`: 50
//! hosts of 200 pages, asked one after another on each of some connections. The server's thread is
//! charged alone, by the kernel's own account of it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use curtsy_lab::sites::{Scene, Sites, SitesSettings};

fn main() {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u32>().expect("a number"));
    let mut next = |default| numbers.next().unwrap_or(default);
    let (seconds, connections, bytes) = (next(5), next(64), next(10_240));
    let folder = std::env::temp_dir().join(format!("site-speed-{}.jsonl", std::process::id()));
    for log in [None, Some(folder.clone())] {
        let shown = if log.is_some() { "with a log file" } else { "log in memory" };
        let settings =
            SitesSettings { log, log_in_memory_max: 1 << 16, ..SitesSettings::default() };
        let sites =
            Sites::start(Scene::plain(50, 200, 10, bytes), settings).expect("the sites start");
        let (pages, wall, server, writer) = measure(&sites, seconds, connections);
        let stalls = sites.health().stalls;
        write(&format!(
            "{shown}: {pages} pages of {bytes} bytes in {wall:.2} s, {:.0} pages/s; server's thread {server:.2} s of CPU: {:.0} pages per CPU second, {:.1} µs a page; log's thread {:.1} µs a page; {} stalls, longest {} ms\n",
            pages as f64 / wall,
            pages as f64 / server,
            server * 1e6 / pages as f64,
            writer * 1e6 / pages as f64,
            stalls.count,
            stalls.longest.as_millis(),
        ));
    }
    let _ = std::fs::remove_file(folder);
}

fn measure(sites: &Sites, seconds: u32, connections: u32) -> (u64, f64, f64, f64) {
    let (stop, pages) = (AtomicBool::new(false), AtomicU64::new(0));
    let began = Instant::now();
    let before = [cpu_of("sites"), cpu_of("site log")];
    std::thread::scope(|scope| {
        // Each thread keeps several requests in flight, so that the server and not the clients'
        // wake-ups is measured.
        for thread in 0..CLIENTS {
            let (stop, pages) = (&stop, &pages);
            let share = connections.div_ceil(CLIENTS);
            scope.spawn(move || ask(sites, thread, share, stop, pages));
        }
        std::thread::sleep(Duration::from_secs(seconds.into()));
        stop.store(true, Ordering::Relaxed);
    });
    let wall = began.elapsed().as_secs_f64();
    let after = [cpu_of("sites"), cpu_of("site log")];
    (pages.into_inner(), wall, after[0] - before[0], after[1] - before[1])
}

#[expect(clippy::disallowed_methods, reason = "a benchmark's client, on loopback")]
fn ask(sites: &Sites, thread: u32, share: u32, stop: &AtomicBool, pages: &AtomicU64) {
    let hosts = sites.hosts();
    let mut lines: Vec<(TcpStream, &str)> = Vec::new();
    for n in 0..share {
        let host = &hosts[((thread * share + n) as usize) % hosts.len()];
        lines.push((TcpStream::connect(host.address).expect("the site accepts"), &host.name));
    }
    let mut buffer = vec![0; 1 << 16];
    let mut page = thread;
    while !stop.load(Ordering::Relaxed) {
        for (stream, name) in &mut lines {
            page = page % 199 + 1;
            let request = format!(
                "GET /p/{page} HTTP/1.1\r\nHost: {name}\r\nUser-Agent: speed/1.0 (+mailto:me@example.org)\r\n\r\n"
            );
            stream.write_all(request.as_bytes()).expect("the site reads");
        }
        for (stream, _) in &mut lines {
            let mut read = 0;
            let mut whole = usize::MAX;
            while read < whole {
                let count = stream.read(&mut buffer[read..]).expect("the site answers");
                assert!(count > 0, "the site keeps the connection");
                read += count;
                whole = length(&buffer[..read]).unwrap_or(usize::MAX);
            }
            pages.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// How long an answer is, if its head is there.
fn length(answer: &[u8]) -> Option<usize> {
    let head = answer.windows(4).take(1024).position(|four| four == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&answer[..head]).ok()?;
    let length = text.split("Content-Length: ").nth(1)?.split('\r').next()?;
    Some(head + length.parse::<usize>().ok()?)
}

/// CPU seconds of this process's thread of that name.
fn cpu_of(name: &str) -> f64 {
    let mut total = 0.0;
    for task in std::fs::read_dir("/proc/self/task").expect("a Linux machine").flatten() {
        let read = |file: &str| std::fs::read_to_string(task.path().join(file)).unwrap_or_default();
        if read("comm").trim() == name {
            // Nanoseconds on a CPU, first field of schedstat.
            let stat = read("schedstat");
            total +=
                stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9;
        }
    }
    total
}

fn write(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

const CLIENTS: u32 = 2;
