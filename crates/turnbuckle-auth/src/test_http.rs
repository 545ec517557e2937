//! A small HTTP server for unit tests, which answers by a closure and records the requests.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

type Script = Arc<dyn Fn(&RecordedRequest) -> Reply + Send + Sync>;

/// A request that a [`ScriptedServer`] received.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRequest {
    pub(crate) method: String,
    /// The path without its query.
    pub(crate) path: String,
    /// The query without its `?`.
    pub(crate) query: Option<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl RecordedRequest {
    /// Returns the value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the origin to which the request was sent, for instance `http://127.0.0.1:4711`.
    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.header("host").unwrap())
    }

    /// Returns the body as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Returns the first value of a parameter in a body of `application/x-www-form-urlencoded`.
    pub(crate) fn form(&self, name: &str) -> Option<String> {
        let mut pairs = url::form_urlencoded::parse(&self.body);
        Some(pairs.find(|(key, _)| key == name)?.1.into_owned())
    }
}

/// The answer of a [`ScriptedServer`] to one request.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
    delay: Duration,
    byte_interval: Option<Duration>,
    has_length: bool,
}

impl Reply {
    /// Creates an answer without a body.
    pub(crate) fn status(status: u16) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            body: Vec::new(),
            delay: Duration::ZERO,
            byte_interval: None,
            has_length: true,
        }
    }

    /// Creates a 200 with a JSON body.
    pub(crate) fn json(body: serde_json::Value) -> Self {
        Self::status(200).with_json(body)
    }

    /// Creates a 302.
    pub(crate) fn redirect(location: impl AsRef<str>) -> Self {
        Self::status(302).header("location", location.as_ref())
    }

    /// Sets a JSON body.
    pub(crate) fn with_json(self, body: serde_json::Value) -> Self {
        self.header("content-type", "application/json")
            .with_body(body.to_string())
    }

    /// Sets the body.
    pub(crate) fn with_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Adds a header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().unwrap();
        self.headers
            .append(name, HeaderValue::from_str(value).unwrap());
        self
    }

    /// Sends nothing for a while.
    pub(crate) fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Sends the body byte by byte, with a pause before each.
    pub(crate) fn byte_interval(mut self, interval: Duration) -> Self {
        self.byte_interval = Some(interval);
        self
    }

    /// Sends no `Content-Length`: the body ends with the connection.
    pub(crate) fn without_length(mut self) -> Self {
        self.has_length = false;
        self
    }
}

/// A running server on a loopback address. It stops when it is dropped.
pub(crate) struct ScriptedServer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<RecordedRequest>>>,
    task: JoinHandle<()>,
}

impl ScriptedServer {
    /// Starts a server on 127.0.0.1.
    pub(crate) async fn start(
        script: impl Fn(&RecordedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start_at("127.0.0.1:0", script).await
    }

    /// Starts a server on an address, for instance `127.0.0.2:0`.
    pub(crate) async fn start_at(
        address: &str,
        script: impl Fn(&RecordedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let script: Script = Arc::new(script);
        let recorded = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&script), Arc::clone(&recorded)));
            }
        });
        Self {
            address,
            requests,
            task,
        }
    }

    /// Returns the address of the server.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the origin of the server, for instance `http://127.0.0.1:4711`.
    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the URL of a path, which begins with `/`.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin())
    }

    /// Returns the requests so far, in order.
    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns the paths of the requests so far, in order.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.requests()
            .into_iter()
            .map(|request| request.path)
            .collect()
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    script: Script,
    requests: Arc<Mutex<Vec<RecordedRequest>>>,
) -> Option<()> {
    let request = read_request(&mut stream).await?;
    requests.lock().unwrap().push(request.clone());
    let reply = script(&request);
    tokio::time::sleep(reply.delay).await;
    let mut head = format!(
        "HTTP/1.1 {} Scripted\r\nconnection: close\r\n",
        reply.status
    );
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap()));
    }
    if reply.has_length {
        head.push_str(&format!("content-length: {}\r\n", reply.body.len()));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await.ok()?;
    match reply.byte_interval {
        None => stream.write_all(&reply.body).await.ok()?,
        Some(interval) => {
            for byte in reply.body {
                tokio::time::sleep(interval).await;
                stream.write_all(&[byte]).await.ok()?;
            }
        }
    }
    stream.shutdown().await.ok()
}

async fn read_request(stream: &mut TcpStream) -> Option<RecordedRequest> {
    let mut bytes = Vec::new();
    let head_length = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_length].to_vec()).ok()?;
    let mut body = bytes.split_off(head_length + 4);
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let method = words.next()?.to_owned();
    let target = words.next()?;
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
        None => (target.to_owned(), None),
    };
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(':')?;
        let name: HeaderName = name.parse().ok()?;
        headers.append(name, HeaderValue::from_str(value.trim()).ok()?);
    }
    let length = headers.get("content-length").map_or(Some(0), |length| {
        length.to_str().ok()?.parse::<usize>().ok()
    })?;
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some(RecordedRequest {
        method,
        path,
        query,
        headers,
        body,
    })
}
