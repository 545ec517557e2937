//! The token endpoint: authorization codes and refresh tokens.

use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::Value;

use super::answer::{Answer, DPOP_NONCE, DropConnection, Refusal, private_json};
use super::client::Client;
use super::client_authentication::authenticate;
use super::grant_types::{JWT_BEARER, TOKEN_EXCHANGE};
use super::grants;
use super::parameters::Parameters;
use super::server::Server;
use super::state::{Grant, RefreshTokenRecord, hash};
use super::token_request::TokenRequest;
use turnbuckle_auth::dpop::{ProofExpectation, verify_proof};

/// The seconds by which a DPoP proof may be older or newer than now.
const DPOP_LEEWAY: u64 = 60;

/// Answers a token request.
pub(super) async fn token(server: &Server, headers: &HeaderMap, parameters: &Parameters) -> Answer {
    let is_refresh = parameters.get("grant_type") == Some("refresh_token");
    let failure = if is_refresh {
        server.faults.take_refresh_failure()
    } else {
        server.faults.take_token_failure()
    };
    if let Some(failure) = failure {
        return failure.into_answer();
    }
    let mut answer = match issue(server, headers, parameters).await {
        Ok(body) => private_json(StatusCode::OK, &body),
        Err(refusal) => refusal.into_answer(),
    };
    if server.settings.is_dpop_nonce_required
        && let Ok(nonce) = HeaderValue::try_from(server.dpop_nonce())
    {
        answer.headers_mut().insert(DPOP_NONCE, nonce);
    }
    if answer.status() == StatusCode::OK {
        let is_dropped = if is_refresh {
            server.faults.take_refresh_drop()
        } else {
            server.faults.take_token_drop()
        };
        if is_dropped {
            answer.extensions_mut().insert(DropConnection);
        }
    }
    answer
}

async fn issue(
    server: &Server,
    headers: &HeaderMap,
    parameters: &Parameters,
) -> Result<Value, Refusal> {
    parameters.check_unique()?;
    let grant_type = parameters.require("grant_type")?;
    let client = authenticate(server, headers, parameters).await?;
    if client
        .as_ref()
        .is_some_and(|client| !client.may_use_grant(grant_type))
    {
        let description = "the client did not register this grant";
        return Err(Refusal::new("unauthorized_client", description));
    }
    let key_thumbprint = check_dpop(server, headers)?;
    let request = TokenRequest {
        parameters,
        client,
        key_thumbprint,
    };
    match grant_type {
        "authorization_code" => exchange_code(server, &request),
        "refresh_token" => refresh(server, &request),
        "client_credentials" => grants::client_credentials(server, &request),
        JWT_BEARER => grants::jwt_bearer(server, &request).await,
        TOKEN_EXCHANGE => grants::token_exchange(server, &request).await,
        _ => Err(Refusal::new(
            "unsupported_grant_type",
            "this server has no such grant",
        )),
    }
}

/// Checks the DPoP proof of a token request. Returns the thumbprint of its key.
fn check_dpop(server: &Server, headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let refuse = |description: &str| Err(Refusal::new("invalid_dpop_proof", description));
    let mut proofs = headers.get_all("dpop").iter();
    let Some(proof) = proofs.next() else {
        if server.settings.is_dpop_required {
            return refuse("this server requires a DPoP proof");
        }
        return Ok(None);
    };
    if proofs.next().is_some() {
        return refuse("the request has more than one DPoP proof");
    }
    let Ok(proof) = proof.to_str() else {
        return refuse("the DPoP proof has characters that no proof has");
    };
    let nonce = server.dpop_nonce();
    let nonces = [nonce.as_str()];
    let expectation = ProofExpectation {
        method: "POST",
        url: &server.url("/token"),
        access_token: None,
        nonces: server
            .settings
            .is_dpop_nonce_required
            .then_some(nonces.as_slice()),
        now: server.now(),
        leeway: DPOP_LEEWAY,
    };
    match verify_proof(proof, &expectation) {
        Ok(verified) => {
            let is_new = server
                .tables()
                .use_id("DPoP", &verified.thumbprint, &verified.jti);
            if !is_new {
                return refuse("the DPoP proof was used before");
            }
            Ok(Some(verified.thumbprint))
        }
        Err(error) => Err(Refusal::new(error.code(), error.to_string())),
    }
}

