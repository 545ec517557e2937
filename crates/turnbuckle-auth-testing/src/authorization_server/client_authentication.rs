//! Authenticates the client of a request: by a secret, by a signed assertion, or by its id alone.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use subtle::ConstantTimeEq as _;
use turnbuckle_auth::Secret;

use super::answer::{Refusal, ensure};
use super::client::{Client, ClientAuthMethod};
use super::client_lookup::find_client;
use super::jwt;
use super::parameters::Parameters;
use super::server::Server;

/// The value of `client_assertion_type` for `private_key_jwt`.
const JWT_ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Credentials that a request carries.
struct Credentials {
    id: String,
    secret: Secret,
    is_basic: bool,
}

fn basic_credentials(headers: &HeaderMap) -> Result<Option<Credentials>, Refusal> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let credentials = value.to_str().ok().and_then(decode_basic);
    let credentials = credentials.filter(|_| values.next().is_none());
    let malformed = || Refusal::invalid_client("the Authorization header is malformed");
    credentials.ok_or_else(malformed).map(Some)
}

fn decode_basic(value: &str) -> Option<Credentials> {
    let (scheme, encoded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = STANDARD.decode(encoded.trim()).ok()?;
    let (id, secret) = std::str::from_utf8(&decoded).ok()?.split_once(':')?;
    Some(Credentials {
        id: decode_form_text(id),
        secret: Secret::new(decode_form_text(secret)),
        is_basic: true,
    })
}

/// Decodes one text of a form (RFC 6749, section 2.3.1).
fn decode_form_text(encoded: &str) -> String {
    // A lone value without "=" is parsed as a name.
    let encoded = encoded.replace('=', "%3D").replace('&', "%26");
    let decoded = url::form_urlencoded::parse(encoded.as_bytes()).next();
    decoded.map_or_else(String::new, |(text, _)| text.into_owned())
}

/// Returns the client id that a request names, without checking anything, for the list of events.
pub(super) fn named_client_id(headers: &HeaderMap, parameters: &Parameters) -> Option<String> {
    if let Some(id) = parameters.get("client_id") {
        return Some(id.to_owned());
    }
    if let Some(assertion) = parameters.get("client_assertion") {
        return jwt::unverified_claim(assertion, "sub");
    }
    Some(basic_credentials(headers).ok()??.id)
}

/// Finds the client of a request and checks its credentials.
///
/// Returns `None` if the request names no client at all.
///
/// # Errors
/// Refuses with `invalid_client`, or with `invalid_request` when there are two credentials.
pub(super) async fn authenticate(
    server: &Server,
    headers: &HeaderMap,
    parameters: &Parameters,
) -> Result<Option<Client>, Refusal> {
    let basic = basic_credentials(headers)?;
    let post_secret = parameters.get("client_secret");
    let assertion = parameters.get("client_assertion");
    if server.settings.require_form_client_id && parameters.get("client_id").is_none() {
        return Err(Refusal::invalid_client("Missing client_id"));
    }
    let methods = [basic.is_some(), post_secret.is_some(), assertion.is_some()];
    let count = methods.into_iter().filter(|is_present| *is_present).count();
    let description = "the client authenticates itself in more than one way";
    ensure(count <= 1, "invalid_request", description)?;
    if let Some(assertion) = assertion {
        let client = authenticate_by_assertion(server, parameters, assertion).await;
        return client.map(Some);
    }
    let credentials = match (basic, post_secret) {
        (Some(basic), _) => {
            let is_same = parameters.get("client_id").is_none_or(|id| id == basic.id);
            let description = "the header and the form name different clients";
            ensure(is_same, "invalid_request", description)?;
            Some(basic)
        }
        (None, Some(secret)) => Some(Credentials {
            id: parameters.require("client_id")?.to_owned(),
            secret: Secret::new(secret),
            is_basic: false,
        }),
        (None, None) => None,
    };
    let id = credentials.as_ref().map(|it| it.id.as_str());
    let Some(id) = id.or_else(|| parameters.get("client_id")) else {
        return Ok(None);
    };
    let client = find_client(server, id).await;
    let client = client.map_err(|_| wrong_credentials())?;
    check_credentials(&client, credentials.as_ref())?;
    Ok(Some(client))
}

fn wrong_credentials() -> Refusal {
    Refusal::invalid_client("no such client or wrong secret")
}

fn check_credentials(client: &Client, credentials: Option<&Credentials>) -> Result<(), Refusal> {
    let is_basic = credentials.map(|credentials| credentials.is_basic);
    let is_right_method = match client.auth_method {
        ClientAuthMethod::None => is_basic.is_none(),
        ClientAuthMethod::AnySecret => is_basic.is_some(),
        ClientAuthMethod::ClientSecretBasic => is_basic == Some(true),
        ClientAuthMethod::ClientSecretPost => is_basic == Some(false),
        ClientAuthMethod::PrivateKeyJwt => false,
    };
    if !is_right_method {
        let description = "the client must authenticate itself by the method it registered";
        return Err(Refusal::invalid_client(description));
    }
    let Some(credentials) = credentials else {
        return Ok(());
    };
    let secret = credentials.secret.expose().as_bytes();
    let expected = client.secret.as_ref().map(Secret::expose);
    let expected = expected.filter(|expected| !expected.is_empty());
    match expected {
        Some(expected) if expected.as_bytes().ct_eq(secret).into() => Ok(()),
        _ => Err(wrong_credentials()),
    }
}

/// Checks an assertion of `private_key_jwt` (RFC 7523, section 3).
async fn authenticate_by_assertion(
    server: &Server,
    parameters: &Parameters,
    assertion: &str,
) -> Result<Client, Refusal> {
    let refuse = |reason: &str| Refusal::invalid_client(format!("the client assertion: {reason}"));
    let check = |is_met, reason| if is_met { Ok(()) } else { Err(refuse(reason)) };
    let is_known = parameters.get("client_assertion_type") == Some(JWT_ASSERTION);
    check(is_known, "its client_assertion_type is unknown")?;
    let id = jwt::unverified_claim(assertion, "sub").ok_or_else(|| refuse("it has no sub"))?;
    let is_same = parameters.get("client_id").is_none_or(|named| named == id);
    check(is_same, "its sub is not the client_id")?;
    let client = find_client(server, &id).await;
    let client = client.map_err(|_| refuse("its client is unknown"))?;
    let has_keys = client.auth_method == ClientAuthMethod::PrivateKeyJwt;
    check(has_keys, "the client did not register private_key_jwt")?;
    let keys = client.keys.as_ref();
    let keys = keys.ok_or_else(|| refuse("the client has no keys"))?;
    let keys = server
        .key_set(keys)
        .await
        .map_err(|reason| refuse(&reason))?;
    let verified = jwt::verify(assertion, &keys, server.now()).map_err(|reason| refuse(&reason))?;
    check(verified.text("iss") == Some(&id), "its iss is not its sub")?;
    check(verified.is_for(server), "its aud is another server")?;
    let jti = verified.text("jti");
    let jti = jti.ok_or_else(|| refuse("it has no jti"))?;
    let is_new = server.tables().use_id("client assertion", &id, jti);
    check(is_new, "it was used before")?;
    Ok(client)
}
