//! Fetches a metadata document and reads it leniently.

use http::{HeaderMap, HeaderValue};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use turnbuckle_types::base::revision_dates::NEWEST_REVISION_DATE;

use crate::outbound::{Outbound, OutboundError, OutboundResponse};

/// The revision that candidates on the MCP server's own origin are asked with.
const PROTOCOL_VERSION: HeaderValue = HeaderValue::from_static(NEWEST_REVISION_DATE);

/// The kind of a candidate's failure. The order is that of weight in the error at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FailureKind {
    /// There is no such document.
    Absent,
    /// The document breaks the rules.
    Invalid,
    /// The server cannot answer now.
    Transient,
    /// The URL is not allowed.
    Refused,
}

/// The failure of one candidate.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) kind: FailureKind,
    /// The answer, for people.
    pub(super) text: String,
}

impl Failure {
    pub(super) fn new(kind: FailureKind, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { kind, text }
    }
}

impl From<OutboundError> for Failure {
    fn from(error: OutboundError) -> Self {
        let kind = match &error {
            OutboundError::Refused { .. } => FailureKind::Refused,
            OutboundError::TooLarge { .. } | OutboundError::InvalidRequest { .. } => {
                FailureKind::Invalid
            }
            OutboundError::Unreachable { .. }
            | OutboundError::TimedOut { .. }
            | OutboundError::Setup { .. } => FailureKind::Transient,
        };
        Self::new(kind, error.to_string())
    }
}

/// Fetches a JSON document. Returns it with a description of the answer.
pub(super) async fn fetch<T: DeserializeOwned>(
    outbound: &Outbound,
    url: &str,
) -> Result<(T, String), Failure> {
    let mut headers = HeaderMap::new();
    headers.insert("mcp-protocol-version", PROTOCOL_VERSION);
    let response = outbound.get_with(url, headers).await?;
    let answer = format!("{}, {} bytes", response.status, response.body.len());
    let kind = match response.status {
        200 => {
            let document = parse(&response.body);
            return match document {
                Some(document) => Ok((document, answer)),
                None => {
                    let text = format!("{answer} of {}, not a JSON object", media_type(&response));
                    Err(Failure::new(FailureKind::Absent, text))
                }
            };
        }
        408 | 429 | 500.. => FailureKind::Transient,
        400.. => FailureKind::Absent,
        _ => FailureKind::Invalid,
    };
    Err(Failure::new(kind, response.status.to_string()))
}

/// Reads a JSON object. Members that are `null` or of another type than expected are left out: one
/// bad member that is not needed must not end the login.
fn parse<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    let mut object: Map<String, Value> = serde_json::from_slice(body).ok()?;
    object.retain(|name, value| {
        let alone = Map::from_iter([(name.clone(), value.clone())]);
        !value.is_null() && T::deserialize(Value::Object(alone)).is_ok()
    });
    T::deserialize(Value::Object(object)).ok()
}

fn media_type(response: &OutboundResponse) -> &str {
    let media_type = response
        .headers
        .get("content-type")
        .and_then(|value| value.to_str().ok());
    media_type.unwrap_or("an unknown type")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::AuthorizationServerMetadata;

    #[test]
    fn members_of_a_wrong_type_are_left_out() {
        let text = br#"{"issuer":"https://as","jwks_uri":null,"scopes_supported":"all",
            "response_types_supported":null,"code_challenge_methods_supported":["S256"],"x":{}}"#;
        let document: AuthorizationServerMetadata = parse(text).unwrap();
        assert_eq!(document.issuer, "https://as");
        assert_eq!(document.scopes_supported, None);
        assert_eq!(
            document.code_challenge_methods_supported,
            Some(vec!["S256".to_owned()])
        );
        for text in ["[]", "", "<html>", "\"text\"", "{\"a\":"] {
            assert!(
                parse::<AuthorizationServerMetadata>(text.as_bytes()).is_none(),
                "{text}"
            );
        }
    }
}
