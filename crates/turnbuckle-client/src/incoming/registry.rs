//! The open subscriptions of one client, and the state of each.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use turnbuckle_session::handler::{Change, Signal};
use turnbuckle_session::internal::ChangeFeed;
use turnbuckle_types::{RequestId, SubscriptionFilter};

use crate::error::Error;
use crate::incoming::filter::ChangeFilter;
use crate::incoming::resource_counts::ResourceCounts;

/// The open subscriptions of one client.
#[derive(Debug, Default)]
pub(crate) struct SubscriptionRegistry {
    entries: Mutex<Vec<Weak<SubscriptionEntry>>>,
    pub(crate) resource_counts: tokio::sync::Mutex<ResourceCounts>,
}

/// One subscription: the connection publishes changes here, the user reads them.
#[derive(Debug)]
pub(crate) struct SubscriptionEntry {
    filter: ChangeFilter,
    feed: ChangeFeed,
    state: Mutex<EntryState>,
}

/// The state of one subscription.
#[derive(Debug, Default)]
struct EntryState {
    /// The open stream, in the modern era.
    stream: Option<OpenStream>,
    acknowledged_filter: ChangeFilter,
    close_reason: Option<Error>,
}

/// An open `subscriptions/listen`.
#[derive(Debug)]
struct OpenStream {
    id: RequestId,
    signals: StreamSignals,
}

/// Signals of the server about a stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct StreamSignals {
    /// Fires when the server has acknowledged the subscription.
    pub(crate) acknowledged: Signal,
    /// Fires when the server has ended the stream.
    pub(crate) ended: Signal,
}

impl SubscriptionRegistry {
    /// Registers a new subscription.
    pub(crate) fn open(&self, filter: ChangeFilter) -> Arc<SubscriptionEntry> {
        let entry = Arc::new(SubscriptionEntry {
            filter,
            feed: ChangeFeed::new(),
            state: Mutex::default(),
        });
        let mut entries = self.entries();
        entries.retain(|entry| entry.strong_count() > 0);
        entries.push(Arc::downgrade(&entry));
        entry
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Weak<SubscriptionEntry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn for_each(&self, visit: impl FnMut(Arc<SubscriptionEntry>)) {
        self.entries()
            .iter()
            .filter_map(Weak::upgrade)
            .for_each(visit);
    }

    /// Reports a change to the subscription whose stream it came on, or without a stream to all.
    pub(crate) fn notify(&self, change: &Change, stream: Option<&RequestId>) {
        self.for_each(|entry| {
            if stream.is_none_or(|id| entry.has_stream(id)) {
                entry.notify(change);
            }
        });
    }

    /// Takes note of the changes that the server will report on a stream.
    pub(crate) fn acknowledge(&self, stream: &RequestId, agreed: &SubscriptionFilter) {
        self.for_each(|entry| {
            let mut state = entry.state();
            if let Some(open) = state.stream.as_ref().filter(|open| open.id == *stream) {
                let acknowledged = open.signals.acknowledged.clone();
                state.acknowledged_filter = entry.filter.intersect(agreed);
                drop(state);
                acknowledged.cancel();
            }
        });
    }

    /// Takes note that the server has ended a stream.
    pub(crate) fn end_stream(&self, stream: &RequestId) {
        self.for_each(|entry| {
            let state = entry.state();
            if let Some(open) = state.stream.as_ref().filter(|open| open.id == *stream) {
                open.signals.ended.cancel();
            }
        });
    }
}

impl SubscriptionEntry {
    fn state(&self) -> MutexGuard<'_, EntryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn filter(&self) -> &ChangeFilter {
        &self.filter
    }

    pub(crate) fn feed(&self) -> &ChangeFeed {
        &self.feed
    }

    /// Returns whether `stream` is the open stream of this subscription.
    fn has_stream(&self, stream: &RequestId) -> bool {
        let state = self.state();
        state.stream.as_ref().is_some_and(|open| open.id == *stream)
    }

    fn notify(&self, change: &Change) {
        self.filter
            .for_each_match(change, |change| self.feed.publish(change));
    }

    /// Reports every change in the filter, since some may have been missed.
    pub(crate) fn notify_all(&self) {
        for change in self.filter.changes() {
            self.feed.publish(&change);
        }
    }

    /// Sets the open stream.
    pub(crate) fn set_stream(&self, id: &RequestId, signals: StreamSignals) {
        let mut state = self.state();
        let id = id.clone();
        state.stream = Some(OpenStream { id, signals });
    }

    /// Takes note that no stream is open.
    pub(crate) fn clear_stream(&self) {
        self.state().stream = None;
    }

    pub(crate) fn set_acknowledged(&self, acknowledged_filter: ChangeFilter) {
        self.state().acknowledged_filter = acknowledged_filter;
    }

    pub(crate) fn acknowledged_filter(&self) -> ChangeFilter {
        self.state().acknowledged_filter.clone()
    }

    pub(crate) fn close_reason(&self) -> Option<Error> {
        self.state().close_reason.clone()
    }

    /// Ends the subscription. Changes that were not read are dropped.
    pub(crate) fn close(&self, why: Error) {
        self.state().close_reason = Some(why);
        self.feed.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_subscriptions_leave_nothing() {
        let subscriptions = SubscriptionRegistry::default();
        for _ in 0..1000 {
            let entry = subscriptions.open(ChangeFilter::new().tools());
            subscriptions.notify(&Change::Tools, None);
            assert!(!entry.has_stream(&RequestId::from(1)));
        }
        assert_eq!(subscriptions.entries().len(), 1);
        assert_eq!(subscriptions.entries()[0].strong_count(), 0);
    }
}