/// Exchanges an authorization code for tokens.
fn exchange_code(server: &Server, request: &TokenRequest<'_>) -> Result<Value, Refusal> {
    let refuse = |description: &str| Refusal::new("invalid_grant", description);
    let client = request.client()?;
    let parameters = request.parameters;
    let code_hash = hash(parameters.require("code")?);
    let verifier = parameters.require("code_verifier")?;
    let redirect_uri = parameters.require("redirect_uri")?;
    let resource = parameters.get("resource");
    let now = server.now();

    let (authorization, subject, family) = {
        let mut tables = server.tables();
        let unknown = || refuse("there is no such code");
        let record = tables.codes.get_mut(&code_hash).ok_or_else(unknown)?;
        if record.request.client_id != client.id {
            return Err(unknown());
        }
        let family = record.family.clone();
        if record.is_used {
            // Somebody else may have the code: its tokens are worthless from now on.
            tables.revoke_family(&family);
            return Err(refuse("the code was used before: its tokens are revoked"));
        }
        // A code can be tried once, right or wrong.
        record.is_used = true;
        if now >= record.expires_at {
            return Err(refuse("the code has expired"));
        }
        (record.request.clone(), record.subject.clone(), family)
    };
    if authorization.redirect_uri != redirect_uri {
        return Err(refuse(
            "the redirect_uri is not that of the authorization request",
        ));
    }
    let is_verifier = (43..=128).contains(&verifier.len())
        && verifier
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte));
    if !is_verifier || hash(verifier) != authorization.code_challenge {
        return Err(refuse(
            "the code_verifier does not match the code_challenge",
        ));
    }
    check_same_resource(server, authorization.resource.as_deref(), resource)?;
    let thumbprint = request.key_thumbprint.as_deref();
    if authorization.dpop_thumbprint.is_some()
        && authorization.dpop_thumbprint.as_deref() != thumbprint
    {
        return Err(refuse("the code is bound to another key (dpop_jkt)"));
    }

    let grant = Grant {
        subject,
        client_id: client.id.clone(),
        audience: server.audience(authorization.resource.as_deref()),
        scopes: authorization.scopes.clone(),
        key_thumbprint: request.key_thumbprint.clone(),
        family,
    };
    let access_token = server.issue_access_token(&grant, &grant.scopes, None)?;
    let mut refresh_token = None;
    if client.may_use_grant("refresh_token") && server.is_refresh_token_due(&grant.scopes) {
        let (token, record) = server.prepare_refresh_token(grant.clone())?;
        server.tables().refresh_tokens.insert(hash(&token), record);
        refresh_token = Some(token);
    }
    let mut body = server.token_body(
        &grant,
        &grant.scopes,
        &access_token,
        refresh_token.as_deref(),
    );
    if grant.scopes.iter().any(|scope| scope == "openid") {
        let nonce = authorization.nonce.as_deref();
        let id_token = server.issue_id_token(&grant.subject, &client.id, nonce, None)?;
        body["id_token"] = Value::String(id_token);
    }
    Ok(body)
}

