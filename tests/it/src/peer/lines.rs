//! A scripted server at the other end of a byte stream in memory, one message per line.

use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use turnbuckle_session::transport::{
    Connector, Inbox, Link, LinkError, LinkKind, OpenFuture, TransportLink,
};
use turnbuckle_stdio::StreamTransport;

use super::{Peer, ReceivedMessage, Step};
use crate::wires::InPieces;

/// Bytes of a message that the client accepts unless it is set.
const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// Bytes that each direction holds.
const PIPE: usize = 64 << 10;

/// Connects to a peer, over a new pipe each time.
pub struct Lines {
    peer: Peer,
    max_message_bytes: usize,
}

impl Peer {
    /// Returns a connector that reaches the peer over lines. The client accepts messages of at most
    /// 1 MiB.
    #[must_use]
    pub fn lines(&self) -> Lines {
        Lines {
            peer: self.clone(),
            max_message_bytes: MAX_MESSAGE_BYTES,
        }
    }
}

impl Lines {
    /// Sets how large a message the client accepts.
    #[must_use]
    pub fn max_message_bytes(self, max_message_bytes: usize) -> Self {
        Self {
            max_message_bytes,
            ..self
        }
    }
}

impl Connector for Lines {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let (wire, unasked) = unbounded_channel();
        let connection = self.peer.open_wire(wire);
        tokio::spawn(act(self.peer.clone(), connection, theirs, unasked));
        let ours = InPieces::new(ours, &format!("a peer of {}", self.peer.revision()));
        let (reader, writer) = tokio::io::split(ours);
        let transport = StreamTransport::new(reader, writer, self.max_message_bytes);
        let link: Arc<dyn Link> = TransportLink::start(transport, inbox, PIPE);
        Box::pin(std::future::ready(Ok::<_, LinkError>(link)))
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn description(&self) -> String {
        "a scripted server".into()
    }
}

async fn act(
    peer: Peer,
    connection: usize,
    pipe: DuplexStream,
    mut unasked: UnboundedReceiver<Step>,
) {
    let _standing = peer.stand();
    let (reader, mut writer) = tokio::io::split(pipe);
    let mut lines = BufReader::new(reader).lines();
    loop {
        let steps = tokio::select! {
            biased;
            Some(step) = unasked.recv() => vec![step],
            line = lines.next_line() => {
                let Ok(Some(line)) = line else { return };
                peer.handle(&ReceivedMessage {
                    message: serde_json::from_str(&line).expect("the client writes JSON"),
                    connection,
                    verb: String::new(),
                })
            }
        };
        for step in steps {
            let written = match step {
                Step::Say(message) => writer.write_all(format!("{message}\n").as_bytes()).await,
                Step::Write(bytes) => writer.write_all(&bytes).await,
                Step::Repeat(bytes, times, apart) => {
                    let mut written = Ok(());
                    for _ in 0..times {
                        written = writer.write_all(&bytes).await;
                        if written.is_err() {
                            break;
                        }
                        if !apart.is_zero() {
                            tokio::time::sleep(apart).await;
                        }
                    }
                    written
                }
                Step::Wait(time) => {
                    tokio::time::sleep(time).await;
                    Ok(())
                }
                Step::Hang => break,
                Step::Break => return,
                Step::Head(..) => unreachable!("lines have no head"),
            };
            if written.is_err() {
                return;
            }
        }
    }
}
