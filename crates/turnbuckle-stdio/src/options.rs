//! What can be set about a server on lines.

use turnbuckle_session::{Limits, Signal};

/// Settings of [`run`](crate::run) and [`serve_stream`](crate::serve_stream).
///
/// ```
/// use turnbuckle_stdio::StdioOptions;
///
/// let options = StdioOptions::new().max_line(1 << 20);
/// assert_eq!(options.max_line, 1 << 20);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StdioOptions {
    /// Bytes that a line may have, without its end. A longer one is answered with an error and
    /// skipped. Default 16 MiB.
    pub max_line: usize,
    /// The bounds of the session. Its `drain` is how long what was read before the end of the
    /// input may still be answered.
    pub limits: Limits,
    /// Ends the server when it is cancelled: what runs is given up, and nothing more is read.
    /// Default: a signal that nobody gives.
    pub stop: Signal,
}

impl Default for StdioOptions {
    fn default() -> Self {
        Self {
            max_line: 16 << 20,
            limits: Limits::default(),
            stop: Signal::new(),
        }
    }
}

impl StdioOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how many bytes a line may have, without its end.
    #[must_use]
    pub fn max_line(mut self, bytes: usize) -> Self {
        self.max_line = bytes;
        self
    }

    /// Sets the bounds of the session.
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
