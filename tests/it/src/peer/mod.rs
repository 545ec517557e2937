//! Scripted servers, as the client reaches them.
//!
//! One [`Peer`] can be reached over lines in memory and over HTTP without sockets, by the connectors of
//! [`PeerConnectors`]; [`shell`] is a server of its own kind, a process.

mod lines;
mod process;
mod web;

use turnbuckle_http::HttpConnector;

pub use lines::Lines;
pub use process::{children, open_files, shell};
pub use turnbuckle_check::script::{Peer, ReceivedMessage, Step};

/// Connectors of the client that reach a scripted server.
pub trait PeerConnectors {
    /// Returns a connector that reaches the peer over lines. The client accepts messages of at most
    /// 1 MiB.
    fn lines(&self) -> Lines;

    /// Returns a connector that reaches the peer over HTTP.
    fn web(&self) -> HttpConnector;
}

impl PeerConnectors for Peer {
    fn lines(&self) -> Lines {
        Lines::new(self.clone())
    }

    fn web(&self) -> HttpConnector {
        web::connector(self.clone())
    }
}
