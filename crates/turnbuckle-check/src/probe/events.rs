//! Server-Sent Events, read as they arrive.

use super::ProbeError;

/// Bytes that one event may have.
const MAX_EVENT_BYTES: usize = 64 << 20;

/// An event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// Value of `id`.
    pub id: Option<String>,
    /// Value of `event`.
    pub kind: Option<String>,
    /// Value of `retry`.
    pub retry: Option<String>,
    /// Lines of `data`, joined; `None` for an event without one.
    pub data: Option<String>,
}

impl Event {
    /// Returns the message in the event; `None` for comments and events that only carry an id.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.data
            .as_deref()
            .map(str::trim)
            .filter(|data| !data.is_empty())
    }
}

/// Reads events from pieces of a body.
#[derive(Debug, Default)]
pub struct EventReader {
    unread: Vec<u8>,
}

impl EventReader {
    /// Takes in a piece of the body.
    ///
    /// # Errors
    /// Fails if an event is larger than the limit.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), ProbeError> {
        self.unread.extend_from_slice(bytes);
        if self.unread.len() > MAX_EVENT_BYTES {
            return Err(ProbeError::TooMuch {
                limit: MAX_EVENT_BYTES,
                unit: "bytes in one event",
            });
        }
        Ok(())
    }

    /// Returns the next whole event.
    pub fn next_event(&mut self) -> Option<Event> {
        let (length, end) = end_of_event(&self.unread)?;
        let event = parse(&self.unread[..length]);
        self.unread.drain(..end);
        Some(event)
    }

    /// Returns the bytes that no event has ended.
    #[must_use]
    pub fn rest(&self) -> &[u8] {
        &self.unread
    }
}

/// Returns the length of the first event, and the length with the empty line after it.
fn end_of_event(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut start = 0;
    loop {
        let rest = &bytes[start..];
        let at = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
        // A carriage return at the end may be half of a line end.
        if rest[at] == b'\r' && rest.len() == at + 1 {
            return None;
        }
        let ending = if rest[at..].starts_with(b"\r\n") {
            2
        } else {
            1
        };
        if at == 0 {
            return Some((start, start + ending));
        }
        start += at + ending;
    }
}

fn parse(event: &[u8]) -> Event {
    let mut parsed = Event::default();
    let text = String::from_utf8_lossy(event);
    for line in text.replace("\r\n", "\n").split(['\n', '\r']) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        let place = match name {
            "id" => &mut parsed.id,
            "event" => &mut parsed.kind,
            "retry" => &mut parsed.retry,
            "data" => {
                match &mut parsed.data {
                    Some(data) => {
                        data.push('\n');
                        data.push_str(value);
                    }
                    None => parsed.data = Some(value.to_owned()),
                }
                continue;
            }
            _ => continue,
        };
        *place = Some(value.to_owned());
    }
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&str]) -> Vec<Event> {
        let mut reader = EventReader::default();
        let mut events = Vec::new();
        for piece in pieces {
            reader.push(piece.as_bytes()).expect("it is small");
            while let Some(event) = reader.next_event() {
                events.push(event);
            }
        }
        events
    }

    #[test]
    fn events_are_read_with_every_line_end_in_any_pieces() {
        for stream in [
            "id: 7\ndata: {\ndata: }\n\n: comment\n\nevent: message\ndata:x\n\n",
            "id: 7\r\ndata: {\r\ndata: }\r\n\r\n: comment\r\n\r\nevent: message\r\ndata:x\r\n\r\n",
            "id: 7\rdata: {\rdata: }\r\r: comment\r\revent: message\rdata:x\r\r\n",
        ] {
            let whole = read(&[stream]);
            assert_eq!(whole.len(), 3, "{stream:?}");
            assert_eq!(whole[0].id.as_deref(), Some("7"));
            assert_eq!(whole[0].message(), Some("{\n}"));
            assert_eq!(whole[1], Event::default());
            assert_eq!(whole[2].message(), Some("x"));
            for at in 1..stream.len() {
                assert_eq!(read(&[&stream[..at], &stream[at..]]), whole, "{at}");
            }
        }
    }
}
