//! HTTP requests to URLs that came from the wire: metadata documents, endpoints, keys.
//!
//! A server chooses these URLs, so it could try to reach hosts that only this machine can reach.
//! Each URL, each redirect and each address is checked against the address of the MCP server that
//! the user chose, which is that of the connection that the server was reached over; bodies and times
//! are bounded. Every request of this crate goes through [`Outbound`].
//!
//! A name is looked up once for a request, and the connection goes to an address that was checked.
//! With a proxy from the environment that looks up names itself, only addresses in URLs are checked,
//! and the proxy must refuse the others.
//!
//! Security best practices, "Server-Side Request Forgery (SSRF)".

mod error;
mod policy;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri};
use serde::Serialize;
use turnbuckle_http_client::{
    Client, ClientError, ClientOptions, Lookup, ResponseBody, TlsSettings,
};
use turnbuckle_types::base::text::is_ambiguous_in_url;
use url::Url;

pub(crate) use error::{OutboundError, display_url, display_url_text};
pub(crate) use policy::is_https_or_loopback;
use policy::{NoAddress, UrlPolicy};

/// The most redirects that a GET follows.
const MAX_REDIRECTS: usize = 3;

/// The settings of all requests to authorization servers.
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
    /// The headers of the response.
    pub(crate) headers: HeaderMap,
    /// The whole body, whose size is bounded.
    pub(crate) body: Bytes,
    /// The URL that answered, after redirects.
    pub(crate) url: Url,
}

/// An HTTP client for URLs from the wire. Clones share their connections.
#[derive(Clone)]
pub(crate) struct Outbound(Arc<Inner>);

struct Inner {
    policy: UrlPolicy,
    settings: OutboundSettings,
    client: Client,
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
        let mut tls = TlsSettings::default();
        for pem in &settings.extra_roots_pem {
            tls.add_roots(pem).map_err(|error| OutboundError::Setup {
                reason: format!("{error}, which is one of the settings"),
            })?;
        }
        let client = Client::new(ClientOptions {
            use_env_proxy: settings.use_env_proxy,
            tls,
            // A POST with a refresh token must not get lost on a connection that was idle: none is
            // kept.
            ..ClientOptions::default()
        });
        let lookup = settings.lookup.clone();
        Ok(Self(Arc::new(Inner {
            policy: UrlPolicy::new(server, &settings.plain_http_origins, lookup),
            settings,
            client,
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
    ) -> Result<Response<ResponseBody>, OutboundError> {
        let Inner { policy, client, .. } = &*self.0;
        let shown = || display_url(url);
        let refused = |reason: String| OutboundError::Refused {
            url: shown(),
            reason,
        };
        let host = policy.check_url(url).map_err(refused)?;
        let uri: Uri = url
            .as_str()
            .parse()
            .map_err(
                |error: http::uri::InvalidUri| OutboundError::InvalidRequest {
                    url: shown(),
                    reason: error.to_string(),
                },
            )?;
        let addresses = match client.resolves_host(&uri) {
            true => Some(policy.resolve(&host).await.map_err(|error| match error {
                NoAddress::Refused(reason) => refused(reason),
                NoAddress::Unknown(_) => OutboundError::Unreachable {
                    url: shown(),
                    reason: error.to_string(),
                },
            })?),
            false => {
                policy.check_literal(&host).await.map_err(refused)?;
                None
            }
        };
        let mut sent = Request::new(request.body.clone());
        *sent.method_mut() = request.method.clone();
        *sent.uri_mut() = uri;
        *sent.headers_mut() = request.headers.clone();
        let agent = HeaderValue::from_static(concat!("turnbuckle/", env!("CARGO_PKG_VERSION")));
        sent.headers_mut().insert(USER_AGENT, agent);
        let response = client.clone().send_to(sent, addresses).await;
        response.map_err(|error| from_client(&error, url))
    }
}

fn redirect_target(response: &Response<ResponseBody>, request: &OutboundRequest) -> Option<String> {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    if request.method != Method::GET || !is_redirect {
        return None;
    }
    Some(response.headers().get(LOCATION)?.to_str().ok()?.to_owned())
}

async fn read(
    response: Response<ResponseBody>,
    url: Url,
    max_body_bytes: usize,
) -> Result<OutboundResponse, OutboundError> {
    let (head, body) = response.into_parts();
    let body = body.read(max_body_bytes).await;
    let body = body.map_err(|error| from_client(&error, &url))?;
    Ok(OutboundResponse {
        status: head.status.as_u16(),
        headers: head.headers,
        body,
        url,
    })
}

fn from_client(error: &ClientError, url: &Url) -> OutboundError {
    let (url, reason) = (display_url(url), error.to_string());
    match *error {
        ClientError::BodyTooLarge(max_body_bytes) => OutboundError::TooLarge {
            url,
            max_body_bytes,
        },
        ClientError::Tls(_) => OutboundError::Setup { reason },
        ClientError::InvalidUrl => OutboundError::InvalidRequest { url, reason },
        _ => OutboundError::Unreachable { url, reason },
    }
}
