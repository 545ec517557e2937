//! The client.

use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use turnbuckle_check::probe::{Direction, Handshake, Probe, ProbeError, Transcript};
use turnbuckle_server::Server;
use turnbuckle_session::handler::Signal;
use turnbuckle_session::transport::CloseReason;

use super::link::Served;
use super::{Case, ClientOptions};
use crate::wires::seed;

/// A client that speaks one revision over one binding: a [`Probe`] for which every fault is the end of
/// the test.
///
/// Dropping it breaks its connection; if that is because the test fails, it prints what was said.
pub struct Client {
    case: Case,
    probe: Probe,
    transcript: Transcript,
    patience: Duration,
    stop: Signal,
    server: Option<JoinHandle<CloseReason>>,
}

impl Client {
    /// Connects with default options. On a legacy revision the handshake is done.
    pub async fn connect(case: Case, server: &Server) -> Self {
        Self::connect_with(case, server, ClientOptions::new()).await
    }

    /// Connects.
    pub async fn connect_with(case: Case, server: &Server, options: ClientOptions) -> Self {
        let Served { link, stop, task } = Served::open(case, server, &options);
        let transcript = Transcript::new(usize::MAX, 2000);
        let mut client = Self {
            case,
            probe: Probe::new(
                case.revision,
                link,
                options.probe.clone(),
                transcript.clone(),
            ),
            transcript,
            patience: options.probe.timeout,
            stop,
            server: task,
        };
        if case.is_legacy() && options.probe.handshake != Handshake::None {
            let opening = client.probe.open_session().await;
            client.sound(opening);
            let handshake = client.probe.handshake().expect("it was done");
            assert_eq!(
                handshake["protocolVersion"],
                case.revision.as_str(),
                "{handshake}"
            );
        }
        client
    }

    /// Returns what was asked for. Fails if the conversation broke, or if the server sent a message
    /// that its schema refuses.
    fn sound<T>(&self, outcome: Result<T, ProbeError>) -> T {
        let faults = self.transcript.take_faults();
        if let Some(fault) = faults.first() {
            panic!(
                "{}: {}\n{}",
                self.case,
                fault.faults.join("\n"),
                fault.message
            );
        }
        outcome.unwrap_or_else(|error| panic!("{}: {error}", self.case))
    }

    /// Returns the revision and the binding of the client.
    #[must_use]
    pub fn case(&self) -> Case {
        self.case
    }

    /// Returns the result of the handshake that [`connect`](Self::connect) did.
    #[must_use]
    pub fn handshake(&self) -> Option<&Value> {
        self.probe.handshake()
    }

