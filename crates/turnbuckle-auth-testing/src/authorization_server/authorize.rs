//! The authorization endpoint: checks the request, asks the user or approves by itself, and redirects
//! to the client with a code or an error.
//!
//! Specification: RFC 6749, section 4.1; RFC 9207.

use http::StatusCode;
use turnbuckle_types::base::random::{self, RandomnessUnavailable};
use url::Url;

use super::answer::{Answer, ErrorCode, Refusal, ensure, redirect};
use super::client::Client;
use super::client_lookup::find_client;
use super::consent;
use super::faults;
use super::page::error_page;
use super::parameters::Parameters;
use super::redirect_uri;
use super::server::Server;
use super::state::{AuthorizationRequest, CodeRecord, Target, hash};

/// The seconds for which a code is valid.
const CODE_TTL: u64 = 60;

/// A mark on a request: this user approves it at once.
#[derive(Clone)]
pub(super) struct ApprovingUser(pub(super) String);

/// Answers an authorization request of a browser. `approver` is a user who approves it at once.
pub(super) async fn authorize(
    server: &Server,
    parameters: &Parameters,
    approver: Option<&str>,
) -> Answer {
    // Nothing is redirected before client and redirect URI are known to be right.
    let (client, target) = match find_target(server, parameters).await {
        Ok(found) => found,
        Err(refusal) => return error_page(StatusCode::BAD_REQUEST, refusal),
    };
    let request = match read_request(server, parameters, &client, &target) {
        Ok(request) => request,
        Err(refusal) => return error_redirect(server, &target, &refusal),
    };
    if faults::take(&mut server.faults().denied_authorizations) {
        return deny(server, &target);
    }
    let settings = &server.settings;
    let first_user = settings.users.first().map(String::as_str);
    if let Some(user) = approver.or(first_user.filter(|_| settings.auto_approve)) {
        return approve(server, request, user);
    }
    if parameters.get("prompt") == Some("none") {
        let refusal = Refusal::new("interaction_required", "the user must be asked");
        return error_redirect(server, &target, &refusal);
    }
    match consent::ask(server, request) {
        Ok(page) => page,
        Err(refusal) => error_redirect(server, &target, &refusal),
    }
}

async fn find_target(
    server: &Server,
    parameters: &Parameters,
) -> Result<(Client, Target), Refusal> {
    for name in ["client_id", "redirect_uri", "state"] {
        let is_single = !parameters.is_repeated(name);
        let description = format!("{name} is repeated");
        ensure(is_single, "invalid_request", &description)?;
    }
    let client = find_client(server, parameters.require("client_id")?).await?;
    let redirect_uri = parameters.require("redirect_uri")?;
    let mut registered = client.redirect_uris.iter();
    let is_registered = registered.any(|uri| redirect_uri::is_match(uri, redirect_uri));
    let description = "the redirect_uri is none that the client registered";
    ensure(is_registered, "invalid_request", description)?;
    let target = Target {
        redirect_uri: redirect_uri.to_owned(),
        state: parameters.get("state").map(str::to_owned),
    };
    Ok((client, target))
}

fn read_request(
    server: &Server,
    parameters: &Parameters,
    client: &Client,
    target: &Target,
) -> Result<AuthorizationRequest, Refusal> {
    parameters.check_unique()?;
    let has_no = |name| parameters.get(name).is_none();
    let is_code = parameters.require("response_type")? == "code";
    let is_query = parameters
        .get("response_mode")
        .is_none_or(|mode| mode == "query");
    let may_log_in = client.may_use_grant("authorization_code");
    let description = "only the response type code is supported";
    ensure(is_code, "unsupported_response_type", description)?;
    let description = "only the response mode query is supported";
    ensure(is_query, "invalid_request", description)?;
    let description = "request objects are not supported";
    ensure(has_no("request"), "request_not_supported", description)?;
    ensure(
        has_no("request_uri"),
        "request_uri_not_supported",
        description,
    )?;
    let description = "the client registered other grants";
    ensure(may_log_in, "unauthorized_client", description)?;
    let code_challenge = parameters.require("code_challenge")?;
    // A request without the method asks for `plain` (RFC 7636, section 4.3).
    let is_hashed = parameters.get("code_challenge_method") == Some("S256");
    let description = "the code_challenge_method must be S256";
    ensure(is_hashed, "invalid_request", description)?;
    let is_hash_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let is_hash = code_challenge.len() == 43 && code_challenge.bytes().all(is_hash_byte);
    let description = "the code_challenge is no S256 challenge";
    ensure(is_hash, "invalid_request", description)?;
    let scopes = server.check_scopes(parameters.get("scope"))?;
    let is_registered = scopes.iter().all(|scope| client.may_ask_for(scope));
    let description = "the client did not register all of the scopes";
    ensure(is_registered, "invalid_scope", description)?;
    Ok(AuthorizationRequest {
        client_id: client.id.clone(),
        client_name: client.name.clone(),
        target: target.clone(),
        code_challenge: code_challenge.to_owned(),
        resource: server.check_resource(parameters.get("resource"))?,
        scopes,
        nonce: parameters.get("nonce").map(str::to_owned),
        dpop_thumbprint: parameters.get("dpop_jkt").map(str::to_owned),
    })
}

/// Issues a code for an approved request and redirects to the client.
pub(super) fn approve(server: &Server, request: AuthorizationRequest, user: &str) -> Answer {
    let target = request.target.clone();
    match issue_code(server, request, user) {
        Ok(code) => redirect_to(server, &target, &[("code", &code)]),
        Err(error) => error_redirect(server, &target, &error.into()),
    }
}

fn issue_code(
    server: &Server,
    request: AuthorizationRequest,
    user: &str,
) -> Result<String, RandomnessUnavailable> {
    let code = random::secret()?;
    let record = CodeRecord {
        request,
        subject: user.to_owned(),
        family: random::secret()?,
        expires_at: server.now().saturating_add(CODE_TTL),
        is_used: false,
    };
    server.tables().codes.insert(hash(&code), record);
    Ok(code)
}

/// Redirects to the client with `access_denied`.
pub(super) fn deny(server: &Server, target: &Target) -> Answer {
    let refusal = Refusal::new("access_denied", "the user denied the request");
    error_redirect(server, target, &refusal)
}

/// Redirects to the client with the error of a refusal.
fn error_redirect(server: &Server, target: &Target, refusal: &Refusal) -> Answer {
    let parameters = [
        ("error", refusal.error.as_str()),
        ("error_description", &refusal.description),
    ];
    let mut answer = redirect_to(server, target, &parameters);
    let code = ErrorCode(refusal.error.clone());
    answer.extensions_mut().insert(code);
    answer
}

/// Redirects to the client with these parameters, its `state` and our `iss` (RFC 9207).
fn redirect_to(server: &Server, target: &Target, parameters: &[(&str, &str)]) -> Answer {
    let Ok(mut url) = Url::parse(&target.redirect_uri) else {
        let refusal = Refusal::new("invalid_request", "the redirect_uri is no URL");
        return error_page(StatusCode::BAD_REQUEST, refusal);
    };
    let faults = server.faults();
    let state = faults.response_state.as_ref().or(target.state.as_ref());
    let issuer = faults.response_issuer.as_deref().unwrap_or(server.issuer());
    let issuer = Some(issuer).filter(|_| !faults.omit_response_issuer);
    url.query_pairs_mut()
        .extend_pairs(parameters)
        .extend_pairs(state.map(|state| ("state", state)))
        .extend_pairs(issuer.map(|issuer| ("iss", issuer)));
    redirect(url.as_str())
}
