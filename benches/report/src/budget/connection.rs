//! One HTTP/1.1 connection that is kept.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use super::client::TIMEOUT;
use super::load::EITHER;

pub(super) struct Connection {
    stream: BufReader<TcpStream>,
    accepts: &'static str,
}

impl Connection {
    pub(super) fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Self {
            stream: BufReader::new(stream),
            accepts: EITHER,
        })
    }

    /// Sets what the answers to POSTs may be.
    pub(super) fn accepting(mut self, accepts: &'static str) -> Self {
        self.accepts = accepts;
        self
    }

    /// Returns the head and the body of the answer to a POST.
    pub(super) fn post(&mut self, headers: &str, body: &str) -> io::Result<(String, String)> {
        self.begin_post(headers, body)?;
        let head = self.head()?;
        let mut body = Vec::new();
        if header(&head, "transfer-encoding").is_some() {
            while self.chunk(&mut body)? {}
        } else {
            let length = header(&head, "content-length").unwrap_or("0");
            let length = length.parse().map_err(io::Error::other)?;
            (&mut self.stream).take(length).read_to_end(&mut body)?;
        }
        Ok((head, String::from_utf8_lossy(&body).into_owned()))
    }

    /// Sends a POST and does not wait for an answer.
    pub(super) fn begin_post(&mut self, headers: &str, body: &str) -> io::Result<()> {
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
             Accept: {}\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            self.accepts,
            body.len()
        );
        // In one write: a request in two pieces may wake the server twice.
        self.stream.get_mut().write_all(request.as_bytes())
    }

    /// Opens a stream of the server's own messages.
    pub(super) fn get(&mut self, headers: &str) -> io::Result<()> {
        let request = format!(
            "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n{headers}\r\n"
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        self.good_head()
    }

    /// Reads the head of an answer that has to be a good one.
    pub(super) fn good_head(&mut self) -> io::Result<()> {
        let head = self.head()?;
        if head.starts_with("HTTP/1.1 200") {
            return Ok(());
        }
        Err(io::Error::other(format!("refused: {head}")))
    }

    fn head(&mut self) -> io::Result<String> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.stream.read_line(&mut head)? == 0 {
                return Err(io::Error::other(format!("the server hung up: {head}")));
            }
        }
        Ok(head)
    }

    /// Appends one chunk to `body`; false for the last, which is empty.
    fn chunk(&mut self, body: &mut Vec<u8>) -> io::Result<bool> {
        let mut size = String::new();
        self.stream.read_line(&mut size)?;
        let length = u64::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
        (&mut self.stream).take(length).read_to_end(body)?;
        self.stream.read_line(&mut size)?;
        Ok(length != 0)
    }
}

/// Returns the value of a header by its name in lower case.
pub(super) fn header<'a>(head: &'a str, wanted: &str) -> Option<&'a str> {
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = fields.find(|(name, _)| name.eq_ignore_ascii_case(wanted))?;
    Some(value.trim())
}
