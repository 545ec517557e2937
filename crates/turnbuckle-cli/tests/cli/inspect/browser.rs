//! A run of `turnbuckle inspect`, and a browser that sends it requests.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{DEMO, command};

/// The time after which a test gives up.
const PATIENCE: Duration = Duration::from_secs(30);

/// A run of `turnbuckle inspect`.
pub(crate) struct Inspect {
    pub(crate) child: Child,
    pub(crate) output: BufReader<std::process::ChildStdout>,
    pub(crate) port: u16,
    pub(crate) code: String,
    pub(crate) cookie: Option<String>,
}

/// A response of the page's server.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        serde_json::from_slice(&self.body).expect("the answer is JSON")
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Inspect {
    pub(crate) fn start(words: &[&str]) -> Self {
        Self::run(command(
            &[&["inspect", "--no-open", "-o", "json"], words].concat(),
        ))
    }

    /// Runs a command that prints the address of a page as JSON.
    pub(crate) fn run(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the tool runs");
        let output = child.stdout.take().expect("it has an output");
        let mut inspect = Self {
            output: BufReader::new(output),
            child,
            port: 0,
            code: String::new(),
            cookie: None,
        };
        inspect.read_address();
        inspect
    }

    /// Reads the next address that is printed.
    pub(crate) fn read_address(&mut self) {
        let mut line = String::new();
        let read = self.output.read_line(&mut line);
        read.expect("it prints an address");
        let printed: Value = serde_json::from_str(&line).expect("the address is in JSON");
        let url = printed["url"].as_str().expect("there is a URL");
        let rest = url.strip_prefix("http://127.0.0.1:").expect("it is local");
        let (port, code) = rest.split_once("/#").expect("there is a code");
        self.port = port.parse().expect("there is a port");
        code.clone_into(&mut self.code);
    }

    /// Starts with the demo as the server, and logs in.
    pub(crate) fn demo() -> Self {
        let mut inspect = Self::start(&DEMO);
        inspect.log_in();
        inspect
    }

    pub(crate) fn log_in(&mut self) {
        let code = self.code.clone();
        let reply = self.post("/api/login", &json!({ "code": code }));
        assert_eq!(reply.status, 204, "{}", reply.text());
        let cookie = reply.header("set-cookie").expect("there is a cookie");
        self.cookie = cookie.split(';').next().map(str::to_owned);
    }

    /// Opens a connection and sends the head of a request with these headers beside the usual ones.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("it can");
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        let has = |name: &str| headers.iter().any(|(given, _)| given == &name);
        if !has("Host") {
            head += &format!("Host: 127.0.0.1:{}\r\n", self.port);
        }
        if let Some(cookie) = self.cookie.as_ref().filter(|_| !has("Cookie")) {
            head += &format!("Cookie: {cookie}\r\n");
        }
        if !body.is_empty() && !has("Content-Length") {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += "\r\n";
        stream.write_all(head.as_bytes()).expect("it reads");
        // A body that is refused may be cut off.
        let _ = stream.write_all(body);
        stream
    }

    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Reply {
        read_reply(self.send(method, path, headers, body))
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.request("GET", path, &[], b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        let body = body.to_string();
        let headers = [("Content-Type", "application/json")];
        self.request("POST", path, &headers, body.as_bytes())
    }

    /// Sends a request to the server of the first session, and returns the entry of its answer.
    pub(crate) fn call(&self, method: &str, params: &str) -> Value {
        // The lists of the server may not have come yet.
        let request = json!({ "method": method, "params": params, "anyway": true });
        let sent = self.post("/api/sessions/s1/requests", &request).json();
        let entry = || self.get(&format!("/api/timeline/{}", sent["n"])).json();
        self.wait_for(|_| entry()["entry"]["answer"].is_u64());
        let answer = &entry()["entry"]["answer"];
        self.get(&format!("/api/timeline/{answer}")).json()
    }

    /// Returns the entries of the timeline that pass a filter.
    pub(crate) fn timeline(&self, filter: &str) -> Vec<Value> {
        let filter = filter.replace(' ', "+");
        let window = self.get(&format!("/api/timeline?filter={filter}&count=500"));
        let entries = window.json()["entries"].as_array().cloned();
        entries.expect("there is a list")
    }

    /// Opens the stream of events. A change before the head of the answer is not told, so the head is read.
    pub(crate) fn events(&self) -> BufReader<TcpStream> {
        let mut events = BufReader::new(self.send("GET", "/api/events", &[], b""));
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            let read = events.read_line(&mut line).expect("the stream begins");
            assert!(read > 0, "the stream of events has no head");
        }
        events
    }

    /// Waits for changes until the state is as wanted, and returns it.
    pub(crate) fn wait_for(&self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let mut events = self.events();
        let mut line = String::new();
        loop {
            let state = self.get("/api/state").json();
            if is_wanted(&state) {
                return state;
            }
            line.clear();
            while !line.contains("changed") {
                line.clear();
                let read = events.read_line(&mut line).expect("a change comes");
                assert!(read > 0, "the stream of events has ended: {state:#}");
            }
        }
    }
}

impl Drop for Inspect {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_reply(stream: TcpStream) -> Reply {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).expect("it answers");
    let status = line
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line).expect("the head has an end");
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.push((name.to_owned(), value.to_owned()));
    }
    let mut body = Vec::new();
    let _ = reader.read_to_end(&mut body);
    Reply {
        status: status.expect("there is a status"),
        headers,
        body,
    }
}

/// Returns whether the first session of a state is connected.
pub(crate) fn is_ready(state: &Value) -> bool {
    state["sessions"][0]["connection"]["state"] == "ready"
}
