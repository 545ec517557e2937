//! Requests that the page sends to a server.

use serde::{Deserialize, Serialize};

use super::form::Fault;

/// A request to a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestToSend {
    /// The method, such as `tools/call`.
    pub method: String,
    /// The parameters: JSON text, which is sent byte for byte.
    pub params: String,
    /// The milliseconds without a sign of the server after which the request is given up.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "number | null", optional))]
    pub timeout_ms: Option<u64>,
    /// True if arguments are sent that do not fit the schema of the tool.
    #[serde(default)]
    pub anyway: bool,
}

/// The outcome of sending a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(
    tag = "outcome",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum SendOutcome {
    /// The request was sent.
    Sent {
        /// The number of its entry in the timeline.
        #[cfg_attr(test, ts(type = "number"))]
        n: u64,
    },
    /// The parameters have faults, and the request was not sent.
    Refused {
        /// The faults of the parameters.
        faults: Vec<Fault>,
        /// True if the request can be sent anyway.
        can_send_anyway: bool,
    },
}

/// A question for the values that an argument may have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompletionRequest {
    /// The kind of item.
    pub target: CompletionTarget,
    /// The name of the prompt, or the URI of the template.
    pub name: String,
    /// The name of the argument.
    pub argument: String,
    /// The beginning of the value.
    pub value: String,
    /// The values of the other arguments.
    #[serde(default)]
    pub context: std::collections::BTreeMap<String, String>,
}

/// The kind of item whose arguments are completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum CompletionTarget {
    /// A prompt.
    Prompt,
    /// A resource template.
    Template,
}

/// The values that an argument may have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    /// The values that the server suggests.
    pub values: Vec<String>,
    /// The number of all values, if the server says it: JSON text.
    pub total: Option<String>,
    /// True if the server has more values.
    pub has_more: bool,
}
