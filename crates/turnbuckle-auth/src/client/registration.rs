//! Client registration: a client id for one authorization server.
//!
//! The order is that of the specification: a Client ID Metadata Document, then dynamic registration.
//! Called by the login when neither the settings nor the store have a client id.
//!
//! Specification: basic/authorization/client-registration (2026-07-28).

use serde::{Deserialize, Serialize};
use url::Url;

use super::discovery::Discovery;
use crate::error::{AuthError, AuthErrorKind};
use crate::outbound::{Outbound, display_url_text};
use crate::secret::Secret;
use crate::transcript::{Recorder, StepKind};

mod dynamic;
#[cfg(test)]
mod tests;

/// The way in which a client id was obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RegistrationSource {
    /// An id from the settings.
    PreRegistered,
    /// The URL of a Client ID Metadata Document.
    MetadataDocument,
    /// The authorization server issued it on request.
    Dynamic,
}

/// A client id with all that belongs to it. It is valid for one issuer only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClientRegistration {
    /// The issuer of the authorization server that knows the client.
    pub(crate) issuer: String,
    pub(crate) client_id: String,
    pub(crate) client_secret: Option<Secret>,
    /// The end of the secret, in seconds since 1970. `None` if the secret has no end.
    pub(crate) secret_expires_at: Option<u64>,
    /// The way in which the client authenticates itself: `none`, `client_secret_basic` or
    /// `client_secret_post`.
    pub(crate) auth_method: Option<String>,
    /// The redirect URI that was registered.
    pub(crate) redirect_uri: Option<String>,
    /// The scopes that a dynamic registration asked for. `None` if they are unknown.
    #[serde(default)]
    pub(crate) scopes: Option<Vec<String>>,
    pub(crate) source: RegistrationSource,
}

impl ClientRegistration {
    /// Returns true if the registration may be shown to the authorization server `issuer`.
    pub(crate) fn is_for(&self, issuer: &str) -> bool {
        self.issuer == issuer
    }

    /// Returns true if the client's secret has ended at `now`, in seconds since 1970.
    pub(crate) fn is_expired(&self, now: u64) -> bool {
        self.secret_expires_at.is_some_and(|end| end <= now)
    }
}

/// The description of a client, for its registration.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RegistrationRequest<'a> {
    /// The name of the client, for people.
    pub(crate) client_name: &'a str,
    pub(crate) redirect_uri: &'a str,
    /// `native` or `web`.
    pub(crate) application_type: &'a str,
    pub(crate) scope: Option<&'a str>,
    pub(crate) grant_types: &'a [&'a str],
    /// The URL of the client's metadata document.
    pub(crate) metadata_document: Option<&'a str>,
}

/// Obtains a client id for the authorization server of `discovery`, by the first way that works
/// there.
///
/// # Errors
/// Fails with the answer of the registration endpoint, or with what to configure when the server
/// offers no way.
pub(crate) async fn register(
    outbound: &Outbound,
    discovery: &Discovery,
    request: &RegistrationRequest<'_>,
    recorder: &Recorder,
) -> Result<ClientRegistration, AuthError> {
    let step = StepKind::Registration;
    let issuer = &discovery.issuer;
    if let Some(url) = request.metadata_document {
        if discovery.server.client_id_metadata_document_supported {
            check_metadata_document(url).map_err(|reason| {
                let message =
                    format!("the client's metadata document {url} cannot be used: {reason}");
                AuthError::new(AuthErrorKind::Registration, message)
            })?;
            let decision = "use the URL as client id";
            recorder.record(
                step,
                format!("use {url}"),
                "the server supports it",
                decision,
            );
            return Ok(ClientRegistration {
                issuer: issuer.clone(),
                client_id: url.to_owned(),
                client_secret: None,
                secret_expires_at: None,
                auth_method: Some("none".to_owned()),
                redirect_uri: Some(request.redirect_uri.to_owned()),
                scopes: None,
                source: RegistrationSource::MetadataDocument,
            });
        }
        let answer = "the server does not advertise client_id_metadata_document_supported";
        recorder.record(step, format!("use {url}"), answer, "look for another way");
    }
    match discovery.server.registration_endpoint.as_deref() {
        Some(endpoint) => dynamic::register(outbound, endpoint, discovery, request, recorder).await,
        None => Err(registration_unsupported(issuer, request, recorder)),
    }
}

/// Creates the error of a server that offers no way to register.
fn registration_unsupported(
    issuer: &str,
    request: &RegistrationRequest<'_>,
    recorder: &Recorder,
) -> AuthError {
    let issuer = display_url_text(issuer);
    let mut advice = format!(
        "register a client at {issuer} by hand and configure its client id for that issuer"
    );
    if request.metadata_document.is_none() {
        advice +=
            ", or configure the URL of a Client ID Metadata Document if the server supports one";
    }
    let answer = "no registration_endpoint";
    recorder.fail(
        StepKind::Registration,
        "look for a way to register",
        answer,
        "stop",
        &advice,
    );
    let message = format!("{issuer} registers no clients by itself: {advice}");
    AuthError::new(AuthErrorKind::Registration, message)
}

/// Checks the URL of a Client ID Metadata Document.
pub(crate) fn check_metadata_document(url: &str) -> Result<(), &'static str> {
    let parsed = Url::parse(url).map_err(|_| "it is no URL")?;
    if parsed.scheme() != "https" {
        return Err("it must begin with https://");
    }
    if parsed.path() == "/" {
        return Err("it needs a path, for instance /client.json");
    }
    if parsed.fragment().is_some() {
        return Err("it must have no fragment");
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err("it must have no credentials");
    }
    // The authorization server compares the client id as text.
    if parsed.as_str() != url {
        return Err("it must be in normal form: lower-case host, no default port, no dot segments");
    }
    Ok(())
}
