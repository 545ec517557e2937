//! Writes the steps of a script to a stream of bytes, one message per line.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, WriteHalf, split,
};

use super::{Peer, ReceivedMessage, Step};

impl Peer {
    /// Opens a connection over a stream of bytes and serves it until either side ends it, or the client
    /// sends a line that is no JSON. The connection counts as open when this returns.
    pub fn serve_lines<S>(&self, stream: S) -> impl Future<Output = ()> + Send + use<S>
    where
        S: AsyncRead + AsyncWrite + Send,
    {
        let peer = self.clone();
        let (connection, mut unasked) = peer.open_wire();
        async move {
            let _guard = peer.open_guard();
            let (reader, mut writer) = split(stream);
            let mut lines = BufReader::new(reader).lines();
            loop {
                let steps = tokio::select! {
                    biased;
                    Some(step) = unasked.recv() => vec![step],
                    line = lines.next_line() => {
                        let Ok(Some(line)) = line else { return };
                        let Ok(message) = serde_json::from_str::<Value>(&line) else { return };
                        peer.react(&ReceivedMessage { message, connection, verb: String::new() })
                    }
                };
                if !write(&mut writer, steps).await {
                    return;
                }
            }
        }
    }
}

/// Writes steps up to the first that ends them. Returns whether the connection goes on.
async fn write(writer: &mut WriteHalf<impl AsyncWrite>, steps: Vec<Step>) -> bool {
    for step in steps {
        let written = match step {
            Step::Say(message) => writer.write_all(format!("{message}\n").as_bytes()).await,
            Step::Write(bytes) => writer.write_all(&bytes).await,
            Step::Repeat(bytes, times, apart) => repeat(writer, &bytes, times, apart).await,
            Step::Wait(time) => {
                tokio::time::sleep(time).await;
                Ok(())
            }
            Step::Hang => return true,
            Step::Break => return false,
            // Lines have no head.
            Step::Head(..) => Ok(()),
        };
        if written.is_err() {
            return false;
        }
    }
    true
}

async fn repeat(
    writer: &mut WriteHalf<impl AsyncWrite>,
    bytes: &Bytes,
    times: usize,
    apart: Duration,
) -> std::io::Result<()> {
    for _ in 0..times {
        writer.write_all(bytes).await?;
        if !apart.is_zero() {
            tokio::time::sleep(apart).await;
        }
    }
    Ok(())
}
