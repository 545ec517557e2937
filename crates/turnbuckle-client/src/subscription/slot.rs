//! The subscriptions of one client, and what each has been told.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use turnbuckle_session::{Change, Feed, Signal};
use turnbuckle_types::{RequestId, SubscriptionFilter};

use super::Interest;
use super::follow::Following;
use crate::Error;

/// The subscriptions of one client.
#[derive(Debug, Default)]
pub(crate) struct Subscribers {
    slots: Mutex<Vec<Weak<Slot>>>,
    pub(super) following: tokio::sync::Mutex<Following>,
}

/// One subscription, from both sides: what comes is put here, and read.
#[derive(Debug)]
pub(super) struct Slot {
    interest: Interest,
    feed: Feed,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The stream that is open, in the era that has such streams.
    stream: Option<Stream>,
    honoured: Interest,
    closed_because: Option<Error>,
}

/// What is known of one `subscriptions/listen`.
#[derive(Debug)]
struct Stream {
    id: RequestId,
    signals: Signals,
}

/// What a server says of a stream.
#[derive(Debug, Clone, Default)]
pub(super) struct Signals {
    /// From now on it tells of changes.
    pub(super) acknowledged: Signal,
    /// It will tell of no more.
    pub(super) over: Signal,
}

impl Subscribers {
    pub(super) fn open(&self, interest: Interest) -> Arc<Slot> {
        let slot = Arc::new(Slot {
            interest,
            feed: Feed::new(),
            state: Mutex::default(),
        });
        let mut slots = self.slots();
        slots.retain(|slot| slot.strong_count() > 0);
        slots.push(Arc::downgrade(&slot));
        slot
    }

    fn slots(&self) -> MutexGuard<'_, Vec<Weak<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn each(&self, visit: impl FnMut(Arc<Slot>)) {
        self.slots()
            .iter()
            .filter_map(Weak::upgrade)
            .for_each(visit);
    }

    /// Tells of a change: the subscription whose stream it came on, or else everybody.
    pub(crate) fn tell(&self, change: &Change, stream: Option<&RequestId>) {
        self.each(|slot| {
            if stream.is_none_or(|id| slot.is_on(id)) {
                slot.tell(change);
            }
        });
    }

    /// A server says which changes it will tell of on a stream.
    pub(crate) fn acknowledged(&self, stream: &RequestId, agreed: &SubscriptionFilter) {
        self.each(|slot| {
            let mut state = slot.state();
            if let Some(open) = state.stream.as_ref().filter(|open| open.id == *stream) {
                let acknowledged = open.signals.acknowledged.clone();
                state.honoured = slot.interest.within(agreed);
                drop(state);
                acknowledged.cancel();
            }
        });
    }

    /// A server ends a stream.
    pub(crate) fn over(&self, stream: &RequestId) {
        self.each(|slot| {
            let state = slot.state();
            if let Some(open) = state.stream.as_ref().filter(|open| open.id == *stream) {
                open.signals.over.cancel();
            }
        });
    }
}

impl Slot {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn interest(&self) -> &Interest {
        &self.interest
    }

    pub(super) fn feed(&self) -> &Feed {
        &self.feed
    }

    fn is_on(&self, stream: &RequestId) -> bool {
        let state = self.state();
        state.stream.as_ref().is_some_and(|open| open.id == *stream)
    }

    fn tell(&self, change: &Change) {
        self.interest
            .meant_by(change, |change| self.feed.tell(change));
    }

    /// Something may have been missed.
    pub(super) fn tell_everything(&self) {
        for change in self.interest.changes() {
            self.feed.tell(&change);
        }
    }

    /// What comes from now on belongs to the stream `id`.
    pub(super) fn begin(&self, id: &RequestId, signals: Signals) {
        let mut state = self.state();
        let id = id.clone();
        state.stream = Some(Stream { id, signals });
    }

    /// No stream is open any more.
    pub(super) fn end_stream(&self) {
        self.state().stream = None;
    }

    pub(super) fn honour(&self, honoured: Interest) {
        self.state().honoured = honoured;
    }

    pub(super) fn honoured(&self) -> Interest {
        self.state().honoured.clone()
    }

    pub(super) fn closed_because(&self) -> Option<Error> {
        self.state().closed_because.clone()
    }

    /// The subscription ends; what was not read by then is dropped.
    pub(super) fn close(&self, why: Error) {
        self.state().closed_because = Some(why);
        self.feed.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscriptions_that_are_gone_leave_nothing() {
        let subscribers = Subscribers::default();
        for _ in 0..1000 {
            let slot = subscribers.open(Interest::new().tools());
            subscribers.tell(&Change::Tools, None);
            assert!(!slot.is_on(&RequestId::from(1)));
        }
        assert_eq!(subscribers.slots().len(), 1);
        assert_eq!(subscribers.slots()[0].strong_count(), 0);
    }
}
