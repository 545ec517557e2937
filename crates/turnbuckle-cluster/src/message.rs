//! The messages that instances send each other, and their form in a topic.

use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use turnbuckle_store::{StoreError, StoreKey};

/// The version of the form. Messages of another version are not read.
const VERSION: u8 = 1;

/// The bytes of the name of an instance.
pub(crate) const NAME_BYTES: usize = 8;

/// The bytes before the body: version, kind, form of the body, number, name of the sender.
const HEAD_BYTES: usize = 3 + 8 + NAME_BYTES;

/// The kinds of messages, each with its receivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum MessageKind {
    /// The acknowledgement of a message: its body is one byte, 1 if the message was for a receiver.
    Acknowledgement = 1,
    /// The store was emptied, or begun anew: look at its mark.
    StoreMarked = 2,
    /// A message of a client for a session: the answer to a question, or a cancellation.
    SessionMessage = 3,
    /// The record of a session has changed.
    SessionChanged = 4,
    /// A session was ended.
    SessionEnded = 5,
    /// A message of the server for the standalone stream of a session.
    StandaloneMessage = 6,
    /// A client has come back for a stream: its owner is to tell what it writes to the stream's log.
    StreamWanted = 7,
    /// The log of a stream has grown.
    StreamGrew = 8,
    /// A message of a client for a connection of HTTP+SSE.
    SseMessage = 9,
    /// The log of changes has grown.
    ChangesGrew = 10,
    /// A message about a call that a proxy forwards, whose client has come to another instance.
    ProxiedCall = 11,
}

impl MessageKind {
    const ALL: [Self; 11] = [
        Self::Acknowledgement,
        Self::StoreMarked,
        Self::SessionMessage,
        Self::SessionChanged,
        Self::SessionEnded,
        Self::StandaloneMessage,
        Self::StreamWanted,
        Self::StreamGrew,
        Self::SseMessage,
        Self::ChangesGrew,
        Self::ProxiedCall,
    ];
}

/// A message that another instance has sent.
#[derive(Debug, Clone)]
pub struct Received {
    /// The name of the sender.
    pub from: Arc<str>,
    /// The kind of the message.
    pub kind: MessageKind,
    /// The bytes that were sent.
    pub body: Bytes,
}

/// A part of an instance that receives messages.
pub trait Receiver: Send + Sync {
    /// Receives a message, without waiting for anything. Returns whether it was for this receiver.
    fn receive(&self, message: &Received) -> bool;
}

/// Returns the topic of messages to all instances.
pub(crate) fn topic_of_all() -> Result<StoreKey, StoreError> {
    StoreKey::new("instances")
}

/// A message in a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Envelope {
    pub(crate) kind: MessageKind,
    /// True if the body is the name of a parcel, in which the bytes are.
    pub(crate) is_parcel: bool,
    /// The number that the acknowledgement repeats; 0 if none is wanted.
    pub(crate) number: u64,
    pub(crate) from: Arc<str>,
    pub(crate) body: Bytes,
}

impl Envelope {
    pub(crate) fn to_bytes(&self) -> Bytes {
        let mut bytes = BytesMut::with_capacity(HEAD_BYTES + self.body.len());
        bytes.put_u8(VERSION);
        bytes.put_u8(self.kind as u8);
        bytes.put_u8(u8::from(self.is_parcel));
        bytes.put_u64_le(self.number);
        bytes.extend_from_slice(self.from.as_bytes());
        bytes.extend_from_slice(&self.body);
        bytes.freeze()
    }

    /// Reads a message. Returns `None` if it is not one, or of a kind that this release does not know.
    pub(crate) fn read(bytes: &Bytes) -> Option<Self> {
        let (head, _) = bytes.split_at_checked(HEAD_BYTES)?;
        let [version, kind, form, rest @ ..] = head else {
            return None;
        };
        let (number, name) = rest.split_first_chunk()?;
        if *version != VERSION || *form > 1 {
            return None;
        }
        let from = std::str::from_utf8(name).ok()?;
        if !from.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return None;
        }
        Some(Self {
            kind: MessageKind::ALL
                .into_iter()
                .find(|known| *known as u8 == *kind)?,
            is_parcel: *form == 1,
            number: u64::from_le_bytes(*number),
            from: from.into(),
            body: bytes.slice(HEAD_BYTES..),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written() {
        for kind in MessageKind::ALL {
            let envelope = Envelope {
                kind,
                is_parcel: kind == MessageKind::SseMessage,
                number: 1 << 40,
                from: "k3f9x2aq".into(),
                body: Bytes::from_static(b"{}"),
            };
            assert_eq!(Envelope::read(&envelope.to_bytes()), Some(envelope));
        }
    }

    #[test]
    fn what_is_not_ours_is_not_read() {
        let good = Envelope {
            kind: MessageKind::StreamGrew,
            is_parcel: false,
            number: 0,
            from: "k3f9x2aq".into(),
            body: Bytes::new(),
        };
        let good = good.to_bytes();
        assert!(Envelope::read(&good).is_some());
        for length in 0..good.len() {
            assert_eq!(Envelope::read(&good.slice(..length)), None, "{length}");
        }
        for (at, byte) in [(0, 2), (1, 0), (1, 200), (2, 2), (11, b'/'), (12, 0xff)] {
            let mut bad = good.to_vec();
            bad[at] = byte;
            assert_eq!(Envelope::read(&bad.into()), None, "byte {at} is {byte}");
        }
    }
}
