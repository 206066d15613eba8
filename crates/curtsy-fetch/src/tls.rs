//! TLS: trusted authorities, and the causes of failed handshakes.

use std::io;
use std::sync::Arc;

use curtsy_core::host::Problem;
use curtsy_core::url::CrawlUrl;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

use crate::settings::SettingsError;

/// Returns a client that trusts the usual authorities and these, and offers HTTP/2 and HTTP/1.1.
pub(crate) fn config(ca_pem: &[u8], http2: bool) -> Result<Arc<ClientConfig>, SettingsError> {
    let wrong = |e: &dyn std::fmt::Display| SettingsError::CaFile(e.to_string());
    let mut roots = RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    let mut named = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(ca_pem) {
        let certificate = certificate.map_err(|e| wrong(&e))?;
        roots.add(certificate.clone()).map_err(|e| wrong(&e))?;
        named.push(certificate);
    }
    if named.is_empty() && !ca_pem.is_empty() {
        return Err(SettingsError::CaFile("no certificate in it".to_owned()));
    }
    // Explicit, because several crates may set a process default.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let web = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let web = web.build().map_err(|e| wrong(&e))?;
    let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|e| wrong(&e))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Believed { web, named, provider }))
        .with_no_client_auth();
    config.alpn_protocols = match http2 {
        true => vec![H2.to_vec(), HTTP11.to_vec()],
        false => vec![HTTP11.to_vec()],
    };
    Ok(Arc::new(config))
}

/// Trusts certificates by the roots, and a server's own certificate that the user named.
///
/// A self-signed certificate of a test server (`openssl req -x509`) declares itself an authority,
/// which rustls does not accept for a server. The user named this certificate, so it is accepted
/// for the names in it.
#[derive(Debug)]
struct Believed {
    web: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Believed {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let by_roots =
            self.web.verify_server_cert(end_entity, intermediates, server_name, ocsp, now);
        match by_roots {
            Err(rustls::Error::InvalidCertificate(CertificateError::Other(_)))
                if self.named.contains(end_entity) =>
            {
                let certificate = ParsedCertificate::try_from(end_entity)?;
                rustls::client::verify_server_name(&certificate, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.web.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.web.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Returns the name that the certificate of a URL's server must have.
pub(crate) fn server_name(url: &CrawlUrl) -> Result<ServerName<'static>, Problem> {
    match url.ip() {
        Some(ip) => Ok(ServerName::from(ip)),
        None => ServerName::try_from(url.host().as_str().to_owned()).map_err(|_| Problem::Tls),
    }
}

/// Returns the cause of a failed handshake.
pub(crate) fn problem(error: &io::Error) -> Problem {
    let Some(inner) = error.get_ref().and_then(|e| e.downcast_ref::<rustls::Error>()) else {
        // The server closed the connection after our hello.
        return Problem::TlsAbsent;
    };
    match inner {
        rustls::Error::InvalidCertificate(fault) => match fault {
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => Problem::TlsExpired,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Problem::TlsName
            }
            // Also a certificate of an authority that a server uses as its own.
            CertificateError::UnknownIssuer | CertificateError::Other(_) => Problem::TlsIssuer,
            _ => Problem::Tls,
        },
        // The response is no record of TLS.
        rustls::Error::InvalidMessage(_) => Problem::TlsAbsent,
        _ => Problem::Tls,
    }
}

pub(crate) const H2: &[u8] = b"h2";
const HTTP11: &[u8] = b"http/1.1";
