//! The client.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::timeout;
use turnbuckle_server::Server;
use turnbuckle_session::handler::Signal;
use turnbuckle_session::transport::CloseReason;
use turnbuckle_wire::revision::Revision;

use super::link::Link;
use super::message_record::MessageRecord;
use super::options::Handshake;
use super::{Case, ClientOptions};

/// A client that speaks one revision over one binding.
///
/// Dropping it breaks its connection; if that is because the test fails, it prints what was said.
pub struct Client {
    case: Case,
    options: ClientOptions,
    link: Link,
    record: MessageRecord,
    next_id: i64,
    /// The requests that wait, by the text of their ids, and the answers that are there.
    open: HashMap<String, Option<Value>>,
    /// Messages received that answer no waiting request.
    messages: VecDeque<Value>,
    handshake: Option<Value>,
}

impl Client {
    /// Connects with default options. On a legacy revision the handshake is done.
    pub async fn connect(case: Case, server: &Server) -> Self {
        Self::connect_with(case, server, ClientOptions::new()).await
    }

    /// Connects.
    pub async fn connect_with(case: Case, server: &Server, options: ClientOptions) -> Self {
        let mut client = Self {
            case,
            link: Link::open(case, server, &options),
            record: MessageRecord::new(case),
            next_id: 1,
            open: HashMap::new(),
            messages: VecDeque::new(),
            handshake: None,
            options,
        };
        if case.is_legacy() && client.options.handshake != Handshake::None {
            client.open_session().await;
        }
        client
    }

    async fn open_session(&mut self) {
        let params = json!({
            "protocolVersion": self.case.revision.as_str(),
            "capabilities": self.options.capabilities,
            "clientInfo": self.options.client_info,
        });
        let answer = self.request("initialize", params).await;
        assert_eq!(
            answer["result"]["protocolVersion"],
            self.case.revision.as_str(),
            "{answer}"
        );
        self.handshake = Some(answer["result"].clone());
        if self.options.handshake == Handshake::Whole {
            self.notify("notifications/initialized", json!({})).await;
            if let Some(level) = self.options.log_level.clone() {
                let answer = self
                    .request("logging/setLevel", json!({"level": level}))
                    .await;
                assert_eq!(answer["result"], json!({}), "{answer}");
            }
        }
    }

    /// Returns the revision and the binding of the client.
    #[must_use]
    pub fn case(&self) -> Case {
        self.case
    }

    /// Returns the result of the handshake that [`connect`](Self::connect) did.
    #[must_use]
    pub fn handshake(&self) -> Option<&Value> {
        self.handshake.as_ref()
    }

