//! One exchange about a call of this instance, whose client has come to another one.

use std::sync::Arc;

use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use turnbuckle_cluster::{Delivery, MessageKind};
use turnbuckle_store::StoreErrorKind;
use turnbuckle_types::Json;

use crate::proxy::call_error::CallError;
use crate::proxy::elsewhere::message::{CallName, Content};
use crate::proxy::elsewhere::{ExchangeKey, Instances, MAX_SILENCE, RETRY_INTERVAL, encode};
use crate::proxy::parked::ParkedCall;

/// The error of a call whose result the instances cannot tell each other.
const RESULT_IS_LOST: &str = "the result cannot be passed to the instance that the client has come to: it is \
     larger than 16 MiB, or no JSON";

/// An exchange about a call of this instance. Dropping the value ends it.
pub(crate) struct ForeignExchange {
    instances: Arc<Instances>,
    key: ExchangeKey,
    call: CallName,
    deadline: watch::Receiver<Option<Instant>>,
}

/// The fate of a message to the client's instance.
#[derive(PartialEq, Eq)]
enum Sent {
    Received,
    /// The exchange is over at the other instance.
    Refused,
    /// The other instance may have received it.
    Unknown,
    TooLarge,
}

impl Drop for ForeignExchange {
    fn drop(&mut self) {
        self.instances.foreign_exchanges().remove(&self.key);
    }
}

impl ForeignExchange {
    pub(super) fn new(
        instances: Arc<Instances>,
        key: ExchangeKey,
        call: CallName,
        deadline: watch::Receiver<Option<Instant>>,
    ) -> Self {
        Self {
            instances,
            key,
            call,
            deadline,
        }
    }

    /// Waits until the client has cancelled the call, or its instance says nothing for too long.
    pub(crate) async fn wait_for_end(&mut self) {
        loop {
            let Some(deadline) = *self.deadline.borrow_and_update() else {
                return;
            };
            tokio::select! {
                () = sleep_until(deadline) => return,
                changed = self.deadline.changed() => if changed.is_err() {
                    return;
                },
            }
        }
    }

    /// Tells the client's instance something of the call. Returns whether the client still waits.
    pub(crate) async fn report(&self, content: Content) -> bool {
        self.send(content, Instant::now()).await != Sent::Refused
    }

    /// Keeps the call, which has another question, and tells the client's instance of that.
    pub(crate) async fn park(self, call: Box<dyn ParkedCall>) {
        let (questions, count) = (call.questions(), call.question_count());
        let Some(question) = questions.into_iter().next_back() else {
            return;
        };
        let parked = &self.instances.parked;
        // Before it is told: the answer may come at once.
        parked.park(self.call.id.clone(), call);
        let sent = self
            .send(Content::Question(question), Instant::now() + MAX_SILENCE)
            .await;
        if matches!(sent, Sent::Refused | Sent::TooLarge) {
            // Nobody has read the question.
            drop(parked.take_at(&self.call, count));
        }
    }

    /// Tells the client's instance how the call has ended.
    pub(crate) async fn end<R: Serialize>(self, outcome: Result<R, CallError>) {
        let lost = || CallError::NoResponse {
            reason: RESULT_IS_LOST.to_owned(),
            cause: None,
        };
        let outcome = outcome.and_then(|result| Json::encode(&result).map_err(|_| lost()));
        let give_up = Instant::now() + MAX_SILENCE;
        if self.send(Content::Ended(outcome), give_up).await == Sent::TooLarge {
            self.send(Content::Ended(Err(lost())), give_up).await;
        }
    }

    /// Sends a message until it is received, or it is too late to try again.
    async fn send(&self, content: Content, give_up: Instant) -> Sent {
        let (instance, exchange) = &self.key;
        let Some(body) = encode(*exchange, content) else {
            return Sent::TooLarge;
        };
        let mut was_unanswered = false;
        loop {
            let cluster = &self.instances.cluster;
            let sent = cluster.send(instance, MessageKind::ProxiedCall, body.clone());
            match sent.await {
                Ok(Delivery::Delivered) => return Sent::Received,
                // An exchange that has received its end is over.
                Ok(Delivery::NotThere | Delivery::NoInstance) if was_unanswered => {
                    return Sent::Unknown;
                }
                Ok(Delivery::NotThere | Delivery::NoInstance) => return Sent::Refused,
                Ok(Delivery::Unanswered) => was_unanswered = true,
                Err(error) if error.kind() == StoreErrorKind::TooLarge => return Sent::TooLarge,
                Err(_) => {}
            }
            if Instant::now() >= give_up {
                return Sent::Unknown;
            }
            sleep(RETRY_INTERVAL).await;
        }
    }
}
