//! The consent page: asks the user, in plain HTML without scripts.

use std::fmt::Write as _;

use http::header::{COOKIE, SET_COOKIE};
use http::{HeaderMap, HeaderValue, StatusCode};
use url::{Host, Url};

use super::answer::{Answer, Refusal};
use super::authorization_response::{approve, deny_request};
use super::page::{error_page, escape, page};
use super::parameters::Parameters;
use super::redirect_uri;
use super::server::Server;
use super::state::{AuthorizationRequest, PendingConsent, hash};
use crate::random::random_token;

/// The cookie that ties a form to the browser that got it.
const COOKIE_NAME: &str = "turnbuckle_test_session";

/// The seconds for which a consent page can be answered.
const CONSENT_TTL: u64 = 600;

/// Shows the consent page for a request.
///
/// # Errors
/// Fails when the operating system has no randomness.
pub(super) fn ask(
    server: &Server,
    headers: &HeaderMap,
    request: AuthorizationRequest,
) -> Result<Answer, Refusal> {
    let (id, csrf) = (random_token()?, random_token()?);
    let session = match session_cookie(headers) {
        Some(session) => session,
        None => random_token()?.expose().to_owned(),
    };
    let form = Form {
        action: server.url("/consent"),
        id: id.expose(),
        csrf: csrf.expose(),
        users: &server.settings.users,
    };
    let body = consent_body(&request, &form);
    let form_target = Url::parse(&request.redirect_uri)
        .ok()
        .and_then(|url| csp_source(&url));
    let pending = PendingConsent {
        request,
        csrf_hash: hash(csrf.expose()),
        session_hash: hash(&session),
        expires_at: server.now().saturating_add(CONSENT_TTL),
    };
    server
        .tables()
        .consents
        .insert(id.expose().to_owned(), pending);

    let mut answer = page(
        StatusCode::OK,
        "Allow access?",
        &body,
        form_target.as_deref(),
    );
    let cookie = format!("{COOKIE_NAME}={session}; Path=/; HttpOnly; SameSite=Strict");
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        answer.headers_mut().insert(SET_COOKIE, cookie);
    }
    Ok(answer)
}

/// Takes the user's decision and redirects to the client.
pub(super) fn decide(server: &Server, headers: &HeaderMap, parameters: &Parameters) -> Answer {
    match find_consent(server, headers, parameters) {
        Err(refusal) => error_page(StatusCode::FORBIDDEN, &refusal),
        Ok(request) => {
            let user = parameters.get("user").unwrap_or_default();
            let is_known = server.settings.users.iter().any(|known| known == user);
            let mut answer = if parameters.get("decision") == Some("allow") && is_known {
                approve(server, request, user)
            } else {
                deny_request(server, request)
            };
            // After a form, only 303 makes every browser forget the form (RFC 9700, section 4.12).
            if answer.status().is_redirection() {
                *answer.status_mut() = StatusCode::SEE_OTHER;
            }
            answer
        }
    }
}

/// Finds the request that a form belongs to. A form can be sent once.
fn find_consent(
    server: &Server,
    headers: &HeaderMap,
    parameters: &Parameters,
) -> Result<AuthorizationRequest, Refusal> {
    let refuse = || {
        let description = "the form is not from this browser, was sent already or is too old: \
            start again in the client";
        Refusal::new("invalid_request", description)
    };
    let id = parameters.get("request").ok_or_else(refuse)?;
    let csrf = parameters.get("csrf").ok_or_else(refuse)?;
    let session = session_cookie(headers).ok_or_else(refuse)?;
    let now = server.now();
    let mut tables = server.tables();
    let pending = tables.consents.get(id).ok_or_else(refuse)?;
    // Hashes of random texts are compared, so that the time of the comparison tells nothing.
    let is_right = pending.csrf_hash == hash(csrf)
        && pending.session_hash == hash(&session)
        && now < pending.expires_at;
    if !is_right {
        return Err(refuse());
    }
    tables
        .consents
        .remove(id)
        .map(|pending| pending.request)
        .ok_or_else(refuse)
}

fn session_cookie(headers: &HeaderMap) -> Option<String> {
    let cookies = headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|cookies| cookies.split(';'));
    let value = pairs
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(name, value)| (name == COOKIE_NAME).then_some(value))?;
    let is_ours = value.len() == 43
        && value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    is_ours.then(|| value.to_owned())
}

/// The hidden fields and the users of the form.
struct Form<'a> {
    action: String,
    id: &'a str,
    csrf: &'a str,
    users: &'a [String],
}

fn consent_body(request: &AuthorizationRequest, form: &Form<'_>) -> String {
    let redirect = Url::parse(&request.redirect_uri).ok();
    let host = redirect.as_ref().and_then(Url::host_str).unwrap_or("?");
    let is_local = redirect.as_ref().is_some_and(redirect_uri::is_local);
    let scopes = if request.scopes.is_empty() {
        "(none)".to_owned()
    } else {
        request.scopes.join(" ")
    };
    let name = request.client_name.as_deref().unwrap_or("(no name)");
    let mut body = String::from("<dl>");
    for (term, value) in [
        ("Client", name),
        ("Client id", &request.client_id),
        ("You will be sent to", host),
        (
            "Access to",
            request.resource.as_deref().unwrap_or("(any resource)"),
        ),
        ("Scopes", &scopes),
    ] {
        _ = write!(body, "<dt>{}</dt><dd>{}</dd>", escape(term), escape(value));
    }
    body.push_str("</dl>");
    if is_local {
        body.push_str(
            "<p>You will be sent to a program on this computer. Allow this only if you have just \
             started a login there: any program can use this client's name.</p>",
        );
    }
    _ = write!(
        body,
        "<form method=\"post\" action=\"{}\">\
         <input type=\"hidden\" name=\"request\" value=\"{}\">\
         <input type=\"hidden\" name=\"csrf\" value=\"{}\">\
         <p><label>User <select name=\"user\">",
        escape(&form.action),
        escape(form.id),
        escape(form.csrf),
    );
    for user in form.users {
        let user = escape(user);
        _ = write!(body, "<option value=\"{user}\">{user}</option>");
    }
    body.push_str(
        "</select></label></p>\
         <p><button name=\"decision\" value=\"allow\">Allow</button>\
         <button name=\"decision\" value=\"deny\">Deny</button></p></form>",
    );
    body
}

/// Returns the source expression for a redirect URI. Policies cannot name IPv6 addresses.
fn csp_source(url: &Url) -> Option<String> {
    match url.host()? {
        Host::Ipv6(_) => Some(format!("{}:", url.scheme())),
        _ => Some(url.origin().ascii_serialization()),
    }
}
