//! A scripted server at the other end of a byte stream in memory, one message per line.

use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use turnbuckle_session::{Connector, Inbox, Link, LinkError, LinkKind, OpenFuture, TransportLink};
use turnbuckle_stdio::StreamTransport;

use super::{Heard, Peer, Step};
use crate::wires::InPieces;

/// Bytes of a line that the client takes.
const MAX_LINE: usize = 1 << 20;

/// Bytes that each direction holds.
const PIPE: usize = 64 << 10;

/// Connects to a peer, over a new pipe each time.
pub struct Lines(Peer);

impl Peer {
    /// Returns a connector that reaches the peer over lines. The client accepts lines of at most 1
    /// MiB.
    #[must_use]
    pub fn lines(&self) -> Lines {
        Lines(self.clone())
    }
}

impl Connector for Lines {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        tokio::spawn(act(self.0.clone(), theirs));
        let ours = InPieces::new(ours, &format!("a peer of {}", self.0.revision()));
        let (reader, writer) = tokio::io::split(ours);
        let transport = StreamTransport::new(reader, writer, MAX_LINE);
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

async fn act(peer: Peer, pipe: DuplexStream) {
    let (connection, _standing) = (peer.open(), peer.stand());
    let (reader, mut writer) = tokio::io::split(pipe);
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).expect("the client writes JSON");
        let heard = Heard {
            message,
            connection,
            verb: String::new(),
        };
        for step in peer.hear(&heard) {
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
