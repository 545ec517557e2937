//! Roles, rights and schemas.

use turnbuckle_postgres::{PostgresStore, PostgresStoreOptions};
use turnbuckle_store::{Store, StoreErrorKind, TopicEvent};

use crate::engine::{Engine, get, key, next, put};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_instances_may_start_at_once() {
    let engine = Engine::start().await;
    let address = engine.address();
    let all: Vec<_> = (0..10)
        .map(|_| {
            let address = address.clone();
            tokio::spawn(async move { PostgresStore::connect(&address).await })
        })
        .collect();
    let mut stores = Vec::new();
    for one in all {
        stores.push(one.await.unwrap().unwrap());
    }
    put(&stores[0], "k", "v").await.unwrap();
    assert_eq!(get(&stores[9], "k").await.as_deref(), Some("v"));
}

#[tokio::test]
async fn a_role_without_the_right_is_told_what_to_do() {
    let engine = Engine::start().await;
    let sql = "CREATE ROLE guest LOGIN";
    engine.admin.batch_execute(sql).await.unwrap();
    let address = engine.address().replace("user=turnbuckle", "user=guest");
    let refused = PostgresStore::connect(&address).await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::Misconfigured);
    assert!(refused.to_string().contains("CREATE SCHEMA"), "{refused}");

    // As the text says.
    let schema = "CREATE SCHEMA turnbuckle AUTHORIZATION guest";
    engine.client().await.batch_execute(schema).await.unwrap();
    let store = PostgresStore::connect(&address).await.unwrap();
    put(&store, "k", "v").await.unwrap();

    // A schema of somebody else.
    let sql = "CREATE ROLE stranger LOGIN";
    engine.admin.batch_execute(sql).await.unwrap();
    let address = engine.address().replace("user=turnbuckle", "user=stranger");
    let refused = PostgresStore::connect(&address).await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::Misconfigured, "{refused}");
}

#[tokio::test]
async fn a_wrong_password_is_not_shown() {
    let engine = Engine::start().await;
    let sql = "CREATE ROLE guest LOGIN SUPERUSER PASSWORD 'right-hush'";
    engine.admin.batch_execute(sql).await.unwrap();
    let file = engine.admin.query_one("SHOW hba_file", &[]).await.unwrap();
    let rules = format!(
        "COPY (SELECT unnest(ARRAY['local all guest scram-sha-256', 'local all all trust'])) TO '{}';
         SELECT pg_reload_conf()",
        file.get::<_, &str>(0)
    );
    engine.admin.batch_execute(&rules).await.unwrap();
    let address = |password: &str| {
        let user = format!("user=guest password={password}");
        engine.address().replace("user=turnbuckle", &user)
    };
    let wrong = PostgresStore::connect(&address("wrong-hush"))
        .await
        .unwrap_err();
    assert_eq!(wrong.kind(), StoreErrorKind::Misconfigured, "{wrong}");
    assert!(!format!("{wrong} {wrong:?}").contains("hush"), "{wrong:?}");
    let none = address("x").replace("password=x", "");
    let none = PostgresStore::connect(&none).await.unwrap_err();
    assert_eq!(none.kind(), StoreErrorKind::Misconfigured, "{none}");
    let store = PostgresStore::connect(&address("right-hush"))
        .await
        .unwrap();
    assert!(!format!("{store:?}").contains("hush"), "{store:?}");
}

#[tokio::test]
async fn databases_and_roles_that_are_not_there_are_misconfigured() {
    let engine = Engine::start().await;
    for (is, should_be) in [
        ("dbname=store", "dbname=none"),
        ("user=turnbuckle", "user=none"),
    ] {
        let address = engine.address().replace(is, should_be);
        let refused = PostgresStore::connect(&address).await.unwrap_err();
        assert_eq!(refused.kind(), StoreErrorKind::Misconfigured, "{refused}");
    }
}

#[tokio::test]
async fn stores_with_schemas_of_their_own_share_nothing() {
    let engine = Engine::start().await;
    let with = async |name: &str| {
        let options = PostgresStoreOptions::new().schema(name);
        engine.store_with(options).await
    };
    let (one, two) = (with("one").await.unwrap(), with("two").await.unwrap());
    put(&one, "k", "v").await.unwrap();
    assert_eq!(get(&two, "k").await, None);
    let mut subscription = two.subscribe(&key("t")).await.unwrap();
    one.publish(&key("t"), "of one".into()).await.unwrap();
    two.publish(&key("t"), "of two".into()).await.unwrap();
    let event = next(&mut subscription).await;
    assert_eq!(event, TopicEvent::Message("of two".into()));

    let long = "x".repeat(64);
    for name in ["", "1a", "A", "a b", "a\"; DROP SCHEMA one; --", "é", &long] {
        let refused = with(name).await.unwrap_err();
        assert_eq!(refused.kind(), StoreErrorKind::Misconfigured, "{name}");
        assert!(refused.to_string().contains("PostgresStoreOptions::schema"));
    }
    with(&"x".repeat(63)).await.unwrap();
}
