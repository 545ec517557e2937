//! HTTP requests to URLs that came from the wire: metadata documents, endpoints, keys.
//!
//! A server chooses these URLs, so it could try to reach hosts that only this machine can reach.
//! Each URL, each redirect and each address is checked against the address of the MCP server that
//! the user chose, which is that of the connection that the server was reached over; bodies and times are bounded. Every request of this crate goes through
//! [`Outbound`].
//!
//! With a proxy from the environment, the proxy looks up the names: only addresses in URLs are
//! checked then, and the proxy must refuse the others itself.
//!
//! Security best practices, "Server-Side Request Forgery (SSRF)".

mod address;
mod document_client;
mod error;
mod http_clients;
mod policy;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderValue, Method};
use serde::Serialize;
use turnbuckle_types::base::error_chain::ErrorChain;
use turnbuckle_types::base::text::is_ambiguous_in_url;
use url::Url;

pub use document_client::{Document, DocumentClient, DocumentError};
pub(crate) use error::{OutboundError, display_url, display_url_text};
use http_clients::HttpClients;
use policy::{AddressRefused, UrlPolicy};
pub(crate) use policy::{Lookup, is_https_or_loopback};

/// The most redirects that a GET follows.
const MAX_REDIRECTS: usize = 3;

/// The settings of an [`Outbound`].
#[derive(Clone)]
pub(crate) struct OutboundSettings {
    /// The time for a whole request: lookup, connection, redirects and body.
    pub(crate) timeout: Duration,
    /// The longest body.
    pub(crate) max_body_bytes: usize,
    /// PEM texts with certificates that are trusted beside those of the system.
    pub(crate) extra_roots_pem: Vec<Vec<u8>>,
    /// True if the proxies of the environment are used. Loopback hosts never go through a proxy.
    pub(crate) use_env_proxy: bool,
    /// Origins to which `http://` is allowed though they are not on this machine, for development.
    pub(crate) plain_http_origins: Vec<Url>,
    /// A replacement of the system's name lookup.
    pub(crate) lookup: Option<Lookup>,
}

impl Default for OutboundSettings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            max_body_bytes: 256 << 10,
            extra_roots_pem: Vec::new(),
            use_env_proxy: true,
            plain_http_origins: Vec::new(),
            lookup: None,
        }
    }
}

/// The answer to a request.
#[derive(Debug, Clone)]
pub(crate) struct OutboundResponse {
    /// The status code.
    pub(crate) status: u16,
    /// The headers.
    pub(crate) headers: HeaderMap,
    /// The body.
    pub(crate) body: Bytes,
    /// The URL that answered, after redirects.
    pub(crate) url: Url,
}

/// An HTTP client for URLs from the wire. Clones share their connections.
#[derive(Clone)]
pub(crate) struct Outbound(Arc<Inner>);

struct Inner {
    policy: Arc<UrlPolicy>,
    settings: OutboundSettings,
    clients: HttpClients,
}

struct OutboundRequest {
    method: Method,
    headers: HeaderMap,
    body: Bytes,
}

impl Outbound {
    /// Creates a client for the URLs that the MCP server at `server` names. The address of the
    /// server decides which addresses its URLs may have.
    ///
    /// # Errors
    /// Fails when there is no certificate in a PEM text of the settings.
    pub(crate) fn new(server: &Url, settings: OutboundSettings) -> Result<Self, OutboundError> {
        let lookup = settings.lookup.clone();
        let policy = Arc::new(UrlPolicy::new(server, &settings.plain_http_origins, lookup));
        let clients = HttpClients::new(server, Arc::clone(&policy), &settings)?;
        Ok(Self(Arc::new(Inner {
            policy,
            settings,
            clients,
        })))
    }

    /// Takes in the address to which another HTTP client sent a request to the MCP server, or `None`
    /// if it is unknown. A server that was reached at a public address cannot name private ones,
    /// whatever its name has for addresses by now.
    pub(crate) fn note_connection(&self, address: Option<IpAddr>) {
        self.0.policy.note_connection(address);
    }

    /// Checks the scheme and the form of a URL, but no address. For URLs that a browser opens.
    ///
    /// # Errors
    /// Fails with [`OutboundError::Refused`].
    pub(crate) fn check_url(&self, url: &str) -> Result<Url, OutboundError> {
        let refused = |reason: String| OutboundError::Refused {
            url: display_url_text(url),
            reason,
        };
        // A URL parser drops or replaces these, and others may read the text in another way.
        if url.contains(is_ambiguous_in_url) {
            return Err(refused(
                "it holds white space, a control character or a backslash".to_owned(),
            ));
        }
        let parsed = Url::parse(url).map_err(|error| refused(error.to_string()))?;
        self.0.policy.check_url(&parsed).map_err(refused)?;
        Ok(parsed)
    }

    /// Fetches a JSON document. Follows at most three redirects and checks each.
    ///
    /// # Errors
    /// Fails when the URL is refused, or without a whole answer. A status like 404 is no error.
    pub(crate) async fn get(&self, url: &str) -> Result<OutboundResponse, OutboundError> {
        self.get_with(url, HeaderMap::new()).await
    }

    /// Fetches a JSON document, with more headers, which are sent to the targets of redirects too.
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    pub(crate) async fn get_with(
        &self,
        url: &str,
        headers: HeaderMap,
    ) -> Result<OutboundResponse, OutboundError> {
        self.send(
            url,
            OutboundRequest {
                method: Method::GET,
                headers,
                body: Bytes::new(),
            },
        )
        .await
    }

