//! Sending requests, and cancelling them.

use std::sync::Arc;
use std::time::Duration;

use turnbuckle_client::{Client, Error, RequestTag, ServerMethod};
use turnbuckle_types::method::{CallTool, GetPrompt, ReadResource};
use turnbuckle_types::{LoggingLevel, RawObject, Request};

use super::Session;
use crate::api::{EntryStatus, Fault, ItemKind, RequestToSend, SendOutcome};
use crate::call::{Params, fault, faults_of_arguments, read_params};
use crate::outline::{member, parts};
use crate::target::{SENDING, SendSlot};
use crate::values::string::decode;

/// The most requests of a session that wait for their response.
const MAX_REQUESTS: usize = 200;

/// The longest method, in bytes.
const MAX_METHOD_BYTES: usize = 256;

/// A request that is ready to be sent.
struct ReadyRequest {
    method: String,
    params: Option<RawObject>,
    timeout: Option<Duration>,
    log_level: Option<LoggingLevel>,
}

impl Session {
    /// Sends a request, unless its parameters have faults. Returns once the message is sent, before its
    /// response.
    pub(crate) async fn send(self: &Arc<Self>, request: RequestToSend) -> SendOutcome {
        let client = match self.client() {
            Ok(client) => client,
            Err(sentence) => return refuse(sentence),
        };
        if request.method.is_empty() || request.method.len() > MAX_METHOD_BYTES {
            return refuse(format!("a method has 1 to {MAX_METHOD_BYTES} bytes"));
        }
        if self.lock().requests.len() >= MAX_REQUESTS {
            return refuse(format!(
                "{MAX_REQUESTS} requests wait for the server already"
            ));
        }
        let params = match read_params(&request.params) {
            Params::Object(params) => params,
            Params::Invalid(faults) => {
                return SendOutcome::Refused {
                    faults,
                    can_send_anyway: false,
                };
            }
        };
        let faults = match request.method.as_str() {
            CallTool::METHOD if !request.anyway => self.faults_of_call(params.as_ref()),
            _ => Vec::new(),
        };
        if !faults.is_empty() {
            return SendOutcome::Refused {
                faults,
                can_send_anyway: true,
            };
        }
        let ready = ReadyRequest {
            params,
            timeout: request.timeout_ms.map(Duration::from_millis),
            log_level: self.lock().log_level,
            method: request.method,
        };
        self.send_ready(client, ready).await
    }

    async fn send_ready(self: &Arc<Self>, client: Client, request: ReadyRequest) -> SendOutcome {
        let timeout = request.timeout.or(self.lock().timeouts.idle_timeout);
        let (slot, sent) = SendSlot::new(&request.method, timeout);
        let session = self.clone();
        let task_slot = slot.clone();
        let (failed, failure) = tokio::sync::oneshot::channel();
        let task = tokio::spawn(async move {
            let outcome = perform(&client, request, &task_slot);
            let outcome = SENDING.scope(task_slot.clone(), Box::pin(outcome)).await;
            match task_slot.number() {
                Some(n) => session.finish_request(n, outcome),
                None => {
                    let sentence = outcome.err().map(|error| Self::sentence(&error));
                    // The page waits for it, unless it has gone away.
                    let _ = failed.send(sentence.unwrap_or_else(|| "nothing was sent".to_owned()));
                }
            }
        });
        tokio::select! {
            biased;
            Ok(n) = sent => {
                self.lock().requests.insert(n, task.abort_handle());
                if task.is_finished() {
                    self.lock().requests.remove(&n);
                }
                SendOutcome::Sent { n }
            }
            Ok(sentence) = failure => refuse(sentence),
            else => refuse("the request was not sent".to_owned()),
        }
    }

    /// Cancels a request. Returns false if it has its response already.
    pub(crate) fn cancel(&self, n: u64) -> bool {
        let Some(request) = self.lock().requests.remove(&n) else {
            return false;
        };
        // Dropping the request tells the server.
        request.abort();
        let timeline = self.shared.timeline.clone();
        tokio::spawn(async move {
            timeline.set_outcome(n, EntryStatus::Cancelled, None);
        });
        true
    }

