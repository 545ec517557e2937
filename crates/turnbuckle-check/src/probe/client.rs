//! The probe: a client that speaks one revision over one link.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use turnbuckle_wire::revision::Revision;

use super::message_record::MessageRecord;
use super::messages::{elements, id_text, ids_of_requests, is_modern, modern_meta};
use super::{Arrival, Handshake, Link, ProbeError, ProbeOptions, Transcript};

/// Messages that answer no request and wait to be taken.
const MAX_MESSAGES: usize = 2_000;

/// Factor of the time limit until the first message of a connection: a process may have to start.
pub(crate) const START_FACTOR: u32 = 4;

/// A client that speaks one revision over one link. Dropping it breaks its connection.
pub struct Probe {
    pub(super) revision: Revision,
    pub(super) options: ProbeOptions,
    link: Box<dyn Link>,
    record: MessageRecord,
    next_id: i64,
    /// The requests that wait, by the text of their ids, and the answers that are there.
    open: HashMap<String, Option<Result<Value, ProbeError>>>,
    /// Messages received that answer no waiting request.
    messages: VecDeque<Value>,
    pub(super) handshake: Option<Value>,
    /// The last frame was an error without an id.
    is_refused: bool,
}

impl Probe {
    /// Connects. With a legacy revision the handshake is done, as far as the options say.
    ///
    /// # Errors
    /// Fails if the handshake does.
    pub async fn connect(
        revision: Revision,
        link: Box<dyn Link>,
        options: ProbeOptions,
        transcript: Transcript,
    ) -> Result<Self, ProbeError> {
        let mut probe = Self::new(revision, link, options, transcript);
        if !is_modern(revision) && probe.options.handshake != Handshake::None {
            let opened = probe.open_session().await;
            probe.explain(opened).await?;
        }
        Ok(probe)
    }

    /// Says of a connection that was closed how the program at its other end ended, if it is one that did.
    pub(crate) async fn explain<T>(
        &mut self,
        outcome: Result<T, ProbeError>,
    ) -> Result<T, ProbeError> {
        match outcome {
            Err(ProbeError::Closed { what }) => Err(self.link.closed(what).await),
            outcome => outcome,
        }
    }

    /// Creates a client that has said nothing yet.
    #[must_use]
    pub fn new(
        revision: Revision,
        link: Box<dyn Link>,
        options: ProbeOptions,
        transcript: Transcript,
    ) -> Self {
        Self {
            revision,
            link,
            record: MessageRecord::new(revision, transcript, options.keeps_messages),
            next_id: 1,
            open: HashMap::new(),
            messages: VecDeque::new(),
            handshake: None,
            is_refused: false,
            options,
        }
    }

    /// Returns the link.
    pub fn link(&mut self) -> &mut dyn Link {
        &mut *self.link
    }

    /// Sends a request and waits for the whole response. A modern request gets its envelope.
    ///
    /// # Errors
    /// Fails if no response comes in time.
    pub async fn request(&mut self, method: &str, params: Value) -> Result<Value, ProbeError> {
        let id = self.start(method, params).await?;
        self.response_to(id, method).await
    }

    /// Sends a request; [`response`](Self::response) waits for its response. A modern request
    /// gets its envelope.
    ///
    /// # Errors
    /// Fails if the server does not take it.
    pub async fn start(&mut self, method: &str, params: Value) -> Result<i64, ProbeError> {
        let id = self.next_id;
        self.next_id += 1;
        let params = self.with_meta(params, Some(id));
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await?;
        Ok(id)
    }

    /// Waits for the response to a request that was sent by [`start`](Self::start) or
    /// [`send`](Self::send). What else arrives meanwhile is kept for [`next`](Self::next).
    ///
    /// # Errors
    /// Fails if no response comes in time, or if no request with that id waits.
    pub async fn response(&mut self, id: impl Into<Value>) -> Result<Value, ProbeError> {
        let id = id.into();
        let what = format!("request {id}");
        self.response_to(id, &what).await
    }

