//! Calls whose client answers a question at another instance of the proxy than the one that has sent the
//! request to the server.
//!
//! The instance that has the call keeps it, with its bounds. The one that the client has come to asks it for the
//! questions so far, since the handler there has to repeat them, and sends it the answer to the last one. Until
//! the next question or the end, both show each other that they are there; the call is cancelled when the other
//! side is silent.

mod foreign_exchange;
pub(super) mod message;
pub(super) mod remote_call;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use turnbuckle_cluster::{Cluster, MessageKind, Received, Receiver};
use turnbuckle_types::ProtocolError;

use crate::proxy::elsewhere::message::{CallName, Content, Message};
use crate::proxy::parked::ParkedCalls;
use crate::proxy::question::Answer;

pub(super) use foreign_exchange::ForeignExchange;

/// The time after which an instance that says nothing is taken for gone.
const MAX_SILENCE: Duration = Duration::from_secs(10);

/// The time between two attempts to send a message.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);

/// The error of a call that its client answers although no instance has it any more.
const CALL_IS_GONE: &str = "the call that this answer belongs to is no longer open: it waited for ten \
     minutes, was answered before, or was at an instance without a store or one that has ended; call again, \
     without requestState";

/// Returns the error of a call that its client answers although no instance has it any more.
pub(super) fn call_is_gone() -> ProtocolError {
    ProtocolError::invalid_params(CALL_IS_GONE)
}

/// The instances of a proxy that share its store, as one of them sees them.
pub(super) struct Instances {
    cluster: Arc<Cluster>,
    parked: Arc<ParkedCalls>,
    this: Weak<Self>,
    last_exchange: AtomicU64,
    /// The exchanges of clients that have come to this instance, by number.
    own_exchanges: Mutex<HashMap<u64, mpsc::Sender<Content>>>,
    /// The exchanges about calls of this instance, whose clients have come to others.
    foreign_exchanges: Mutex<HashMap<ExchangeKey, Deadline>>,
}

/// The instance that has begun an exchange, and its number there.
type ExchangeKey = (Arc<str>, u64);

/// The time at which an exchange ends unless its client shows that it waits; `None` once it is cancelled.
type Deadline = watch::Sender<Option<Instant>>;

impl Instances {
    /// Begins to receive messages about calls.
    pub(super) fn start(cluster: Arc<Cluster>, parked: Arc<ParkedCalls>) -> Arc<Self> {
        let instances = Arc::new_cyclic(|this: &Weak<Self>| {
            let receiver: Weak<dyn Receiver> = this.clone();
            cluster.add_receiver(MessageKind::ProxiedCall, receiver);
            Self {
                cluster,
                parked,
                this: this.clone(),
                last_exchange: AtomicU64::new(0),
                own_exchanges: Mutex::default(),
                foreign_exchanges: Mutex::default(),
            }
        });
        instances.cluster.start();
        instances
    }

    /// Returns the id of a call of this instance, by which others find it.
    pub(super) fn name_call(&self, id: &str) -> String {
        format!("{}.{id}", self.cluster.instance())
    }

    fn own_exchanges(&self) -> MutexGuard<'_, HashMap<u64, mpsc::Sender<Content>>> {
        self.own_exchanges
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn foreign_exchanges(&self) -> MutexGuard<'_, HashMap<ExchangeKey, Deadline>> {
        self.foreign_exchanges
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn next_exchange(&self) -> u64 {
        self.last_exchange.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Goes on with a call that waits here, for a client at another instance.
    fn serve(&self, key: ExchangeKey, call: &CallName, questions: usize, answer: Answer) -> bool {
        let Some(this) = self.this.upgrade() else {
            return false;
        };
        let mut exchanges = self.foreign_exchanges();
        if exchanges.contains_key(&key) {
            // The message was sent again, because the acknowledgement was late.
            return true;
        }
        let Some(waiting) = self.parked.take_at(call, questions) else {
            return false;
        };
        let (deadline, ended) = watch::channel(Some(Instant::now() + MAX_SILENCE));
        exchanges.insert(key.clone(), deadline);
        drop(exchanges);
        let exchange = ForeignExchange::new(this, key, call.clone(), ended);
        tokio::spawn(waiting.answer_from_elsewhere(answer, exchange));
        true
    }

    /// Sends the questions of a call that waits here. Returns whether there is one.
    fn list_questions(&self, to: &Arc<str>, exchange: u64, call: &CallName) -> bool {
        let (Some(this), Some(questions)) = (self.this.upgrade(), self.parked.questions(call))
        else {
            return false;
        };
        let to = to.clone();
        tokio::spawn(async move {
            let Some(body) = encode(exchange, Content::Questions(questions)) else {
                return;
            };
            // The other instance asks again.
            let _ = this
                .cluster
                .notify(&to, MessageKind::ProxiedCall, body)
                .await;
        });
        true
    }

    /// Passes a message to an exchange of a client that has come to this instance. Returns whether there is one.
    fn pass(&self, exchange: u64, content: Content) -> bool {
        let exchanges = self.own_exchanges();
        let Some(queue) = exchanges.get(&exchange) else {
            return false;
        };
        let may_be_lost = matches!(content, Content::Progress(_) | Content::Log(_));
        // The last place is for the message that ends the exchange.
        if !may_be_lost || queue.capacity() > 1 {
            let _ = queue.try_send(content);
        }
        true
    }
}

impl Receiver for Instances {
    fn receive(&self, received: &Received) -> bool {
        let Ok(Message { exchange, content }) = serde_json::from_slice(&received.body) else {
            return false;
        };
        let key = (received.from.clone(), exchange);
        match content {
            Content::ListQuestions(call) => self.list_questions(&received.from, exchange, &call),
            Content::Answer {
                call,
                questions,
                answer,
            } => self.serve(key, &call, questions, answer),
            Content::Waiting | Content::Cancel => {
                let is_cancelled = matches!(content, Content::Cancel);
                let deadline = (!is_cancelled).then(|| Instant::now() + MAX_SILENCE);
                let exchanges = self.foreign_exchanges();
                let exchange = exchanges.get(&key);
                exchange.map(|it| it.send_replace(deadline)).is_some()
            }
            Content::CancelParked(call) => {
                let questions = self.parked.questions(&call);
                let cancelled = questions.and_then(|it| self.parked.take_at(&call, it.len()));
                cancelled.is_some()
            }
            content => self.pass(exchange, content),
        }
    }
}

/// Returns the bytes of a message.
fn encode(exchange: u64, content: Content) -> Option<Bytes> {
    let message = Message { exchange, content };
    serde_json::to_vec(&message).ok().map(Bytes::from)
}
