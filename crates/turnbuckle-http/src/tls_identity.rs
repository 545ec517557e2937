//! The certificate and the private key of a server.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use turnbuckle_types::base::debug_fields;

/// The most bytes of a PEM file: a certificate and those of its issuers have some thousand.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The certificate and the private key of a server, for [`HttpServerOptions::tls`](crate::HttpServerOptions::tls). `Debug` shows
/// neither.
///
/// Clones share the certificate: [`replace`](Self::replace) it in one of them while the server runs,
/// for instance when the files have been renewed.
#[derive(Clone)]
pub struct TlsIdentity {
    pub(crate) config: Arc<ServerConfig>,
    current: Arc<CurrentCertificate>,
}

impl TlsIdentity {
    /// Reads the certificate, followed by those of its issuers, and the private key from PEM texts.
    ///
    /// # Errors
    /// When a text holds no certificate or no key, or the key does not belong to the certificate.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> io::Result<Self> {
        let chain: Vec<_> = CertificateDer::pem_slice_iter(certificates)
            .collect::<Result<_, _>>()
            .map_err(|error| invalid(format!("the certificate is no PEM text: {error}")))?;
        if chain.is_empty() {
            return Err(invalid("there is no certificate in the PEM text".into()));
        }
        // The error of the parser is not shown: it may hold a part of the key.
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|_| invalid("there is no private key in the PEM text".into()))?;
        let certified = CertifiedKey::from_der(chain, key, &ring::default_provider())
            .map_err(|error| invalid(format!("the certificate and its key: {error}")))?;
        let current = Arc::new(CurrentCertificate(RwLock::new(Arc::new(certified))));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| invalid(error.to_string()))?
            .with_no_client_auth()
            .with_cert_resolver(current.clone());
        Ok(Self {
            config: Arc::new(config),
            current,
        })
    }

    /// Reads the certificate and the key from PEM files of at most 1 MiB each, as
    /// [`from_pem`](Self::from_pem) does. The files are read once.
    ///
    /// # Errors
    /// When a file cannot be read or is larger ([`io::ErrorKind::FileTooLarge`]), and those of
    /// [`from_pem`](Self::from_pem).
    pub fn from_pem_files(
        certificates: impl AsRef<Path>,
        key: impl AsRef<Path>,
    ) -> io::Result<Self> {
        let read = |path: &Path| {
            let bytes = File::open(path).and_then(read_at_most);
            bytes.map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            })
        };
        Self::from_pem(&read(certificates.as_ref())?, &read(key.as_ref())?)
    }

    /// Replaces the certificate and the key by those of `other`, in all clones. Handshakes that begin
    /// from now on use them; open connections stay.
    pub fn replace(&self, other: &Self) {
        let certified = other.current.certified_key();
        let current = self.current.0.write();
        *current.unwrap_or_else(PoisonError::into_inner) = certified;
    }
}

/// The certificate for the handshakes that begin now.
struct CurrentCertificate(RwLock<Arc<CertifiedKey>>);

impl CurrentCertificate {
    fn certified_key(&self) -> Arc<CertifiedKey> {
        let certified = self.0.read();
        certified.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.certified_key())
    }
}

debug_fields!(CurrentCertificate {});
debug_fields!(TlsIdentity {});

/// Reads a file, or anything else that a path names, up to [`MAX_FILE_BYTES`]: a device has no end.
fn read_at_most(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let text = format!("a PEM file has at most {MAX_FILE_BYTES} bytes, and this one has more");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(bytes)
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> (String, String) {
        let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        (issued.cert.pem(), issued.signing_key.serialize_pem())
    }

    #[test]
    fn an_identity_needs_a_certificate_and_its_key_and_shows_neither() {
        let (certificate, key) = identity();
        let (_, other_key) = identity();
        let read = |certificate: &str, key: &str| {
            TlsIdentity::from_pem(certificate.as_bytes(), key.as_bytes())
        };
        for (certificate, key, expected) in [
            ("", &*key, "no certificate"),
            (&*key, &*key, "no certificate"),
            (&*certificate, "", "no private key"),
            (&*certificate, &*certificate, "no private key"),
            (&*certificate, &*other_key, "the certificate and its key"),
        ] {
            let error = read(certificate, key).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let shown = format!("{:?}", read(&certificate, &key).unwrap());
        assert_eq!(shown, "TlsIdentity { .. }");
        let missing = TlsIdentity::from_pem_files("/nowhere.pem", "/nowhere.key").unwrap_err();
        assert!(missing.to_string().contains("/nowhere.pem"), "{missing}");
    }
    #[test]
    fn a_file_over_the_bound_is_refused_and_one_at_the_bound_is_read() {
        let (certificate, key) = identity();
        let name = format!("turnbuckle-tls-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let files = [folder.join("certificate.pem"), folder.join("key.pem")];
        // Line breaks behind a PEM text are no part of it.
        let read = |added: [usize; 2]| {
            for ((file, text), added) in files.iter().zip([&certificate, &key]).zip(added) {
                let mut bytes = text.clone().into_bytes();
                bytes.resize(1024 * 1024 + added, b'\n');
                std::fs::write(file, bytes).unwrap();
            }
            TlsIdentity::from_pem_files(&files[0], &files[1])
        };
        let results = [[0, 0], [1, 0], [0, 1]].map(read);
        std::fs::remove_dir_all(&folder).unwrap();
        let [at_bound, certificate_over, key_over] = results;
        at_bound.unwrap();
        for (over, name) in [
            (certificate_over, "certificate.pem: "),
            (key_over, "key.pem: "),
        ] {
            let error = over.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
            let text = error.to_string();
            assert!(
                text.contains(name) && text.contains("1048576 bytes"),
                "{text}"
            );
        }
    }
}
