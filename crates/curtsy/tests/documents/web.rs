//! The internet as documents know it: a proxy that leads every name of `example.org` and the like to a small site on this machine, over http
//! and https.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::thread;

use curtsy_lab::sites::{Answer, Body, Host, Listen, Scene, Sites, SitesSettings};

pub(crate) struct Web {
    /// The proxy's URL.
    pub(crate) proxy: String,
    /// The certificate that vouches for the sites.
    pub(crate) ca_pem: String,
    _sites: Sites,
}

const NAMES: [&str; 7] = [
    "example.org",
    "www.example.org",
    "docs.example.org",
    "blog.example.org",
    "shop.example.org",
    "example.com",
    "example.net",
];

impl Web {
    pub(crate) fn start() -> Web {
        let here = |name| Host { listen: Listen::Both, ..site(name).at(Ipv4Addr::LOCALHOST) };
        let scene = Scene { hosts: NAMES.map(here).to_vec(), ..Scene::default() };
        let sites = Sites::start(scene, SitesSettings::default()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = format!("http://{}", listener.local_addr().unwrap());
        let ports = (sites.port(), sites.tls_port());
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                thread::spawn(move || drop(serve(client, ports)));
            }
        });
        Web { proxy, ca_pem: sites.ca_pem().unwrap().to_owned(), _sites: sites }
    }
}

/// A small site.
fn site(name: &str) -> Host {
    let page = |path: &str, title: &str, links: &[&str]| Answer::page(path, title, "", links);
    let home = ["/about", "/contact", "/blog/", "/private/", "/missing"];
    Host::named(name)
        .robots(&format!(
            "User-agent: *\nDisallow: /private/\nSitemap: https://{name}/sitemap.xml\n"
        ))
        .says_unlinked(Answer {
            content_type: Some("application/xml".to_owned()),
            ..Answer::to("/sitemap.xml").body(Body::Text(sitemap(name)))
        })
        .says_unlinked(page("/", "Home", &home))
        .says_unlinked(page("/about", "About us", &["/"]))
        .says_unlinked(page("/contact", "Contact", &["/"]))
        .says_unlinked(page("/blog/", "Blog", &["/blog/1", "/blog/2"]))
        .says_unlinked(page("/blog/1", "First post", &["/blog/"]))
        .says_unlinked(page("/blog/2", "Second post", &["/blog/"]))
        .says_unlinked(page("/private/", "Private", &[]))
}

fn sitemap(name: &str) -> String {
    let paths = ["/", "/about", "/contact", "/blog/", "/blog/1", "/blog/2"];
    let urls = paths.map(|path| format!("<url><loc>https://{name}{path}</loc></url>")).concat();
    format!("<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{urls}</urlset>")
}

#[expect(clippy::disallowed_methods, reason = "the test's own proxy, on loopback")]
/// One client of the proxy: a tunnel for https, a request with a whole URL for http.
fn serve(mut client: TcpStream, (plain, secure): (u16, u16)) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && head.len() < 16_384 {
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    if head.starts_with("CONNECT ") {
        let server = TcpStream::connect(("127.0.0.1", secure))?;
        client.write_all(b"HTTP/1.1 200 Connected\r\n\r\n")?;
        return join(client, server);
    }
    // `GET http://example.org/about HTTP/1.1`: the site itself is asked for `/about`.
    let (line, rest) = head.split_once("\r\n").unwrap_or((&head, ""));
    let mut words = line.split(' ');
    let (method, url) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let path = url.splitn(4, '/').nth(3).unwrap_or("");
    let mut server = TcpStream::connect(("127.0.0.1", plain))?;
    write!(server, "{method} /{path} HTTP/1.1\r\nConnection: close\r\n{rest}")?;
    join(client, server)
}

/// Carries bytes both ways until either side ends.
fn join(client: TcpStream, server: TcpStream) -> std::io::Result<()> {
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    let up = thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    let (mut from, mut to) = (server, client);
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
    let _ = up.join();
    Ok(())
}
