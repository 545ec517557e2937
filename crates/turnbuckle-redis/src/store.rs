//! The store.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use redis::{FromRedisValue, Value, cmd};
use turnbuckle_store::bounds::{
    MAX_ENTRY_BYTES, MAX_VALUE_BYTES, check_append, check_job, check_message, check_touch,
    check_ttl, check_value, clamp_read,
};
use turnbuckle_store::{
    AppendAt, Claim, Condition, Keep, LogSlice, Position, ReadLimit, Store, StoreError,
    StoreErrorKind, StoreFuture, StoreKey, Subscription, Version, Versioned,
};

use crate::connector::Connector;
use crate::error::fault;
use crate::options::RedisStoreOptions;
use crate::pool::{Pool, to_millis};
use crate::scripts::Scripts;
use crate::topics::Topics;

/// The bytes of the version before a value.
const VERSION_BYTES: usize = 8;

/// A store in Redis (7 or later) or Valkey. Clones share it.
///
/// The settings of Redis decide what is kept after a restart or a failover. After a lost connection the
/// next operation connects again; [`GuardedStore`](turnbuckle_store::GuardedStore) bounds the number of
/// operations.
#[derive(Clone)]
pub struct RedisStore(Arc<Inner>);

struct Inner {
    connector: Arc<Connector>,
    pool: Pool,
    topics: Topics,
    scripts: Scripts,
    /// The next number that no other store gives: versions of values, and ids of jobs.
    next_number: AtomicU64,
}

impl RedisStore {
    /// Connects to the Redis of a URL: `redis://user:password@host:port/database`, `rediss://…` (feature
    /// `tls`), or `unix:/path?db=1&user=name&pass=word`.
    ///
    /// The store belongs to the tokio runtime in which this is called.
    ///
    /// # Errors
    /// If Redis cannot be reached, refuses the login, is older than 7 or a part of a cluster, or holds
    /// state of a newer release. No error contains the password.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::connect_with(url, RedisStoreOptions::default()).await
    }

    /// Connects with settings, as [`connect`](Self::connect) does.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn connect_with(url: &str, options: RedisStoreOptions) -> Result<Self, StoreError> {
        let connector = Arc::new(Connector::new(url, options)?);
        let mut start = [0; 8];
        getrandom::fill(&mut start).map_err(|_| {
            let text = "the operating system has no randomness";
            StoreError::new(StoreErrorKind::Unavailable, text)
        })?;
        let pool = Pool::new(connector.clone());
        pool.connect().await?;
        Ok(Self(Arc::new(Inner {
            topics: Topics::new(connector.clone()),
            connector,
            pool,
            scripts: Scripts::new(),
            next_number: AtomicU64::new(u64::from_ne_bytes(start)),
        })))
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("address", &self.0.connector.address)
            .field("prefix", &self.0.connector.options.prefix)
            .finish_non_exhaustive()
    }
}

impl Inner {
    /// Returns a number that no store has given before: each counts up from a random one of 64 bits. It
    /// needs no clock and no counter in Redis, which may be restarted empty.
    fn next_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    fn corrupt(&self, key: &StoreKey) -> StoreError {
        let text = format!(
            "{key} holds what no store writes: remove it, or choose another prefix \
             (RedisStoreOptions::prefix)"
        );
        fault(StoreErrorKind::Corrupt, &self.connector.address, &text)
    }

    /// Returns what a script has returned as something else.
    fn read<T: FromRedisValue>(&self, key: &StoreKey, value: Value) -> Result<T, StoreError> {
        T::from_redis_value(value).map_err(|_| self.corrupt(key))
    }

    /// Returns a number that a script has returned, in its range.
    fn read_number<T: TryFrom<i64>>(&self, key: &StoreKey, value: Value) -> Result<T, StoreError> {
        T::try_from(self.read(key, value)?).map_err(|_| self.corrupt(key))
    }

    async fn get(&self, key: &StoreKey) -> Result<Option<Versioned>, StoreError> {
        // Not `GET`: something else under the key may be longer than any value.
        let mut get = cmd("GETRANGE");
        let longest = VERSION_BYTES + MAX_VALUE_BYTES;
        get.arg(self.connector.keys.value(key)).arg(0).arg(longest);
        let mut bytes: Bytes = self.pool.query(&get).await?;
        if bytes.is_empty() {
            return Ok(None);
        }
        if !(VERSION_BYTES..=longest).contains(&bytes.len()) {
            return Err(self.corrupt(key));
        }
        let version = bytes.split_to(VERSION_BYTES);
        let version = version.first_chunk().ok_or_else(|| self.corrupt(key))?;
        Ok(Some(Versioned {
            version: Version(u64::from_be_bytes(*version)),
            value: bytes,
        }))
    }

