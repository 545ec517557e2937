//! Concurrency limits: calls beyond the limit wait in order, up to a bound.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use turnbuckle_session::internal::{FailureCause, HandlerOutcome, count_refusal};

use crate::error::failure::{Failure, Result};
use crate::handler::{ErasedHandler, HandlerRequest, wrapper_failure_reply};
use crate::request::context::HandlerContext;

/// The permits that the calls of an item, a group or a server share.
#[derive(Debug)]
pub(crate) struct ConcurrencyLimit {
    permits: Arc<Semaphore>,
    max_running: usize,
    waiting: AtomicUsize,
    /// The setter that set it, for the log.
    set_by: &'static str,
}

/// A permit to run, returned when dropped.
pub(crate) type ConcurrencyPermit = OwnedSemaphorePermit;

impl ConcurrencyLimit {
    /// Creates a limit of `max_running` calls, at least one.
    pub(crate) fn new(max_running: usize, set_by: &'static str) -> Self {
        let max_running = max_running.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            permits: Arc::new(Semaphore::new(max_running)),
            max_running,
            waiting: AtomicUsize::new(0),
            set_by,
        }
    }

    /// Takes a permit if one is free.
    fn try_acquire(&self) -> Option<ConcurrencyPermit> {
        self.permits.clone().try_acquire_owned().ok()
    }

    /// Takes a permit, waiting for one if necessary.
    ///
    /// # Errors
    /// When too many calls wait already, or the request is cancelled while it waits.
    pub(crate) async fn acquire(&self, context: &HandlerContext) -> Result<ConcurrencyPermit> {
        if let Some(permit) = self.try_acquire() {
            return Ok(permit);
        }
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = WaitingGuard(&self.waiting);
        let max_waiting = context.settings.max_waiting;
        if before >= max_waiting {
            let message = format!(
                "the server is busy: {} calls run and {max_waiting} wait; try again later",
                self.max_running
            );
            const LIMIT: &str = "ServerBuilder::max_waiting";
            tracing::debug!("{message} ({}, {LIMIT})", self.set_by);
            count_refusal(LIMIT);
            context.set_failure_cause(FailureCause::Limit(LIMIT));
            return Err(Failure::new(message));
        }
        tokio::select! {
            permit = self.permits.clone().acquire_owned() => {
                permit.map_err(|_| Failure::new("the server accepts no more calls"))
            }
            // The request is cancelled, so this message is not sent.
            () = context.cancelled() => Err(Failure::new("the call was cancelled while it waited")),
        }
    }
}

/// Counts a waiting call until dropped.
struct WaitingGuard<'a>(&'a AtomicUsize);

impl Drop for WaitingGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A handler whose calls need a permit of each limit. The narrowest limit comes first, so that a
/// waiting call does not hold permits that others could use.
pub(crate) struct ConcurrencyLimited {
    pub(crate) inner: Arc<dyn ErasedHandler>,
    pub(crate) limits: Vec<Arc<ConcurrencyLimit>>,
    /// True if failures become an error result for the model.
    pub(crate) errors_in_result: bool,
}

impl ErasedHandler for ConcurrencyLimited {
    fn call(self: Arc<Self>, request: HandlerRequest<'_>) -> HandlerOutcome {
        let free: Option<Vec<ConcurrencyPermit>> = self
            .limits
            .iter()
            .map(|limit| limit.try_acquire())
            .collect();
        if let Some(permits) = free {
            return match self.inner.clone().call(request) {
                HandlerOutcome::Pending(running) => HandlerOutcome::Pending(Box::pin(async move {
                    let reply = running.await;
                    drop(permits);
                    reply
                })),
                ready => ready,
            };
        }
        let request = request.detach();
        HandlerOutcome::Pending(Box::pin(async move {
            let mut permits = Vec::with_capacity(self.limits.len());
            for limit in &self.limits {
                match limit.acquire(&request.context).await {
                    Ok(permit) => permits.push(permit),
                    Err(failure) => return wrapper_failure_reply(failure, self.errors_in_result),
                }
            }
            let reply = match request.call(self.inner.clone()) {
                HandlerOutcome::Ready(reply) => reply,
                HandlerOutcome::Pending(running) => running.await,
            };
            drop(permits);
            reply
        }))
    }
}