/// Exchanges a refresh token for tokens.
fn refresh(server: &Server, request: &TokenRequest<'_>) -> Result<Value, Refusal> {
    let client = request.client()?;
    let parameters = request.parameters;
    let token_hash = hash(parameters.require("refresh_token")?);

    // The successor is made first, so that spending one token and adding the next is one step.
    let grant = find_refreshable(server, client, &token_hash)?;
    let scopes = narrowed_scopes(&grant, parameters.get("scope"))?;
    check_refresh_resource(server, &grant, parameters.get("resource"))?;
    if client.is_public() && grant.key_thumbprint != request.key_thumbprint {
        let description = "the refresh token is bound to another key";
        return Err(Refusal::new("invalid_grant", description));
    }
    let mut grant = grant;
    grant.key_thumbprint.clone_from(&request.key_thumbprint);
    let access_token = server.issue_access_token(&grant, &scopes, None)?;
    let mut refresh_token = None;
    if server.settings.is_refresh_rotated {
        let (token, successor) = server.prepare_refresh_token(grant.clone())?;
        spend(server, &token_hash, (&token, successor))?;
        if !server.faults.is_refresh_token_withheld() {
            refresh_token = Some(token);
        }
    }
    Ok(server.token_body(&grant, &scopes, &access_token, refresh_token.as_deref()))
}

/// Finds the grant of a refresh token. A token that was used before revokes its family.
fn find_refreshable(server: &Server, client: &Client, token_hash: &str) -> Result<Grant, Refusal> {
    let refuse = |description: &str| Refusal::new("invalid_grant", description);
    let now = server.now();
    let mut tables = server.tables();
    let unknown = || refuse("there is no such refresh token");
    let record = tables.refresh_tokens.get(token_hash).ok_or_else(unknown)?;
    if record.grant.client_id != client.id {
        return Err(unknown());
    }
    let (grant, is_used) = (record.grant.clone(), record.is_used);
    let is_expired = now >= record.expires_at;
    if is_used {
        tables.revoke_family(&grant.family);
        return Err(reuse_refusal());
    }
    if tables.revoked_families.contains(&grant.family) {
        return Err(refuse("the refresh token was revoked"));
    }
    if is_expired {
        return Err(refuse("the refresh token has expired"));
    }
    Ok(grant)
}

/// Marks a refresh token as used and puts its successor into the table, in one step.
fn spend(
    server: &Server,
    token_hash: &str,
    (successor, successor_record): (&str, RefreshTokenRecord),
) -> Result<(), Refusal> {
    let mut tables = server.tables();
    let family = successor_record.grant.family.clone();
    match tables.refresh_tokens.get_mut(token_hash) {
        Some(record) if !record.is_used => record.is_used = true,
        // Another request was faster with the same token.
        _ => {
            tables.revoke_family(&family);
            return Err(reuse_refusal());
        }
    }
    tables
        .refresh_tokens
        .insert(hash(successor), successor_record);
    Ok(())
}

fn reuse_refusal() -> Refusal {
    let description = "the refresh token was used before: all tokens of its login are revoked";
    Refusal::new("invalid_grant", description)
}

fn narrowed_scopes(grant: &Grant, requested: Option<&str>) -> Result<Vec<String>, Refusal> {
    let Some(requested) = requested else {
        return Ok(grant.scopes.clone());
    };
    let scopes = requested.split(' ').filter(|scope| !scope.is_empty());
    let scopes: Vec<String> = scopes.map(str::to_owned).collect();
    if scopes.iter().any(|scope| !grant.scopes.contains(scope)) {
        let description = "a refresh cannot get more scopes than were granted";
        return Err(Refusal::new("invalid_scope", description));
    }
    Ok(scopes)
}

fn check_refresh_resource(
    server: &Server,
    grant: &Grant,
    requested: Option<&str>,
) -> Result<(), Refusal> {
    let granted = Some(grant.audience.as_str()).filter(|_| requested.is_some());
    let is_missing = requested.is_none() && server.settings.is_resource_required;
    if is_missing || granted != requested {
        let description = "the resource must be that of the authorization request";
        return Err(Refusal::new("invalid_target", description));
    }
    Ok(())
}

fn check_same_resource(
    server: &Server,
    authorized: Option<&str>,
    requested: Option<&str>,
) -> Result<(), Refusal> {
    server.check_resource(requested)?;
    if authorized != requested {
        let description = "the resource must be that of the authorization request";
        return Err(Refusal::new("invalid_target", description));
    }
    Ok(())
}
