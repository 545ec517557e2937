//! Changes of the merged view, and the subscribers that are notified of them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

use crate::view::item_kind::ItemKind;

/// A change of one server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerChange {
    /// The name of the server.
    pub server: Arc<str>,
    /// The part of the server that changed.
    pub change: ChangeKind,
}

/// The part of a server that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ChangeKind {
    /// The state of the server: it was connected, lost or given up.
    Status,
    /// The items of this kind in the merged view.
    Items(ItemKind),
    /// The items that are left out of the merged view, or marked in it; see
    /// [`ServerStatus::problems`](crate::ServerStatus::problems).
    Problems,
}

/// The changes that were not read yet. Equal changes count once, so that their number is bounded by
/// the number of servers.
#[derive(Debug)]
pub struct Changes(Arc<Feed>);

#[derive(Debug, Default)]
struct Feed {
    state: Mutex<FeedState>,
    news: Notify,
}

#[derive(Debug, Default)]
struct FeedState {
    unread: BTreeSet<ServerChange>,
    closed: bool,
}

impl Feed {
    fn state(&self) -> MutexGuard<'_, FeedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Changes {
    /// Returns the next change, or `None` once the servers are closed. The merged view has the
    /// change already.
    pub async fn next(&mut self) -> Option<ServerChange> {
        loop {
            {
                let mut state = self.0.state();
                if let Some(change) = state.unread.pop_first() {
                    return Some(change);
                }
                if state.closed {
                    return None;
                }
            }
            // A notification that came in between has left a permit.
            self.0.news.notified().await;
        }
    }
}

/// The subscribers to changes.
#[derive(Debug, Default)]
pub(crate) struct ChangeHub(Mutex<Vec<Weak<Feed>>>);

impl ChangeHub {
    /// Returns a new subscription.
    pub(crate) fn subscribe(&self) -> Changes {
        let feed = Arc::new(Feed::default());
        let mut feeds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        feeds.retain(|feed| feed.strong_count() > 0);
        feeds.push(Arc::downgrade(&feed));
        Changes(feed)
    }

    /// Notifies all subscribers of a change.
    pub(crate) fn publish(&self, server: &Arc<str>, change: ChangeKind) {
        self.for_each(|state| {
            let server = server.clone();
            state.unread.insert(ServerChange { server, change });
        });
    }

    /// Ends all subscriptions.
    pub(crate) fn close(&self) {
        self.for_each(|state| state.closed = true);
    }

    fn for_each(&self, update: impl Fn(&mut FeedState)) {
        let mut feeds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        feeds.retain(|feed| match feed.upgrade() {
            Some(feed) => {
                update(&mut feed.state());
                feed.news.notify_one();
                true
            }
            None => false,
        });
    }
}
