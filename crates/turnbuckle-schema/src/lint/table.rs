//! The table of objections. The documentation of `lint` has the same rows, with where each was
//! seen.

use super::find::Trait;

pub(super) struct Row {
    pub(super) client: &'static str,
    pub(super) to: Trait,
    pub(super) reason: &'static str,
}

const fn row(client: &'static str, to: Trait, reason: &'static str) -> Row {
    Row { client, to, reason }
}

pub(super) const TABLE: &[Row] = &[
    row(
        "all",
        Trait::Recursion,
        "see one level of what recurs: `Portable` and `OpenAiStrict` cut it there",
    ),
    row(
        "Claude",
        Trait::RootAlternatives,
        "refuses the request for `anyOf`, `oneOf` or `allOf` at the root",
    ),
    row(
        "Claude",
        Trait::OtherDialect,
        "refuses a `$schema` of another dialect than 2020-12",
    ),
    row(
        "Claude",
        Trait::OldTuple,
        "refuses the request for an array as `items`",
    ),
    row(
        "Claude",
        Trait::Reference,
        "may send text that holds JSON for what is behind a `$ref`",
    ),
    row(
        "Copilot CLI",
        Trait::Reference,
        "does not see what is behind a `$ref`",
    ),
    row(
        "Cursor",
        Trait::TypeUnion,
        "refuses arguments of a member with several types",
    ),
    row(
        "Cursor",
        Trait::Alternatives,
        "may refuse the request for `anyOf`, `oneOf` or `allOf`",
    ),
    row(
        "Gemini",
        Trait::TypeUnion,
        "refuses the request for an array of types",
    ),
    row("Gemini", Trait::Reference, "does not resolve a `$ref`"),
    row("Gemini", Trait::Constant, "refuses `const`"),
    row(
        "Gemini",
        Trait::EnumNotOfText,
        "refuses an `enum` of anything but text",
    ),
    row(
        "Gemini",
        Trait::Format,
        "refuses a `format` of text other than `date-time`",
    ),
    row(
        "Gemini",
        Trait::BesideAnyOf,
        "refuses keywords beside `anyOf`",
    ),
    row(
        "Gemini",
        Trait::NoType,
        "refuses or leaves out a member without a type",
    ),
    row(
        "Gemini",
        Trait::NoItems,
        "refuses the request for an array without `items`",
    ),
    row(
        "Gemini",
        Trait::Dialect,
        "refuses `$schema`, on the way of older clients",
    ),
    row(
        "Gemini",
        Trait::AdditionalProperties,
        "refuses `additionalProperties`, on the way of older clients",
    ),
    row(
        "OpenAI",
        Trait::NoProperties,
        "refuses the request for an object without `properties`",
    ),
    row(
        "OpenAI",
        Trait::RootAlternatives,
        "refuses the request for `anyOf`, `oneOf` or `allOf` at the root",
    ),
    row(
        "VS Code",
        Trait::NoItems,
        "refuses a tool with an array without `items`",
    ),
    row(
        "VS Code",
        Trait::DynamicReference,
        "does not know `$dynamicRef`",
    ),
];
