//! The HTTP clients behind an [`Outbound`](super::Outbound): one without a proxy, one with the
//! proxies of the environment.

use std::error::Error;
use std::sync::{Arc, OnceLock};

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use turnbuckle_types::base::error_chain::ErrorChain;
use turnbuckle_types::base::host::is_loopback;
use url::{Host, Url};

use super::policy::{self, CheckedResolver, UrlPolicy};
use super::{OutboundError, OutboundSettings};

/// The variables that name a proxy.
const PROXY_VARIABLES: [&str; 6] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
];

/// HTTP clients that connect only to addresses that the policy allows.
pub(super) struct HttpClients {
    policy: Arc<UrlPolicy>,
    roots: Vec<CertificateDer<'static>>,
    needs_roots: bool,
    proxy_hosts: Arc<[String]>,
    has_proxy: bool,
    /// Built with the first request, because the system's certificates take a while to read.
    clients: OnceLock<Result<ClientPair, OutboundError>>,
}

struct ClientPair {
    direct: reqwest::Client,
    proxied: reqwest::Client,
}

impl HttpClients {
    /// Reads the certificates and the proxies of the settings.
    pub(super) fn new(
        server: &Url,
        policy: Arc<UrlPolicy>,
        settings: &OutboundSettings,
    ) -> Result<Self, OutboundError> {
        let mut roots = Vec::new();
        for pem in &settings.extra_roots_pem {
            let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
            match read {
                Ok(certificates) if !certificates.is_empty() => roots.extend(certificates),
                _ => {
                    let reason = "there is no certificate in a PEM text of the settings";
                    return Err(OutboundError::Setup {
                        reason: reason.to_owned(),
                    });
                }
            }
        }
        let proxies = if settings.use_env_proxy {
            env_proxies()
        } else {
            Vec::new()
        };
        Ok(Self {
            policy,
            roots,
            needs_roots: server.scheme() == "https",
            has_proxy: !proxies.is_empty(),
            proxy_hosts: proxies
                .iter()
                .filter_map(|proxy| proxy_host(proxy))
                .collect(),
            clients: OnceLock::new(),
        })
    }

    /// Returns the client for requests to `host`.
    pub(super) fn get(&self, host: &Host<String>) -> Result<&reqwest::Client, OutboundError> {
        let clients = self.clients.get_or_init(|| self.build());
        let clients = clients.as_ref().map_err(Clone::clone)?;
        // The name of a proxy is not checked when the proxy is looked up, so no URL may use that.
        let is_proxy = match host {
            Host::Domain(name) => self.proxy_hosts.contains(name),
            Host::Ipv4(_) | Host::Ipv6(_) => false,
        };
        match self.has_proxy && !is_proxy && !is_loopback(&host.to_string()) {
            true => Ok(&clients.proxied),
            false => Ok(&clients.direct),
        }
    }

    fn build(&self) -> Result<ClientPair, OutboundError> {
        let setup = |error: &(dyn Error + 'static)| OutboundError::Setup {
            reason: ErrorChain(error).to_string(),
        };
        let tls = self.tls().map_err(|error| setup(&error))?;
        let builder = |proxy_hosts: Arc<[String]>| {
            let policy = Arc::clone(&self.policy);
            reqwest::Client::builder()
                .tls_backend_preconfigured(tls.clone())
                .dns_resolver(CheckedResolver {
                    policy,
                    proxy_hosts,
                })
                .redirect(reqwest::redirect::Policy::none())
                .referer(false)
                .user_agent(concat!("turnbuckle/", env!("CARGO_PKG_VERSION")))
                // A POST with a refresh token must not get lost on a connection that was idle.
                .pool_max_idle_per_host(0)
        };
        let direct = builder(Arc::new([])).no_proxy().build();
        let direct = direct.map_err(|error| setup(&error))?;
        let proxied = match self.has_proxy {
            true => builder(Arc::clone(&self.proxy_hosts))
                .build()
                .map_err(|error| setup(&error))?,
            false => direct.clone(),
        };
        Ok(ClientPair { direct, proxied })
    }

    fn tls(&self) -> Result<rustls::ClientConfig, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let roots = self.roots.clone();
        let verifier = rustls_platform_verifier::Verifier::new_with_extra_roots(roots, provider);
        let builder = match verifier {
            Ok(verifier) => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier)),
            Err(error) if self.needs_roots => return Err(error),
            // A server on this machine works on a system without certificates.
            Err(_) => builder.with_root_certificates(RootCertStore::empty()),
        };
        Ok(builder.with_no_client_auth())
    }
}

fn env_proxies() -> Vec<String> {
    let values = PROXY_VARIABLES
        .iter()
        .filter_map(|name| std::env::var(name).ok());
    values.filter(|value| !value.is_empty()).collect()
}

/// Returns the name of a proxy's host. Proxies without a scheme are `http:`.
fn proxy_host(proxy: &str) -> Option<String> {
    let url = match proxy.contains("://") {
        true => Url::parse(proxy),
        false => Url::parse(&format!("http://{proxy}")),
    };
    match policy::normalize(url.ok()?.host()?) {
        Host::Domain(name) => Some(name),
        Host::Ipv4(_) | Host::Ipv6(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_proxies_are_found() {
        assert_eq!(
            proxy_host("http://user:pass@Proxy.Corp:3128").as_deref(),
            Some("proxy.corp")
        );
        assert_eq!(proxy_host("proxy.corp:3128").as_deref(), Some("proxy.corp"));
        assert_eq!(proxy_host("http://10.0.0.1:3128"), None);
    }
}
