//! URI templates (RFC 6570): parsed once, expanded to a URI, and matched against a URI.
//!
//! RFC 6570 defines only expansion, which clients need, and the crates for it expand. A server needs the opposite:
//! to find the template that a `resources/read` belongs to, and the values of its variables. This
//! module has what matching needs and a router's or a regular expression's syntax lacks:
//!
//! - all four levels and every operator and modifier of the RFC;
//! - percent-decoding that keeps `%2F` apart from `/`;
//! - a defined choice where several matches are possible, see [`UriTemplate::matches`];
//! - work that is bounded by the lengths of template and URI, since URIs come from clients.
//!
//! Specification: server/resources, Resource Templates (2026-07-28).

mod expand;
mod matching;
mod parse;
mod parts;
mod uri_char;
mod variables;

use std::fmt;
use std::str::FromStr;

pub use parse::TemplateError;
use parts::{Expression, Part};
use uri_char::{UriChar, uri_chars};
pub use variables::{TemplateValue, TemplateVariables};

/// The longest URI that a template matches, in bytes.
const MAX_MATCHED_URI: usize = 8 * 1024;

/// A parsed URI template, of any of the four levels of RFC 6570.
///
/// ```
/// # use turnbuckle_types::UriTemplate;
/// let template: UriTemplate = "repo://{owner}/{+path}{?rev}".parse()?;
/// let variables = template.matches("repo://ada/src/main.rs?rev=7").expect("it fits");
/// assert_eq!(variables.text("path"), Some("src/main.rs"));
/// assert_eq!(template.expand(&variables), "repo://ada/src/main.rs?rev=7");
/// # Ok::<(), turnbuckle_types::TemplateError>(())
/// ```
///
/// Specification: server/resources, "Resource Templates" (2026-07-28).
#[derive(Clone)]
pub struct UriTemplate {
    text: Box<str>,
    parts: Vec<Part>,
}

/// A URI, decoded to be matched against several templates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedUri(Vec<UriChar>);

impl DecodedUri {
    /// Decodes a URI; `None` if no template can match it: it has more than 8 KiB, a control character, or an escape
    /// that is not valid.
    #[must_use]
    pub fn decode(uri: &str) -> Option<Self> {
        (uri.len() <= MAX_MATCHED_URI)
            .then(|| uri_chars(uri).map(Self))
            .flatten()
    }
}

impl UriTemplate {
    /// Parses a template.
    ///
    /// # Errors
    /// If it is not a template of RFC 6570, has more than 2,048 bytes or 32 expressions, or mentions more than 64
    /// variables.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        Ok(Self {
            text: text.into(),
            parts: parse::parts(text)?,
        })
    }

    /// Returns the template as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the names of the variables, each once, in the order of their first mention.
    #[must_use]
    pub fn variables(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for variable in self
            .expressions()
            .flat_map(|expression| &expression.variables)
        {
            if !names.contains(&&*variable.name) {
                names.push(&*variable.name);
            }
        }
        names
    }

    /// Expands the template to a URI. Undefined variables are left out.
    #[must_use]
    pub fn expand(&self, variables: &TemplateVariables) -> String {
        expand::expand(&self.parts, variables)
    }

    /// Returns the variables with which the template expands to this URI, percent-decoded; `None`
    /// if there are none.
    ///
    /// `{x}` matches at least one character and never a `/`; `{+x}` matches those too. The other
    /// expressions may be absent. `{?a,b}` accepts its parameters in any order and no others;
    /// `{?a,m*}` accepts any others as the map `m`.
    ///
    /// Matching is tried twice: first strictly, so that a value has only characters that expansion
    /// writes; then leniently, for URIs written by hand, so that a value has any character that
    /// does not end the value: all but `/ ? #` for `{x}`, all but `& #` for `{?x}`.
    ///
    /// If a URI can be split in several ways, the earlier expression takes as much as leaves a
    /// match for the rest, but `{+x}` leaves a query to a later `{?y}` and a fragment to a later
    /// `{#y}`. So matching an expanded URI returns the same variables if a literal or an operator
    /// that cannot be part of a value follows each value; no undefined variable stands before a
    /// defined one in the same expression; lists are exploded; maps are exploded in `{;m*}`,
    /// `{?m*}` or `{&m*}`; values of `{x}` and `{+x}` are not empty; values of `{+x}` and `{#x}`
    /// contain no `%`.
    ///
    /// Values are untrusted: they may contain `..`, or a `/` that was percent-encoded. Check them
    /// before they become part of a path.
    ///
    /// A URI of more than 8 KiB matches nothing, and an expression accepts at most 128 parameters.
    /// The work is bounded by the length of the URI times that of the template, where an expression
    /// with parameters counts 128 more.
    #[must_use]
    pub fn matches(&self, uri: &str) -> Option<TemplateVariables> {
        self.matches_decoded(&DecodedUri::decode(uri)?)
    }

    /// Matches a URI that was decoded before, as [`matches`](Self::matches) does.
    #[must_use]
    pub fn matches_decoded(&self, uri: &DecodedUri) -> Option<TemplateVariables> {
        matching::matches(&self.parts, &uri.0)
    }

    fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.parts.iter().filter_map(|part| match part {
            Part::Expression(expression) => Some(expression),
            Part::Literal(_) => None,
        })
    }
}

impl FromStr for UriTemplate {
    type Err = TemplateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl PartialEq for UriTemplate {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for UriTemplate {}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}
