//! Topics as channels of the database.

use turnbuckle_store::{Store, TopicEvent};

use crate::engine::{Engine, key, next, wait_for};

/// Returns the channel that the store listens to.
const CHANNEL: &str = "SELECT substring(query FROM 'LISTEN (turnbuckle_[0-9a-f]+)')
    FROM pg_stat_activity WHERE datname = 'store' AND query LIKE '%LISTEN turnbuckle%'";

#[tokio::test]
async fn large_messages_leave_nothing() {
    let engine = Engine::start().await;
    let (store, other) = (engine.store().await, engine.store().await);
    let mut subscription = other.subscribe(&key("t")).await.unwrap();
    for length in [0, 5990, 5991, 65_536] {
        let message = vec![b'x'; length];
        store
            .publish(&key("t"), message.clone().into())
            .await
            .unwrap();
        assert_eq!(
            next(&mut subscription).await,
            TopicEvent::Message(message.into())
        );
    }
    let client = engine.client().await;
    let count = "SELECT count(*) FROM turnbuckle.message";
    wait_for(&client, count, 2).await;
    let sql = "UPDATE turnbuckle.message SET expires = now()";
    client.batch_execute(sql).await.unwrap();
    // The next operation wakes the clean-up.
    store.publish(&key("t"), "m".into()).await.unwrap();
    wait_for(&client, count, 0).await;
}

#[tokio::test]
async fn notifications_of_other_programs_are_not_messages() {
    let engine = Engine::start().await;
    let store = engine.store().await;
    let mut subscription = store.subscribe(&key("t")).await.unwrap();
    let client = engine.client().await;
    let channel = engine.admin.query_one(CHANNEL, &[]).await.unwrap();
    let channel: &str = channel.get(0);
    for payload in ["", "hello", "m???", "rx"] {
        let sql = format!("NOTIFY {channel}, '{payload}'");
        client.batch_execute(&sql).await.unwrap();
    }
    store.publish(&key("t"), "m".into()).await.unwrap();
    assert_eq!(
        next(&mut subscription).await,
        TopicEvent::Message("m".into())
    );
    // A message whose row is gone is lost.
    let sql = format!("NOTIFY {channel}, 'r999'");
    client.batch_execute(&sql).await.unwrap();
    assert_eq!(next(&mut subscription).await, TopicEvent::Interrupted);
}

#[tokio::test]
async fn topics_without_subscribers_are_not_listened_to() {
    let engine = Engine::start().await;
    let store = engine.store().await;
    let mut stays = store.subscribe(&key("stays")).await.unwrap();
    drop(store.subscribe(&key("goes")).await.unwrap());
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'UNLISTEN turnbuckle%'";
    wait_for(&engine.admin, sql, 1).await;
    store.publish(&key("stays"), "m".into()).await.unwrap();
    assert_eq!(next(&mut stays).await, TopicEvent::Message("m".into()));
    let mut again = store.subscribe(&key("goes")).await.unwrap();
    store.publish(&key("goes"), "n".into()).await.unwrap();
    assert_eq!(next(&mut again).await, TopicEvent::Message("n".into()));
}

#[tokio::test]
async fn a_dropped_store_closes_its_subscriptions_and_connections() {
    let engine = Engine::start().await;
    let store = engine.store().await;
    let mut subscription = store.subscribe(&key("t")).await.unwrap();
    let clone = store.clone();
    drop(store);
    clone.publish(&key("t"), "m".into()).await.unwrap();
    assert_eq!(
        next(&mut subscription).await,
        TopicEvent::Message("m".into())
    );
    drop(clone);
    assert_eq!(subscription.next().await, None);
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'store'";
    wait_for(&engine.admin, sql, 0).await;
}
