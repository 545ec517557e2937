//! The authorization of the client: by a login without a browser, or by the credentials that
//! `MCP_CONFORMANCE_CONTEXT` holds.

use std::env;

use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use turnbuckle::auth::client::grant::{ClientCredentials, EnterpriseIdp, WorkloadIdentity};
use turnbuckle::auth::client::interaction::{LoginUi, PendingLogin};
use turnbuckle::auth::client::store::{BoxFuture, MemoryStore};
use turnbuckle::auth::{AuthError, AuthErrorKind};
use turnbuckle::auth::{OAuth, Secret};
use url::Url;

/// The URL of the client's metadata document, which authorization servers of the suite accept.
const CLIENT_METADATA_URL: &str = "https://conformance-test.local/client-metadata.json";

const REDIRECT_URI: &str = "http://localhost:3000/callback";

/// The credentials of a conformance scenario.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Credentials {
    client_id: Option<String>,
    client_secret: Option<String>,
    private_key_pem: Option<String>,
    signing_algorithm: Option<String>,
    idp_client_id: Option<String>,
    idp_id_token: Option<String>,
    idp_token_endpoint: Option<String>,
    valid_jwt: Option<String>,
}

/// Returns the authorization at the server at `url`.
pub(crate) fn authorization(url: &str) -> Result<OAuth, Box<dyn std::error::Error>> {
    let oauth = OAuth::builder(url, MemoryStore::new())
        .client_name("everything-client")
        .client_metadata_url(CLIENT_METADATA_URL)
        .login_ui(Redirects);
    let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_else(|_| "{}".to_owned());
    let credentials: Credentials = serde_json::from_str(&context)?;
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let oauth = if scenario.starts_with("auth/dpop") {
        oauth.dpop()
    } else {
        oauth
    };
    let Credentials {
        client_id,
        client_secret,
        private_key_pem,
        signing_algorithm,
        idp_client_id,
        idp_id_token,
        idp_token_endpoint,
        valid_jwt,
    } = credentials;
    let client_id = client_id.unwrap_or_default();
    if let Some(assertion) = valid_jwt.map(Secret::new) {
        let identity = WorkloadIdentity::from_fn(move |_| {
            let assertion = assertion.clone();
            async move { Ok(assertion) }
        });
        let client = ClientCredentials::public(client_id);
        return Ok(oauth.workload_identity(identity.client(client)).build()?);
    }
    if let (Some(endpoint), Some(id_token)) = (idp_token_endpoint, idp_id_token.map(Secret::new)) {
        let secret = client_secret.unwrap_or_default();
        let idp = EnterpriseIdp::id_token(endpoint, move |_| {
            let id_token = id_token.clone();
            async move { Ok(id_token) }
        })
        .idp_client(ClientCredentials::public(idp_client_id.unwrap_or_default()))
        .client(ClientCredentials::secret(client_id, secret));
        return Ok(oauth.enterprise(idp).build()?);
    }
    if let Some(pem) = private_key_pem {
        let algorithm = signing_algorithm.unwrap_or_else(|| "ES256".to_owned());
        let client = ClientCredentials::private_key_jwt(client_id, pem, &algorithm)?;
        return Ok(oauth.client_credentials(client).build()?);
    }
    let Some(secret) = client_secret else {
        return Ok(oauth.build()?);
    };
    if scenario.starts_with("auth/client-credentials") {
        return Ok(oauth
            .client_credentials(ClientCredentials::secret(client_id, secret))
            .build()?);
    }
    let oauth = oauth.client_id(client_id, Some(Secret::new(secret)));
    Ok(oauth.build()?)
}

/// A login without a browser, at an authorization server that asks nothing: the page answers with a
/// redirect at once.
struct Redirects;

struct PendingRedirect;

impl LoginUi for Redirects {
    fn prepare<'a>(
        &'a self,
        _: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn PendingLogin>, AuthError>> {
        Box::pin(async { Ok(Box::new(PendingRedirect) as Box<dyn PendingLogin>) })
    }
}

impl PendingLogin for PendingRedirect {
    fn redirect_uri(&self) -> &str {
        REDIRECT_URI
    }

    fn open<'a>(
        self: Box<Self>,
        authorization_url: &'a str,
    ) -> BoxFuture<'a, Result<String, AuthError>> {
        Box::pin(async move {
            let location = redirect_of(authorization_url).await;
            location.map_err(|error| {
                let reason = format!("the authorization page sent no redirect: {error}");
                AuthError::new(AuthErrorKind::LoginUnavailable, reason)
            })
        })
    }
}

/// Returns the `Location` of the response to a GET.
async fn redirect_of(url: &str) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let url = Url::parse(url)?;
    let host = url.host_str().ok_or("no host")?;
    let port = url.port_or_known_default().ok_or("no port")?;
    let mut stream = TcpStream::connect((host, port)).await?;
    let (path, query) = (url.path(), url.query().unwrap_or_default());
    let request =
        format!("GET {path}?{query} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut response = Vec::new();
    stream.take(64 << 10).read_to_end(&mut response).await?;
    let response = String::from_utf8(response)?;
    let mut headers = response.lines().filter_map(|line| line.split_once(": "));
    let location = headers.find(|(name, _)| name.eq_ignore_ascii_case("location"));
    Ok(location.ok_or("no Location header")?.1.to_owned())
}
