//! Options of a server that is made of an OpenAPI document.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderName, HeaderValue};
use turnbuckle_types::base::{debug_fields, setters};

use super::operation::ParameterLocation;
use crate::Error;

/// Options of the server.
///
/// Patterns are compared with the name of the tool, with the `operationId`, and with the method and the path,
/// such as `GET /pets/{id}`; `*` stands for any characters.
#[derive(Debug, Clone)]
#[must_use]
pub struct Options {
    pub(super) server_url: Option<String>,
    pub(super) allow: Vec<String>,
    pub(super) deny: Vec<String>,
    pub(super) credentials: Vec<Credential>,
    pub(super) max_operations: usize,
    pub(super) max_response_bytes: usize,
    pub(super) max_in_flight: usize,
    pub(super) timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            server_url: None,
            allow: Vec::new(),
            deny: Vec::new(),
            credentials: Vec::new(),
            max_operations: 500,
            max_response_bytes: 1 << 20,
            max_in_flight: 32,
            timeout: Duration::from_secs(30),
        }
    }
}

impl Options {
    /// Creates options: all operations, without credentials.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the URL that the paths of the document are below. It may have any address.
        ///
        /// Default: the first server of the document, which must be `https` and on the internet.
        server_url(url: impl Into<String>) { server_url = Some(url.into()) }

        /// Adds patterns of operations that become tools. Default: all.
        allow(patterns: impl IntoIterator<Item = impl Into<String>>) {
            allow.extend(patterns.into_iter().map(Into::into))
        }

        /// Adds patterns of operations that do not become tools, also if they are allowed.
        deny(patterns: impl IntoIterator<Item = impl Into<String>>) {
            deny.extend(patterns.into_iter().map(Into::into))
        }

        /// Adds a credential, which is sent with every request. The parameter that it sets is no argument.
        credential(credential: Credential) { credentials.push(credential) }

        /// Sets how many operations become tools at most. More are an error. Default: 500.
        max_operations(operations: usize) { max_operations = operations }

        /// Sets how many bytes of a response are read. Default: 1 MiB.
        max_response_bytes(bytes: usize) { max_response_bytes = bytes }

        /// Sets how many requests run at once; further ones wait. Default: 32.
        max_in_flight(requests: usize) { max_in_flight = requests }

        /// Sets the time for a request: lookup, connection and response. Default: 30 seconds.
        timeout(timeout: Duration) { timeout = timeout }
    }
}

/// A credential that is sent with every request. `Debug` shows its name only.
#[derive(Clone)]
pub struct Credential {
    pub(super) place: CredentialForm,
}

#[derive(Clone)]
pub(super) enum CredentialForm {
    Header(HeaderName, HeaderValue),
    Query(String, String),
}

debug_fields!(Credential { place = |one| one.name().to_owned() });

impl Credential {
    /// Creates a credential in a header.
    ///
    /// # Errors
    /// When the name or the value has characters that a header cannot have.
    pub fn header(name: &str, value: &str) -> Result<Self, Error> {
        let invalid = || Error::new(format!("the header {name:?} of a credential is invalid"));
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| invalid())?;
        value.set_sensitive(true);
        Ok(Self {
            place: CredentialForm::Header(name, value),
        })
    }

    /// Creates a bearer token.
    ///
    /// # Errors
    /// As for [`header`](Self::header).
    pub fn bearer(token: &str) -> Result<Self, Error> {
        Self::header(AUTHORIZATION.as_str(), &format!("Bearer {token}"))
    }

    /// Creates the user and the password of HTTP's basic authentication.
    ///
    /// # Errors
    /// When the user's name has a colon.
    pub fn basic(user: &str, password: &str) -> Result<Self, Error> {
        if user.contains(':') {
            return Err(Error::new("the name of a user has a colon"));
        }
        let text = STANDARD.encode(format!("{user}:{password}"));
        Self::header(AUTHORIZATION.as_str(), &format!("Basic {text}"))
    }

    /// Creates a credential in the query.
    #[must_use]
    pub fn query(name: &str, value: &str) -> Self {
        Self {
            place: CredentialForm::Query(name.to_owned(), value.to_owned()),
        }
    }

    /// Returns whether this sets a parameter.
    pub(super) fn sets(&self, place: ParameterLocation, name: &str) -> bool {
        match (&self.place, place) {
            (CredentialForm::Header(header, _), ParameterLocation::Header) => {
                name.eq_ignore_ascii_case(header.as_str())
            }
            (CredentialForm::Header(..), ParameterLocation::Cookie) => {
                self.cookies().any(|(cookie, _)| cookie == name)
            }
            (CredentialForm::Query(query, _), ParameterLocation::Query) => name == query,
            _ => false,
        }
    }

    /// Returns the names and values of the cookies that this sets.
    pub(super) fn cookies(&self) -> impl Iterator<Item = (&str, &str)> {
        let cookies = match &self.place {
            CredentialForm::Header(_, value) if self.is_header(&COOKIE) => value.to_str(),
            _ => Ok(""),
        };
        let cookies = cookies
            .unwrap_or_default()
            .split(';')
            .filter_map(|one| one.split_once('='));
        cookies.map(|(name, value)| (name.trim(), value.trim()))
    }

    /// Returns whether this sets a header.
    pub(super) fn is_header(&self, name: &HeaderName) -> bool {
        matches!(&self.place, CredentialForm::Header(header, _) if header == name)
    }

    fn name(&self) -> &str {
        match &self.place {
            CredentialForm::Header(name, _) => name.as_str(),
            CredentialForm::Query(name, _) => name,
        }
    }
}
