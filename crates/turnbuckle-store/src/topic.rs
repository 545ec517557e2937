//! Topics inside one process: subscriptions, and the hub that stores deliver messages to.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use crate::error::{StoreError, StoreErrorKind};
use crate::types::StoreKey;

/// The most messages that wait for a subscriber.
pub const MAX_WAITING_MESSAGES: usize = 1024;

/// The most bytes of messages that wait for a subscriber.
pub const MAX_WAITING_BYTES: usize = 1 << 20;

/// The most subscriptions of a hub.
pub const MAX_SUBSCRIPTIONS: usize = 4096;

/// An event of a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TopicEvent {
    /// A message.
    Message(Bytes),
    /// Messages were lost: the connection to the store was cut, or the subscriber was too slow. What
    /// the messages would have told must be read from the store.
    Interrupted,
}

/// A subscription to one topic, until it is dropped. Messages that the subscriber does not take wait, at
/// most [`MAX_WAITING_MESSAGES`] of [`MAX_WAITING_BYTES`]; then they are dropped, and the subscriber
/// gets [`TopicEvent::Interrupted`].
pub struct Subscription {
    inbox: Arc<Inbox>,
    hub: Weak<Topics>,
    topic: StoreKey,
    /// Changes messages before the subscriber sees them; one without a result is lost.
    decode: Option<Box<dyn FnMut(Bytes) -> Option<Bytes> + Send>>,
}

impl Subscription {
    /// Returns the next event, or `None` once the store is closed. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<TopicEvent> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Polls for the next event.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<TopicEvent>> {
        let event = std::task::ready!(self.inbox.poll(cx));
        Poll::Ready(match (event, &mut self.decode) {
            (Some(TopicEvent::Message(message)), Some(decode)) => Some(match decode(message) {
                Some(message) => TopicEvent::Message(message),
                None => TopicEvent::Interrupted,
            }),
            (event, _) => event,
        })
    }

    /// Replaces each message before the subscriber sees it, for a store around another one. A message
    /// without a replacement is lost: the subscriber gets [`TopicEvent::Interrupted`].
    #[must_use]
    pub fn with_decoder(
        mut self,
        decode: impl FnMut(Bytes) -> Option<Bytes> + Send + 'static,
    ) -> Self {
        self.decode = Some(Box::new(decode));
        self
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(topics) = self.hub.upgrade() {
            topics.remove(&self.topic, &self.inbox);
        }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").finish_non_exhaustive()
    }
}

/// The subscriptions of one process, to which a store delivers the messages that it receives. Dropping
/// the hub closes them.
#[derive(Default)]
pub struct TopicHub(Arc<Topics>);

impl TopicHub {
    /// Subscribes to a topic.
    ///
    /// # Errors
    /// If there are [`MAX_SUBSCRIPTIONS`] already.
    pub fn subscribe(&self, topic: &StoreKey) -> Result<Subscription, StoreError> {
        let inbox = Arc::new(Inbox::default());
        {
            let mut table = self.0.lock();
            if table.count >= MAX_SUBSCRIPTIONS {
                let message = format!(
                    "the store has {MAX_SUBSCRIPTIONS} subscriptions already: share one of a topic"
                );
                return Err(StoreError::new(StoreErrorKind::Full, message));
            }
            table.count += 1;
            let inboxes = table.by_topic.entry(topic.clone()).or_default();
            inboxes.push(inbox.clone());
        }
        Ok(Subscription {
            inbox,
            hub: Arc::downgrade(&self.0),
            topic: topic.clone(),
            decode: None,
        })
    }

