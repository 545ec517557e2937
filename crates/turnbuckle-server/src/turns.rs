//! How many calls run at once: further ones wait, in order, and only so many of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use turnbuckle_session::Handling;

use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::handler::{Callable, Request, told};

/// The places that the calls of an item, a group or a server share.
#[derive(Debug)]
pub(crate) struct Turns {
    places: Arc<Semaphore>,
    most: usize,
    waiting: AtomicUsize,
    /// What its author wrote to set it.
    set_by: &'static str,
}

/// A place that is taken for as long as this lives.
pub(crate) type Turn = OwnedSemaphorePermit;

impl Turns {
    /// Room for so many; no room at all would be of no use.
    pub(crate) fn new(most: usize, set_by: &'static str) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            places: Arc::new(Semaphore::new(most)),
            most,
            waiting: AtomicUsize::new(0),
            set_by,
        }
    }

    fn take_now(&self) -> Option<Turn> {
        self.places.clone().try_acquire_owned().ok()
    }

    /// Takes a place, and waits for one if there is none.
    ///
    /// # Errors
    /// When too many wait already, or the request is cancelled meanwhile.
    pub(crate) async fn take(&self, context: &Context) -> Result<Turn> {
        if let Some(turn) = self.take_now() {
            return Ok(turn);
        }
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waits = Waits(&self.waiting);
        let most_waiting = context.server().most_waiting();
        if before >= most_waiting {
            return Err(Failure::new(format!(
                "the server is busy: {} calls run and {most_waiting} wait ({}, \
                 ServerBuilder::max_waiting); try again later",
                self.most, self.set_by
            )));
        }
        tokio::select! {
            turn = self.places.clone().acquire_owned() => {
                turn.map_err(|_| Failure::new("the server takes no calls any more"))
            }
            // Nobody reads it.
            () = context.cancelled() => Err(Failure::new("the call was cancelled while it waited")),
        }
    }
}

struct Waits<'a>(&'a AtomicUsize);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Something whose calls wait for their turn, at all of these: the narrowest first, so that nobody
/// holds a place that others could use.
pub(crate) struct InTurn {
    pub(crate) inner: Arc<dyn Callable>,
    pub(crate) turns: Vec<Arc<Turns>>,
    /// Whether failures are told to a model.
    pub(crate) tells: bool,
}

impl Callable for InTurn {
    fn call(self: Arc<Self>, request: Request<'_>) -> Handling {
        let now: Option<Vec<Turn>> = self.turns.iter().map(|turns| turns.take_now()).collect();
        if let Some(taken) = now {
            return match self.inner.clone().call(request) {
                Handling::Pending(running) => Handling::Pending(Box::pin(async move {
                    let reply = running.await;
                    drop(taken);
                    reply
                })),
                ready => ready,
            };
        }
        let kept = request.keep();
        Handling::Pending(Box::pin(async move {
            let mut taken = Vec::with_capacity(self.turns.len());
            for turns in &self.turns {
                match turns.take(&kept.context).await {
                    Ok(turn) => taken.push(turn),
                    Err(failure) => return told(failure, self.tells),
                }
            }
            let reply = match kept.call(self.inner.clone()) {
                Handling::Ready(reply) => reply,
                Handling::Pending(running) => running.await,
            };
            drop(taken);
            reply
        }))
    }
}
