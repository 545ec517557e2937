//! The claims of a token: of a JWT's payload or of an introspection response.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::Value;
use turnbuckle_types::{Principal, RawObject};

use super::{TokenRejection, VerifiedToken};
use crate::server::scopes;

/// The claims that a resource server checks. A claim that stands twice is an error.
///
/// Specification: RFC 7519 section 4.1, RFC 9068 section 2.2, RFC 7662 section 2.2.
#[derive(Deserialize)]
pub(crate) struct Claims {
    pub(crate) active: Option<bool>,
    pub(crate) iss: Option<String>,
    sub: Option<String>,
    #[serde(default)]
    aud: OneOrMany,
    exp: Option<f64>,
    nbf: Option<f64>,
    #[serde(default)]
    scope: OneOrMany,
    /// The scopes at some authorization servers.
    #[serde(default)]
    scp: OneOrMany,
    client_id: Option<String>,
    /// The client in tokens of OpenID providers.
    azp: Option<String>,
    cnf: Option<Confirmation>,
    /// The purpose of a token, at some authorization servers: `access` or `id`.
    token_use: Option<String>,
    /// The kind of a token, at some authorization servers: `Bearer`, `DPoP`, `ID`, `Refresh`.
    typ: Option<String>,
    /// The type in answers of introspection: `Bearer` or `DPoP`, at some authorization servers
    /// `access_token` or `refresh_token`.
    token_type: Option<String>,
    /// Other names of that claim at some authorization servers. Other claims have these names too, so
    /// that values that are no text mean nothing.
    #[serde(rename = "tokenType")]
    camel_case_type: Option<Value>,
    #[serde(rename = "type")]
    short_type: Option<Value>,
    kind: Option<Value>,
    /// The claim of a logout token and of other security events (RFC 8417).
    events: Option<IgnoredAny>,
    /// Claims of ID tokens alone.
    nonce: Option<IgnoredAny>,
    at_hash: Option<IgnoredAny>,
    c_hash: Option<IgnoredAny>,
}

/// The key that a token is bound to.
#[derive(Deserialize)]
struct Confirmation {
    jkt: Option<String>,
}

impl Claims {
    /// Checks that the token is an access token, not an ID token or refresh token of the same issuer.
    ///
    /// `token_use` and `typ`, if there, must say so. `token_type` and claims of similar names must not name
    /// another kind, and there must be no `events`. A JWT that says it neither there nor in its header
    /// (`is_typed`) must have no claim of an ID token.
    ///
    /// # Errors
    /// Fails for every other token.
    pub(crate) fn check_kind(&self, is_typed: bool) -> Result<(), TokenRejection> {
        let is = |claim: &Option<String>, names: &[&str]| {
            let found = |text: &String| names.iter().any(|name| text.eq_ignore_ascii_case(name));
            claim.as_ref().map(found)
        };
        let use_is_access = is(&self.token_use, &["access", "access_token"]);
        let typ_is_access = is(&self.typ, &["Bearer", "DPoP", "at+jwt", "JWT"]);
        let others = [&self.camel_case_type, &self.short_type, &self.kind];
        let others = others.into_iter().flatten().filter_map(Value::as_str);
        let is_other_type = self
            .token_type
            .as_deref()
            .into_iter()
            .chain(others)
            .any(names_other_kind)
            || self.events.is_some();
        if use_is_access == Some(false) || typ_is_access == Some(false) || is_other_type {
            let reason = "its token_use, typ, token_type, tokenType, type, kind or events is not that of \
                          an access token";
            return Err(TokenRejection::Invalid(reason.to_owned()));
        }
        let says_access = is_typed
            || use_is_access == Some(true)
            || is(&self.typ, &["Bearer", "DPoP", "at+jwt"]) == Some(true);
        let is_like_id_token =
            self.nonce.is_some() || self.at_hash.is_some() || self.c_hash.is_some();
        if is_like_id_token && !says_access {
            let reason = "it has claims of an ID token (nonce, at_hash or c_hash)";
            return Err(TokenRejection::Invalid(reason.to_owned()));
        }
        Ok(())
    }

    /// Returns the meaning of the token. The caller has checked that the claims are genuine.
    ///
    /// # Errors
    /// Fails when the token is not yet valid, has no subject, or is bound to a key in a way that
    /// cannot be checked here.
    pub(crate) fn into_verified(
        self,
        issuer: &str,
        claims: RawObject,
        now: u64,
        leeway: u64,
    ) -> Result<VerifiedToken, TokenRejection> {
        let invalid = |reason: &str| TokenRejection::Invalid(reason.to_owned());
        if self
            .nbf
            .is_some_and(|nbf| seconds(nbf) > now.saturating_add(leeway))
        {
            return Err(invalid("it is not yet valid (nbf)"));
        }
        let client = self.client_id.or(self.azp);
        // A client's own name could be that of a user.
        let subject = match (self.sub, client.as_deref()) {
            (Some(sub), _) if sub.is_empty() => return Err(invalid("its sub is empty")),
            (Some(sub), _) => sub,
            (None, None | Some("")) => return Err(invalid("it has neither sub nor client_id")),
            (None, Some(client)) => format!("client:{client}"),
        };
        let key_thumbprint = match self.cnf {
            None => None,
            Some(Confirmation { jkt: Some(jkt) }) => Some(jkt),
            Some(Confirmation { jkt: None }) => {
                return Err(invalid(
                    "its cnf has no jkt, and other bindings cannot be checked",
                ));
            }
        };
        let mut granted = Vec::new();
        for text in self.scope.0.iter().chain(&self.scp.0) {
            granted.extend(scopes::split(text));
        }
        let mut principal = Principal::new(issuer, subject)
            .scopes(granted)
            .claims(claims);
        principal.client = client;
        let mut verified = VerifiedToken::new(principal, self.aud.0);
        verified.expires_at = self.exp.map(seconds);
        verified.key_thumbprint = key_thumbprint;
        Ok(verified)
    }
}

