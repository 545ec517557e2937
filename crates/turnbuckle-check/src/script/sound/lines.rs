//! The server over a stream of bytes, one message per line.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, ReadHalf, split,
};
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::JoinSet;

use super::change::Listener;
use super::outlet::Outlet;
use super::refusal::{Refusal, error_to};
use super::server::Sound;
use super::session::Session;

/// Bytes that a line may have.
const MAX_LINE_BYTES: u64 = 8 << 20;

/// Time for what is under way when the client has closed its side.
const END_TIMEOUT: Duration = Duration::from_millis(500);

impl Sound {
    /// Serves a connection over a stream of bytes until the client closes its side.
    pub fn serve_lines<S>(&self, stream: S) -> impl Future<Output = ()> + Send + use<S>
    where
        S: AsyncRead + AsyncWrite + Send,
    {
        let sound = self.clone();
        async move {
            let (reader, mut writer) = split(stream);
            let (to, mut sent) = unbounded_channel();
            let session = Arc::new(Session::default());
            let outlet = Outlet::new(to, sound.faults.clone());
            session.set_general(outlet.clone());
            sound.add_listener(Listener::Session(session.clone()));
            let writing = async {
                while let Some(message) = sent.recv().await {
                    if message.is_null() {
                        return;
                    }
                    let line = sound.faults.line_of(&message);
                    if writer.write_all(&line).await.is_err() {
                        return;
                    }
                }
            };
            tokio::select! {
                () = sound.read_lines(&session, &outlet, reader) => {}
                () = writing => return,
            }
            while let Some(message) = sent.try_recv().ok().filter(|it| !it.is_null()) {
                let line = sound.faults.line_of(&message);
                if writer.write_all(&line).await.is_err() {
                    return;
                }
            }
        }
    }

    /// Reads messages until the client closes its side, and lets what is under way end.
    async fn read_lines(
        &self,
        session: &Arc<Session>,
        outlet: &Outlet,
        reader: ReadHalf<impl AsyncRead>,
    ) {
        let mut works = JoinSet::new();
        let mut reader = BufReader::new(reader);
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut bounded = (&mut reader).take(MAX_LINE_BYTES);
            match bounded.read_until(b'\n', &mut line).await {
                Ok(read) if read > 0 => {}
                _ => break,
            }
            self.faults.apply_to_read_line(&mut line);
            let message: Value = match serde_json::from_slice(&line) {
                Ok(message) => message,
                Err(_) if line.trim_ascii().is_empty() => continue,
                Err(error) => {
                    let refusal = Refusal::new(-32700, &format!("no JSON: {error}"));
                    let response = error_to(session, &Value::Null, refusal);
                    outlet.send(response);
                    continue;
                }
            };
            let id = message.get("id").cloned();
            if let Some(work) = self.receive(session, message, outlet) {
                let abort = works.spawn(work);
                if let Some(id) = id {
                    session.set_abort(&id, abort);
                }
            }
            while works.try_join_next().is_some() {}
        }
        let ending = async { while works.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(END_TIMEOUT, ending).await;
    }
}
