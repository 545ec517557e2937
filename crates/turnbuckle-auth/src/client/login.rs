//! One attempt to obtain credentials: discovery, then a refresh, a login in the browser or a grant.
//!
//! The caller holds the lock of the credentials for a refresh, and that of logins for everything else.
//! New credentials are stored before they are returned.
//!
//! Specification: basic/authorization, "Authorization Flow Steps" (2026-07-28).

mod clients;
mod storage;
mod tokens;

use std::sync::Arc;

use url::Url;

use self::clients::{can_widen, is_usable};
use super::active_token::{ActiveToken, TokenOrigin};
use super::authorization_code::{AuthorizationAttempt, AuthorizationRequest, RedirectError};
use super::credentials::Credentials;
use super::discovery::{self, Discovery};
use super::grant::GrantContext;
use super::pending_tokens::PendingToken;
use super::registration::ClientRegistration;
use super::scope_selection::{ScopeSources, select_scopes};
use super::settings::{GRANT, Settings};
use super::token_endpoint::{ClientAuthentication, TokenEndpoint};
use crate::challenge::Challenge;
use crate::clock::Clock;
use crate::dpop::{DpopKey, DpopSession};
use crate::error::{AuthError, AuthErrorKind};
use crate::metadata::AuthorizationServerMetadata;
use crate::outbound::{Outbound, is_https_or_loopback};
use crate::secret::Secret;
use crate::transcript::{Recorder, StepKind};
use turnbuckle_types::base::text::Escaped;

/// The parts that all steps of a login use: its settings with the store and the user interface, the
/// client for requests, the clock, and the record of the steps.
pub(crate) struct LoginContext<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) outbound: &'a Outbound,
    pub(crate) clock: &'a Clock,
    pub(crate) recorder: &'a Recorder,
}

/// The outcome of [`LoginContext::renew`].
pub(crate) enum Renewal {
    Refreshed(Arc<ActiveToken>),
    /// No refresh token helps: the user or a grant has to.
    LoginNeeded(Box<Discovery>),
}

/// The client at an authorization server, and what it asks for.
struct TokenRequest<'a> {
    server: &'a AuthorizationServerMetadata,
    issuer: &'a str,
    resource: String,
    scopes: Vec<String>,
    client: Option<ClientRegistration>,
    dpop: Option<&'a DpopSession>,
}

