//! A small HTTP server that answers from recorded exchanges.

use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A request, and the response to it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Exchange {
    /// The method and the target: `GET /pets?limit=1`.
    pub(crate) request: String,
    /// The body of the request, if the exchange is for one with a body.
    pub(crate) sent: Option<Value>,
    #[serde(default = "ok")]
    pub(crate) status: u16,
    /// Lines of the response's head.
    #[serde(default)]
    pub(crate) headers: Vec<String>,
    /// The body of the response: a text, or JSON.
    #[serde(default)]
    pub(crate) body: Value,
}

fn ok() -> u16 {
    200
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) request: String,
    /// The lines of the head, with names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// The server. It ends when it is dropped.
pub(crate) struct RecordedServer {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<Received>>>,
    _tasks: JoinSet<()>,
}

impl RecordedServer {
    pub(crate) async fn start(exchanges: Vec<Exchange>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received: Arc<Mutex<Vec<Received>>> = Arc::default();
        let mut tasks = JoinSet::new();
        let (exchanges, log) = (Arc::new(exchanges), received.clone());
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(answer(stream, exchanges.clone(), log.clone()));
            }
        });
        Self {
            url,
            received,
            _tasks: tasks,
        }
    }

    /// Starts a server with the exchanges of a file beside the tests.
    pub(crate) async fn from_json(text: &str) -> Self {
        Self::start(serde_json::from_str(text).unwrap()).await
    }

    pub(crate) fn requests(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    pub(crate) fn last(&self) -> Received {
        self.requests().last().unwrap().clone()
    }
}

async fn answer(stream: TcpStream, exchanges: Arc<Vec<Exchange>>, log: Arc<Mutex<Vec<Received>>>) {
    let mut stream = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let request = head[0].trim_end_matches(" HTTP/1.1").to_owned();
    let headers = head[1..].iter().filter_map(|line| line.split_once(": "));
    let headers: Vec<(String, String)> = headers
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let mut received = Received {
        request,
        headers,
        body: String::new(),
    };
    let length = received
        .header("content-length")
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    received.body = String::from_utf8(body).unwrap();
    let fits = |exchange: &&Exchange| {
        exchange.request == received.request
            && exchange.sent.as_ref().is_none_or(|sent| match sent {
                Value::String(text) => *text == received.body,
                json => {
                    serde_json::from_str::<Value>(&received.body).is_ok_and(|body| body == *json)
                }
            })
    };
    let response = match exchanges.iter().find(fits) {
        Some(exchange) => {
            let body = match &exchange.body {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                json => json.to_string(),
            };
            let mut head = exchange.headers.clone();
            if exchange.body.is_array() || exchange.body.is_object() {
                head.push("Content-Type: application/json; charset=utf-8".to_owned());
            }
            head.push(format!("Content-Length: {}", body.len()));
            format!(
                "HTTP/1.1 {} Recorded\r\n{}\r\n\r\n{body}",
                exchange.status,
                head.join("\r\n")
            )
        }
        None => {
            let body = format!(
                "nothing is recorded for {} {}",
                received.request, received.body
            );
            format!(
                "HTTP/1.1 501 Unknown\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
        }
    };
    log.lock().unwrap().push(received);
    // The client may have gone.
    let _ = stream.write_all(response.as_bytes()).await;
}
