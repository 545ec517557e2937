//! The signals that end a process, and the graceful shutdown of an HTTP server on them.

use std::io;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
#[cfg(unix)]
use std::sync::Arc;
#[cfg(unix)]
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(unix)]
use signal_hook::SigId;
#[cfg(unix)]
use signal_hook::consts::{SIGINT, SIGTERM};
#[cfg(unix)]
use signal_hook::flag;
#[cfg(unix)]
use signal_hook::low_level::{pipe, unregister};

use crate::error::Result;
use crate::http::HttpServer;

/// Serves until the first signal, then waits for requests in progress until they end, their time is
/// over, or a second signal arrives.
pub(super) async fn serve_until_signal(server: HttpServer) -> Result {
    let mut signals = ShutdownSignals::new()?;
    eprintln!("serving MCP at {}", server.url());
    let shutdown = server.shutdown();
    let second_signal = async {
        signals.recv().await;
        shutdown.close();
        signals.recv().await;
    };
    tokio::select! {
        served = server.serve() => Ok(served?),
        () = second_signal => Ok(()),
    }
}

/// Waits until the process is asked to end: by SIGTERM or Ctrl-C. On Unix a second signal then ends
/// the process at once.
///
/// This is a trigger for the shutdown of a server of your own, in which an endpoint is mounted:
///
/// ```no_run
/// use turnbuckle::http::{HttpServerOptions, StreamableHttp};
/// use turnbuckle::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> turnbuckle::Result {
/// # let hello = Tool::builder("hello").handler(|| "Hello!");
/// let server = Server::new("greeter", "1.0.0").tool(hello).build()?;
/// let mcp = StreamableHttp::new(server, HttpServerOptions::new());
/// let shutdown = mcp.shutdown().close_after(turnbuckle::termination());
/// let router = axum::Router::new().nest_service("/mcp", mcp);
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
/// axum::serve(listener, router).with_graceful_shutdown(shutdown).await?;
/// # Ok(())
/// # }
/// ```
///
/// If the signals cannot be received, this is printed to standard error, and the future never ends.
pub async fn termination() {
    if let Err(error) = wait_for_termination().await {
        eprintln!("SIGTERM and Ctrl-C cannot be received, there is no graceful shutdown: {error}");
        std::future::pending().await
    }
}

async fn wait_for_termination() -> io::Result<()> {
    // Registered before the receiver, so that it does not act on the first signal itself.
    #[cfg(unix)]
    let ends_at_once = Arc::new(AtomicBool::new(false));
    #[cfg(unix)]
    for signal in [SIGTERM, SIGINT] {
        flag::register_conditional_default(signal, ends_at_once.clone())?;
    }
    ShutdownSignals::new()?.recv().await;
    #[cfg(unix)]
    ends_at_once.store(true, Ordering::SeqCst);
    Ok(())
}

/// SIGTERM and SIGINT. Each arrives as a byte of a socket pair. Dropping this unregisters the
/// handlers but does not restore the default actions.
#[cfg(unix)]
struct ShutdownSignals {
    receiver: tokio::net::UnixStream,
    registrations: [SigId; 2],
}

#[cfg(unix)]
impl ShutdownSignals {
    fn new() -> io::Result<Self> {
        let (receiver, sender) = UnixStream::pair()?;
        receiver.set_nonblocking(true)?;
        Ok(Self {
            receiver: receiver.try_into()?,
            registrations: [
                pipe::register(SIGTERM, sender.try_clone()?)?,
                pipe::register(SIGINT, sender)?,
            ],
        })
    }

    /// Waits for the next signal.
    async fn recv(&mut self) {
        while self.receiver.readable().await.is_ok() {
            if self.receiver.try_read(&mut [0]).is_ok() {
                return;
            }
        }
        std::future::pending().await
    }
}

#[cfg(unix)]
impl Drop for ShutdownSignals {
    fn drop(&mut self) {
        for id in self.registrations {
            unregister(id);
        }
    }
}

/// Ctrl-C, on platforms without Unix signals.
#[cfg(not(unix))]
struct ShutdownSignals;

#[cfg(not(unix))]
impl ShutdownSignals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn recv(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sigterm_is_a_termination() {
        let mut terminated = std::pin::pin!(termination());
        let begun = std::future::poll_fn(|cx| std::task::Poll::Ready(terminated.as_mut().poll(cx)));
        assert!(begun.await.is_pending(), "no signal has arrived");
        signal_hook::low_level::raise(SIGTERM).unwrap();
        terminated.await;
    }
}
