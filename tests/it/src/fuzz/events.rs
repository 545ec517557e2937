//! Event streams: which messages come out does not depend on the pieces in which the bytes came.

use bytes::Bytes;
use turnbuckle_http::decode_all;

use super::written::cut;

/// What a line may have beside a message of the most bytes: the name of its field.
const FIELD: usize = 1 << 10;

/// Sizes of pieces that are tried on every stream.
const SIZES: [usize; 4] = [usize::MAX, 1, 2, 3];

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The input: a line of two numbers, the most bytes of a message and the size of the pieces; and
/// the stream.
pub fn events(input: &[u8]) {
    let (numbers, stream) = cut(input, b'\n');
    let (max, size) = cut(numbers, b' ');
    let (Some(max), Some(size)) = (number(max), number(size)) else {
        return;
    };
    let expected = model(stream, max);
    assert!(expected.iter().all(|message| message.len() <= max));
    for size in SIZES.into_iter().chain([size]) {
        assert_eq!(decode_all(stream, size, max), expected, "pieces of {size}");
    }
}

fn number(text: &[u8]) -> Option<usize> {
    let number: u16 = std::str::from_utf8(text).ok()?.parse().ok()?;
    Some(number.into())
}

/// The messages by the simplest means.
fn model(stream: &[u8], max: usize) -> Vec<Bytes> {
    let mut rest = stream.strip_prefix(BYTE_ORDER_MARK).unwrap_or(stream);
    let mut messages = Vec::new();
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
            messages.extend(std::mem::take(&mut event).message());
        } else {
            event.line(line, max);
        }
    }
    messages
}

/// The event under way.
#[derive(Default)]
struct Event<'a> {
    kind: &'a [u8],
    data: Option<Vec<u8>>,
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
        self.too_large |= before + line.len() > max + FIELD;
        match name {
            b"event" => self.kind = value,
            b"data" => {
                let data = match self.data.take() {
                    Some(data) => [&data, value].join(&b'\n'),
                    None => value.to_vec(),
                };
                self.too_large |= data.len() > max;
                self.data = Some(data);
            }
            _ => {}
        }
    }

    fn message(self) -> Option<Bytes> {
        let data = self.data.filter(|data| !data.is_empty())?;
        let is_message = matches!(self.kind, b"" | b"message");
        (is_message && !self.too_large).then(|| data.into())
    }
}
