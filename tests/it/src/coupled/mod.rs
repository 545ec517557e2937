//! Our client and our server, coupled over every binding, with a tap between them.
//!
//! Every message of either side is judged by the official schema of the revision that is spoken,
//! and kept. A message that is none fails the test when the coupling is dropped, and everything
//! that was said is printed.

mod posts;
mod record;
mod served;

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::Value;
use turnbuckle_client::{Client, ClientBuilder, EraPreference, Error};
use turnbuckle_server::Server;
use turnbuckle_session::transport::{Frame, MessageObserver, OutboundMessage};
use turnbuckle_wire::revision::Revision;

use crate::harness::Case;
use crate::peer::{Peer, PeerConnectors};
use record::Record;
use served::connector;
use turnbuckle_check::oracle::Sender;

pub use posts::{Post, Posts};

/// A client and its server; derefs to the client.
pub struct Coupled {
    client: Client,
    tap: Tap,
    /// Requests sent over HTTP; empty on other bindings.
    pub posts: Posts,
}

impl Coupled {
    /// Couples a client to a server, in the case's revision and over its binding.
    pub async fn connect(case: Case, server: &Server, builder: ClientBuilder) -> Self {
        let posts = Posts::default();
        let tap = Tap::new(case.to_string(), case.revision);
        let builder = builder.era(EraPreference::Only(case.revision));
        let builder = builder.message_observer(tap.clone());
        let client = builder.connect(connector(case, server, &posts)).await;
        Self {
            client: client.unwrap_or_else(|error| panic!("{case}: {error}\n{}", tap.transcript())),
            tap,
            posts,
        }
    }

    /// Returns the record of the messages between client and server.
    #[must_use]
    pub fn tap(&self) -> &Tap {
        &self.tap
    }
}

impl Deref for Coupled {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

/// Both directions of a coupling, or of a client and a scripted peer. Clones are the same tap.
#[derive(Clone)]
pub struct Tap(Arc<Mutex<Record>>);

impl Tap {
    /// Creates a tap on a conversation in that revision; `name` appears in failure messages.
    #[must_use]
    pub fn new(name: impl Into<String>, revision: Revision) -> Self {
        Self(Arc::new(Mutex::new(Record::new(name.into(), revision))))
    }

    /// Returns every message that the client sent.
    #[must_use]
    pub fn sent_messages(&self) -> Vec<Value> {
        self.record().sent.clone()
    }

    /// Returns the messages with that method that the client sent.
    #[must_use]
    pub fn sent_of(&self, method: &str) -> Vec<Value> {
        messages_of_method(&self.record().sent, method)
    }

    /// Returns the client's responses to requests of the server.
    #[must_use]
    pub fn answers(&self) -> Vec<Value> {
        messages_of_method(&self.record().sent, "")
    }

    /// Returns every message that the server sent.
    #[must_use]
    pub fn received_messages(&self) -> Vec<Value> {
        self.record().received.clone()
    }

    /// Returns the messages with that method that the server sent.
    #[must_use]
    pub fn received_of(&self, method: &str) -> Vec<Value> {
        messages_of_method(&self.record().received, method)
    }

    /// Returns the conversation as readable text.
    #[must_use]
    pub fn transcript(&self) -> String {
        self.record().transcript()
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.0.lock().expect("no panic while it is held")
    }
}

impl MessageObserver for Tap {
    fn on_send(&self, message: &OutboundMessage) {
        self.record().take(Sender::Client, &message.frame);
    }

    fn on_receive(&self, frame: &Frame) {
        if let Frame::Message(bytes) = frame {
            self.record().take(Sender::Server, bytes);
        }
    }
}

/// Returns the messages with that method; an empty method selects the messages without one.
fn messages_of_method(messages: &[Value], method: &str) -> Vec<Value> {
    let is_of = |message: &&Value| message["method"].as_str().unwrap_or_default() == method;
    messages.iter().filter(is_of).cloned().collect()
}

/// Connects to a scripted peer over lines, in the peer's revision.
///
/// # Errors
/// When the peer does not let it.
pub async fn connect_to(peer: &Peer, builder: ClientBuilder) -> Result<Client, Error> {
    let builder = builder.era(EraPreference::Only(peer.revision()));
    builder.connect(peer.lines()).await
}

/// Connects to a scripted peer over HTTP, in the peer's revision, and keeps what is sent.
///
/// # Errors
/// When the peer does not let it.
pub async fn connect_over_http(
    peer: &Peer,
    builder: ClientBuilder,
) -> Result<(Client, Posts), Error> {
    let posts = Posts::default();
    let connector = peer.web().layer(posts.clone());
    let builder = builder.era(EraPreference::Only(peer.revision()));
    Ok((builder.connect(connector).await?, posts))
}

impl Drop for Coupled {
    fn drop(&mut self) {
        let record = self.tap.record();
        if std::thread::panicking() {
            eprintln!("{}", record.transcript());
        } else if !record.faults.is_empty() {
            let (faults, transcript) = (record.faults.join("\n"), record.transcript());
            drop(record);
            panic!("{faults}\n{transcript}");
        }
    }
}
