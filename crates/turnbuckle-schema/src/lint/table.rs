//! The table of objections. The documentation of `lint` has the same rows with their sources.

use super::find::SchemaFeature;

/// One objection of one client.
pub(super) struct Row {
    pub(super) client: &'static str,
    pub(super) feature: SchemaFeature,
    pub(super) reason: &'static str,
}

const fn row(client: &'static str, to: SchemaFeature, reason: &'static str) -> Row {
    Row {
        client,
        feature: to,
        reason,
    }
}

/// The known objections.
pub(super) const TABLE: &[Row] = &[
    row(
        "all",
        SchemaFeature::Recursion,
        "see one level of what recurs: `Portable` and `OpenAiStrict` cut it there",
    ),
    row(
        "Claude",
        SchemaFeature::RootAlternatives,
        "refuses the request for `anyOf`, `oneOf` or `allOf` at the root",
    ),
    row(
        "Claude",
        SchemaFeature::OtherDialect,
        "refuses a `$schema` of another dialect than 2020-12",
    ),
    row(
        "Claude",
        SchemaFeature::OldTuple,
        "refuses the request for an array as `items`",
    ),
    row(
        "Claude",
        SchemaFeature::Reference,
        "may send text that holds JSON for what is behind a `$ref`",
    ),
    row(
        "Copilot CLI",
        SchemaFeature::Reference,
        "does not see what is behind a `$ref`",
    ),
    row(
        "Cursor",
        SchemaFeature::TypeUnion,
        "refuses arguments of a member with several types",
    ),
    row(
        "Cursor",
        SchemaFeature::Alternatives,
        "may refuse the request for `anyOf`, `oneOf` or `allOf`",
    ),
    row(
        "Gemini",
        SchemaFeature::TypeUnion,
        "refuses the request for an array of types",
    ),
    row(
        "Gemini",
        SchemaFeature::Reference,
        "does not resolve a `$ref`",
    ),
    row("Gemini", SchemaFeature::Constant, "refuses `const`"),
    row(
        "Gemini",
        SchemaFeature::EnumNotOfText,
        "refuses an `enum` of anything but text",
    ),
    row(
        "Gemini",
        SchemaFeature::Format,
        "refuses a `format` of text other than `date-time`",
    ),
    row(
        "Gemini",
        SchemaFeature::BesideAnyOf,
        "refuses keywords beside `anyOf`",
    ),
    row(
        "Gemini",
        SchemaFeature::NoType,
        "refuses or leaves out a member without a type",
    ),
    row(
        "Gemini",
        SchemaFeature::NoItems,
        "refuses the request for an array without `items`",
    ),
    row(
        "Gemini",
        SchemaFeature::Dialect,
        "refuses `$schema`, on the way of older clients",
    ),
    row(
        "Gemini",
        SchemaFeature::AdditionalProperties,
        "refuses `additionalProperties`, on the way of older clients",
    ),
    row(
        "OpenAI",
        SchemaFeature::NoProperties,
        "refuses the request for an object without `properties`",
    ),
    row(
        "OpenAI",
        SchemaFeature::RootAlternatives,
        "refuses the request for `anyOf`, `oneOf` or `allOf` at the root",
    ),
    row(
        "VS Code",
        SchemaFeature::NoItems,
        "refuses a tool with an array without `items`",
    ),
    row(
        "VS Code",
        SchemaFeature::DynamicReference,
        "does not know `$dynamicRef`",
    ),
];
