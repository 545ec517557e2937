//! Recording of a result as the server wrote it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;
use turnbuckle::session::transport::OutboundMessage;
use turnbuckle::types::RequestId;

use crate::output::sanitize_line;

/// Records the last result of one method. A request with several input rounds has its answer in the
/// last one.
#[derive(Default)]
pub(crate) struct Recorder(Mutex<State>);

#[derive(Default)]
struct State {
    method: Option<&'static str>,
    awaited_id: Option<RequestId>,
    result: Option<String>,
    has_sent: bool,
    has_received: bool,
    handshake: Handshake,
}

/// The messages of a handshake, by which a program that speaks no MCP is told from a server.
#[derive(Default)]
struct Handshake {
    is_over: bool,
    /// The first message that was sent.
    first_sent: Option<Vec<u8>>,
    /// True if the first message came back as it was.
    is_echoed: bool,
    /// True if a message of JSON-RPC came.
    has_message: bool,
    /// The beginning of the first line that was none.
    first_noise: Option<String>,
}

/// The most bytes that are kept of a line that is no message.
const MAX_NOISE_BYTES: usize = 512;

impl Handshake {
    fn on_sent(&mut self, frame: &[u8]) {
        if !self.is_over && self.first_sent.is_none() {
            self.first_sent = Some(frame.to_vec());
        }
    }

    fn on_received(&mut self, frame: &[u8]) {
        if self.is_over || self.has_message {
            return;
        }
        let first = self.first_sent.as_deref();
        if first.is_some_and(|first| first.trim_ascii() == frame.trim_ascii()) {
            self.is_echoed = true;
        } else if serde_json::from_slice::<AnyMessage>(frame).is_ok() {
            self.has_message = true;
        } else if self.first_noise.is_none() {
            let beginning = &frame[..frame.len().min(MAX_NOISE_BYTES)];
            self.first_noise = Some(String::from_utf8_lossy(beginning).into_owned());
        }
    }
}

/// Any message of JSON-RPC.
#[derive(Deserialize)]
struct AnyMessage {
    #[serde(rename = "jsonrpc")]
    _version: serde::de::IgnoredAny,
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    method: std::borrow::Cow<'a, str>,
}

#[derive(Deserialize)]
struct Response<'a> {
    id: RequestId,
    #[serde(borrow)]
    result: &'a RawValue,
}

impl Recorder {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts to record results of `method` and forgets the last one.
    pub(crate) fn expect(&self, method: &'static str) {
        *self.state() = State {
            method: Some(method),
            handshake: Handshake {
                is_over: true,
                ..Handshake::default()
            },
            ..State::default()
        };
    }

    /// Returns in words how a program showed during the handshake that it speaks no MCP, if it did.
    pub(crate) fn describe_foreign_program(&self) -> Option<String> {
        let handshake = &self.state().handshake;
        if handshake.is_echoed {
            return Some("it sends back what it is sent".to_owned());
        }
        let noise = handshake.first_noise.as_ref();
        let noise = noise.filter(|_| !handshake.has_message)?;
        let line = sanitize_line(noise, 120);
        Some(format!("it wrote \"{line}\", which is no message"))
    }

    /// Returns whether something was sent and nothing came back, before the first
    /// [`expect`](Self::expect).
    pub(crate) fn is_silent(&self) -> bool {
        let state = self.state();
        state.has_sent && !state.has_received
    }

    /// Takes the last result.
    pub(crate) fn take_result(&self) -> Option<String> {
        self.state().result.take()
    }

    pub(super) fn on_sent(&self, parcel: &OutboundMessage) {
        let mut state = self.state();
        state.has_sent = true;
        state.handshake.on_sent(&parcel.frame);
        let Some(id) = parcel.kind.request_id() else {
            return;
        };
        let Some(method) = state.method else { return };
        let request: Result<Request<'_>, _> = serde_json::from_slice(&parcel.frame);
        if request.is_ok_and(|request| request.method == method) {
            state.awaited_id = Some(id.clone());
        }
    }

    pub(super) fn on_received(&self, frame: &[u8]) {
        let mut state = self.state();
        state.has_received = true;
        state.handshake.on_received(frame);
        let Some(awaited) = &state.awaited_id else {
            return;
        };
        let response: Result<Response<'_>, _> = serde_json::from_slice(frame);
        if let Ok(response) = response
            && response.id == *awaited
        {
            state.result = Some(response.result.get().to_owned());
            state.awaited_id = None;
        }
    }
}
