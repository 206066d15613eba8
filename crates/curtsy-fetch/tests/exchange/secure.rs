//! A certificate authority of the tests, and TLS servers with its certificates.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The authority's certificate, for `--ca-file`.
pub(crate) struct Ca {
    pub(crate) pem: Vec<u8>,
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl Ca {
    pub(crate) fn new() -> Ca {
        let mut params = CertificateParams::new(vec!["ca.test".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        // Two authorities have two names: otherwise a certificate of one is a forgery of the other.
        let name = format!("authority {:02x?}", &key.public_key_raw()[1..9]);
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.self_signed(&key).unwrap();
        let (pem, der) = (certificate.pem().into_bytes(), certificate.der().clone());
        Ca { pem, certificate: der, issuer: Issuer::new(params, key) }
    }

    /// A server's settings with the authority's own certificate, which is for `ca.test`.
    pub(crate) fn itself(&self, alpn: &[&str]) -> Arc<ServerConfig> {
        config(self.certificate.clone(), self.issuer.key(), alpn)
    }

    /// A server's settings with a certificate for these names.
    pub(crate) fn server(&self, names: &[&str], alpn: &[&str]) -> Arc<ServerConfig> {
        self.signed(names, alpn, |_| {})
    }

    /// Returns the same with an expired certificate.
    pub(crate) fn expired(&self, names: &[&str]) -> Arc<ServerConfig> {
        self.signed(names, &[], |params| {
            params.not_before = date_time_ymd(2001, 1, 1);
            params.not_after = date_time_ymd(2002, 1, 1);
        })
    }

    fn signed(
        &self,
        names: &[&str],
        alpn: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> Arc<ServerConfig> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        config(certificate.der().clone(), &key, alpn)
    }
}

/// A server's settings with a certificate.
fn config(certificate: CertificateDer<'static>, key: &KeyPair, alpn: &[&str]) -> Arc<ServerConfig> {
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    Arc::new(config)
}

/// A TLS server. Its script runs in a thread and runtime of its own.
pub(crate) struct SecureSite {
    pub(crate) address: SocketAddr,
    accepted: Arc<AtomicUsize>,
    heard: Arc<Mutex<Vec<String>>>,
}

/// A connection, for a script.
pub(crate) struct SecureTalk {
    pub(crate) stream: TlsStream<tokio::net::TcpStream>,
    pub(crate) heard: Arc<Mutex<Vec<String>>>,
}

impl SecureSite {
    pub(crate) fn new<F>(
        config: Arc<ServerConfig>,
        script: impl Fn(SecureTalk) -> F + Send + Sync + 'static,
    ) -> SecureSite
    where
        F: Future<Output = ()> + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (accepted, heard) = (Arc::new(AtomicUsize::new(0)), Arc::default());
        let (counted, noted) = (Arc::clone(&accepted), Arc::clone(&heard));
        let script = Arc::new(script);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                counted.fetch_add(1, Ordering::SeqCst);
                stream.set_nonblocking(true).unwrap();
                let (config, script) = (Arc::clone(&config), Arc::clone(&script));
                let heard = Arc::clone(&noted);
                std::thread::spawn(move || {
                    super::client::run(async {
                        let stream = tokio::net::TcpStream::from_std(stream).unwrap();
                        if let Ok(stream) = TlsAcceptor::from(config).accept(stream).await {
                            script(SecureTalk { stream, heard }).await;
                        }
                    });
                });
            }
        });
        SecureSite { address, accepted, heard }
    }

    /// Speaks HTTP/1.1 and answers every request with these bytes.
    pub(crate) fn saying(config: Arc<ServerConfig>, answer: Vec<u8>) -> SecureSite {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        SecureSite::new(config, move |mut talk| {
            let answer = answer.clone();
            async move {
                loop {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        match talk.stream.read_u8().await {
                            Ok(byte) => head.push(byte),
                            Err(_) => return,
                        }
                    }
                    talk.heard.lock().unwrap().push(String::from_utf8_lossy(&head).into_owned());
                    if talk.stream.write_all(&answer).await.is_err() {
                        return;
                    }
                    let _ = talk.stream.flush().await;
                }
            }
        })
    }

    /// Speaks HTTP/2 and answers every request with this body.
    pub(crate) fn saying_http2(config: Arc<ServerConfig>, body: &'static [u8]) -> SecureSite {
        SecureSite::new(config, move |talk| async move {
            let Ok(mut connection) = h2::server::handshake(talk.stream).await else { return };
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                let line = format!("{} {}", request.method(), request.uri());
                talk.heard.lock().unwrap().push(line);
                let head = http::Response::builder().header("content-type", "text/html");
                let bare = request.method() == "HEAD";
                let mut send = respond.send_response(head.body(()).unwrap(), bare).unwrap();
                if !bare {
                    send.send_data(bytes::Bytes::from_static(body), true).unwrap();
                }
            }
        })
    }

    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}
