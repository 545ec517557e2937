//! The event stream's text, as a server writes it.
//!
//! A frame is one line, so an event has one `data` line.

use std::time::Duration;

use bytes::Bytes;

/// The media type of a stream.
pub(crate) const MEDIA_TYPE: &str = "text/event-stream";

/// A comment: nothing to a client, but proof that the stream is still there.
pub(crate) const KEEP_ALIVE: Bytes = Bytes::from_static(b":\n\n");

/// An event that carries a message and has no id.
pub(crate) fn message(frame: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(frame.len() + 32);
    append_message(&mut out, frame);
    out
}

/// Appends an event that carries a message and has no id.
pub(crate) fn append_message(out: &mut Vec<u8>, frame: &[u8]) {
    out.extend_from_slice(b"event: message\ndata: ");
    append_line(out, frame);
    out.extend_from_slice(b"\n\n");
}

/// An event of a stream that can be resumed.
pub(crate) fn numbered(stream: u64, sequence: u64, frame: &[u8]) -> Bytes {
    let mut out = format!("id: {stream}-{sequence}\nevent: message\ndata: ").into_bytes();
    append_line(&mut out, frame);
    out.extend_from_slice(b"\n\n");
    out.into()
}

/// What opens a stream that can be resumed: an id to come back with, and when to.
pub(crate) fn priming(stream: u64, retry: Duration) -> Bytes {
    priming_at(stream, 0, retry)
}

/// The same where a stream is joined after the event of that number.
pub(crate) fn priming_at(stream: u64, sequence: u64, retry: Duration) -> Bytes {
    format!(
        "id: {stream}-{sequence}\nretry: {}\ndata: \n\n",
        retry.as_millis()
    )
    .into()
}

/// The stream and the sequence number that a client heard last.
pub(crate) fn parse_id(id: &[u8]) -> Option<(u64, u64)> {
    let (stream, sequence) = std::str::from_utf8(id).ok()?.trim().split_once('-')?;
    Some((stream.parse().ok()?, sequence.parse().ok()?))
}

fn append_line(out: &mut Vec<u8>, frame: &[u8]) {
    let start = out.len();
    out.extend_from_slice(frame);
    for byte in &mut out[start..] {
        // A line break in JSON text can only be white space.
        if matches!(*byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_data_line() {
        assert_eq!(
            message(b"{\"a\":\n1}"),
            b"event: message\ndata: {\"a\": 1}\n\n"
        );
        assert_eq!(
            &numbered(3, 7, b"{}")[..],
            b"id: 3-7\nevent: message\ndata: {}\n\n"
        );
    }

    #[test]
    fn the_priming_event_has_an_id_a_retry_and_no_data() {
        let text = priming(3, Duration::from_millis(500));
        assert_eq!(&text[..], b"id: 3-0\nretry: 500\ndata: \n\n");
    }

    #[test]
    fn ids_are_read_strictly() {
        assert_eq!(parse_id(b"3-7"), Some((3, 7)));
        for bad in ["", "3", "-", "3-", "a-1", "3-7-1", "3--7"] {
            assert_eq!(parse_id(bad.as_bytes()), None, "{bad}");
        }
    }
}
