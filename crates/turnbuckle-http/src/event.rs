//! The text of SSE events as a server writes it. A message is written as one line, so an event has
//! one `data` line.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use turnbuckle_types::base::change_position::ChangePosition;

/// The media type of a stream.
pub(crate) const MEDIA_TYPE: &str = "text/event-stream";

/// A comment, which clients ignore. It shows them and proxies that the stream is still open.
pub(crate) const KEEP_ALIVE: Bytes = Bytes::from_static(b":\n\n");

/// Returns an event that carries a message and has no id.
pub(crate) fn message(frame: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(frame.len() + 32);
    append_message(&mut out, frame);
    out
}

/// The text before and after the message of an event.
const EVENT_START: &[u8] = b"event: message\ndata: ";
const EVENT_END: &[u8] = b"\n\n";

/// Appends an event that carries a message and has no id.
pub(crate) fn append_message(out: &mut Vec<u8>, frame: &[u8]) {
    out.extend_from_slice(EVENT_START);
    append_line(out, frame);
    out.extend_from_slice(EVENT_END);
}

/// Returns an event that carries a message in two pieces. It is made in the buffer of the first.
pub(crate) fn from_answer(mut frame: Vec<u8>, tail: &[u8]) -> Vec<u8> {
    let length = frame.len();
    frame.reserve(EVENT_START.len() + tail.len() + EVENT_END.len());
    frame.resize(length + EVENT_START.len(), 0);
    frame.copy_within(..length, EVENT_START.len());
    frame[..EVENT_START.len()].copy_from_slice(EVENT_START);
    frame.extend_from_slice(tail);
    join_lines(&mut frame[EVENT_START.len()..]);
    frame.extend_from_slice(EVENT_END);
    frame
}

/// The query parameter with a connection's id in the URI that its messages are posted to.
pub(crate) const CONNECTION_ID: &str = "sessionId";

/// Returns the event that names the URI to which messages of a connection are posted.
pub(crate) fn endpoint(messages: &str, id: &str) -> Bytes {
    let mut out = b"event: endpoint\ndata: ".to_vec();
    append_line(&mut out, messages.as_bytes());
    let mark = if messages.contains('?') { '&' } else { '?' };
    out.extend_from_slice(format!("{mark}{CONNECTION_ID}={id}\n\n").as_bytes());
    out.into()
}

/// The name of a stream in the ids of its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamName {
    /// The position in the log of changes up to which the client is told of everything once it has received
    /// the event, for the standalone stream of a session that other instances serve too.
    pub(crate) changes: Option<ChangePosition>,
    /// The instance that owns the stream, if other instances serve the session too.
    pub(crate) instance: Option<Arc<str>>,
    /// The number of the stream: in its session, or else in its instance.
    pub(crate) number: u64,
}

impl StreamName {
    /// The name of streams to which no client can come back. Their events have no ids.
    pub(crate) const NONE: Self = Self {
        changes: None,
        instance: None,
        number: u64::MAX,
    };
}

impl From<u64> for StreamName {
    fn from(number: u64) -> Self {
        Self {
            changes: None,
            instance: None,
            number,
        }
    }
}

/// Writes `<changes>.<instance>.<number>`, without the parts that are not there.
impl fmt::Display for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(changes) = &self.changes {
            write!(f, "{changes}.")?;
        }
        if let Some(instance) = &self.instance {
            write!(f, "{instance}.")?;
        }
        write!(f, "{}", self.number)
    }
}

