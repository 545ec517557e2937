//! The HTTP client of a connector that was given none: a Unix socket, plain TCP connections for
//! `http:` servers without a proxy, else reqwest, which does TLS and proxies.

use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use reqwest::redirect::Policy;
use tower_service::Service;
use turnbuckle_types::PeerAddress;

use super::error::{HttpClientError, error_chain};
use super::http_client::HttpClient;
use super::options::HttpClientOptions;
use super::plain_client::{PlainClient, TCP_KEEPALIVE_INTERVAL};
use super::request_body::ClientRequestBody;
use super::response::is_challenge;
use super::target::Target;
use super::tls::TlsSettings;
#[cfg(unix)]
use super::unix_client::UnixClient;

/// The `User-Agent` of requests.
pub(crate) const USER_AGENT: &str = concat!("turnbuckle/", env!("CARGO_PKG_VERSION"));

/// Creates the client for `target`.
pub(crate) fn default_client(
    target: &Target,
    tls: &TlsSettings,
    options: &HttpClientOptions,
) -> Result<HttpClient, HttpClientError> {
    #[cfg(unix)]
    if let Some(socket) = target.socket() {
        let client = UnixClient::new(socket.clone(), options);
        return Ok(HttpClient::new(client));
    }
    let uses_proxy = options.use_env_proxy && !target.is_loopback();
    if !uses_proxy && !target.is_secure() {
        return Ok(HttpClient::plain(PlainClient::new(options)));
    }
    let tls = tls.client_config(target.is_secure());
    let tls = tls.map_err(|error| HttpClientError::unreachable(error_chain(&error)))?;
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(Policy::none())
        .referer(false)
        .user_agent(USER_AGENT)
        .connect_timeout(options.connect_timeout)
        .tcp_nodelay(true)
        .tcp_keepalive(TCP_KEEPALIVE_INTERVAL)
        .pool_max_idle_per_host(options.max_idle_connections)
        .pool_idle_timeout(options.idle_connection_timeout);
    if !uses_proxy {
        builder = builder.no_proxy();
    }
    let client = builder.build().map_err(from_reqwest)?;
    Ok(HttpClient::new(ReqwestService(client)))
}

#[derive(Clone)]
struct ReqwestService(reqwest::Client);

impl Service<Request<ClientRequestBody>> for ReqwestService {
    type Response = Response<reqwest::Body>;
    type Error = HttpClientError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, HttpClientError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HttpClientError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ClientRequestBody>) -> Self::Future {
        let client = self.0.clone();
        Box::pin(async move {
            let request = request.map(|body| body.bytes().clone());
            let request = request.try_into().map_err(from_reqwest)?;
            let response = client.execute(request).await.map_err(from_reqwest)?;
            // With a proxy, this is the address of the proxy.
            let address = response.remote_addr().map(|it| PeerAddress::new(it.ip()));
            let mut response: Response<reqwest::Body> = response.into();
            if is_challenge(response.status())
                && let Some(address) = address
            {
                response.extensions_mut().insert(address);
            }
            Ok(response)
        })
    }
}

/// Converts an error of reqwest, without the URL, which may hold a secret.
fn from_reqwest(error: reqwest::Error) -> HttpClientError {
    let is_unsent = error.is_connect() || error.is_builder();
    let setting = match error.is_connect() && error.is_timeout() {
        true => " (HttpClientOptions::connect_timeout)",
        false => "",
    };
    let reason = error_chain(&error.without_url()) + setting;
    if is_unsent {
        HttpClientError::unreachable(reason)
    } else {
        HttpClientError::connection_lost(reason)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_connect_timeout_covers_the_tls_handshake() {
        // The system accepts connections, and the server never sends anything.
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/mcp", silent.local_addr().unwrap());
        let options = HttpClientOptions::new().connect_timeout(Duration::from_secs(3));
        let target = Target::parse(&url).unwrap();
        let client = default_client(&target, &TlsSettings::default(), &options).unwrap();
        let mut request = Request::new(ClientRequestBody::default());
        *request.uri_mut() = url.parse().unwrap();
        let error = client.send(request).await.unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("(HttpClientOptions::connect_timeout)"),
            "{text}"
        );
        assert_eq!(error, HttpClientError::unreachable(text));
    }
}
