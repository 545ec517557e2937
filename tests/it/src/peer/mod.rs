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
pub use turnbuckle_check::script::{Peer, ReceivedMessage, Sound, Step};

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
        let peer = self.clone();
        let place = format!("a peer of {}", peer.revision());
        Lines::new(place, move |pipe| {
            tokio::spawn(peer.serve_lines(pipe));
        })
    }

    fn web(&self) -> HttpConnector {
        let peer = self.clone();
        web::connector("http://peer.example/mcp", move |request| {
            peer.respond(&request)
        })
    }
}

impl PeerConnectors for Sound {
    fn lines(&self) -> Lines {
        let sound = self.clone();
        Lines::new("a sound server".into(), move |pipe| {
            tokio::spawn(sound.serve_lines(pipe));
        })
    }

    fn web(&self) -> HttpConnector {
        let sound = self.clone();
        web::connector("http://localhost/mcp", move |request| {
            let response = sound.clone().respond(request);
            async { Ok(response.await) }
        })
    }
}
