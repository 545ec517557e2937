//! The grants without a browser: client credentials, JWT assertions, token exchange.
//!
//! Specification: RFC 6749, section 4.4; RFC 7523; RFC 8693;
//! ext-auth: enterprise-managed-authorization, oauth-client-credentials.

use serde_json::{Value, json};

use super::answer::Refusal;
use super::client::ClientKeys;
use super::jwt::{self, VerifiedJwt};
use super::server::Server;
use super::state::Grant;
use super::token_request::TokenRequest;
use crate::random::random_token;

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
    if client.is_public() {
        let description = "a client without credentials cannot use this grant";
        return Err(Refusal::new("unauthorized_client", description));
    }
    let resource = server.check_resource(request.parameters.get("resource"))?;
    let grant = Grant {
        subject: client.id.clone(),
        client_id: client.id.clone(),
        audience: server.audience(resource.as_deref()),
        scopes: server.check_scopes(request.parameters.get("scope"))?,
        key_thumbprint: request.key_thumbprint.clone(),
        family: random_token()?.expose().to_owned(),
    };
    let access_token = server.issue_access_token(&grant, &grant.scopes, None)?;
    Ok(server.token_body(&grant, &grant.scopes, &access_token, None))
}

/// Issues a token for the subject of an assertion of a trusted issuer.
pub(super) async fn jwt_bearer(
    server: &Server,
    request: &TokenRequest<'_>,
) -> Result<Value, Refusal> {
    let refuse = |reason: &str| {
        Refusal::new(
            "invalid_grant",
            format!("the assertion is refused: {reason}"),
        )
    };
    let parameters = request.parameters;
    let assertion = parameters.require("assertion")?;
    let (issuer, verified) = verify_issued(server, assertion)
        .await
        .map_err(|reason| refuse(&reason))?;
    let is_id_jag = verified.token_type == ID_JAG_TYPE;
    // Other tokens of the same issuer, such as access tokens, are no assertions.
    let is_plain = matches!(verified.token_type.as_str(), "" | "jwt");
    if !is_id_jag && (!is_plain || issuer == server.issuer()) {
        return Err(refuse("its typ is not that of an assertion"));
    }
    if !verified.has_audience(server.issuer()) && !verified.has_audience(&server.url("/token")) {
        return Err(refuse("its aud is another server"));
    }
    let subject = verified
        .text("sub")
        .filter(|subject| subject.len() <= MAX_SUBJECT_BYTES);
    let subject = subject
        .ok_or_else(|| refuse("it has no sub, or a very long one"))?
        .to_owned();
    let client_id = if is_id_jag {
        let client = request.client()?;
        if verified.text("client_id") != Some(&client.id) {
            return Err(refuse("its client_id is another client"));
        }
        client.id.clone()
    } else {
        request
            .client
            .as_ref()
            .map_or_else(|| subject.clone(), |client| client.id.clone())
    };
    // The resource of the assertion is the one that the identity provider allowed.
    let named = verified.text("resource");
    let asked = parameters.get("resource");
    if named.is_some() && asked.is_some() && named != asked {
        let description = "the resource is not that of the assertion";
        return Err(Refusal::new("invalid_target", description));
    }
    let has_default = !server.settings.resources.is_empty();
    let resource = match named.or(asked) {
        None if is_id_jag && has_default => None,
        found => server.check_resource(found)?,
    };
    let scopes = assertion_scopes(server, &verified, parameters.get("scope"))?;
    match verified.text("jti") {
        Some(jti) if !server.tables().use_id("assertion", &issuer, jti) => {
            return Err(refuse("it was used before"));
        }
        None if is_id_jag => return Err(refuse("it has no jti")),
        _ => {}
    }
    let grant = Grant {
        subject,
        client_id,
        audience: server.audience(resource.as_deref()),
        scopes,
        key_thumbprint: request.key_thumbprint.clone(),
        family: random_token()?.expose().to_owned(),
    };
    let access_token = server.issue_access_token(&grant, &grant.scopes, None)?;
    Ok(server.token_body(&grant, &grant.scopes, &access_token, None))
}

/// Exchanges an ID token for an ID-JAG: the role of an enterprise's identity provider.
pub(super) async fn token_exchange(
    server: &Server,
    request: &TokenRequest<'_>,
) -> Result<Value, Refusal> {
    let client = request.client()?;
    let parameters = request.parameters;
    if parameters.require("requested_token_type")? != ID_JAG {
        let description = "only an ID-JAG can be requested";
        return Err(Refusal::new("invalid_request", description));
    }
    if parameters.require("subject_token_type")? != ID_TOKEN {
        let description = "only an ID token can be the subject token";
        return Err(Refusal::new("invalid_request", description));
    }
    let audience = parameters.require("audience")?;
    let resource = parameters.require("resource")?;
    let subject_token = parameters.require("subject_token")?;
    let refuse = |reason: &str| {
        Refusal::new(
            "invalid_grant",
            format!("the subject token is refused: {reason}"),
        )
    };
    let (_, verified) = verify_issued(server, subject_token)
        .await
        .map_err(|reason| refuse(&reason))?;
    if !verified.has_audience(&client.id) {
        return Err(refuse("its aud is another client"));
    }
    if !matches!(verified.token_type.as_str(), "" | "jwt") {
        return Err(refuse("it is no ID token"));
    }
    let subject = verified
        .text("sub")
        .ok_or_else(|| refuse("it has no sub"))?;
    let foreign = server
        .settings
        .foreign_client_ids
        .iter()
        .find(|foreign| foreign.client_id == client.id && foreign.audience == audience);
    let foreign_id = foreign.map_or(client.id.as_str(), |foreign| foreign.foreign_id.as_str());
    let scopes = parameters.get("scope").unwrap_or_default();
    let now = server.now();
    let mut claims = json!({
        "iss": server.issuer(),
        "sub": subject,
        "aud": audience,
        "client_id": foreign_id,
        "resource": resource,
        "jti": random_token()?.expose(),
        "iat": now,
        "exp": now.saturating_add(ID_JAG_TTL),
    });
    if !scopes.is_empty() {
        claims["scope"] = Value::String(scopes.to_owned());
    }
    if server.faults.is_resource_omitted_in_id_jag()
        && let Some(claims) = claims.as_object_mut()
    {
        claims.remove("resource");
    }
    let assertion = server.keys.sign(ID_JAG_TYPE, &claims)?;
    let mut body = json!({
        "access_token": assertion,
        "issued_token_type": ID_JAG,
        "token_type": "N_A",
        "expires_in": ID_JAG_TTL,
    });
    if !scopes.is_empty() {
        body["scope"] = Value::String(scopes.to_owned());
    }
    Ok(body)
}

/// Checks a JWT of this server or of a trusted issuer. Returns the issuer too.
async fn verify_issued(server: &Server, token: &str) -> Result<(String, VerifiedJwt), String> {
    let issuer = jwt::unverified_claim(token, "iss").ok_or("it has no iss")?;
    let trusted = server
        .settings
        .trusted_issuers
        .iter()
        .find(|trusted| trusted.issuer == issuer);
    let keys = match trusted.map(|trusted| &trusted.keys) {
        Some(ClientKeys::Inline(keys)) => keys.clone(),
        Some(ClientKeys::Url(url)) => server.fetch_json(url).await?,
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
    if scopes
        .iter()
        .any(|scope| allowed.split(' ').all(|allowed| allowed != scope))
    {
        let description = "the assertion does not allow all of the scopes";
        return Err(Refusal::new("invalid_scope", description));
    }
    Ok(scopes)
}
