//! Servers that fail, and what the store says then.

use std::os::unix::net::UnixListener;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use turnbuckle_postgres::{PostgresStore, PostgresStoreOptions};
use turnbuckle_store::{Condition, Store, StoreErrorKind, TopicEvent};

use crate::engine::{Engine, TTL, client, get, key, next, put};

/// A failure that counts the attempts in a sequence, until one has a number.
const TAKE_BACK: &str = "
CREATE SEQUENCE turnbuckle.attempts;
CREATE FUNCTION turnbuckle.take_back() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('turnbuckle.attempts') < convert_from(NEW.bytes, 'UTF8')::bigint THEN
        RAISE EXCEPTION 'try again' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER take_back BEFORE INSERT ON turnbuckle.value
    FOR EACH ROW EXECUTE FUNCTION turnbuckle.take_back();
";

#[tokio::test]
async fn a_cut_connection_is_made_again() {
    let engine = Engine::start().await;
    let (store, other) = (engine.store().await, engine.store().await);
    put(&store, "k", "v").await.unwrap();
    let mut subscription = store.subscribe(&key("t")).await.unwrap();
    engine.cut().await;
    assert_eq!(next(&mut subscription).await, TopicEvent::Interrupted);
    assert_eq!(get(&store, "k").await.as_deref(), Some("v"));
    other.publish(&key("t"), "m".into()).await.unwrap();
    assert_eq!(
        next(&mut subscription).await,
        TopicEvent::Message("m".into())
    );
}

#[tokio::test]
async fn state_outlives_a_crash_of_the_server() {
    let mut engine = Engine::start().await;
    let store = engine.store().await;
    put(&store, "k", "v").await.unwrap();
    let mut subscription = store.subscribe(&key("t")).await.unwrap();
    engine.server.stop();
    let gone = put(&store, "k", "w").await.unwrap_err();
    assert_eq!(gone.kind(), StoreErrorKind::Unavailable, "{gone}");
    engine.restart().await;
    assert_eq!(next(&mut subscription).await, TopicEvent::Interrupted);
    let large = vec![b'x'; 60_000];
    store
        .publish(&key("t"), large.clone().into())
        .await
        .unwrap();
    assert_eq!(
        next(&mut subscription).await,
        TopicEvent::Message(large.into())
    );
    assert_eq!(get(&store, "k").await.as_deref(), Some("v"));
}

#[tokio::test]
async fn a_halted_server_fails_in_time_and_goes_on() {
    let engine = Engine::start().await;
    let options = PostgresStoreOptions::new()
        .max_connections(1)
        .statement_timeout(Duration::from_millis(100))
        .connect_timeout(Duration::from_millis(500));
    let store = engine.store_with(options.clone()).await.unwrap();
    put(&store, "k", "v").await.unwrap();
    engine.server.pause();
    let start = Instant::now();
    let halted = put(&store, "k", "w").await.unwrap_err();
    assert_eq!(halted.kind(), StoreErrorKind::TimedOut, "{halted}");
    // The connection was closed, and none can be made.
    let halted = put(&store, "k", "w").await.unwrap_err();
    assert_eq!(halted.kind(), StoreErrorKind::Unavailable, "{halted}");
    let text = halted.to_string();
    assert!(
        text.contains("PostgresStoreOptions::connect_timeout"),
        "{text}"
    );
    assert!(start.elapsed() < Duration::from_secs(10));
    engine.server.resume();
    let again = engine.store_with(options).await.unwrap();
    put(&again, "k", "x").await.unwrap();
    while put(&store, "k", "y").await.is_err() {
        assert!(start.elapsed() < Duration::from_secs(20));
        tokio::task::yield_now().await;
    }
    assert_eq!(get(&again, "k").await.as_deref(), Some("y"));
}

#[tokio::test]
async fn a_halted_connection_that_listens_is_made_again() {
    let engine = Engine::start().await;
    let (store, other) = (engine.store().await, engine.store().await);
    let mut subscription = store.subscribe(&key("t")).await.unwrap();
    engine.server.pause();
    let halted = tokio::time::timeout(Duration::from_secs(20), store.subscribe(&key("u")));
    let halted = halted.await.unwrap().unwrap_err();
    assert_eq!(halted.kind(), StoreErrorKind::TimedOut, "{halted}");
    engine.server.resume();
    assert_eq!(next(&mut subscription).await, TopicEvent::Interrupted);
    other.publish(&key("t"), "m".into()).await.unwrap();
    let event = next(&mut subscription).await;
    assert_eq!(event, TopicEvent::Message("m".into()));
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let missing = format!("host={} user=u", folder.path().display());
    let options = PostgresStoreOptions::new().connect_timeout(Duration::from_millis(100));
    let gone = PostgresStore::connect_with(&missing, options.clone()).await;
    let gone = gone.unwrap_err();
    assert_eq!(gone.kind(), StoreErrorKind::Unavailable, "{gone}");

    let _silent = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
    let silent = PostgresStore::connect_with(&missing, options).await;
    let silent = silent.unwrap_err();
    assert_eq!(silent.kind(), StoreErrorKind::Unavailable, "{silent}");
    let text = silent.to_string();
    assert!(
        text.contains("PostgresStoreOptions::connect_timeout"),
        "{text}"
    );
}

