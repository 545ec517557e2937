//! Dynamic client registration.
//!
//! Specification: RFC 7591; OpenID Connect Dynamic Client Registration 1.0, section 2.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::answer::{Answer, Refusal, private_json};
use super::client::{Client, ClientAuthMethod};
use super::client_metadata::{read_keys, texts};
use super::grant_types::GRANT_TYPES;
use super::redirect_uri::{self, ApplicationType};
use super::server::Server;
use crate::random::random_token;
use turnbuckle_auth::Secret;

/// The most redirect URIs of a client.
const MAX_REDIRECT_URIS: usize = 20;

/// Registers a client.
pub(super) fn register(server: &Server, headers: &HeaderMap, body: &[u8]) -> Answer {
    match try_register(server, headers, body) {
        Ok(document) => private_json(StatusCode::CREATED, &document),
        Err(refusal) => refusal.into_answer(),
    }
}

fn try_register(server: &Server, headers: &HeaderMap, body: &[u8]) -> Result<Value, Refusal> {
    let invalid = |reason: String| Refusal::new("invalid_client_metadata", reason);
    // A page of another origin can send no JSON without asking first.
    let media_type = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let media_type = media_type
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    if !media_type.trim().eq_ignore_ascii_case("application/json") {
        return Err(invalid(
            "the Content-Type must be application/json".to_owned(),
        ));
    }
    let document: Value = serde_json::from_slice(body)
        .ok()
        .filter(Value::is_object)
        .ok_or_else(|| invalid("the body is no JSON object".to_owned()))?;
    let text = |name: &str| document.get(name).and_then(Value::as_str);

    let auth_method = match text("token_endpoint_auth_method") {
        Some("none") => ClientAuthMethod::None,
        None | Some("client_secret_basic") => ClientAuthMethod::SecretBasic,
        Some("client_secret_post") => ClientAuthMethod::SecretPost,
        Some("private_key_jwt") => ClientAuthMethod::PrivateKeyJwt,
        Some(_) => {
            return Err(invalid(
                "the token_endpoint_auth_method is unknown".to_owned(),
            ));
        }
    };
    let grant_types = texts(&document, "grant_types").map_err(invalid)?;
    let grant_types = grant_types.unwrap_or_else(|| vec!["authorization_code".to_owned()]);
    if grant_types
        .iter()
        .any(|grant| !GRANT_TYPES.contains(&grant.as_str()))
    {
        return Err(invalid("one of the grant_types is unknown".to_owned()));
    }
    let response_types = texts(&document, "response_types").map_err(invalid)?;
    let has_code = grant_types
        .iter()
        .any(|grant| grant == "authorization_code");
    let response_types = response_types.unwrap_or_else(|| {
        if has_code {
            vec!["code".to_owned()]
        } else {
            Vec::new()
        }
    });
    if response_types.iter().any(|found| found != "code") {
        return Err(invalid(
            "only the response type code is supported".to_owned(),
        ));
    }
    let redirect_uris = read_redirect_uris(server, &document, has_code)?;
    let secret = match auth_method {
        ClientAuthMethod::None | ClientAuthMethod::PrivateKeyJwt => None,
        _ => Some(Secret::new(random_token()?.expose())),
    };
    let client = Client {
        id: random_token()?.expose().to_owned(),
        name: text("client_name").map(str::to_owned),
        keys: read_keys(&document, auth_method).map_err(invalid)?,
        secret,
        auth_method,
        redirect_uris,
        grant_types: Some(grant_types),
    };
    let answer = describe(server, &document, &client, &response_types);
    server
        .tables()
        .registered_clients
        .insert(client.id.clone(), client);
    Ok(answer)
}

fn read_redirect_uris(
    server: &Server,
    document: &Value,
    is_needed: bool,
) -> Result<Vec<String>, Refusal> {
    let invalid = |reason: String| Refusal::new("invalid_redirect_uri", reason);
    let application_type = match document.get("application_type").and_then(Value::as_str) {
        Some("native") => Some(ApplicationType::Native),
        Some("web") => Some(ApplicationType::Web),
        None if server.settings.is_application_type_strict => Some(ApplicationType::Web),
        None => None,
        Some(_) => {
            let description = "the application_type must be native or web";
            return Err(Refusal::new("invalid_client_metadata", description));
        }
    };
    let redirect_uris = texts(document, "redirect_uris")
        .map_err(invalid)?
        .unwrap_or_default();
    if is_needed && redirect_uris.is_empty() {
        return Err(invalid("there are no redirect_uris".to_owned()));
    }
    if redirect_uris.len() > MAX_REDIRECT_URIS {
        return Err(invalid("there are too many redirect_uris".to_owned()));
    }
    for uri in &redirect_uris {
        redirect_uri::check(uri, application_type).map_err(invalid)?;
    }
    Ok(redirect_uris)
}

/// Creates the answer: the metadata as the server registered it.
fn describe(
    server: &Server,
    document: &Value,
    client: &Client,
    response_types: &[String],
) -> Value {
    let auth_method = match client.auth_method {
        ClientAuthMethod::None => "none",
        ClientAuthMethod::SecretPost => "client_secret_post",
        ClientAuthMethod::PrivateKeyJwt => "private_key_jwt",
        ClientAuthMethod::SecretBasic | ClientAuthMethod::AnySecret => "client_secret_basic",
    };
    let mut answer = json!({
        "client_id": client.id,
        "client_id_issued_at": server.now(),
        "redirect_uris": client.redirect_uris,
        "grant_types": client.grant_types,
        "response_types": response_types,
        "token_endpoint_auth_method": auth_method,
    });
    if let Some(secret) = &client.secret {
        answer["client_secret"] = Value::String(secret.expose().to_owned());
        // Zero: it never expires.
        answer["client_secret_expires_at"] = Value::from(0);
    }
    for name in [
        "application_type",
        "client_name",
        "client_uri",
        "scope",
        "software_id",
        "software_version",
        "jwks",
        "jwks_uri",
    ] {
        if let Some(value) = document.get(name) {
            answer[name] = value.clone();
        }
    }
    answer
}
