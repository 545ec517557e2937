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
use turnbuckle_wire::rpc::{self, Message, Refusal, RefusalKind};

use crate::server::session::Delivery;
use crate::shared::route::{Answer, Full, Route};
use crate::{Received, Session};

/// Collects the answers of a batch into one array, sent by the batch's own way back, unless that
/// takes them one by one.
struct Collected {
    outer: Arc<dyn Route>,
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

    fn add(&self, answer: Answer) {
        match self.outer.part(answer) {
            Ok(()) => self.state().apart = true,
            Err(answer) => self.state().add(&answer),
        }
    }
}

impl State {
    fn add(&mut self, answer: &Answer) {
        self.answers
            .push(if self.answers.is_empty() { b'[' } else { b',' });
        self.answers.extend_from_slice(&answer.frame);
        self.answers.extend_from_slice(&answer.tail);
    }

    fn take(&mut self) -> Option<Answer> {
        if self.answers.is_empty() {
            return None;
        }
        self.answers.push(b']');
        Some(Answer {
            frame: std::mem::take(&mut self.answers),
            tail: Bytes::new(),
            failure: None,
        })
    }
}

impl Route for Collected {
    fn send(&self, frame: Vec<u8>) -> Result<(), Full> {
        self.outer.send(frame)
    }

    fn space(&self) -> Notified<'_> {
        self.outer.space()
    }

    fn done(&self, answer: Option<Answer>) {
        if let Some(answer) = answer {
            self.add(answer);
        }
        let mut state = self.state();
        state.open -= 1;
        if state.open == 0 && state.detached {
            let answer = state.take();
            drop(state);
            self.outer.done(answer);
        }
    }

    fn pause(&self) {
        self.outer.pause();
    }
}

impl Session {
    /// Takes a batch of messages of the session's own revision.
    pub fn receive_batch(
        self: &Arc<Self>,
        delivery: Delivery<'_>,
        route: &Arc<dyn Route>,
        cx: &mut task::Context<'_>,
    ) -> Received {
        let refuse = |message: &'static str| {
            Received::Answered(self.refuse(&Refusal {
                kind: RefusalKind::NotAMessage,
                id: None,
                message: message.into(),
            }))
        };
        let Some(limit) = self.batch_limit() else {
            return refuse("several messages at once are no message in this revision");
        };
        let elements = match rpc::elements(delivery.text, limit) {
            Ok(elements) if elements.is_empty() => return refuse("a batch must not be empty"),
            Ok(elements) => elements,
            Err(refusal) => return Received::Answered(self.refuse(&refusal)),
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
        let route: Arc<dyn Route> = collected.clone();
        for text in elements {
            let frame = delivery.frame.slice_ref(text.as_bytes());
            let delivery = Delivery {
                frame: &frame,
                text,
                ..delivery
            };
            collected.state().open += 1;
            let received = match rpc::decode::<Params<'_>>(text) {
                Err(refusal) if refusal.kind == RefusalKind::Notification => Received::Accepted,
                Err(refusal) => Received::Answered(self.refuse(&refusal)),
                Ok(Message::Request(request))
                    if *request.method == *Method::Initialize.as_str() =>
                {
                    Received::Answered(self.not_in_a_batch(&request.id))
                }
                Ok(message) => self.receive(message, None, delivery, &route, cx),
            };
            match received {
                Received::Answered(answer) => collected.done(Some(answer)),
                Received::Accepted => collected.done(None),
                Received::Running | Received::Held(_) => {}
            }
        }
        let mut state = collected.state();
        state.open -= 1;
        if state.open > 0 {
            state.detached = true;
            return Received::Running;
        }
        if state.apart {
            drop(state);
            collected.outer.done(None);
            return Received::Running;
        }
        state.take().map_or(Received::Accepted, Received::Answered)
    }

    fn not_in_a_batch(&self, id: &RequestId) -> Answer {
        Answer {
            failure: Some(ErrorKind::NotAMessage),
            ..self.refuse(&Refusal {
                kind: RefusalKind::NotAMessage,
                id: Some(id.clone()),
                message: "\"initialize\" must not be part of a batch".into(),
            })
        }
    }
}
