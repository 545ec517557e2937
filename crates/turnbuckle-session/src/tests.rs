use std::fmt::Debug;

use bytes::Bytes;
use turnbuckle_types::{RawJson, RawObject};
use turnbuckle_wire::era::Params;

use crate::client::negotiated_revision::{MirroredFields, RawParams};
use crate::client::outbound_message::{OutboundKind, OutboundMessage};
use crate::client::session::response::RawResult;
use crate::shared::frame_queue::FrameQueue;
use crate::shared::incoming::{IncomingNotification, IncomingRequest};
use crate::shared::memory::memory_pair;
use crate::shared::memory_budget::MemoryPermit;
use crate::shared::reply_sink::ReplySink as _;
use crate::shared::reply_sink::{EncodedResponse, QueueFull};
use crate::shared::transport::{Frame, Transport};

const SECRET: &str = r#"{"typed":"s3cret"}"#;

fn bytes() -> Vec<u8> {
    SECRET.as_bytes().to_vec()
}

/// Returns whether a text shows the secret, as text or as the numbers of its bytes.
fn shows_secret(text: &str) -> bool {
    let numbers = format!("{:?}", b"s3cret");
    text.contains("s3cret") || text.contains(numbers.trim_matches(['[', ']']))
}

#[test]
fn debug_output_does_not_contain_message_contents() {
    let frame = Bytes::from_static(SECRET.as_bytes());
    let raw = RawJson::from_valid_text(SECRET);
    let params: Params<'_> = serde_json::from_str(r#"{"arguments":"s3cret"}"#).unwrap();
    let verbatim = RawObject::try_from(raw.to_json()).unwrap();
    let answer = || EncodedResponse {
        frame: bytes(),
        tail: frame.clone(),
        failure: None,
        memory: MemoryPermit::default(),
    };
    let (mut unsent, _other) = memory_pair();
    unsent.queue(SECRET.as_bytes());
    let queue = FrameQueue::with_max_bytes(1024);
    queue.send(bytes()).unwrap();
    queue.finish(Some(answer()));
    let all: [&dyn Debug; 11] = [
        &Frame::Message(frame.clone()),
        &OutboundMessage {
            frame: bytes(),
            kind: OutboundKind::Notification,
            headers: vec![("mcp-param-typed".into(), "s3cret".into())],
        },
        &unsent,
        &IncomingRequest {
            method: None,
            name: "tools/call",
            params: &params,
            text: SECRET,
            headers: None,
        },
        &IncomingNotification {
            method: None,
            name: "x/y",
            text: SECRET,
        },
        &RawResult::new(&frame, std::str::from_utf8(&frame).unwrap()),
        &QueueFull(bytes()),
        &answer(),
        &queue,
        &RawParams(verbatim),
        &MirroredFields {
            arguments: Some(raw),
            ..MirroredFields::default()
        },
    ];
    for text in all.map(|it| format!("{it:?}")) {
        assert!(!shows_secret(&text), "{text}");
    }
}
