//! One attempt to obtain credentials: discovery, then a refresh, a login in the browser or a grant.
//!
//! The caller holds the lock of the store. New credentials are stored before they are returned.
//!
//! Specification: basic/authorization, "Authorization Flow Steps" (2026-07-28).

use super::authorization_code::{AuthorizationAttempt, AuthorizationRequest, RedirectError};
use super::credentials::{Credentials, TokenType};
use super::discovery::{self, Discovery};
use super::error::{AuthError, AuthErrorKind};
use super::grant::GrantContext;
use super::interaction::LoginUiErrorKind;
use super::registration::{self, ClientRegistration, RegistrationRequest, RegistrationSource};
use super::scope_selection::{ScopeSources, select_scopes};
use super::session::{ActiveToken, AuthSession, store_error};
use super::settings::Settings;
use super::token_endpoint::{
    ClientAuthentication, TokenEndpoint, TokenError, TokenResponse, describe_form,
};
use super::transcript::{Recorder, StepKind};
use crate::challenge::Challenge;
use crate::dpop::{DpopKey, DpopSession};
use crate::metadata::AuthorizationServerMetadata;
use crate::outbound::{Outbound, OutboundError};
use crate::secret::Secret;

/// One attempt to obtain credentials.
pub(crate) struct Login<'a> {
    session: &'a AuthSession,
    settings: &'a Settings,
    outbound: &'a Outbound,
    recorder: &'a Recorder,
}

/// The client at an authorization server, and what it asks for.
struct Asked<'a> {
    server: &'a AuthorizationServerMetadata,
    issuer: &'a str,
    resource: String,
    scopes: Vec<String>,
    client: Option<ClientRegistration>,
    dpop: Option<&'a DpopSession>,
}

impl<'a> Login<'a> {
    pub(crate) fn new(session: &'a AuthSession, recorder: &'a Recorder) -> Result<Self, AuthError> {
        Ok(Self {
            session,
            settings: &session.settings,
            outbound: session.outbound(recorder)?,
            recorder,
        })
    }

    /// Replaces a token before its end: by the stored one if that is newer, else by a refresh.
    pub(crate) async fn refresh_or_adopt(
        &self,
        token: &ActiveToken,
        stored: Option<&ActiveToken>,
    ) -> Result<Credentials, AuthError> {
        let newest = stored.unwrap_or(token);
        let is_other = newest.credentials.access_token != token.credentials.access_token;
        if is_other && !newest.credentials.should_refresh(self.session.clock.now()) {
            return Ok(newest.credentials.clone());
        }
        self.refresh(newest, &newest.credentials.server).await
    }

    /// Obtains credentials after a 401. A refresh token is used first, unless it may not, or the
    /// server has moved to another issuer.
    pub(crate) async fn reauthorize(
        &self,
        previous: Option<&ActiveToken>,
        challenge: Option<&Challenge>,
        may_refresh: bool,
    ) -> Result<Credentials, AuthError> {
        let refreshable =
            previous.filter(|previous| may_refresh && previous.credentials.refresh_token.is_some());
        let discovery = match self.discover(previous, challenge).await {
            Ok(discovery) => discovery,
            Err(error) => {
                // The issuer of the credentials was checked when they were made.
                let Some(previous) = refreshable else {
                    return Err(error);
                };
                let server = &previous.credentials.server;
                return self.refresh(previous, server).await.map_err(|_| error);
            }
        };
        if let Some(previous) = refreshable
            && previous.credentials.issuer == discovery.issuer
        {
            match self.refresh(previous, &discovery.server).await {
                Ok(credentials) => return Ok(credentials),
                Err(error) if error.kind() == AuthErrorKind::Network => return Err(error),
                Err(_) => {}
            }
        }
        self.authorize(&discovery, previous, challenge).await
    }

