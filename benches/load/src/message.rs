//! The messages, as bytes that are ready to be sent but for their id.

use crate::plan::Dialect;

/// The text that every answer to a call holds.
pub(crate) const ECHOED: &[u8] = b"hello";

/// The id of the first call; all have as many digits.
const FIRST_ID: u64 = 100_000_000;

/// Calls of one sender before its ids meet those of the next.
const IDS_OF_EACH: u64 = 5_000_000;

/// Calls that one sender may make in a slice; then it stops, so that no slice grows without end.
pub(crate) const MOST_CALLS: usize = 4_000_000;

pub(crate) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}"#;

pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

const LEGACY: &str = r#"{"jsonrpc":"2.0","id":100000000,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}"#;

const MODERN: &str = r#"{"jsonrpc":"2.0","id":100000000,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"load","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"name":"echo","arguments":{"message":"hello"}}}"#;

const LEGACY_HEADERS: &str = "MCP-Protocol-Version: 2025-11-25\r\n";

const MODERN_HEADERS: &str =
    "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n";

/// A call that is sent again and again, each time under another id.
pub(crate) struct Call {
    bytes: Vec<u8>,
    /// The place where the id's digits are.
    id: std::ops::Range<usize>,
    next: u64,
}

impl Call {
    /// As a line.
    pub(crate) fn line(dialect: Dialect) -> Self {
        Self::new(format!("{}\n", call(dialect)), 0)
    }

    /// As a POST to a port, of one of several senders, with the headers that its session needs.
    pub(crate) fn post(dialect: Dialect, port: u16, headers: &str, sender: u64) -> Self {
        let of_era = match dialect {
            Dialect::Modern => MODERN_HEADERS,
            Dialect::Bare | Dialect::Session => LEGACY_HEADERS,
        };
        let headers = format!("{of_era}{headers}");
        Self::new(post(port, &headers, call(dialect)), sender)
    }

    fn new(text: String, sender: u64) -> Self {
        let digits = FIRST_ID.to_string();
        let at = text.find(&digits).unwrap_or(0);
        Self {
            id: at..at + digits.len(),
            next: FIRST_ID + sender * IDS_OF_EACH,
            bytes: text.into_bytes(),
        }
    }

    /// Returns the bytes under the next id.
    pub(crate) fn next(&mut self) -> &[u8] {
        let mut rest = self.next;
        for digit in self.bytes[self.id.clone()].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.next += 1;
        &self.bytes
    }
}

/// Returns a request, but for the call's own headers.
pub(crate) fn post(port: u16, headers: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Returns the headers of a session's requests.
pub(crate) fn of_session(id: &str) -> String {
    format!("Mcp-Session-Id: {id}\r\n")
}

/// Returns the headers of `notifications/initialized`.
pub(crate) fn after_handshake(session: &str) -> String {
    format!("{LEGACY_HEADERS}{session}")
}

fn call(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Modern => MODERN,
        Dialect::Bare | Dialect::Session => LEGACY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_and_lengths_do_not() {
        let mut call = Call::post(Dialect::Modern, 80, "X: y\r\n", 3);
        let first = String::from_utf8(call.next().to_vec()).unwrap();
        let second = String::from_utf8(call.next().to_vec()).unwrap();
        assert!(first.contains("\"id\":115000000,"), "{first}");
        assert!(second.contains("\"id\":115000001,"), "{second}");
        assert_eq!(first.len(), second.len());
        let (head, body) = first.split_once("\r\n\r\n").unwrap();
        assert!(head.ends_with(&format!("X: y\r\nContent-Length: {}", body.len())));
    }

    #[test]
    fn a_line_ends_once() {
        for dialect in [Dialect::Bare, Dialect::Session, Dialect::Modern] {
            let mut call = Call::line(dialect);
            let line = call.next();
            assert_eq!(memchr::memchr(b'\n', line), Some(line.len() - 1));
        }
    }
}
