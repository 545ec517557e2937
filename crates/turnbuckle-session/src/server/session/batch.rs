//! Batches: the requests of a batch run concurrently, and their responses are sent together.
//!
//! Specification: basic, "Batching" (2025-03-26).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::futures::Notified;
use turnbuckle_types::{ErrorKind, RequestId};
use turnbuckle_wire::era::Params;
use turnbuckle_wire::revision::{Method, MethodRole};
use turnbuckle_wire::rpc::{self, DecodeError, DecodeErrorKind, Message};

use super::{MessageOutcome, Session};
use crate::server::inbound_frame::InboundFrame;
use crate::shared::memory_budget::MemoryPermit;
use crate::shared::reply_sink::{EncodedResponse, QueueFull, ReplySink};
use crate::shared::transport::TransportContext;

/// The sink for the requests of a batch. It collects their responses into one array for the batch's
/// own sink, unless that sink takes them one by one.
struct BatchSink {
    outer: Arc<dyn ReplySink>,
    state: Mutex<BatchState>,
}

struct BatchState {
    /// Messages of the batch that have not finished, and one while the batch is being read.
    unfinished: usize,
    /// The array of responses without its closing bracket. Empty before the first response.
    responses: Vec<u8>,
    /// The memory of the responses.
    memory: MemoryPermit,
    /// True if the outer sink took a response.
    sent_separately: bool,
    /// True if the whole batch was read and the last request to finish has to send the responses.
    finishes_outer: bool,
}

impl BatchSink {
    fn new(outer: Arc<dyn ReplySink>) -> Arc<Self> {
        Arc::new(Self {
            outer,
            state: Mutex::new(BatchState {
                unfinished: 1,
                responses: Vec::new(),
                memory: MemoryPermit::default(),
                sent_separately: false,
                finishes_outer: false,
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, BatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, response: EncodedResponse) {
        match self.outer.send_batch_response(response) {
            None => self.state().sent_separately = true,
            Some(response) => self.state().add(response),
        }
    }

    /// Ends the reading of the batch. Returns the outcome of the whole.
    fn finish_reading(&self) -> MessageOutcome {
        let mut state = self.state();
        state.unfinished -= 1;
        if state.unfinished > 0 {
            state.finishes_outer = true;
            return MessageOutcome::Pending;
        }
        if state.sent_separately {
            drop(state);
            self.outer.finish(None);
            return MessageOutcome::Pending;
        }
        let response = state.take_response();
        response.map_or(MessageOutcome::NoResponse, MessageOutcome::Response)
    }
}

impl BatchState {
    fn add(&mut self, response: EncodedResponse) {
        let separator = if self.responses.is_empty() {
            b'['
        } else {
            b','
        };
        self.responses.push(separator);
        self.responses.extend_from_slice(&response.frame);
        self.responses.extend_from_slice(&response.tail);
        self.memory.absorb(response.memory);
    }

    fn take_response(&mut self) -> Option<EncodedResponse> {
        if self.responses.is_empty() {
            return None;
        }
        self.responses.push(b']');
        Some(EncodedResponse {
            frame: std::mem::take(&mut self.responses),
            tail: Bytes::new(),
            failure: None,
            memory: std::mem::take(&mut self.memory),
        })
    }
}

impl ReplySink for BatchSink {
    fn send(&self, frame: Vec<u8>) -> Result<(), QueueFull> {
        self.outer.send(frame)
    }

    fn wait_for_space(&self) -> Notified<'_> {
        self.outer.wait_for_space()
    }

    fn finish(&self, response: Option<EncodedResponse>) {
        if let Some(response) = response {
            self.add(response);
        }
        let mut state = self.state();
        state.unfinished -= 1;
        if state.unfinished == 0 && state.finishes_outer {
            let response = state.take_response();
            drop(state);
            self.outer.finish(response);
        }
    }

    fn close_sse_stream(&self) {
        self.outer.close_sse_stream();
    }
}

impl Session {
    /// Receives a batch of messages of the session's own revision. Responses that are not ready at
    /// once go to `sink`.
    pub fn receive_batch(
        self: &Arc<Self>,
        frame: InboundFrame<'_>,
        sink: &Arc<dyn ReplySink>,
    ) -> MessageOutcome {
        let Some(max_batch_messages) = self.max_batch_messages() else {
            let message = "several messages at once are no message in this revision";
            return self.refuse_batch(message, frame.transport);
        };
        let elements = match rpc::split_batch(frame.text, max_batch_messages) {
            Ok(elements) if elements.is_empty() => {
                return self.refuse_batch("a batch must not be empty", frame.transport);
            }
            Ok(elements) => elements,
            Err(refusal) => {
                let is_too_long = refusal.kind == DecodeErrorKind::InvalidRequest;
                let limit = is_too_long.then_some("Limits::max_batch_messages");
                return MessageOutcome::Response(self.refuse(&refusal, limit, frame.transport));
            }
        };
        let batch_sink = BatchSink::new(sink.clone());
        let element_sink: Arc<dyn ReplySink> = batch_sink.clone();
        for text in elements {
            // A copy, since a request that runs would otherwise hold the whole batch.
            let own = Bytes::copy_from_slice(text.as_bytes());
            let element = InboundFrame {
                frame: &own,
                text: std::str::from_utf8(&own).unwrap_or_default(),
                ..frame
            };
            batch_sink.state().unfinished += 1;
            match self.receive_element(element, &element_sink) {
                MessageOutcome::Response(response) => batch_sink.finish(Some(response)),
                MessageOutcome::NoResponse => batch_sink.finish(None),
                MessageOutcome::Pending => {}
            }
        }
        batch_sink.finish_reading()
    }

    fn receive_element(
        self: &Arc<Self>,
        element: InboundFrame<'_>,
        sink: &Arc<dyn ReplySink>,
    ) -> MessageOutcome {
        match rpc::decode::<Params<'_>>(element.text) {
            Err(refusal) if refusal.kind == DecodeErrorKind::InvalidNotification => {
                MessageOutcome::NoResponse
            }
            Err(refusal) => {
                MessageOutcome::Response(self.refuse(&refusal, None, element.transport))
            }
            Ok(Message::Request(request))
                if Method::role_of(&request.method) == MethodRole::Handshake =>
            {
                let response = self.refuse_initialize(&request.id, element.transport);
                MessageOutcome::Response(response)
            }
            Ok(message) => self.receive(message, None, element, sink),
        }
    }

    fn refuse_batch(&self, message: &'static str, sender: &TransportContext) -> MessageOutcome {
        let refusal = DecodeError {
            kind: DecodeErrorKind::InvalidRequest,
            id: None,
            message: message.into(),
        };
        MessageOutcome::Response(self.refuse(&refusal, None, sender))
    }

    fn refuse_initialize(&self, id: &RequestId, sender: &TransportContext) -> EncodedResponse {
        let refusal = DecodeError {
            kind: DecodeErrorKind::InvalidRequest,
            id: Some(id.clone()),
            message: "\"initialize\" must not be part of a batch".into(),
        };
        EncodedResponse {
            failure: Some(ErrorKind::InvalidRequest),
            ..self.refuse(&refusal, None, sender)
        }
    }
}
