//! TLS settings of a connector: trusted certificates, and the client's own.

use std::fmt;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use super::target::ConnectorError;

/// The certificates that a connector trusts beside those of the system, and its own.
#[derive(Clone, Default)]
pub(crate) struct TlsSettings {
    roots: Vec<CertificateDer<'static>>,
    identity: Option<Arc<Identity>>,
}

struct Identity {
    certificates: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl TlsSettings {
    /// Adds the certificates in `pem` to those that are trusted.
    pub(crate) fn add_roots(&mut self, pem: &[u8]) -> Result<(), ConnectorError> {
        self.roots.extend(certificates(pem)?);
        Ok(())
    }

    /// Sets the client's own certificate and key to those in `pem`.
    pub(crate) fn set_identity(&mut self, pem: &[u8]) -> Result<(), ConnectorError> {
        let key = PrivateKeyDer::from_pem_slice(pem)
            .map_err(|_| ConnectorError::new("there is no private key in this PEM text"))?;
        let certificates = certificates(pem)?;
        self.identity = Some(Arc::new(Identity { certificates, key }));
        Ok(())
    }

    /// Returns the TLS configuration of connections to a server and to its proxy. Unless the server
    /// `is_secure`, a system without certificates is no error.
    pub(crate) fn client_config(&self, is_secure: bool) -> Result<ClientConfig, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?;
        let verifier = Verifier::new_with_extra_roots(self.roots.clone(), provider);
        let builder = match verifier {
            Ok(verifier) => {
                let builder = builder.dangerous();
                builder.with_custom_certificate_verifier(Arc::new(verifier))
            }
            Err(error) if is_secure => return Err(error),
            // Only a proxy may use TLS here, and most do not.
            Err(_) => builder.with_root_certificates(RootCertStore::empty()),
        };
        match &self.identity {
            Some(identity) => builder
                .with_client_auth_cert(identity.certificates.clone(), identity.key.clone_key()),
            None => Ok(builder.with_no_client_auth()),
        }
    }
}

/// Reads the certificates in `pem`: at least one.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, ConnectorError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match read {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ => Err(ConnectorError::new(
            "there is no certificate in this PEM text",
        )),
    }
}

impl fmt::Debug for TlsSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsSettings")
            .field("roots", &self.roots.len())
            .field("identity", &self.identity.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
    use rustls::ServerConfig;
    use tokio_rustls::{TlsAcceptor, TlsConnector};

    use super::*;

    /// Returns a certificate authority, and a TLS server with a certificate of that authority.
    fn certified_server() -> (String, TlsAcceptor) {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let authority = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["proxy.example".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key);
        (authority, TlsAcceptor::from(Arc::new(config.unwrap())))
    }

    #[tokio::test]
    async fn a_proxy_with_tls_is_trusted_for_secure_and_plain_servers() {
        let (authority, acceptor) = certified_server();
        let mut tls = TlsSettings::default();
        tls.add_roots(authority.as_bytes()).unwrap();
        for is_secure in [true, false] {
            let connector = TlsConnector::from(Arc::new(tls.client_config(is_secure).unwrap()));
            let (near, far) = tokio::io::duplex(64 << 10);
            let name = "proxy.example".try_into().unwrap();
            let (joined, _) = tokio::join!(connector.connect(name, near), acceptor.accept(far));
            assert!(joined.is_ok(), "is_secure: {is_secure}");
        }
    }
}