    async fn put(
        &self,
        key: &StoreKey,
        value: Bytes,
        when: Condition,
        ttl: Duration,
    ) -> Result<Option<Version>, StoreError> {
        check_value(&value)?;
        check_ttl(ttl)?;
        self.pool.keep_format(ttl).await?;
        let version = Version(self.next_number());
        let mut bytes = BytesMut::with_capacity(VERSION_BYTES + value.len());
        bytes.extend_from_slice(&version.0.to_be_bytes());
        bytes.extend_from_slice(&value);
        let (name, ttl) = (self.connector.keys.value(key), to_millis(ttl));
        let is_put = match when {
            Condition::Version(expected) => {
                let mut script = self.scripts.put_version.key(name);
                script.arg(&expected.0.to_be_bytes()).arg(&*bytes).arg(ttl);
                self.pool.invoke(&script).await?
            }
            Condition::Always | Condition::Absent => {
                let mut set = cmd("SET");
                set.arg(name).arg(&*bytes).arg("PX").arg(ttl);
                if when == Condition::Absent {
                    set.arg("NX");
                }
                let done: Value = self.pool.query(&set).await?;
                done == Value::Okay
            }
        };
        Ok(is_put.then_some(version))
    }

    async fn remove(&self, key: &StoreKey, when: Condition) -> Result<bool, StoreError> {
        let name = self.connector.keys.value(key);
        match when {
            Condition::Absent => Ok(false),
            Condition::Always => self.pool.query(cmd("UNLINK").arg(name)).await,
            Condition::Version(version) => {
                let mut script = self.scripts.remove_version.key(name);
                script.arg(&version.0.to_be_bytes());
                self.pool.invoke(&script).await
            }
        }
    }

    async fn touch(&self, keys: Vec<StoreKey>, ttl: Duration) -> Result<(), StoreError> {
        check_touch(keys.len())?;
        check_ttl(ttl)?;
        if keys.is_empty() {
            return Ok(());
        }
        self.pool.keep_format(ttl).await?;
        let mut commands = redis::pipe();
        for key in &keys {
            let name = self.connector.keys.value(key);
            commands.cmd("PEXPIRE").arg(name).arg(to_millis(ttl));
        }
        self.pool.run(&commands).await
    }

    async fn append(
        &self,
        log: &StoreKey,
        at: AppendAt,
        entries: Vec<Bytes>,
        keep: Keep,
    ) -> Result<Option<Position>, StoreError> {
        check_append(&entries, &keep)?;
        self.pool.keep_format(keep.ttl).await?;
        let mut script = self.scripts.append.key(self.connector.keys.log(log));
        match at {
            AppendAt::End => script.arg(""),
            AppendAt::Exactly(position) => script.arg(position.0),
        };
        // Redis counts with signed numbers.
        let most = i64::try_from(keep.entries).unwrap_or(i64::MAX);
        script.arg(most).arg(to_millis(keep.ttl));
        for entry in &entries {
            script.arg(&**entry);
        }
        match self.pool.invoke(&script).await? {
            Value::Nil => Ok(None),
            last => Ok(Some(Position(self.read_number(log, last)?))),
        }
    }

    async fn read_log(
        &self,
        log: &StoreKey,
        after: Position,
        limit: ReadLimit,
    ) -> Result<LogSlice, StoreError> {
        let limit = clamp_read(limit);
        let mut script = self.scripts.read.key(self.connector.keys.log(log));
        script.arg(after.0).arg(limit.entries).arg(limit.bytes);
        script.arg(MAX_ENTRY_BYTES);
        let reply: Vec<Value> = self.pool.invoke(&script).await?;
        let mut reply = reply.into_iter();
        let mut position = || {
            let value = reply.next().unwrap_or(Value::Nil);
            Ok(Position(self.read_number(log, value)?))
        };
        let (first, last, start) = (position()?, position()?, position()?);
        let entries = reply.map(|entry| self.read(log, entry));
        Ok(LogSlice {
            entries: entries.collect::<Result<_, _>>()?,
            start,
            first,
            last,
        })
    }

    async fn push(&self, queue: &StoreKey, job: Bytes, ttl: Duration) -> Result<(), StoreError> {
        check_job(&job)?;
        check_ttl(ttl)?;
        self.pool.keep_format(ttl).await?;
        let keys = &self.connector.keys;
        let mut script = self.scripts.push.key(keys.queue(queue));
        let number = format!("{:016x}", self.next_number());
        script.key(keys.jobs(queue));
        script.arg(number).arg(&*job).arg(to_millis(ttl));
        self.pool.invoke(&script).await
    }