    /// Obtains credentials with more scopes.
    pub(crate) async fn step_up(
        &self,
        previous: Option<&ActiveToken>,
        challenge: &Challenge,
    ) -> Result<Credentials, AuthError> {
        let discovery = self.discover(previous, Some(challenge)).await?;
        self.authorize(&discovery, previous, Some(challenge)).await
    }

    async fn discover(
        &self,
        previous: Option<&ActiveToken>,
        challenge: Option<&Challenge>,
    ) -> Result<Discovery, AuthError> {
        let preferred = previous.map(|previous| previous.credentials.issuer.as_str());
        let bound = || {
            let client = self.settings.registered.first();
            client.and_then(|client| client.issuer.as_deref())
        };
        discovery::discover(
            self.outbound,
            &self.settings.server,
            &self.settings.server_text,
            challenge,
            preferred.or_else(bound),
            self.recorder,
        )
        .await
    }

    /// Refreshes a token at its authorization server.
    async fn refresh(
        &self,
        token: &ActiveToken,
        server: &AuthorizationServerMetadata,
    ) -> Result<Credentials, AuthError> {
        let old = &token.credentials;
        let Some(refresh_token) = &old.refresh_token else {
            let message = "there is no refresh token: log in again";
            return Err(self.error(AuthErrorKind::LoginRequired, message));
        };
        let asked = Asked {
            server,
            issuer: &old.issuer,
            resource: old.resource.clone(),
            scopes: old.requested_scopes.clone(),
            client: old.client.clone(),
            dpop: token.dpop.as_deref(),
        };
        let authentication = match &asked.client {
            Some(client) => ClientAuthentication::Registered(client.clone()),
            None => ClientAuthentication::Anonymous,
        };
        // No scope: the server grants what it granted before.
        let form = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh_token.expose()),
            ("resource", &asked.resource),
        ];
        let response = self
            .request_token(StepKind::Refresh, &asked, &authentication, &form)
            .await?;
        let mut credentials = self.credentials(asked, response, old.dpop_key.clone());
        if credentials.refresh_token.is_none() {
            credentials.refresh_token = old.refresh_token.clone();
        }
        if credentials.granted_scopes.is_none() {
            credentials.granted_scopes = old.granted_scopes.clone();
        }
        self.session.save(&credentials, self.recorder).await;
        Ok(credentials)
    }

    /// Tells the authorization server that a login has ended, if it wants to know. A failure is
    /// reported only: the credentials are removed all the same.
    pub(crate) async fn revoke(&self, token: &ActiveToken) {
        let credentials = &token.credentials;
        let Some(refresh_token) = &credentials.refresh_token else {
            return;
        };
        let authentication = match &credentials.client {
            Some(client) => ClientAuthentication::Registered(client.clone()),
            None => ClientAuthentication::Anonymous,
        };
        let endpoint = TokenEndpoint {
            outbound: self.outbound,
            server: &credentials.server,
            client: &authentication,
            dpop: None,
            clock: &self.session.clock,
        };
        if let Err(error) = endpoint.revoke(refresh_token).await {
            tracing::warn!(%error, "the refresh token could not be revoked");
        }
    }

    /// Obtains credentials by the grant of the settings.
    async fn authorize(
        &self,
        discovery: &Discovery,
        previous: Option<&ActiveToken>,
        challenge: Option<&Challenge>,
    ) -> Result<Credentials, AuthError> {
        let previous = previous.filter(|token| token.credentials.issuer == discovery.issuer);
        let challenged = challenge.and_then(Challenge::scope);
        let is_interactive = self.settings.grant.is_interactive();
        let scopes = select_scopes(ScopeSources {
            challenge: challenged.as_deref(),
            resource: discovery.resource_scopes.as_deref(),
            configured: &self.settings.scopes,
            previous: previous.map_or(&[], |token| &token.credentials.requested_scopes),
            authorization_server: discovery.server.scopes_supported.as_deref(),
            wants_refresh_token: is_interactive,
        });
        let resource = discovery.resource.clone();
        let resource = resource.unwrap_or_else(|| self.settings.server_text.clone());
        // One key for each login: a server cannot connect two of them by the key.
        let (dpop_key, dpop) = self.dpop_key(previous)?;
        let dpop = dpop.as_ref();
        let asked = Asked {
            server: &discovery.server,
            issuer: &discovery.issuer,
            resource,
            scopes,
            client: None,
            dpop,
        };
        let credentials = if is_interactive {
            self.log_in(discovery, asked, dpop_key).await?
        } else {
            self.request_grant(discovery, asked, dpop_key).await?
        };
        self.session.save(&credentials, self.recorder).await;
        Ok(credentials)
    }

    /// Returns the key of the previous token, or a new one if tokens shall be bound to a key.
    fn dpop_key(
        &self,
        previous: Option<&ActiveToken>,
    ) -> Result<(Option<Secret>, Option<DpopSession>), AuthError> {
        if !self.settings.uses_dpop {
            return Ok((None, None));
        }
        let known = previous.and_then(|token| token.credentials.dpop_key.clone());
        let failed = |error: &dyn std::fmt::Display| self.error(AuthErrorKind::Token, error);
        let key = match &known {
            Some(pem) => DpopKey::from_pem(pem).map_err(|error| failed(&error))?,
            None => DpopKey::generate().map_err(|error| failed(&error))?,
        };
        let pem = key.to_pem().map_err(|error| failed(&error))?;
        Ok((Some(pem), Some(DpopSession::new(key))))
    }

    /// Logs the user in: registration, authorization page, code, token.
    async fn log_in(
        &self,
        discovery: &Discovery,
        mut asked: Asked<'_>,
        dpop_key: Option<Secret>,
    ) -> Result<Credentials, AuthError> {
        let registered = self.registered_client(&discovery.issuer).await?;
        let known = match registered {
            Some(client) => Some(client),
            None => self.stored_registration(&discovery.issuer).await?,
        };
        let preferred = known
            .as_ref()
            .and_then(|client| client.redirect_uri.as_deref());
        let pending = self.settings.ui.prepare(preferred).await;
        let pending = pending.map_err(|error| self.ui_error(&error))?;
        let redirect_uri = pending.redirect_uri().to_owned();
        let client = match known {
            Some(client) if is_usable(&client, &redirect_uri) => client,
            _ => {
                let client = self
                    .register(discovery, &redirect_uri, &asked.scopes)
                    .await?;
                self.store_registration(&client).await;
                client
            }
        };
        let request = AuthorizationRequest {
            client_id: &client.client_id,
            redirect_uri: &redirect_uri,
            scopes: &asked.scopes,
            resource: &asked.resource,
            dpop_thumbprint: asked.dpop.map(|dpop| dpop.key().thumbprint()),
        };
        let attempt = AuthorizationAttempt::new(discovery, request);
        let attempt = attempt.map_err(|error| {
            let endpoint = discovery.server.authorization_endpoint.as_deref();
            self.recorder.fail(
                StepKind::Authorization,
                format!("open {}", endpoint.unwrap_or("the authorization endpoint")),
                error.to_string(),
                "stop",
                "the authorization server has to be mended",
            );
            self.error(AuthErrorKind::Discovery, error)
        })?;
        let redirect = pending.open(attempt.url()).await;
        let redirect = match redirect {
            Ok(redirect) => redirect,
            Err(error) => {
                // A server that does not know the client shows an error and sends no redirect.
                self.forget_registration(Some(&client)).await;
                return Err(self.ui_error(&error));
            }
        };
        let code = attempt.read_redirect(&redirect);
        let code = code.map_err(|error| self.redirect_error(&error))?;
        self.recorder.record(
            StepKind::Authorization,
            format!("log in with client_id={}", client.client_id),
            "a code, with the right state and issuer",
            "exchange it for a token",
        );
        let authentication = ClientAuthentication::Registered(client.clone());
        asked.client = Some(client);
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code.expose()),
            ("redirect_uri", &redirect_uri),
            ("code_verifier", attempt.verifier().expose()),
            ("resource", &asked.resource),
        ];
        let response = self
            .request_token(StepKind::Token, &asked, &authentication, &form)
            .await?;
        Ok(self.credentials(asked, response, dpop_key))
    }

    /// Obtains credentials by a grant without the user.
    async fn request_grant(
        &self,
        discovery: &Discovery,
        asked: Asked<'_>,
        dpop_key: Option<Secret>,
    ) -> Result<Credentials, AuthError> {
        let grant = &self.settings.grant;
        // The credentials of a grant are shown to one issuer only, the first.
        let bound = self.bind_issuer("grant", &discovery.issuer).await?;
        if bound != discovery.issuer {
            let advice = "log out, if the server has really moved";
            self.recorder.fail(
                StepKind::Registration,
                "look for the issuer that knows the credentials",
                format!(
                    "they were used at {bound}, the server names {}",
                    discovery.issuer
                ),
                "stop: credentials are never shown to another issuer",
                advice,
            );
            let message = format!("the credentials belong to {bound}: {advice}");
            return Err(self.error(AuthErrorKind::Registration, message));
        }
        let registration = match grant.needs_registration() {
            true => self.registered_client(&discovery.issuer).await?,
            false => None,
        };
        let scope = asked.scopes.join(" ");
        let context = GrantContext {
            outbound: self.outbound,
            outbound_settings: &self.settings.outbound,
            discovery,
            resource: Some(&asked.resource),
            scope: (!scope.is_empty()).then_some(scope.as_str()),
            registration: registration.as_ref(),
            dpop: asked.dpop,
            clock: &self.session.clock,
            recorder: self.recorder,
        };
        let mut response = grant.request_token(&context).await?;
        // The grant itself is repeated instead: it needs nobody, and knows its client.
        response.refresh_token = None;
        Ok(self.credentials(asked, response, dpop_key))
    }

    /// Returns the client of the settings for an issuer.
    ///
    /// # Errors
    /// Fails if the settings have clients, but none for this issuer.
    async fn registered_client(
        &self,
        issuer: &str,
    ) -> Result<Option<ClientRegistration>, AuthError> {
        let clients = &self.settings.registered;
        if clients.is_empty() {
            return Ok(None);
        }
        let mut others = Vec::new();
        for client in clients {
            let bound = match &client.issuer {
                Some(bound) => bound.clone(),
                None => self.bind_issuer(&client.client_id, issuer).await?,
            };
            if bound != issuer {
                others.push(bound);
                continue;
            }
            self.recorder.record(
                StepKind::Registration,
                "look for a client id in the settings",
                format!("client_id={}", client.client_id),
                "use it",
            );
            return Ok(Some(ClientRegistration {
                issuer: issuer.to_owned(),
                client_id: client.client_id.clone(),
                client_secret: client.client_secret.clone(),
                secret_expires_at: None,
                auth_method: None,
                redirect_uri: None,
                source: RegistrationSource::PreRegistered,
            }));
        }
        let others = others.join(", ");
        let advice = "register a client at the new issuer, and set its client id";
        self.recorder.fail(
            StepKind::Registration,
            "look for a client id in the settings",
            format!("there are client ids for {others}, none for {issuer}"),
            "stop: an id is never shown to another issuer",
            advice,
        );
        Err(self.error(
            AuthErrorKind::Registration,
            format!("the client id belongs to {others}, but the server names {issuer}: {advice}"),
        ))
    }

    /// Binds a client without an issuer to the first one that the server names, and returns the
    /// issuer that it is bound to.
    async fn bind_issuer(&self, client_id: &str, issuer: &str) -> Result<String, AuthError> {
        let key = self.settings.binding_key(client_id);
        let store = &self.settings.store;
        let bound = store.load(&key).await;
        if let Some(bound) = bound.map_err(|error| store_error(&error, self.recorder))? {
            return Ok(bound.expose().to_owned());
        }
        let saved = store.save(&key, &Secret::new(issuer)).await;
        saved.map_err(|error| store_error(&error, self.recorder))?;
        Ok(issuer.to_owned())
    }

    /// Returns the client that was registered with an issuer before, if it can still be used.
    async fn stored_registration(
        &self,
        issuer: &str,
    ) -> Result<Option<ClientRegistration>, AuthError> {
        let key = self.settings.registration_key(issuer);
        let stored = self.settings.store.load(&key).await;
        let stored = stored.map_err(|error| store_error(&error, self.recorder))?;
        let client =
            stored.and_then(|text| serde_json::from_str::<ClientRegistration>(text.expose()).ok());
        let now = self.session.clock.now();
        Ok(client.filter(|client| client.is_for(issuer) && !client.is_expired(now)))
    }

    async fn register(
        &self,
        discovery: &Discovery,
        redirect_uri: &str,
        scopes: &[String],
    ) -> Result<ClientRegistration, AuthError> {
        let scope = scopes.join(" ");
        let is_native = !redirect_uri.starts_with("https:");
        let request = RegistrationRequest {
            client_name: &self.settings.client_name,
            redirect_uri,
            application_type: if is_native { "native" } else { "web" },
            scope: (!scope.is_empty()).then_some(scope.as_str()),
            grant_types: &["authorization_code", "refresh_token"],
            metadata_document: self.settings.client_metadata_url.as_deref(),
            ..RegistrationRequest::default()
        };
        registration::register(self.outbound, discovery, &request, self.recorder).await
    }

    async fn store_registration(&self, client: &ClientRegistration) {
        if client.source != RegistrationSource::Dynamic {
            return;
        }
        let key = self.settings.registration_key(&client.issuer);
        let Ok(text) = serde_json::to_string(client) else {
            return;
        };
        if let Err(error) = self.settings.store.save(&key, &Secret::new(text)).await {
            tracing::warn!(%error, "the client's registration could not be stored");
        }
    }

    async fn forget_registration(&self, client: Option<&ClientRegistration>) {
        let Some(client) = client.filter(|client| client.source == RegistrationSource::Dynamic)
        else {
            return;
        };
        let key = self.settings.registration_key(&client.issuer);
        if let Err(error) = self.settings.store.remove(&key).await {
            tracing::warn!(%error, "the client's registration could not be removed");
        }
    }

    /// Sends a request to the token endpoint, and records it.
    async fn request_token(
        &self,
        step: StepKind,
        asked: &Asked<'_>,
        authentication: &ClientAuthentication,
        form: &[(&str, &str)],
    ) -> Result<TokenResponse, AuthError> {
        let endpoint = TokenEndpoint {
            outbound: self.outbound,
            server: asked.server,
            client: authentication,
            dpop: asked.dpop,
            clock: &self.session.clock,
        };
        let request = format!("POST {} {}", endpoint.url(), describe_form(form));
        match endpoint.request(form).await {
            Ok(response) => {
                let life = match response.expires_in {
                    Some(life) => format!("a token for {life} s"),
                    None => "a token".to_owned(),
                };
                self.recorder.record(step, request, life, "store it");
                Ok(response)
            }
            Err(error) => {
                // A registration that the server has forgotten must not be tried for ever.
                if matches!(error.code(), Some("invalid_client" | "unauthorized_client")) {
                    self.forget_registration(asked.client.as_ref()).await;
                }
                let (kind, decision, advice) = token_advice(step, &error);
                self.recorder
                    .fail(step, request, error.to_string(), decision, advice);
                Err(self.error(kind, format!("no access token: {error}")))
            }
        }
    }

    /// Builds the credentials that a token response grants.
    fn credentials(
        &self,
        asked: Asked<'_>,
        response: TokenResponse,
        dpop_key: Option<Secret>,
    ) -> Credentials {
        let now = self.session.clock.now();
        let granted = response.scope.as_deref();
        let granted = granted.map(|scope| scope.split_whitespace().map(str::to_owned).collect());
        Credentials {
            format: Credentials::format(),
            issuer: asked.issuer.to_owned(),
            resource: asked.resource,
            server: asked.server.clone(),
            client: asked.client,
            access_token: response.access_token,
            token_type: match asked.dpop {
                Some(_) => TokenType::Dpop,
                None => TokenType::Bearer,
            },
            obtained_at: now,
            expires_at: response.expires_in.map(|life| now.saturating_add(life)),
            refresh_token: response.refresh_token,
            requested_scopes: asked.scopes,
            granted_scopes: granted,
            dpop_key,
        }
    }

    fn ui_error(&self, error: &super::interaction::LoginUiError) -> AuthError {
        let (kind, advice) = match error.kind() {
            LoginUiErrorKind::LoginRequired => {
                (AuthErrorKind::LoginRequired, "log in, then try again")
            }
            LoginUiErrorKind::UrlRefused => (
                AuthErrorKind::UrlRefused,
                "the authorization server has to be mended",
            ),
            LoginUiErrorKind::Unavailable => (
                AuthErrorKind::LoginRequired,
                "free the port of the redirect, or set another",
            ),
            LoginUiErrorKind::Cancelled | LoginUiErrorKind::TimedOut => (
                AuthErrorKind::Denied,
                "try again, and finish the login in the browser",
            ),
        };
        let message = error.to_string();
        self.recorder
            .fail(StepKind::Authorization, "log in", &*message, "stop", advice);
        self.error(kind, message)
    }

    fn redirect_error(&self, error: &RedirectError) -> AuthError {
        let (kind, advice) = match error {
            RedirectError::Refused { .. } => (
                AuthErrorKind::Denied,
                "try again, and allow what the page asks",
            ),
            _ => (
                AuthErrorKind::Protocol,
                "try again; if it stays, another server may have meddled with the login",
            ),
        };
        let message = error.to_string();
        self.recorder.fail(
            StepKind::Authorization,
            "read the redirect",
            &*message,
            "stop: no code is sent to the token endpoint",
            advice,
        );
        self.error(kind, message)
    }

    fn error(&self, kind: AuthErrorKind, message: impl ToString) -> AuthError {
        AuthError::new(kind, message.to_string(), self.recorder)
    }
}

