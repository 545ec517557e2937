use std::fs;
use std::path::PathBuf;

use turnbuckle_store::TopicEvent;
use turnbuckle_store::contract::{self, ContractBackend, ContractFuture, Fault};

use super::*;
use crate::options::Clock;
use crate::schema::SCHEMA_VERSION;

const TTL: Duration = Duration::from_secs(60);

fn key(text: &str) -> StoreKey {
    StoreKey::new(text).unwrap()
}

fn error(path: &Path) -> StoreError {
    SqliteStore::open(path).unwrap_err()
}

/// A directory with a file of a store.
struct Engine {
    dir: tempfile::TempDir,
    clock: Clock,
}

impl Engine {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            clock: Clock::default(),
        }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("state.db")
    }

    fn options(&self) -> SqliteStoreOptions {
        SqliteStoreOptions {
            clock: self.clock.clone(),
            ..SqliteStoreOptions::new().max_bytes(16 << 20)
        }
    }

    fn store(&self) -> SqliteStore {
        SqliteStore::open_with(self.path(), self.options()).unwrap()
    }

    fn connection(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).unwrap()
    }

    /// Moves the files of the store elsewhere, or back.
    fn rename_files(&self, is_back: bool) {
        for name in ["state.db", "state.db-wal", "state.db-shm"] {
            let (here, away) = (
                self.dir.path().join(name),
                self.dir.path().join(format!("x{name}")),
            );
            let _ = match is_back {
                true => fs::rename(away, here),
                false => fs::rename(here, away),
            };
        }
    }
}

