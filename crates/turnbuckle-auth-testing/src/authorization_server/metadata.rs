//! The metadata documents and the public keys.

use http::header::CACHE_CONTROL;
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

use super::answer::{Answer, json};
use super::grants::GRANT_TYPES;
use super::jwt;
use super::server::Server;

/// The largest metadata document, in bytes.
const MAX_DOCUMENT_BYTES: usize = 64 * 1024 * 1024;

/// Answers with the metadata document of RFC 8414.
pub(super) fn oauth_metadata(server: &Server) -> Answer {
    document_answer(server, metadata_value(server))
}

/// Answers with the metadata document of OpenID Connect Discovery.
pub(super) fn openid_metadata(server: &Server) -> Answer {
    let mut value = metadata_value(server);
    value["subject_types_supported"] = json!(["public"]);
    value["id_token_signing_alg_values_supported"] = json!(["ES256"]);
    document_answer(server, value)
}

/// Answers with the public keys.
pub(super) fn jwks(server: &Server) -> Answer {
    fresh_json(&server.keys.jwks())
}

/// Creates an answer that no cache keeps: keys are rotated at any moment here, and a test wants to
/// see it.
fn fresh_json(value: &Value) -> Answer {
    let mut answer = json(StatusCode::OK, value);
    let no_cache = HeaderValue::from_static("no-cache");
    answer.headers_mut().insert(CACHE_CONTROL, no_cache);
    answer
}

fn document_answer(server: &Server, mut value: Value) -> Answer {
    let mut faults = server.faults();
    if let Some(failure) = faults.failed_metadata_requests.take() {
        return failure.into_answer();
    }
    if faults.metadata_bytes > 0 {
        let padding = faults.metadata_bytes.min(MAX_DOCUMENT_BYTES);
        value["padding"] = Value::String("x".repeat(padding));
    }
    fresh_json(&value)
}

fn metadata_value(server: &Server) -> Value {
    let (settings, faults) = (&server.settings, server.faults());
    let mut scopes = settings.scopes.clone();
    if settings.require_offline_access && !scopes.iter().any(|scope| scope == "offline_access") {
        scopes.push("offline_access".to_owned());
    }
    let mut value = json!({
        "issuer": faults.metadata_issuer.as_deref().unwrap_or(server.issuer()),
        "authorization_endpoint": server.url("/authorize"),
        "token_endpoint": server.url("/token"),
        "revocation_endpoint": server.url("/revoke"),
        "introspection_endpoint": server.url("/introspect"),
        "jwks_uri": server.url("/jwks"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": GRANT_TYPES,
        "authorization_grant_profiles_supported": ["urn:ietf:params:oauth:grant-profile:id-jag"],
        "token_endpoint_auth_methods_supported": settings.token_auth_methods,
        "token_endpoint_auth_signing_alg_values_supported": jwt::algorithm_names(),
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": settings.client_metadata_documents,
        "dpop_signing_alg_values_supported": ["ES256", "ES384", "EdDSA", "RS256", "PS256"],
    });
    if settings.dynamic_registration {
        value["registration_endpoint"] = Value::String(server.url("/register"));
    }
    if !scopes.is_empty() {
        value["scopes_supported"] = json!(scopes);
    }
    if !faults.omit_pkce_methods {
        value["code_challenge_methods_supported"] = json!(["S256"]);
    }
    value
}