    /// Waits for the response to a request; `what` stands in the error.
    async fn response_to(&mut self, id: impl Into<Value>, what: &str) -> Result<Value, ProbeError> {
        let id = id.into().to_string();
        let what = format!("the answer to {what}");
        let mut limit = self.options.timeout;
        if !self.record.has_received() {
            limit *= START_FACTOR;
        }
        let end = Instant::now() + limit;
        loop {
            match self.open.get_mut(&id) {
                None => return Err(ProbeError::Io(format!("no request {id} waits"))),
                Some(answer) => {
                    if let Some(answer) = answer.take() {
                        self.open.remove(&id);
                        return answer;
                    }
                }
            }
            match self.receive(&what, end).await {
                Ok(true) => {}
                Ok(false) => return Err(ProbeError::Closed { what }),
                Err(ProbeError::TimedOut { what, .. }) => {
                    return Err(ProbeError::TimedOut { what, limit });
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns parameters with the `_meta` that every request of this client carries, for messages
    /// that are sent unchanged.
    #[must_use]
    pub fn with_envelope(&self, params: Value) -> Value {
        self.with_meta(params, None)
    }

    /// Sends a notification. Modern notifications carry no envelope.
    ///
    /// # Errors
    /// Fails if the server does not take it.
    pub async fn notify(&mut self, method: &str, params: Value) -> Result<(), ProbeError> {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await
    }

    /// Answers a request of the server.
    ///
    /// # Errors
    /// Fails if the server does not take it.
    pub async fn answer(&mut self, id: &Value, result: Value) -> Result<(), ProbeError> {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
            .await
    }

    /// Refuses a request of the server.
    ///
    /// # Errors
    /// Fails if the server does not take it.
    pub async fn answer_error(
        &mut self,
        id: &Value,
        code: i64,
        message: &str,
    ) -> Result<(), ProbeError> {
        let error = json!({"code": code, "message": message});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
            .await
    }

    /// Gives up on a request, by a message or by closing its response, as the transport has it: no
    /// answer to it is waited for any more.
    ///
    /// # Errors
    /// Fails if the server does not take the message.
    pub async fn cancel(&mut self, id: i64, reason: Option<&str>) -> Result<(), ProbeError> {
        self.open.remove(&id.to_string());
        if self.link.give_up(&id.to_string()) {
            return Ok(());
        }
        let mut params = json!({"requestId": id});
        if let Some(reason) = reason {
            params["reason"] = reason.into();
        }
        self.notify("notifications/cancelled", params).await
    }

    /// Sends a message, or a batch, as it is: without an envelope, unless it has one.
    ///
    /// # Errors
    /// Fails if the server does not take it.
    pub async fn send(&mut self, message: &Value) -> Result<(), ProbeError> {
        self.bytes(message.to_string().as_bytes()).await
    }

    /// Sends bytes as one frame.
    ///
    /// # Errors
    /// Fails if the server does not take them in time.
    pub async fn bytes(&mut self, frame: &[u8]) -> Result<(), ProbeError> {
        self.record.record_sent(frame);
        for id in ids_of_requests(frame) {
            self.open.entry(id).or_default();
        }
        let limit = self.options.timeout;
        match timeout(limit, self.link.send(frame)).await {
            Ok(sent) => sent,
            Err(_) => Err(ProbeError::TimedOut {
                what: "room for a message: the server does not read; it".into(),
                limit,
            }),
        }
    }

    /// Sends a message as it is and waits for the next frame, whatever that is.
    ///
    /// # Errors
    /// Fails if none comes in time, or if it is not JSON.
    pub async fn exchange(&mut self, message: &Value) -> Result<Value, ProbeError> {
        self.send(message).await?;
        self.next_frame().await
    }

    /// Returns the next message that answers no waiting request: a notification, a request of the
    /// server, or a stray answer.
    ///
    /// # Errors
    /// Fails if none comes in time.
    pub async fn next(&mut self) -> Result<Value, ProbeError> {
        let end = Instant::now() + self.options.timeout;
        loop {
            if let Some(message) = self.messages.pop_front() {
                return Ok(message);
            }
            self.receive_some("a message", end).await?;
        }
    }

    /// Returns the next message that answers no waiting request, or the response to this request if that
    /// comes first.
    ///
    /// # Errors
    /// Fails if neither comes in time.
    pub async fn next_or_response(&mut self, id: i64) -> Result<Value, ProbeError> {
        let end = Instant::now() + self.options.timeout;
        loop {
            if let Some(message) = self.messages.pop_front() {
                return Ok(message);
            }
            if self.has_answer(id) {
                return self.response(id).await;
            }
            self.receive_some("a message", end).await?;
        }
    }

    /// Returns the next notification or request of the server with that method; messages before it
    /// are kept.
    ///
    /// # Errors
    /// Fails if none comes in time.
    pub async fn next_of(&mut self, method: &str) -> Result<Value, ProbeError> {
        let end = Instant::now() + self.options.timeout;
        let mut seen = 0;
        loop {
            while let Some(message) = self.messages.get(seen) {
                if message["method"] == method {
                    return Ok(self.messages.remove(seen).unwrap_or_default());
                }
                seen += 1;
            }
            self.receive_some(method, end).await?;
        }
    }

    /// Returns the next frame as JSON. The frame is not matched to a waiting request.
    ///
    /// # Errors
    /// Fails if none comes in time, or if it is not JSON.
    pub async fn next_frame(&mut self) -> Result<Value, ProbeError> {
        Ok(self.next_received().await?.1)
    }

    /// Returns the bytes of the next frame. The frame is not matched to a waiting request.
    ///
    /// # Errors
    /// Fails if none comes in time, or if it is not JSON.
    pub async fn next_bytes(&mut self) -> Result<Vec<u8>, ProbeError> {
        Ok(self.next_received().await?.0)
    }

    /// Returns the next frame, and the JSON in it.
    async fn next_received(&mut self) -> Result<(Vec<u8>, Value), ProbeError> {
        let end = Instant::now() + self.options.timeout;
        let closed = || ProbeError::Closed {
            what: "a frame".into(),
        };
        loop {
            match self.arrival("a frame", end).await?.ok_or_else(closed)? {
                // The frame before it says so already: an error without an id.
                Arrival::Failed { .. } if std::mem::take(&mut self.is_refused) => {}
                Arrival::Failed { error, .. } => return Err(error),
                Arrival::Frame(frame) | Arrival::Refusal(frame) => {
                    let message = self.record.record_received(&frame)?;
                    self.is_refused = message.get("error").is_some() && message["id"].is_null();
                    let alone = std::slice::from_ref(&message);
                    for answer in message.as_array().map_or(alone, Vec::as_slice) {
                        self.open.remove(&id_text(answer));
                    }
                    return Ok((frame, message));
                }
            }
        }
    }

    /// Returns all messages that answer no waiting request and have arrived.
    pub fn take_messages(&mut self) -> Vec<Value> {
        self.messages.drain(..).collect()
    }

    /// Returns the messages that [`take_messages`](Self::take_messages) would return.
    pub fn waiting_messages(&self) -> impl Iterator<Item = &Value> {
        self.messages.iter()
    }

    /// Returns every message received, in order, one frame after another; none unless the options keep them.
    #[must_use]
    pub fn received_messages(&self) -> &[Value] {
        self.record.all_received()
    }

    /// Returns the answers that have arrived and that nobody has taken.
    pub fn waiting_answers(&self) -> impl Iterator<Item = &Value> {
        self.open
            .values()
            .flatten()
            .filter_map(|it| it.as_ref().ok())
    }

    /// Lets time pass, and takes in what comes meanwhile.
    ///
    /// # Errors
    /// Fails if what comes is not JSON.
    pub async fn wait(&mut self, time: Duration) -> Result<(), ProbeError> {
        let end = Instant::now() + time;
        loop {
            match timeout_at(end, self.link.next()).await {
                Ok(arrival) => match arrival? {
                    Some(arrival) => self.take(arrival)?,
                    None => {
                        sleep_until(end).await;
                        return Ok(());
                    }
                },
                Err(_) => return Ok(()),
            }
        }
    }

    /// Returns whether the response to a request has already arrived.
    #[must_use]
    pub fn has_answer(&self, id: i64) -> bool {
        self.open.get(&id.to_string()).is_some_and(Option::is_some)
    }

    /// Says that no more will be sent.
    pub fn close(&mut self) {
        self.link.close();
    }

    /// Takes in what still comes, until the server ends the connection.
    ///
    /// # Errors
    /// Fails if the end does not come in time.
    pub async fn closed(&mut self) -> Result<(), ProbeError> {
        let end = Instant::now() + self.options.timeout;
        while self.receive("the end of the connection", end).await? {}
        Ok(())
    }

    /// Takes in something; fails at the end.
    async fn receive_some(&mut self, what: &str, end: Instant) -> Result<(), ProbeError> {
        let is_open = self.receive(what, end).await?;
        let closed = || ProbeError::Closed { what: what.into() };
        is_open.then_some(()).ok_or_else(closed)
    }

    /// Takes in something; `false` at the end.
    async fn receive(&mut self, what: &str, end: Instant) -> Result<bool, ProbeError> {
        let Some(arrival) = self.arrival(what, end).await? else {
            return Ok(false);
        };
        self.take(arrival).map(|()| true)
    }

    async fn arrival(&mut self, what: &str, end: Instant) -> Result<Option<Arrival>, ProbeError> {
        match timeout_at(end, self.link.next()).await {
            Ok(arrival) => arrival,
            Err(_) => Err(ProbeError::TimedOut {
                what: what.into(),
                limit: self.options.timeout,
            }),
        }
    }

    fn take(&mut self, arrival: Arrival) -> Result<(), ProbeError> {
        let frame = match arrival {
            Arrival::Frame(frame) => frame,
            Arrival::Refusal(frame) => {
                self.record.record_received(&frame)?;
                return Ok(());
            }
            Arrival::Failed { id, error } => {
                if let Some(answer @ None) = id.and_then(|id| self.open.get_mut(&id)) {
                    *answer = Some(Err(error));
                }
                return Ok(());
            }
        };
        let message = match self.record.record_received(&frame) {
            Ok(message) => message,
            // What else a process prints is a fault of its own; what comes after it can still be read.
            Err(ProbeError::NotJson { .. }) if self.link.has_lines() => return Ok(()),
            Err(error) => return Err(error),
        };
        for message in elements(message) {
            let waits = message.get("method").is_none();
            match self.open.get_mut(&id_text(&message)) {
                Some(answer @ None) if waits => *answer = Some(Ok(message)),
                _ if self.messages.len() >= MAX_MESSAGES => {
                    return Err(ProbeError::TooMuch {
                        limit: MAX_MESSAGES,
                        unit: "messages that answer no request",
                    });
                }
                _ => self.messages.push_back(message),
            }
        }
        Ok(())
    }

    fn with_meta(&self, mut params: Value, id: Option<i64>) -> Value {
        let mut meta = Map::new();
        if is_modern(self.revision) {
            meta = modern_meta(self.revision, &self.options.capabilities);
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
            // What the caller gave itself counts.
            let given = params["_meta"].as_object().cloned().unwrap_or_default();
            meta.extend(given);
            params["_meta"] = meta.into();
        }
        params
    }
}
