//! The parameters of a request: a query or a form.

use super::answer::{Refusal, ensure};

/// The most parameters that one request may have.
const MAX_PARAMETERS: usize = 100;

/// Decoded parameters of a query or a form, in their order.
#[derive(Default)]
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Decodes a query or a form. Parameters after the hundredth are ignored.
    pub(super) fn parse(encoded: &[u8]) -> Self {
        let pairs = url::form_urlencoded::parse(encoded).take(MAX_PARAMETERS);
        Self(
            pairs
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect(),
        )
    }

    /// Returns the value of a parameter. An empty value counts as absent (RFC 6749, section 3.1).
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(found, _)| found == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// Returns the value of a parameter.
    ///
    /// # Errors
    /// Refuses with `invalid_request` when the parameter is absent.
    pub(super) fn require(&self, name: &str) -> Result<&str, Refusal> {
        let missing = || format!("the parameter {name} is missing");
        let refuse = || Refusal::new("invalid_request", missing());
        self.get(name).ok_or_else(refuse)
    }

    /// Returns the names of all parameters, in their order.
    pub(super) fn names(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Returns true if the parameter occurs more than once.
    pub(super) fn is_repeated(&self, name: &str) -> bool {
        self.0.iter().filter(|(found, _)| found == name).count() > 1
    }

    /// Checks that no parameter occurs more than once (RFC 6749, section 3.1).
    ///
    /// # Errors
    /// Refuses with `invalid_target` for `resource`, with `invalid_request` for any other.
    pub(super) fn check_unique(&self) -> Result<(), Refusal> {
        for (name, _) in &self.0 {
            let error = match name.as_str() {
                "resource" => "invalid_target",
                _ => "invalid_request",
            };
            let description = format!("the parameter {name} is repeated");
            ensure(!self.is_repeated(name), error, &description)?;
        }
        Ok(())
    }
}
