//! An HTTP server that ends when its process is asked to.

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

/// What asks the process to end: SIGTERM and SIGINT, each as a byte. They stay caught when it is
/// dropped.
#[cfg(unix)]
struct Endings {
    asked: tokio::net::UnixStream,
    caught: [SigId; 2],
}

#[cfg(unix)]
impl Endings {
    fn new() -> io::Result<Self> {
        let (asked, told) = UnixStream::pair()?;
        asked.set_nonblocking(true)?;
        Ok(Self {
            asked: asked.try_into()?,
            caught: [
                pipe::register(SIGTERM, told.try_clone()?)?,
                pipe::register(SIGINT, told)?,
            ],
        })
    }

    /// Resolves at the next one.
    async fn next(&mut self) {
        while self.asked.readable().await.is_ok() {
            if self.asked.try_read(&mut [0]).is_ok() {
                return;
            }
        }
        std::future::pending().await
    }
}

#[cfg(unix)]
impl Drop for Endings {
    fn drop(&mut self) {
        for id in self.caught {
            unregister(id);
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
