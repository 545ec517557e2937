//! The authorization endpoint: checks the request, then asks the user or approves by itself.

use http::{HeaderMap, StatusCode};

use super::answer::{Answer, Refusal};
use super::authorization_response::{Target, approve, deny, error_redirect};
use super::client::Client;
use super::client_lookup::find_client;
use super::consent;
use super::page::error_page;
use super::parameters::Parameters;
use super::redirect_uri;
use super::server::Server;
use super::state::AuthorizationRequest;

/// A mark on a request: this user approves it at once.
#[derive(Clone)]
pub(super) struct ApprovingUser(pub(super) String);

/// Answers an authorization request of a browser. `approver` is a user who approves it at once.
pub(super) async fn authorize(
    server: &Server,
    headers: &HeaderMap,
    parameters: &Parameters,
    approver: Option<&str>,
) -> Answer {
    // Nothing is redirected before client and redirect URI are known to be right.
    let (client, target) = match find_target(server, parameters).await {
        Ok(found) => found,
        Err(refusal) => return error_page(StatusCode::BAD_REQUEST, &refusal),
    };
    let request = match read_request(server, parameters, &client, &target) {
        Ok(request) => request,
        Err(refusal) => return error_redirect(server, &target, &refusal),
    };
    if server.faults.take_denial() {
        return deny(server, &target);
    }
    if let Some(user) = approver {
        return approve(server, request, user);
    }
    if server.settings.is_auto_approving {
        let user = server
            .settings
            .users
            .first()
            .map(String::as_str)
            .unwrap_or_default();
        return approve(server, request, user);
    }
    if parameters.get("prompt") == Some("none") {
        let refusal = Refusal::new("interaction_required", "the user must be asked");
        return error_redirect(server, &target, &refusal);
    }
    match consent::ask(server, headers, request) {
        Ok(page) => page,
        Err(refusal) => error_redirect(server, &target, &refusal),
    }
}

async fn find_target(
    server: &Server,
    parameters: &Parameters,
) -> Result<(Client, Target), Refusal> {
    for name in ["client_id", "redirect_uri", "state"] {
        if parameters.is_repeated(name) {
            return Err(Refusal::new(
                "invalid_request",
                format!("{name} is repeated"),
            ));
        }
    }
    let client = find_client(server, parameters.require("client_id")?).await?;
    let redirect_uri = parameters.require("redirect_uri")?;
    let is_registered = client
        .redirect_uris
        .iter()
        .any(|registered| redirect_uri::is_match(registered, redirect_uri));
    if !is_registered {
        let description = "the redirect_uri is none that the client registered";
        return Err(Refusal::new("invalid_request", description));
    }
    let state = parameters.get("state").map(str::to_owned);
    Ok((
        client,
        Target {
            redirect_uri: redirect_uri.to_owned(),
            state,
        },
    ))
}

fn read_request(
    server: &Server,
    parameters: &Parameters,
    client: &Client,
    target: &Target,
) -> Result<AuthorizationRequest, Refusal> {
    let refuse = |error, description: &str| Err(Refusal::new(error, description));
    parameters.check_unique()?;
    if parameters.require("response_type")? != "code" {
        return refuse(
            "unsupported_response_type",
            "only the response type code is supported",
        );
    }
    if parameters
        .get("response_mode")
        .is_some_and(|mode| mode != "query")
    {
        return refuse(
            "invalid_request",
            "only the response mode query is supported",
        );
    }
    if parameters.get("request").is_some() {
        return refuse("request_not_supported", "request objects are not supported");
    }
    if parameters.get("request_uri").is_some() {
        return refuse(
            "request_uri_not_supported",
            "request objects are not supported",
        );
    }
    if !client.may_use_grant("authorization_code") {
        return refuse("unauthorized_client", "the client registered other grants");
    }
    let code_challenge = parameters.require("code_challenge")?;
    // A request without the method asks for `plain` (RFC 7636, section 4.3).
    if parameters.get("code_challenge_method") != Some("S256") {
        return refuse("invalid_request", "the code_challenge_method must be S256");
    }
    let is_hash = code_challenge.len() == 43
        && code_challenge
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if !is_hash {
        return refuse("invalid_request", "the code_challenge is no S256 challenge");
    }
    Ok(AuthorizationRequest {
        client_id: client.id.clone(),
        client_name: client.name.clone(),
        redirect_uri: target.redirect_uri.clone(),
        state: target.state.clone(),
        code_challenge: code_challenge.to_owned(),
        resource: server.check_resource(parameters.get("resource"))?,
        scopes: server.check_scopes(parameters.get("scope"))?,
        nonce: parameters.get("nonce").map(str::to_owned),
        dpop_thumbprint: parameters.get("dpop_jkt").map(str::to_owned),
    })
}
