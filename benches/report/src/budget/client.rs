//! The client's side of a run: opens sessions and streams, sends the load, waits for each answer and
//! checks it.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use super::asleep::wait_until_asleep;
use super::connection::{Connection, header};
use super::load::{Before, Binding, Era, INITIALIZE, INITIALIZED, Load, Request};

/// The time that an answer, or the server's end, may take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(120);

/// The time after which every answer that is not there yet has become a stream.
const STREAMING: Duration = Duration::from_secs(2);

/// The first request's id; all have as many digits, so that all cost the same.
const FIRST_ID: u64 = 100_000;

/// The client's end of a server. Dropping it ends the server, if the end of its input does not.
pub(super) struct Opened {
    pub(super) input: ChildStdin,
    pub(super) connections: Vec<Connection>,
}

/// Sends `requests` requests to a server that was just started.
///
/// Each is sent when the server sleeps.
pub(super) fn drive(server: &mut Child, load: &Load, requests: u64) -> io::Result<Opened> {
    let process = server.id();
    let mut input = server.stdin.take().ok_or_else(no_pipe)?;
    let lines = Lines::new(server.stdout.take().ok_or_else(no_pipe)?);
    let connections = match load.binding {
        Binding::Stdio => drive_stdio(process, load, requests, &mut input, &lines)?,
        Binding::Http => drive_http(process, load, requests, &lines)?,
    };
    wait_until_asleep(process)?;
    Ok(Opened { input, connections })
}

fn drive_stdio(
    process: u32,
    load: &Load,
    requests: u64,
    input: &mut ChildStdin,
    lines: &Lines,
) -> io::Result<Vec<Connection>> {
    // In one write: a line in two pieces may wake the server twice.
    let mut send = |message: &str| input.write_all(format!("{message}\n").as_bytes());
    if load.era == Era::Session {
        send(INITIALIZE)?;
        lines.next()?;
        send(INITIALIZED)?;
    }
    for number in 0..load.before.hanging {
        send(&Request::call("hang", "{}", "").message(load.era, number + 1))?;
    }
    for number in 0..load.before.listens {
        send(&Request::listen(number).message(load.era, number + 1))?;
        lines.next()?;
    }
    for id in FIRST_ID..FIRST_ID + requests {
        let message = load.request.message(load.era, id);
        wait_until_asleep(process)?;
        send(&message)?;
        check(&load.request, &lines.next()?, "")?;
    }
    Ok(Vec::new())
}

fn drive_http(
    process: u32,
    load: &Load,
    requests: u64,
    lines: &Lines,
) -> io::Result<Vec<Connection>> {
    let port = lines.next()?.trim().parse().map_err(io::Error::other)?;
    let mut headers = load.request.headers(load.era);
    let mut others = Vec::new();
    let Before {
        sessions, streams, ..
    } = load.before;
    if load.era == Era::Session || sessions + streams > 0 {
        let mut opener = Connection::open(port)?;
        for _ in 0..sessions {
            open_session(&mut opener)?;
        }
        for _ in 0..streams {
            let session = open_session(&mut opener)?;
            let mut other = Connection::open(port)?;
            other.get(&session)?;
            others.push(other);
        }
        if load.era == Era::Session {
            headers = open_session(&mut opener)?;
        }
        others.push(opener);
    }
    for number in 0..load.before.listens {
        let listen = Request::listen(number);
        let mut other = Connection::open(port)?;
        other.begin_post(&listen.headers(load.era), &listen.message(load.era, 1))?;
        other.good_head()?;
        others.push(other);
    }
    for number in 0..load.before.hanging {
        let hang = Request::call("hang", "{}", "");
        let headers = match load.era {
            Era::Modern => hang.headers(load.era),
            Era::Stateless | Era::Session => headers.clone(),
        };
        let mut other = Connection::open(port)?;
        other.begin_post(&headers, &hang.message(load.era, number + 1))?;
        others.push(other);
    }
    if load.before.hanging > 0 {
        thread::sleep(STREAMING);
    }
    // Opened now: a connection on which nothing comes for long is closed.
    let mut connection = Connection::open(port)?.accepting(load.request.accepts);
    for id in FIRST_ID..FIRST_ID + requests {
        let message = load.request.message(load.era, id);
        wait_until_asleep(process)?;
        let (head, body) = connection.post(&headers, &message)?;
        check(&load.request, &body, &head)?;
    }
    others.push(connection);
    Ok(others)
}

/// Opens a legacy session; returns the headers of its requests.
fn open_session(connection: &mut Connection) -> io::Result<String> {
    let (head, _) = connection.post("", INITIALIZE)?;
    let id = header(&head, "mcp-session-id");
    let id = id.ok_or_else(|| io::Error::other(format!("no session: {head}")))?;
    let headers = format!("MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {id}\r\n");
    connection.post(&headers, INITIALIZED)?;
    Ok(headers)
}

/// A process's lines, through a thread, so that waiting for one can end.
pub(super) struct Lines(Receiver<String>);

impl Lines {
    pub(super) fn new(pipe: ChildStdout) -> Self {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self(receiver)
    }

    pub(super) fn next(&self) -> io::Result<String> {
        self.0.recv_timeout(TIMEOUT).map_err(io::Error::other)
    }
}

/// Waits for the end of a process whose peer is gone; one that stays is killed.
pub(super) fn end(server: &mut Child) -> io::Result<ExitStatus> {
    let began = Instant::now();
    loop {
        if let Some(status) = server.try_wait()? {
            return Ok(status);
        }
        if began.elapsed() > TIMEOUT {
            server.kill()?;
            return server.wait();
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn check(request: &Request, answer: &str, head: &str) -> io::Result<()> {
    if answer.contains(request.answer_holds)
        && answer.len() >= request.answer_bytes
        && !answer.contains("\"error\"")
    {
        return Ok(());
    }
    let shown: String = answer.chars().take(1_000).collect();
    Err(io::Error::other(format!("not the answer: {head}{shown}")))
}

pub(super) fn no_pipe() -> io::Error {
    io::Error::other("the process was started without pipes")
}
