//! Graceful shutdown of an HTTP server on signals.

use std::io;
#[cfg(unix)]
use std::os::unix::net::UnixStream;

#[cfg(unix)]
use signal_hook::SigId;
#[cfg(unix)]
use signal_hook::consts::{SIGINT, SIGTERM};
#[cfg(unix)]
use signal_hook::low_level::{pipe, unregister};
use turnbuckle_server::Result;

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