impl ContractBackend for Engine {
    fn open(&self) -> StoreFuture<'_, Arc<dyn Store>> {
        Box::pin(async {
            let store = SqliteStore::open_with(self.path(), self.options())?;
            Ok(Arc::new(store) as Arc<dyn Store>)
        })
    }

    fn advance(&self, time: Duration) -> ContractFuture<'_, ()> {
        self.clock.advance(time);
        Box::pin(async {})
    }

    fn remaining(&self) -> StoreFuture<'_, Option<u64>> {
        Box::pin(async {
            let count = |database: &mut Database, now| {
                while database.remove_expired(now)? > 0 {}
                database.count()
            };
            self.store().run(count).await.map(Some)
        })
    }

    fn faults(&self) -> &[Fault] {
        &[Fault::Cut, Fault::Full, Fault::NewerVersion]
    }

    fn begin(&self, fault: Fault) -> ContractFuture<'_, ()> {
        Box::pin(async move {
            match fault {
                Fault::Cut => self.rename_files(false),
                Fault::Full => {
                    let store = self.store();
                    for number in 0..14 {
                        let value = vec![0; 1 << 20].into();
                        let ttl = Duration::from_secs(2);
                        let filler = key(&format!("filler/{number}"));
                        let _ = store.put(&filler, value, Condition::Always, ttl).await;
                    }
                }
                Fault::NewerVersion => {
                    let connection = self.connection();
                    connection
                        .pragma_update(None, "user_version", SCHEMA_VERSION + 1)
                        .unwrap();
                }
                _ => {}
            }
        })
    }

    fn end(&self, fault: Fault) -> ContractFuture<'_, ()> {
        Box::pin(async move {
            match fault {
                Fault::Cut => self.rename_files(true),
                Fault::NewerVersion => {
                    let connection = self.connection();
                    connection
                        .pragma_update(None, "user_version", SCHEMA_VERSION)
                        .unwrap();
                }
                _ => {}
            }
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_in_a_file_keeps_every_rule() {
    contract::check(&Engine::new()).await.unwrap();
}

#[tokio::test]
async fn state_outlives_the_store() {
    let engine = Engine::new();
    let store = engine.store();
    store
        .put(&key("k"), "v".into(), Condition::Always, TTL)
        .await
        .unwrap();
    drop(store);
    let found = engine.store().get(&key("k")).await.unwrap().unwrap();
    assert_eq!(found.value, "v");
}

#[cfg(unix)]
#[tokio::test]
async fn the_files_belong_to_the_user_alone() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let engine = Engine::new();
    let store = engine.store();
    store
        .put(&key("k"), "v".into(), Condition::Always, TTL)
        .await
        .unwrap();
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        let mode = fs::metadata(engine.dir.path().join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    drop(store);
    let link = engine.dir.path().join("link.db");
    symlink(engine.path(), &link).unwrap();
    let refused = error(&link);
    assert_eq!(refused.kind(), StoreErrorKind::Misconfigured);
    assert!(refused.to_string().contains("no regular file"), "{refused}");
    assert_eq!(
        error(engine.dir.path()).kind(),
        StoreErrorKind::Misconfigured
    );

    fs::set_permissions(engine.path(), fs::Permissions::from_mode(0o640)).unwrap();
    let refused = error(&engine.path());
    assert_eq!(refused.kind(), StoreErrorKind::Misconfigured);
    assert!(refused.to_string().contains("chmod 600"), "{refused}");
}

#[test]
fn garbage_and_foreign_databases_are_refused_by_name() {
    let engine = Engine::new();
    let path = engine.dir.path().join("garbage.db");
    drop(StoreFile::find(&path, true).unwrap());
    fs::write(&path, [7; 5000]).unwrap();
    let refused = error(&path);
    assert_eq!(refused.kind(), StoreErrorKind::Corrupt);
    assert!(
        refused.to_string().contains("no SQLite database"),
        "{refused}"
    );
    assert_eq!(fs::read(&path).unwrap(), [7; 5000]);

    let path = engine.dir.path().join("foreign.db");
    drop(StoreFile::find(&path, true).unwrap());
    let foreign = rusqlite::Connection::open(&path).unwrap();
    foreign.execute_batch("CREATE TABLE other (a)").unwrap();
    let refused = error(&path);
    assert_eq!(refused.kind(), StoreErrorKind::Misconfigured);
    assert!(refused.to_string().contains("another program"), "{refused}");
}

#[test]
fn a_newer_version_is_refused_with_both_numbers() {
    let engine = Engine::new();
    drop(engine.store());
    engine
        .connection()
        .pragma_update(None, "user_version", 9)
        .unwrap();
    let refused = error(&engine.path());
    assert_eq!(refused.kind(), StoreErrorKind::NewerVersion);
    assert!(refused.to_string().contains("version 9"), "{refused}");
    assert!(refused.to_string().contains("knows version 1"), "{refused}");
}

#[tokio::test]
async fn a_locked_file_is_busy_in_bounded_time() {
    let engine = Engine::new();
    let options = engine.options().busy_timeout(Duration::from_millis(50));
    let store = SqliteStore::open_with(engine.path(), options).unwrap();
    store
        .put(&key("k"), "v".into(), Condition::Always, TTL)
        .await
        .unwrap();
    let other = engine.connection();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let put = store.put(&key("k"), "w".into(), Condition::Always, TTL);
    let put = tokio::time::timeout(Duration::from_secs(10), put)
        .await
        .unwrap();
    let busy = put.unwrap_err();
    assert_eq!(busy.kind(), StoreErrorKind::Busy);
    assert!(
        busy.to_string()
            .contains("SqliteStoreOptions::busy_timeout"),
        "{busy}"
    );
    // Readers do not wait for writers.
    assert_eq!(store.get(&key("k")).await.unwrap().unwrap().value, "v");
    other.execute_batch("ROLLBACK").unwrap();
    store
        .put(&key("k"), "w".into(), Condition::Always, TTL)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_full_file_names_its_setting_and_stays_below_it() {
    let engine = Engine::new();
    let store = SqliteStore::open_with(engine.path(), engine.options().max_bytes(1 << 20)).unwrap();
    let mut refused = None;
    for number in 0..64 {
        let value = vec![0; 64 << 10].into();
        let put = store.put(&key(&format!("k{number}")), value, Condition::Always, TTL);
        if let Err(error) = put.await {
            refused = Some(error);
            break;
        }
    }
    let refused = refused.unwrap();
    assert_eq!(refused.kind(), StoreErrorKind::Full);
    assert!(
        refused
            .to_string()
            .contains("SqliteStoreOptions::max_bytes"),
        "{refused}"
    );
    assert!(store.get(&key("k0")).await.unwrap().is_some());
    drop(store);
    let length = fs::metadata(engine.path()).unwrap().len();
    assert!(length <= 1 << 20, "{length}");
    // What has expired makes room.
    let store = SqliteStore::open_with(engine.path(), engine.options().max_bytes(1 << 20)).unwrap();
    engine.clock.advance(TTL);
    let value = Bytes::from(vec![0; 512 << 10]);
    store
        .put(&key("new"), value, Condition::Always, TTL)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_removed_file_is_an_error_until_there_is_one_again() {
    let engine = Engine::new();
    let store = engine.store();
    store
        .put(&key("k"), "v".into(), Condition::Always, TTL)
        .await
        .unwrap();
    fs::remove_file(engine.path()).unwrap();
    for _ in 0..3 {
        let gone = store.get(&key("k")).await.unwrap_err();
        assert_eq!(gone.kind(), StoreErrorKind::Unavailable);
        assert!(
            gone.to_string().contains("the file of the store is gone"),
            "{gone}"
        );
    }
    assert!(!engine.path().exists());
    // Another server begins an empty one, which both use.
    let other = engine.store();
    other
        .put(&key("k"), "new".into(), Condition::Always, TTL)
        .await
        .unwrap();
    assert_eq!(store.get(&key("k")).await.unwrap().unwrap().value, "new");
}

#[tokio::test]
async fn expired_rows_are_removed_while_nobody_uses_the_store() {
    let engine = Engine::new();
    let store = engine.store();
    let ttl = Duration::from_millis(20);
    let keep = Keep { entries: 9, ttl };
    for number in 0..1200 {
        let value = key(&format!("k{number}"));
        store
            .put(&value, "v".into(), Condition::Always, ttl)
            .await
            .unwrap();
    }
    store
        .append(&key("l"), AppendAt::End, vec!["e".into(); 9], keep)
        .await
        .unwrap();
    store.push(&key("q"), "j".into(), ttl).await.unwrap();
    let connection = engine.connection();
    let rows = || {
        let count = |table: &str| {
            let sql = format!("SELECT count(*) FROM {table}");
            connection
                .query_row(&sql, [], |row| row.get::<_, i64>(0))
                .unwrap()
        };
        ["value", "log", "entry", "job"].map(count)
    };
    let start = std::time::Instant::now();
    while rows() != [0; 4] {
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", rows());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_subscriber_that_missed_messages_is_told() {
    let engine = Engine::new();
    let (store, other) = (engine.store(), engine.store());
    let mut subscription = store.subscribe(&key("t")).await.unwrap();
    // In one transaction, so that the store never sees the message.
    let lost = "BEGIN IMMEDIATE;
        INSERT INTO message (topic, sender, bytes, expires) VALUES ('t', 0, x'00', 1);
        DELETE FROM message; COMMIT";
    engine.connection().execute_batch(lost).unwrap();
    let event = tokio::time::timeout(Duration::from_secs(10), subscription.next());
    assert_eq!(event.await.unwrap(), Some(TopicEvent::Interrupted));
    other.publish(&key("t"), "next".into()).await.unwrap();
    let event = tokio::time::timeout(Duration::from_secs(10), subscription.next());
    assert_eq!(
        event.await.unwrap(),
        Some(TopicEvent::Message("next".into()))
    );
}

#[tokio::test]
async fn too_many_waiting_operations_are_refused_by_name() {
    let engine = Engine::new();
    let store = engine.store();
    let (entered, is_entered) = oneshot::channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let mut blocked = store.call(move |_| {
        let _ = entered.send(());
        let _ = released.recv();
        Ok(())
    });
    assert!(blocked.as_mut().poll(&mut cx).is_pending());
    is_entered.await.unwrap();
    let mut waiting: Vec<_> = (0..MAX_WAITING).map(|_| store.run(|_, _| Ok(()))).collect();
    for operation in &mut waiting {
        assert!(operation.as_mut().poll(&mut cx).is_pending());
    }
    let refused = store.get(&key("k")).await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::Busy);
    release.send(()).unwrap();
    for operation in waiting {
        operation.await.unwrap();
    }
    blocked.await.unwrap();
}