    /// Delivers a message to the subscribers of a topic in this process.
    pub fn deliver(&self, topic: &StoreKey, message: &Bytes) {
        let wakers: Vec<_> = match self.0.lock().by_topic.get(topic) {
            Some(inboxes) => inboxes.iter().filter_map(|it| it.push(message)).collect(),
            None => return,
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Tells all subscribers that messages were lost.
    pub fn interrupt(&self) {
        self.0.update_all(Queue::interrupt);
    }

    /// Returns whether anybody subscribes to a topic.
    #[must_use]
    pub fn has_topic(&self, topic: &StoreKey) -> bool {
        self.0.lock().by_topic.contains_key(topic)
    }

    /// Returns whether anybody subscribes to anything.
    #[must_use]
    pub fn has_subscribers(&self) -> bool {
        self.0.lock().count > 0
    }
}

impl Drop for TopicHub {
    fn drop(&mut self) {
        self.0.update_all(|queue| queue.is_closed = true);
    }
}

impl fmt::Debug for TopicHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopicHub")
            .field("subscriptions", &self.0.lock().count)
            .finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Topics(Mutex<Table>);

#[derive(Default)]
struct Table {
    by_topic: HashMap<StoreKey, Vec<Arc<Inbox>>>,
    count: usize,
}

impl Topics {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates the queues of all subscribers and wakes these.
    fn update_all(&self, change: impl Fn(&mut Queue)) {
        // Woken without the lock, which a dropped subscription takes.
        let wakers: Vec<_> = {
            let table = self.lock();
            let inboxes = table.by_topic.values().flatten();
            inboxes.filter_map(|inbox| inbox.update(&change)).collect()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    fn remove(&self, topic: &StoreKey, inbox: &Arc<Inbox>) {
        let mut table = self.lock();
        let Some(inboxes) = table.by_topic.get_mut(topic) else {
            return;
        };
        inboxes.retain(|it| !Arc::ptr_eq(it, inbox));
        if inboxes.is_empty() {
            table.by_topic.remove(topic);
        }
        table.count -= 1;
    }
}

/// The messages that wait for one subscriber.
#[derive(Default)]
struct Inbox(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    messages: VecDeque<Bytes>,
    bytes: usize,
    is_interrupted: bool,
    is_closed: bool,
    waker: Option<Waker>,
}

impl Queue {
    fn interrupt(&mut self) {
        self.messages.clear();
        self.bytes = 0;
        self.is_interrupted = true;
    }
}

impl Inbox {
    /// Adds a message. Returns the waker of the subscriber, if it waits.
    fn push(&self, message: &Bytes) -> Option<Waker> {
        self.update(|queue| {
            if queue.messages.len() >= MAX_WAITING_MESSAGES
                || queue.bytes + message.len() > MAX_WAITING_BYTES
            {
                queue.interrupt();
            } else {
                queue.bytes += message.len();
                queue.messages.push_back(message.clone());
            }
        })
    }

    /// Updates the queue. Returns the waker of the subscriber, if it waits.
    fn update(&self, change: impl FnOnce(&mut Queue)) -> Option<Waker> {
        let mut queue = self.lock();
        change(&mut queue);
        queue.waker.take()
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<TopicEvent>> {
        let mut queue = self.lock();
        if std::mem::take(&mut queue.is_interrupted) {
            return Poll::Ready(Some(TopicEvent::Interrupted));
        }
        if let Some(message) = queue.messages.pop_front() {
            queue.bytes -= message.len();
            return Poll::Ready(Some(TopicEvent::Message(message)));
        }
        if queue.is_closed {
            return Poll::Ready(None);
        }
        queue.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic() -> StoreKey {
        StoreKey::new("topic").unwrap()
    }

    #[tokio::test]
    async fn a_slow_subscriber_is_told_that_messages_were_lost() {
        for (message, count) in [
            (Bytes::from_static(b"m"), MAX_WAITING_MESSAGES),
            (vec![0; 1 << 16].into(), MAX_WAITING_BYTES >> 16),
        ] {
            let hub = TopicHub::default();
            let mut subscription = hub.subscribe(&topic()).unwrap();
            for _ in 0..count {
                hub.deliver(&topic(), &message);
            }
            assert_eq!(
                subscription.next().await,
                Some(TopicEvent::Message(message.clone()))
            );
            hub.deliver(&topic(), &message);
            hub.deliver(&topic(), &message);
            hub.deliver(&topic(), &Bytes::from_static(b"later"));
            assert_eq!(subscription.next().await, Some(TopicEvent::Interrupted));
            let later = TopicEvent::Message(Bytes::from_static(b"later"));
            assert_eq!(subscription.next().await, Some(later));
        }
    }

    #[tokio::test]
    async fn a_dropped_hub_closes_its_subscriptions() {
        let hub = TopicHub::default();
        let mut subscription = hub.subscribe(&topic()).unwrap();
        hub.deliver(&topic(), &Bytes::from_static(b"last"));
        let waiting = tokio::spawn(async move {
            let last = subscription.next().await;
            (last, subscription.next().await)
        });
        tokio::task::yield_now().await;
        drop(hub);
        let (last, end) = waiting.await.unwrap();
        assert_eq!(last, Some(TopicEvent::Message(Bytes::from_static(b"last"))));
        assert_eq!(end, None);
    }

    #[test]
    fn subscriptions_are_bounded_and_leave_nothing() {
        let hub = TopicHub::default();
        let all: Vec<_> = (0..MAX_SUBSCRIPTIONS)
            .map(|_| hub.subscribe(&topic()).unwrap())
            .collect();
        let error = hub.subscribe(&topic()).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Full);
        assert!(hub.has_topic(&topic()));
        drop(all);
        assert!(!hub.has_topic(&topic()));
        assert!(!hub.has_subscribers());
        assert!(hub.0.lock().by_topic.is_empty());
    }
}
