//! The HTTP clients that are used unless another is given: bare sockets where nothing is secured or
//! stands in between, else reqwest, which has TLS and proxies.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use reqwest::redirect::Policy;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use tower_service::Service;

use super::http::{HttpClient, HttpFailure, RequestBody, chain};
use super::options::HttpClientOptions;
use super::target::{InvalidTarget, Target};
use super::wire::Plain;

/// Who asks.
pub(crate) const AGENT: &str = concat!("turnbuckle/", env!("CARGO_PKG_VERSION"));

/// How often the system asks a quiet connection whether it still stands.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// Whom to trust, and as whom to come.
#[derive(Clone, Default)]
pub(crate) struct Tls {
    authorities: Vec<CertificateDer<'static>>,
    identity: Option<Arc<Identity>>,
}

struct Identity {
    certificates: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Tls {
    /// Trusts the certificates in `pem` too.
    pub(crate) fn trust(&mut self, pem: &[u8]) -> Result<(), InvalidTarget> {
        self.authorities.extend(certificates(pem)?);
        Ok(())
    }

    /// Comes with the certificate and the key in `pem`.
    pub(crate) fn come_as(&mut self, pem: &[u8]) -> Result<(), InvalidTarget> {
        let key = PrivateKeyDer::from_pem_slice(pem)
            .map_err(|_| InvalidTarget::new("there is no private key in this PEM text"))?;
        let certificates = certificates(pem)?;
        self.identity = Some(Arc::new(Identity { certificates, key }));
        Ok(())
    }

    /// How connections are secured: to a server, if that is `secure`, and to a proxy.
    fn config(&self, secure: bool) -> Result<ClientConfig, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?;
        let verifier = Verifier::new_with_extra_roots(self.authorities.clone(), provider);
        let builder = match verifier {
            Ok(verifier) => {
                let builder = builder.dangerous();
                builder.with_custom_certificate_verifier(Arc::new(verifier))
            }
            Err(error) if secure => return Err(error),
            // Most proxies are not secured, so a system without certificates is no obstacle.
            Err(_) => builder.with_root_certificates(RootCertStore::empty()),
        };
        match &self.identity {
            Some(identity) => builder
                .with_client_auth_cert(identity.certificates.clone(), identity.key.clone_key()),
            None => Ok(builder.with_no_client_auth()),
        }
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, InvalidTarget> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match read {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ => Err(InvalidTarget::new(
            "there is no certificate in this PEM text",
        )),
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("authorities", &self.authorities.len())
            .field("identity", &self.identity.is_some())
            .finish()
    }
}

/// A client that reaches `target` over sockets.
pub(crate) fn client(
    target: &Target,
    tls: &Tls,
    options: &HttpClientOptions,
) -> Result<HttpClient, HttpFailure> {
    let proxied = options.env_proxy && !target.is_loopback();
    if !proxied && !target.is_secure() {
        let plain = Plain::new(options);
        return Ok(HttpClient::plain(plain));
    }
    let tls = tls.config(target.is_secure());
    let tls = tls.map_err(|error| HttpFailure::unreachable(chain(&error)))?;
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(Policy::none())
        .referer(false)
        .user_agent(AGENT)
        .connect_timeout(options.connect_timeout)
        .tcp_nodelay(true)
        .tcp_keepalive(KEEP_ALIVE)
        .pool_max_idle_per_host(options.max_idle)
        .pool_idle_timeout(options.idle_timeout);
    if !proxied {
        builder = builder.no_proxy();
    }
    let client = builder.build().map_err(failure)?;
    Ok(HttpClient::new(Socket(client)))
}

#[derive(Clone)]
struct Socket(reqwest::Client);

impl Service<Request<RequestBody>> for Socket {
    type Response = Response<reqwest::Body>;
    type Error = HttpFailure;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, HttpFailure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HttpFailure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let client = self.0.clone();
        Box::pin(async move {
            let request = request.map(|body| body.bytes().clone());
            let request = request.try_into().map_err(failure)?;
            let answer = client.execute(request).await.map_err(failure)?;
            Ok(answer.into())
        })
    }
}

fn failure(error: reqwest::Error) -> HttpFailure {
    let early = error.is_connect() || error.is_builder();
    let bound = match error.is_connect() && error.is_timeout() {
        true => " (HttpClientOptions::connect_timeout)",
        false => "",
    };
    // A URL may hold a secret.
    let reason = chain(&error.without_url()) + bound;
    if early {
        HttpFailure::unreachable(reason)
    } else {
        HttpFailure::broken(reason)
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
    use rustls::ServerConfig;
    use tokio_rustls::{TlsAcceptor, TlsConnector};

    use super::*;

    /// An authority, and the end of a server that it vouches for.
    fn vouched() -> (String, TlsAcceptor) {
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

    #[tokio::test(start_paused = true)]
    async fn a_secured_connection_has_to_stand_in_time() {
        // Connections are taken by the system, and nobody ever says anything on them.
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/mcp", silent.local_addr().unwrap());
        let options = HttpClientOptions::new().connect_timeout(Duration::from_secs(3));
        let target = Target::parse(&url).unwrap();
        let client = client(&target, &Tls::default(), &options).unwrap();
        let mut request = Request::new(RequestBody::default());
        *request.uri_mut() = url.parse().unwrap();
        let failure = client.ask(request).await.unwrap_err();
        let said = failure.to_string();
        assert!(
            said.contains("(HttpClientOptions::connect_timeout)"),
            "{said}"
        );
        assert_eq!(failure, HttpFailure::unreachable(said));
    }

    #[tokio::test]
    async fn a_secured_proxy_is_trusted_for_whatever_is_behind_it() {
        let (authority, acceptor) = vouched();
        let mut tls = Tls::default();
        tls.trust(authority.as_bytes()).unwrap();
        for secure in [true, false] {
            let connector = TlsConnector::from(Arc::new(tls.config(secure).unwrap()));
            let (near, far) = tokio::io::duplex(64 << 10);
            let name = "proxy.example".try_into().unwrap();
            let (joined, _) = tokio::join!(connector.connect(name, near), acceptor.accept(far));
            assert!(joined.is_ok(), "secure: {secure}");
        }
    }
}
