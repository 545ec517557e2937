//! Hearing of changes: one API for what each era has.
//!
//! In the modern era a subscription is a stream of its own, a `subscriptions/listen` that stays
//! open. In the legacy era a server that declares it says by itself that a list changed, and single
//! resources are subscribed to.
//!
//! Specification: basic/patterns/subscriptions (2026-07-28); server/resources, "Subscriptions"
//! (2025-11-25).

mod follow;
mod interest;
mod slot;
mod standing;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::task::JoinHandle;
use turnbuckle_session::Change;

use crate::budget::Budget;
use crate::client::Shared;
use crate::{Client, Error};

pub use interest::Interest;
pub(crate) use slot::Subscribers;

use slot::Slot;
use standing::Standing;

impl Client {
    /// Subscribes to changes: of every one after this the subscription will tell.
    ///
    /// # Errors
    /// When the server does not agree in time; [`Error::Unsupported`] when it declares none of what
    /// is asked for. What it does honour is told by [`Subscription::honoured`].
    pub async fn subscribe(&self, interest: Interest) -> Result<Subscription, Error> {
        if interest.is_empty() {
            return Err(Error::Unwritable("a subscription to nothing".into()));
        }
        let slot = self.shared.subscribers.open(interest);
        let standing = match Standing::establish(&self.shared, &slot).await {
            Err(error) if error.is_lost() => Standing::establish(&self.shared, &slot).await,
            outcome => outcome,
        }?;
        let task = tokio::spawn(keep_up(self.shared.clone(), slot.clone(), standing));
        Ok(Subscription { slot, task })
    }
}

/// Changes as the server tells of them. What happens again before it was read counts once; there is
/// no queue.
///
/// After a lost connection the server is subscribed to again, within what
/// [`ClientBuilder::reconnects`](crate::ClientBuilder::reconnects) allows; something may have been
/// missed then, so that everything subscribed to counts as changed. Where that does not succeed, and
/// when the client is closed, the stream ends: [`Subscription::closed_because`] tells why.
///
/// It keeps the client's connection open. Dropping it unsubscribes.
#[must_use = "dropping a subscription unsubscribes"]
pub struct Subscription {
    slot: Arc<Slot>,
    task: JoinHandle<()>,
}

impl Subscription {
    /// The next change; `None` once the subscription has ended.
    ///
    /// A change of a part of a resource is told as one of the resource that was asked for.
    pub async fn next(&mut self) -> Option<Change> {
        self.slot.feed().next().await
    }

    /// What the server agreed to tell of; in the legacy era, what it declares that it tells of.
    pub fn honoured(&self) -> Interest {
        self.slot.honoured()
    }

    /// Why the stream has ended, if it has.
    #[must_use]
    pub fn closed_because(&self) -> Option<Error> {
        self.slot.closed_because()
    }
}

impl Stream for Subscription {
    type Item = Change;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Change>> {
        self.slot.feed().poll_next(cx)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.slot.feed().close();
        self.task.abort();
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("interest", self.slot.interest())
            .finish_non_exhaustive()
    }
}

/// Subscribes again whenever the server no longer tells, until that fails for good.
async fn keep_up(shared: Arc<Shared>, slot: Arc<Slot>, mut standing: Standing) {
    let mut budget = Budget::new(shared.lifeline.reconnects());
    loop {
        let why = standing.ended().await;
        drop(standing);
        standing = match again(&shared, &slot, &mut budget, why).await {
            Ok(standing) => standing,
            Err(error) => return slot.close(error),
        };
        // Before it is told: who then asks is not answered from what was kept.
        let missed = slot.interest().changes();
        missed
            .iter()
            .for_each(|change| shared.router.missed(change));
        slot.tell_everything();
    }
}

async fn again(
    shared: &Arc<Shared>,
    slot: &Arc<Slot>,
    budget: &mut Budget,
    mut why: String,
) -> Result<Standing, Error> {
    loop {
        tracing::debug!(why, "a subscription is made again");
        tokio::select! {
            turn = budget.turn(|| why) => turn?,
            () = shared.lifeline.closed().cancelled() => return Err(Error::Closed),
        }
        match Standing::establish(shared, slot).await {
            Err(error) if may_pass(&error) => why = error.to_string(),
            outcome => return outcome,
        }
    }
}

/// Whether trying once more may help.
fn may_pass(error: &Error) -> bool {
    matches!(
        error,
        Error::Unreachable { .. }
            | Error::Lost { .. }
            | Error::TimedOut(_)
            | Error::NotReady { .. }
            | Error::TooMany { .. }
    )
}