#[tokio::test]
async fn a_read_only_database_is_unavailable_for_changes() {
    let engine = Engine::start().await;
    let options = PostgresStoreOptions::new().max_connections(1);
    let store = engine.store_with(options).await.unwrap();
    put(&store, "k", "v").await.unwrap();
    let set = async |value| {
        let sql = format!("ALTER DATABASE store SET default_transaction_read_only = {value}");
        engine.admin.batch_execute(&sql).await.unwrap();
        engine.cut().await;
    };
    set("on").await;
    // The cut itself may be an error of this one.
    let _ = put(&store, "k", "w").await;
    let refused = put(&store, "k", "w").await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::Unavailable);
    assert!(refused.to_string().contains("read only"), "{refused}");
    assert_eq!(get(&store, "k").await.as_deref(), Some("v"));
    // The database is that of the primary server again: a connection of the standby is not kept.
    let sql = "ALTER DATABASE store SET default_transaction_read_only = off";
    engine.admin.batch_execute(sql).await.unwrap();
    let _ = put(&store, "k", "w").await;
    put(&store, "k", "w").await.unwrap();
}

#[tokio::test]
async fn a_slow_statement_names_its_setting() {
    let engine = Engine::start().await;
    let options = PostgresStoreOptions::new().statement_timeout(Duration::from_millis(50));
    let store = engine.store_with(options).await.unwrap();
    put(&store, "k", "v").await.unwrap();
    let other = engine.client().await;
    let lock = "BEGIN; SELECT 1 FROM turnbuckle.value FOR UPDATE";
    other.batch_execute(lock).await.unwrap();
    let slow = put(&store, "k", "w").await.unwrap_err();
    assert_eq!(slow.kind(), StoreErrorKind::TimedOut);
    let text = slow.to_string();
    assert!(
        text.contains("PostgresStoreOptions::statement_timeout"),
        "{text}"
    );
    // Readers do not wait for writers.
    assert_eq!(get(&store, "k").await.as_deref(), Some("v"));
    other.batch_execute("ROLLBACK").await.unwrap();
    put(&store, "k", "w").await.unwrap();
}

#[tokio::test]
async fn an_operation_that_the_database_takes_back_is_repeated() {
    let engine = Engine::start().await;
    let store = engine.store().await;
    let client = engine.client().await;
    client.batch_execute(TAKE_BACK).await.unwrap();
    put(&store, "k", "3").await.unwrap();
    let refused = put(&store, "l", "1000").await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::Busy, "{refused}");
    let row = client.query_one("SELECT last_value FROM turnbuckle.attempts", &[]);
    assert_eq!(row.await.unwrap().get::<_, i64>(0), 3 + 4);
}

#[tokio::test]
async fn too_many_running_operations_are_refused_by_name() {
    let engine = Engine::start().await;
    let options = PostgresStoreOptions::new().statement_timeout(Duration::from_secs(60));
    let store = engine.store_with(options).await.unwrap();
    put(&store, "k", "v").await.unwrap();
    let other = engine.client().await;
    let lock = "BEGIN; SELECT 1 FROM turnbuckle.value FOR UPDATE";
    other.batch_execute(lock).await.unwrap();
    let mut cx = Context::from_waker(Waker::noop());
    let mut running: Vec<_> = (0..256)
        .map(|_| store.put(&key("k"), "w".into(), Condition::Always, TTL))
        .collect();
    for operation in &mut running {
        assert!(operation.as_mut().poll(&mut cx).is_pending());
    }
    let refused = store.get(&key("k")).await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::Busy, "{refused}");
    // Operations that nobody waits for any more still end.
    running.truncate(2);
    other.batch_execute("ROLLBACK").await.unwrap();
    for operation in running {
        operation.await.unwrap();
    }
    let start = Instant::now();
    while store.get(&key("k")).await.is_err() {
        assert!(start.elapsed() < Duration::from_secs(20));
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn operations_share_the_connections_that_the_database_has_left() {
    let engine = Engine::start().await;
    let sql = "CREATE ROLE guest LOGIN CONNECTION LIMIT 1";
    engine.admin.batch_execute(sql).await.unwrap();
    let owner = engine.client().await;
    let schema = "CREATE SCHEMA turnbuckle AUTHORIZATION guest";
    owner.batch_execute(schema).await.unwrap();
    let address = engine.address().replace("user=turnbuckle", "user=guest");
    let store = PostgresStore::connect(&address).await.unwrap();
    let all: Vec<_> = (0..8)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move { put(&store, &format!("k{number}"), "v").await })
        })
        .collect();
    for one in all {
        one.await.unwrap().unwrap();
    }
    drop(store);
    // The last connection goes with the store.
    let start = Instant::now();
    while let Err(refused) = PostgresStore::connect(&address).await {
        assert_eq!(refused.kind(), StoreErrorKind::Unavailable);
        assert!(refused.to_string().contains("max_connections"), "{refused}");
        assert!(start.elapsed() < Duration::from_secs(20));
    }
    drop(client(&engine.address()).await);
}
