//! Token introspection (RFC 7662) and token revocation (RFC 7009).

use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::answer::{Answer, Refusal, empty, ensure, forbid_storing, private_json};
use super::client_authentication::authenticate;
use super::parameters::Parameters;
use super::server::Server;
use super::state::hash;

/// Explains an access token to a resource server. Refresh tokens are inactive here: a resource
/// must never accept one.
pub(super) async fn introspect(
    server: &Server,
    headers: &HeaderMap,
    parameters: &Parameters,
) -> Result<Answer, Refusal> {
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
        return Ok(private_json(StatusCode::OK, &json!({ "active": false })));
    };
    let mut body = record.claims.clone();
    let is_bound = body.get("cnf").is_some();
    body["active"] = Value::Bool(true);
    body["token_type"] = Value::from(if is_bound { "DPoP" } else { "Bearer" });
    body["username"] = body["sub"].clone();
    Ok(private_json(StatusCode::OK, &body))
}

/// Revokes an access token, or a refresh token with all tokens of its login.
pub(super) async fn revoke(
    server: &Server,
    headers: &HeaderMap,
    parameters: &Parameters,
) -> Result<Answer, Refusal> {
    parameters.check_unique()?;
    let client = authenticate(server, headers, parameters).await?;
    let client = client.ok_or_else(|| Refusal::invalid_client("the request names no client"))?;
    let token_hash = hash(parameters.require("token")?);
    let ensure_own = |owner: &str| {
        let description = "the token is that of another client";
        ensure(owner == client.id, "invalid_request", description)
    };
    let mut tables = server.tables();
    if let Some(record) = tables.access_tokens.get_mut(&token_hash) {
        ensure_own(&record.client_id)?;
        record.is_revoked = true;
    } else if let Some(record) = tables.refresh_tokens.get(&token_hash) {
        ensure_own(&record.grant.client_id)?;
        let family = record.grant.family.clone();
        tables.revoke_family(&family);
    }
    // An unknown token is as good as revoked (RFC 7009, section 2.2).
    let mut answer = empty(StatusCode::OK);
    forbid_storing(&mut answer);
    Ok(answer)
}
