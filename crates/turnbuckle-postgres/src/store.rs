//! The store, whose operations share a few connections.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::AbortHandle;
use turnbuckle_store::bounds::{
    check_append, check_job, check_message, check_touch, check_ttl, check_value, clamp_read,
};
use turnbuckle_store::{
    AppendAt, Claim, Condition, Keep, LogSlice, Position, ReadLimit, Store, StoreError,
    StoreErrorKind, StoreFuture, StoreKey, Subscription, Version, Versioned,
};

use crate::address;
use crate::cleanup::remove_expired;
use crate::connection::{Connection, Settings};
use crate::database::Failure;
use crate::listener::{MAX_WAITING, Payload, ROW_MARK, Request, channel, listen};
use crate::options::PostgresStoreOptions;
use crate::pool::Pool;
use crate::tls;

/// The most operations that run at once.
const MAX_RUNNING: usize = 256;

/// A store in PostgreSQL. Clones share their connections.
///
/// The tables are in a schema of their own. Times to live follow the clock of the database. A lost connection
/// is made again for the next operation; subscribers get
/// [`TopicEvent::Interrupted`](turnbuckle_store::TopicEvent::Interrupted) then.
///
/// A store belongs to the tokio runtime in which it was made.
#[derive(Clone)]
pub struct PostgresStore(Arc<Inner>);

struct Inner {
    pool: Arc<Pool>,
    subscribers: mpsc::Sender<Request>,
    permits: Arc<Semaphore>,
    tasks: [AbortHandle; 2],
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl PostgresStore {
    /// Connects to a database, such as `postgres://USER:PASSWORD@HOST:PORT/DATABASE` or
    /// `host=/run/postgresql dbname=mcp user=mcp`, and creates the tables if there are none.
    ///
    /// # Errors
    /// If the address cannot be read, if the database cannot be reached, refuses the role, or does not let it
    /// create the schema, or if the tables are those of a newer release.
    pub async fn connect(address: &str) -> Result<Self, StoreError> {
        Self::connect_with(address, PostgresStoreOptions::default()).await
    }

    /// Connects to a database with settings, as [`connect`](Self::connect) does.
    ///
    /// # Errors
    /// As [`connect`](Self::connect), and if the name of the schema is not allowed.
    pub async fn connect_with(
        address: &str,
        options: PostgresStoreOptions,
    ) -> Result<Self, StoreError> {
        options.check()?;
        let settings = Settings {
            config: address::parse(address)?,
            connector: tls::connector(&options)?,
            options,
        };
        let pool = Arc::new(Pool::new(settings));
        pool.connect().await?;
        let (subscribers, requests) = mpsc::channel(MAX_WAITING);
        let tasks = [
            tokio::spawn(remove_expired(pool.clone())).abort_handle(),
            tokio::spawn(listen(pool.clone(), requests)).abort_handle(),
        ];
        Ok(Self(Arc::new(Inner {
            pool,
            subscribers,
            permits: Arc::new(Semaphore::new(MAX_RUNNING)),
            tasks,
        })))
    }

    /// Runs an operation in a task of its own: an operation that is given up still ends in time, and so does
    /// not hold up those behind it.
    fn run<T, F>(
        &self,
        check: Result<(), StoreError>,
        operation: impl Fn(Arc<Connection>) -> F + Send + Sync + 'static,
    ) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Failure>> + Send,
    {
        Box::pin(async move {
            check?;
            let permit = self.0.permits.clone().try_acquire_owned();
            let permit = permit.map_err(|_| {
                let text =
                    format!("{MAX_RUNNING} operations run in the store already: try again later");
                StoreError::new(StoreErrorKind::Busy, text)
            })?;
            let pool = self.0.pool.clone();
            let task = tokio::spawn(async move {
                let result = pool.run(operation).await;
                pool.used.notify_one();
                drop(permit);
                result
            });
            task.await.map_err(|_| stopped())?
        })
    }
}

fn stopped() -> StoreError {
    StoreError::new(
        StoreErrorKind::Unavailable,
        "the runtime of the store has ended: make the store in the runtime that uses it",
    )
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("schema", &self.0.pool.settings.options.schema)
            .finish_non_exhaustive()
    }
}

