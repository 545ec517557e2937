//! Executors of the server of the standard streams.

#[cfg(unix)]
use std::fs::File;
use std::io;

#[cfg(unix)]
use tokio::io::{AsyncRead, AsyncWrite};
use turnbuckle_session::handler::Signal;

/// An executor for one server: add its streams, then start it.
pub(super) trait Executor {
    /// Catches signals until it is dropped.
    type Signals;

    /// The future of a server's output, or of an error if the server panics. Dropping it stops the server.
    type Running<T: Send + 'static>: Future<Output = io::Result<T>> + Send + Unpin;

    /// Returns the stream that reads the non-blocking `file`.
    #[cfg(unix)]
    fn input(&mut self, file: File) -> io::Result<Box<dyn AsyncRead + Send + Unpin>>;

    /// Returns the stream that writes the non-blocking `file`.
    #[cfg(unix)]
    fn output(&mut self, file: File) -> io::Result<Box<dyn AsyncWrite + Send + Unpin>>;

    /// Has the signals that end a program cancel `stop`.
    fn catch_signals(&mut self, stop: &Signal) -> io::Result<Self::Signals>;

    /// Runs `future`.
    fn start<F>(self, future: F) -> io::Result<Self::Running<F::Output>>
    where
        F: Future<Output: Send + 'static> + Send + 'static;
}
