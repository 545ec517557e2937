//! The table of objections. The documentation of `lint` has the same rows with their sources.

use super::find::SchemaFeature;

/// One objection of one client.
pub(super) struct Row {
    pub(super) client: &'static str,
    pub(super) feature: SchemaFeature,
    pub(super) reason: &'static str,
}

macro_rules! objections {
    ($($client:literal { $($Feature:ident: $reason:literal,)+ })+) => {
        /// The known objections.
        pub(super) const TABLE: &[Row] = &[$($(
            Row { client: $client, feature: SchemaFeature::$Feature, reason: $reason },
        )+)+];
    };
}

objections! {
    "all" {
        Recursion: "see one level of what recurs: `Portable` and `OpenAiStrict` cut it there",
    }
    "Claude" {
        RootAlternatives: "refuses the request for `anyOf`, `oneOf` or `allOf` at the root",
        OtherDialect: "refuses a `$schema` of another dialect than 2020-12",
        OldTuple: "refuses the request for an array as `items`",
        Reference: "may send text that holds JSON for what is behind a `$ref`",
    }
    "Copilot CLI" {
        Reference: "does not see what is behind a `$ref`",
    }
    "Cursor" {
        TypeUnion: "refuses arguments of a member with several types",
        Alternatives: "may refuse the request for `anyOf`, `oneOf` or `allOf`",
    }
    "Gemini" {
        TypeUnion: "refuses the request for an array of types",
        Reference: "does not resolve a `$ref`",
        Constant: "refuses `const`",
        EnumNotOfText: "refuses an `enum` of anything but text",
        Format: "refuses a `format` of text other than `date-time`",
        BesideAnyOf: "refuses keywords beside `anyOf`",
        NoType: "refuses or leaves out a member without a type",
        NoItems: "refuses the request for an array without `items`",
        Dialect: "refuses `$schema`, on the way of older clients",
        AdditionalProperties: "refuses `additionalProperties`, on the way of older clients",
    }
    "OpenAI" {
        NoProperties: "refuses the request for an object without `properties`",
        RootAlternatives: "refuses the request for `anyOf`, `oneOf` or `allOf` at the root",
    }
    "VS Code" {
        NoItems: "refuses a tool with an array without `items`",
        DynamicReference: "does not know `$dynamicRef`",
    }
}