    async fn claim(
        &self,
        queue: &StoreKey,
        hidden_for: Duration,
    ) -> Result<Option<Claim>, StoreError> {
        check_ttl(hidden_for)?;
        let keys = &self.connector.keys;
        let mut script = self.scripts.claim.key(keys.queue(queue));
        script.key(keys.jobs(queue)).arg(to_millis(hidden_for));
        loop {
            let (id, attempt, job): (String, Value, Bytes) = match self.pool.invoke(&script).await?
            {
                Value::Nil => return Ok(None),
                Value::Int(0) => continue,
                found => self.read(queue, found)?,
            };
            let attempt: u32 = self.read_number(queue, attempt)?;
            return Ok(Some(Claim {
                queue: queue.clone(),
                id: u128::from_str_radix(&id, 16).map_err(|_| self.corrupt(queue))?,
                token: attempt.into(),
                attempt,
                job,
            }));
        }
    }

    async fn extend(&self, claim: &Claim, hidden_for: Duration) -> Result<bool, StoreError> {
        check_ttl(hidden_for)?;
        let keys = &self.connector.keys;
        let mut script = self.scripts.extend.key(keys.queue(&claim.queue));
        let id = format!("{:032x}", claim.id);
        script.key(keys.jobs(&claim.queue)).arg(id);
        script.arg(claim.token).arg(to_millis(hidden_for));
        self.pool.invoke(&script).await
    }

    async fn complete(&self, claim: &Claim) -> Result<bool, StoreError> {
        let keys = &self.connector.keys;
        let mut script = self.scripts.complete.key(keys.queue(&claim.queue));
        let id = format!("{:032x}", claim.id);
        script.key(keys.jobs(&claim.queue)).arg(id).arg(claim.token);
        self.pool.invoke(&script).await
    }
}

impl Store for RedisStore {
    fn get(&self, key: &StoreKey) -> StoreFuture<'_, Option<Versioned>> {
        let key = key.clone();
        Box::pin(async move { self.0.get(&key).await })
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Bytes,
        when: Condition,
        ttl: Duration,
    ) -> StoreFuture<'_, Option<Version>> {
        let key = key.clone();
        Box::pin(async move { self.0.put(&key, value, when, ttl).await })
    }

    fn remove(&self, key: &StoreKey, when: Condition) -> StoreFuture<'_, bool> {
        let key = key.clone();
        Box::pin(async move { self.0.remove(&key, when).await })
    }

    fn touch(&self, keys: Vec<StoreKey>, ttl: Duration) -> StoreFuture<'_, ()> {
        Box::pin(async move { self.0.touch(keys, ttl).await })
    }

    fn append(
        &self,
        log: &StoreKey,
        at: AppendAt,
        entries: Vec<Bytes>,
        keep: Keep,
    ) -> StoreFuture<'_, Option<Position>> {
        let log = log.clone();
        Box::pin(async move { self.0.append(&log, at, entries, keep).await })
    }

    fn read(&self, log: &StoreKey, after: Position, limit: ReadLimit) -> StoreFuture<'_, LogSlice> {
        let log = log.clone();
        Box::pin(async move { self.0.read_log(&log, after, limit).await })
    }

    fn publish(&self, topic: &StoreKey, message: Bytes) -> StoreFuture<'_, ()> {
        let channel = self.0.connector.keys.channel(topic);
        Box::pin(async move {
            check_message(&message)?;
            let mut publish = cmd("PUBLISH");
            publish.arg(channel).arg(&*message);
            self.0.pool.query(&publish).await
        })
    }

    fn subscribe(&self, topic: &StoreKey) -> StoreFuture<'_, Subscription> {
        let topic = topic.clone();
        Box::pin(async move { self.0.topics.subscribe(&topic).await })
    }

    fn push(&self, queue: &StoreKey, job: Bytes, ttl: Duration) -> StoreFuture<'_, ()> {
        let queue = queue.clone();
        Box::pin(async move { self.0.push(&queue, job, ttl).await })
    }

    fn claim(&self, queue: &StoreKey, hidden_for: Duration) -> StoreFuture<'_, Option<Claim>> {
        let queue = queue.clone();
        Box::pin(async move { self.0.claim(&queue, hidden_for).await })
    }

    fn extend(&self, claim: &Claim, hidden_for: Duration) -> StoreFuture<'_, bool> {
        let claim = claim.clone();
        Box::pin(async move { self.0.extend(&claim, hidden_for).await })
    }

    fn complete(&self, claim: Claim) -> StoreFuture<'_, bool> {
        Box::pin(async move { self.0.complete(&claim).await })
    }
}

#[cfg(test)]
mod tests;
