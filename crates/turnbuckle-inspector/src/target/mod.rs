//! The servers that can be opened, and the observation of a connection to one.

mod http;
mod observer;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use turnbuckle_client::EraPreference;
use turnbuckle_session::transport::{ClientLimits, Connector, Timeouts};
use turnbuckle_types::{LoggingLevel, Root};

use crate::api::{OpenSource, ServerEntry, Step, TransportKind};

pub use http::HttpExchange;
pub use observer::ConnectionObserver;
pub(crate) use observer::{SENDING, SendSlot};

/// The text that takes the place of a secret.
pub(crate) const REDACTED: &str = "[redacted]";

/// A future on the heap.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Opens servers: the command that runs the Inspector implements it.
pub trait OpenServer: Send + Sync + 'static {
    /// Returns the servers that the user can choose: that of the command line, then those of the
    /// configuration.
    fn servers(&self) -> Vec<ServerEntry>;

    /// Prepares the connection to a server. `observer` is told of everything that the engine cannot see:
    /// lines of stderr, HTTP exchanges, steps of connecting, a login.
    ///
    /// # Errors
    /// Fails if there is no such server, or the user does not trust it.
    fn open<'a>(
        &'a self,
        source: &'a OpenSource,
        observer: ConnectionObserver,
    ) -> BoxFuture<'a, Result<OpenedServer, OpenError>>;

    /// Prepares connections of the checks to a server.
    ///
    /// # Errors
    /// Fails as [`open`](Self::open) does.
    fn check_target<'a>(
        &'a self,
        source: &'a OpenSource,
    ) -> BoxFuture<'a, Result<turnbuckle_check::Target, OpenError>>;

    /// Returns a text with its secrets replaced by `[redacted]`; `None` if it has none.
    fn redact(&self, text: &str) -> Option<String>;
}

/// A server that is ready to be connected to.
pub struct OpenedServer {
    /// The way to its links.
    pub connector: Arc<dyn Connector>,
    /// The name in the configuration, or a short one made of the address.
    pub name: String,
    /// The URL or the command line, without secrets.
    pub address: String,
    /// The transport of the links.
    pub transport: TransportKind,
    /// The words that name the server on a command line.
    pub words: ServerWords,
    /// The settings of the client.
    pub settings: ClientSettings,
}

/// The settings of the client of a connection, as the user chose them.
#[derive(Debug, Clone, Default)]
pub struct ClientSettings {
    /// The eras and revisions that may be spoken.
    pub era: EraPreference,
    /// The time in which the connection has to be ready; `None` for that of the client.
    pub connect_timeout: Option<Duration>,
    /// The timeouts of requests.
    pub timeouts: Timeouts,
    /// The limits of requests.
    pub limits: ClientLimits,
    /// The least severe level of log messages that the server is asked for.
    pub log_level: Option<LoggingLevel>,
    /// The roots that are answered without asking the user; none asks.
    pub roots: Vec<Root>,
}

/// The words that name a server on a command line of `turnbuckle`, without secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerWords {
    /// The words behind the verb: a URL, or the name of a server with the option that names its file.
    pub target: Vec<String>,
    /// The words behind `--`: the command line of a program.
    pub command: Vec<String>,
}

/// The reason why a server cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", errors.join(": "))]
pub struct OpenError {
    /// The step that failed.
    pub step: Step,
    /// The error, then the causes of it.
    pub errors: Vec<String>,
}
