//! The event stream's text, as a client reads it.
//!
//! Bytes come in pieces of any size; what is kept of an event is bounded.
//!
//! Specification: "Server-sent events" of the HTML standard, which basic/transports (2025-11-25)
//! refers to.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;

/// Bytes of a line that are kept beside the cap of a message: a field's name, or all of a field
/// that is no data.
const FIELD: usize = 1024;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// It carries a message.
    Message(Bytes),
    /// It names the endpoint of HTTP+SSE.
    Endpoint(Bytes),
    /// It carries nothing that concerns us, but may have moved the cursor.
    Other,
    /// It is larger than is taken; the rest of it is skipped.
    TooLarge,
}

/// Where to take up a stream that ended, and when.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The id of the last event that had one.
    pub(crate) id: Option<HeaderValue>,
    /// What the server said last of when to come back.
    pub(crate) retry: Option<Duration>,
}

/// Reads the text of one stream after another, all of them parts of the same stream of events.
#[derive(Debug)]
pub(crate) struct Decoder {
    max: usize,
    cursor: Cursor,
    start: Start,
    line: Vec<u8>,
    /// The line's end is still to come, but nothing of it will be kept.
    skips_line: bool,
    after_cr: bool,
    event: Pending,
}

/// How much of a byte order mark was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    Mark(usize),
    Over,
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What is known of the event under way.
#[derive(Debug, Default)]
struct Pending {
    data: Vec<u8>,
    kind: Kind,
    id: Option<Option<HeaderValue>>,
    too_large: bool,
    has_data: bool,
}

#[derive(Debug, Default, Clone, Copy)]
enum Kind {
    #[default]
    Message,
    Endpoint,
    Other,
}