/// Returns an event of a resumable stream: a message with an id. Of a stream that cannot be resumed the
/// event has none.
pub(crate) fn message_with_id(stream: &StreamName, sequence: u64, frame: &[u8]) -> Bytes {
    const FIXED: usize = b"id: -\nevent: message\ndata: \n\n".len();
    if *stream == StreamName::NONE {
        return message(frame).into();
    }
    let mut buffers = [itoa::Buffer::new(), itoa::Buffer::new()];
    let [first, second] = &mut buffers;
    let changes = stream.changes.map(|changes| changes.to_string());
    let names = [changes.as_deref(), stream.instance.as_deref()];
    let names = names.into_iter().flatten();
    let (stream, sequence) = (first.format(stream.number), second.format(sequence));
    // The capacity is exact, so that the buffer becomes `Bytes` without being copied.
    let named: usize = names.clone().map(|name| name.len() + 1).sum();
    let mut out = Vec::with_capacity(FIXED + named + stream.len() + sequence.len() + frame.len());
    out.extend_from_slice(b"id: ");
    for name in names {
        out.extend_from_slice(name.as_bytes());
        out.push(b'.');
    }
    out.extend_from_slice(stream.as_bytes());
    out.push(b'-');
    out.extend_from_slice(sequence.as_bytes());
    out.push(b'\n');
    append_message(&mut out, frame);
    out.into()
}

/// Returns the message of an event of a resumable stream.
#[cfg(feature = "store")]
pub(crate) fn message_of(event: &Bytes) -> Bytes {
    // The id has no line break.
    let id_end = event.iter().position(|&byte| byte == b'\n');
    let start = id_end.map_or(0, |end| end + 1 + EVENT_START.len());
    event.slice(start..event.len() - EVENT_END.len())
}

/// Appends the first event of a resumable stream: an id to resume it with, and the delay before a
/// reconnect.
pub(crate) fn append_priming_event(out: &mut Vec<u8>, stream: &StreamName, retry: Duration) {
    let retry = retry_field(retry);
    out.extend_from_slice(format!("id: {stream}-0\n{retry}data: \n\n").as_bytes());
}

/// Returns the first event of one connection of a stream, which begins after the event `sequence`.
/// Its id names the connection too, since several connections may begin at one event.
pub(crate) fn priming_event_at(
    stream: &StreamName,
    sequence: u64,
    connection: u64,
    retry: Duration,
) -> Bytes {
    let retry = retry_field(retry);
    format!("id: {stream}-{sequence}.{connection}\n{retry}data: \n\n").into()
}

/// Returns the first event of a stream that a client resumes: the id that it came back with, and the delay
/// before a reconnect. A client that knows only the ids of its newest connection can come back again.
pub(crate) fn resumed_event(id: &[u8], retry: Duration) -> Bytes {
    let retry = retry_field(retry);
    [b"id: ", id, b"\n", retry.as_bytes(), b"data: \n\n"]
        .concat()
        .into()
}

fn retry_field(after: Duration) -> String {
    format!("retry: {}\n", after.as_millis())
}

/// A position on a stream: the last event that a client received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamPosition {
    pub(crate) sequence: u64,
    /// The connection that began there, if the id is that of a connection's first event.
    pub(crate) connection: Option<u64>,
}

/// The id of an event, as a client gives it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventId<'a> {
    /// The position in the log of changes, if the id is one of the standalone stream.
    pub(crate) changes: Option<ChangePosition>,
    /// The instance that owns the stream, if the id names one.
    pub(crate) instance: Option<&'a str>,
    /// The number of the stream.
    pub(crate) stream: u64,
    pub(crate) position: StreamPosition,
}

/// The characters of the name of an instance.
const INSTANCE_CHARS: usize = 8;