impl Store for PostgresStore {
    fn get(&self, key: &StoreKey) -> StoreFuture<'_, Option<Versioned>> {
        let key = key.clone();
        self.run(Ok(()), move |connection| connection.get(key.clone()))
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Bytes,
        when: Condition,
        ttl: Duration,
    ) -> StoreFuture<'_, Option<Version>> {
        let key = key.clone();
        self.run(
            check_value(&value).and_then(|()| check_ttl(ttl)),
            move |connection| connection.put(key.clone(), value.clone(), when, ttl),
        )
    }

    fn remove(&self, key: &StoreKey, when: Condition) -> StoreFuture<'_, bool> {
        let key = key.clone();
        self.run(Ok(()), move |connection| {
            connection.remove(key.clone(), when)
        })
    }

    fn touch(&self, keys: Vec<StoreKey>, ttl: Duration) -> StoreFuture<'_, ()> {
        let check = check_touch(keys.len()).and_then(|()| check_ttl(ttl));
        let keys: Arc<[_]> = keys.into();
        self.run(check, move |connection| connection.touch(keys.clone(), ttl))
    }

    fn append(
        &self,
        log: &StoreKey,
        at: AppendAt,
        entries: Vec<Bytes>,
        keep: Keep,
    ) -> StoreFuture<'_, Option<Position>> {
        let check = check_append(&entries, &keep);
        let (log, entries): (_, Arc<[_]>) = (log.clone(), entries.into());
        self.run(check, move |connection| {
            connection.append(log.clone(), at, entries.clone(), keep)
        })
    }

    fn read(&self, log: &StoreKey, after: Position, limit: ReadLimit) -> StoreFuture<'_, LogSlice> {
        let (log, limit) = (log.clone(), clamp_read(limit));
        self.run(Ok(()), move |connection| {
            connection.read(log.clone(), after, limit)
        })
    }

    fn publish(&self, topic: &StoreKey, message: Bytes) -> StoreFuture<'_, ()> {
        let check = check_message(&message);
        let channel = channel(&self.0.pool.settings.options.schema, topic);
        match Payload::encode(&message) {
            Some(payload) => self.run(check, move |connection| {
                connection.notify(channel.clone(), payload.clone())
            }),
            None => self.run(check, move |connection| {
                connection.notify_row(channel.clone(), ROW_MARK, message.clone())
            }),
        }
    }

    fn subscribe(&self, topic: &StoreKey) -> StoreFuture<'_, Subscription> {
        let topic = topic.clone();
        Box::pin(async move {
            let (reply, subscription) = oneshot::channel();
            let request = Request { topic, reply };
            self.0
                .subscribers
                .send(request)
                .await
                .map_err(|_| stopped())?;
            subscription.await.map_err(|_| stopped())?
        })
    }

    fn push(&self, queue: &StoreKey, job: Bytes, ttl: Duration) -> StoreFuture<'_, ()> {
        let check = check_job(&job).and_then(|()| check_ttl(ttl));
        let queue = queue.clone();
        self.run(check, move |connection| {
            connection.push(queue.clone(), job.clone(), ttl)
        })
    }

    fn claim(&self, queue: &StoreKey, hidden_for: Duration) -> StoreFuture<'_, Option<Claim>> {
        let queue = queue.clone();
        self.run(check_ttl(hidden_for), move |connection| {
            connection.claim(queue.clone(), hidden_for)
        })
    }

    fn extend(&self, claim: &Claim, hidden_for: Duration) -> StoreFuture<'_, bool> {
        let claim = Arc::new(claim.clone());
        self.run(check_ttl(hidden_for), move |connection| {
            connection.extend(claim.clone(), hidden_for)
        })
    }

    fn complete(&self, claim: Claim) -> StoreFuture<'_, bool> {
        let claim = Arc::new(claim);
        self.run(Ok(()), move |connection| connection.complete(claim.clone()))
    }
}
