//! Authenticates the client of a request: by a secret, by a signed assertion, or by its id alone.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use subtle::ConstantTimeEq as _;

use super::answer::Refusal;
use super::client::{Client, ClientAuthMethod, ClientKeys};
use super::client_lookup::find_client;
use super::jwt;
use super::parameters::Parameters;
use super::server::Server;
use turnbuckle_auth::Secret;

/// The value of `client_assertion_type` for `private_key_jwt`.
const JWT_ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Credentials that a request carries.
struct Credentials {
    id: String,
    secret: Secret,
    is_basic: bool,
}

fn basic_credentials(headers: &HeaderMap) -> Result<Option<Credentials>, Refusal> {
    let malformed = || Refusal::invalid_client("the Authorization header is malformed");
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(malformed());
    }
    let value = value.to_str().map_err(|_| malformed())?;
    let (scheme, encoded) = value.split_once(' ').ok_or_else(malformed)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(malformed());
    }
    let decoded = STANDARD.decode(encoded.trim()).map_err(|_| malformed())?;
    let decoded = String::from_utf8(decoded).map_err(|_| malformed())?;
    let (id, secret) = decoded.split_once(':').ok_or_else(malformed)?;
    let credentials = Credentials {
        id: decode_form_text(id),
        secret: Secret::new(decode_form_text(secret)),
        is_basic: true,
    };
    Ok(Some(credentials))
}

/// Decodes one text of a form (RFC 6749, section 2.3.1).
fn decode_form_text(encoded: &str) -> String {
    // A lone value without "=" is parsed as a name.
    let encoded = encoded.replace('=', "%3D").replace('&', "%26");
    let decoded = url::form_urlencoded::parse(encoded.as_bytes()).next();
    decoded
        .map(|(text, _)| text.into_owned())
        .unwrap_or_default()
}

/// Returns the client id that a request names, without checking anything, for the list of events.
pub(super) fn named_client_id(headers: &HeaderMap, parameters: &Parameters) -> Option<String> {
    if let Some(id) = parameters.get("client_id") {
        return Some(id.to_owned());
    }
    if let Some(assertion) = parameters.get("client_assertion") {
        return jwt::unverified_claim(assertion, "sub");
    }
    basic_credentials(headers)
        .ok()
        .flatten()
        .map(|credentials| credentials.id)
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
    if [basic.is_some(), post_secret.is_some(), assertion.is_some()]
        .into_iter()
        .filter(|is_present| *is_present)
        .count()
        > 1
    {
        let description = "the client authenticates itself in more than one way";
        return Err(Refusal::new("invalid_request", description));
    }
    if let Some(assertion) = assertion {
        return authenticate_by_assertion(server, parameters, assertion)
            .await
            .map(Some);
    }
    let credentials = match (basic, post_secret) {
        (Some(basic), _) => {
            if parameters.get("client_id").is_some_and(|id| id != basic.id) {
                let description = "the header and the form name different clients";
                return Err(Refusal::new("invalid_request", description));
            }
            Some(basic)
        }
        (None, Some(secret)) => Some(Credentials {
            id: parameters.require("client_id")?.to_owned(),
            secret: Secret::new(secret),
            is_basic: false,
        }),
        (None, None) => None,
    };
    let id = credentials
        .as_ref()
        .map(|credentials| credentials.id.as_str());
    let Some(id) = id.or_else(|| parameters.get("client_id")) else {
        return Ok(None);
    };
    let client = find_client(server, id)
        .await
        .map_err(|_| Refusal::invalid_client("no such client or wrong secret"))?;
    check_credentials(&client, credentials.as_ref())?;
    Ok(Some(client))
}

fn check_credentials(client: &Client, credentials: Option<&Credentials>) -> Result<(), Refusal> {
    let is_basic = credentials.map(|credentials| credentials.is_basic);
    let is_right_method = match client.auth_method {
        ClientAuthMethod::None => is_basic.is_none(),
        ClientAuthMethod::AnySecret => is_basic.is_some(),
        ClientAuthMethod::SecretBasic => is_basic == Some(true),
        ClientAuthMethod::SecretPost => is_basic == Some(false),
        ClientAuthMethod::PrivateKeyJwt => false,
    };
    if !is_right_method {
        let description = "the client must authenticate itself by the method it registered";
        return Err(Refusal::invalid_client(description));
    }
    let Some(credentials) = credentials else {
        return Ok(());
    };
    let expected = client
        .secret
        .as_ref()
        .map(Secret::expose)
        .unwrap_or_default();
    let is_equal = expected
        .as_bytes()
        .ct_eq(credentials.secret.expose().as_bytes());
    if expected.is_empty() || !bool::from(is_equal) {
        return Err(Refusal::invalid_client("no such client or wrong secret"));
    }
    Ok(())
}

/// Checks an assertion of `private_key_jwt` (RFC 7523, section 3).
async fn authenticate_by_assertion(
    server: &Server,
    parameters: &Parameters,
    assertion: &str,
) -> Result<Client, Refusal> {
    let refuse = |reason: &str| Refusal::invalid_client(format!("the client assertion: {reason}"));
    if parameters.get("client_assertion_type") != Some(JWT_ASSERTION) {
        return Err(refuse("its client_assertion_type is unknown"));
    }
    let id = jwt::unverified_claim(assertion, "sub").ok_or_else(|| refuse("it has no sub"))?;
    if parameters.get("client_id").is_some_and(|named| named != id) {
        return Err(refuse("its sub is not the client_id"));
    }
    let client = find_client(server, &id)
        .await
        .map_err(|_| refuse("its client is unknown"))?;
    if client.auth_method != ClientAuthMethod::PrivateKeyJwt {
        return Err(refuse("the client did not register private_key_jwt"));
    }
    let keys = match &client.keys {
        Some(ClientKeys::Inline(keys)) => keys.clone(),
        Some(ClientKeys::Url(url)) => server
            .fetch_json(url)
            .await
            .map_err(|reason| refuse(&reason))?,
        None => return Err(refuse("the client has no keys")),
    };
    let verified = jwt::verify(assertion, &keys, server.now()).map_err(|reason| refuse(&reason))?;
    if verified.text("iss") != Some(&id) {
        return Err(refuse("its iss is not its sub"));
    }
    let token_endpoint = server.url("/token");
    if !verified.has_audience(server.issuer()) && !verified.has_audience(&token_endpoint) {
        return Err(refuse("its aud is another server"));
    }
    let jti = verified
        .text("jti")
        .ok_or_else(|| refuse("it has no jti"))?;
    if !server.tables().use_id("client assertion", &id, jti) {
        return Err(refuse("it was used before"));
    }
    Ok(client)
}
