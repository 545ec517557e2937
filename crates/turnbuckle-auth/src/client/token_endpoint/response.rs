//! The answers of a token endpoint, read leniently: servers differ much in their errors.

use http::header;
use serde_json::{Map, Value};
use turnbuckle_types::base::text::one_line;

use crate::outbound::{OutboundError, OutboundResponse};
use crate::secret::Secret;

/// The longest lifetime that is believed: ten years, in seconds.
const MAX_EXPIRES_IN: u64 = 10 * 365 * 24 * 3600;
const MAX_CODE_CHARS: usize = 64;
const MAX_DESCRIPTION_CHARS: usize = 300;
const MAX_BODY_CHARS: usize = 120;

/// A token and what the server said about it.
#[derive(Debug, Clone)]
pub(crate) struct TokenResponse {
    pub access_token: Secret,
    /// `Bearer` or `DPoP`, in this spelling; for token exchange what the server wrote.
    pub token_type: String,
    /// The lifetime in seconds, at most ten years. None if missing, negative, zero or no number.
    pub expires_in: Option<u64>,
    pub refresh_token: Option<Secret>,
    pub scope: Option<String>,
    pub issued_token_type: Option<String>,
    /// The method by which the client authenticated itself, if the server refused the first one.
    pub auth_method: Option<&'static str>,
}

/// The reason why there is no token. The texts hold no secrets.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum TokenError {
    /// The server refused with an OAuth error, such as `invalid_grant`.
    #[error(
        "the token endpoint refused with {error} (HTTP {status}){}",
        after_colon(description.as_deref())
    )]
    Refused {
        status: u16,
        error: String,
        description: Option<String>,
    },
    /// The server answered with a failure that is no OAuth error.
    #[error("the token endpoint answered with HTTP {status}{}", body_or_none(body))]
    Unexpected { status: u16, body: String },
    /// The server could not be reached.
    #[error(transparent)]
    Outbound(#[from] OutboundError),
    /// The request cannot be made, or the answer is no usable token.
    #[error("{0}")]
    Invalid(String),
}

fn after_colon(text: Option<&str>) -> String {
    text.map_or(String::new(), |text| format!(": {text}"))
}

fn body_or_none(body: &str) -> String {
    match body {
        "" => " and no text".to_owned(),
        body => after_colon(Some(body)),
    }
}

/// The kind of token that was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    Bearer,
    Dpop,
    /// A token that is not sent to a resource, such as an ID-JAG.
    Other,
}

/// Returns whether a parameter may be shown to people.
pub(super) fn is_public_parameter(name: &str) -> bool {
    [
        "grant_type",
        "resource",
        "scope",
        "client_id",
        "redirect_uri",
        "audience",
        "requested_token_type",
        "subject_token_type",
        "client_assertion_type",
    ]
    .contains(&name)
}

/// Reads the answer to a request with the parameters `form`.
pub(super) fn parse(
    response: &OutboundResponse,
    kind: TokenKind,
    form: &[(&str, &str)],
) -> Result<TokenResponse, TokenError> {
    let fields = parse_fields(&response.body);
    let is_success = (200..300).contains(&response.status);
    if let Some(fields) = &fields {
        // Some servers send errors with status 200.
        if let Some(error) = refusal(fields, response.status, is_success, form) {
            return Err(error);
        }
    }
    match fields {
        Some(fields) if is_success => token(&fields, kind),
        _ if is_success => Err(TokenError::Invalid(format!(
            "the token endpoint answered with {}, not with a JSON object",
            content_type(response)
        ))),
        _ => Err(TokenError::Unexpected {
            status: response.status,
            body: describe_body(response, form),
        }),
    }
}

/// Reads a JSON object, or a form if the whole body looks like one.
fn parse_fields(body: &[u8]) -> Option<Map<String, Value>> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    if let Ok(fields) = serde_json::from_slice(body) {
        return Some(fields);
    }
    // Some servers answer with a form unless asked otherwise.
    let is_form = body.starts_with(b"access_token=") || body.starts_with(b"error=");
    let pairs = is_form.then(|| url::form_urlencoded::parse(body.trim_ascii_end()))?;
    let pairs = pairs.map(|(name, value)| (name.into_owned(), value.into_owned().into()));
    Some(pairs.collect())
}

fn refusal(
    fields: &Map<String, Value>,
    status: u16,
    is_success: bool,
    form: &[(&str, &str)],
) -> Option<TokenError> {
    // Some servers nest the error: {"error": {"code": "…", "message": "…"}}.
    let (code, nested) = match fields.get("error")? {
        Value::String(code) => (code.as_str(), None),
        Value::Object(nested) => (nested_code(nested), nested.get("message")),
        _ => return None,
    };
    let code = match code.trim() {
        "" if is_success => return None,
        "" => "unknown_error",
        code => code,
    };
    let description = fields.get("error_description").or(nested);
    let description = description.and_then(Value::as_str);
    let description = description.map(|text| clean(text, MAX_DESCRIPTION_CHARS, form));
    Some(TokenError::Refused {
        status,
        error: clean(code, MAX_CODE_CHARS, form),
        description: description.filter(|text| !text.is_empty()),
    })
}

