//! The server's end of a pair in memory, that says whatever it is told to, and holds the client to
//! what it may say.

use std::collections::{HashMap, HashSet};
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use turnbuckle_session::transport::{Frame, MemoryTransport, Transport};
use turnbuckle_wire::revision::{EraKind, Revision};
use turnbuckle_wire::rpc::RequestId;

use super::members::Members;
use super::pipe::ids;

/// After so long everybody has done what there was to do.
const TICK: Duration = Duration::from_millis(1);

/// A request that the client made.
struct ReceivedRequest {
    /// The JSON of its id.
    id: String,
    method: String,
}

/// The server's end.
pub(super) struct Hostile {
    /// None once it has gone.
    transport: Option<MemoryTransport>,
    requests: Vec<ReceivedRequest>,
    ids: HashSet<RequestId>,
    /// Number of times that each id was sent in a possible request and not answered.
    asked: HashMap<RequestId, usize>,
    answers: usize,
}

impl Hostile {
    pub(super) fn new(transport: MemoryTransport) -> Self {
        Self {
            transport: Some(transport),
            requests: Vec::new(),
            ids: HashSet::new(),
            asked: HashMap::new(),
            answers: 0,
        }
    }

    /// Returns whether the server has closed the connection.
    pub(super) fn is_gone(&self) -> bool {
        self.transport.is_none()
    }

    /// Returns the number of the server's requests that were answered.
    pub(super) fn answers(&self) -> usize {
        self.answers
    }

    /// Says a line: `=` and JSON is a result of the client's last request, `!` and JSON an error of
    /// it, `^` alone is the end of the connection, and all else a frame as it is. `@` in it stands
    /// for the id of the client's last request, `~` for that of the one before.
    pub(super) fn send_line(&mut self, line: &[u8]) {
        let frame = match line.split_first() {
            Some((b'=', result)) => {
                [br#"{"jsonrpc":"2.0","id":@,"result":"#, result, b"}"].concat()
            }
            Some((b'!', error)) => [br#"{"jsonrpc":"2.0","id":@,"error":"#, error, b"}"].concat(),
            Some((b'^', [])) => {
                self.transport = None;
                return;
            }
            _ => line.to_vec(),
        };
        let mut frame_with_ids = Vec::with_capacity(frame.len());
        for byte in frame {
            match byte {
                b'@' => frame_with_ids.extend_from_slice(self.id_back(1)),
                b'~' => frame_with_ids.extend_from_slice(self.id_back(2)),
                byte => frame_with_ids.push(byte),
            }
        }
        for id in ids(&frame_with_ids) {
            *self.asked.entry(id).or_default() += 1;
        }
        self.send(&frame_with_ids);
    }

    /// Returns the id of the client's last request, the last but one, and so on.
    fn id_back(&self, back: usize) -> &[u8] {
        let at = self.requests.len().checked_sub(back);
        at.map_or(b"0", |at| self.requests[at].id.as_bytes())
    }

    fn send(&mut self, frame: &[u8]) {
        if let Some(transport) = &mut self.transport {
            transport.queue(frame);
        }
    }

    /// Answers the last request of that method, which must have come.
    pub(super) fn answer(&mut self, method: &str, result: &Value) {
        let mut requests = self.requests.iter().rev();
        let request = requests.find(|request| request.method == method);
        let id = &request.unwrap_or_else(|| panic!("no {method}")).id;
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        self.send(answer.as_bytes());
    }

    /// Opens the connection as a sound server of that revision does.
    pub(super) async fn open(&mut self, revision: Revision) {
        let capabilities = json!({"tools": {"listChanged": true}, "completions": {},
            "resources": {"subscribe": true, "listChanged": true},
            "prompts": {"listChanged": true}, "logging": {}});
        match revision.features().era {
            EraKind::Legacy => self.answer(
                "initialize",
                &json!({"protocolVersion": revision.as_str(), "capabilities": capabilities,
                    "serverInfo": {"name": "hostile", "version": "1"}}),
            ),
            EraKind::Modern => self.answer(
                "server/discover",
                &json!({"resultType": "complete", "supportedVersions": [revision.as_str()],
                    "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private"}),
            ),
        }
        self.settle().await;
    }

    /// Sends what is queued and hears what comes, until nobody has anything to do.
    pub(super) async fn settle(&mut self) {
        loop {
            let Some(transport) = &mut self.transport else {
                return sleep(TICK).await;
            };
            let flush = poll_fn(|cx| Poll::Ready(transport.poll_flush(cx)));
            let waits = flush.await.is_pending();
            sleep(TICK).await;
            let mut frames = Vec::new();
            poll_fn(|cx| {
                while let Poll::Ready(Some(Frame::Message(frame))) = transport.poll_frame(cx) {
                    frames.push(frame);
                }
                Poll::Ready(())
            })
            .await;
            if frames.is_empty() && !waits {
                return;
            }
            for frame in frames {
                self.record_frame(std::str::from_utf8(&frame).expect("what is sent is text"));
            }
        }
    }

    fn record_frame(&mut self, frame: &str) {
        let members = Members::parse(frame).expect("a message is an object");
        assert!(members.are_distinct(), "{frame}");
        assert_eq!(members.get("jsonrpc"), Some("\"2.0\""));
        let id = members.get("id").filter(|id| *id != "null");
        let Some(text) = id else { return };
        let id = RequestId::from_json(text).expect("an id");
        if let Some(method) = members.get("method") {
            assert!(self.ids.insert(id), "an id is used twice: {frame}");
            self.requests.push(ReceivedRequest {
                id: text.to_owned(),
                method: serde_json::from_str(method).expect("a text"),
            });
            return;
        }
        self.answers += 1;
        let asked = self.asked.get_mut(&id);
        let left = asked.expect("only what was asked is answered");
        *left = left
            .checked_sub(1)
            .expect("what was asked is answered once");
    }
}
