//! A server on the process's own standard input and output.

#[cfg(unix)]
mod driver;
mod executor;
#[cfg(not(unix))]
#[path = "other.rs"]
mod system;
#[cfg(unix)]
#[path = "unix.rs"]
mod system;
#[cfg(any(not(unix), feature = "runtime"))]
mod task;
mod thread;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tokio::time::timeout;
use turnbuckle_session::transport::{CloseReason, Dispatch};

use crate::options::StdioOptions;
use crate::stream::serve_stream;
#[cfg(unix)]
use driver::Driver;
use executor::Executor;
use system::StandardStreams;
#[cfg(any(not(unix), feature = "runtime"))]
use task::Runtime;

/// The time that the last write may take after a request to stop.
const STOP_TIMEOUT: Duration = Duration::from_millis(100);

/// Set while a server runs on the standard streams.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// The standard streams, opened for a server.
struct OpenStreams {
    input: Box<dyn AsyncRead + Send + Unpin>,
    output: Box<dyn AsyncWrite + Send + Unpin>,
    /// The outcome of writing, once the last byte was written, if a thread does that.
    written: Option<oneshot::Receiver<io::Result<()>>>,
}

/// Serves the client that started this process, on standard input and output.
///
/// Returns when the input has ended and the requests that were read are answered, or
/// [`Limits::drain_timeout`](turnbuckle_session::handler::Limits::drain_timeout) is over. On SIGINT,
/// SIGTERM, SIGHUP or the options' `stop` it returns at once: only responses that are ready are still written, for at
/// most a fifth of a second if the client does not read them. A handler that blocks its thread
/// delays both. After that nothing of the server keeps the process alive. Blocking tasks of handlers
/// do if the runtime is dropped, and do not if it is ended by `shutdown_background`. The signals stay
/// caught after the first call, also while no server runs.
///
/// While the server runs, only messages are written to standard output. On Unix, what handlers and
/// the processes that they start print goes to standard error, or is discarded if standard error is
/// the same pipe, socket or file; reading standard input gives them nothing. On other systems
/// handlers must not print. The streams are put back at the end.
///
/// On Unix the server runs on a thread of its own. Spawned tasks run on the current runtime.
///
/// Pipes and sockets are made non-blocking, which other processes that share them notice; their mode
/// is put back at the end. Terminals and files, and all streams on other systems, are read and
/// written by a thread each, which does not delay the exit of the process.
///
/// Specification: basic/transports/stdio (2026-07-28).
///
/// # Errors
/// When the streams cannot be taken over, another server runs on them, or output cannot be written.
/// A client that has closed its end is no error; one that reads nothing for
/// [`StdioOptions::write_timeout`] is [`io::ErrorKind::TimedOut`].
///
/// # Panics
/// Outside a Tokio runtime whose time driver is enabled.
pub async fn run(dispatch: impl Into<Arc<dyn Dispatch>>, options: StdioOptions) -> io::Result<()> {
    let claim = StdioClaim::new()?;
    #[cfg(unix)]
    let executor = Driver::new()?;
    #[cfg(not(unix))]
    let executor = Runtime;
    run_with(executor, claim, dispatch.into(), options).await
}

/// Serves as [`run`] does, on the current runtime in place of a thread of its own.
///
/// That costs less where handlers mostly wait for others, as those of a proxy do: a request, what it waits
/// for and its response need no change of threads.
///
/// # Errors
/// As for [`run`].
///
/// # Panics
/// Outside a Tokio runtime whose time and I/O drivers are enabled.
#[cfg(feature = "runtime")]
pub async fn run_on_runtime(
    dispatch: impl Into<Arc<dyn Dispatch>>,
    options: StdioOptions,
) -> io::Result<()> {
    run_with(Runtime, StdioClaim::new()?, dispatch.into(), options).await
}

async fn run_with(
    mut executor: impl Executor,
    _claim: StdioClaim,
    dispatch: Arc<dyn Dispatch>,
    options: StdioOptions,
) -> io::Result<()> {
    let (stop, mut write_timeout) = (options.stop.clone(), options.limits.drain_timeout);
    let _signals = executor.catch_signals(&stop)?;
    let streams = StandardStreams::take()?;
    let OpenStreams {
        input,
        output,
        written,
    } = streams.open(&mut executor)?;
    let mut server = executor.start(serve_stream(dispatch, input, output, options))?;
    let closed = tokio::select! {
        closed = &mut server => closed,
        () = stop.cancelled() => {
            write_timeout = STOP_TIMEOUT;
            (&mut server).await
        }
    };
    drop(server);
    if let Some(written) = written
        && let Ok(Ok(Err(error))) = timeout(write_timeout, written).await
        && !is_disconnect(&error)
    {
        return Err(error);
    }
    match closed {
        Ok(CloseReason::Broken(error)) if !is_disconnect(&error) => Err(error),
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns whether an error means that the client has closed its end.
fn is_disconnect(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    )
}

/// The exclusive right to use the standard streams.
struct StdioClaim;

impl StdioClaim {
    fn new() -> io::Result<Self> {
        if IN_USE.swap(true, Ordering::AcqRel) {
            let message = "another server already runs on the standard streams";
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, message));
        }
        Ok(Self)
    }
}

impl Drop for StdioClaim {
    fn drop(&mut self) {
        IN_USE.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_streams_are_claimed_by_one_server_at_a_time() {
        let first = StdioClaim::new().unwrap();
        assert_eq!(
            StdioClaim::new().err().unwrap().kind(),
            io::ErrorKind::ResourceBusy
        );
        drop(first);
        assert!(StdioClaim::new().is_ok());
    }
}
