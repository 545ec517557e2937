//! Topics: one connection of a store listens for the messages of all of them.
//!
//! Each topic has a channel of its own, so that an instance receives what its subscribers want. A small message
//! travels in the notification, a larger one in a table.

mod payload;

use std::collections::HashMap;
use std::future::{pending, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_postgres::{AsyncMessage, Client, Error, Notification};
use turnbuckle_store::{
    MAX_SUBSCRIPTIONS, StoreError, StoreErrorKind, StoreKey, Subscription, TopicHub,
};

pub(crate) use self::payload::{Payload, ROW_MARK, channel};
use crate::error::operation_error;
use crate::pool::Pool;

/// The most subscribers that wait for the listener, and that it serves with one statement.
pub(crate) const MAX_WAITING: usize = 64;

/// The time between two looks whether the connection still answers, and for topics without subscribers.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// The time in which the connection answers.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// The shortest and the longest time after a connection that was lost or not made.
const MIN_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// The most channels, those included whose subscribers have gone since the last look.
const MAX_CHANNELS: usize = 2 * MAX_SUBSCRIPTIONS;

/// A subscriber that waits.
pub(crate) struct Request {
    pub(crate) topic: StoreKey,
    pub(crate) reply: oneshot::Sender<Result<Subscription, StoreError>>,
}

/// Listens for those who ask, until the store is dropped.
pub(crate) async fn listen(pool: Arc<Pool>, requests: mpsc::Receiver<Request>) {
    let mut listener = Listener {
        topics: Topics {
            pool,
            hub: TopicHub::default(),
            by_channel: HashMap::new(),
        },
        requests,
        waiting: Vec::new(),
    };
    let mut delay = MIN_BACKOFF;
    loop {
        if !listener.is_wanted().await {
            return;
        }
        let mut was_made = false;
        match listener.serve(&mut was_made).await {
            Ok(()) => return,
            Err(error) => {
                tracing::debug!(target: "turnbuckle", ?error, "no connection listens to topics");
                for request in listener.waiting.drain(..) {
                    let copy = StoreError::new(error.kind(), error.to_string());
                    let _ = request.reply.send(Err(copy));
                }
            }
        }
        delay = match was_made {
            true => MIN_BACKOFF,
            false => (delay * 2).min(MAX_BACKOFF),
        };
        tokio::time::sleep(delay).await;
    }
}

struct Listener {
    topics: Topics,
    requests: mpsc::Receiver<Request>,
    /// The subscribers for whom a statement runs.
    waiting: Vec<Request>,
}

/// A statement that runs on the listening connection.
type Running<'c> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'c>>;

/// An event of the listening connection.
enum Event {
    Notification(Notification),
    /// Something else that the server says, such as a notice.
    Other,
    /// The connection has ended.
    Lost(StoreError),
    Done(Result<(), StoreError>),
    Requests(usize),
    Check,
}

impl Listener {
    /// Waits until there are subscribers. Returns false once the store is dropped.
    async fn is_wanted(&mut self) -> bool {
        if self.topics.hub.has_subscribers() {
            return true;
        }
        self.topics.by_channel.clear();
        self.requests
            .recv_many(&mut self.waiting, MAX_WAITING)
            .await
            > 0
    }

    /// Connects and delivers messages until the connection is lost, or the store is dropped.
    async fn serve(&mut self, was_made: &mut bool) -> Result<(), StoreError> {
        let settings = &self.topics.pool.settings;
        let begin = settings.session_sql(settings.options.connect_timeout);
        let (client, mut driver) = settings.connect().await?;
        // Those who subscribed before this connection have lost messages.
        let was_interrupted = self.topics.hub.has_subscribers();
        self.topics.add(&self.waiting);
        let sql = begin + &self.topics.listen_sql();
        let mut running = Some(run(&client, sql));
        let mut deadline = Instant::now() + ANSWER_TIMEOUT;
        loop {
            let is_idle = running.is_none();
            let event = tokio::select! {
                // Messages first: those of before a statement are delivered before it is done.
                biased;
                message = poll_fn(|cx| driver.poll_message(cx)) => to_event(message),
                done = answer(&mut running, deadline) => Event::Done(done),
                count = self.requests.recv_many(&mut self.waiting, MAX_WAITING), if is_idle => {
                    Event::Requests(count)
                }
                () = tokio::time::sleep_until(deadline), if is_idle => Event::Check,
            };
            match event {
                Event::Notification(notification) => self.topics.deliver(&notification).await,
                Event::Other => {}
                Event::Lost(error) => return Err(error),
                Event::Requests(0) => return Ok(()),
                Event::Requests(_) => {
                    let sql = self.topics.add(&self.waiting);
                    running = Some(run(&client, sql));
                    deadline = Instant::now() + ANSWER_TIMEOUT;
                }
                Event::Check => {
                    running = Some(run(&client, self.topics.remove_unused()));
                    deadline = Instant::now() + ANSWER_TIMEOUT;
                }
                Event::Done(done) => {
                    done?;
                    running = None;
                    if !*was_made {
                        *was_made = true;
                        self.topics.pool.end_backoff();
                        if was_interrupted {
                            self.topics.hub.interrupt();
                        }
                    }
                    for request in self.waiting.drain(..) {
                        let _ = request
                            .reply
                            .send(self.topics.hub.subscribe(&request.topic));
                    }
                    deadline = Instant::now() + CHECK_INTERVAL;
                    if self.topics.by_channel.len() > MAX_CHANNELS {
                        deadline = Instant::now();
                    }
                }
            }
        }
    }
}

fn to_event(message: Option<Result<AsyncMessage, Error>>) -> Event {
    match message {
        Some(Ok(AsyncMessage::Notification(notification))) => Event::Notification(notification),
        Some(Ok(_)) => Event::Other,
        Some(Err(error)) => Event::Lost(operation_error(&error)),
        None => {
            let text = "the connection that listens to topics has ended";
            Event::Lost(StoreError::new(StoreErrorKind::Unavailable, text))
        }
    }
}

/// Starts a statement.
fn run(client: &Client, sql: String) -> Running<'_> {
    Box::pin(async move { client.batch_execute(&sql).await })
}

