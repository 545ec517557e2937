//! The plan that the driver reads, and the report that it prints. benches/report shares this file.

use serde::{Deserialize, Serialize};

/// One server, started for one task and stopped after it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// The program and its arguments.
    pub(crate) command: Vec<String>,
    pub(crate) dialect: Dialect,
    pub(crate) task: Task,
    /// After this many seconds the server is killed, whatever it does.
    pub(crate) limit: u64,
}

/// The messages that the server gets. The call is the same one throughout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Dialect {
    /// Calls of the 2025 era alone, without a handshake.
    Bare,
    /// A handshake of the 2025 era, then calls; over HTTP each connection has a session.
    Session,
    /// Calls of 2026-07-28, which need no handshake.
    Modern,
}

/// The measurement.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Task {
    /// Calls over HTTP, one at a time on each connection; a slice for each number of connections.
    Http { connections: Vec<usize>, time: Time },
    /// Calls on the server's pipes; a slice for each number of calls in flight.
    Stdio { in_flight: Vec<usize>, time: Time },
    /// Starts the server so many times, each until it has answered the first message on its stdin.
    Start { times: usize },
    /// Opens so many sessions over HTTP, and leaves them idle.
    Sessions { count: usize },
}

/// The time that a slice is loaded before it is measured, and how long it is measured.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Time {
    pub(crate) warm_ms: u64,
    pub(crate) measured_ms: u64,
}

/// The results; those that the task does not measure are empty.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) slices: Vec<Slice>,
    /// Milliseconds from before the program was started until its first answer was there.
    pub(crate) starts_ms: Vec<f64>,
    /// The resident set when the server has answered its first message, in kB.
    pub(crate) idle_kb: Option<u64>,
    /// By how many bytes the resident set grew for each session.
    pub(crate) session_bytes: Option<f64>,
}

/// One stretch of load.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Slice {
    /// Connections, or calls in flight on a pipe.
    pub(crate) width: usize,
    pub(crate) calls_per_second: f64,
    /// Microseconds of the server's CPU, user and system, for each call.
    pub(crate) server_us: f64,
    /// The CPU time of the driver.
    pub(crate) driver_us: f64,
    /// Microseconds from a call's first byte to its answer's last; absent where many share a pipe.
    pub(crate) latency: Option<Latency>,
}

/// Percentiles in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Latency {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}
