//! A certificate authority of our own, made anew for each set of sites: who is to believe it is given its certificate.

use std::net::Ipv4Addr;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;

use super::StartError;

/// What a set of sites speaks TLS with.
pub(super) struct Authority {
    /// Its own certificate, for clients.
    pub(super) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(super) fn new() -> Result<Authority, StartError> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "curtsy site, for tests");
        let key = KeyPair::generate()?;
        let pem = params.self_signed(&key)?.pem();
        Ok(Authority { pem, issuer: Issuer::new(params, key) })
    }

    /// One certificate for all hosts of an address, by their names and by the address itself.
    pub(super) fn server(
        &self,
        names: &[String],
        address: Ipv4Addr,
    ) -> Result<Arc<ServerConfig>, StartError> {
        let mut subjects: Vec<String> =
            names.iter().filter(|name| !name.is_empty()).cloned().collect();
        subjects.push(address.to_string());
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(subjects)?.signed_by(&key, &self.issuer)?;
        let key = PrivateKeyDer::try_from(key.serialize_der())
            .map_err(|why| StartError::Tls(why.to_owned()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                builder.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key)
            })
            .map_err(|error| StartError::Tls(error.to_string()))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

impl From<rcgen::Error> for StartError {
    fn from(error: rcgen::Error) -> StartError {
        StartError::Tls(error.to_string())
    }
}
