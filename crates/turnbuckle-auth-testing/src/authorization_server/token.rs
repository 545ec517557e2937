//! The token endpoint: authorization codes and refresh tokens.

use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::Value;
use turnbuckle_auth::dpop::{ProofExpectation, verify_proof};

use super::answer::{Answer, DPOP_NONCE, DropConnection, Refusal, ensure, private_json};
use super::client::Client;
use super::client_authentication::authenticate;
use super::faults;
use super::grants::{self, JWT_BEARER, TOKEN_EXCHANGE};
use super::parameters::Parameters;
use super::server::Server;
use super::state::{Grant, RefreshTokenRecord, hash};

/// The seconds by which a DPoP proof may be older or newer than now.
const DPOP_LEEWAY: u64 = 60;

/// A token request whose client is known.
pub(super) struct TokenRequest<'a> {
    pub(super) parameters: &'a Parameters,
    /// The client. Only `jwt-bearer` goes without one.
    pub(super) client: Option<Client>,
    /// The thumbprint of the key that the DPoP proof was made with.
    pub(super) key_thumbprint: Option<String>,
}

impl TokenRequest<'_> {
    /// Returns the client.
    ///
    /// # Errors
    /// Refuses with `invalid_client` when the request names none.
    pub(super) fn client(&self) -> Result<&Client, Refusal> {
        let missing = || Refusal::invalid_client("the request names no client");
        self.client.as_ref().ok_or_else(missing)
    }
}

/// Answers a token request.
pub(super) async fn token(server: &Server, headers: &HeaderMap, parameters: &Parameters) -> Answer {
    let is_refresh = parameters.get("grant_type") == Some("refresh_token");
    let failure = if is_refresh {
        server.faults().failed_refreshes.take()
    } else {
        server.faults().failed_token_requests.take()
    };
    if let Some(failure) = failure {
        return failure.into_answer();
    }
    let mut answer = match issue(server, headers, parameters).await {
        Ok(body) => private_json(StatusCode::OK, &body),
        Err(refusal) => refusal.into_answer(),
    };
    if server.settings.require_dpop_nonce
        && let Ok(nonce) = HeaderValue::try_from(server.dpop_nonce())
    {
        answer.headers_mut().insert(DPOP_NONCE, nonce);
    }
    if answer.status() == StatusCode::OK {
        let mut faults = server.faults();
        let is_dropped = if is_refresh {
            faults::take(&mut faults.dropped_refresh_answers)
        } else {
            faults::take(&mut faults.dropped_token_answers)
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
    let may_use = client
        .as_ref()
        .is_none_or(|client| client.may_use_grant(grant_type));
    let description = "the client did not register this grant";
    ensure(may_use, "unauthorized_client", description)?;
    let request = TokenRequest {
        parameters,
        client,
        key_thumbprint: check_dpop(server, headers)?,
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
    let ensure = |is_met, description| ensure(is_met, "invalid_dpop_proof", description);
    let mut proofs = headers.get_all("dpop").iter();
    let Some(proof) = proofs.next() else {
        let is_optional = !server.settings.require_dpop;
        ensure(is_optional, "this server requires a DPoP proof")?;
        return Ok(None);
    };
    let description = "the request has more than one DPoP proof";
    ensure(proofs.next().is_none(), description)?;
    let proof = proof.to_str().unwrap_or_default();
    let nonce = server.dpop_nonce();
    let nonces = [nonce.as_str()];
    let needs_nonce = server.settings.require_dpop_nonce;
    let expectation = ProofExpectation {
        method: "POST",
        url: &server.url("/token"),
        access_token: None,
        nonces: needs_nonce.then_some(&nonces),
        now: server.now(),
        leeway: DPOP_LEEWAY,
    };
    let verified = verify_proof(proof, &expectation)
        .map_err(|error| Refusal::new(error.code(), error.to_string()))?;
    let thumbprint = verified.thumbprint;
    let is_new = server.tables().use_id("DPoP", &thumbprint, &verified.jti);
    ensure(is_new, "the DPoP proof was used before")?;
    Ok(Some(thumbprint))
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
    let is_verifier_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let is_verifier = (43..=128).contains(&verifier.len())
        && verifier.bytes().all(is_verifier_byte)
        && hash(verifier) == authorization.code_challenge;
    let is_same_uri = authorization.target.redirect_uri == redirect_uri;
    let has_key = authorization.dpop_thumbprint.is_none()
        || authorization.dpop_thumbprint == request.key_thumbprint;
    let ensure = |is_met, description| ensure(is_met, "invalid_grant", description);
    let description = "the redirect_uri is not that of the authorization request";
    ensure(is_same_uri, description)?;
    let description = "the code_verifier does not match the code_challenge";
    ensure(is_verifier, description)?;
    ensure(has_key, "the code is bound to another key (dpop_jkt)")?;
    server.check_resource(resource)?;
    ensure_same_resource(authorization.resource.as_deref() == resource)?;

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
    let mut grant = find_refreshable(server, client, &token_hash)?;
    let scopes = narrowed_scopes(&grant, parameters.get("scope"))?;
    let resource = parameters.get("resource");
    let is_same = resource.is_none_or(|resource| resource == grant.audience);
    ensure_same_resource(is_same && (resource.is_some() || !server.settings.require_resource))?;
    let has_key = !client.is_public() || grant.key_thumbprint == request.key_thumbprint;
    let description = "the refresh token is bound to another key";
    ensure(has_key, "invalid_grant", description)?;
    grant.key_thumbprint.clone_from(&request.key_thumbprint);
    let access_token = server.issue_access_token(&grant, &scopes, None)?;
    let mut refresh_token = None;
    if server.settings.rotate_refresh_tokens {
        let (token, successor) = server.prepare_refresh_token(grant.clone())?;
        spend(server, &token_hash, (&token, successor))?;
        if !server.faults().withhold_refresh_tokens {
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
    let is_granted = scopes.iter().all(|scope| grant.scopes.contains(scope));
    let description = "a refresh cannot get more scopes than were granted";
    ensure(is_granted, "invalid_scope", description)?;
    Ok(scopes)
}

fn ensure_same_resource(is_same: bool) -> Result<(), Refusal> {
    let description = "the resource must be that of the authorization request";
    ensure(is_same, "invalid_target", description)
}
