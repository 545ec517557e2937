//! Change notifications: a server publishes a change, and every subscriber is told of it in the way
//! that its era has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use serde::Serialize;
use turnbuckle_types::{Json, Map, RequestId, meta};
use turnbuckle_wire::revision::Method;
use turnbuckle_wire::rpc;

/// A change that subscribers are told of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources or of resource templates.
    Resources,
    /// The resource of this URI.
    Resource(Arc<str>),
}

impl Change {
    fn flag(&self) -> u8 {
        match self {
            Self::Tools => 1,
            Self::Prompts => 2,
            Self::Resources => 4,
            Self::Resource(_) => 0,
        }
    }

    /// Returns the change notification. `subscription` is the subscription stream that it belongs to, in
    /// the era that has such streams.
    pub(crate) fn to_notification(&self, subscription: Option<&RequestId>) -> ChangeNotification {
        #[derive(Serialize)]
        struct Params<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            uri: Option<&'a str>,
            #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
            meta: Option<Meta<'a>>,
        }
        struct Meta<'a>(&'a RequestId);
        impl Serialize for Meta<'_> {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_map([(meta::SUBSCRIPTION_ID, self.0)])
            }
        }
        let (method, uri) = match self {
            Self::Tools => (Method::ToolListChanged, None),
            Self::Prompts => (Method::PromptListChanged, None),
            Self::Resources => (Method::ResourceListChanged, None),
            Self::Resource(uri) => (Method::ResourceUpdated, Some(&**uri)),
        };
        let params = Params {
            uri,
            meta: subscription.map(Meta),
        };
        let params = (uri.is_some() || subscription.is_some()).then_some(&params);
        ChangeNotification {
            method: method.as_str(),
            uri: match self {
                Self::Resource(uri) => Some(uri.clone()),
                _ => None,
            },
            frame: rpc::encode_notification(method.as_str(), params).unwrap_or_default(),
        }
    }
}

/// A change notification that is ready to be sent.
#[derive(Debug)]
pub struct ChangeNotification {
    pub(crate) method: &'static str,
    /// The resource that has changed.
    pub(crate) uri: Option<Arc<str>>,
    pub(crate) frame: Vec<u8>,
}

/// A notification of an extension, for the subscribers of a topic.
#[derive(Debug, Clone)]
pub struct TopicNotification {
    /// The name on the wire.
    pub method: &'static str,
    /// The members of `params`, without the subscription's id.
    pub params: Arc<Map<Json>>,
}

impl TopicNotification {
    /// Returns the notification for a subscription stream.
    fn to_notification(&self, subscription: &RequestId) -> ChangeNotification {
        let mut params = (*self.params).clone();
        let meta = params.get("_meta").and_then(|meta| meta.decode().ok());
        let mut meta: turnbuckle_types::Meta = meta.unwrap_or_default();
        meta.set_subscription_id(subscription.clone());
        if let Ok(meta) = Json::encode(&meta) {
            params.insert("_meta", meta);
        }
        ChangeNotification {
            method: self.method,
            uri: None,
            frame: rpc::encode_notification(self.method, Some(&params)).unwrap_or_default(),
        }
    }
}

/// The changes that one subscriber was not told of yet. Changes coalesce into a flag per list, a
/// set of URIs, and the latest notification of each method for each topic of an extension.
#[derive(Debug, Default)]
pub struct ChangeFeed {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    lists: u8,
    resources: BTreeSet<Arc<str>>,
    topics: BTreeMap<(Arc<str>, &'static str), TopicNotification>,
    closed: bool,
    reader: Option<Waker>,
}

impl ChangeFeed {
    /// Returns an empty feed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a change. A change that the subscriber was not told of yet is added once.
    pub fn publish(&self, change: &Change) {
        self.add(|state| match change {
            Change::Resource(uri) => {
                state.resources.insert(uri.clone());
            }
            list => state.lists |= list.flag(),
        });
    }

    /// Adds a notification of a topic. It takes the place of an earlier one of the same method that the
    /// subscriber was not sent yet.
    pub fn publish_to_topic(&self, topic: &Arc<str>, notification: &TopicNotification) {
        self.add(|state| {
            let key = (topic.clone(), notification.method);
            state.topics.insert(key, notification.clone());
        });
    }

    fn add(&self, add: impl FnOnce(&mut State)) {
        let mut state = self.state();
        if state.closed {
            return;
        }
        add(&mut state);
        let reader = state.reader.take();
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// Removes the update of a resource, if the subscriber was not told of it yet.
    pub fn remove_resource(&self, uri: &str) {
        self.state().resources.remove(uri);
    }

    /// Closes the feed: its changes are dropped, and no others are added.
    pub fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.lists = 0;
        state.resources.clear();
        state.topics.clear();
        let reader = state.reader.take();
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// Returns whether the feed was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Returns the next change, or `None` once the feed is closed.
    pub fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<Change>> {
        let mut state = self.state();
        if state.closed {
            return Poll::Ready(None);
        }
        for list in [Change::Tools, Change::Prompts, Change::Resources] {
            if state.lists & list.flag() != 0 {
                state.lists &= !list.flag();
                return Poll::Ready(Some(list));
            }
        }
        if let Some(uri) = state.resources.pop_first() {
            return Poll::Ready(Some(Change::Resource(uri)));
        }
        state.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Returns the next notification for a subscription stream, or `None` once the feed is closed.
    pub async fn next_notification(&self, subscription: &RequestId) -> Option<ChangeNotification> {
        std::future::poll_fn(|cx| match self.poll_next(cx) {
            Poll::Ready(change) => {
                Poll::Ready(change.map(|change| change.to_notification(Some(subscription))))
            }
            Poll::Pending => match self.state().topics.pop_first() {
                Some((_, notification)) => {
                    Poll::Ready(Some(notification.to_notification(subscription)))
                }
                None => Poll::Pending,
            },
        })
        .await
    }

    /// Returns the next change, or `None` once the feed is closed.
    pub async fn next(&self) -> Option<Change> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }
}
