//! HTTP requests to URLs that a model or a document names.
//!
//! A name is looked up once for a request, each of its addresses is checked, and the connection goes to an
//! address that was checked. Bodies and times are bounded. A proxy of the environment may look names up itself:
//! then names of local networks are refused, and those that have an address inside when they are looked up here.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
#[cfg(feature = "fetch")]
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
#[cfg(feature = "fetch")]
use http::header::LOCATION;
use http::header::{CONTENT_ENCODING, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::BodyExt as _;
#[cfg(feature = "fetch")]
use percent_encoding::{CONTROLS, percent_encode};
use turnbuckle_http_client::address::{AddressClass, classify, is_local_name};
use turnbuckle_http_client::{
    Client, ClientError, ClientOptions, Lookup, ResponseBody, system_lookup,
};
use turnbuckle_types::base::host::is_loopback;
use turnbuckle_types::base::text::{is_ambiguous_in_url, shorten_to};
use url::{Host, Url};

/// The redirects that a request follows.
#[cfg(feature = "fetch")]
const MAX_REDIRECTS: usize = 5;

/// Decides about a redirect by its URL, and returns the reason if it is not followed.
#[cfg(feature = "fetch")]
pub(crate) type AllowRedirect<'a> = &'a (dyn Fn(Url) -> Allowed<'a> + Send + Sync);

/// The future of an [`AllowRedirect`].
#[cfg(feature = "fetch")]
pub(crate) type Allowed<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// The time for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The time for looking up a name that a proxy looks up itself.
const PROXIED_LOOKUP_TIMEOUT: Duration = Duration::from_secs(2);

/// The name of this program in requests.
pub(crate) const AGENT: &str = concat!("turnbuckle/", env!("CARGO_PKG_VERSION"));

/// The settings of a [`WebClient`].
#[derive(Clone)]
pub(crate) struct WebSettings {
    /// The closest network that URLs may name: the internet, or also private networks and this machine.
    pub(crate) closest: AddressClass,
    /// The time for a whole request: lookup, connection, redirects and body.
    pub(crate) timeout: Duration,
    /// The bytes that are read of a body.
    pub(crate) max_body_bytes: usize,
    /// The idle connections that are kept.
    pub(crate) max_idle_connections: usize,
    /// A replacement of the system's name lookup, for tests.
    pub(crate) lookup: Option<Lookup>,
}

/// A client for URLs from elsewhere. Clones share their connections.
#[derive(Clone)]
pub(crate) struct WebClient {
    client: Client,
    lookup: Lookup,
    settings: Arc<WebSettings>,
}

/// A request, without its URL.
pub(crate) struct WebRequest {
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A response and the beginning of its body.
#[derive(Debug)]
pub(crate) struct WebResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// True if the body goes on behind `body`.
    pub(crate) is_cut: bool,
    /// The URL that answered, after redirects.
    pub(crate) url: Url,
}

/// The reason why there is no response. It holds no part of a URL behind its path.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WebError {
    /// The URL or its address is not allowed. Nothing was sent to it.
    #[error("{0}")]
    Refused(String),
    /// There is no answer.
    #[error("{0}")]
    Failed(String),
    /// The time is over.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
}

impl WebClient {
    pub(crate) fn new(settings: WebSettings) -> Self {
        let client = Client::new(ClientOptions {
            connect_timeout: Some(CONNECT_TIMEOUT),
            max_idle_connections: settings.max_idle_connections,
            idle_connection_timeout: Duration::from_secs(30),
            // Tests reach a server of their own.
            use_env_proxy: settings.lookup.is_none(),
            ..ClientOptions::default()
        });
        let lookup = settings.lookup.clone();
        Self {
            client,
            lookup: lookup.unwrap_or_else(|| Arc::new(system_lookup)),
            settings: Arc::new(settings),
        }
    }

    /// Sends a request and reads the response. Follows no redirect.
    pub(crate) async fn send(
        &self,
        url: &Url,
        request: WebRequest,
    ) -> Result<WebResponse, WebError> {
        let answer = async {
            let response = self.send_once(url, &request).await?;
            self.read(response, url.clone()).await
        };
        self.in_time(Box::pin(answer)).await
    }

    /// Fetches a document. Checks each redirect as the URL itself, and asks `allow` before it is followed.
    #[cfg(feature = "fetch")]
    pub(crate) async fn get(
        &self,
        url: &Url,
        headers: HeaderMap,
        allow: AllowRedirect<'_>,
    ) -> Result<WebResponse, WebError> {
        let request = WebRequest {
            method: Method::GET,
            headers,
            body: Bytes::new(),
        };
        let answer = async {
            let mut url = url.clone();
            for _ in 0..=MAX_REDIRECTS {
                let response = self.send_once(&url, &request).await?;
                if !response.status().is_redirection() {
                    return self.read(response, url).await;
                }
                let target = redirect_target(&url, response.status(), response.headers());
                url = target.map_err(WebError::Failed)?;
                check_url(&url).map_err(WebError::Refused)?;
                allow(url.clone()).await.map_err(WebError::Refused)?;
            }
            Err(WebError::Failed(format!(
                "there are more than {MAX_REDIRECTS} redirects"
            )))
        };
        self.in_time(Box::pin(answer)).await
    }

    async fn in_time(
        &self,
        answer: impl Future<Output = Result<WebResponse, WebError>>,
    ) -> Result<WebResponse, WebError> {
        let timeout = self.settings.timeout;
        let answer = tokio::time::timeout(timeout, answer).await;
        answer.unwrap_or(Err(WebError::TimedOut(timeout)))
    }

    async fn send_once(
        &self,
        url: &Url,
        request: &WebRequest,
    ) -> Result<Response<ResponseBody>, WebError> {
        let host = check_url(url).map_err(WebError::Refused)?;
        // What stands behind `#` is not sent.
        let mut target = url.clone();
        target.set_fragment(None);
        let uri: Uri = target
            .as_str()
            .parse()
            .map_err(|error: http::uri::InvalidUri| WebError::Refused(error.to_string()))?;
        let addresses = match (self.client.resolves_host(&uri), fixed_addresses(&host)) {
            (_, Some(addresses)) => Some(self.filter(addresses)?),
            (true, None) => {
                let addresses = (self.lookup)(host.to_string()).await;
                let addresses = addresses.map_err(|error| no_address(&host, &error))?;
                Some(self.filter(addresses)?)
            }
            (false, None) => {
                self.check_proxied(&host).await?;
                None
            }
        };
        let mut sent = Request::new(request.body.clone());
        *sent.method_mut() = request.method.clone();
        *sent.uri_mut() = uri;
        *sent.headers_mut() = request.headers.clone();
        let agent = HeaderValue::from_static(AGENT);
        sent.headers_mut().entry(USER_AGENT).or_insert(agent);
        let response = self.client.clone().send_to(sent, addresses).await;
        response.map_err(|error| request_error(&error))
    }

    /// Returns the addresses that may be connected to.
    fn filter(&self, mut addresses: Vec<IpAddr>) -> Result<Vec<IpAddr>, WebError> {
        let first = addresses.first().copied();
        addresses.retain(|address| self.is_allowed(*address));
        match (addresses.is_empty(), first) {
            (false, _) => Ok(addresses),
            (true, Some(address)) => Err(address_refusal(address)),
            (true, None) => Err(WebError::Failed("the name has no address".to_owned())),
        }
    }

    fn is_allowed(&self, address: IpAddr) -> bool {
        classify(address).is_some_and(|class| class >= self.settings.closest)
    }

    /// Checks a host whose name a proxy looks up. The proxy connects to any of its addresses, so all of those that are
    /// known here must be allowed. A name without an address here may have one at the proxy.
    async fn check_proxied(&self, host: &Host<String>) -> Result<(), WebError> {
        if self.settings.closest < AddressClass::Public {
            return Ok(());
        }
        let name = host.to_string();
        if is_local_name(&name) {
            return Err(WebError::Refused(format!(
                "the name {name} is of a local network"
            )));
        }
        let addresses = tokio::time::timeout(PROXIED_LOOKUP_TIMEOUT, (self.lookup)(name)).await;
        let mut addresses = addresses.ok().and_then(Result::ok).into_iter().flatten();
        match addresses.find(|address| !self.is_allowed(*address)) {
            Some(address) => Err(address_refusal(address)),
            None => Ok(()),
        }
    }

    async fn read(
        &self,
        response: Response<ResponseBody>,
        url: Url,
    ) -> Result<WebResponse, WebError> {
        let (head, mut body) = response.into_parts();
        let coding = content_coding(&head.headers);
        if let Some(coding) = coding.filter(|_| head.status.is_success()) {
            return Err(WebError::Failed(format!(
                "the response is compressed ({coding}), which was not asked for"
            )));
        }
        let max_bytes = self.settings.max_body_bytes;
        let mut bytes = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| request_error(&error))?;
            if let Ok(data) = frame.into_data() {
                bytes.extend_from_slice(&data[..data.len().min(max_bytes + 1 - bytes.len())]);
            }
            if bytes.len() > max_bytes {
                break;
            }
        }
        let is_cut = bytes.len() > max_bytes;
        bytes.truncate(max_bytes);
        Ok(WebResponse {
            status: head.status,
            headers: head.headers,
            body: bytes.freeze(),
            is_cut,
            url,
        })
    }
}