/// Returns whether a registration fits the redirect URI of this login. Ids from the settings and
/// from metadata documents belong to clients that list their redirect URIs themselves.
fn is_usable(client: &ClientRegistration, redirect_uri: &str) -> bool {
    client.source != RegistrationSource::Dynamic
        || client.redirect_uri.as_deref() == Some(redirect_uri)
}

/// Returns the kind of a failed token request, what follows, and what to do about it.
fn token_advice(step: StepKind, error: &TokenError) -> (AuthErrorKind, &'static str, &'static str) {
    let is_refresh = step == StepKind::Refresh;
    match error {
        _ if error.is_transient() => (
            AuthErrorKind::Network,
            "stop; a refresh token is kept",
            "try again when the authorization server can be reached",
        ),
        TokenError::Outbound(OutboundError::Refused { .. }) => (
            AuthErrorKind::UrlRefused,
            "stop",
            "the authorization server has to name a public https URL",
        ),
        TokenError::Refused { error, .. } if is_refresh && error == "invalid_grant" => (
            AuthErrorKind::Token,
            "log in again",
            "the refresh token has ended, was revoked, or was used by a process that ended before \
             it could store the next one",
        ),
        _ if is_refresh => (
            AuthErrorKind::Token,
            "log in again",
            "the authorization server's log may say more",
        ),
        _ => (
            AuthErrorKind::Token,
            "stop",
            "look at the client id, its secret and the redirect URI at the authorization server",
        ),
    }
}
