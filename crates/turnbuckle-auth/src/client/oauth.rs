//! [`OAuth`]: the authorization of a client at one server.

use std::fmt;
use std::sync::{Arc, OnceLock};

use url::Url;

use super::grant::{ClientCredentials, EnterpriseIdp, Grant, WorkloadIdentity};
use super::interaction::{Browser, LoginUi, NoLogin};
use super::session::{ActiveToken, AuthSession, Demand};
use super::settings::{RegisteredClient, Settings};
use super::store::CredentialStore;
use crate::challenge::Challenge;
use crate::clock::Clock;
use crate::error::{AuthError, AuthErrorKind};
use crate::outbound::{OutboundSettings, display_url_text};
use crate::secret::Secret;
use crate::transcript::{Recorder, StepKind, Transcript};

/// The authorization of a client at one server: logs in when the server asks for it, and stays
/// logged in.
///
/// It is a `tower` layer around an HTTP client. Clones share their token.
///
/// ```no_run
/// use turnbuckle_auth::OAuth;
/// use turnbuckle_auth::client::store::FileStore;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let oauth = OAuth::new("https://mcp.example.com/mcp", FileStore::user()?)?
///     .client_name("My application");
/// # Ok(())
/// # }
/// ```
///
/// The user logs in with a browser, unless [`login_ui`](Self::login_ui) or a grant without a user is
/// set. Specification: basic/authorization (2026-07-28), and the revisions before it.
#[derive(Clone)]
pub struct OAuth {
    settings: Settings,
    /// Made with the first use, so that setters cannot change settings that are in use.
    session: Arc<OnceLock<Arc<AuthSession>>>,
}

/// The state of a client's authorization.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuthStatus {
    /// The issuer that granted the token.
    pub issuer: String,
    /// The client id that the token was granted to, if the grant has one.
    pub client_id: Option<String>,
    /// The scopes of the token: those that were granted, or else those that were asked for.
    pub scopes: Vec<String>,
    /// The end of the token, in seconds since 1970. `None` if the server named none.
    pub expires_at: Option<u64>,
    /// True if the token has not ended.
    pub is_valid: bool,
    /// True if the token can be refreshed without the user.
    pub can_refresh: bool,
    /// True if the token is bound to a key (DPoP).
    pub is_key_bound: bool,
}

impl OAuth {
    /// Creates the authorization for the server at `url`, which keeps its credentials in `store`.
    ///
    /// # Errors
    /// Fails when `url` is no `http` or `https` URL, or has a user name or a password.
    pub fn new(url: &str, store: impl CredentialStore) -> Result<Self, AuthError> {
        let refused = |reason: &str| {
            let message = format!("no authorization for this URL: {reason}");
            AuthError::recorded(AuthErrorKind::UrlRefused, message, &Recorder::new())
        };
        let mut server = Url::parse(url.trim()).map_err(|error| refused(&error.to_string()))?;
        if !matches!(server.scheme(), "http" | "https") {
            return Err(refused("it is neither http nor https"));
        }
        if !server.username().is_empty() || server.password().is_some() {
            return Err(refused("it has a user name or a password"));
        }
        server.set_fragment(None);
        let text = match server.path() {
            "/" if server.query().is_none() => server.as_str().trim_end_matches('/').to_owned(),
            _ => server.as_str().to_owned(),
        };
        Ok(Self {
            settings: Settings {
                server_text: text,
                server,
                store: Arc::new(store),
                ui: Arc::new(Browser::new()),
                client_name: "MCP client".to_owned(),
                client_metadata_url: None,
                registered: Vec::new(),
                scopes: Vec::new(),
                grant: Grant::default(),
                uses_dpop: false,
                outbound: OutboundSettings::default(),
            },
            session: Arc::default(),
        })
    }

    /// Sets the name of the client, which the login page shows. Default `MCP client`.
    #[must_use]
    pub fn client_name(self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.with(|settings| settings.client_name = name)
    }

    /// Sets the `https` URL of the client's metadata document, which serves as its id where the
    /// authorization server supports that.
    ///
    /// Specification: basic/authorization/client-registration, "Client ID Metadata Documents"
    /// (2026-07-28).
    #[must_use]
    pub fn client_metadata_url(self, url: impl Into<String>) -> Self {
        let url = url.into();
        self.with(|settings| settings.client_metadata_url = Some(url))
    }

    /// Adds a client id that was registered by hand with the authorization server `issuer`. It is
    /// never shown to another one.
    #[must_use]
    pub fn registered_client(
        self,
        issuer: impl Into<String>,
        client_id: impl Into<String>,
        client_secret: Option<Secret>,
    ) -> Self {
        let client = RegisteredClient {
            client_id: client_id.into(),
            client_secret,
            issuer: Some(issuer.into()),
        };
        self.with(|settings| settings.registered.push(client))
    }

