//! The database of a test.

use std::time::{Duration, Instant};

use tokio_postgres::{Client, NoTls};
use turnbuckle_engines::PostgresServer;
use turnbuckle_postgres::{PostgresStore, PostgresStoreOptions};
use turnbuckle_store::{Condition, Store, StoreError, StoreKey, Subscription, TopicEvent};

pub(crate) const TTL: Duration = Duration::from_secs(60);

/// The time within which what a test waits for happens.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) fn key(text: &str) -> StoreKey {
    StoreKey::new(text).unwrap()
}

/// A server with a database `store`, and a client of another database that sees the server.
pub(crate) struct Engine {
    pub(crate) server: PostgresServer,
    pub(crate) admin: Client,
}

impl Engine {
    pub(crate) async fn start() -> Self {
        Self::with(PostgresServer::start()).await
    }

    pub(crate) async fn with(server: PostgresServer) -> Self {
        let admin = client(&server.address("postgres")).await;
        admin.batch_execute("CREATE DATABASE store").await.unwrap();
        Self { server, admin }
    }

    pub(crate) fn address(&self) -> String {
        self.server.address("store")
    }

    /// Returns a client of the database of the store.
    pub(crate) async fn client(&self) -> Client {
        client(&self.address()).await
    }

    pub(crate) async fn store(&self) -> PostgresStore {
        PostgresStore::connect(&self.address()).await.unwrap()
    }

    pub(crate) async fn store_with(
        &self,
        options: PostgresStoreOptions,
    ) -> Result<PostgresStore, StoreError> {
        PostgresStore::connect_with(&self.address(), options).await
    }

    /// Cuts the connections to the database of the store.
    pub(crate) async fn cut(&self) {
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'store'";
        self.admin.batch_execute(sql).await.unwrap();
    }

    /// Starts the server again, as after a crash.
    pub(crate) async fn restart(&mut self) {
        self.server.stop();
        self.server.run();
        self.admin = client(&self.server.address("postgres")).await;
    }
}

pub(crate) async fn client(address: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(address, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Puts a value.
pub(crate) async fn put(store: &PostgresStore, name: &str, value: &str) -> Result<(), StoreError> {
    let value = value.to_owned().into();
    store.put(&key(name), value, Condition::Always, TTL).await?;
    Ok(())
}

/// Returns a value.
pub(crate) async fn get(store: &PostgresStore, name: &str) -> Option<String> {
    let found = store.get(&key(name)).await.unwrap()?;
    Some(String::from_utf8(found.value.to_vec()).unwrap())
}

/// Returns the next event of a subscription.
pub(crate) async fn next(subscription: &mut Subscription) -> TopicEvent {
    let event = tokio::time::timeout(TIMEOUT, subscription.next()).await;
    event.unwrap().unwrap()
}

/// Waits until a count of rows is `expected`.
pub(crate) async fn wait_for(client: &Client, sql: &str, expected: i64) {
    let start = Instant::now();
    loop {
        let found: i64 = client.query_one(sql, &[]).await.unwrap().get(0);
        if found == expected {
            return;
        }
        assert!(start.elapsed() < TIMEOUT, "{sql}: {found}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