/// Parses the id of an event.
pub(crate) fn parse_event_id(id: &[u8]) -> Option<EventId<'_>> {
    let (stream, place) = std::str::from_utf8(id).ok()?.split_once('-')?;
    // No name of an instance begins like this.
    let (changes, stream) = match stream.split_once('.') {
        Some((changes, stream)) if changes.starts_with('c') => {
            (Some(ChangePosition::parse(changes)?), stream)
        }
        _ => (None, stream),
    };
    let (instance, stream) = match stream.split_once('.') {
        Some((instance, number)) => (Some(instance), number),
        None => (None, stream),
    };
    let is_instance = |name: &str| {
        let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        name.len() == INSTANCE_CHARS && name.bytes().all(is_part)
    };
    if !instance.is_none_or(is_instance) || (changes.is_some() && instance.is_none()) {
        return None;
    }
    let (sequence, connection) = match place.split_once('.') {
        Some((sequence, connection)) => (sequence, Some(parse_number(connection)?)),
        None => (place, None),
    };
    let sequence = parse_number(sequence)?;
    let position = StreamPosition {
        sequence,
        connection,
    };
    Some(EventId {
        changes,
        instance,
        stream: parse_number(stream)?,
        position,
    })
}

/// Parses a decimal number without sign and leading zeros.
fn parse_number(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let padded = text.len() > 1 && text.starts_with('0');
    (plain && !padded).then(|| text.parse().ok())?
}

fn append_line(out: &mut Vec<u8>, frame: &[u8]) {
    let start = out.len();
    out.extend_from_slice(frame);
    join_lines(&mut out[start..]);
}

