//! Certificates with one fault each, made anew for each zoo.

use std::net::Ipv4Addr;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;

use crate::sites::StartError;

/// What is wrong with a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certificate {
    /// Nothing.
    Good,
    /// Its time is over.
    Expired,
    /// Its time has not come.
    NotYet,
    /// It is for another host.
    OtherName,
    /// It is signed by itself.
    SelfSigned,
    /// It is signed by an authority that nobody knows.
    UnknownIssuer,
    /// Its own key doesn't fit the signature of the handshake.
    OtherKey,
}

/// The authority that the zoo's guests are told to believe, and one that they aren't.
pub(super) struct Authorities {
    /// For the guests.
    pub(super) pem: String,
    known: Issuer<'static, KeyPair>,
    unknown: Issuer<'static, KeyPair>,
}

impl Authorities {
    pub(super) fn new() -> Result<Authorities, StartError> {
        let (pem, known) = authority("curtsy zoo, for tests")?;
        let (_, unknown) = authority("nobody you know")?;
        Ok(Authorities { pem, known, unknown })
    }

    /// What a host at this address speaks TLS with.
    pub(super) fn server(
        &self,
        fault: Certificate,
        address: Ipv4Addr,
        alpn: &[u8],
    ) -> Result<Arc<ServerConfig>, StartError> {
        let subject = match fault {
            Certificate::OtherName => "elsewhere.test".to_owned(),
            _ => address.to_string(),
        };
        let mut params = CertificateParams::new(vec![subject])?;
        match fault {
            Certificate::Expired => params.not_after = date_time_ymd(2020, 1, 1),
            Certificate::NotYet => params.not_before = date_time_ymd(3000, 1, 1),
            _ => {}
        }
        let key = KeyPair::generate()?;
        let certificate = match fault {
            Certificate::SelfSigned => params.self_signed(&key)?,
            Certificate::UnknownIssuer => params.signed_by(&key, &self.unknown)?,
            _ => params.signed_by(&key, &self.known)?,
        };
        let signs = match fault {
            Certificate::OtherKey => KeyPair::generate()?,
            _ => key,
        };
        let der = PrivateKeyDer::try_from(signs.serialize_der())
            .map_err(|why| StartError::Tls(why.to_owned()))?;
        let wrong = |error: rustls::Error| StartError::Tls(error.to_string());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let signing = provider.key_provider.load_private_key(der).map_err(wrong)?;
        let chain = vec![certificate.der().clone()];
        let certified = rustls::sign::CertifiedKey::new(chain, signing);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(wrong)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(certified)));
        config.alpn_protocols = vec![alpn.to_vec()];
        Ok(Arc::new(config))
    }
}

fn authority(name: &str) -> Result<(String, Issuer<'static, KeyPair>), StartError> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate()?;
    let pem = params.self_signed(&key)?.pem();
    Ok((pem, Issuer::new(params, key)))
}
