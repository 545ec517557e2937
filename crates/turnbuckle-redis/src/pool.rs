//! The connection for commands, which all operations share. It is made again after it was lost.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::{Cmd, FromRedisValue, Pipeline, PushInfo, PushKind, RedisError, ScriptInvocation};
use turnbuckle_store::{StoreError, StoreErrorKind};

use crate::connector::{Connector, FORMAT};
use crate::error::{needs_reconnect, to_store_error};

/// The commands of a store.
pub(crate) struct Pool {
    connector: Arc<Connector>,
    current: Mutex<Option<Arc<Live>>>,
    /// Held by who connects. It has the last failure, for those that waited for the same attempt.
    connecting: tokio::sync::Mutex<Option<Failure>>,
}

/// A failed attempt to connect.
struct Failure {
    at: Instant,
    kind: StoreErrorKind,
    text: String,
}

/// A connection.
struct Live {
    connection: MultiplexedConnection,
    is_lost: Arc<AtomicBool>,
    since: Instant,
    /// The time until which the version of the format stays in Redis at least, in milliseconds after `since`.
    format_until: AtomicU64,
}

impl Pool {
    pub(crate) fn new(connector: Arc<Connector>) -> Self {
        Self {
            connector,
            current: Mutex::new(None),
            connecting: tokio::sync::Mutex::new(None),
        }
    }

    /// Connects, unless there is a connection.
    pub(crate) async fn connect(&self) -> Result<(), StoreError> {
        self.live().await.map(drop)
    }

    /// Runs a command.
    pub(crate) async fn query<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, StoreError> {
        let live = self.live().await?;
        let result = command.query_async(&mut live.connection.clone()).await;
        self.finish(&live, result)
    }

    /// Runs a script.
    pub(crate) async fn invoke<T: FromRedisValue>(
        &self,
        script: &ScriptInvocation<'_>,
    ) -> Result<T, StoreError> {
        let live = self.live().await?;
        let result = script.invoke_async(&mut live.connection.clone()).await;
        self.finish(&live, result)
    }

    /// Runs commands without a result.
    pub(crate) async fn run(&self, commands: &Pipeline) -> Result<(), StoreError> {
        let live = self.live().await?;
        let result = commands.exec_async(&mut live.connection.clone()).await;
        self.finish(&live, result)
    }

    /// Lets the version of the format outlive what is written with this time to live. It is written for
    /// twice that time, so most writes do nothing here, and nothing is left in the end.
    pub(crate) async fn keep_format(&self, ttl: Duration) -> Result<(), StoreError> {
        let live = self.live().await?;
        let until = |ttl: Duration| to_millis(live.since.elapsed()).saturating_add(to_millis(ttl));
        if live.format_until.load(Ordering::Relaxed) >= until(ttl) {
            return Ok(());
        }
        let ttl = ttl.saturating_mul(2);
        let (key, until, millis) = (self.connector.keys.format(), until(ttl), to_millis(ttl));
        let mut commands = redis::pipe();
        commands
            .cmd("SET")
            .arg(&key)
            .arg(FORMAT)
            .arg("NX")
            .arg("PX")
            .arg(millis);
        commands.cmd("PEXPIRE").arg(&key).arg(millis).arg("GT");
        let result = commands.exec_async(&mut live.connection.clone()).await;
        self.finish(&live, result)?;
        live.format_until.fetch_max(until, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the connection, and makes one if there is none.
    async fn live(&self) -> Result<Arc<Live>, StoreError> {
        if let Some(live) = self.current() {
            return Ok(live);
        }
        let asked = Instant::now();
        let mut failure = self.connecting.lock().await;
        if let Some(live) = self.current() {
            return Ok(live);
        }
        if let Some(failure) = failure.as_ref().filter(|it| it.at >= asked) {
            return Err(StoreError::new(failure.kind, failure.text.clone()));
        }
        let is_lost = Arc::<AtomicBool>::default();
        let lost = is_lost.clone();
        let receive = move |message: PushInfo| {
            if message.kind == PushKind::Disconnection {
                lost.store(true, Ordering::Relaxed);
            }
        };
        let connection = self.connector.connect(receive).await.inspect_err(|error| {
            *failure = Some(Failure {
                at: Instant::now(),
                kind: error.kind(),
                text: error.to_string(),
            });
        })?;
        let live = Arc::new(Live {
            connection,
            is_lost,
            since: Instant::now(),
            format_until: AtomicU64::new(0),
        });
        *self.lock() = Some(live.clone());
        Ok(live)
    }

    /// Gives a connection up that is of no use after an error.
    fn finish<T>(&self, live: &Arc<Live>, result: Result<T, RedisError>) -> Result<T, StoreError> {
        result.map_err(|error| {
            if needs_reconnect(&error) {
                let mut current = self.lock();
                if current.as_ref().is_some_and(|it| Arc::ptr_eq(it, live)) {
                    *current = None;
                }
            }
            to_store_error(&self.connector.address, error)
        })
    }

    fn current(&self) -> Option<Arc<Live>> {
        let is_lost = |live: &Arc<Live>| live.is_lost.load(Ordering::Relaxed);
        self.lock().clone().filter(|live| !is_lost(live))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<Live>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a time in milliseconds.
pub(crate) fn to_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
