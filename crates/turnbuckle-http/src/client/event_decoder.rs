//! A decoder for server-sent events.
//!
//! Bytes come in chunks of any size; the size of an event is bounded.
//!
//! Specification: "Server-sent events" of the HTML standard, which basic/transports (2025-11-25)
//! refers to.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;

/// Bytes of a line beyond the limit of a message: the name of a field, or all of a field that is not
/// `data`.
const MAX_FIELD_BYTES: usize = 1024;

/// A server-sent event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// An event with a message.
    Message(Bytes),
    /// An event with the endpoint of HTTP+SSE.
    Endpoint(Bytes),
    /// Any other event; its id counts.
    Other,
    /// An event larger than the limit; the rest of it is skipped.
    TooLarge,
}

/// The point at which a stream that ended is resumed, and the delay before that.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ResumePoint {
    /// The last event id; `None` for the beginning.
    pub(crate) last_event_id: Option<HeaderValue>,
    /// The last `retry` field of the server.
    pub(crate) reconnect_delay: Option<Duration>,
}

/// A decoder for one stream of events, which may come over several connections.
#[derive(Debug)]
pub(crate) struct EventDecoder {
    max_message_bytes: usize,
    resume_point: ResumePoint,
    byte_order_mark: ByteOrderMark,
    line: Vec<u8>,
    /// True if the rest of the line is dropped.
    skips_line: bool,
    after_cr: bool,
    event: PartialEvent,
}

/// The progress through an optional byte order mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByteOrderMark {
    Mark(usize),
    Over,
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The event that is being read.
#[derive(Debug, Default)]
struct PartialEvent {
    data: Vec<u8>,
    kind: EventKind,
    id: Option<Option<HeaderValue>>,
    too_large: bool,
    has_data: bool,
}

#[derive(Debug, Default, Clone, Copy)]
enum EventKind {
    #[default]
    Message,
    Endpoint,
    Other,
}

impl EventDecoder {
    /// Creates a decoder for messages of up to `max_message_bytes`.
    pub(crate) fn new(max_message_bytes: usize) -> Self {
        Self {
            max_message_bytes,
            resume_point: ResumePoint::default(),
            byte_order_mark: ByteOrderMark::Mark(0),
            line: Vec::new(),
            skips_line: false,
            after_cr: false,
            event: PartialEvent::default(),
        }
    }

    /// Returns the limit for a message, in bytes.
    pub(crate) fn max_message_bytes(&self) -> usize {
        self.max_message_bytes
    }

    /// Returns the point at which the stream can be resumed.
    pub(crate) fn resume_point(&self) -> &ResumePoint {
        &self.resume_point
    }

    /// Forgets the last event id, so that the stream starts anew. Returns whether there was one.
    pub(crate) fn forget_last_event_id(&mut self) -> bool {
        self.resume_point.last_event_id.take().is_some()
    }

    /// Prepares for another connection. An unfinished event of the last one is dropped.
    pub(crate) fn reset(&mut self) {
        self.byte_order_mark = ByteOrderMark::Mark(0);
        self.line.clear();
        self.skips_line = false;
        self.after_cr = false;
        self.event = PartialEvent::default();
    }

    /// Takes bytes from `chunk` until an event is complete; returns `None` once the chunk is used up.
    pub(crate) fn next_event(&mut self, chunk: &mut Bytes) -> Option<Event> {
        while !chunk.is_empty() {
            if self.after_cr {
                self.after_cr = false;
                if chunk[0] == b'\n' {
                    let _ = chunk.split_to(1);
                    continue;
                }
            }
            if let ByteOrderMark::Mark(seen) = self.byte_order_mark {
                if chunk[0] == BYTE_ORDER_MARK[seen] {
                    let _ = chunk.split_to(1);
                    self.byte_order_mark = match seen + 1 {
                        3 => ByteOrderMark::Over,
                        seen => ByteOrderMark::Mark(seen),
                    };
                    continue;
                }
                // The bytes so far were the beginning of a line.
                self.line.extend_from_slice(&BYTE_ORDER_MARK[..seen]);
                self.byte_order_mark = ByteOrderMark::Over;
            }
            let end = chunk.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let Some(end) = end else {
                let rest = std::mem::take(chunk);
                if self.append_to_line(&rest) {
                    return Some(Event::TooLarge);
                }
                continue;
            };
            let part = chunk.split_to(end);
            self.after_cr = chunk.split_to(1)[0] == b'\r';
            let event = if self.line.is_empty() && !self.skips_line {
                self.parse_line(&part)
            } else {
                self.finish_line(&part)
            };
            if event.is_some() {
                return event;
            }
        }
        None
    }

    /// Appends to the current line. Returns whether that made the event too large.
    fn append_to_line(&mut self, part: &[u8]) -> bool {
        if self.skips_line {
            return false;
        }
        if self.line.first().or(part.first()) == Some(&b':') {
            self.skips_line = true;
            return false;
        }
        if !self.line_fits(self.line.len() + part.len()) {
            self.skips_line = true;
            return self.mark_too_large();
        }
        self.line.extend_from_slice(part);
        false
    }

