//! Commands that serve over HTTP, raw requests to them, and tokens for them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use turnbuckle::auth_testing::TestAuthorizationServer;

use crate::support::{Run, run};

/// A command that serves over HTTP until this is dropped.
pub(crate) struct Serving {
    child: Child,
    pub(crate) url: String,
}

impl Serving {
    /// Starts a command that prints its URL.
    pub(crate) fn start(command: Command) -> Self {
        Self::start_at(command, "http://")
    }

    /// Starts a command that prints a line which begins with `scheme` and ends in its address.
    pub(crate) fn start_at(mut command: Command, scheme: &str) -> Self {
        let started = command.stdout(Stdio::piped()).spawn();
        let mut child = started.expect("the tool runs");
        let output = BufReader::new(child.stdout.take().expect("it has an output"));
        let lines = output.lines();
        let mut lines = lines.map(|line| line.expect("it says where it is"));
        let url = lines.find(|line| line.starts_with(scheme));
        Self {
            child,
            url: url.expect("there is an endpoint"),
        }
    }

    /// Returns the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the process.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Calls a tool with the tool of this project.
    pub(crate) fn call(&self, words: &[&str]) -> Run {
        run(&[&["call", &self.url], words].concat())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.kill();
    }
}

/// An authorization server in this process.
pub(crate) struct Issuer {
    runtime: Runtime,
    server: TestAuthorizationServer,
    pub(crate) url: String,
}

impl Issuer {
    pub(crate) fn start() -> Self {
        let runtime = Runtime::new().expect("it starts");
        let server = runtime.block_on(TestAuthorizationServer::builder().start());
        let server = server.expect("it starts");
        Self {
            url: server.issuer().to_owned(),
            runtime,
            server,
        }
    }

    /// Returns a token of a user for a resource.
    pub(crate) fn token(&self, user: &str, resource: &str, scopes: &[&str]) -> String {
        let _entered = self.runtime.enter();
        let scopes = scopes.iter().copied();
        let ttl = Duration::from_secs(600);
        let token = self.server.issue_token(user, "app", resource, scopes, ttl);
        token.expect("there is randomness")
    }
}

/// Sends a request with these lines in its head, and returns the connection.
pub(crate) fn open(url: &str, method: &str, head: &str, body: &str) -> TcpStream {
    let rest = url.strip_prefix("http://").expect("it is plain HTTP");
    let (host, path) = rest.split_once('/').expect("it has a path");
    let mut stream = TcpStream::connect(host).expect("it listens");
    let size = body.len();
    write!(
        stream,
        "{method} /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
         Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
         Content-Length: {size}\r\n{head}\r\n{body}"
    )
    .expect("it reads");
    stream
}

/// Sends a message, and returns the connection.
pub(crate) fn open_post(url: &str, head: &str, message: &Value) -> TcpStream {
    open(url, "POST", head, &message.to_string())
}

/// Sends a message, and returns the response with its head.
pub(crate) fn post(url: &str, head: &str, message: &Value) -> String {
    read(open_post(url, head, message))
}

/// Returns what comes over a connection until it ends.
pub(crate) fn read(mut stream: TcpStream) -> String {
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("it answers");
    response
}

/// Opens a session, with these lines in the heads of its requests, and returns its id.
pub(crate) fn initialize(url: &str, head: &str) -> String {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    }});
    let response = post(url, head, &message);
    let mut lines = response.lines().filter_map(|line| line.split_once(": "));
    let id = lines.find(|(name, _)| name.eq_ignore_ascii_case("mcp-session-id"));
    let id = id.unwrap_or_else(|| panic!("{response}")).1.to_owned();
    let head = format!("{head}Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
    post(
        url,
        &head,
        &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    );
    id
}
