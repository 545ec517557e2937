//! The grants without a browser: client credentials, JWT assertions, token exchange.
//!
//! Specification: RFC 6749, section 4.4; RFC 7523; RFC 8693;
//! ext-auth: enterprise-managed-authorization, oauth-client-credentials.

use serde_json::{Value, json};
use turnbuckle_types::base::random;

use super::answer::{Refusal, ensure};
use super::jwt::{self, VerifiedJwt};
use super::server::Server;
use super::state::Grant;
use super::token::TokenRequest;

/// The grant of the `jwt-bearer` profile (RFC 7523).
pub(super) const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// The grant of token exchange (RFC 8693).
pub(super) const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";

/// The grants that a client may register.
pub(super) const GRANT_TYPES: [&str; 5] = [
    "authorization_code",
    "refresh_token",
    "client_credentials",
    JWT_BEARER,
    TOKEN_EXCHANGE,
];

/// The `typ` of an identity assertion authorization grant (ID-JAG).
const ID_JAG_TYPE: &str = "oauth-id-jag+jwt";

/// The token types of token exchange.
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";

/// The lifetime of an ID-JAG, in seconds.
const ID_JAG_TTL: u64 = 300;

/// The longest subject of an assertion, in bytes.
const MAX_SUBJECT_BYTES: usize = 1_024;

/// Issues a token to a client in its own name.
pub(super) fn client_credentials(
    server: &Server,
    request: &TokenRequest<'_>,
) -> Result<Value, Refusal> {
    let client = request.client()?;
    let description = "a client without credentials cannot use this grant";
    ensure(!client.is_public(), "unauthorized_client", description)?;
    let resource = server.check_resource(request.parameters.get("resource"))?;
    server.issue_alone(Grant {
        subject: client.id.clone(),
        client_id: client.id.clone(),
        audience: server.audience(resource.as_deref()),
        scopes: server.check_scopes(request.parameters.get("scope"))?,
        key_thumbprint: request.key_thumbprint.clone(),
        family: random::secret()?,
    })
}

/// Issues a token for the subject of an assertion of a trusted issuer.
pub(super) async fn jwt_bearer(
    server: &Server,
    request: &TokenRequest<'_>,
) -> Result<Value, Refusal> {
    let refuse = |reason: &str| {
        let description = format!("the assertion is refused: {reason}");
        Refusal::new("invalid_grant", description)
    };
    let check = |is_met, reason| if is_met { Ok(()) } else { Err(refuse(reason)) };
    let parameters = request.parameters;
    let assertion = parameters.require("assertion")?;
    let verified = verify_issued(server, assertion).await;
    let (issuer, verified) = verified.map_err(|reason| refuse(&reason))?;
    let is_id_jag = verified.token_type == ID_JAG_TYPE;
    // Other tokens of the same issuer, such as access tokens, are no assertions.
    let is_plain = verified.is_plain() && issuer != server.issuer();
    check(is_id_jag || is_plain, "its typ is not that of an assertion")?;
    check(verified.is_for(server), "its aud is another server")?;
    let subject = verified
        .text("sub")
        .filter(|it| it.len() <= MAX_SUBJECT_BYTES);
    let subject = subject.ok_or_else(|| refuse("it has no sub, or a very long one"))?;
    let client_id = match &request.client {
        None if !is_id_jag => subject,
        _ => &request.client()?.id,
    };
    let is_own = !is_id_jag || verified.text("client_id") == Some(client_id);
    check(is_own, "its client_id is another client")?;
    // The resource of the assertion is the one that the identity provider allowed.
    let named = verified.text("resource");
    let asked = parameters.get("resource");
    let is_same = named.is_none() || asked.is_none() || named == asked;
    let description = "the resource is not that of the assertion";
    ensure(is_same, "invalid_target", description)?;
    let has_default = !server.settings.resources.is_empty();
    let resource = match named.or(asked) {
        None if is_id_jag && has_default => None,
        found => server.check_resource(found)?,
    };
    let scopes = assertion_scopes(server, &verified, parameters.get("scope"))?;
    match verified.text("jti") {
        Some(jti) => {
            let is_new = server.tables().use_id("assertion", &issuer, jti);
            check(is_new, "it was used before")?;
        }
        None => check(!is_id_jag, "it has no jti")?,
    }
    server.issue_alone(Grant {
        subject: subject.to_owned(),
        client_id: client_id.to_owned(),
        audience: server.audience(resource.as_deref()),
        scopes,
        key_thumbprint: request.key_thumbprint.clone(),
        family: random::secret()?,
    })
}