impl LoginContext<'_> {
    /// Replaces a token before its end: by the stored one if that is newer, else by a refresh.
    pub(crate) async fn refresh_or_adopt(
        &self,
        token: &ActiveToken,
        stored: Arc<ActiveToken>,
    ) -> Result<Arc<ActiveToken>, AuthError> {
        if stored.is_other_than(Some(token)) && !stored.should_refresh(self.clock.now()) {
            return Ok(stored);
        }
        self.refresh(&stored, &stored.credentials.server).await
    }

    /// Refreshes a token after a 401. The refresh token is not used if it may not, or if the server has
    /// moved to another issuer.
    pub(crate) async fn renew(
        &self,
        previous: Option<&ActiveToken>,
        challenge: Option<&Challenge>,
        may_refresh: bool,
    ) -> Result<Renewal, AuthError> {
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
                let refreshed = self.refresh(previous, server).await;
                return match refreshed {
                    Ok(token) => Ok(Renewal::Refreshed(token)),
                    Err(_) => Err(error),
                };
            }
        };
        if let Some(previous) = refreshable
            && previous.credentials.issuer == discovery.issuer
        {
            match self.refresh(previous, &discovery.server).await {
                Ok(token) => return Ok(Renewal::Refreshed(token)),
                Err(error) if error.kind() == AuthErrorKind::Network => return Err(error),
                Err(_) => {}
            }
        }
        Ok(Renewal::LoginNeeded(Box::new(discovery)))
    }

    /// Finds the authorization server. That of the previous token is preferred.
    pub(crate) async fn discover(
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
    ) -> Result<Arc<ActiveToken>, AuthError> {
        let old = &token.credentials;
        let Some(refresh_token) = &old.refresh_token else {
            let message = "there is no refresh token: log in again";
            return Err(AuthError::new(AuthErrorKind::LoginRequired, message));
        };
        let asked = TokenRequest {
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
        let _pending = PendingToken::new();
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
        self.save(credentials, Some(token), TokenOrigin::Refresh)
            .await
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
            clock: self.clock,
        };
        if let Err(error) = endpoint.revoke(refresh_token).await {
            tracing::warn!(error = %Escaped(&error), "the refresh token could not be revoked");
        }
    }

    /// Obtains credentials by the grant of the settings.
    pub(crate) async fn authorize(
        &self,
        discovery: &Discovery,
        previous: Option<&ActiveToken>,
        challenge: Option<&Challenge>,
    ) -> Result<Arc<ActiveToken>, AuthError> {
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
        let asked = TokenRequest {
            server: &discovery.server,
            issuer: &discovery.issuer,
            resource,
            scopes,
            client: None,
            dpop,
        };
        let (credentials, _pending) = if is_interactive {
            self.log_in(discovery, asked, dpop_key).await?
        } else {
            let pending = PendingToken::new();
            let credentials = self.request_grant(discovery, asked, dpop_key).await?;
            (credentials, pending)
        };
        // A refresh of the former credentials must not end after this. The login is kept in any case.
        let _lock = self.lock_credentials().await;
        self.save(credentials, previous, TokenOrigin::Login).await
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
        let failed =
            |error: &dyn std::fmt::Display| AuthError::new(AuthErrorKind::Token, error.to_string());
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
        mut asked: TokenRequest<'_>,
        dpop_key: Option<Secret>,
    ) -> Result<(Credentials, PendingToken), AuthError> {
        let registered = self.registered_client(&discovery.issuer).await?;
        let mut known = match registered {
            Some(client) => Some(client),
            None => self.stored_registration(&discovery.issuer).await?,
        };
        let mut must_register = false;
        loop {
            let preferred = known
                .as_ref()
                .and_then(|client| client.redirect_uri.as_deref());
            let pending = self.settings.ui.prepare(preferred).await;
            let pending = pending.map_err(|error| self.ui_error(&error))?;
            let redirect_uri = pending.redirect_uri().to_owned();
            if !Url::parse(&redirect_uri).is_ok_and(|url| is_https_or_loopback(&url)) {
                let message =
                    format!("the redirect URI {redirect_uri} is neither https nor loopback");
                return Err(AuthError::new(AuthErrorKind::UrlRefused, message));
            }
            let client = match known {
                Some(client) if !must_register && is_usable(&client, &redirect_uri) => client,
                _ => {
                    must_register = true;
                    let client = self
                        .register(discovery, &redirect_uri, &asked.scopes)
                        .await?;
                    self.store_registration(&client).await;
                    client
                }
            };
            let attempt = self.authorization_attempt(discovery, &asked, &client, &redirect_uri)?;
            let redirect = match pending.open(attempt.url()).await {
                Ok(redirect) => redirect,
                Err(error) => {
                    // A server that does not know the client shows an error and sends no redirect.
                    self.forget_registration(Some(&client)).await;
                    return Err(self.ui_error(&error));
                }
            };
            match attempt.read_redirect(&redirect) {
                Ok(code) => {
                    asked.client = Some(client);
                    let grant = (code, attempt.verifier(), redirect_uri.as_str());
                    return self.exchange_code(asked, grant, dpop_key).await;
                }
                // A server may hold a client to the scopes of its registration.
                Err(error)
                    if !must_register
                        && error.is_invalid_scope()
                        && can_widen(&client, discovery, &asked.scopes) =>
                {
                    self.recorder.fail(
                        StepKind::Authorization,
                        "read the redirect",
                        error.to_string(),
                        "register once more, with these scopes",
                        "",
                    );
                    self.forget_registration(Some(&client)).await;
                    known = Some(client);
                    must_register = true;
                }
                Err(error) => return Err(self.redirect_error(&error)),
            }
        }
    }

    /// Builds the request of a login page.
    fn authorization_attempt(
        &self,
        discovery: &Discovery,
        asked: &TokenRequest<'_>,
        client: &ClientRegistration,
        redirect_uri: &str,
    ) -> Result<AuthorizationAttempt, AuthError> {
        let request = AuthorizationRequest {
            client_id: &client.client_id,
            redirect_uri,
            scopes: &asked.scopes,
            resource: &asked.resource,
            dpop_thumbprint: asked.dpop.map(|dpop| dpop.key().thumbprint()),
        };
        AuthorizationAttempt::new(discovery, request).map_err(|error| {
            tracing::warn!(error = %Escaped(&error), "no browser is sent to the authorization server");
            let endpoint = discovery.server.authorization_endpoint.as_deref();
            self.recorder.fail(
                StepKind::Authorization,
                format!("open {}", endpoint.unwrap_or("the authorization endpoint")),
                error.to_string(),
                "stop",
                "the authorization server has to be mended",
            );
            AuthError::new(AuthErrorKind::Discovery, error.to_string())
        })
    }

    /// Exchanges the code of a login for a token. `grant` is the code, its verifier and the redirect
    /// URI.
    async fn exchange_code(
        &self,
        asked: TokenRequest<'_>,
        (code, verifier, redirect_uri): (Secret, &Secret, &str),
        dpop_key: Option<Secret>,
    ) -> Result<(Credentials, PendingToken), AuthError> {
        let authentication = match &asked.client {
            Some(client) => ClientAuthentication::Registered(client.clone()),
            None => ClientAuthentication::Anonymous,
        };
        self.recorder.record(
            StepKind::Authorization,
            format!(
                "log in with client_id={}",
                authentication.client_id().unwrap_or_default()
            ),
            "a code, with the right state and issuer",
            "exchange it for a token",
        );
        let pending = PendingToken::new();
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code.expose()),
            ("redirect_uri", redirect_uri),
            ("code_verifier", verifier.expose()),
            ("resource", &asked.resource),
        ];
        let response = self
            .request_token(StepKind::Token, &asked, &authentication, &form)
            .await?;
        let has_other_method = response.auth_method.is_some();
        let credentials = self.credentials(asked, response, dpop_key);
        if has_other_method && let Some(client) = &credentials.client {
            self.store_registration(client).await;
        }
        Ok((credentials, pending))
    }

    /// Obtains credentials by a grant without the user.
    async fn request_grant(
        &self,
        discovery: &Discovery,
        asked: TokenRequest<'_>,
        dpop_key: Option<Secret>,
    ) -> Result<Credentials, AuthError> {
        let grant = &self.settings.grant;
        // The credentials of a grant are shown to one issuer only, the first.
        let bound = self.bind_issuer(GRANT, &discovery.issuer).await?;
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
            return Err(AuthError::new(AuthErrorKind::Registration, message));
        }
        let registration = if grant.needs_registration() {
            self.registered_client(&discovery.issuer).await?
        } else {
            None
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
            clock: self.clock,
            recorder: self.recorder,
        };
        let mut response = grant.request_token(&context).await?;
        // The grant itself is repeated instead: it needs nobody, and knows its client.
        response.refresh_token = None;
        Ok(self.credentials(asked, response, dpop_key))
    }

    fn ui_error(&self, error: &AuthError) -> AuthError {
        let advice = match error.kind() {
            AuthErrorKind::LoginRequired => "log in, then try again",
            AuthErrorKind::UrlRefused => "the authorization server has to be mended",
            AuthErrorKind::LoginUnavailable => "free the port of the redirect, or set another",
            _ => "try again, and finish the login in the browser",
        };
        let message = format!("login: {error}");
        self.recorder
            .fail(StepKind::Authorization, "log in", &*message, "stop", advice);
        AuthError::new(error.kind(), message)
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
        AuthError::new(kind, message)
    }
}
