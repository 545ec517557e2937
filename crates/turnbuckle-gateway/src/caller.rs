//! The caller of a request, as far as an upstream is told of it.

use serde::{Deserialize, Serialize};
use turnbuckle::types::Principal;

use crate::error::GatewayError;
use crate::file::{PrincipalPart, Upstream};

/// The parts of a principal that the settings of an upstream use. Nobody has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Caller {
    subject: Option<String>,
    issuer: Option<String>,
    client: Option<String>,
}

impl Caller {
    /// Returns what an upstream is told of a principal. A command is told all of it.
    pub(crate) fn new(upstream: &Upstream, principal: Option<&Principal>) -> Self {
        let Some(principal) = principal else {
            return Self::default();
        };
        let is_used = |part| {
            upstream.headers_command.is_some()
                || upstream.header_principal.values().any(|it| *it == part)
        };
        let text = |part, text: Option<&str>| text.filter(|_| is_used(part)).map(str::to_owned);
        Self {
            subject: text(PrincipalPart::Subject, Some(&principal.subject)),
            issuer: text(PrincipalPart::Issuer, Some(&principal.issuer)),
            client: text(PrincipalPart::Client, principal.client.as_deref()),
        }
    }

    pub(crate) fn part(&self, part: PrincipalPart) -> Option<&str> {
        match part {
            PrincipalPart::Subject => self.subject.as_deref(),
            PrincipalPart::Issuer => self.issuer.as_deref(),
            PrincipalPart::Client => self.client.as_deref(),
        }
    }

    /// Returns the form by which callers are told apart.
    pub(crate) fn to_json(&self) -> String {
        // Texts always have a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(crate) fn from_json(json: &str) -> Result<Self, GatewayError> {
        serde_json::from_str(json).map_err(|error| GatewayError::new(error.to_string()))
    }
}
