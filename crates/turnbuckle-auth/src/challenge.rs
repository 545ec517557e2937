//! Challenges of `WWW-Authenticate`: the server writes them, the client parses them.
//!
//! Specification: RFC 9110 section 11, RFC 6750 section 3, RFC 9449 section 7.1, RFC 9728 section 5.1.

use std::fmt::{self, Write as _};

use http::HeaderValue;

mod parse;
#[cfg(test)]
mod tests;

/// One challenge of a `WWW-Authenticate` header: a scheme and its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    scheme: String,
    token68: Option<String>,
    params: Vec<(String, String)>,
}

impl Challenge {
    /// Creates a challenge without parameters.
    #[must_use]
    pub fn new(scheme: impl Into<String>) -> Self {
        Self {
            scheme: scheme.into(),
            token68: None,
            params: Vec::new(),
        }
    }

    /// Adds a parameter. A parameter of the same name keeps its first value.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.add(name, value.into());
        self
    }

    /// Parses the challenges of all `WWW-Authenticate` headers of a response.
    ///
    /// Malformed parts are left out; the rest is still returned. At most 16 challenges with 32
    /// parameters each are read, from the first 16 KiB of each header value.
    #[must_use]
    pub fn parse_all<'a>(header_values: impl Iterator<Item = &'a str>) -> Vec<Self> {
        parse::parse_all(header_values)
    }

    /// Returns the scheme as it was written, such as `Bearer` or `DPoP`.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Returns whether this is the scheme of the challenge. Case does not matter.
    #[must_use]
    pub fn is_scheme(&self, scheme: &str) -> bool {
        self.scheme.eq_ignore_ascii_case(scheme)
    }

    /// Returns the value that some schemes have in place of parameters.
    #[must_use]
    pub fn token68(&self) -> Option<&str> {
        self.token68.as_deref()
    }

    /// Returns the parameters in their order. Names are in lower case.
    pub fn params(&self) -> impl Iterator<Item = (&str, &str)> {
        self.params
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the value of a parameter. Case of the name does not matter.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<&str> {
        self.params
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Returns the URL of the protected resource metadata.
    #[must_use]
    pub fn resource_metadata(&self) -> Option<&str> {
        self.param("resource_metadata")
    }

    /// Returns the scopes that the request needs, if the challenge names any.
    #[must_use]
    pub fn scope(&self) -> Option<Vec<String>> {
        let mut scopes: Vec<String> = Vec::new();
        for scope in self.param("scope")?.split_ascii_whitespace() {
            if !scopes.iter().any(|known| known == scope) {
                scopes.push(scope.to_owned());
            }
        }
        (!scopes.is_empty()).then_some(scopes)
    }

    /// Returns the error code, such as `invalid_token` or `insufficient_scope`.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.param("error")
    }

    /// Returns the explanation of the error, for developers.
    #[must_use]
    pub fn error_description(&self) -> Option<&str> {
        self.param("error_description")
    }

    /// Returns the value of a `WWW-Authenticate` header with this challenge alone.
    #[must_use]
    pub(crate) fn to_header_value(&self) -> HeaderValue {
        // `Display` writes visible ASCII and spaces only, so the fallback is never used.
        HeaderValue::from_str(&self.to_string())
            .unwrap_or_else(|_| HeaderValue::from_static("Bearer"))
    }

    fn add(&mut self, name: &str, value: String) {
        if self.param(name).is_none() {
            self.params.push((name.to_ascii_lowercase(), value));
        }
    }
}

/// Writes the challenge as in a header. Values are quoted and escaped; control characters are left
/// out, other characters outside ASCII become `?`.
impl fmt::Display for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_token(f, &self.scheme)?;
        if let Some(token68) = &self.token68 {
            f.write_char(' ')?;
            for part in token68.chars().filter(|part| parse::is_token68_char(*part)) {
                f.write_char(part)?;
            }
            return Ok(());
        }
        for (index, (name, value)) in self.params.iter().enumerate() {
            f.write_str(if index == 0 { " " } else { ", " })?;
            write_token(f, name)?;
            f.write_str("=\"")?;
            for part in value.chars() {
                match part {
                    '"' | '\\' => write!(f, "\\{part}")?,
                    ' '..='~' => f.write_char(part)?,
                    part if part.is_ascii() => {}
                    _ => f.write_char('?')?,
                }
            }
            f.write_char('"')?;
        }
        Ok(())
    }
}

fn write_token(f: &mut fmt::Formatter<'_>, token: &str) -> fmt::Result {
    for part in token.chars().filter(|part| parse::is_token_char(*part)) {
        f.write_char(part)?;
    }
    Ok(())
}
