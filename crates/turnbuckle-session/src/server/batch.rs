//! A batch: its requests run concurrently and are answered together.
//!
//! Specification: basic, "Batching" (2025-03-26).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task;

use bytes::Bytes;
use tokio::sync::futures::Notified;
use turnbuckle_types::{ErrorKind, RequestId};
use turnbuckle_wire::era::Params;
use turnbuckle_wire::revision::Method;
use turnbuckle_wire::rpc::{self, DecodeError, DecodeErrorKind, Message};

use crate::server::session::InboundFrame;
use crate::shared::reply_sink::{EncodedResponse, QueueFull, ReplySink};
use crate::{MessageOutcome, Session};

/// Collects the answers of a batch into one array, sent by the batch's own way back, unless that
/// takes them one by one.
struct Collected {
    outer: Arc<dyn ReplySink>,
    state: Mutex<State>,
}

struct State {
    open: usize,
    answers: Vec<u8>,
    /// Answers went out one by one.
    apart: bool,
    /// The batch is read to its end, and its answer is wanted on the route.
    detached: bool,
}

impl Collected {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, answer: EncodedResponse) {
        match self.outer.send_batch_response(answer) {
            Ok(()) => self.state().apart = true,
            Err(answer) => self.state().add(&answer),
        }
    }
}

impl State {
    fn add(&mut self, answer: &EncodedResponse) {
        self.answers
            .push(if self.answers.is_empty() { b'[' } else { b',' });
        self.answers.extend_from_slice(&answer.frame);
        self.answers.extend_from_slice(&answer.tail);
    }

    fn take(&mut self) -> Option<EncodedResponse> {
        if self.answers.is_empty() {
            return None;
        }
        self.answers.push(b']');
        Some(EncodedResponse {
            frame: std::mem::take(&mut self.answers),
            tail: Bytes::new(),
            failure: None,
        })
    }
}

impl ReplySink for Collected {
    fn send(&self, frame: Vec<u8>) -> Result<(), QueueFull> {
        self.outer.send(frame)
    }

    fn wait_for_space(&self) -> Notified<'_> {
        self.outer.wait_for_space()
    }

    fn finish(&self, answer: Option<EncodedResponse>) {
        if let Some(answer) = answer {
            self.add(answer);
        }
        let mut state = self.state();
        state.open -= 1;
        if state.open == 0 && state.detached {
            let answer = state.take();
            drop(state);
            self.outer.finish(answer);
        }
    }

    fn close_sse_stream(&self) {
        self.outer.close_sse_stream();
    }
}

impl Session {
    /// Takes a batch of messages of the session's own revision.
    pub fn receive_batch(
        self: &Arc<Self>,
        delivery: InboundFrame<'_>,
        route: &Arc<dyn ReplySink>,
        cx: &mut task::Context<'_>,
    ) -> MessageOutcome {
        let refuse = |message: &'static str| {
            MessageOutcome::Response(self.encode_refusal(&DecodeError {
                kind: DecodeErrorKind::InvalidRequest,
                id: None,
                message: message.into(),
            }))
        };
        let Some(limit) = self.batch_limit() else {
            return refuse("several messages at once are no message in this revision");
        };
        let elements = match rpc::split_batch(delivery.text, limit) {
            Ok(elements) if elements.is_empty() => return refuse("a batch must not be empty"),
            Ok(elements) => elements,
            Err(refusal) => return MessageOutcome::Response(self.encode_refusal(&refusal)),
        };
        let collected = Arc::new(Collected {
            outer: route.clone(),
            // One is held until the batch is read, so that it cannot end before.
            state: Mutex::new(State {
                open: 1,
                answers: Vec::new(),
                apart: false,
                detached: false,
            }),
        });
        let route: Arc<dyn ReplySink> = collected.clone();
        for text in elements {
            let frame = delivery.frame.slice_ref(text.as_bytes());
            let delivery = InboundFrame {
                frame: &frame,
                text,
                ..delivery
            };
            collected.state().open += 1;
            let received = match rpc::decode::<Params<'_>>(text) {
                Err(refusal) if refusal.kind == DecodeErrorKind::InvalidNotification => {
                    MessageOutcome::NoResponse
                }
                Err(refusal) => MessageOutcome::Response(self.encode_refusal(&refusal)),
                Ok(Message::Request(request))
                    if *request.method == *Method::Initialize.as_str() =>
                {
                    MessageOutcome::Response(self.not_in_a_batch(&request.id))
                }
                Ok(message) => self.receive(message, None, delivery, &route, cx),
            };
            match received {
                MessageOutcome::Response(answer) => collected.finish(Some(answer)),
                MessageOutcome::NoResponse => collected.finish(None),
                MessageOutcome::Pending | MessageOutcome::Held(_) => {}
            }
        }
        let mut state = collected.state();
        state.open -= 1;
        if state.open > 0 {
            state.detached = true;
            return MessageOutcome::Pending;
        }
        if state.apart {
            drop(state);
            collected.outer.finish(None);
            return MessageOutcome::Pending;
        }
        state
            .take()
            .map_or(MessageOutcome::NoResponse, MessageOutcome::Response)
    }

    fn not_in_a_batch(&self, id: &RequestId) -> EncodedResponse {
        EncodedResponse {
            failure: Some(ErrorKind::InvalidRequest),
            ..self.encode_refusal(&DecodeError {
                kind: DecodeErrorKind::InvalidRequest,
                id: Some(id.clone()),
                message: "\"initialize\" must not be part of a batch".into(),
            })
        }
    }
}
