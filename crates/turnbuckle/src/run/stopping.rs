//! An HTTP server that ends when its process is asked to.

use std::io;

use turnbuckle_server::Result;

use crate::http::HttpServer;

/// Serves until the first request to end, and from then on for as long as what is under way may
/// take, or until the second.
pub(super) async fn until_stopped(server: HttpServer) -> Result {
    let mut endings = Endings::new()?;
    eprintln!("serving MCP at {}", server.url());
    let shutdown = server.shutdown();
    let asked_twice = async {
        endings.next().await;
        shutdown.close();
        endings.next().await;
    };
    tokio::select! {
        served = server.serve() => Ok(served?),
        () = asked_twice => Ok(()),
    }
}

/// What asks the process to end.
#[cfg(unix)]
struct Endings {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Endings {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// What asks the process to end.
#[cfg(not(unix))]
struct Endings;

#[cfg(not(unix))]
impl Endings {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}