    /// Sends a form. Follows no redirects.
    ///
    /// # Errors
    /// Fails when the URL is refused, or without a whole answer. A status like 400 is no error.
    pub(crate) async fn post_form(
        &self,
        url: &str,
        form: &[(&str, &str)],
        mut headers: HeaderMap,
    ) -> Result<OutboundResponse, OutboundError> {
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form)
            .finish();
        let content_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, content_type);
        self.send(
            url,
            OutboundRequest {
                method: Method::POST,
                headers,
                body: body.into(),
            },
        )
        .await
    }

    /// Sends a JSON document. Follows no redirects.
    ///
    /// # Errors
    /// As for [`post_form`](Self::post_form).
    pub(crate) async fn post_json(
        &self,
        url: &str,
        body: &impl Serialize,
        mut headers: HeaderMap,
    ) -> Result<OutboundResponse, OutboundError> {
        let body = serde_json::to_vec(body).map_err(|error| OutboundError::InvalidRequest {
            url: display_url_text(url),
            reason: error.to_string(),
        })?;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.send(
            url,
            OutboundRequest {
                method: Method::POST,
                headers,
                body: body.into(),
            },
        )
        .await
    }

    async fn send(
        &self,
        url: &str,
        mut request: OutboundRequest,
    ) -> Result<OutboundResponse, OutboundError> {
        let parsed = self.check_url(url)?;
        let accept = HeaderValue::from_static("application/json");
        request.headers.entry(ACCEPT).or_insert(accept);
        let timeout = self.0.settings.timeout;
        let shown = display_url(&parsed);
        let answer = Box::pin(self.follow(parsed, request));
        match tokio::time::timeout(timeout, answer).await {
            Ok(answer) => answer,
            Err(_) => Err(OutboundError::TimedOut {
                url: shown,
                timeout,
            }),
        }
    }

    async fn follow(
        &self,
        mut url: Url,
        request: OutboundRequest,
    ) -> Result<OutboundResponse, OutboundError> {
        for _ in 0..MAX_REDIRECTS {
            let response = self.send_once(&url, &request).await?;
            match redirect_target(&response, &request) {
                None => return read(response, url, self.0.settings.max_body_bytes).await,
                Some(location) => {
                    let target = url
                        .join(&location)
                        .map_err(|error| OutboundError::Refused {
                            url: display_url_text(&location),
                            reason: format!("a redirect names it: {error}"),
                        })?;
                    url = target;
                }
            }
        }
        let response = self.send_once(&url, &request).await?;
        if redirect_target(&response, &request).is_some() {
            return Err(OutboundError::Refused {
                url: display_url(&url),
                reason: format!("it redirects again after {MAX_REDIRECTS} redirects"),
            });
        }
        read(response, url, self.0.settings.max_body_bytes).await
    }

    async fn send_once(
        &self,
        url: &Url,
        request: &OutboundRequest,
    ) -> Result<reqwest::Response, OutboundError> {
        let refused = |reason: String| OutboundError::Refused {
            url: display_url(url),
            reason,
        };
        let host = self.0.policy.check_url(url).map_err(refused)?;
        let checked = self.0.policy.check_literal(&host).await;
        checked.map_err(|error| refused(error.to_string()))?;
        let response = self
            .0
            .clients
            .get(&host)?
            .request(request.method.clone(), url.clone())
            .headers(request.headers.clone())
            .body(request.body.clone())
            .send();
        response.await.map_err(|error| from_reqwest(error, url))
    }
}

fn redirect_target(response: &reqwest::Response, request: &OutboundRequest) -> Option<String> {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    if request.method != Method::GET || !is_redirect {
        return None;
    }
    Some(response.headers().get(LOCATION)?.to_str().ok()?.to_owned())
}

async fn read(
    mut response: reqwest::Response,
    url: Url,
    max_body_bytes: usize,
) -> Result<OutboundResponse, OutboundError> {
    let too_large = || OutboundError::TooLarge {
        url: display_url(&url),
        max_body_bytes,
    };
    let max_length = u64::try_from(max_body_bytes).unwrap_or(u64::MAX);
    if response
        .content_length()
        .is_some_and(|length| length > max_length)
    {
        return Err(too_large());
    }
    let mut body = BytesMut::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| from_reqwest(error, &url))?
    {
        if body.len() + chunk.len() > max_body_bytes {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    let status = response.status().as_u16();
    let headers = std::mem::take(response.headers_mut());
    Ok(OutboundResponse {
        status,
        headers,
        body: body.freeze(),
        url,
    })
}

fn from_reqwest(error: reqwest::Error, url: &Url) -> OutboundError {
    let error = error.without_url();
    let url = display_url(url);
    let mut sources = ErrorChain(&error).errors();
    if let Some(refused) = sources.find_map(|it| it.downcast_ref::<AddressRefused>()) {
        let reason = refused.to_string();
        return OutboundError::Refused { url, reason };
    }
    match error.is_builder() {
        true => OutboundError::InvalidRequest {
            url,
            reason: ErrorChain(&error).to_string(),
        },
        false => OutboundError::Unreachable {
            url,
            reason: ErrorChain(&error).to_string(),
        },
    }
}