/// Waits for the answer to the statement that runs, if there is one.
async fn answer(running: &mut Option<Running<'_>>, deadline: Instant) -> Result<(), StoreError> {
    let Some(running) = running else {
        return pending().await;
    };
    match tokio::time::timeout_at(deadline, running).await {
        Ok(done) => done.map_err(|error| operation_error(&error)),
        Err(_) => {
            let text = format!(
                "the connection that listens to topics did not answer within {ANSWER_TIMEOUT:?}: see whether \
                 the database is overloaded or gone"
            );
            Err(StoreError::new(StoreErrorKind::TimedOut, text))
        }
    }
}

/// The topics that somebody subscribes to.
struct Topics {
    pool: Arc<Pool>,
    hub: TopicHub,
    by_channel: HashMap<String, StoreKey>,
}

impl Topics {
    /// Adds the topics of subscribers. Returns SQL that listens to them, also to those that were there: its
    /// answer comes behind all messages of before.
    fn add(&mut self, requests: &[Request]) -> String {
        let mut sql = String::new();
        for request in requests {
            let channel = self.channel(&request.topic);
            sql += &format!("LISTEN {channel};");
            self.by_channel.insert(channel, request.topic.clone());
        }
        sql
    }

    /// Returns SQL that listens to all topics.
    fn listen_sql(&self) -> String {
        let channels = self.by_channel.keys();
        channels.map(|it| format!(";LISTEN {it}")).collect()
    }

    /// Removes topics without subscribers. Returns SQL that does not listen to them any more.
    fn remove_unused(&mut self) -> String {
        let mut sql = String::new();
        self.by_channel.retain(|channel, topic| {
            let is_used = self.hub.has_topic(topic);
            if !is_used {
                sql += &format!("UNLISTEN {channel};");
            }
            is_used
        });
        sql
    }

    fn channel(&self, topic: &StoreKey) -> String {
        channel(&self.pool.settings.options.schema, topic)
    }

    /// Delivers a message to its subscribers.
    async fn deliver(&self, notification: &Notification) {
        let topic = self.by_channel.get(notification.channel());
        let Some(topic) = topic.filter(|topic| self.hub.has_topic(topic)) else {
            return;
        };
        match Payload::parse(notification.payload()) {
            Some(Payload::Message(message)) => self.hub.deliver(topic, &message),
            Some(Payload::Row(id)) => {
                match self.pool.run(|connection| connection.message(id)).await {
                    Ok(Some(message)) => self.hub.deliver(topic, &message),
                    Ok(None) | Err(_) => self.hub.interrupt(),
                }
            }
            None => {
                tracing::debug!(target: "turnbuckle", "another program notifies a channel of the store");
            }
        }
    }
}