/// Parses a URL of HTTP.
///
/// # Errors
/// When it is none, or other programs could read it in another way.
pub(crate) fn parse_url(text: &str) -> Result<Url, String> {
    if text.contains(is_ambiguous_in_url) {
        let reason = "it holds white space, a control character or a backslash";
        return Err(reason.to_owned());
    }
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    check_url(&url).map(|_| url)
}

/// Checks all of a URL but its address.
fn check_url(url: &Url) -> Result<Host<String>, String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err("it must begin with https:// or http://".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it holds credentials".to_owned());
    }
    let host = url.host().ok_or("it names no host")?;
    Ok(host.to_owned())
}

/// Returns the addresses of a host that are known without a lookup.
fn fixed_addresses(host: &Host<String>) -> Option<Vec<IpAddr>> {
    match host {
        Host::Ipv4(address) => Some(vec![(*address).into()]),
        Host::Ipv6(address) => Some(vec![(*address).into()]),
        Host::Domain(name) if is_loopback(name) => {
            Some(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
        }
        Host::Domain(_) => None,
    }
}

/// Returns the URL to which a response redirects.
///
/// # Errors
/// When the response names none that is followed.
#[cfg(feature = "fetch")]
fn redirect_target(url: &Url, status: StatusCode, headers: &HeaderMap) -> Result<Url, String> {
    let location = headers.get(LOCATION).map(HeaderValue::as_bytes);
    let location = location.filter(|location| {
        !location.is_empty() && matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
    });
    let location = location.ok_or_else(|| format!("the status {status} leads to no page"))?;
    // Bytes outside of ASCII are encoded, whatever their charset is, as in browsers.
    let location = percent_encode(location, CONTROLS).to_string();
    let target = url.join(&location);
    target.map_err(|error| format!("a redirect names a URL that is none: {error}"))
}

/// Returns the coding of a body that is not sent as it is.
fn content_coding(headers: &HeaderMap) -> Option<String> {
    let codings = headers.get_all(CONTENT_ENCODING).iter();
    let mut codings = codings.map(|value| String::from_utf8_lossy(value.as_bytes()));
    let coding = codings.find(|coding| !["", "identity"].contains(&&*coding.to_ascii_lowercase()));
    coding.map(|coding| shorten_to(&coding, 40))
}

fn address_refusal(address: IpAddr) -> WebError {
    WebError::Refused(format!(
        "the address {address} is {}",
        match classify(address) {
            None => "link-local, reserved or a metadata service",
            Some(AddressClass::Loopback) => "this machine",
            Some(_) => "in a private network",
        }
    ))
}

fn no_address(host: &Host<String>, error: &io::Error) -> WebError {
    WebError::Failed(format!("the name {host} has no address: {error}"))
}

fn request_error(error: &ClientError) -> WebError {
    WebError::Failed(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(name: &str, addresses: Option<&'static [&'static str]>) -> Result<(), WebError> {
        let lookup: Lookup = Arc::new(move |_| {
            let addresses = addresses.ok_or_else(|| io::Error::other("no such name"));
            let parsed = addresses.map(|all| all.iter().map(|one| one.parse().unwrap()).collect());
            Box::pin(std::future::ready(parsed))
        });
        let client = WebClient::new(WebSettings {
            closest: AddressClass::Public,
            timeout: Duration::from_secs(1),
            max_body_bytes: 1,
            max_idle_connections: 0,
            lookup: Some(lookup),
        });
        client.check_proxied(&Host::Domain(name.to_owned())).await
    }

    #[tokio::test]
    async fn a_name_that_a_proxy_looks_up_has_no_address_inside() {
        for inside in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "fd00::1"] {
            let both = Box::leak(Box::new(["1.1.1.1", inside]));
            let refused = check("example.com", Some(both)).await.unwrap_err();
            assert!(refused.to_string().contains(inside), "{refused}");
        }
        let refused = check("intranet", Some(&["1.1.1.1"])).await.unwrap_err();
        assert!(refused.to_string().contains("local network"), "{refused}");
        check("example.com", Some(&["1.1.1.1"])).await.unwrap();
        check("example.com", None).await.unwrap();
    }

    #[test]
    fn a_body_as_it_is_has_no_coding() {
        let coding = |value: &str| {
            let value = HeaderValue::from_str(value).unwrap();
            content_coding(&HeaderMap::from_iter([(CONTENT_ENCODING, value)]))
        };
        assert_eq!(content_coding(&HeaderMap::new()), None);
        assert_eq!((coding(""), coding("Identity")), (None, None));
        assert_eq!(coding("gzip").as_deref(), Some("gzip"));
    }

    #[cfg(feature = "fetch")]
    #[test]
    fn a_redirect_leads_where_browsers_go() {
        let url = Url::parse("http://example.com/a/b").unwrap();
        let target = |status: u16, location: &[u8]| {
            let location = HeaderValue::from_bytes(location).unwrap();
            let headers = HeaderMap::from_iter([(LOCATION, location)]);
            let status = StatusCode::from_u16(status).unwrap();
            redirect_target(&url, status, &headers).map(String::from)
        };
        for (location, expected) in [
            (&b"c?d#e"[..], "http://example.com/a/c?d#e"),
            ("/ü%20".as_bytes(), "http://example.com/%C3%BC%20"),
            (b"/\xfc", "http://example.com/%FC"),
            ("//ü.example/".as_bytes(), "http://xn--tda.example/"),
        ] {
            assert_eq!(target(302, location).as_deref(), Ok(expected));
        }
        for (status, location) in [(302, ""), (300, "/c"), (304, "/c"), (302, "http://[")] {
            target(status, location.as_bytes()).unwrap_err();
        }
    }
}
