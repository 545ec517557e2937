//! Dynamic client registration.
//!
//! Specification: RFC 7591; OpenID Connect Dynamic Client Registration 1.0, section 2.

use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use turnbuckle_auth::Secret;
use turnbuckle_types::base::random;

use super::answer::{Answer, Refusal, ensure, private_json};
use super::client::{Client, ClientAuthMethod};
use super::client_metadata::ClientMetadata;
use super::grants::GRANT_TYPES;
use super::redirect_uri::{self, ApplicationType};
use super::routes::is_media_type;
use super::server::Server;

/// The most redirect URIs of a client.
const MAX_REDIRECT_URIS: usize = 20;

/// The members of a registration that the answer repeats.
const REPEATED_MEMBERS: [&str; 8] = [
    "application_type",
    "client_name",
    "client_uri",
    "scope",
    "software_id",
    "software_version",
    "jwks",
    "jwks_uri",
];

/// Registers a client.
pub(super) fn register(
    server: &Server,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Answer, Refusal> {
    let invalid = |reason: String| Refusal::new("invalid_client_metadata", reason);
    let ensure = |is_met, description| ensure(is_met, "invalid_client_metadata", description);
    // A page of another origin can send no JSON without asking first.
    let is_json = is_media_type(headers, "application/json");
    ensure(is_json, "the Content-Type must be application/json")?;
    let malformed = |error: serde_json::Error| invalid(format!("the body is malformed: {error}"));
    let document: Value = serde_json::from_slice(body).map_err(malformed)?;
    ensure(document.is_object(), "the body is no JSON object")?;
    let mut metadata: ClientMetadata = serde_json::from_slice(body).map_err(malformed)?;

    let auth_method = metadata.token_endpoint_auth_method;
    let auth_method = auth_method.unwrap_or(ClientAuthMethod::ClientSecretBasic);
    let grant_types = metadata.grant_types.take();
    let grant_types = grant_types.unwrap_or_else(|| vec!["authorization_code".to_owned()]);
    let mut named = grant_types.iter().map(String::as_str);
    let is_known = named.all(|grant| GRANT_TYPES.contains(&grant));
    ensure(is_known, "one of the grant_types is unknown")?;
    let has_code = grant_types
        .iter()
        .any(|grant| grant == "authorization_code");
    let default_types = Vec::from_iter(has_code.then(|| "code".to_owned()));
    let response_types = metadata.response_types.take().unwrap_or(default_types);
    let is_code = response_types.iter().all(|found| found == "code");
    ensure(is_code, "only the response type code is supported")?;
    check_redirect_uris(server, &metadata, has_code)?;

    // A registration without scopes gets the default ones, as at most servers.
    let scopes = server
        .settings
        .restrict_registered_scopes
        .then(|| server.check_scopes(metadata.scope.as_deref()))
        .transpose()?;
    let secret = auth_method.has_secret().then(random::secret);
    let secret = secret.transpose()?;
    let client = Client {
        name: metadata.client_name.take(),
        keys: metadata.keys(auth_method).map_err(invalid)?,
        secret: secret.clone().map(Secret::new),
        grant_types: Some(grant_types),
        scopes,
        ..Client::new(random::secret()?, auth_method, metadata.redirect_uris)
    };
    let mut answer = json!({
        "client_id": client.id,
        "client_id_issued_at": server.now(),
        "redirect_uris": client.redirect_uris,
        "grant_types": client.grant_types,
        "response_types": response_types,
        "token_endpoint_auth_method": auth_method,
    });
    if let Some(secret) = secret {
        answer["client_secret"] = Value::String(secret);
        // Zero: it never expires.
        answer["client_secret_expires_at"] = Value::from(0);
    }
    for name in REPEATED_MEMBERS {
        if let Some(value) = document.get(name) {
            answer[name] = value.clone();
        }
    }
    let clients = &mut server.tables().registered_clients;
    clients.insert(client.id.clone(), client);
    Ok(private_json(StatusCode::CREATED, &answer))
}

fn check_redirect_uris(
    server: &Server,
    metadata: &ClientMetadata,
    is_needed: bool,
) -> Result<(), Refusal> {
    let error = "invalid_redirect_uri";
    let is_strict = server.settings.strict_application_type;
    let default_type = is_strict.then_some(ApplicationType::Web);
    let application_type = metadata.application_type.or(default_type);
    let count = metadata.redirect_uris.len();
    ensure(count > 0 || !is_needed, error, "there are no redirect_uris")?;
    let description = "there are too many redirect_uris";
    ensure(count <= MAX_REDIRECT_URIS, error, description)?;
    for uri in &metadata.redirect_uris {
        redirect_uri::check(uri, application_type).map_err(|reason| Refusal::new(error, reason))?;
    }
    Ok(())
}
