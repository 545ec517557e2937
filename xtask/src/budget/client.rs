//! The client's side of a run: sends the load, waits for each answer, checks it.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, ExitStatus};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use super::modes::{INITIALIZE, INITIALIZED, Load};

/// What the answer to every echo holds.
const ECHOED: &str = "hello";

/// The first request's id; all have as many digits, so that all cost the same.
const FIRST_ID: u64 = 100_000;

/// How long an answer, or the server's end, may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sends `requests` requests to a server that was just started, then leaves it.
///
/// Each is sent when the server sleeps. If it came earlier, a server would sometimes find it
/// without going to sleep, and the count would depend on who is faster.
pub(super) fn drive(server: &mut Child, load: &Load, requests: u64) -> io::Result<()> {
    let process = server.id();
    let mut input = server.stdin.take().ok_or_else(no_pipe)?;
    let lines = lines(server.stdout.take().ok_or_else(no_pipe)?);
    let line = || lines.recv_timeout(PATIENCE).map_err(io::Error::other);
    let ids = FIRST_ID..FIRST_ID + requests;
    match *load {
        Load::Stdio { message, handshake } => {
            if handshake {
                input.write_all(format!("{INITIALIZE}\n").as_bytes())?;
                line()?;
                input.write_all(format!("{INITIALIZED}\n").as_bytes())?;
            }
            for id in ids {
                // In one write: a line in two pieces may wake the server twice.
                let message = with_id(message, id) + "\n";
                wait_until_asleep(process)?;
                input.write_all(message.as_bytes())?;
                check(&line()?, "")?;
            }
        }
        Load::Http {
            headers,
            message,
            session,
        } => {
            let port = line()?.trim().parse().map_err(io::Error::other)?;
            let mut connection = Connection::open(port)?;
            let mut headers = headers.to_owned();
            if session {
                let (head, _) = connection.post("", INITIALIZE)?;
                let id = header(&head, "mcp-session-id");
                let id = id.ok_or_else(|| io::Error::other(format!("no session: {head}")))?;
                headers.push_str(&format!("Mcp-Session-Id: {id}\r\n"));
                connection.post(&headers, INITIALIZED)?;
            }
            for id in ids {
                let message = with_id(message, id);
                wait_until_asleep(process)?;
                let (head, body) = connection.post(&headers, &message)?;
                check(&body, &head)?;
            }
        }
    }
    Ok(())
}

/// The lines of a pipe, through a thread, so that waiting for one can end.
fn lines(pipe: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Waits until no thread of the process runs, as /proc tells it.
fn wait_until_asleep(process: u32) -> io::Result<()> {
    let began = Instant::now();
    while !asleep(process)? {
        if began.elapsed() > PATIENCE {
            return Err(io::Error::other("the server does not come to rest"));
        }
        thread::yield_now();
    }
    Ok(())
}

fn asleep(process: u32) -> io::Result<bool> {
    for task in fs::read_dir(format!("/proc/{process}/task"))? {
        let stat = fs::read_to_string(task?.path().join("stat"))?;
        // The state is the first field after the name, which is in brackets and may hold any.
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
        if !state.is_some_and(|state| state.starts_with('S')) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Waits for the end of a server whose client is gone; one that stays is killed.
pub(super) fn end(server: &mut Child) -> io::Result<ExitStatus> {
    let began = Instant::now();
    loop {
        if let Some(status) = server.try_wait()? {
            return Ok(status);
        }
        if began.elapsed() > PATIENCE {
            server.kill()?;
            return server.wait();
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn with_id(message: &str, id: u64) -> String {
    message.replace("{id}", &id.to_string())
}

fn check(answer: &str, shown: &str) -> io::Result<()> {
    if answer.contains(ECHOED) && !answer.contains("\"error\"") {
        return Ok(());
    }
    Err(io::Error::other(format!("not an echo: {shown}{answer}")))
}

fn no_pipe() -> io::Error {
    io::Error::other("the server was started without pipes")
}

/// One HTTP/1.1 connection that is kept.
struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream: BufReader::new(stream),
        })
    }

    /// The head and the body of the answer to a POST.
    fn post(&mut self, headers: &str, body: &str) -> io::Result<(String, String)> {
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
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

/// The value of a header by its name in lower case.
fn header<'a>(head: &'a str, wanted: &str) -> Option<&'a str> {
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = fields.find(|(name, _)| name.eq_ignore_ascii_case(wanted))?;
    Some(value.trim())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn an_answer_by_length_and_one_in_chunks_are_read() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let _ = stream.read(&mut request).unwrap();
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
                .unwrap();
            let _ = stream.read(&mut request).unwrap();
            let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                            3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";
            stream.write_all(chunked).unwrap();
        });
        let mut connection = Connection::open(port).unwrap();
        assert_eq!(connection.post("", "{}").unwrap().1, "hello");
        assert_eq!(connection.post("", "{}").unwrap().1, "hello");
        assert!(connection.post("", "{}").is_err());
        server.join().unwrap();
    }

    #[test]
    fn an_error_is_no_echo() {
        assert!(check(r#"{"result":{"text":"hello"}}"#, "").is_ok());
        assert!(check(r#"{"error":{"message":"hello"}}"#, "").is_err());
        assert!(check("", "").is_err());
    }
}
