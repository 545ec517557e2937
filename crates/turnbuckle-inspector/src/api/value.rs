//! Views of big JSON values: lines of a tree, search, blocks of content.

use serde::{Deserialize, Serialize};

/// Lines of a tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ValueRows {
    /// The number of lines of the tree as it is opened.
    #[cfg_attr(test, ts(type = "number"))]
    pub total: u64,
    /// The index of the first line.
    #[cfg_attr(test, ts(type = "number"))]
    pub from: u64,
    /// The lines.
    pub rows: Vec<ValueRow>,
    /// The fault of a text that is not JSON. The lines show what comes before it.
    pub fault: Option<JsonFault>,
}

/// A line of a tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ValueRow {
    /// The path of the value: the index of the member or item at each level, as `3.0.12`. The whole value
    /// has the empty path. An index is unique where a name is there twice.
    pub path: String,
    /// The number of values around this one.
    pub depth: u32,
    /// The name of the member as it was sent, with its quotes and escapes.
    pub key: Option<Excerpt>,
    /// True if another member of the object has the same name.
    pub is_duplicate: bool,
    /// The kind of value.
    pub kind: ValueKind,
    /// The value as it was sent; nothing for an object or array.
    pub text: Option<Excerpt>,
    /// The number of members or items.
    #[cfg_attr(test, ts(type = "number"))]
    pub children: u64,
    /// The bytes of the value.
    #[cfg_attr(test, ts(type = "number"))]
    pub size: u64,
    /// True if the members or items follow.
    pub is_open: bool,
}

/// The beginning of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Excerpt {
    /// The beginning, at most 2 kB. Bytes that are not UTF-8 are replaced by U+FFFD.
    pub text: String,
    /// The bytes of the whole text, if it is longer.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub cut: Option<u64>,
}

/// The kind of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum ValueKind {
    /// An object.
    Object,
    /// An array.
    Array,
    /// A string.
    String,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// Null.
    Null,
}

/// The place and reason why a text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct JsonFault {
    /// The byte at which the text stops to be JSON, or at which a limit was reached.
    #[cfg_attr(test, ts(type = "number"))]
    pub at: u64,
    /// The fault, in a sentence.
    pub sentence: String,
}

/// Places at which a text was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Matches {
    /// The places, in order.
    pub matches: Vec<Match>,
    /// The byte from which to search for more; nothing if there are none.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub next: Option<u64>,
}

/// A place at which a text was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Match {
    /// The path of the value, or of the member whose name has the text.
    pub path: String,
    /// The byte at which the text begins.
    #[cfg_attr(test, ts(type = "number"))]
    pub at: u64,
    /// True if the text is in the name of the member.
    pub is_key: bool,
}

/// Blocks of content of a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Blocks {
    /// The number of blocks.
    #[cfg_attr(test, ts(type = "number"))]
    pub total: u64,
    /// The index of the first block.
    #[cfg_attr(test, ts(type = "number"))]
    pub from: u64,
    /// The blocks of this part.
    pub blocks: Vec<Block>,
    /// True if the tool failed (`isError`).
    pub is_error: bool,
    /// The path of the structured content of a tool's result.
    pub structured: Option<String>,
}

/// A block of content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Block {
    /// The path of the block in the message.
    pub path: String,
    /// The role of the message of a prompt.
    pub role: Option<String>,
    /// The annotations: JSON text, cut to 2 kB.
    pub annotations: Option<String>,
    /// The content by its kind.
    pub content: BlockKind,
}

/// The content of a block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum BlockKind {
    /// Text.
    Text {
        /// A piece of the text, at most 64 kB.
        text: String,
        /// The offset of the next piece; nothing if this one is the last.
        #[cfg_attr(test, ts(type = "number | null"))]
        next: Option<u64>,
        /// The media type, for the text of a resource.
        mime: Option<String>,
        /// The URI of the resource that has the text.
        uri: Option<String>,
    },
    /// An image, a sound or other bytes. `blob/PATH` of the entry serves them.
    Blob {
        /// The path of the Base64 text in the message.
        blob: String,
        /// The media type.
        mime: Option<String>,
        /// The bytes, about.
        #[cfg_attr(test, ts(type = "number"))]
        size: u64,
        /// The URI of the resource that has the bytes.
        uri: Option<String>,
    },
    /// A link to a resource.
    Link {
        /// The URI of the resource.
        uri: String,
        /// The name of the resource.
        name: Option<String>,
        /// The title of the resource.
        title: Option<String>,
        /// The description, cut to 2,000 characters.
        description: Option<String>,
        /// The media type.
        mime: Option<String>,
    },
    /// A block of a kind that is not known, or without the members of its kind: the tree shows it.
    Other,
}

/// A piece of a long text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TextPiece {
    /// The decoded text, about 64 kB at most.
    pub text: String,
    /// The offset of the next piece; nothing if this one is the last.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub next: Option<u64>,
}