/// Exchanges an ID token for an ID-JAG: the role of an enterprise's identity provider.
pub(super) async fn token_exchange(
    server: &Server,
    request: &TokenRequest<'_>,
) -> Result<Value, Refusal> {
    let client = request.client()?;
    let parameters = request.parameters;
    let is_id_jag = parameters.require("requested_token_type")? == ID_JAG;
    let description = "only an ID-JAG can be requested";
    ensure(is_id_jag, "invalid_request", description)?;
    let is_id_token = parameters.require("subject_token_type")? == ID_TOKEN;
    let description = "only an ID token can be the subject token";
    ensure(is_id_token, "invalid_request", description)?;
    let audience = parameters.require("audience")?;
    let resource = parameters.require("resource")?;
    let subject_token = parameters.require("subject_token")?;
    let refuse = |reason: &str| {
        let description = format!("the subject token is refused: {reason}");
        Refusal::new("invalid_grant", description)
    };
    let check = |is_met, reason| if is_met { Ok(()) } else { Err(refuse(reason)) };
    let verified = verify_issued(server, subject_token).await;
    let (_, verified) = verified.map_err(|reason| refuse(&reason))?;
    check(
        verified.has_audience(&client.id),
        "its aud is another client",
    )?;
    check(verified.is_plain(), "it is no ID token")?;
    let subject = verified
        .text("sub")
        .ok_or_else(|| refuse("it has no sub"))?;
    let mut foreign_ids = server.settings.foreign_client_ids.iter();
    let foreign = foreign_ids.find(|it| it.client_id == client.id && it.audience == audience);
    let now = server.now();
    let mut claims = json!({
        "iss": server.issuer(),
        "sub": subject,
        "aud": audience,
        "client_id": foreign.map_or(&client.id, |foreign| &foreign.foreign_id),
        "jti": random::secret()?,
        "iat": now,
        "exp": now.saturating_add(ID_JAG_TTL),
    });
    if !server.faults().omit_id_jag_resource {
        claims["resource"] = Value::from(resource);
    }
    let scope = parameters.get("scope");
    if let Some(scope) = scope {
        claims["scope"] = Value::from(scope);
    }
    let mut body = json!({
        "access_token": server.keys.sign(ID_JAG_TYPE, &claims)?,
        "issued_token_type": ID_JAG,
        "token_type": "N_A",
        "expires_in": ID_JAG_TTL,
    });
    if let Some(scope) = scope {
        body["scope"] = Value::from(scope);
    }
    Ok(body)
}

/// Checks a JWT of this server or of a trusted issuer. Returns the issuer too.
async fn verify_issued(server: &Server, token: &str) -> Result<(String, VerifiedJwt), String> {
    let issuer = jwt::unverified_claim(token, "iss").ok_or("it has no iss")?;
    let mut trusted = server.settings.trusted_issuers.iter();
    let keys = match trusted.find(|trusted| trusted.issuer == issuer) {
        Some(trusted) => server.key_set(&trusted.keys).await?,
        None if issuer == server.issuer() => server.keys.jwks(),
        None => return Err("its issuer is not trusted".to_owned()),
    };
    let verified = jwt::verify(token, &keys, server.now())?;
    Ok((issuer, verified))
}

/// Returns the scopes of a token for an assertion: those asked for, but no others than it has.
fn assertion_scopes(
    server: &Server,
    assertion: &VerifiedJwt,
    requested: Option<&str>,
) -> Result<Vec<String>, Refusal> {
    let Some(allowed) = assertion.text("scope") else {
        return server.check_scopes(requested);
    };
    let scopes = server.check_scopes(Some(requested.unwrap_or(allowed)))?;
    let is_allowed = |scope: &String| allowed.split(' ').any(|allowed| allowed == scope);
    let description = "the assertion does not allow all of the scopes";
    ensure(scopes.iter().all(is_allowed), "invalid_scope", description)?;
    Ok(scopes)
}
