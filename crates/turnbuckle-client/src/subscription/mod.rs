//! Subscriptions to changes: one interface for both eras.
//!
//! In the modern era a subscription is a stream of its own, an open `subscriptions/listen`. In the
//! legacy era a server sends changes of its lists by itself, and single resources are subscribed
//! to.
//!
//! Specification: basic/patterns/subscriptions (2026-07-28); server/resources, "Subscriptions"
//! (2025-11-25).

mod active;
mod resources;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::task::JoinHandle;
use turnbuckle_session::handler::Change;

use crate::connection::attempts::ReconnectAttempts;
use crate::error::Error;
use crate::incoming::filter::ChangeFilter;
use crate::incoming::registry::SubscriptionEntry;
use crate::request::inner::ClientInner;
use crate::subscription::active::ActiveSubscription;

/// A stream of changes that the server reports. Equal changes that were not read yet count once;
/// nothing is queued.
///
/// After a lost connection the client subscribes again, within the limits of
/// [`ClientBuilder::reconnect_policy`](crate::ClientBuilder::reconnect_policy). Changes may have
/// been missed by then, so everything that is subscribed to counts as changed. If that fails, and
/// when the client is closed, the stream ends; [`Subscription::close_reason`] has the reason.
///
/// A subscription keeps the client's connection open. Dropping it unsubscribes.
#[must_use = "dropping a subscription unsubscribes"]
pub struct Subscription {
    entry: Arc<SubscriptionEntry>,
    task: JoinHandle<()>,
}

impl Subscription {
    /// Subscribes, once more if the connection is lost meanwhile.
    pub(crate) async fn open(inner: Arc<ClientInner>, filter: ChangeFilter) -> Result<Self, Error> {
        if filter.is_empty() {
            return Err(Error::InvalidRequest("a subscription to nothing".into()));
        }
        let entry = inner.subscriptions.open(filter);
        let active = match ActiveSubscription::establish(&inner, &entry).await {
            Err(error) if error.is_connection_lost() => {
                ActiveSubscription::establish(&inner, &entry).await
            }
            outcome => outcome,
        }?;
        let task = tokio::spawn(maintain(inner, entry.clone(), active));
        Ok(Self { entry, task })
    }

    /// Returns the next change, or `None` once the subscription has ended.
    ///
    /// An update of a part of a resource is reported as one of the subscribed resource.
    pub async fn next(&mut self) -> Option<Change> {
        self.entry.feed().next().await
    }

    /// Returns the changes that the server agreed to report; in the legacy era, those that its
    /// capabilities support.
    pub fn acknowledged_filter(&self) -> ChangeFilter {
        self.entry.acknowledged_filter()
    }

    /// Returns the reason why the stream has ended, if it has.
    #[must_use]
    pub fn close_reason(&self) -> Option<Error> {
        self.entry.close_reason()
    }
}

impl Stream for Subscription {
    type Item = Change;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Change>> {
        self.entry.feed().poll_next(cx)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.entry.feed().close();
        self.task.abort();
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("filter", self.entry.filter())
            .finish_non_exhaustive()
    }
}

/// Subscribes again whenever the server stops to report, until that fails for good.
async fn maintain(
    inner: Arc<ClientInner>,
    entry: Arc<SubscriptionEntry>,
    mut active: ActiveSubscription,
) {
    let mut attempts = ReconnectAttempts::new(inner.reconnector.reconnect_policy());
    loop {
        let reason = active.wait_for_end().await;
        drop(active);
        active = match resubscribe(&inner, &entry, &mut attempts, reason).await {
            Ok(active) => active,
            Err(error) => return entry.close(error),
        };
        // Before the changes are reported: a reader that then lists must not get cached results.
        let missed = entry.filter().changes();
        missed
            .iter()
            .for_each(|change| inner.router.invalidate(change));
        entry.notify_all();
    }
}

/// Tries to subscribe again until it succeeds, fails for good, or the attempts are used up.
async fn resubscribe(
    inner: &Arc<ClientInner>,
    entry: &Arc<SubscriptionEntry>,
    attempts: &mut ReconnectAttempts,
    mut reason: String,
) -> Result<ActiveSubscription, Error> {
    loop {
        tracing::debug!(reason, "a subscription is made again");
        tokio::select! {
            turn = attempts.wait_for_next(|| reason) => turn?,
            () = inner.reconnector.closed().cancelled() => return Err(Error::Closed),
        }
        match ActiveSubscription::establish(inner, entry).await {
            Err(error) if is_transient(&error) => reason = error.to_string(),
            outcome => return outcome,
        }
    }
}

/// Returns whether another attempt may succeed.
fn is_transient(error: &Error) -> bool {
    matches!(
        error,
        Error::Unreachable { .. }
            | Error::ConnectionLost { .. }
            | Error::TimedOut(_)
            | Error::ConnectTimedOut { .. }
            | Error::TooManyRequests { .. }
    )
}
