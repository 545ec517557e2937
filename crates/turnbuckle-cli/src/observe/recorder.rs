//! Recording of a result as the server wrote it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;
use turnbuckle::session::transport::OutboundMessage;
use turnbuckle::types::RequestId;

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
            ..State::default()
        };
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
        self.state().has_sent = true;
        let Some(id) = parcel.kind.request_id() else {
            return;
        };
        let mut state = self.state();
        let Some(method) = state.method else { return };
        let request: Result<Request<'_>, _> = serde_json::from_slice(&parcel.frame);
        if request.is_ok_and(|request| request.method == method) {
            state.awaited_id = Some(id.clone());
        }
    }

    pub(super) fn on_received(&self, frame: &[u8]) {
        let mut state = self.state();
        state.has_received = true;
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