    /// Returns whether a line of this length fits into the event.
    fn line_fits(&self, line: usize) -> bool {
        if self.event.too_large {
            line <= MAX_FIELD_BYTES
        } else {
            self.event.data.len() + line <= self.max_message_bytes.saturating_add(MAX_FIELD_BYTES)
        }
    }

    fn finish_line(&mut self, part: &[u8]) -> Option<Event> {
        if self.append_to_line(part) {
            self.skips_line = false;
            return Some(Event::TooLarge);
        }
        if std::mem::take(&mut self.skips_line) {
            return None;
        }
        let mut line = std::mem::take(&mut self.line);
        let event = self.parse_line(&line);
        line.clear();
        // The buffer of a long line is freed.
        if line.capacity() <= 2 * MAX_FIELD_BYTES {
            self.line = line;
        }
        event
    }

    fn parse_line(&mut self, line: &[u8]) -> Option<Event> {
        if line.is_empty() {
            return self.dispatch();
        }
        if line[0] != b':' && !self.line_fits(line.len()) {
            return self.mark_too_large().then_some(Event::TooLarge);
        }
        let (name, value) = match line.iter().position(|&byte| byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => return self.append_data(value),
            b"event" => {
                self.event.kind = match value {
                    b"" | b"message" => EventKind::Message,
                    b"endpoint" => EventKind::Endpoint,
                    _ => EventKind::Other,
                }
            }
            b"id" => {
                if let Some(id) = parse_event_id(value) {
                    self.event.id = Some(id);
                }
            }
            b"retry" => {
                let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
                let text = std::str::from_utf8(value).ok().filter(|_| digits);
                if let Some(text) = text {
                    let wait = text.parse().unwrap_or(u64::MAX);
                    self.resume_point.reconnect_delay = Some(Duration::from_millis(wait));
                }
            }
            _ => {}
        }
        None
    }

    fn append_data(&mut self, value: &[u8]) -> Option<Event> {
        let event = &mut self.event;
        if event.too_large {
            return None;
        }
        let between = usize::from(event.has_data);
        if event.data.len() + between + value.len() > self.max_message_bytes {
            return self.mark_too_large().then_some(Event::TooLarge);
        }
        if event.has_data {
            event.data.push(b'\n');
        }
        event.has_data = true;
        event.data.extend_from_slice(value);
        None
    }

    /// Marks the event as too large. Returns whether it was not so before.
    fn mark_too_large(&mut self) -> bool {
        self.line = Vec::new();
        self.event.data = Vec::new();
        !std::mem::replace(&mut self.event.too_large, true)
    }

    fn dispatch(&mut self) -> Option<Event> {
        let event = std::mem::take(&mut self.event);
        let moved = event.id.is_some();
        if let Some(id) = event.id {
            self.resume_point.last_event_id = id;
        }
        if event.too_large {
            return None;
        }
        match event.kind {
            _ if event.data.is_empty() => moved.then_some(Event::Other),
            EventKind::Message => Some(Event::Message(event.data.into())),
            EventKind::Endpoint => Some(Event::Endpoint(event.data.into())),
            EventKind::Other => Some(Event::Other),
        }
    }
}

/// Parses an event id. Returns `Some(None)` for an empty one, which unsets the last id, and `None`
/// for one that cannot be sent back.
fn parse_event_id(value: &[u8]) -> Option<Option<HeaderValue>> {
    if value.is_empty() {
        return Some(None);
    }
    if value.len() > MAX_FIELD_BYTES {
        return None;
    }
    HeaderValue::from_bytes(value).ok().map(Some)
}

/// Decodes a text that comes in chunks of `size` bytes, for tests.
///
/// Returns the name and the data of the events that carry a message of at most `max` bytes or an
/// endpoint, then the last event id and the last `retry`.
// Hidden, since only the fuzz target of this project calls it.
#[doc(hidden)]
#[must_use]
pub fn decode_events(
    text: &[u8],
    size: usize,
    max: usize,
) -> (
    Vec<(&'static str, Bytes)>,
    Option<HeaderValue>,
    Option<Duration>,
) {
    let mut decoder = EventDecoder::new(max);
    let mut events = Vec::new();
    for chunk in text.chunks(size.max(1)) {
        let mut chunk = Bytes::copy_from_slice(chunk);
        while let Some(event) = decoder.next_event(&mut chunk) {
            match event {
                Event::Message(data) => events.push(("message", data)),
                Event::Endpoint(data) => events.push(("endpoint", data)),
                Event::Other | Event::TooLarge => {}
            }
        }
    }
    (
        events,
        decoder.resume_point.last_event_id,
        decoder.resume_point.reconnect_delay,
    )
}

#[cfg(test)]
mod tests;
