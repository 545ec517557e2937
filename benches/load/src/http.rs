//! Calls over HTTP: so many connections, one call at a time on each; and idle sessions.

use std::io;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until, timeout};

use crate::message::{self, Call, ECHOED, INITIALIZE, INITIALIZED, MOST_CALLS};
use crate::plan::{Dialect, Plan, Report, Slice, Time};
use crate::server::{self, Server, nanos};

/// The time that a slice may take beyond its own: the last answers, and new connections.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Bytes that an answer may have.
const MOST_BYTES: usize = 1 << 20;

/// Connections that open sessions at the same time.
const OPENERS: usize = 16;

/// Returns a slice for each number of connections, all against one server.
pub(crate) fn run(plan: &Plan, connections: &[usize], time: Time) -> io::Result<Report> {
    let (server, _input, output) = Server::start(plan)?;
    let port = server::port(output)?;
    block_on(async {
        let mut first = Connection::open(port).await?;
        let mut call = first.calls(plan.dialect, 0).await?;
        first.call(&mut call).await?;
        let idle_kb = Some(server.resident_kb()?);
        drop(first);
        let mut slices = Vec::new();
        for &width in connections {
            let limit = Duration::from_millis(time.warm_ms + time.measured_ms) + TIMEOUT;
            let slice = slice(&server, port, plan.dialect, width, time);
            slices.push(timeout(limit, slice).await??);
        }
        Ok(Report {
            slices,
            idle_kb,
            ..Report::default()
        })
    })
}

/// Opens sessions and leaves them, a few first, so that tables have grown before the measurement.
pub(crate) fn open_sessions(plan: &Plan, count: usize) -> io::Result<Report> {
    let (server, _input, output) = Server::start(plan)?;
    let port = server::port(output)?;
    block_on(async {
        open_some(port, count / 10).await?;
        let before = server.resident_kb()?;
        open_some(port, count).await?;
        let grown = server.resident_kb()?.saturating_sub(before) * 1024;
        Ok(Report {
            session_bytes: Some(grown as f64 / count as f64),
            ..Report::default()
        })
    })
}

async fn open_some(port: u16, count: usize) -> io::Result<()> {
    let mut connections = JoinSet::new();
    for index in 0..OPENERS {
        connections.spawn(async move {
            let mut connection = Connection::open(port).await?;
            for _ in (index..count).step_by(OPENERS) {
                connection.session().await?;
            }
            io::Result::Ok(())
        });
    }
    while let Some(opened) = connections.join_next().await {
        opened??;
    }
    // The server has to put things away when all its clients are gone.
    sleep(Duration::from_millis(500)).await;
    Ok(())
}

/// Runs on one thread: the work between a server's answer and the next call is little.
fn block_on<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(work)
}

async fn slice(
    server: &Server,
    port: u16,
    dialect: Dialect,
    width: usize,
    time: Time,
) -> io::Result<Slice> {
    let mut ready = Vec::with_capacity(width);
    for sender in (0..).take(width) {
        let mut connection = Connection::open(port).await?;
        let call = connection.calls(dialect, sender).await?;
        ready.push((connection, call));
    }
    let from = Instant::now() + Duration::from_millis(time.warm_ms);
    let until = from + Duration::from_millis(time.measured_ms);
    let mut senders = JoinSet::new();
    for (connection, call) in ready {
        senders.spawn(load(connection, call, from, until));
    }
    sleep_until(from.into()).await;
    let measurement = server.measure()?;
    sleep_until(until.into()).await;
    let measured = measurement.end()?;
    let mut latencies = Vec::new();
    while let Some(sender) = senders.join_next().await {
        latencies.append(&mut sender??);
    }
    Ok(measured.slice(width, latencies.len(), latencies))
}

/// Calls until the slice is over. Returns the latencies of the calls that were answered while it was
/// measured.
async fn load(
    mut connection: Connection,
    mut call: Call,
    from: Instant,
    until: Instant,
) -> io::Result<Vec<u32>> {
    let mut latencies = Vec::new();
    let mut began = Instant::now();
    while began < until && latencies.len() < MOST_CALLS {
        connection.call(&mut call).await?;
        let now = Instant::now();
        if now >= from && now < until {
            latencies.push(nanos(now - began));
        }
        began = now;
    }
    Ok(latencies)
}

