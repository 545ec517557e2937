//! The state of each server, for people and programs.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use turnbuckle_client::ServerInfo;

/// The state of one server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerStatus {
    /// The name of the server.
    pub server: Arc<str>,
    /// The state of the connection.
    pub state: ServerState,
    /// The time at which this state began.
    pub since: SystemTime,
    /// The attempts to connect since the server was last ready.
    pub attempts: u32,
    /// The reason why the last attempt failed, or the last connection was lost.
    pub last_error: Option<String>,
    /// Faults of a connected server: lists that cannot be read, and items that are left out.
    pub problems: Vec<String>,
    /// The server's description of itself, from its last connection.
    pub info: Option<Arc<ServerInfo>>,
}

/// The state of the connection to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerState {
    /// An attempt to connect is under way.
    Connecting,
    /// The server is connected and its items are listed.
    Ready,
    /// The connection was closed because nobody used it. The next request opens it again; the items stay.
    Idle,
    /// The last attempt failed; another one follows after this delay.
    Waiting(Duration),
    /// The server cannot be connected, and no other attempt follows.
    Failed,
    /// The servers were closed.
    Closed,
}

impl ServerStatus {
    /// Returns whether the server is connected.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.state == ServerState::Ready
    }
}

/// One line, such as `files: not connected, next attempt after 2s (attempt 2): …`.
impl fmt::Display for ServerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.server, self.state)?;
        if self.attempts > 1 {
            write!(f, " (attempt {})", self.attempts)?;
        }
        for reason in self.last_error.iter().filter(|_| !self.is_ready()) {
            write!(f, ": {reason}")?;
        }
        for problem in &self.problems {
            write!(f, "; {problem}")?;
        }
        Ok(())
    }
}

impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Idle => f.write_str("idle"),
            Self::Connecting => f.write_str("connecting"),
            Self::Ready => f.write_str("ready"),
            Self::Waiting(delay) => write!(f, "not connected, next attempt after {delay:?}"),
            Self::Failed => f.write_str("failed"),
            Self::Closed => f.write_str("closed"),
        }
    }
}
