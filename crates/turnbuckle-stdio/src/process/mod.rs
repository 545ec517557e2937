//! The process's own standard streams, taken over for as long as a server runs on them.

#[cfg(unix)]
mod driver;
#[cfg(not(unix))]
#[path = "other.rs"]
mod system;
#[cfg(unix)]
#[path = "unix.rs"]
mod system;
mod thread;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tokio::time::timeout;
use turnbuckle_session::{Closed, Dispatch};

use crate::{StdioOptions, serve_stream};
use system::{Driver, Endings, Streams};

/// How long a thread's last write may hold up an end on request.
const AT_ONCE: Duration = Duration::from_millis(100);

/// Whether the standard streams are in use.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The standard streams, opened for a server.
struct Opened {
    input: Box<dyn AsyncRead + Send + Unpin>,
    output: Box<dyn AsyncWrite + Send + Unpin>,
    /// Tells when the last byte was written, or what broke, where a thread does that.
    written: Option<oneshot::Receiver<io::Result<()>>>,
}

/// Serves the client that started this process, on standard input and output.
///
/// It returns when the input has ended and what was read was answered, for as long as the limits'
/// `drain` says, and at once on SIGTERM, SIGINT or the options' `stop`: then only what was answered
/// already is still written, for a fifth of a second if the client does not read it. A handler that
/// blocks the thread it is polled on delays both. Nothing of its own keeps the process alive then. Blocking
/// tasks that handlers spawned do if the runtime is dropped, and do not if it is ended by
/// `shutdown_background`. The signals stay caught from the first call on, also when no server
/// runs.
///
/// While it runs, standard output belongs to the protocol alone. On Unix, what handlers and the
/// processes that they start print goes to standard error, or nowhere if that is the same pipe,
/// socket or file; what they read from standard input is empty. Elsewhere a handler must not
/// print. At the end the streams are put back.
///
/// On Unix the server has a thread of its own, which also polls a handler until it first has to
/// wait for long; what is spawned runs on the runtime that this is called in.
///
/// Pipes and sockets are used without blocking, which other processes that share them would
/// notice; their mode is put back too. Terminals, files and other systems are read and written
/// from a thread of their own each, which cannot hold up the exit.
///
/// Specification: basic/transports/stdio (2026-07-28).
///
/// # Errors
/// When the streams cannot be taken over, are taken already, or cannot be written to. A client
/// that is gone is no error.
///
/// # Panics
/// Outside a Tokio runtime whose time driver is enabled.
pub async fn run(dispatch: impl Into<Arc<dyn Dispatch>>, options: StdioOptions) -> io::Result<()> {
    let dispatch = dispatch.into();
    let _claim = Claim::new()?;
    let (stop, mut patience) = (options.stop.clone(), options.limits.drain);
    let mut driver = Driver::new()?;
    let _endings = Endings::new(&mut driver, &stop)?;
    let streams = Streams::take()?;
    let Opened {
        input,
        output,
        written,
    } = streams.open(&mut driver)?;
    let mut server = driver.start(serve_stream(dispatch, input, output, options))?;
    let closed = tokio::select! {
        closed = server.ended() => closed,
        () = stop.cancelled() => {
            patience = AT_ONCE;
            server.ended().await
        }
    };
    drop(server);
    if let Some(written) = written
        && let Ok(Ok(Err(error))) = timeout(patience, written).await
        && !is_gone(&error)
    {
        return Err(error);
    }
    match closed {
        Ok(Closed::Broken(error)) if !is_gone(&error) => Err(error),
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether the other end was closed.
fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    )
}

/// The right to use the standard streams.
struct Claim;

impl Claim {
    fn new() -> io::Result<Self> {
        if TAKEN.swap(true, Ordering::AcqRel) {
            let message = "a server runs on the standard streams already";
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, message));
        }
        Ok(Self)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        TAKEN.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_server_at_a_time_has_the_streams() {
        let first = Claim::new().unwrap();
        assert_eq!(
            Claim::new().err().unwrap().kind(),
            io::ErrorKind::ResourceBusy
        );
        drop(first);
        assert!(Claim::new().is_ok());
    }
}
