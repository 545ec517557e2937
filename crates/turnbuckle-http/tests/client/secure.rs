//! TLS: whom a connector trusts, and as whom it comes.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig, crypto::ring};
use turnbuckle_http::HttpConnector;

use super::*;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
    content-length: 36\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}";

struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
    store: RootCertStore,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        let mut store = RootCertStore::empty();
        store.add(certificate.der().clone()).unwrap();
        Self {
            pem: certificate.pem(),
            issuer: Issuer::new(params, key),
            store,
        }
    }

    fn issue(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }
}

/// Starts a server with one answer for clients with a certificate of `authority`.
async fn start_server(authority: &Authority) -> (String, JoinHandle<()>) {
    let (certificate, key) = authority.issue("127.0.0.1");
    let provider = Arc::new(ring::default_provider());
    let roots = Arc::new(authority.store.clone());
    let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider.clone());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/mcp", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut buffer = vec![0; 64 << 10];
            if let Ok(1..) = stream.read(&mut buffer).await {
                stream.write_all(ANSWER).await.unwrap();
                let _ = stream.shutdown().await;
            }
        }
    });
    (url, serving)
}

async fn ask(connector: &HttpConnector) -> Result<Value, LinkError> {
    let client = Client::open(connector, Revision::NEWEST).await.unwrap();
    client.request(1, "ping", json!({})).await
}

#[tokio::test]
async fn certificates_are_checked_on_both_ends() {
    let authority = Authority::new();
    let (url, serving) = start_server(&authority).await;
    let (certificate, key) = authority.issue("client");
    let identity = certificate.pem() + &key.serialize_pem();
    let stranger = HttpConnector::new(&url).unwrap();
    let trusting = stranger
        .clone()
        .ca_certificate_pem(authority.pem.as_bytes())
        .unwrap();
    let known = trusting
        .clone()
        .client_identity_pem(identity.as_bytes())
        .unwrap();
    assert!(!format!("{known:?}").contains("PRIVATE"));

    let error = ask(&stranger).await.unwrap_err();
    assert!(matches!(error, LinkError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("certificate"), "{error}");
    let error = ask(&trusting).await.unwrap_err();
    assert!(error.to_string().contains("CertificateRequired"), "{error}");
    ask(&known).await.unwrap();
    serving.abort();
}

#[test]
fn a_text_without_certificate_or_key_is_refused() {
    let connector = HttpConnector::new("https://localhost/").unwrap();
    let (certificate, key) = Authority::new().issue("client");
    let (certificate, key) = (certificate.pem(), key.serialize_pem());
    for (ca, fits) in [
        ("", false),
        ("nonsense", false),
        (&*key, false),
        (&*certificate, true),
    ] {
        assert_eq!(
            connector.clone().ca_certificate_pem(ca.as_bytes()).is_ok(),
            fits
        );
    }
    for identity in ["", &*certificate, &*key] {
        let refused = connector.clone().client_identity_pem(identity.as_bytes());
        assert!(refused.is_err());
    }
}
