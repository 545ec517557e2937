//! The two sides of a conversation, as types.

/// A side. Its peer's peer is itself, so that code for one side serves both.
pub trait Participant: Send + Sync + 'static {
    /// The other side.
    type Peer: Participant<Peer = Self>;
}

/// The side that connects, and acts for a user and their model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {}

/// The side that offers tools, resources and prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {}

impl Participant for Client {
    type Peer = Server;
}

impl Participant for Server {
    type Peer = Client;
}
