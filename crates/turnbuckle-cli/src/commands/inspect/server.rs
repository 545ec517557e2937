//! The server of the Inspector's page: an HTTP server for the user's own browser on this machine.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use turnbuckle_inspector::{Inspector, InspectorLimits};

use super::access::Access;
use super::listener;
use super::opener::Opener;

/// The most streams of events, of which each tab of a browser has one.
const MAX_STREAMS: usize = 64;

/// The most reads of big values at the same time.
const MAX_READS: usize = 4;

/// The Inspector, and who may use it.
pub(super) struct Site {
    pub(super) inspector: Inspector,
    pub(super) access: Access,
    pub(super) opener: Arc<Opener>,
    /// The streams of events that may still be opened.
    pub(super) streams: Arc<Semaphore>,
    pub(super) reads: Arc<Semaphore>,
}

/// The server of the page, which has bound its port.
pub(super) struct PageServer {
    listener: TcpListener,
    address: SocketAddr,
    site: Arc<Site>,
}

impl PageServer {
    /// Binds a port of 127.0.0.1; 0 takes any that is free.
    pub(super) async fn bind(port: u16, opener: Opener) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let site = Site::new(opener, address.port());
        Ok(Self {
            listener,
            address,
            site: Arc::new(site),
        })
    }

    /// Returns the Inspector.
    pub(super) fn inspector(&self) -> &Inspector {
        &self.site.inspector
    }

    /// Returns an address of the page with a new code, which logs one browser in.
    pub(super) fn new_url(&self) -> io::Result<String> {
        let code = self.site.access.new_code().map_err(io::Error::other)?;
        Ok(format!("http://{}/#{code}", self.address))
    }

    /// Serves the page until the future is dropped.
    pub(super) async fn serve(&self) -> Infallible {
        listener::serve(&self.listener, self.site.clone()).await
    }
}

impl Site {
    pub(super) fn new(opener: Opener, port: u16) -> Self {
        let opener = Arc::new(opener);
        Self {
            inspector: Inspector::new(opener.clone(), InspectorLimits::default()),
            opener,
            access: Access::new(port),
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            reads: Arc::new(Semaphore::new(MAX_READS)),
        }
    }
}
