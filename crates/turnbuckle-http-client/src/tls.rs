//! TLS settings of a client: trusted certificates, and the client's own.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls_platform_verifier::Verifier;
use turnbuckle_types::base::debug_fields;

/// The certificates that a client trusts beside those of the system, and its own.
#[derive(Clone, Default)]
pub struct TlsSettings {
    roots: Vec<CertificateDer<'static>>,
    identity: Option<Arc<Identity>>,
}

struct Identity {
    certificates: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl TlsSettings {
    /// Adds the certificates in `pem` to those that are trusted.
    ///
    /// # Errors
    /// Fails when there is no certificate.
    pub fn add_roots(&mut self, pem: &[u8]) -> Result<(), InvalidPem> {
        self.roots.extend(certificates(pem)?);
        Ok(())
    }

    /// Sets the client's own certificate and key to those in `pem`.
    ///
    /// # Errors
    /// Fails when there is no certificate or no key.
    pub fn set_identity(&mut self, pem: &[u8]) -> Result<(), InvalidPem> {
        let key = PrivateKeyDer::from_pem_slice(pem).map_err(|_| InvalidPem("private key"))?;
        let certificates = certificates(pem)?;
        self.identity = Some(Arc::new(Identity { certificates, key }));
        Ok(())
    }

    /// Returns the TLS configuration of connections to a server and to its proxy. The provider of
    /// cryptography is named: the one of the process belongs to the program.
    pub(crate) fn client_config(&self) -> Result<ClientConfig, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = Verifier::new_with_extra_roots(self.roots.clone(), provider.clone())?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        match &self.identity {
            Some(identity) => builder
                .with_client_auth_cert(identity.certificates.clone(), identity.key.clone_key()),
            None => Ok(builder.with_no_client_auth()),
        }
    }
}

/// The reason why a PEM text cannot be used. The text holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no {0} in this PEM text")]
pub struct InvalidPem(&'static str);

/// Reads the certificates in `pem`: at least one.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, InvalidPem> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates = read.ok().filter(|certificates| !certificates.is_empty());
    certificates.ok_or(InvalidPem("certificate"))
}

debug_fields!(TlsSettings {
    roots = |it| it.roots.len(),
    identity = |it| it.identity.is_some(),
});
