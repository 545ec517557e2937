//! URI templates of RFC 6570: parsed once, expanded to a URI, and matched against one.
//!
//! RFC 6570 defines expansion only; a server needs the way back as well, to find the template that
//! a `resources/read` is for. What a match means is said at [`UriTemplate::matches`].
//!
//! Specification: server/resources, Resource Templates (2026-07-28).

mod expand;
mod glyph;
mod matching;
mod parse;
mod variables;

use std::fmt;
use std::str::FromStr;

use glyph::{Glyph, glyphs};
pub use parse::TemplateError;
pub use variables::{TemplateValue, Variables};

/// The longest template, in bytes.
const MAX_TEMPLATE: usize = 2048;

/// The most expressions that a template can have.
const MAX_EXPRESSIONS: usize = 32;

/// The most variables that a template can have, counting each mention: as many as a `u64` has bits.
const MAX_VARIABLES: usize = 64;

/// The longest URI that any template matches, in bytes.
const MAX_MATCHED_URI: usize = 8 * 1024;

/// A parsed URI template, of any of the four levels of RFC 6570.
///
/// ```
/// # use turnbuckle_server::{UriTemplate, Variables};
/// let template: UriTemplate = "repo://{owner}/{+path}{?rev}".parse()?;
/// let variables = template.matches("repo://ada/src/main.rs?rev=7").expect("it fits");
/// assert_eq!(variables.text("path"), Some("src/main.rs"));
/// assert_eq!(template.expand(&variables), "repo://ada/src/main.rs?rev=7");
/// # Ok::<(), turnbuckle_server::TemplateError>(())
/// ```
///
/// Specification: server/resources, "Resource Templates" (2026-07-28).
#[derive(Clone)]
pub struct UriTemplate {
    text: Box<str>,
    parts: Vec<Part>,
}

/// A URI that templates can be held against.
pub(crate) struct DecodedUri(Vec<Glyph>);

impl DecodedUri {
    /// `None` if no template matches it.
    pub(crate) fn of(uri: &str) -> Option<Self> {
        (uri.len() <= MAX_MATCHED_URI)
            .then(|| glyphs(uri).map(Self))
            .flatten()
    }
}

#[derive(Clone)]
enum Part {
    Literal(Vec<Glyph>),
    Expression(Expression),
}

#[derive(Clone)]
struct Expression {
    operator: Operator,
    variables: Vec<Variable>,
}

#[derive(Clone)]
struct Variable {
    name: Box<str>,
    modifier: Modifier,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Modifier {
    None,
    /// `:n`, the first `n` characters.
    Prefix(usize),
    /// `*`, an item each.
    Explode,
}

/// The character after the opening brace, which decides how an expression is written out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operator {
    /// `{x}`
    Simple,
    /// `{+x}`
    Reserved,
    /// `{#x}`
    Fragment,
    /// `{.x}`
    Label,
    /// `{/x}`
    Path,
    /// `{;x}`
    Parameter,
    /// `{?x}`
    Query,
    /// `{&x}`
    Continuation,
}

impl Operator {
    /// What an expression with a value begins with.
    fn first(self) -> Option<char> {
        match self {
            Self::Simple | Self::Reserved => None,
            Self::Fragment => Some('#'),
            Self::Label => Some('.'),
            Self::Path => Some('/'),
            Self::Parameter => Some(';'),
            Self::Query => Some('?'),
            Self::Continuation => Some('&'),
        }
    }

    /// What stands between two values.
    fn separator(self) -> char {
        match self {
            Self::Simple | Self::Reserved | Self::Fragment => ',',
            Self::Label => '.',
            Self::Path => '/',
            Self::Parameter => ';',
            Self::Query | Self::Continuation => '&',
        }
    }

    /// Whether values are written as `name=value`.
    fn named(self) -> bool {
        matches!(self, Self::Parameter | Self::Query | Self::Continuation)
    }

    /// Whether reserved characters are written as they are.
    fn keeps_reserved(self) -> bool {
        matches!(self, Self::Reserved | Self::Fragment)
    }
}

impl UriTemplate {
    /// Parses a template.
    ///
    /// # Errors
    /// If it is not a template of RFC 6570, or larger than the limits of this module.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        Ok(Self {
            text: text.into(),
            parts: parse::parts(text)?,
        })
    }

    /// The template as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The names of the variables, each once, in the order of their first mention.
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

    /// The URI that the template makes of these variables. Undefined ones are left out.
    #[must_use]
    pub fn expand(&self, variables: &Variables) -> String {
        expand::expand(&self.parts, variables)
    }

    /// The variables with which the template makes this URI, percent-decoded; `None` if it cannot.
    ///
    /// `{x}` matches at least one character and never a `/`; `{+x}` matches those too. The other
    /// expressions may be absent. `{?a,b}` takes its parameters in any order and no others;
    /// `{?a,m*}` takes any others as the map `m`.
    ///
    /// Two readings are tried. First the strict one, in which a value has just the characters that
    /// expansion writes. If that fails, a lenient one for URIs written by hand, in which a value
    /// also has any character that does not end it: not `/ ? #` for `{x}`, not `& #` for `{?x}`.
    ///
    /// Where a template can be read in several ways, the earlier expression takes as much as leaves
    /// a match for the rest, but `{+x}` leaves a query to a later `{?y}` and a fragment to a later
    /// `{#y}`. So what was expanded is found again if a literal or an operator that cannot be part
    /// of a value follows it; no undefined variable stands before a defined one in the same
    /// expression; lists are exploded; maps are exploded in `{;m*}`, `{?m*}` or `{&m*}`; values of
    /// `{x}` and `{+x}` are not empty; values of `{+x}` and `{#x}` hold no `%`.
    ///
    /// A value is text from a stranger: it may hold `..`, or a `/` that was percent-encoded. Check
    /// it before it becomes a part of a path. A URI of more than 8 KiB matches nothing, and of
    /// parameters an expression takes 128 at most. The work is bounded by the length of the URI
    /// times that of the template, where an expression with parameters counts 128 more.
    #[must_use]
    pub fn matches(&self, uri: &str) -> Option<Variables> {
        self.matches_decoded(&DecodedUri::of(uri)?)
    }

    /// The same for a URI that is held against many templates.
    pub(crate) fn matches_decoded(&self, uri: &DecodedUri) -> Option<Variables> {
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
