//! Calls over HTTP: so many connections, one call at a time on each.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::message::{self, Call, ECHOED, INITIALIZE, INITIALIZED};
use crate::plan::{Dialect, Plan, Report, Slice, Time};
use crate::scan::{self, Answer};
use crate::server::{self, Server};
use crate::tally::{self, MOST_CALLS};

/// The time that a slice may take beyond its own: the last answers, and new connections.
const PATIENCE: Duration = Duration::from_secs(20);

/// Bytes that an answer may have.
const MOST_BYTES: usize = 1 << 20;

/// Returns a slice for each number of connections, all against one server.
pub(crate) fn run(plan: &Plan, connections: &[usize], time: Time) -> io::Result<Report> {
    let (server, _input, output) = Server::start(plan)?;
    server.limit(plan.limit);
    let port = server::port(output)?;
    runtime()?.block_on(async {
        let mut first = Connection::open(port).await?;
        let mut call = first.calls(plan.dialect, 0).await?;
        first.call(&mut call).await?;
        let idle_kb = Some(server.resident_kb()?);
        drop(first);
        let mut slices = Vec::new();
        for &width in connections {
            let limit = Duration::from_millis(time.warm_ms + time.measured_ms) + PATIENCE;
            let slice = slice(&server, port, plan.dialect, width, time);
            slices.push(tokio::time::timeout(limit, slice).await??);
        }
        Ok(Report {
            slices,
            idle_kb,
            ..Report::default()
        })
    })
}

/// Returns one thread: what it does between a server's answer and the next call is little.
pub(crate) fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
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
    tokio::time::sleep_until(from.into()).await;
    let (began, before) = (Instant::now(), server.used()?);
    tokio::time::sleep_until(until.into()).await;
    let (ended, after) = (Instant::now(), server.used()?);
    let mut latencies = Vec::new();
    while let Some(sender) = senders.join_next().await {
        latencies.append(&mut sender.map_err(io::Error::other)??);
    }
    Ok(tally::slice(
        width,
        latencies.len(),
        ended - began,
        [before, after],
        latencies,
    ))
}

/// Calls until the slice is over; how long those took that were answered while it was measured.
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
            latencies.push(tally::nanos(now - began));
        }
        began = now;
    }
    Ok(latencies)
}

/// One connection that is kept.
pub(crate) struct Connection {
    stream: TcpStream,
    port: u16,
    /// The beginning of the answer, as far as it was read.
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            port,
            buffer: vec![0; 8 << 10],
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

    /// Opens a session; the headers of what belongs to it.
    pub(crate) async fn session(&mut self) -> io::Result<String> {
        let answer = self
            .send(message::post(self.port, "", INITIALIZE).as_bytes())
            .await?;
        let head = &self.buffer[..answer.body.start];
        let id = scan::header(head, b"mcp-session-id").map(String::from_utf8_lossy);
        let id = id.ok_or_else(|| self.unexpected_answer("no session", &answer))?;
        let session = message::of_session(&id);
        let headers = message::after_handshake(&session);
        let request = message::post(self.port, &headers, INITIALIZED);
        let answer = self.send(request.as_bytes()).await?;
        match answer.status {
            202 => Ok(session),
            _ => Err(self.unexpected_answer("the handshake was refused", &answer)),
        }
    }

    /// Makes a call and checks its answer, which has to be the echo.
    pub(crate) async fn call(&mut self, call: &mut Call) -> io::Result<()> {
        let answer = self.send(call.next()).await?;
        let body = &self.buffer[answer.body.clone()];
        if answer.status == 200 && memmem::find(body, ECHOED).is_some() {
            return Ok(());
        }
        Err(self.unexpected_answer("no echo", &answer))
    }

    async fn send(&mut self, request: &[u8]) -> io::Result<Answer> {
        self.stream.write_all(request).await?;
        let mut filled = 0;
        loop {
            if filled == self.buffer.len() {
                if filled >= MOST_BYTES {
                    return Err(io::Error::other("an answer without end"));
                }
                self.buffer.resize(2 * filled, 0);
            }
            match self.stream.read(&mut self.buffer[filled..]).await? {
                0 => return Err(io::Error::other("the server hung up")),
                read => filled += read,
            }
            if let Some(answer) = scan::answer(&self.buffer[..filled])? {
                return Ok(answer);
            }
        }
    }

    fn unexpected_answer(&self, what: &str, answer: &Answer) -> io::Error {
        let body = String::from_utf8_lossy(&self.buffer[answer.body.clone()]);
        io::Error::other(format!("{what}: {} {body}", answer.status))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Serves one connection: an answer to each piece that comes.
    fn serve(answers: &'static [&'static str]) -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for answer in answers {
                assert_ne!(stream.read(&mut [0; 4096]).unwrap(), 0);
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        port
    }

    #[test]
    fn a_session_is_opened_and_an_echo_is_told_from_an_error() {
        const OK: &str = "HTTP/1.1 200 OK\r\n";
        let port = serve(&[
            "HTTP/1.1 200 OK\r\nMcp-Session-Id: s1\r\nContent-Length: 2\r\n\r\n{}",
            "HTTP/1.1 202 Accepted\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nerror",
            OK,
        ]);
        runtime().unwrap().block_on(async {
            let mut connection = Connection::open(port).await.unwrap();
            let mut call = connection.calls(Dialect::Session, 0).await.unwrap();
            let sent = String::from_utf8_lossy(call.next()).into_owned();
            assert!(sent.contains("\r\nMcp-Session-Id: s1\r\n"), "{sent}");
            connection.call(&mut call).await.unwrap();
            let told = connection.call(&mut call).await.unwrap_err().to_string();
            assert_eq!(told, "no echo: 200 error");
            let told = connection.call(&mut call).await.unwrap_err().to_string();
            assert_eq!(told, "the server hung up");
        });
    }
}
