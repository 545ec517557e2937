//! The consent page: asks the user, in plain HTML without scripts.

use http::StatusCode;
use turnbuckle_types::base::random;
use url::{Host, Url};

use super::answer::{Answer, Refusal};
use super::authorize::{approve, deny};
use super::page::{error_page, escape, fill, page};
use super::parameters::Parameters;
use super::redirect_uri;
use super::server::Server;
use super::state::{AuthorizationRequest, PendingConsent};

/// The seconds for which a consent page can be answered.
const CONSENT_TTL: u64 = 600;

/// The hint for clients on this machine.
const LOCAL_HINT: &str = "You will be sent to a program on this computer. Allow this only if you have \
    just started a login there: any program can use this client's name.";

/// Shows the consent page for a request.
///
/// # Errors
/// Fails when the operating system has no randomness.
pub(super) fn ask(server: &Server, request: AuthorizationRequest) -> Result<Answer, Refusal> {
    // The id is random, shown to this browser alone and valid once. So a page of another origin,
    // which cannot read it, cannot send the form.
    let id = random::secret()?;
    let redirect = Url::parse(&request.target.redirect_uri).ok();
    let source = redirect.as_ref().and_then(csp_source).unwrap_or_default();
    let body = consent_body(server, &request, &id);
    let pending = PendingConsent {
        request,
        expires_at: server.now().saturating_add(CONSENT_TTL),
    };
    server.tables().consents.insert(id, pending);
    let form_action = format!("'self' {source}");
    Ok(page(StatusCode::OK, "Allow access?", &body, &form_action))
}

/// Takes the user's decision and redirects to the client. A form can be sent once.
pub(super) fn decide(server: &Server, parameters: &Parameters) -> Answer {
    let id = parameters.get("request").unwrap_or_default();
    let pending = server.tables().consents.remove(id);
    let Some(pending) = pending.filter(|pending| server.now() < pending.expires_at) else {
        let description = "the form was sent already or is too old: start again in the client";
        let refusal = Refusal::new("invalid_request", description);
        return error_page(StatusCode::FORBIDDEN, refusal);
    };
    let user = parameters.get("user").unwrap_or_default();
    let is_user = server.settings.users.iter().any(|name| name == user);
    let mut answer = if parameters.get("decision") == Some("allow") && is_user {
        approve(server, pending.request, user)
    } else {
        deny(server, &pending.request.target)
    };
    // After a form, only 303 makes every browser forget the form (RFC 9700, section 4.12).
    if answer.status().is_redirection() {
        *answer.status_mut() = StatusCode::SEE_OTHER;
    }
    answer
}

fn consent_body(server: &Server, request: &AuthorizationRequest, id: &str) -> String {
    let redirect = Url::parse(&request.target.redirect_uri).ok();
    let host = redirect.as_ref().and_then(Url::host_str).unwrap_or("?");
    let is_local = redirect.as_ref().is_some_and(redirect_uri::is_local);
    let option = |user: &String| {
        let user = escape(user);
        format!("<option value=\"{user}\">{user}</option>")
    };
    let users: String = server.settings.users.iter().map(option).collect();
    let scopes = match request.scopes.as_slice() {
        [] => "(none)".to_owned(),
        scopes => escape(&scopes.join(" ")),
    };
    let text = |text: &Option<String>, missing: &str| escape(text.as_deref().unwrap_or(missing));
    fill(
        include_str!("pages/consent.html"),
        &[
            ("client_name", &text(&request.client_name, "(no name)")),
            ("client_id", &escape(&request.client_id)),
            ("host", &escape(host)),
            ("resource", &text(&request.resource, "(any resource)")),
            ("scopes", &scopes),
            ("hint", if is_local { LOCAL_HINT } else { "" }),
            ("action", &escape(&server.url("/consent"))),
            ("request", id),
            ("users", &users),
        ],
    )
}

/// Returns the source expression for a redirect URI. Policies cannot name IPv6 addresses.
fn csp_source(url: &Url) -> Option<String> {
    match url.host()? {
        Host::Ipv6(_) => Some(format!("{}:", url.scheme())),
        _ => Some(url.origin().ascii_serialization()),
    }
}
