//! The connection for messages, which all subscriptions of a store share.

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{FromRedisValue, PushInfo, PushKind, RedisError};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use turnbuckle_store::{StoreError, StoreErrorKind, StoreKey, Subscription, TopicHub};

use crate::connector::Connector;
use crate::error::{fault, to_store_error};

/// The time between two looks at a connection, at which topics without subscribers are given up.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// The time between two attempts to connect again: the first one, and the longest.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);
const MAX_RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// The most requests that wait, and that are served at once.
const MAX_REQUESTS: usize = 256;

/// The topics of a store.
pub(crate) struct Topics {
    hub: Arc<TopicHub>,
    requests: mpsc::Sender<Request>,
    address: String,
}

/// A wish to receive the messages of a topic.
struct Request {
    topic: StoreKey,
    /// Is told once messages arrive. The error is told to many, which have one each.
    done: oneshot::Sender<Result<(), (StoreErrorKind, String)>>,
}

impl Topics {
    /// Starts the task of the connection, which ends when this is dropped.
    pub(crate) fn new(connector: Arc<Connector>) -> Self {
        let (requests, receiver) = mpsc::channel(MAX_REQUESTS);
        let hub = Arc::new(TopicHub::default());
        let address = connector.address.clone();
        let subscriber = Subscriber {
            connector,
            hub: hub.clone(),
            subscribed: HashSet::new(),
            connection: None,
            lost: Arc::default(),
        };
        tokio::spawn(subscriber.run(receiver));
        Self {
            hub,
            requests,
            address,
        }
    }

    pub(crate) async fn subscribe(&self, topic: &StoreKey) -> Result<Subscription, StoreError> {
        let ended = || {
            let text = "the runtime in which the store was opened has ended: open the store again";
            fault(StoreErrorKind::Unavailable, &self.address, text)
        };
        let subscription = self.hub.subscribe(topic)?;
        let (done, result) = oneshot::channel();
        let topic = topic.clone();
        let sent = self.requests.send(Request { topic, done }).await;
        sent.map_err(|_| ended())?;
        match result.await {
            Ok(Ok(())) => Ok(subscription),
            Ok(Err((kind, text))) => Err(StoreError::new(kind, text)),
            Err(_) => Err(ended()),
        }
    }
}

/// The task of the connection.
struct Subscriber {
    connector: Arc<Connector>,
    hub: Arc<TopicHub>,
    /// The topics whose messages somebody was promised.
    subscribed: HashSet<StoreKey>,
    connection: Option<MultiplexedConnection>,
    /// Is notified when the connection is lost.
    lost: Arc<Notify>,
}

impl Subscriber {
    async fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        let mut retry = RETRY_INTERVAL;
        let mut next = Instant::now() + CHECK_INTERVAL;
        let mut waiting = Vec::new();
        loop {
            tokio::select! {
                count = requests.recv_many(&mut waiting, MAX_REQUESTS) => {
                    if count == 0 {
                        return;
                    }
                    self.serve(&mut waiting).await;
                }
                () = self.lost.notified() => self.connection = None,
                () = sleep_until(next) => self.check().await,
            }
            next = Instant::now() + CHECK_INTERVAL;
            if self.connection.is_some() || self.subscribed.is_empty() {
                retry = RETRY_INTERVAL;
            } else {
                next = Instant::now() + retry;
                retry = (retry * 2).min(MAX_RETRY_INTERVAL);
            }
        }
    }

    /// Subscribes to the topics of requests, and answers them.
    async fn serve(&mut self, requests: &mut Vec<Request>) {
        let topics: HashSet<_> = requests.iter().map(|it| it.topic.clone()).collect();
        let result = self.subscribe(topics).await;
        let result = result.map_err(|error| (error.kind(), error.to_string()));
        for request in requests.drain(..) {
            let _ = request.done.send(result.clone());
        }
    }

    /// Subscribes to further topics. Connects first if there is no connection, and then to all topics.
    async fn subscribe(&mut self, further: HashSet<StoreKey>) -> Result<(), StoreError> {
        let is_new = self.connection.is_none();
        if is_new {
            let hub = &self.hub;
            self.subscribed.retain(|topic| hub.has_topic(topic));
            if self.subscribed.is_empty() && further.is_empty() {
                return Ok(());
            }
            self.connection = Some(self.connect().await?);
        }
        let is_again = is_new && !self.subscribed.is_empty();
        let mut topics: Vec<_> = further.difference(&self.subscribed).cloned().collect();
        if is_new {
            topics.extend(self.subscribed.iter().cloned());
        }
        if topics.is_empty() {
            return Ok(());
        }
        let names = self.channels(&topics);
        self.command(async |connection| connection.subscribe(names).await)
            .await?;
        self.subscribed.extend(topics);
        if is_again {
            // Only now: what is published from here on arrives.
            self.hub.interrupt();
        }
        Ok(())
    }

    /// Checks the connection, or makes it again.
    async fn check(&mut self) {
        if self.connection.is_none() {
            if !self.subscribed.is_empty() {
                // The next attempt is made later; new subscribers have the error of theirs.
                let _ = self.subscribe(HashSet::new()).await;
            }
            return;
        }
        let unused = |topic: &&StoreKey| !self.hub.has_topic(topic);
        let unused: Vec<_> = self.subscribed.iter().filter(unused).cloned().collect();
        let names = self.channels(&unused);
        let done = self.command(async |connection| match names.is_empty() {
            true => redis::cmd("PING").exec_async(connection).await,
            false => connection.unsubscribe(names).await,
        });
        if done.await.is_ok() {
            for topic in &unused {
                self.subscribed.remove(topic);
            }
        }
        if self.subscribed.is_empty() {
            self.connection = None;
        }
    }

    fn channels(&self, topics: &[StoreKey]) -> Vec<String> {
        let channel = |topic| self.connector.keys.channel(topic);
        topics.iter().map(channel).collect()
    }

    async fn connect(&mut self) -> Result<MultiplexedConnection, StoreError> {
        // One of its own for each connection: the end of an old one does not end the new one.
        self.lost = Arc::default();
        let lost = self.lost.clone();
        let (connector, hub) = (self.connector.clone(), Arc::downgrade(&self.hub));
        let receive = move |message: PushInfo| match message.kind {
            PushKind::Message => deliver(&connector, &hub, message),
            PushKind::Disconnection => lost.notify_one(),
            _ => {}
        };
        self.connector.connect(receive).await
    }

    /// Runs a command. The connection is given up if it fails.
    async fn command(
        &mut self,
        run: impl AsyncFnOnce(&mut MultiplexedConnection) -> Result<(), RedisError>,
    ) -> Result<(), StoreError> {
        let Some(connection) = &mut self.connection else {
            return Ok(());
        };
        run(connection).await.map_err(|error| {
            self.connection = None;
            to_store_error(&self.connector.address, error)
        })
    }
}

/// Delivers a message to the subscribers of its topic.
fn deliver(connector: &Connector, hub: &Weak<TopicHub>, message: PushInfo) {
    let mut data = message.data.into_iter();
    let (Some(channel), Some(bytes), Some(hub)) = (data.next(), data.next(), hub.upgrade()) else {
        return;
    };
    let channel: Result<Vec<u8>, _> = FromRedisValue::from_redis_value(channel);
    let topic = channel.ok().and_then(|it| connector.keys.topic(&it));
    if let (Some(topic), Ok(bytes)) = (topic, FromRedisValue::from_redis_value(bytes)) {
        hub.deliver(&topic, &bytes);
    }
}
