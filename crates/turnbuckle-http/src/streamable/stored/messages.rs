//! The messages about sessions that instances send each other.

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The version of the form of the bodies. Bodies of another version are not read.
const VERSION: u8 = 1;

/// A change of the record of a session.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SessionChanged {
    pub(super) session: String,
    pub(super) version: u64,
    /// True if the client's roots have changed.
    #[serde(default)]
    pub(super) roots: bool,
}

/// The end of a session.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SessionEnded {
    pub(super) session: String,
}

/// A message of a client: the response to a request of the receiver, or a cancellation.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SessionMessage {
    pub(super) session: String,
    pub(super) message: String,
}

/// Writes the body of a message.
pub(super) fn encode(body: &impl Serialize) -> Bytes {
    let mut bytes = vec![VERSION];
    // The bodies are structs of text and numbers, which are always JSON.
    if serde_json::to_writer(&mut bytes, body).is_err() {
        bytes.truncate(1);
    }
    bytes.into()
}

/// Reads the body of a message. Returns `None` if it is none.
pub(super) fn decode<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    match body.split_first() {
        Some((&VERSION, text)) => serde_json::from_slice(text).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_body_is_not_read() {
        let ended = SessionEnded {
            session: "a".into(),
        };
        let body = encode(&ended);
        assert_eq!(decode(&body), Some(ended));
        assert_eq!(decode::<SessionMessage>(&body), None);
        for bad in [&b""[..], &[VERSION], &body[1..], &body[..body.len() - 1]] {
            assert_eq!(decode::<SessionEnded>(bad), None, "{bad:?}");
        }
        let newer = [&[VERSION + 1], &body[1..]].concat();
        assert_eq!(decode::<SessionEnded>(&newer), None);
    }
}
