//! Lists of the items that a server offers.

use serde::{Deserialize, Serialize};

use super::form::Form;

/// The kind of item of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum ItemKind {
    /// Tools (`tools/list`).
    Tools,
    /// Resources (`resources/list`).
    Resources,
    /// Resource templates (`resources/templates/list`).
    Templates,
    /// Prompts (`prompts/list`).
    Prompts,
    /// Skills of the extension for skills.
    Skills,
    /// Tasks (`tasks/list`), and those that calls of this session became.
    Tasks,
}

/// A part of a list, filtered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ItemsWindow {
    /// The number of items.
    pub total: u32,
    /// The number of items that the filter leaves.
    pub matching: u32,
    /// The index of the first row among the matching ones.
    pub from: u32,
    /// The rows of this part.
    pub rows: Vec<ItemRow>,
    /// True if the server is still asked for pages.
    pub is_loading: bool,
    /// The reason why the list is not complete, in a sentence.
    pub error: Option<String>,
}

/// An item in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ItemRow {
    /// The key of the item in its list, which stays over a reload of the list.
    pub key: String,
    /// The name, or the URI of a resource or a template.
    pub name: String,
    /// The title, or the name of a resource or a template.
    pub title: Option<String>,
    /// The description, cut to 300 characters.
    pub description: Option<String>,
    /// The hints of the server.
    pub hints: Vec<Hint>,
    /// The reason why clients cannot use the item, in a sentence.
    pub fault: Option<String>,
    /// The bytes of the definition.
    #[cfg_attr(test, ts(type = "number"))]
    pub size: u64,
}

/// A hint of the server about an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum Hint {
    /// The tool changes nothing.
    ReadOnly,
    /// The tool may destroy something: by its hints, or because it has none.
    Destructive,
    /// The server says itself that the tool may destroy something.
    SaysDestructive,
    /// A repeated call changes nothing more.
    Idempotent,
    /// The tool reaches others than the server.
    OpenWorld,
    /// A call may become a task.
    TaskOptional,
    /// A call always becomes a task.
    TaskRequired,
    /// The task is at work.
    Working,
    /// The task waits for an answer of the client.
    InputRequired,
    /// The task is completed.
    Completed,
    /// The task failed.
    Failed,
    /// The task was cancelled.
    Cancelled,
}

/// The definition of an item, with the form to use it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ItemDefinition {
    /// The row of the item.
    pub row: ItemRow,
    /// The whole description.
    pub description: Option<String>,
    /// The method of the request that uses the item, such as `tools/call`.
    pub method: String,
    /// The form of the arguments.
    pub form: Form,
    /// The definition as the server sent it.
    pub raw: RawRange,
    /// True if the item can be subscribed to.
    pub can_subscribe: bool,
    /// True if the server completes arguments (`completion/complete`).
    pub can_complete: bool,
}

/// The place of a JSON value in an entry of the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct RawRange {
    /// The number of the entry.
    #[cfg_attr(test, ts(type = "number"))]
    pub n: u64,
    /// The first byte of the value.
    #[cfg_attr(test, ts(type = "number"))]
    pub start: u64,
    /// The byte after the value.
    #[cfg_attr(test, ts(type = "number"))]
    pub end: u64,
}
