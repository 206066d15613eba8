//! Certificates of the test servers, made anew for each run by an authority whose certificate the
//! clients are given, and the faults that a certificate of the zoo can have.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;

use crate::StartError;

/// Signs the certificates of a server's hosts.
pub(crate) struct TestAuthority {
    /// Its own certificate, for clients.
    pub(crate) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// What is wrong with a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CertificateFault {
    None,
    /// It has expired.
    Expired,
    /// It is not valid yet.
    NotYet,
    /// It is for another host.
    OtherName,
    /// It is signed by its own key.
    SelfSigned,
    /// It is signed by an authority that the client does not know.
    UnknownIssuer,
    /// The handshake is signed by another key than the certificate's.
    OtherKey,
}

impl TestAuthority {
    pub(crate) fn new(name: &str) -> Result<TestAuthority, StartError> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate()?;
        let pem = params.self_signed(&key)?.pem();
        Ok(TestAuthority { pem, issuer: Issuer::new(params, key) })
    }

    /// Returns what a server uses TLS with: one certificate for all of these names.
    pub(crate) fn server(
        &self,
        names: Vec<String>,
        fault: CertificateFault,
        alpn: &[u8],
    ) -> Result<Arc<ServerConfig>, StartError> {
        let names = if fault == CertificateFault::OtherName {
            vec!["elsewhere.test".to_owned()]
        } else {
            names
        };
        let mut params = CertificateParams::new(names)?;
        match fault {
            CertificateFault::Expired => params.not_after = date_time_ymd(2020, 1, 1),
            CertificateFault::NotYet => params.not_before = date_time_ymd(3000, 1, 1),
            _ => {}
        }
        let key = KeyPair::generate()?;
        let certificate = match fault {
            CertificateFault::SelfSigned => params.self_signed(&key)?,
            _ => params.signed_by(&key, &self.issuer)?,
        };
        let signs = if fault == CertificateFault::OtherKey { KeyPair::generate()? } else { key };
        let der = PrivateKeyDer::try_from(signs.serialize_der())
            .map_err(|why| StartError::Tls(why.to_owned()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        // The key is not compared with the certificate's: `OtherKey` needs that.
        let signing = provider.key_provider.load_private_key(der)?;
        let chain = vec![certificate.der().clone()];
        let certified = rustls::sign::CertifiedKey::new(chain, signing);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(certified)));
        config.alpn_protocols = vec![alpn.to_vec()];
        Ok(Arc::new(config))
    }
}

impl From<rcgen::Error> for StartError {
    fn from(error: rcgen::Error) -> StartError {
        StartError::Tls(error.to_string())
    }
}

impl From<rustls::Error> for StartError {
    fn from(error: rustls::Error) -> StartError {
        StartError::Tls(error.to_string())
    }
}