/// Replaces line breaks by spaces. In JSON text a line break can only be white space.
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
            &message_with_id(&3.into(), 7, b"{}")[..],
            b"id: 3-7\nevent: message\ndata: {}\n\n"
        );
    }

    #[cfg(feature = "store")]
    #[test]
    fn the_message_of_an_event_is_found() {
        let name = name(Some("k3f9x2aq"), 3);
        for message in ["{}", "{\"a\": \"data: x\"}"] {
            let event = message_with_id(&name, 7, message.as_bytes());
            assert_eq!(message_of(&event), message);
        }
    }

    #[test]
    fn a_message_in_two_pieces_gives_the_same_event_as_the_whole() {
        for (frame, tail) in [("", ""), ("{}", ""), ("{\"a\":\r\n", "1\n}"), ("{", "\r}")] {
            let whole = message([frame, tail].concat().as_bytes());
            assert_eq!(from_answer(frame.into(), tail.as_bytes()), whole);
        }
        let roomy = Vec::with_capacity(100);
        let at = roomy.as_ptr();
        let event = from_answer(roomy, b"{}");
        assert_eq!(event.as_ptr(), at, "the buffer is used again");
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
        append_priming_event(&mut text, &3.into(), Duration::from_millis(500));
        assert_eq!(&text[..], b"id: 3-0\nretry: 500\ndata: \n\n");
        let text = priming_event_at(&0.into(), 7, 2, Duration::from_secs(1));
        assert_eq!(&text[..], b"id: 0-7.2\nretry: 1000\ndata: \n\n");
        let text = resumed_event(b"3-7", Duration::from_secs(1));
        assert_eq!(&text[..], b"id: 3-7\nretry: 1000\ndata: \n\n");
    }

    fn id(
        instance: Option<&str>,
        stream: u64,
        sequence: u64,
        connection: Option<u64>,
    ) -> Option<EventId<'_>> {
        Some(EventId {
            changes: None,
            instance,
            stream,
            position: StreamPosition {
                sequence,
                connection,
            },
        })
    }

    fn name(instance: Option<&str>, number: u64) -> StreamName {
        StreamName {
            changes: None,
            instance: instance.map(Into::into),
            number,
        }
    }

    #[test]
    fn an_event_of_a_shared_standalone_stream_names_a_position_of_changes() {
        let position = ChangePosition {
            number: 12,
            mark: 0xaf,
        };
        let stream = StreamName {
            changes: Some(position),
            ..name(Some("k3f9x2aq"), 3)
        };
        let event = message_with_id(&stream, 7, b"{}");
        let text = "id: c12_000000af.k3f9x2aq.3-7\nevent: message\ndata: {}\n\n";
        assert_eq!(event, text);
        let priming = priming_event_at(&stream, 7, 2, Duration::ZERO);
        for (event, connection) in [(event, None), (priming, Some(2))] {
            let parsed = parse_event_id(id_of(&event)).unwrap();
            assert_eq!(parsed.changes, Some(position));
            let rest = EventId {
                changes: None,
                ..parsed
            };
            assert_eq!(Some(rest), id(Some("k3f9x2aq"), 3, 7, connection));
        }
    }

    #[test]
    fn ids_are_read_strictly() {
        assert_eq!(parse_event_id(b"3-7"), id(None, 3, 7, None));
        assert_eq!(parse_event_id(b"0-7.2"), id(None, 0, 7, Some(2)));
        let own = parse_event_id(b"k3f9x2aq.3-7");
        assert_eq!(own, id(Some("k3f9x2aq"), 3, 7, None));
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
            "k3f9x2aq-7",
            "k3f9x2aq.-7",
            ".3-7",
            "k3f9x2a.3-7",
            "k3f9x2aqq.3-7",
            "K3f9x2aq.3-7",
            "k3f9/2aq.3-7",
            "k3f9x2aq.3.3-7",
            "c12_000000af.3-7",
            "c12_000000af-7",
            "c12.k3f9x2aq.3-7",
            "c12_af.k3f9x2aq.3-7",
            "c12_000000af.c12_000000af.k3f9x2aq.3-7",
            "ck3f9x2a.3-7",
        ] {
            assert_eq!(parse_event_id(bad.as_bytes()), None, "{bad}");
        }
    }

    /// Returns the id of the first event in a text.
    fn id_of(event: &[u8]) -> &[u8] {
        let line = event.split(|&byte| byte == b'\n').next().unwrap();
        line.strip_prefix(b"id: ").unwrap()
    }

    proptest::proptest! {
        #[test]
        fn an_id_comes_back_as_it_went(shared: bool, stream: u64, sequence: u64, connection: u64) {
            let instance = shared.then_some("k3f9x2aq");
            let name = name(instance, stream);
            let event = message_with_id(&name, sequence, b"{}");
            assert_eq!(parse_event_id(id_of(&event)), id(instance, stream, sequence, None));
            let event = priming_event_at(&name, sequence, connection, Duration::ZERO);
            let own = id(instance, stream, sequence, Some(connection));
            assert_eq!(parse_event_id(id_of(&event)), own);
        }

        #[test]
        fn two_events_never_have_one_id(one: [u8; 3], other: [u8; 3]) {
            let ids = |it: [u8; 3]| {
                let [stream, sequence, connection] = it.map(u64::from);
                let message = message_with_id(&stream.into(), sequence, b"{}");
                let joined = priming_event_at(&stream.into(), sequence, connection, Duration::ZERO);
                [id_of(&message).to_vec(), id_of(&joined).to_vec()]
            };
            let [(message, joined), (other_message, other_joined)] =
                [ids(one), ids(other)].map(|[message, joined]| (message, joined));
            assert_eq!(message == other_message, one[..2] == other[..2]);
            assert_eq!(joined == other_joined, one == other);
            assert!(message != other_joined && joined != other_message);
        }

        #[test]
        fn an_id_that_is_parsed_is_the_one_that_is_written(id: Vec<u8>) {
            if let Some(EventId { changes, instance, stream, position }) = parse_event_id(&id) {
                let StreamPosition { sequence, connection } = position;
                let name = StreamName { changes, ..name(instance, stream) };
                let connection = connection.map(|it| format!(".{it}")).unwrap_or_default();
                assert_eq!(id, format!("{name}-{sequence}{connection}").as_bytes());
            }
        }

        #[test]
        fn an_event_has_each_message_on_one_line(frame: Vec<u8>) {
            let event = message(&frame);
            let lines: Vec<_> = event.split(|byte| matches!(byte, b'\n' | b'\r')).collect();
            assert_eq!(lines.len(), 4, "{lines:?}");
            assert_eq!(lines[1].len(), "data: ".len() + frame.len());
        }
    }
}