impl Decoder {
    /// A decoder that takes messages of up to `max` bytes.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            cursor: Cursor::default(),
            start: Start::Mark(0),
            line: Vec::new(),
            skips_line: false,
            after_cr: false,
            event: Pending::default(),
        }
    }

    /// Bytes of a message that are taken.
    pub(crate) fn max(&self) -> usize {
        self.max
    }

    pub(crate) fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// The stream cannot be taken up where it was: it begins anew. Whether there was such a place.
    pub(crate) fn forget_place(&mut self) -> bool {
        self.cursor.id.take().is_some()
    }

    /// Another connection begins; what was unfinished on the last one is dropped.
    pub(crate) fn restart(&mut self) {
        self.start = Start::Mark(0);
        self.line.clear();
        self.skips_line = false;
        self.after_cr = false;
        self.event = Pending::default();
    }

    /// Takes bytes from `piece` until an event is whole; `None` once it is used up.
    pub(crate) fn next(&mut self, piece: &mut Bytes) -> Option<Event> {
        while !piece.is_empty() {
            if self.after_cr {
                self.after_cr = false;
                if piece[0] == b'\n' {
                    let _ = piece.split_to(1);
                    continue;
                }
            }
            if let Start::Mark(seen) = self.start {
                if piece[0] == BYTE_ORDER_MARK[seen] {
                    let _ = piece.split_to(1);
                    self.start = match seen + 1 {
                        3 => Start::Over,
                        seen => Start::Mark(seen),
                    };
                    continue;
                }
                // What looked like a mark is the beginning of a line.
                self.line.extend_from_slice(&BYTE_ORDER_MARK[..seen]);
                self.start = Start::Over;
            }
            let end = piece.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let Some(end) = end else {
                let rest = std::mem::take(piece);
                if self.keep(&rest) {
                    return Some(Event::TooLarge);
                }
                continue;
            };
            let part = piece.split_to(end);
            self.after_cr = piece.split_to(1)[0] == b'\r';
            let event = if self.line.is_empty() && !self.skips_line {
                self.take_line(&part)
            } else {
                self.finish_line(&part)
            };
            if event.is_some() {
                return event;
            }
        }
        None
    }

    /// Keeps a part of a line. Whether that made the event too large.
    fn keep(&mut self, part: &[u8]) -> bool {
        if self.skips_line {
            return false;
        }
        if self.line.first().or(part.first()) == Some(&b':') {
            self.skips_line = true;
            return false;
        }
        if !self.has_room(self.line.len() + part.len()) {
            self.skips_line = true;
            return self.overflow();
        }
        self.line.extend_from_slice(part);
        false
    }

    /// Whether a line of that length can belong to the event under way.
    fn has_room(&self, line: usize) -> bool {
        if self.event.too_large {
            line <= FIELD
        } else {
            self.event.data.len() + line <= self.max.saturating_add(FIELD)
        }
    }

    fn finish_line(&mut self, part: &[u8]) -> Option<Event> {
        if self.keep(part) {
            self.skips_line = false;
            return Some(Event::TooLarge);
        }
        if std::mem::take(&mut self.skips_line) {
            return None;
        }
        let mut line = std::mem::take(&mut self.line);
        let event = self.take_line(&line);
        line.clear();
        // A long line's room is not kept.
        if line.capacity() <= 2 * FIELD {
            self.line = line;
        }
        event
    }

    fn take_line(&mut self, line: &[u8]) -> Option<Event> {
        if line.is_empty() {
            return self.dispatch();
        }
        if line[0] != b':' && !self.has_room(line.len()) {
            return self.overflow().then_some(Event::TooLarge);
        }
        let (name, value) = match line.iter().position(|&byte| byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => return self.data(value),
            b"event" => {
                self.event.kind = match value {
                    b"" | b"message" => Kind::Message,
                    b"endpoint" => Kind::Endpoint,
                    _ => Kind::Other,
                }
            }
            b"id" => {
                if let Some(id) = read_id(value) {
                    self.event.id = Some(id);
                }
            }
            b"retry" => {
                let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
                let text = std::str::from_utf8(value).ok().filter(|_| digits);
                if let Some(text) = text {
                    let wait = text.parse().unwrap_or(u64::MAX);
                    self.cursor.retry = Some(Duration::from_millis(wait));
                }
            }
            _ => {}
        }
        None
    }

    fn data(&mut self, value: &[u8]) -> Option<Event> {
        let event = &mut self.event;
        if event.too_large {
            return None;
        }
        let between = usize::from(event.has_data);
        if event.data.len() + between + value.len() > self.max {
            return self.overflow().then_some(Event::TooLarge);
        }
        if event.has_data {
            event.data.push(b'\n');
        }
        event.has_data = true;
        event.data.extend_from_slice(value);
        None
    }

    /// The event under way is too large. Whether that is news.
    fn overflow(&mut self) -> bool {
        self.line = Vec::new();
        self.event.data = Vec::new();
        !std::mem::replace(&mut self.event.too_large, true)
    }

    fn dispatch(&mut self) -> Option<Event> {
        let event = std::mem::take(&mut self.event);
        let moved = event.id.is_some();
        if let Some(id) = event.id {
            self.cursor.id = id;
        }
        if event.too_large {
            return None;
        }
        match event.kind {
            _ if event.data.is_empty() => moved.then_some(Event::Other),
            Kind::Message => Some(Event::Message(event.data.into())),
            Kind::Endpoint => Some(Event::Endpoint(event.data.into())),
            Kind::Other => Some(Event::Other),
        }
    }
}

/// An id as it is sent back; `Some(None)` takes back the last one, `None` is no id at all.
fn read_id(value: &[u8]) -> Option<Option<HeaderValue>> {
    if value.is_empty() {
        return Some(None);
    }
    if value.len() > FIELD {
        return None;
    }
    HeaderValue::from_bytes(value).ok().map(Some)
}

/// The events in a text that comes in pieces of `size` bytes: the name and the data of those that
/// carry a message or name an endpoint, but for those over `max` bytes; then the id to take the
/// stream up at, and when. For tests that feed it anything.
#[doc(hidden)]
#[must_use]
pub fn decode_all(
    text: &[u8],
    size: usize,
    max: usize,
) -> (
    Vec<(&'static str, Bytes)>,
    Option<HeaderValue>,
    Option<Duration>,
) {
    let mut decoder = Decoder::new(max);
    let mut events = Vec::new();
    for piece in text.chunks(size.max(1)) {
        let mut piece = Bytes::copy_from_slice(piece);
        while let Some(event) = decoder.next(&mut piece) {
            match event {
                Event::Message(data) => events.push(("message", data)),
                Event::Endpoint(data) => events.push(("endpoint", data)),
                Event::Other | Event::TooLarge => {}
            }
        }
    }
    (events, decoder.cursor.id, decoder.cursor.retry)
}

#[cfg(test)]
mod tests;
