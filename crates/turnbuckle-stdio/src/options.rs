//! The settings of a server on a byte stream.

use std::time::Duration;

use turnbuckle_session::{Limits, Signal};

/// Settings of [`run`](crate::run) and [`serve_stream`](crate::serve_stream).
///
/// ```
/// use turnbuckle_stdio::StdioOptions;
///
/// let options = StdioOptions::new().max_message_bytes(1 << 20);
/// assert_eq!(options.max_message_bytes, 1 << 20);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StdioOptions {
    /// The largest size of one message in bytes, without its newline. A longer line is skipped and
    /// answered with an error. Default 16 MiB.
    pub max_message_bytes: usize,
    /// The time for which the client may read nothing of what is written to it, before the connection
    /// is closed. Each byte that it takes starts the time anew. Default 1 minute.
    pub write_timeout: Duration,
    /// The bounds of the client: requests, rates and timeouts. Among them is
    /// [`drain_timeout`](Limits::drain_timeout), the time for responses after the end of the input.
    pub limits: Limits,
    /// Ends the server when it is cancelled: requests in flight are cancelled, and nothing more is
    /// read. Default: a signal of its own.
    pub stop: Signal,
}

impl Default for StdioOptions {
    fn default() -> Self {
        Self {
            max_message_bytes: 16 << 20,
            write_timeout: Duration::from_secs(60),
            limits: Limits::default(),
            stop: Signal::new(),
        }
    }
}

impl StdioOptions {
    /// Returns the default settings.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the largest size of one message in bytes, without its newline.
    #[must_use]
    pub fn max_message_bytes(mut self, bytes: usize) -> Self {
        self.max_message_bytes = bytes;
        self
    }

    /// Sets the time for which the client may read nothing of what is written to it.
    #[must_use]
    pub fn write_timeout(mut self, timeout: Duration) -> Self {
        self.write_timeout = timeout;
        self
    }

    /// Sets the bounds of the client.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the signal that ends the server.
    #[must_use]
    pub fn stop(mut self, stop: Signal) -> Self {
        self.stop = stop;
        self
    }
}