fn nested_code(nested: &Map<String, Value>) -> &str {
    let names = ["error", "code", "type", "status"];
    let code = names.iter().find_map(|name| nested.get(*name)?.as_str());
    code.unwrap_or("unknown_error")
}

fn token(fields: &Map<String, Value>, kind: TokenKind) -> Result<TokenResponse, TokenError> {
    let text = |name: &str| {
        let value = fields.get(name).and_then(Value::as_str);
        value.filter(|value| !value.is_empty())
    };
    let access_token = text("access_token").ok_or_else(|| {
        TokenError::Invalid("the token endpoint's answer has no access_token".to_owned())
    })?;
    if !access_token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(TokenError::Invalid(
            "the access_token has characters that no header may hold".to_owned(),
        ));
    }
    Ok(TokenResponse {
        access_token: Secret::new(access_token),
        token_type: check_token_type(text("token_type"), kind)?,
        expires_in: fields.get("expires_in").and_then(expires_in),
        refresh_token: text("refresh_token").map(Secret::new),
        scope: text("scope").map(str::to_owned),
        issued_token_type: text("issued_token_type").map(str::to_owned),
        auth_method: None,
    })
}

fn check_token_type(token_type: Option<&str>, kind: TokenKind) -> Result<String, TokenError> {
    // A few servers leave the type out. It was Bearer for all that do.
    let token_type = token_type.unwrap_or("Bearer");
    let (accepted, advice) = match kind {
        TokenKind::Other => return Ok(clean(token_type, MAX_CODE_CHARS, &[])),
        TokenKind::Bearer => ("Bearer", "DPoP is off in this client"),
        TokenKind::Dpop => (
            "DPoP",
            "this client accepts only tokens that are bound to its key",
        ),
    };
    if token_type.eq_ignore_ascii_case(accepted) {
        return Ok(accepted.to_owned());
    }
    let token_type = clean(token_type, MAX_CODE_CHARS, &[]);
    Err(TokenError::Invalid(format!(
        "the token_type is {token_type}, not {accepted}: {advice}"
    )))
}

/// Reads a lifetime: a number or a text with a number.
fn expires_in(value: &Value) -> Option<u64> {
    let seconds = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    // Servers write 0 or -1 for "does not expire". A rejected token is renewed in any case.
    if !seconds.is_finite() || seconds < 1.0 {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates"
    )]
    Some((seconds as u64).min(MAX_EXPIRES_IN))
}

fn content_type(response: &OutboundResponse) -> String {
    let value = response.headers.get(header::CONTENT_TYPE);
    let value = value.and_then(|value| value.to_str().ok());
    clean(value.unwrap_or("no content type"), MAX_CODE_CHARS, &[])
}

/// Returns the beginning of a body that is no JSON. Tags of HTML are left out.
fn describe_body(response: &OutboundResponse, form: &[(&str, &str)]) -> String {
    let body = response.body.get(..8 * 1024).unwrap_or(&response.body);
    let mut text = String::new();
    let mut is_tag = false;
    for part in String::from_utf8_lossy(body).chars() {
        match part {
            '<' => is_tag = true,
            '>' => {
                is_tag = false;
                text.push(' ');
            }
            part if !is_tag => text.push(part),
            _ => {}
        }
    }
    clean(&text, MAX_BODY_CHARS, form)
}

/// Returns a text of the server as one line that is safe to show. Secrets of the request become `…`.
fn clean(text: &str, max_chars: usize, form: &[(&str, &str)]) -> String {
    let mut text = text.to_owned();
    for (name, value) in form {
        if !is_public_parameter(name) && value.len() >= 4 {
            text = text.replace(value, "…");
        }
    }
    one_line(&text, max_chars)
}

impl TokenError {
    /// Returns the OAuth error code, such as `invalid_grant`.
    pub(crate) fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { error, .. } => Some(error),
            _ => None,
        }
    }

    /// Returns whether the same request may succeed later.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Refused { status, error, .. } => {
                is_transient_status(*status) || error == "temporarily_unavailable"
            }
            Self::Unexpected { status, .. } => is_transient_status(*status),
            Self::Outbound(error) => error.is_transient(),
            Self::Invalid(_) => false,
        }
    }
}

fn is_transient_status(status: u16) -> bool {
    status == 408 || status == 429 || status >= 500
}