    /// Sends a request and waits for the whole response. A modern request gets its envelope.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let answer = self.probe.request(method, params).await;
        self.sound(answer)
    }

    /// Sends a request; [`response`](Self::response) waits for what comes back. A modern request
    /// gets its envelope.
    pub async fn start(&mut self, method: &str, params: Value) -> i64 {
        let id = self.probe.start(method, params).await;
        self.sound(id)
    }

    /// Waits for the response to a request that was sent by [`start`](Self::start) or
    /// [`send`](Self::send). What else arrives meanwhile is kept for [`next`](Self::next).
    pub async fn response(&mut self, id: impl Into<Value>) -> Value {
        let answer = self.probe.response(id).await;
        self.sound(answer)
    }

    /// Returns parameters with the `_meta` that every request of this client carries, for messages
    /// that are sent unchanged.
    #[must_use]
    pub fn with_envelope(&self, params: Value) -> Value {
        self.probe.with_envelope(params)
    }

    /// Sends a notification. Modern notifications carry no envelope.
    pub async fn notify(&mut self, method: &str, params: Value) {
        let sent = self.probe.notify(method, params).await;
        self.sound(sent);
    }

    /// Answers a request of the server.
    pub async fn answer(&mut self, id: &Value, result: Value) {
        let sent = self.probe.answer(id, result).await;
        self.sound(sent);
    }

    /// Refuses a request of the server.
    pub async fn answer_error(&mut self, id: &Value, code: i64, message: &str) {
        let sent = self.probe.answer_error(id, code, message).await;
        self.sound(sent);
    }

    /// Gives up on a request, by a message or by closing its response, as the binding has it: no
    /// answer to it is waited for any more.
    pub async fn cancel(&mut self, id: i64) {
        self.cancel_because(id, None).await;
    }

    /// Gives up on a request for that reason.
    pub async fn cancel_because(&mut self, id: i64, reason: Option<&str>) {
        let sent = self.probe.cancel(id, reason).await;
        self.sound(sent);
    }

    /// Sends a message, or a batch, as it is: without an envelope, unless it has one.
    pub async fn send(&mut self, message: &Value) {
        let sent = self.probe.send(message).await;
        self.sound(sent);
    }

    /// Sends a text as one frame.
    pub async fn raw(&mut self, text: &str) {
        self.bytes(text.as_bytes()).await;
    }

    /// Sends bytes as one frame.
    pub async fn bytes(&mut self, frame: &[u8]) {
        let sent = self.probe.bytes(frame).await;
        self.sound(sent);
    }

    /// Sends a message as it is and waits for the next frame, whatever that is.
    pub async fn exchange(&mut self, message: &Value) -> Value {
        let frame = self.probe.exchange(message).await;
        self.sound(frame)
    }

    /// Returns the next message that answers no waiting request: a notification, a request of the
    /// server, or a stray answer.
    pub async fn next(&mut self) -> Value {
        let message = self.probe.next().await;
        self.sound(message)
    }

    /// Returns the next notification or request of the server with that method; messages before it
    /// are kept.
    pub async fn next_of(&mut self, method: &str) -> Value {
        let message = self.probe.next_of(method).await;
        self.sound(message)
    }

    /// Returns the next frame unparsed. The frame is not matched to a waiting request.
    pub async fn next_raw(&mut self) -> String {
        let frame = self.probe.next_bytes().await;
        String::from_utf8(self.sound(frame)).expect("UTF-8, as was checked")
    }

    /// Returns all messages that answer no waiting request, once no more arrive on their own.
    pub async fn messages(&mut self) -> Vec<Value> {
        self.settle().await;
        self.probe.take_messages()
    }

    /// Lets everything happen that needs no time.
    pub async fn settle(&mut self) {
        self.wait(Duration::from_millis(1)).await;
    }

    /// Lets time pass, and takes in what comes meanwhile.
    pub async fn wait(&mut self, time: Duration) {
        let waited = self.probe.wait(time).await;
        self.sound(waited);
    }

    /// Returns whether the response to a request has already arrived.
    pub async fn is_answered(&mut self, id: i64) -> bool {
        self.settle().await;
        self.probe.has_answer(id)
    }

    /// Fails unless the server has nothing to say for a second.
    pub async fn expect_silence(&mut self) {
        self.wait(Duration::from_secs(1)).await;
        let messages = self.probe.waiting_messages();
        let messages: Vec<_> = messages.chain(self.probe.waiting_answers()).collect();
        assert!(
            messages.is_empty(),
            "{}: not silent: {messages:?}",
            self.case
        );
    }

    /// Returns every message received, in order, one frame after another.
    #[must_use]
    pub fn received_messages(&self) -> &[Value] {
        self.probe.received_messages()
    }

    /// Returns the signal that makes the server wind down (`close`) or stop at once (`cancel`).
    #[must_use]
    pub fn server_stop(&self) -> &Signal {
        &self.stop
    }

    /// Says that no more will be sent; what was asked may still be answered.
    pub fn close(&mut self) {
        assert!(self.case.is_duplex(), "an endpoint cannot be half closed");
        self.probe.close();
    }

    /// Takes in what still comes, and waits for the server to end the connection.
    pub async fn closed(&mut self) -> CloseReason {
        let closed = self.probe.closed().await;
        self.sound(closed);
        let server = self.server.take().expect("a connection, asked once");
        let closing = timeout(self.patience, server).await;
        let closing = closing.unwrap_or_else(|_| panic!("{}: serving does not end", self.case));
        closing.expect("serving does not panic")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}, TURNBUCKLE_SEED={}:", self.case, seed());
            for line in self.transcript.lines() {
                let arrow = match line.direction {
                    Direction::Sent => '→',
                    Direction::Received => '←',
                };
                eprintln!("{arrow} {}", line.text);
            }
        }
    }
}
