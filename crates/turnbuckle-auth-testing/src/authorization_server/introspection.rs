//! Token introspection (RFC 7662) and token revocation (RFC 7009).

use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::answer::{Answer, Refusal, empty, forbid_storing, private_json};
use super::client_authentication::authenticate;
use super::parameters::Parameters;
use super::server::Server;
use super::state::hash;

/// Tells a resource server what an access token means. Refresh tokens are inactive here: a resource
/// must never accept one.
pub(super) async fn introspect(
    server: &Server,
    headers: &HeaderMap,
    parameters: &Parameters,
) -> Answer {
    match try_introspect(server, headers, parameters).await {
        Ok(body) => private_json(StatusCode::OK, &body),
        Err(refusal) => refusal.into_answer(),
    }
}

async fn try_introspect(
    server: &Server,
    headers: &HeaderMap,
    parameters: &Parameters,
) -> Result<Value, Refusal> {
    parameters.check_unique()?;
    let client = authenticate(server, headers, parameters).await?;
    if client.is_none_or(|client| client.is_public()) {
        let description = "introspection is for clients with credentials";
        return Err(Refusal::invalid_client(description));
    }
    let token_hash = hash(parameters.require("token")?);
    let now = server.now();
    let tables = server.tables();
    let record = tables.access_tokens.get(&token_hash).filter(|record| {
        !record.is_revoked
            && now < record.expires_at
            && !tables.revoked_families.contains(&record.family)
    });
    let Some(record) = record else {
        return Ok(json!({ "active": false }));
    };
    let mut body = record.claims.clone();
    let token_type = if body.get("cnf").is_some() {
        "DPoP"
    } else {
        "Bearer"
    };
    body["active"] = Value::Bool(true);
    body["token_type"] = Value::String(token_type.to_owned());
    body["username"] = body["sub"].clone();
    Ok(body)
}

/// Revokes an access token, or a refresh token with all tokens of its login.
pub(super) async fn revoke(
    server: &Server,
    headers: &HeaderMap,
    parameters: &Parameters,
) -> Answer {
    match try_revoke(server, headers, parameters).await {
        Ok(()) => {
            let mut answer = empty(StatusCode::OK);
            forbid_storing(&mut answer);
            answer
        }
        Err(refusal) => refusal.into_answer(),
    }
}

async fn try_revoke(
    server: &Server,
    headers: &HeaderMap,
    parameters: &Parameters,
) -> Result<(), Refusal> {
    parameters.check_unique()?;
    let client = authenticate(server, headers, parameters).await?;
    let client = client.ok_or_else(|| Refusal::invalid_client("the request names no client"))?;
    let token_hash = hash(parameters.require("token")?);
    let not_yours = || Refusal::new("invalid_request", "the token is that of another client");
    let mut tables = server.tables();
    if let Some(record) = tables.access_tokens.get_mut(&token_hash) {
        if record.client_id != client.id {
            return Err(not_yours());
        }
        record.is_revoked = true;
    } else if let Some(record) = tables.refresh_tokens.get(&token_hash) {
        if record.grant.client_id != client.id {
            return Err(not_yours());
        }
        let family = record.grant.family.clone();
        tables.revoke_family(&family);
    }
    // An unknown token is as good as revoked (RFC 7009, section 2.2).
    Ok(())
}
