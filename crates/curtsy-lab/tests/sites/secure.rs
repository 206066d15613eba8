//! Sites that speak TLS, and handshakes that are kept waiting.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use curtsy_judge::LogScheme;
use curtsy_lab::sites::{Host, Listen, Range, Scene, Sites, SitesSettings};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::client::serve;

#[expect(clippy::disallowed_methods, reason = "a test's client")]
fn talk(sites: &Sites, port: u16, host: usize, name: &str, request: &str) -> String {
    let mut roots = RootCertStore::empty();
    let pem = sites.ca_pem().unwrap();
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let session = ClientConnection::new(Arc::new(config), name).unwrap();
    let ip = *sites.hosts()[host].address.ip();
    let mut stream = StreamOwned::new(session, TcpStream::connect((ip, port)).unwrap());
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_host_speaks_tls_by_its_name_and_its_address() {
    let mut both = Host::named("a.test").pages(3, 2, 200_000);
    both.listen = Listen::Both;
    both.handshake = Range::ms(10, 20);
    let sites = serve([both]);
    assert_ne!(sites.port(), sites.tls_port());
    let ip = sites.hosts()[0].address.ip().to_string();
    for name in ["a.test", &ip] {
        let request = format!("GET /p/1 HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n");
        let text = talk(&sites, sites.tls_port(), 0, name, &request);
        assert!(text.starts_with("HTTP/1.1 200 OK") && text.ends_with("</html>\n"), "{text}");
        assert!(text.len() > 200_000);
    }
    let log = sites.log();
    assert!(
        log.iter().all(|line| line.scheme == LogScheme::Https && line.port == sites.tls_port())
    );
    assert!(log.iter().all(|line| line.complete));
    assert_eq!(super::client::Client::of(&sites, 0).get("/p/2").status, 200);
}

#[test]
fn a_slow_handshake_is_no_late_read() {
    let scene = Scene::slow_handshakes(4, 3, 500);
    let sites = Sites::start(scene, SitesSettings::default()).unwrap();
    std::thread::scope(|scope| {
        for host in 0..4 {
            let sites = &sites;
            scope.spawn(move || {
                let name = format!("h{host}.test");
                let request =
                    format!("GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n");
                assert!(talk(sites, sites.tls_port(), host, &name, &request).contains("200 OK"));
            });
        }
    });
    let stalled = sites.health().stalls.count > 0;
    assert!(stalled || sites.log().iter().all(|line| !line.read_late));
    assert_eq!(sites.log().len(), 4);
}
