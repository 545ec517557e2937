//! The channels and payloads of notifications.

use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use turnbuckle_store::StoreKey;
use turnbuckle_store::bounds::MAX_MESSAGE_BYTES;

/// The most bytes of a message in a notification, whose text is shorter than 8000 bytes.
const MAX_INLINE_BYTES: usize = 5990;

/// The mark of a payload that is a message.
const MESSAGE_MARK: char = 'm';

/// The mark of a payload that is the id of a row with the message.
pub(crate) const ROW_MARK: &str = "r";

/// Returns the channel of a topic. Stores of one database whose schemas differ have channels that differ.
pub(crate) fn channel(schema: &str, topic: &StoreKey) -> String {
    let digest = Sha256::new()
        .chain_update(schema)
        .chain_update([0])
        .chain_update(topic.as_str())
        .finalize();
    let mut channel = "turnbuckle_".to_owned();
    for byte in digest.iter().take(20) {
        let _ = write!(channel, "{byte:02x}");
    }
    channel
}

/// The content of a notification.
#[derive(Debug, PartialEq)]
pub(crate) enum Payload {
    Message(Bytes),
    /// The id of a row with the message.
    Row(i64),
}

impl Payload {
    /// Returns the text of a notification for a message, or `None` if the message is too large for one.
    pub(crate) fn encode(message: &Bytes) -> Option<Arc<str>> {
        if message.len() > MAX_INLINE_BYTES {
            return None;
        }
        let mut text = MESSAGE_MARK.to_string();
        STANDARD_NO_PAD.encode_string(message, &mut text);
        Some(text.into())
    }

    /// Parses the text of a notification. Returns `None` for that of another program.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Some(id) = text.strip_prefix(ROW_MARK) {
            return id.parse().ok().map(Self::Row);
        }
        let message = STANDARD_NO_PAD.decode(text.strip_prefix(MESSAGE_MARK)?);
        let message = message.ok().filter(|it| it.len() <= MAX_MESSAGE_BYTES)?;
        Some(Self::Message(message.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_fits_travels_in_the_notification() {
        for length in [0, 1, MAX_INLINE_BYTES] {
            let message = Bytes::from(vec![b'x'; length]);
            let text = Payload::encode(&message).unwrap();
            assert!(text.len() < 8000, "{}", text.len());
            assert_eq!(Payload::parse(&text), Some(Payload::Message(message)));
        }
        let larger = Bytes::from(vec![0; MAX_INLINE_BYTES + 1]);
        assert_eq!(Payload::encode(&larger), None);
        assert_eq!(Payload::parse("r12"), Some(Payload::Row(12)));
    }

    #[test]
    fn notifications_of_other_programs_are_nothing() {
        for text in ["", "r", "rx", "r99999999999999999999", "m?", "x12", "m="] {
            assert_eq!(Payload::parse(text), None, "{text}");
        }
    }

    #[test]
    fn topics_and_schemas_have_channels_of_their_own() {
        let topic = |text: &str| StoreKey::new(text).unwrap();
        let channels = [
            channel("a", &topic("b")),
            channel("a", &topic("c")),
            channel("ab", &topic("b")),
        ];
        for (number, one) in channels.iter().enumerate() {
            assert!(one.len() < 64, "PostgreSQL cuts longer names: {one}");
            assert!(channels.iter().skip(number + 1).all(|other| other != one));
        }
    }
}
