//! Forms that are made of JSON Schemas.

use serde::{Deserialize, Serialize};

/// A form for one JSON value, mostly an object of arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Form {
    /// The fields, in the order of the schema.
    pub fields: Vec<Field>,
    /// True if the value may have members that the form does not name.
    pub has_other_members: bool,
    /// The parts of the schema that the form cannot show, in sentences. The raw editor takes them.
    pub left_out: Vec<String>,
    /// The value that an empty form stands for: JSON text with the defaults of required fields.
    pub initial: String,
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Field {
    /// The name of the member; empty for the items of a list and the variants of a union.
    pub name: String,
    /// The title, if it has one beside its name.
    pub title: Option<String>,
    /// The description, cut to 2,000 characters.
    pub help: Option<String>,
    /// True if the value must be there.
    pub required: bool,
    /// The value if nothing is sent: JSON text.
    pub default: Option<String>,
    /// The values that the schema gives as examples: JSON texts.
    pub examples: Vec<String>,
    /// True if the value may be null.
    pub nullable: bool,
    /// The HTTP header that carries the value too (`x-mcp-header`).
    pub header: Option<String>,
    /// The kind of value, with its limits.
    pub kind: FieldKind,
}

/// The kind of value of a field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum FieldKind {
    /// A string.
    Text {
        /// The rules for the string.
        rules: TextRules,
    },
    /// Any number.
    Number {
        /// The least value: JSON text.
        minimum: Option<String>,
        /// The greatest value: JSON text.
        maximum: Option<String>,
        /// The number that the value is a multiple of: JSON text.
        step: Option<String>,
    },
    /// A whole number.
    Integer {
        /// The least value: JSON text.
        minimum: Option<String>,
        /// The greatest value: JSON text.
        maximum: Option<String>,
        /// The number that the value is a multiple of: JSON text.
        step: Option<String>,
    },
    /// True or false.
    Boolean,
    /// One of a few values.
    Choice {
        /// The values.
        choices: Vec<Choice>,
    },
    /// A date or a time, in a string.
    Date {
        /// The form of the date.
        date: DateKind,
    },
    /// The content of a file, in Base64.
    File {
        /// The media type that the schema asks for.
        media_type: Option<String>,
    },
    /// A list of values.
    List {
        /// The field of each item.
        item: Box<Field>,
        /// The least number of items.
        #[cfg_attr(test, ts(type = "number | null"))]
        minimum: Option<u64>,
        /// The greatest number of items.
        #[cfg_attr(test, ts(type = "number | null"))]
        maximum: Option<u64>,
        /// True if no item may be there twice.
        unique: bool,
    },
    /// An object with members of its own.
    Object {
        /// The fields of the members.
        fields: Vec<Field>,
        /// True if the object may have members that no field names.
        has_other_members: bool,
    },
    /// One of several kinds of value (`oneOf`, `anyOf`, several types).
    Union {
        /// The kinds.
        variants: Vec<Variant>,
    },
    /// A value that only the raw editor takes: any JSON.
    Raw,
}

/// The rules for a string.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TextRules {
    /// The least number of Unicode characters.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub min_characters: Option<u64>,
    /// The greatest number of Unicode characters.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub max_characters: Option<u64>,
    /// The regular expression of the schema.
    pub pattern: Option<String>,
    /// The format of the schema, such as `email` or `uri`.
    pub format: Option<String>,
    /// True if the value is not shown while it is typed.
    pub secret: bool,
}

/// The form of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum DateKind {
    /// A day, `2026-11-28`.
    Date,
    /// A time of a day, `17:05:00Z`.
    Time,
    /// A day and a time.
    DateTime,
}

/// A value to choose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Choice {
    /// The value: JSON text.
    pub value: String,
    /// The title that is shown.
    pub title: String,
}

/// A kind of value of a union.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Variant {
    /// The title of the variant.
    pub title: String,
    /// The field for a value of this kind.
    pub field: Field,
}

/// A fault of a value that does not fit its schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// The place in the value: a JSON pointer, empty for the whole value.
    pub path: String,
    /// The fault, in a sentence.
    pub sentence: String,
}
