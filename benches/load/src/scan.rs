//! The place where an HTTP/1.1 answer ends, and little more.

use std::io;
use std::ops::Range;

use memchr::{memchr, memmem};

/// A whole answer at the beginning of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// As it was sent: sizes of chunks are in it.
    pub(crate) body: Range<usize>,
}

/// Returns the answer that `bytes` begin with, once all of it is there.
pub(crate) fn answer(bytes: &[u8]) -> io::Result<Option<Answer>> {
    let Some(head) = memmem::find(bytes, b"\r\n\r\n").map(|at| at + 4) else {
        return Ok(None);
    };
    let status = status(bytes).ok_or_else(|| malformed_answer("no status", bytes))?;
    let length =
        match framing(&bytes[..head]).ok_or_else(|| malformed_answer("no length", bytes))? {
            Framing::Length(length) => Some(length).filter(|length| bytes.len() - head >= *length),
            Framing::Chunks => chunks(&bytes[head..])?,
        };
    Ok(length.map(|length| Answer {
        status,
        body: head..head + length,
    }))
}

/// Returns the value of a header by its name in lower case.
pub(crate) fn header<'a>(head: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    let mut rest = head;
    while let Some(end) = memchr(b'\n', rest) {
        let line = &rest[..end];
        rest = &rest[end + 1..];
        let named = line.len() > wanted.len()
            && line[wanted.len()] == b':'
            && line[..wanted.len()].eq_ignore_ascii_case(wanted);
        if named {
            return Some(line[wanted.len() + 1..].trim_ascii());
        }
    }
    None
}

enum Framing {
    Length(usize),
    Chunks,
}

fn framing(head: &[u8]) -> Option<Framing> {
    if let Some(length) = header(head, b"content-length") {
        return Some(Framing::Length(decimal(length)?));
    }
    match header(head, b"transfer-encoding") {
        Some(coding) if coding.eq_ignore_ascii_case(b"chunked") => Some(Framing::Chunks),
        Some(_) => None,
        None => Some(Framing::Length(0)),
    }
}

/// Returns the length of a body in chunks, its end included, once all of it is there.
fn chunks(body: &[u8]) -> io::Result<Option<usize>> {
    let mut at = 0;
    loop {
        let Some(line) = memchr(b'\n', &body[at..]) else {
            return Ok(None);
        };
        let size = std::str::from_utf8(body[at..at + line].trim_ascii()).ok();
        let size = size.and_then(|size| usize::from_str_radix(size, 16).ok());
        let size = size
            .filter(|size| *size < 1 << 30)
            .ok_or_else(|| malformed_answer("no size of a chunk", &body[at..]))?;
        at += line + 1 + size + 2;
        if at > body.len() {
            return Ok(None);
        }
        if size == 0 {
            return Ok(Some(at));
        }
    }
}

fn status(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    decimal(digits).and_then(|status| u16::try_from(status).ok())
}

fn decimal(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn malformed_answer(what: &str, bytes: &[u8]) -> io::Error {
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]);
    io::Error::other(format!("{what} in the answer: {shown}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns every beginning of the answer is not yet one; the whole is, whatever follows.
    fn whole(text: &str) -> Answer {
        for end in 0..text.len() {
            assert_eq!(answer(&text.as_bytes()[..end]).unwrap(), None, "{end}");
        }
        let found = answer(text.as_bytes()).unwrap().unwrap();
        assert_eq!(found.body.end, text.len());
        let more = format!("{text}HTTP/1.1 200 OK\r\n");
        assert_eq!(answer(more.as_bytes()).unwrap().as_ref(), Some(&found));
        found
    }

    #[test]
    fn answers_by_length_and_in_chunks_end_where_they_end() {
        let text = "HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(&text[whole(text).body], "hello");
        let text = "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n3\r\nhel\r\nA\r\nlo, world!\r\n0\r\n\r\n";
        assert_eq!(whole(text).status, 200);
        let text = "HTTP/1.1 202 Accepted\r\nDate: now\r\n\r\n";
        assert!(whole(text).body.is_empty());
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        for text in [
            "HTTP/1.0 200 OK\r\n\r\n",
            "HTTP/1.1 abc\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffff\r\n",
        ] {
            assert!(answer(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_header_is_found_by_its_whole_name() {
        let head = b"HTTP/1.1 200 OK\r\nX-Mcp-Session-Id: no\r\nMCP-Session-Id: yes \r\n\r\n";
        assert_eq!(header(head, b"mcp-session-id"), Some(&b"yes"[..]));
        assert_eq!(header(head, b"mcp-session"), None);
    }
}
