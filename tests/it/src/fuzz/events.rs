//! Event streams: which events come out, and where a stream is taken up again, does not depend on
//! the pieces in which the bytes came.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;
use turnbuckle_http::decode_events;

use super::written::cut;

/// Bytes that a line may have beside a message of maximal length: the name of its field. All other
/// fields are shorter.
const FIELD: usize = 1 << 10;

/// Sizes of pieces that are tried on every stream.
const SIZES: [usize; 4] = [usize::MAX, 1, 2, 3];

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Result of reading a stream: its events, the id of the last one, and the reconnection time.
type Read = (
    Vec<(&'static str, Bytes)>,
    Option<HeaderValue>,
    Option<Duration>,
);

/// Runs the target on `input`: a line of two numbers, the most bytes of a message and the size of
/// the pieces; and the stream.
pub fn events(input: &[u8]) {
    let (numbers, stream) = cut(input, b'\n');
    let (max, size) = cut(numbers, b' ');
    let (Some(max), Some(size)) = (number(max), number(size)) else {
        return;
    };
    let expected = model(stream, max);
    assert!(expected.0.iter().all(|(_, data)| data.len() <= max));
    for size in SIZES.into_iter().chain([size]) {
        assert_eq!(
            decode_events(stream, size, max),
            expected,
            "pieces of {size}"
        );
    }
}

fn number(text: &[u8]) -> Option<usize> {
    let number: u16 = std::str::from_utf8(text).ok()?.parse().ok()?;
    Some(number.into())
}

/// Returns the events, parsed in the simplest manner.
fn model(stream: &[u8], max: usize) -> Read {
    let mut rest = stream.strip_prefix(BYTE_ORDER_MARK).unwrap_or(stream);
    let (mut events, mut id, mut retry) = (Vec::new(), None, None);
    let mut event = Event::default();
    while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
        let line = &rest[..end];
        let ended = if rest[end..].starts_with(b"\r\n") {
            2
        } else {
            1
        };
        rest = &rest[end + ended..];
        if line.is_empty() {
            let event = std::mem::take(&mut event);
            if let Some(last) = &event.id {
                id.clone_from(last);
            }
            events.extend(event.event());
        } else {
            event.line(line, max);
            retry = event.retry.or(retry);
        }
    }
    (events, id, retry)
}

/// The event under way.
#[derive(Default)]
struct Event<'a> {
    kind: &'a [u8],
    data: Option<Vec<u8>>,
    id: Option<Option<HeaderValue>>,
    retry: Option<Duration>,
    too_large: bool,
}

impl<'a> Event<'a> {
    fn line(&mut self, line: &'a [u8], max: usize) {
        let (name, value) = cut(line, b':');
        if line.starts_with(b":") {
            return;
        }
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let before = self.data.as_ref().map_or(0, Vec::len);
        let room = if self.too_large {
            FIELD
        } else {
            max + FIELD - before
        };
        if line.len() > room {
            self.too_large = true;
            return;
        }
        match name {
            b"event" => self.kind = value,
            b"data" if !self.too_large => {
                let data = match self.data.take() {
                    Some(data) => [&data, value].join(&b'\n'),
                    None => value.to_vec(),
                };
                self.too_large |= data.len() > max;
                self.data = Some(data);
            }
            b"id" if value.is_empty() => self.id = Some(None),
            b"id" if value.len() <= FIELD => {
                let id = HeaderValue::from_bytes(value).ok();
                self.id = id.map(Some).or(self.id.take());
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let time = value.iter().fold(0_u64, |time, digit| {
                    let digit = u64::from(digit - b'0');
                    let more = time.checked_mul(10).and_then(|it| it.checked_add(digit));
                    more.unwrap_or(u64::MAX)
                });
                self.retry = Some(Duration::from_millis(time));
            }
            _ => {}
        }
    }

    fn event(self) -> Option<(&'static str, Bytes)> {
        let data = self.data.filter(|data| !data.is_empty())?;
        let name = match self.kind {
            b"" | b"message" => "message",
            b"endpoint" => "endpoint",
            _ => return None,
        };
        (!self.too_large).then(|| (name, data.into()))
    }
}
