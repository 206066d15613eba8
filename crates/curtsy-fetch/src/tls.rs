//! TLS: whom do we believe, and what went wrong?

use std::io;
use std::sync::Arc;

use curtsy_core::host::Problem;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{CertificateError, ClientConfig, RootCertStore};

use crate::settings::SettingsError;

/// A client that believes the usual authorities and these, and offers HTTP/2 and HTTP/1.1.
pub(crate) fn config(ca_pem: &[u8], http2: bool) -> Result<Arc<ClientConfig>, SettingsError> {
    let mut roots = RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    let mut added = 0;
    for certificate in CertificateDer::pem_slice_iter(ca_pem) {
        let certificate = certificate.map_err(|e| SettingsError::CaFile(e.to_string()))?;
        roots.add(certificate).map_err(|e| SettingsError::CaFile(e.to_string()))?;
        added += 1;
    }
    if added == 0 && !ca_pem.is_empty() {
        return Err(SettingsError::CaFile("no certificate in it".to_owned()));
    }
    // Named, not the process default: several crates may bring one.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| SettingsError::CaFile(e.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = match http2 {
        true => vec![H2.to_vec(), HTTP11.to_vec()],
        false => vec![HTTP11.to_vec()],
    };
    Ok(Arc::new(config))
}

/// What a failed handshake was about.
pub(crate) fn problem(error: &io::Error) -> Problem {
    let inner = error.get_ref().and_then(|e| e.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(fault)) => match fault {
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => Problem::TlsExpired,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Problem::TlsName
            }
            CertificateError::UnknownIssuer => Problem::TlsIssuer,
            _ => Problem::Tls,
        },
        _ => Problem::Tls,
    }
}

pub(crate) const H2: &[u8] = b"h2";
const HTTP11: &[u8] = b"http/1.1";