    /// Sends a request and waits for the whole response. A modern request gets its envelope.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params).await;
        self.response(id).await
    }

    /// Sends a request; [`response`](Self::response) waits for what comes back. A modern request
    /// gets its envelope.
    pub async fn start(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        let params = self.with_meta(params, Some(id));
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        id
    }

    /// Waits for the response to a request that was sent by [`start`](Self::start) or
    /// [`send`](Self::send). What else arrives meanwhile is kept for [`next`](Self::next).
    pub async fn response(&mut self, id: impl Into<Value>) -> Value {
        let id = id.into().to_string();
        loop {
            match self.open.get_mut(&id) {
                None => panic!("{}: no request {id} waits", self.case),
                Some(answer) => {
                    if let Some(answer) = answer.take() {
                        self.open.remove(&id);
                        return answer;
                    }
                }
            }
            let arrived = self.receive(&format!("the answer to {id}")).await;
            assert!(arrived, "{}: the end before the answer to {id}", self.case);
        }
    }

    /// Returns parameters with the `_meta` that every request of this client carries, for messages
    /// that are sent unchanged.
    #[must_use]
    pub fn with_envelope(&self, params: Value) -> Value {
        self.with_meta(params, None)
    }

    /// Sends a notification. Modern notifications carry no envelope.
    pub async fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }

    /// Answers a request of the server.
    pub async fn answer(&mut self, id: &Value, result: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
            .await;
    }

    /// Refuses a request of the server.
    pub async fn answer_error(&mut self, id: &Value, code: i64, message: &str) {
        let error = json!({"code": code, "message": message});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
            .await;
    }

    /// Gives up on a request, by a message or by closing its response, as the binding has it: no
    /// answer to it is waited for any more.
    pub async fn cancel(&mut self, id: i64) {
        self.cancel_because(id, None).await;
    }

    /// Gives up on a request for that reason.
    pub async fn cancel_because(&mut self, id: i64, reason: Option<&str>) {
        self.open.remove(&id.to_string());
        if self.link.give_up(&id.to_string()) {
            return;
        }
        let mut params = json!({"requestId": id});
        if let Some(reason) = reason {
            params["reason"] = reason.into();
        }
        self.notify("notifications/cancelled", params).await;
    }

    /// Sends a message, or a batch, as it is: without an envelope, unless it has one.
    pub async fn send(&mut self, message: &Value) {
        self.raw(&message.to_string()).await;
    }

    /// Sends a text as one frame.
    pub async fn raw(&mut self, text: &str) {
        self.bytes(text.as_bytes()).await;
    }

    /// Sends bytes as one frame.
    pub async fn bytes(&mut self, frame: &[u8]) {
        self.record.record_sent(frame);
        for id in ids_of_requests(frame) {
            self.open.entry(id).or_default();
        }
        let sending = timeout(self.options.patience, self.link.send(frame)).await;
        match sending {
            Ok(sent) => sent.unwrap_or_else(|error| panic!("{}: {error}", self.case)),
            Err(_) => panic!("{}: the server does not read", self.case),
        }
    }

    /// Sends a message as it is and waits for the next frame, whatever that is.
    pub async fn exchange(&mut self, message: &Value) -> Value {
        self.send(message).await;
        let text = self.next_raw().await;
        serde_json::from_str(&text).expect("JSON, as was checked")
    }

    /// Returns the next message that answers no waiting request: a notification, a request of the
    /// server, or a stray answer.
    pub async fn next(&mut self) -> Value {
        loop {
            if let Some(message) = self.messages.pop_front() {
                return message;
            }
            let arrived = self.receive("a message").await;
            assert!(arrived, "{}: the end instead of a message", self.case);
        }
    }

    /// Returns the next notification or request of the server with that method; messages before it
    /// are kept.
    pub async fn next_of(&mut self, method: &str) -> Value {
        let mut seen = 0;
        loop {
            while let Some(message) = self.messages.get(seen) {
                if message["method"] == method {
                    return self.messages.remove(seen).expect("it is there");
                }
                seen += 1;
            }
            let arrived = self.receive(method).await;
            assert!(arrived, "{}: the end instead of {method}", self.case);
        }
    }

    /// Returns the next frame unparsed. The frame is not matched to a waiting request.
    pub async fn next_raw(&mut self) -> String {
        let frame = self.frame("a frame").await;
        let frame = frame.unwrap_or_else(|| panic!("{}: the end instead of a frame", self.case));
        let message = self.record.record_received(&frame);
        for answer in elements(message) {
            self.open.remove(&id_text(&answer));
        }
        String::from_utf8(frame).expect("UTF-8, as was checked")
    }

    /// Returns all messages that answer no waiting request, once no more arrive on their own.
    pub async fn messages(&mut self) -> Vec<Value> {
        self.settle().await;
        self.messages.drain(..).collect()
    }

    /// Lets everything happen that needs no time.
    pub async fn settle(&mut self) {
        self.wait(Duration::from_millis(1)).await;
    }

    /// Lets time pass, and takes in what comes meanwhile.
    pub async fn wait(&mut self, time: Duration) {
        let end = tokio::time::Instant::now() + time;
        loop {
            match tokio::time::timeout_at(end, self.link.next()).await {
                Ok(Some(frame)) => self.take(&frame),
                Ok(None) => return tokio::time::sleep_until(end).await,
                Err(_) => return,
            }
        }
    }

    /// Returns whether the response to a request has already arrived.
    pub async fn is_answered(&mut self, id: i64) -> bool {
        self.settle().await;
        self.open.get(&id.to_string()).is_some_and(Option::is_some)
    }

    /// Fails unless the server has nothing to say for a second.
    pub async fn expect_silence(&mut self) {
        self.wait(Duration::from_secs(1)).await;
        let answered = self.open.values().flatten();
        let messages: Vec<_> = self.messages.iter().chain(answered).collect();
        assert!(
            messages.is_empty(),
            "{}: not silent: {messages:?}",
            self.case
        );
    }

    /// Returns every message received, in order, one frame after another.
    #[must_use]
    pub fn received_messages(&self) -> &[Value] {
        self.record.all_received()
    }

    /// Returns the signal that makes the server wind down (`close`) or stop at once (`cancel`).
    #[must_use]
    pub fn server_stop(&self) -> &Signal {
        &self.link.stop
    }

    /// Says that no more will be sent; what was asked may still be answered.
    pub fn close(&mut self) {
        self.link.close();
    }

    /// Takes in what still comes, and waits for the server to end the connection.
    pub async fn closed(&mut self) -> CloseReason {
        while self.receive("the end").await {}
        let closing = timeout(self.options.patience, self.link.closed()).await;
        closing.unwrap_or_else(|_| panic!("{}: serving does not end", self.case))
    }

    /// Takes in one frame; `false` at the end.
    async fn receive(&mut self, what: &str) -> bool {
        match self.frame(what).await {
            Some(frame) => {
                self.take(&frame);
                true
            }
            None => false,
        }
    }

    async fn frame(&mut self, what: &str) -> Option<Vec<u8>> {
        let patience = self.options.patience;
        match timeout(patience, self.link.next()).await {
            Ok(frame) => frame,
            Err(_) => panic!("{}: waited {patience:?} for {what}", self.case),
        }
    }

    fn take(&mut self, frame: &[u8]) {
        let message = self.record.record_received(frame);
        for message in elements(message) {
            let waits = message.get("method").is_none();
            match self.open.get_mut(&id_text(&message)) {
                Some(answer @ None) if waits => *answer = Some(message),
                _ => self.messages.push_back(message),
            }
        }
    }

    fn with_meta(&self, mut params: Value, id: Option<i64>) -> Value {
        let mut meta = Map::new();
        if self.case.is_modern() {
            meta = modern_meta(self.case.revision, &self.options.capabilities);
            if !self.options.client_info.is_null() {
                let info = self.options.client_info.clone();
                meta.insert("io.modelcontextprotocol/clientInfo".into(), info);
            }
            if let Some(level) = &self.options.log_level {
                let level = level.as_str().into();
                meta.insert("io.modelcontextprotocol/logLevel".into(), level);
            }
        }
        if let Some(id) = id.filter(|_| self.options.progress_tokens) {
            meta.insert("progressToken".into(), id.into());
        }
        if !meta.is_empty() {
            // What the test gave itself counts.
            let given = params["_meta"].as_object().cloned().unwrap_or_default();
            meta.extend(given);
            params["_meta"] = meta.into();
        }
        params
    }
}

/// Returns the members that `_meta` of a modern request must have.
#[must_use]
pub fn modern_meta(revision: Revision, capabilities: &Value) -> Map<String, Value> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": revision.as_str(),
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    meta.as_object().cloned().unwrap_or_default()
}

impl Drop for Client {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.record.transcript());
        }
    }
}

/// Returns the messages of a frame: several only in a batch.
fn elements(message: Value) -> Vec<Value> {
    match message {
        Value::Array(messages) => messages,
        message => vec![message],
    }
}

fn id_text(message: &Value) -> String {
    message.get("id").unwrap_or(&Value::Null).to_string()
}

fn ids_of_requests(frame: &[u8]) -> Vec<String> {
    let Ok(message) = serde_json::from_slice(frame) else {
        return Vec::new();
    };
    let is_request = |message: &Value| message.get("method").is_some() && !message["id"].is_null();
    elements(message)
        .iter()
        .filter(|message| is_request(message))
        .map(id_text)
        .collect()
}
