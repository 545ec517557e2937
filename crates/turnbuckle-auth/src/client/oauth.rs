//! [`OAuth`]: the authorization of a client at one server.

use std::fmt;
use std::sync::Arc;

use super::OAuthBuilder;
use super::active_token::ActiveToken;
use super::session::{AuthSession, Demand};
use super::store::CredentialStore;
use crate::challenge::Challenge;
use crate::error::{AuthError, AuthErrorKind};
use crate::outbound::display_url_text;
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
/// let oauth = OAuth::builder("https://mcp.example.com/mcp", FileStore::user()?)
///     .client_name("My application")
///     .build()?;
/// # Ok(())
/// # }
/// ```
///
/// Specification: basic/authorization (2026-07-28), and the revisions before it.
#[derive(Clone)]
pub struct OAuth(Arc<AuthSession>);

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
    /// Begins the settings of the authorization for the server at `url`, which keeps its credentials in
    /// `store`.
    pub fn builder(url: &str, store: impl CredentialStore) -> OAuthBuilder {
        OAuthBuilder::new(url, store)
    }

    pub(super) fn from_session(session: AuthSession) -> Self {
        Self(Arc::new(session))
    }

    /// Returns the URL of the server in its normal form, without a fragment.
    #[must_use]
    pub fn server_url(&self) -> &str {
        &self.0.settings.server_text
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
        match probe(session).await? {
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
        match probe(self.session()).await? {
            Probe::Refused(challenge) => self.log_in_after(Demand::Login(challenge)).await,
            Probe::NoLogin => {
                let message = "the server asks for no login: it took a request without a token; \
                               log in with the challenge of a request that it refused \
                               (OAuth::log_in_with)";
                Err(AuthError::new(AuthErrorKind::Discovery, message))
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
        let token = session.replace(used, demand, None).await?;
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
        Ok(self.session().log_out().await?.is_some())
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

    pub(crate) fn session(&self) -> &Arc<AuthSession> {
        &self.0
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
    let server = &session.settings.server;
    let mut headers = http::HeaderMap::new();
    let accepted = http::HeaderValue::from_static("application/json, text/event-stream");
    headers.insert(http::header::ACCEPT, accepted);
    // No message of the protocol: a server that needs no token refuses it and does nothing.
    let nothing = serde_json::Map::new();
    let response = session
        .outbound
        .post_json(server.as_str(), &nothing, headers)
        .await;
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
            .field("server", &self.0.settings.server_text)
            .field("client_name", &self.0.settings.client_name)
            .finish_non_exhaustive()
    }
}
