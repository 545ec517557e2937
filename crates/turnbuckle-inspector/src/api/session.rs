//! Sessions with servers, and everything else that is small.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::inbox::{AutomaticAnswers, Question};
use super::items::ItemKind;

/// The version of each topic, which grows with every change: `sessions`, `timeline`, `inbox`, `place`,
/// `items/<session>/<kind>` and `check/<session>`.
pub type Versions = BTreeMap<String, u64>;

/// Everything small at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct InspectorState {
    /// The server of the command line and those of the configuration.
    pub servers: Vec<ServerEntry>,
    /// The sessions, in the order in which they were opened.
    pub sessions: Vec<Session>,
    /// The questions: the open ones, then the last answered ones.
    pub inbox: Vec<Question>,
    /// The page's own state: the JSON text that the page stored last.
    pub place: Option<String>,
    /// The version of each topic.
    #[cfg_attr(test, ts(type = "{ [topic: string]: number }"))]
    pub versions: Versions,
}

/// A server that can be opened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ServerEntry {
    /// The way to open it.
    pub source: OpenSource,
    /// The name in the configuration, or that of the URL's host.
    pub name: String,
    /// The URL or the command line, without secrets.
    pub address: String,
    /// The transport to the server.
    pub transport: TransportKind,
    /// The configuration that names the server, if one does.
    pub origin: Option<String>,
    /// The reason why the server cannot be opened, in a sentence.
    pub fault: Option<String>,
    /// The consent that the user has to give before the server can be opened.
    pub consent: Option<Consent>,
}

/// A consent to a server of a configuration file that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Consent {
    /// The file, and what using the server does, in a sentence.
    pub sentence: String,
    /// The text that names what the user agrees to. It changes with the file and the server.
    pub digest: String,
}

/// The server of a session to open. A command line can not be named here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "source", rename_all = "camelCase", deny_unknown_fields)]
pub enum OpenSource {
    /// The server of a URL.
    Url {
        /// The URL of the server.
        url: String,
    },
    /// A server of the configuration.
    Named {
        /// The name in the configuration.
        name: String,
    },
    /// The server of the command line.
    Given,
}

/// The transport to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum TransportKind {
    /// A program, over its stdin and stdout.
    Program,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE of revision 2024-11-05.
    Sse,
}

/// A session with a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// The id: `s1`, `s2`, …
    pub id: String,
    /// The way in which it was opened.
    pub source: OpenSource,
    /// The name: that of the configuration, or of the server.
    pub name: String,
    /// The URL or the command line, without secrets.
    pub address: String,
    /// The transport to the server.
    pub transport: TransportKind,
    /// The process id of a program.
    pub pid: Option<u32>,
    /// The state of the connection.
    pub connection: ConnectionState,
    /// The server's description of itself, also after the connection has ended.
    pub server: Option<ServerFacts>,
    /// The lists of the server.
    pub lists: Vec<ListSummary>,
    /// The URIs of the resources that are subscribed to.
    pub subscriptions: Vec<String>,
    /// The least severe level of log messages that the server is asked for.
    pub log_level: Option<String>,
    /// The microseconds from the last request to its response.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub latency_us: Option<u64>,
    /// The number of times that the session was connected.
    pub connections: u32,
    /// The URL at which the user has to log in, while a login waits for it.
    pub login_url: Option<String>,
    /// The questions that are answered without a person.
    pub automatic: AutomaticAnswers,
}

/// The phase of a connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(
    tag = "state",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ConnectionState {
    /// The connection is being made.
    Connecting {
        /// The step that goes on.
        step: Step,
        /// The microseconds from the start of the Inspector to the first step.
        #[cfg_attr(test, ts(type = "number"))]
        since_us: u64,
    },
    /// The server answers requests.
    Ready,
    /// The connection could not be made.
    Failed {
        /// The step that failed.
        step: Step,
        /// The error, then the causes of it.
        errors: Vec<String>,
        /// The last lines that the program wrote to stderr.
        stderr: Vec<String>,
    },
    /// The connection has ended.
    Ended {
        /// The reason, in a sentence.
        reason: String,
        /// The exit status of the program.
        exit_code: Option<i32>,
        /// The last lines that the program wrote to stderr.
        stderr: Vec<String>,
    },
    /// The user closed the session.
    Closed,
}

/// A step on the way to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum Step {
    /// The program is started.
    Start,
    /// The name of the host is resolved.
    Resolve,
    /// The TCP connection is opened.
    Connect,
    /// The TLS handshake.
    Tls,
    /// The first HTTP request.
    Http,
    /// The login.
    Authorization,
    /// The revision is negotiated.
    Version,
}

/// A server's description of itself, and the revision that is spoken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ServerFacts {
    /// The name of the server.
    pub name: Option<String>,
    /// The title of the server.
    pub title: Option<String>,
    /// The version of the server.
    pub version: Option<String>,
    /// The revision that is spoken.
    pub revision: String,
    /// True if the revision is one of the legacy era, which has sessions.
    pub is_legacy: bool,
    /// The revisions that the server names; none for a legacy server.
    pub supported_revisions: Vec<String>,
    /// The capabilities: JSON text.
    pub capabilities: String,
    /// The instructions for a model.
    pub instructions: Option<String>,
    /// True if the server can be asked for log messages.
    pub has_logging: bool,
    /// True if resources can be subscribed to.
    pub can_subscribe: bool,
    /// True if the server completes arguments.
    pub can_complete: bool,
}

/// A list of a server, in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ListSummary {
    /// The kind of items.
    pub kind: ItemKind,
    /// The number of items so far.
    pub total: u32,
    /// The bytes of the definitions so far.
    #[cfg_attr(test, ts(type = "number"))]
    pub size: u64,
    /// True if the server is still asked for pages.
    pub is_loading: bool,
    /// True if the list could not be read in whole.
    pub has_error: bool,
}
