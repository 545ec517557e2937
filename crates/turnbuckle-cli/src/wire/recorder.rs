//! The result of one method as the server wrote it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;
use turnbuckle::session::Parcel;
use turnbuckle::types::RequestId;

/// Remembers the last result of the method that it was told to look out for. A request that is
/// made in several rounds has its answer in the last one.
#[derive(Default)]
pub(crate) struct Recorder(Mutex<State>);

#[derive(Default)]
struct State {
    method: Option<&'static str>,
    awaited: Option<RequestId>,
    result: Option<String>,
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

    /// From now on looks out for results of `method`.
    pub(crate) fn expect(&self, method: &'static str) {
        *self.state() = State {
            method: Some(method),
            ..State::default()
        };
    }

    /// The last result.
    pub(crate) fn take(&self) -> Option<String> {
        self.state().result.take()
    }

    pub(super) fn sent(&self, parcel: &Parcel) {
        let Some(id) = parcel.kind.request_id() else {
            return;
        };
        let mut state = self.state();
        let Some(method) = state.method else { return };
        let request: Result<Request<'_>, _> = serde_json::from_slice(&parcel.frame);
        if request.is_ok_and(|request| request.method == method) {
            state.awaited = Some(id.clone());
        }
    }

    pub(super) fn received(&self, frame: &[u8]) {
        let mut state = self.state();
        let Some(awaited) = &state.awaited else {
            return;
        };
        let response: Result<Response<'_>, _> = serde_json::from_slice(frame);
        if let Ok(response) = response
            && response.id == *awaited
        {
            state.result = Some(response.result.get().to_owned());
            state.awaited = None;
        }
    }
}
