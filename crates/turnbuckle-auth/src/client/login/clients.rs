//! The client of a login: its id at an authorization server.
//!
//! Ids and secrets are shown to one issuer only.
//!
//! Specification: basic/authorization/client-registration, "Authorization Server Binding"
//! (2026-07-28).

use turnbuckle_types::base::text::Escaped;

use super::LoginContext;
use crate::client::discovery::Discovery;
use crate::client::registration::{
    self, ClientRegistration, RegistrationRequest, RegistrationSource,
};
use crate::error::{AuthError, AuthErrorKind};
use crate::secret::Secret;
use crate::transcript::StepKind;

impl LoginContext<'_> {
    /// Returns the client of the settings for an issuer.
    ///
    /// # Errors
    /// Fails if the settings have clients, but none for this issuer.
    pub(super) async fn registered_client(
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
                scopes: None,
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
        Err(AuthError::new(
            AuthErrorKind::Registration,
            format!("the client id belongs to {others}, but the server names {issuer}: {advice}"),
        ))
    }

    /// Binds a client without an issuer to the first one that the server names, and returns the
    /// issuer that it is bound to.
    pub(super) async fn bind_issuer(
        &self,
        client_id: &str,
        issuer: &str,
    ) -> Result<String, AuthError> {
        let key = self.settings.binding_key(client_id);
        let store = &self.settings.store;
        let bound = store.load(&key).await;
        if let Some(bound) = bound? {
            return Ok(bound.expose().to_owned());
        }
        let saved = store.save(&key, &Secret::new(issuer)).await;
        saved?;
        Ok(issuer.to_owned())
    }

    /// Returns the client that was registered with an issuer before, if it can still be used.
    pub(super) async fn stored_registration(
        &self,
        issuer: &str,
    ) -> Result<Option<ClientRegistration>, AuthError> {
        let key = self.settings.registration_key(issuer);
        let stored = self.settings.store.load(&key).await;
        let stored = stored?;
        let client =
            stored.and_then(|text| serde_json::from_str::<ClientRegistration>(text.expose()).ok());
        let now = self.clock.now();
        Ok(client.filter(|client| client.is_for(issuer) && !client.is_expired(now)))
    }

    pub(super) async fn register(
        &self,
        discovery: &Discovery,
        redirect_uri: &str,
        scopes: &[String],
    ) -> Result<ClientRegistration, AuthError> {
        // A client may be held to the scopes of its registration, and a later step-up asks for more.
        let known = discovery.resource_scopes.iter().flatten();
        let more = known.filter(|scope| !scope.is_empty() && !scopes.contains(scope));
        let scopes: Vec<&str> = scopes.iter().chain(more).map(String::as_str).collect();
        let scope = scopes.join(" ");
        let is_native = !redirect_uri.starts_with("https:");
        let request = RegistrationRequest {
            client_name: &self.settings.client_name,
            redirect_uri,
            application_type: if is_native { "native" } else { "web" },
            scope: (!scope.is_empty()).then_some(scope.as_str()),
            grant_types: &["authorization_code", "refresh_token"],
            metadata_document: self.settings.client_metadata_url.as_deref(),
        };
        let client = registration::register(self.outbound, discovery, &request, self.recorder);
        let scopes = scopes.into_iter().map(str::to_owned).collect();
        Ok(ClientRegistration {
            scopes: Some(scopes),
            ..client.await?
        })
    }

    pub(super) async fn store_registration(&self, client: &ClientRegistration) {
        if client.source != RegistrationSource::Dynamic {
            return;
        }
        let key = self.settings.registration_key(&client.issuer);
        let Ok(text) = serde_json::to_string(client) else {
            return;
        };
        if let Err(error) = self.settings.store.save(&key, &Secret::new(text)).await {
            tracing::warn!(error = %Escaped(&error), "the client's registration could not be stored");
        }
    }

    pub(super) async fn forget_registration(&self, client: Option<&ClientRegistration>) {
        let Some(client) = client.filter(|client| client.source == RegistrationSource::Dynamic)
        else {
            return;
        };
        let key = self.settings.registration_key(&client.issuer);
        if let Err(error) = self.settings.store.remove(&key).await {
            tracing::warn!(error = %Escaped(&error), "the client's registration could not be removed");
        }
    }
}

/// Returns whether a registration fits the redirect URI of this login. Ids from the settings and
/// from metadata documents belong to clients that list their redirect URIs themselves.
pub(super) fn is_usable(client: &ClientRegistration, redirect_uri: &str) -> bool {
    client.source != RegistrationSource::Dynamic
        || client.redirect_uri.as_deref() == Some(redirect_uri)
}

/// Returns whether another registration could allow scopes that the server refused: this one did not
/// ask for all of them, and the server knows them.
pub(super) fn can_widen(
    client: &ClientRegistration,
    discovery: &Discovery,
    scopes: &[String],
) -> bool {
    let is_known = |scope: &String| {
        let supported = discovery.server.scopes_supported.as_ref();
        supported.is_none_or(|supported| supported.contains(scope))
    };
    let is_registered = |scope: &String| {
        let registered = client.scopes.as_ref();
        registered.is_some_and(|registered| registered.contains(scope))
    };
    client.source == RegistrationSource::Dynamic
        && scopes.iter().all(is_known)
        && !scopes.iter().all(is_registered)
}
