//! The HTTP client of a connector that was given none.

use turnbuckle_http_client::{Client, ClientOptions, TlsSettings};

use super::error::HttpClientError;
use super::http_client::HttpClient;
use super::options::HttpClientOptions;
use super::request_body::ClientRequestBody;
use super::response::is_challenge;
use super::response_body::ClientResponseBody;
use super::target::Target;

/// The `User-Agent` of requests.
pub(crate) const USER_AGENT: &str = concat!("turnbuckle/", env!("CARGO_PKG_VERSION"));

/// Creates the client for `target`.
pub(crate) fn default_client(
    target: &Target,
    tls: &TlsSettings,
    options: &HttpClientOptions,
) -> HttpClient {
    let client = Client::new(ClientOptions {
        connect_timeout: Some(options.connect_timeout),
        max_idle_connections: options.max_idle_connections,
        idle_connection_timeout: options.idle_connection_timeout,
        use_env_proxy: options.use_env_proxy && !target.is_loopback(),
        unix_socket: target.socket().cloned(),
        tls: tls.clone(),
    });
    HttpClient::from_fn(move |request| {
        let client = client.clone();
        Box::pin(async move {
            let response = client
                .send(request.map(ClientRequestBody::into_bytes))
                .await;
            let response = response.map_err(HttpClientError::from_client)?;
            let address = response.body().peer_address();
            let mut response = response.map(ClientResponseBody::of_client);
            if is_challenge(response.status())
                && let Some(address) = address
            {
                response.extensions_mut().insert(address);
            }
            Ok(response)
        })
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::Request;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_connect_timeout_covers_the_tls_handshake() {
        // The system accepts connections, and the server never sends anything.
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/mcp", silent.local_addr().unwrap());
        let options = HttpClientOptions::new().connect_timeout(Duration::from_secs(3));
        let target = Target::parse(&url).unwrap();
        let client = default_client(&target, &TlsSettings::default(), &options);
        let mut request = Request::new(ClientRequestBody::default());
        *request.uri_mut() = url.parse().unwrap();
        let error = client.send(request).await.unwrap_err();
        let expected = "no connection stood within 3s (HttpClientOptions::connect_timeout)";
        assert_eq!(error, HttpClientError::unreachable(expected));
    }
}
