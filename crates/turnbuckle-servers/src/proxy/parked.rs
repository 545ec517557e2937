//! Requests to servers that wait while a client of the modern era answers a question in another
//! request.

use std::any::Any;
use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;
use turnbuckle_server::Result;
use turnbuckle_session::internal::SessionOwner;
use turnbuckle_types::ProtocolError;
use turnbuckle_types::base::fair_permits::{FairPermits, Permit};

use crate::connections::client_key::ClientKey;
use crate::proxy::elsewhere::ForeignExchange;
use crate::proxy::elsewhere::message::CallName;
use crate::proxy::question::{Answer, Question};

/// The most requests that wait. No client has more than half of them.
const MAX_PARKED: usize = 256;

/// The most requests that wait for a place among these.
const MAX_WAITING: usize = 1024;

/// The longest time for which a request waits for a place.
const MAX_PLACE_WAIT: Duration = Duration::from_secs(5);

/// The time for which a request waits.
const PARKED_TTL: Duration = Duration::from_secs(10 * 60);

/// The requests that wait, by the id of their call.
pub(super) struct ParkedCalls {
    places: FairPermits<ClientKey>,
    by_id: Mutex<HashMap<String, Parked>>,
}

impl Default for ParkedCalls {
    fn default() -> Self {
        Self {
            places: FairPermits::new(MAX_PARKED, MAX_WAITING),
            by_id: Mutex::default(),
        }
    }
}

/// The right of one call to wait for answers.
pub(super) struct ParkingPlace {
    /// The id by which another request finds the call.
    pub(super) id: String,
    _permit: Permit<ClientKey>,
}

/// A request that waits for the answer to its last question.
pub(super) trait ParkedCall: Any + Send {
    /// Returns the principal that sent the request.
    fn owner(&self) -> Option<&SessionOwner>;

    /// Returns all questions so far.
    fn questions(&self) -> Vec<Question>;

    /// Returns the number of all questions so far.
    fn question_count(&self) -> usize;

    /// Polls for the end of the request, which its server or its timeout may end meanwhile. The outcome is kept for the
    /// client.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()>;

    /// Answers the last question, and goes on for a client that has come to another instance.
    fn answer_from_elsewhere(
        self: Box<Self>,
        answer: Answer,
        exchange: ForeignExchange,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

struct Parked {
    call: Box<dyn ParkedCall>,
    /// Sees to it that the request ends, and drops it when its time is over.
    _task: JoinSet<()>,
}

impl ParkedCalls {
    fn by_id(&self) -> MutexGuard<'_, HashMap<String, Parked>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a place for a call of the client, which has this id.
    ///
    /// # Errors
    /// When too many calls of this client or of all clients wait for answers.
    pub(super) async fn reserve(&self, client: ClientKey, id: String) -> Result<ParkingPlace> {
        let permit = tokio::time::timeout(MAX_PLACE_WAIT, self.places.acquire(client)).await;
        let permit = permit.ok().and_then(std::result::Result::ok);
        let permit = permit.ok_or_else(|| {
            let message = format!(
                "the call was ended at a question: too many calls wait for the answers of their \
                 clients (at most {MAX_PARKED}, and half of them of one client)"
            );
            ProtocolError::rate_limited(message, MAX_PLACE_WAIT)
        })?;
        Ok(ParkingPlace {
            id,
            _permit: permit,
        })
    }

    /// Keeps a request, which has a place, for ten minutes. Then it is dropped.
    pub(super) fn park(self: &Arc<Self>, id: String, call: Box<dyn ParkedCall>) {
        let (calls, name) = (Arc::downgrade(self), id.clone());
        let expiry = sleep(PARKED_TTL);
        // Before the task looks for it.
        let mut by_id = self.by_id();
        let mut task = JoinSet::new();
        task.spawn(async move {
            let ended = poll_fn(|cx| match calls.upgrade() {
                Some(calls) => calls.poll_end(&name, cx),
                None => Poll::Ready(()),
            });
            let mut expiry = pin!(expiry);
            tokio::select! {
                () = ended => {}
                () = &mut expiry => {}
            }
            // The outcome waits for the client as long as the question would have.
            if !expiry.is_elapsed() {
                expiry.await;
            }
            if let Some(calls) = calls.upgrade() {
                drop(calls.take(&name));
            }
        });
        let parked = Parked { call, _task: task };
        by_id.insert(id, parked);
    }

    /// Polls for the end of the request of this id.
    fn poll_end(&self, id: &str, cx: &mut Context<'_>) -> Poll<()> {
        match self.by_id().get_mut(id) {
            Some(parked) => parked.call.poll_end(cx),
            None => Poll::Ready(()),
        }
    }

    /// Takes a request that waits.
    pub(super) fn take(&self, id: &str) -> Option<Box<dyn ParkedCall>> {
        let parked = self.by_id().remove(id);
        parked.map(|parked| parked.call)
    }

    /// Returns the questions of a call of that owner.
    pub(super) fn questions(&self, name: &CallName) -> Option<Vec<Question>> {
        let by_id = self.by_id();
        let call = &by_id.get(&name.id)?.call;
        (call.owner() == name.owner.as_ref()).then(|| call.questions())
    }

    /// Takes a call of that owner, if it has asked so many questions.
    pub(super) fn take_at(&self, name: &CallName, questions: usize) -> Option<Box<dyn ParkedCall>> {
        let mut by_id = self.by_id();
        let call = &by_id.get(&name.id)?.call;
        let is_this = call.owner() == name.owner.as_ref() && call.question_count() == questions;
        let taken = is_this.then(|| by_id.remove(&name.id)).flatten();
        drop(by_id);
        taken.map(|parked| parked.call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Waiting(Option<SessionOwner>);

    impl ParkedCall for Waiting {
        fn owner(&self) -> Option<&SessionOwner> {
            self.0.as_ref()
        }

        fn questions(&self) -> Vec<Question> {
            vec![Question::Roots, Question::Roots]
        }

        fn question_count(&self) -> usize {
            2
        }

        fn poll_end(&mut self, _: &mut Context<'_>) -> Poll<()> {
            Poll::Pending
        }

        fn answer_from_elsewhere(
            self: Box<Self>,
            _: Answer,
            _: ForeignExchange,
        ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
            Box::pin(std::future::ready(()))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn another_instance_takes_a_call_of_the_same_principal_at_its_last_question() {
        let owner = |subject: &str| SessionOwner {
            issuer: "https://issuer.example".to_owned(),
            subject: subject.to_owned(),
            client: None,
        };
        let calls = Arc::<ParkedCalls>::default();
        calls.park("a.1".to_owned(), Box::new(Waiting(Some(owner("ann")))));
        let named = |id: &str, owner| CallName {
            id: id.to_owned(),
            owner,
        };
        let own = named("a.1", Some(owner("ann")));
        for other in [
            named("a.1", Some(owner("eve"))),
            named("a.1", None),
            named("a.2", Some(owner("ann"))),
        ] {
            assert!(calls.questions(&other).is_none());
            assert!(calls.take_at(&other, 2).is_none());
        }
        assert_eq!(calls.questions(&own).map(|it| it.len()), Some(2));
        assert!(
            calls.take_at(&own, 1).is_none(),
            "an answer to the question before"
        );
        assert!(calls.take_at(&own, 2).is_some());
        assert!(calls.take_at(&own, 2).is_none(), "it is taken once");
    }
}