/// One connection that is kept.
struct Connection {
    stream: TcpStream,
    port: u16,
    answer: Vec<u8>,
}

impl Connection {
    async fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            port,
            answer: Vec::with_capacity(8 << 10),
        })
    }

    /// Returns the calls of one sender, in a session of its own where the dialect has them.
    async fn calls(&mut self, dialect: Dialect, sender: u64) -> io::Result<Call> {
        let headers = match dialect {
            Dialect::Session => self.session().await?,
            Dialect::Bare | Dialect::Modern => String::new(),
        };
        Ok(Call::post(dialect, self.port, &headers, sender))
    }

    /// Opens a session. Returns the headers of its requests.
    async fn session(&mut self) -> io::Result<String> {
        let request = message::post(self.port, "", INITIALIZE);
        self.send(request.as_bytes()).await?;
        let head = String::from_utf8_lossy(&self.answer);
        let id = header(&head, "mcp-session-id");
        let id = id.ok_or_else(|| self.unexpected_answer())?;
        let session = message::of_session(id);
        let headers = message::after_handshake(&session);
        let request = message::post(self.port, &headers, INITIALIZED);
        self.send(request.as_bytes()).await?;
        if self.answer.starts_with(b"HTTP/1.1 202") {
            Ok(session)
        } else {
            Err(self.unexpected_answer())
        }
    }

    /// Makes a call and checks its answer, which has to be the echo.
    async fn call(&mut self, call: &mut Call) -> io::Result<()> {
        self.send(call.next()).await?;
        let is_echo = memmem::find(&self.answer, ECHOED).is_some();
        if is_echo && self.answer.starts_with(b"HTTP/1.1 200") {
            Ok(())
        } else {
            Err(self.unexpected_answer())
        }
    }

    async fn send(&mut self, request: &[u8]) -> io::Result<()> {
        self.stream.write_all(request).await?;
        self.answer.clear();
        while !is_whole(&self.answer) {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                return Err(io::Error::other("the server hung up"));
            }
            if self.answer.len() > MOST_BYTES {
                return Err(io::Error::other("an answer without end"));
            }
        }
        Ok(())
    }

    fn unexpected_answer(&self) -> io::Error {
        let answer = String::from_utf8_lossy(&self.answer);
        io::Error::other(format!("no such answer: {answer:.1000}"))
    }
}

/// Returns whether an answer has ended: by its length, or by its last chunk.
fn is_whole(answer: &[u8]) -> bool {
    let Some(end) = memmem::find(answer, b"\r\n\r\n") else {
        return false;
    };
    let head = String::from_utf8_lossy(&answer[..end]);
    let body = &answer[end + 4..];
    if header(&head, "transfer-encoding").is_some() {
        return body.ends_with(b"0\r\n\r\n");
    }
    let length = header(&head, "content-length").and_then(|length| length.parse().ok());
    body.len() >= length.unwrap_or(0)
}

/// Returns the value of a header by its name in lower case.
fn header<'a>(head: &'a str, wanted: &str) -> Option<&'a str> {
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = fields.find(|(name, _)| name.eq_ignore_ascii_case(wanted))?;
    Some(value.trim())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    #[test]
    fn an_answer_ends_by_its_length_or_its_last_chunk() {
        for text in [
            "HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
            "HTTP/1.1 202 Accepted\r\nDate: now\r\n\r\n",
        ] {
            for end in 0..text.len() {
                assert!(!is_whole(&text.as_bytes()[..end]), "{end} {text}");
            }
            assert!(is_whole(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_session_is_opened_and_an_echo_is_told_from_an_error() {
        let answers = [
            "HTTP/1.1 200 OK\r\nMcp-Session-Id: s1\r\nContent-Length: 2\r\n\r\n{}",
            "HTTP/1.1 202 Accepted\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nerror",
        ];
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for answer in answers {
                assert_ne!(stream.read(&mut [0; 4096]).unwrap(), 0);
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        let called = block_on(async {
            let mut connection = Connection::open(port).await?;
            let mut call = connection.calls(Dialect::Session, 0).await?;
            let sent = String::from_utf8_lossy(call.next()).into_owned();
            assert!(sent.contains("\r\nMcp-Session-Id: s1\r\n"), "{sent}");
            connection.call(&mut call).await?;
            connection.call(&mut call).await
        });
        let error = called.unwrap_err().to_string();
        assert!(error.ends_with("error"), "{error}");
    }
}
