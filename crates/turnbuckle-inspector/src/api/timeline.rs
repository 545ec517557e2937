//! Entries of the timeline: messages, HTTP exchanges, lines of stderr, logs, and changes of sessions.

use serde::{Deserialize, Serialize};

/// A part of the timeline, filtered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TimelineWindow {
    /// The number of entries.
    #[cfg_attr(test, ts(type = "number"))]
    pub total: u64,
    /// The number of entries that the filter leaves.
    #[cfg_attr(test, ts(type = "number"))]
    pub matching: u64,
    /// The index of the first entry among the matching ones.
    #[cfg_attr(test, ts(type = "number"))]
    pub from: u64,
    /// The entries, the oldest first.
    pub entries: Vec<Entry>,
    /// The number of old entries that were dropped, and are not counted in `total`.
    #[cfg_attr(test, ts(type = "number"))]
    pub dropped: u64,
    /// The faults of the filter. A part with a fault filters nothing.
    pub faults: Vec<FilterFault>,
}

/// A part of a filter that is not understood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct FilterFault {
    /// The part.
    pub word: String,
    /// The fault, in a sentence.
    pub sentence: String,
}

/// An entry of the timeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// The number: the first entry is 1.
    #[cfg_attr(test, ts(type = "number"))]
    pub n: u64,
    /// The microseconds from the start of the Inspector to the entry.
    #[cfg_attr(test, ts(type = "number"))]
    pub at_us: u64,
    /// The id of the session.
    pub session: String,
    /// The origin and direction.
    pub kind: EntryKind,
    /// The method of a message, or of the request that a response answers; the method and the path of an
    /// HTTP exchange.
    pub method: Option<String>,
    /// The JSON-RPC id of a request or response: JSON text.
    pub id: Option<String>,
    /// The status. Of a request, that of its response.
    pub status: EntryStatus,
    /// The HTTP status of the exchange.
    pub http_status: Option<u16>,
    /// The number of the request that the entry is about.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub about: Option<u64>,
    /// The number of the response to this request.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub answer: Option<u64>,
    /// The microseconds from the request to its response, on both entries.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub duration_us: Option<u64>,
    /// The bytes of the message or line.
    #[cfg_attr(test, ts(type = "number"))]
    pub size: u64,
    /// The beginning of the text of an entry that is no message, or the fault of a response.
    pub summary: Option<String>,
}

/// The origin and direction of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum EntryKind {
    /// A message to the server.
    Sent,
    /// A message from the server.
    Received,
    /// An HTTP exchange.
    Http,
    /// A line that the program wrote to stderr.
    Stderr,
    /// A log message of the server (`notifications/message`).
    Log,
    /// A change of the session: a step of connecting, the end.
    Life,
    /// Output on stdout that is not a message.
    Noise,
}

/// The outcome of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum EntryStatus {
    /// The entry has no status: a notification, a line.
    None,
    /// The request waits for its response.
    Open,
    /// The response has a result.
    Ok,
    /// The response is an error, or the tool failed (`isError`).
    Error,
    /// The request was cancelled.
    Cancelled,
    /// The request timed out.
    TimedOut,
}

/// An entry in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct EntryDetail {
    /// The entry as in the list.
    pub entry: Entry,
    /// The beginning of its text, at most 64 kB.
    pub text: String,
    /// True if the text is longer.
    pub is_cut: bool,
    /// True if values in the text are hidden because they are secrets.
    pub is_redacted: bool,
    /// The facts of an HTTP exchange.
    pub http: Option<HttpFacts>,
    /// The numbers of the entries about the same request, in order: questions, progress, logs, the
    /// response.
    #[cfg_attr(test, ts(type = "number[]"))]
    pub related: Vec<u64>,
    /// The number of the newest request that repeats this one with answers to the server's questions, or
    /// asks for the task that the call became. Its response is the result.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub newest: Option<u64>,
    /// The milliseconds without a sign of the server after which a request is given up.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub timeout_ms: Option<u64>,
}

/// The facts of an HTTP exchange.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct HttpFacts {
    /// The HTTP method.
    pub method: String,
    /// The path and the query, without secrets.
    pub path: String,
    /// The status of the response.
    pub status: Option<u16>,
    /// The headers of the request, without secrets.
    pub request: Vec<Header>,
    /// The headers of the response, without secrets.
    pub response: Vec<Header>,
    /// The reason why there is no response.
    pub error: Option<String>,
}

/// An HTTP header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// The name in lower case.
    pub name: String,
    /// The value, with `[redacted]` in place of secrets.
    pub value: String,
}

/// The form in which an exchange is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum CopyFormat {
    /// A command line of turnbuckle.
    Command,
    /// A command line of curl.
    Curl,
    /// The messages.
    Json,
}