    /// Adds a client id that was registered by hand, without its issuer: it is bound to the first
    /// authorization server that the MCP server names, and stays bound in the store.
    #[must_use]
    pub fn client_id(self, client_id: impl Into<String>, client_secret: Option<Secret>) -> Self {
        let client = RegisteredClient {
            client_id: client_id.into(),
            client_secret,
            issuer: None,
        };
        self.with(|settings| settings.registered.push(client))
    }

    /// Adds scopes that every login asks for. Without any, a login asks for those that the server
    /// names.
    #[must_use]
    pub fn scopes<T: Into<String>>(self, scopes: impl IntoIterator<Item = T>) -> Self {
        let scopes: Vec<String> = scopes.into_iter().map(Into::into).collect();
        self.with(|settings| settings.scopes.extend(scopes))
    }

    /// Sets how the user gets to the login page, and how the redirect comes back. Default
    /// [`Browser`].
    #[must_use]
    pub fn login_ui(self, ui: impl LoginUi) -> Self {
        self.with(|settings| settings.ui = Arc::new(ui))
    }

    /// Uses stored credentials only: where the user would have to log in, requests fail with
    /// [`AuthErrorKind::LoginRequired`].
    #[must_use]
    pub fn stored_only(self) -> Self {
        self.login_ui(NoLogin::new())
    }

    /// Logs in without a user, with credentials of the client itself.
    ///
    /// Specification: extensions/auth/oauth-client-credentials.
    #[must_use]
    pub fn client_credentials(self, credentials: ClientCredentials) -> Self {
        self.with(|settings| settings.grant = Grant::ClientCredentials(credentials))
    }

    /// Logs in through the identity provider of an enterprise.
    ///
    /// Specification: extensions/auth/enterprise-managed-authorization.
    #[must_use]
    pub fn enterprise(self, idp: EnterpriseIdp) -> Self {
        self.with(|settings| settings.grant = Grant::Enterprise(idp))
    }

    /// Logs in with assertions of the platform that the program runs on (RFC 7523).
    #[must_use]
    pub fn workload_identity(self, identity: WorkloadIdentity) -> Self {
        self.with(|settings| settings.grant = Grant::WorkloadIdentity(identity))
    }

    /// Binds tokens to a key of this client, so that nobody else can use them (RFC 9449).
    #[must_use]
    pub fn dpop(self) -> Self {
        self.with(|settings| settings.uses_dpop = true)
    }

    /// Trusts the certificates in this PEM text, beside those of the system, for requests to the
    /// authorization server.
    #[must_use]
    pub fn ca_certificate_pem(self, pem: impl Into<Vec<u8>>) -> Self {
        let pem = pem.into();
        self.with(|settings| settings.outbound.extra_roots_pem.push(pem))
    }

    /// Returns the URL of the server in its normal form, without a fragment.
    #[must_use]
    pub fn server_url(&self) -> &str {
        &self.settings.server_text
    }

    /// Allows requests over plain HTTP to an origin such as `http://10.0.0.7:8080`, for development.
    /// This machine needs no such exception.
    ///
    /// # Errors
    /// Fails when `origin` is no URL of HTTP.
    pub fn allow_plain_http(self, origin: &str) -> Result<Self, AuthError> {
        let origin = Url::parse(origin).ok().filter(|url| url.scheme() == "http");
        let origin = origin.ok_or_else(|| {
            let message = "allow_plain_http takes an origin that begins with http://";
            AuthError::recorded(AuthErrorKind::UrlRefused, message, &Recorder::new())
        })?;
        Ok(self.with(|settings| settings.outbound.plain_http_origins.push(origin)))
    }

    /// Logs in if the server asks for it and there is no valid token. Returns `None` if the server
    /// asks for no login.
    ///
    /// A login in a browser may take minutes. A program that calls this before it connects can say so
    /// to its user.
    ///
    /// # Errors
    /// Fails as a request would that needs a login.
    pub async fn ensure_logged_in(&self) -> Result<Option<AuthStatus>, AuthError> {
        let session = self.session();
        if let Some(token) = session.token().await {
            return Ok(Some(status(&token, session.clock.now())));
        }
        match probe(&session).await? {
            Probe::NoLogin => Ok(None),
            Probe::Refused(challenge) => {
                let demand = Demand::Unauthorized {
                    challenge,
                    may_refresh: false,
                };
                self.log_in_after(demand).await.map(Some)
            }
        }
    }

    /// Logs in now, even if there is a valid token.
    ///
    /// The server is asked for its challenge by a request without a token. If it takes some requests
    /// without one, use [`log_in_with`](Self::log_in_with).
    ///
    /// # Errors
    /// Fails as a request would that needs a login, and when the server asks for none.
    pub async fn log_in(&self) -> Result<AuthStatus, AuthError> {
        match probe(&self.session()).await? {
            Probe::Refused(challenge) => self.log_in_after(Demand::Login(challenge)).await,
            Probe::NoLogin => {
                let message = "the server asks for no login: it took a request without a token; \
                               log in with the challenge of a request that it refused \
                               (OAuth::log_in_with)";
                Err(AuthError::recorded(
                    AuthErrorKind::Discovery,
                    message,
                    &Recorder::new(),
                ))
            }
        }
    }

