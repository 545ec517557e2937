//! The classification of a frame: the one step from the bytes that a transport delivers to a
//! message, for both ends of every transport.
//!
//! Specification: basic/index, "Messages" (2026-07-28); basic, "Batching" (2025-03-26).

use crate::era::{MessageEra, NamedRevision, Params, VersionHeader, message_era};
use crate::rpc::{self, DecodeError, Message};

/// The content of a frame: one message, a batch of them, or a fault.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a message is used at once where it was read: a box would be an allocation per message"
)]
pub enum FrameKind<'a> {
    /// The frame is not JSON, or not a message. The error is what its sender is answered, except
    /// for [`DecodeErrorKind::InvalidNotification`](rpc::DecodeErrorKind::InvalidNotification),
    /// which gets no answer by message.
    Invalid(DecodeError),
    /// The frame is a JSON array: this text. Its elements are not read yet;
    /// [`split_batch`](rpc::split_batch) separates them, and each is read by
    /// [`decode`](rpc::decode).
    Batch(&'a str),
    /// The frame is one message.
    Message {
        /// The frame as text.
        text: &'a str,
        /// The message, with the parameters that the protocol itself reads.
        message: Message<'a, Params<'a>>,
        /// The era that the message belongs to.
        era: MessageEra,
    },
}

/// Returns the kind of `frame`. `header` is the version header that came with it, where the
/// transport has headers.
///
/// Without a version header only requests state their era; notifications and responses belong to
/// the connection and are reported as [`MessageEra::Legacy`]. With one, notifications are judged as
/// requests are, and a response has the era that the header names.
#[inline]
#[must_use]
pub fn classify<'a>(frame: &'a [u8], header: VersionHeader<'_>) -> FrameKind<'a> {
    let Ok(text) = std::str::from_utf8(frame) else {
        return FrameKind::Invalid(DecodeError::not_utf8());
    };
    if rpc::is_batch(text) {
        return FrameKind::Batch(text);
    }
    let message = match rpc::decode::<Params<'_>>(text) {
        Ok(message) => message,
        Err(error) => return FrameKind::Invalid(error),
    };
    let era = match (&message, header) {
        (Message::Request(request), _) => message_era(header, &request.method, &request.params),
        (Message::Notification(notification), VersionHeader::Http(_)) => {
            message_era(header, &notification.method, &notification.params)
        }
        (Message::Response(_), VersionHeader::Http(NamedRevision::Modern(revision))) => {
            MessageEra::Modern(revision)
        }
        (Message::Notification(_), VersionHeader::NotApplicable) | (Message::Response(_), _) => {
            MessageEra::Legacy
        }
    };
    FrameKind::Message { text, message, era }
}

#[cfg(test)]
mod tests;