    /// Records the outcome of a request that the messages do not show.
    fn finish_request(&self, n: u64, outcome: Result<(), Error>) {
        let timeline = &self.shared.timeline;
        match outcome {
            Ok(()) | Err(Error::ErrorResponse(_) | Error::ToolFailed(_)) => {}
            Err(error) => {
                let status = match error.is_timeout() {
                    true => EntryStatus::TimedOut,
                    false => EntryStatus::Error,
                };
                timeline.set_outcome(n, status, Some(Self::sentence(&error)));
            }
        }
        let duration = timeline.entry(n).and_then(|entry| entry.duration_us);
        let mut state = self.lock();
        state.requests.remove(&n);
        state.latency_us = duration.or(state.latency_us);
        drop(state);
        self.shared.changes.add("sessions");
    }

    /// Returns the faults of a call of a tool that the list has.
    fn faults_of_call(&self, params: Option<&RawObject>) -> Vec<Fault> {
        let text = params.map_or("{}", RawObject::as_str).as_bytes();
        let name = member(text, 0, "name").and_then(|range| {
            let body = text[range].strip_prefix(b"\"")?.strip_suffix(b"\"")?;
            Some(decode(body))
        });
        let Some(name) = name else {
            return vec![fault("/name", "the name of the tool is missing")];
        };
        let Some(tool) = self.shared.items.find(&self.id, ItemKind::Tools, &name) else {
            return vec![fault("/name", "the server lists no tool of this name")];
        };
        let arguments = match member(text, 0, "arguments") {
            Some(range) => match serde_json::from_slice::<RawObject>(&text[range]) {
                Ok(arguments) => Some(arguments),
                Err(_) => return vec![fault("/arguments", "the arguments have to be an object")],
            },
            None => None,
        };
        let faults = faults_of_arguments(&tool.raw, arguments.as_ref());
        let prefix = |found: Fault| fault(format!("/arguments{}", found.path), found.sentence);
        faults.into_iter().map(prefix).collect()
    }
}

fn refuse(sentence: String) -> SendOutcome {
    SendOutcome::Refused {
        faults: vec![fault("", sentence)],
        can_send_anyway: false,
    }
}

/// Sends a request and waits for its result, which the timeline has.
async fn perform(
    client: &Client,
    request: ReadyRequest,
    slot: &Arc<SendSlot>,
) -> Result<(), Error> {
    match request.method.as_str() {
        CallTool::METHOD if has_only(&request, &["name", "arguments"]) => {
            perform_typed::<CallTool>(client, request, slot).await
        }
        GetPrompt::METHOD if has_only(&request, &["name", "arguments"]) => {
            perform_typed::<GetPrompt>(client, request, slot).await
        }
        ReadResource::METHOD if has_only(&request, &["uri"]) => {
            perform_typed::<ReadResource>(client, request, slot).await
        }
        _ => perform_raw(client, request).await,
    }
}

/// Returns whether the parameters have no other members, which a typed request would lose.
fn has_only(request: &ReadyRequest, names: &[&str]) -> bool {
    let text = request
        .params
        .as_ref()
        .map_or("{}", RawObject::as_str)
        .as_bytes();
    let mut seen = Vec::new();
    parts(text, 0).all(|part| {
        let is_known = names.iter().any(|name| name.as_bytes() == part.key);
        let is_new = !seen.contains(&part.key);
        seen.push(part.key);
        is_known && is_new
    })
}

/// Sends a request whose progress is reported, and whose questions are answered.
async fn perform_typed<M: ServerMethod>(
    client: &Client,
    request: ReadyRequest,
    slot: &Arc<SendSlot>,
) -> Result<(), Error> {
    let text = request.params.as_ref().map_or("{}", RawObject::as_str);
    let Ok(params) = serde_json::from_str::<M::Params>(text) else {
        return perform_raw(client, request).await;
    };
    let mut builder = client
        .request::<M>(params)
        // The timeline has the notifications; a callback makes the client ask for them.
        .on_progress(|_| {})
        .tag(RequestTag::new(0, slot.clone()));
    if let Some(timeout) = request.timeout {
        builder = builder.idle_timeout(timeout);
    }
    if let Some(level) = request.log_level {
        builder = builder.log_level(level);
    }
    builder.send().await.map(drop)
}

async fn perform_raw(client: &Client, request: ReadyRequest) -> Result<(), Error> {
    let sent = client.request_raw(&request.method, request.params, request.timeout);
    sent.await.map(drop)
}
