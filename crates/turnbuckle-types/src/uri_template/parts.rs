//! The parts of a parsed template, and its limits.

use super::uri_char::UriChar;

/// The longest template, in bytes.
pub(super) const MAX_TEMPLATE: usize = 2048;

/// The most expressions of a template.
pub(super) const MAX_EXPRESSIONS: usize = 32;

/// The most variables of a template, counting each mention: as many as a `u64` has bits.
pub(super) const MAX_VARIABLES: usize = 64;

#[derive(Clone)]
pub(super) enum Part {
    Literal(Vec<UriChar>),
    Expression(Expression),
}

#[derive(Clone)]
pub(super) struct Expression {
    pub(super) operator: Operator,
    pub(super) variables: Vec<Variable>,
}

#[derive(Clone)]
pub(super) struct Variable {
    pub(super) name: Box<str>,
    pub(super) modifier: Modifier,
}

/// The modifier after a variable's name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Modifier {
    None,
    /// `:n`, the first `n` characters.
    Prefix(usize),
    /// `*`, an item each.
    Explode,
}

/// The character after the opening brace, which determines how an expression is expanded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
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
    /// Returns the character that an expression with a value begins with.
    pub(super) fn first(self) -> Option<char> {
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

    /// Returns the character between two values.
    pub(super) fn separator(self) -> char {
        match self {
            Self::Simple | Self::Reserved | Self::Fragment => ',',
            Self::Label => '.',
            Self::Path => '/',
            Self::Parameter => ';',
            Self::Query | Self::Continuation => '&',
        }
    }

    /// Returns whether values are written as `name=value`.
    pub(super) fn is_named(self) -> bool {
        matches!(self, Self::Parameter | Self::Query | Self::Continuation)
    }

    /// Returns whether reserved characters are written without percent-encoding.
    pub(super) fn keeps_reserved(self) -> bool {
        matches!(self, Self::Reserved | Self::Fragment)
    }
}
