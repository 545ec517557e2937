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

/// The beginning and the end of an event that carries a message.
const MESSAGE: &[u8] = b"event: message\ndata: ";
const END: &[u8] = b"\n\n";

/// Appends an event that carries a message and has no id.
pub(crate) fn append_message(out: &mut Vec<u8>, frame: &[u8]) {
    out.extend_from_slice(MESSAGE);
    append_line(out, frame);
    out.extend_from_slice(END);
}

/// Makes the same of an answer in two pieces, where the first has its room.
pub(crate) fn of_answer(mut frame: Vec<u8>, tail: &[u8]) -> Vec<u8> {
    let length = frame.len();
    frame.reserve(MESSAGE.len() + tail.len() + END.len());
    frame.resize(length + MESSAGE.len(), 0);
    frame.copy_within(..length, MESSAGE.len());
    frame[..MESSAGE.len()].copy_from_slice(MESSAGE);
    frame.extend_from_slice(tail);
    join_lines(&mut frame[MESSAGE.len()..]);
    frame.extend_from_slice(END);
    frame
}

/// The name of a connection's id in the query of the URI that messages for it are posted to.
pub(crate) const CONNECTION_ID: &str = "sessionId";

/// The event that says where messages for a connection are posted.
pub(crate) fn endpoint(messages: &str, id: &str) -> Bytes {
    let mut out = b"event: endpoint\ndata: ".to_vec();
    append_line(&mut out, messages.as_bytes());
    let mark = if messages.contains('?') { '&' } else { '?' };
    out.extend_from_slice(format!("{mark}{CONNECTION_ID}={id}\n\n").as_bytes());
    out.into()
}

/// An event of a stream that can be resumed.
pub(crate) fn numbered(stream: u64, sequence: u64, frame: &[u8]) -> Bytes {
    const FIXED: usize = b"id: -\nevent: message\ndata: \n\n".len();
    let (stream, sequence) = (Digits::of(stream), Digits::of(sequence));
    let (stream, sequence) = (stream.text(), sequence.text());
    // A buffer that is full is kept as it is.
    let mut out = Vec::with_capacity(FIXED + stream.len() + sequence.len() + frame.len());
    out.extend_from_slice(b"id: ");
    out.extend_from_slice(stream);
    out.push(b'-');
    out.extend_from_slice(sequence);
    out.push(b'\n');
    append_message(&mut out, frame);
    out.into()
}

/// Appends what opens a stream that can be resumed: an id to come back with, and when to.
pub(crate) fn append_priming(out: &mut Vec<u8>, stream: u64, retry: Duration) {
    let retry = retry_field(retry);
    out.extend_from_slice(format!("id: {stream}-0\n{retry}data: \n\n").as_bytes());
}

/// The same where a stream has several connections: this one begins after the event of that
/// number. `connection` makes the id one of its own.
pub(crate) fn priming_at(stream: u64, sequence: u64, connection: u64, retry: Duration) -> Bytes {
    let retry = retry_field(retry);
    format!("id: {stream}-{sequence}.{connection}\n{retry}data: \n\n").into()
}

/// Says when to come back, where the client has an id to come back with.
pub(crate) fn retry(after: Duration) -> Bytes {
    format!("{}\n", retry_field(after)).into()
}

fn retry_field(after: Duration) -> String {
    format!("retry: {}\n", after.as_millis())
}

/// Where on a stream a client heard something last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) sequence: u64,
    /// The connection that began there, where the id is of its own.
    pub(crate) connection: Option<u64>,
}

/// The stream that a client heard last, and where.
pub(crate) fn parse_id(id: &[u8]) -> Option<(u64, Place)> {
    let (stream, place) = std::str::from_utf8(id).ok()?.split_once('-')?;
    let (sequence, connection) = match place.split_once('.') {
        Some((sequence, connection)) => (sequence, Some(number(connection)?)),
        None => (place, None),
    };
    let sequence = number(sequence)?;
    let place = Place {
        sequence,
        connection,
    };
    Some((number(stream)?, place))
}

/// A number as it is written above: digits, and no more of them than needed.
fn number(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let padded = text.len() > 1 && text.starts_with('0');
    (plain && !padded).then(|| text.parse().ok())?
}

/// A number in decimal.
struct Digits {
    text: [u8; 20],
    start: usize,
}