/// Returns whether a name of a kind of tokens, or the last part of a URN, is that of refresh tokens, ID
/// tokens or logout tokens. Spellings differ: `refresh_token`, `refreshToken`, `Refresh`.
fn names_other_kind(name: &str) -> bool {
    let last = name.rsplit(':').next().unwrap_or(name);
    let letters = last.chars().filter(char::is_ascii_alphanumeric);
    let name: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    let is_part = ["refresh", "idtoken", "logout"]
        .iter()
        .any(|part| name.contains(part));
    is_part || matches!(name.as_str(), "id" | "offline")
}

/// Returns a NumericDate in whole seconds. Negative ones become 0; the cast saturates.
fn seconds(date: f64) -> u64 {
    date as u64
}

/// One text or a list of texts. Absent and `null` are an empty list.
#[derive(Debug, Default, PartialEq, Eq)]
struct OneOrMany(Vec<String>);

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextsVisitor;
        impl<'de> Visitor<'de> for TextsVisitor {
            type Value = OneOrMany;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of strings")
            }
            fn visit_unit<E>(self) -> Result<OneOrMany, E> {
                Ok(OneOrMany(Vec::new()))
            }
            fn visit_str<E>(self, text: &str) -> Result<OneOrMany, E> {
                Ok(OneOrMany(vec![text.to_owned()]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<OneOrMany, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = seq.next_element()? {
                    texts.push(text);
                }
                Ok(OneOrMany(texts))
            }
        }
        deserializer.deserialize_any(TextsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<VerifiedToken, String> {
        let claims: Claims = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let raw = text.parse().map_err(|_| "no object")?;
        claims
            .into_verified("https://as", raw, 100, 10)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn scopes_and_audiences_come_as_text_or_list() {
        let token = read(r#"{"sub":"a","aud":"x","scope":"p q","scp":["r"],"exp":5e2,"azp":"c"}"#);
        let token = token.unwrap();
        assert_eq!(token.principal.scopes, ["p", "q", "r"]);
        assert_eq!(token.audience, ["x"]);
        assert_eq!(token.expires_at, Some(500));
        assert_eq!(token.principal.client.as_deref(), Some("c"));
        let token = read(r#"{"client_id":"c","aud":["x","y"],"scope":null}"#).unwrap();
        assert_eq!(token.audience, ["x", "y"]);
        assert_eq!(token.principal.claims.unwrap().as_str().len(), 46);
    }

    #[test]
    fn a_client_credentials_token_never_becomes_a_user() {
        for text in [r#"{"client_id":"ann"}"#, r#"{"azp":"ann","sub":null}"#] {
            let principal = read(text).unwrap().principal;
            assert_eq!(principal.subject, "client:ann");
            assert_eq!(principal.client.as_deref(), Some("ann"));
        }
        let principal = read(r#"{"sub":"ann","client_id":"ann"}"#)
            .unwrap()
            .principal;
        assert_eq!(principal.subject, "ann");
        assert!(read(r#"{"client_id":""}"#).is_err());
    }

    #[test]
    fn claims_that_two_readers_could_read_differently_are_refused() {
        assert!(read(r#"{"sub":"a","aud":"x","aud":"y"}"#).is_err());
        assert!(read(r#"{"sub":"a","sub":"b"}"#).is_err());
        assert!(read(r#"{"sub":1}"#).is_err());
        assert!(read(r#"{"sub":"a","aud":{"x":1}}"#).is_err());
        assert!(read(r#"{"sub":"a","exp":"500"}"#).is_err());
        assert!(read(r#"["a"]"#).is_err());
        assert!(read(r#"{"sub":""}"#).is_err());
        assert!(read("{}").is_err());
    }

    #[test]
    fn a_token_that_is_not_yet_valid_is_refused_beyond_the_leeway() {
        assert!(read(r#"{"sub":"a","nbf":110}"#).is_ok());
        assert!(read(r#"{"sub":"a","nbf":111}"#).is_err());
        assert!(read(r#"{"sub":"a","nbf":1e300}"#).is_err());
    }

    #[test]
    fn a_binding_to_a_certificate_is_refused() {
        assert!(read(r#"{"sub":"a","cnf":{"x5t#S256":"abc"}}"#).is_err());
        let token = read(r#"{"sub":"a","cnf":{"jkt":"abc"}}"#).unwrap();
        assert_eq!(token.key_thumbprint.as_deref(), Some("abc"));
    }
}