    /// Logs in now, even if there is a valid token, because the server answered a request with
    /// `challenge`: its URL of metadata and its scopes are used, and nothing is asked beforehand.
    ///
    /// # Errors
    /// Fails as a request would that needs a login.
    pub async fn log_in_with(&self, challenge: Challenge) -> Result<AuthStatus, AuthError> {
        self.log_in_after(Demand::Login(Some(challenge))).await
    }

    async fn log_in_after(&self, demand: Demand) -> Result<AuthStatus, AuthError> {
        let session = self.session();
        let used = session.token().await;
        let token = session.replace(used, demand).await?;
        Ok(status(&token, session.clock.now()))
    }

    /// Removes the credentials of this server from the store. Returns whether there were any.
    ///
    /// The refresh token is revoked at the authorization server, if it has an endpoint for that. A
    /// failure there is reported to `tracing` only.
    ///
    /// # Errors
    /// Fails when the store cannot be written.
    pub async fn log_out(&self) -> Result<bool, AuthError> {
        Ok(self.session().forget().await?.is_some())
    }

    /// Returns the state of the authorization, or `None` without credentials. Nothing is requested,
    /// except a refresh that is due.
    pub async fn status(&self) -> Option<AuthStatus> {
        let session = self.session();
        let token = session.token_or_ended().await?;
        Some(status(&token, session.clock.now()))
    }

    /// Returns a valid access token, refreshed if that is due. `None` if the user has to log in.
    ///
    /// Send it to this server only.
    pub async fn access_token(&self) -> Option<Secret> {
        let token = self.session().token().await?;
        Some(token.credentials.access_token.clone())
    }

    /// Returns the steps of the last attempt to get a token.
    #[must_use]
    pub fn transcript(&self) -> Transcript {
        self.session().transcript()
    }

    pub(crate) fn session(&self) -> Arc<AuthSession> {
        let make = || Arc::new(AuthSession::new(self.settings.clone(), Clock::system()));
        self.session.get_or_init(make).clone()
    }

    /// Returns the value with changed settings. It shares nothing with values that were made before.
    fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self.session = Arc::default();
        self
    }
}

/// The answer of the server to a request without a token.
enum Probe {
    /// The server took the request, or refused it for another reason than the missing token.
    NoLogin,
    /// The server asks for a token.
    Refused(Option<Challenge>),
}

/// Asks the server for its challenge, by a request without a token.
async fn probe(session: &AuthSession) -> Result<Probe, AuthError> {
    let recorder = Recorder::new();
    let outbound = session.outbound(&recorder)?;
    let server = &session.settings.server;
    let mut headers = http::HeaderMap::new();
    let accepted = http::HeaderValue::from_static("application/json, text/event-stream");
    headers.insert(http::header::ACCEPT, accepted);
    // No message of the protocol: a server that needs no token refuses it and does nothing.
    let nothing = serde_json::Map::new();
    let response = outbound.post_json(server.as_str(), &nothing, headers).await;
    let response = response.map_err(|error| {
        let request = format!("POST {}", display_url_text(&session.settings.server_text));
        let advice = "is the server running, and is the URL right?";
        recorder.fail(
            StepKind::Challenge,
            request,
            error.to_string(),
            "stop",
            advice,
        );
        AuthError::from(error).with_steps(&recorder)
    })?;
    let values = response.headers.get_all(http::header::WWW_AUTHENTICATE);
    let values = values.iter().filter_map(|value| value.to_str().ok());
    let challenges = Challenge::parse_all(values);
    let ours = |challenge: &Challenge| challenge.is_scheme("Bearer") || challenge.is_scheme("DPoP");
    match response.status {
        401 | 403 => Ok(Probe::Refused(challenges.into_iter().find(ours))),
        _ => Ok(Probe::NoLogin),
    }
}

fn status(token: &ActiveToken, now: u64) -> AuthStatus {
    let credentials = &token.credentials;
    let client = credentials.client.as_ref();
    AuthStatus {
        issuer: credentials.issuer.clone(),
        client_id: client.map(|client| client.client_id.clone()),
        scopes: credentials
            .granted_scopes
            .clone()
            .unwrap_or_else(|| credentials.requested_scopes.clone()),
        expires_at: credentials.expires_at,
        is_valid: credentials.is_valid(now),
        can_refresh: credentials.refresh_token.is_some(),
        is_key_bound: credentials.dpop_key.is_some(),
    }
}

/// Shows the server and the client's name, and no secret.
impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth")
            .field("server", &self.settings.server_text)
            .field("client_name", &self.settings.client_name)
            .finish_non_exhaustive()
    }
}