impl Digits {
    fn of(mut number: u64) -> Self {
        let mut digits = Self {
            text: [b'0'; 20],
            start: 20,
        };
        for (at, digit) in digits.text.iter_mut().enumerate().rev() {
            *digit += (number % 10) as u8;
            digits.start = at;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        digits
    }

    fn text(&self) -> &[u8] {
        &self.text[self.start..]
    }
}

fn append_line(out: &mut Vec<u8>, frame: &[u8]) {
    let start = out.len();
    out.extend_from_slice(frame);
    join_lines(&mut out[start..]);
}

/// A line break in JSON text can only be white space.
fn join_lines(text: &mut [u8]) {
    for byte in text {
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
    fn an_answer_in_pieces_is_the_event_that_the_whole_is() {
        for (frame, tail) in [("", ""), ("{}", ""), ("{\"a\":\r\n", "1\n}"), ("{", "\r}")] {
            let whole = message([frame, tail].concat().as_bytes());
            assert_eq!(of_answer(frame.into(), tail.as_bytes()), whole);
        }
        let roomy = Vec::with_capacity(100);
        let at = roomy.as_ptr();
        let event = of_answer(roomy, b"{}");
        assert_eq!(event.as_ptr(), at, "nothing was moved");
    }

    #[test]
    fn the_endpoint_has_the_id_in_its_query() {
        for (messages, data) in [
            ("/messages", "/messages?sessionId=f0"),
            ("/m?a=1", "/m?a=1&sessionId=f0"),
            ("/m\n\ndata: x", "/m  data: x?sessionId=f0"),
        ] {
            let event = endpoint(messages, "f0");
            assert_eq!(event, format!("event: endpoint\ndata: {data}\n\n"));
        }
    }

    #[test]
    fn the_priming_event_has_an_id_a_retry_and_no_data() {
        let mut text = Vec::new();
        append_priming(&mut text, 3, Duration::from_millis(500));
        assert_eq!(&text[..], b"id: 3-0\nretry: 500\ndata: \n\n");
        let text = priming_at(0, 7, 2, Duration::from_secs(1));
        assert_eq!(&text[..], b"id: 0-7.2\nretry: 1000\ndata: \n\n");
        assert_eq!(&retry(Duration::from_secs(1))[..], b"retry: 1000\n\n");
    }

    #[test]
    fn numbers_are_written_in_full() {
        for number in [0, 7, 10, 120, u64::MAX] {
            assert_eq!(Digits::of(number).text(), number.to_string().as_bytes());
        }
    }

    fn place(sequence: u64, connection: Option<u64>) -> Place {
        Place {
            sequence,
            connection,
        }
    }

    #[test]
    fn ids_are_read_strictly() {
        assert_eq!(parse_id(b"3-7"), Some((3, place(7, None))));
        assert_eq!(parse_id(b"0-7.2"), Some((0, place(7, Some(2)))));
        for bad in [
            "",
            "3",
            "-",
            "3-",
            "a-1",
            "3-7-1",
            "3--7",
            "+3-7",
            "3-7.",
            "3-7.x",
            " 3-7",
            "03-7",
            "3-7.1.1",
            "3-\u{663}",
        ] {
            assert_eq!(parse_id(bad.as_bytes()), None, "{bad}");
        }
    }

    /// The id of the first event in a text.
    fn id_of(event: &[u8]) -> &[u8] {
        let line = event.split(|&byte| byte == b'\n').next().unwrap();
        line.strip_prefix(b"id: ").unwrap()
    }

    proptest::proptest! {
        #[test]
        fn an_id_comes_back_as_it_went(stream: u64, sequence: u64, connection: u64) {
            let event = numbered(stream, sequence, b"{}");
            assert_eq!(parse_id(id_of(&event)), Some((stream, place(sequence, None))));
            let event = priming_at(stream, sequence, connection, Duration::ZERO);
            let own = place(sequence, Some(connection));
            assert_eq!(parse_id(id_of(&event)), Some((stream, own)));
        }

        #[test]
        fn two_events_never_have_one_id(one: [u8; 3], other: [u8; 3]) {
            let ids = |it: [u8; 3]| {
                let [stream, sequence, connection] = it.map(u64::from);
                let message = numbered(stream, sequence, b"{}");
                let joined = priming_at(stream, sequence, connection, Duration::ZERO);
                [id_of(&message).to_vec(), id_of(&joined).to_vec()]
            };
            let [(message, joined), (other_message, other_joined)] =
                [ids(one), ids(other)].map(|[message, joined]| (message, joined));
            assert_eq!(message == other_message, one[..2] == other[..2]);
            assert_eq!(joined == other_joined, one == other);
            assert!(message != other_joined && joined != other_message);
        }

        #[test]
        fn no_id_is_too_strange(id: Vec<u8>) {
            if let Some((stream, Place { sequence, connection })) = parse_id(&id) {
                let connection = connection.map(|it| format!(".{it}")).unwrap_or_default();
                assert_eq!(id, format!("{stream}-{sequence}{connection}").as_bytes());
            }
        }

        #[test]
        fn whatever_a_frame_has_it_is_one_line(frame: Vec<u8>) {
            let event = message(&frame);
            let lines: Vec<_> = event.split(|byte| matches!(byte, b'\n' | b'\r')).collect();
            assert_eq!(lines.len(), 4, "{lines:?}");
            assert_eq!(lines[1].len(), "data: ".len() + frame.len());
        }
    }
}
