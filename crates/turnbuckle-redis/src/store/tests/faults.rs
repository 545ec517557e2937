//! Redis that cannot be reached, refuses, waits, or has forgotten everything.

use std::io::{Read as _, Write as _};

use super::*;

/// Waits until an operation succeeds again.
async fn recover(store: &RedisStore) {
    let start = Instant::now();
    while store.get(&key("k")).await.is_err() {
        assert!(start.elapsed() < PATIENCE, "no recovery");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn put(store: &RedisStore, value: &str, when: Condition) -> Option<Version> {
    let value = Bytes::copy_from_slice(value.as_bytes());
    store.put(&key("k"), value, when, TTL).await.unwrap()
}

#[tokio::test]
async fn no_redis_is_an_error_with_its_address() {
    let error = RedisStore::connect("unix:/nowhere/redis.sock?pass=hunter2")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    let text = format!("{error} {error:?}");
    assert!(text.contains("/nowhere/redis.sock"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
    for url in [
        "redis://me:hunter2@",
        "http://me:hunter2@host/",
        "redis://me:hunter2@host/nine",
        "redis://me:hunter2@host:99999/",
        "hunter2",
        "",
    ] {
        let error = RedisStore::connect(url).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Misconfigured, "{url}");
        let text = format!("{error} {error:?}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[cfg(not(feature = "tls"))]
#[tokio::test]
async fn tls_without_its_feature_is_refused_by_name() {
    let error = RedisStore::connect("rediss://127.0.0.1/")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Misconfigured);
    assert!(error.to_string().contains("tls"), "{error}");
}

#[tokio::test]
async fn what_never_answers_is_given_up_and_what_is_no_redis_is_refused() {
    let folder = std::env::temp_dir().join(format!("turnbuckle-redis-{}", std::process::id()));
    let _ = std::fs::remove_file(&folder);
    let listener = std::os::unix::net::UnixListener::bind(&folder).unwrap();
    let url = format!("unix:{}", folder.display());
    let options = RedisStoreOptions::new().connect_timeout(Duration::from_millis(50));
    let silent = RedisStore::connect_with(&url, options).await.unwrap_err();
    assert_eq!(silent.kind(), StoreErrorKind::Unavailable);
    assert!(silent.to_string().contains("connect_timeout"), "{silent}");

    let answers = [
        ("HTTP/1.1 400 Bad Request\r\n\r\n", StoreErrorKind::Corrupt),
        (
            "-ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'default' 'hunter2'\r\n",
            StoreErrorKind::Misconfigured,
        ),
    ];
    let server = std::thread::spawn(move || {
        // The first connection is the one that was given up.
        drop(listener.accept().unwrap());
        for (answer, _) in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            assert!(stream.read(&mut request).unwrap() > 0);
            stream.write_all(answer.repeat(9).as_bytes()).unwrap();
            while stream.read(&mut request).is_ok_and(|count| count > 0) {}
        }
    });
    for (answer, expected) in answers {
        let url = format!("{url}?pass=hunter2");
        let refused = RedisStore::connect(&url).await.unwrap_err();
        let text = format!("{refused} {refused:?}");
        assert!(!text.contains("hunter2"), "{text}");
        assert_eq!(refused.kind(), expected, "{answer}: {text}");
    }
    server.join().unwrap();
    std::fs::remove_file(&folder).unwrap();
}

#[tokio::test]
async fn a_refused_login_is_misconfigured_and_no_secret_is_shown() {
    let engine = RedisServer::start_with(&["--requirepass", "correct-horse"]);
    for (login, is_right) in [
        ("", false),
        ("?pass=hunter2", false),
        ("?pass=correct-horse", true),
    ] {
        let url = format!("{}{login}", engine.url());
        let opened = RedisStore::connect(&url).await;
        let text = match &opened {
            Ok(store) => format!("{store:?}"),
            Err(error) => format!("{error} {error:?}"),
        };
        assert_eq!(opened.is_ok(), is_right, "{text}");
        assert!(
            !text.contains("hunter2") && !text.contains("horse"),
            "{text}"
        );
        if !is_right {
            assert_eq!(kind(opened), Some(StoreErrorKind::Misconfigured), "{text}");
        }
    }
    let url = format!("{}?pass=correct-horse", engine.url());
    let store = RedisStore::connect(&url).await.unwrap();
    let mut admin = connect(&url).await;
    let mut rights = cmd("ACL");
    rights.arg("SETUSER").arg("default").arg("-set");
    rights.exec_async(&mut admin).await.unwrap();
    let refused = store
        .put(&key("k"), "v".into(), Condition::Always, TTL)
        .await;
    assert_eq!(kind(refused), Some(StoreErrorKind::Misconfigured));
}

/// The rights that the guide names.
const RIGHTS: &str = "~turnbuckle:* &turnbuckle:* +@read +@write +@scripting +@pubsub +@connection \
                      +info +time";

#[tokio::test]
async fn a_user_needs_the_rights_that_the_guide_names() {
    let engine = Engine::start().await;
    let user = format!("ACL SETUSER mcp on >word {RIGHTS}");
    let () = engine.run(&user).await;
    let url = format!("{}?user=mcp&pass=word", engine.url);
    let store = RedisStore::connect(&url).await.unwrap();
    let k = key("k");
    let mut subscription = store.subscribe(&k).await.unwrap();
    let version = put(&store, "v", Condition::Absent).await.unwrap();
    put(&store, "w", Condition::Version(version)).await.unwrap();
    store.touch(vec![k.clone()], TTL).await.unwrap();
    store
        .append(&k, AppendAt::End, vec!["e".into()], KEEP)
        .await
        .unwrap();
    store
        .read(&k, Position(0), ReadLimit::default())
        .await
        .unwrap();
    store.push(&k, "j".into(), TTL).await.unwrap();
    let claim = store.claim(&k, TTL).await.unwrap().unwrap();
    assert!(store.complete(claim).await.unwrap());
    store.publish(&k, "m".into()).await.unwrap();
    assert!(next(&mut subscription).await.is_some());
    assert!(store.remove(&k, Condition::Always).await.unwrap());

    let options = RedisStoreOptions::new().prefix("other");
    let refused = RedisStore::connect_with(&url, options).await;
    assert_eq!(kind(refused), Some(StoreErrorKind::Misconfigured));
}

#[tokio::test]
async fn a_replica_is_read_and_cannot_be_written() {
    let engine = Engine::start().await;
    let store = engine.store().await;
    put(&store, "v", Condition::Always).await;
    let () = engine.run("REPLICAOF 127.0.0.1 1").await;
    let error = store
        .put(&key("k"), "w".into(), Condition::Always, TTL)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    assert!(error.to_string().contains("replica"), "{error}");
    let append = store.append(&key("k"), AppendAt::End, vec!["e".into()], KEEP);
    assert_eq!(kind(append.await), Some(StoreErrorKind::Unavailable));
    assert_eq!(store.get(&key("k")).await.unwrap().unwrap().value, "v");
    assert_eq!(store.claim(&key("k"), TTL).await.unwrap(), None);
    let () = engine.run("REPLICAOF NO ONE").await;
    put(&store, "w", Condition::Always).await.unwrap();

    let () = engine.run("CONFIG SET min-replicas-to-write 1").await;
    let error = store.push(&key("k"), "j".into(), TTL).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    assert!(error.to_string().contains("min-replicas"), "{error}");
}

#[tokio::test]
async fn after_a_restart_without_data_no_version_and_no_claim_comes_back() {
    let engine = Engine::start().await;
    let store = engine.store().await;
    let old = put(&store, "v", Condition::Always).await.unwrap();
    store.push(&key("k"), "old".into(), TTL).await.unwrap();
    let claim = store.claim(&key("k"), TTL).await.unwrap().unwrap();
    let mut subscription = store.subscribe(&key("k")).await.unwrap();
    {
        let mut server = engine.server.lock().unwrap();
        server.stop();
        server.run();
    }
    recover(&store).await;
    assert_eq!(next(&mut subscription).await, Some(TopicEvent::Interrupted));
    store.publish(&key("k"), "m".into()).await.unwrap();
    let message = Some(TopicEvent::Message("m".into()));
    assert_eq!(next(&mut subscription).await, message);

    assert_eq!(store.get(&key("k")).await.unwrap(), None);
    assert_eq!(put(&store, "x", Condition::Version(old)).await, None);
    // Another store begins at a number of its own.
    let other = engine.store().await;
    for store in [&store, &other] {
        let new = put(store, "v", Condition::Always).await.unwrap();
        assert_ne!(new, old);
        assert_eq!(put(store, "x", Condition::Version(old)).await, None);
    }
    store.push(&key("k"), "new".into(), TTL).await.unwrap();
    let new = store.claim(&key("k"), TTL).await.unwrap().unwrap();
    assert!(!store.complete(claim.clone()).await.unwrap());
    assert!(!store.extend(&claim, TTL).await.unwrap());
    assert!(store.complete(new).await.unwrap());
    let format = connect(&engine.url).await;
    let format: u64 = cmd("GET")
        .arg("turnbuckle:format")
        .query_async(&mut format.clone())
        .await
        .unwrap();
    assert_eq!(format, FORMAT);
}

#[tokio::test]
async fn a_halted_redis_is_given_up_in_time_and_used_again_later() {
    let engine = Engine::start().await;
    let options = RedisStoreOptions::new()
        .connect_timeout(Duration::from_millis(250))
        .response_timeout(Duration::from_millis(250));
    let store = RedisStore::connect_with(&engine.url, options)
        .await
        .unwrap();
    put(&store, "v", Condition::Always).await;
    let mut subscription = store.subscribe(&key("k")).await.unwrap();

    engine.server.lock().unwrap().process().pause();
    for _ in 0..3 {
        let start = Instant::now();
        let error = store.get(&key("k")).await.unwrap_err();
        let kinds = [StoreErrorKind::TimedOut, StoreErrorKind::Unavailable];
        assert!(kinds.contains(&error.kind()), "{error}");
        let error = store.subscribe(&key("new")).await.unwrap_err();
        assert!(kinds.contains(&error.kind()), "{error}");
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "{:?}",
            start.elapsed()
        );
    }
    // They wait for the same attempt to connect, not for one after the other.
    let start = Instant::now();
    let all: Vec<_> = (0..40)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { kind(store.get(&key("k")).await) })
        })
        .collect();
    for one in all {
        assert_eq!(one.await.unwrap(), Some(StoreErrorKind::Unavailable));
    }
    let all = start.elapsed();
    assert!(all < Duration::from_secs(5), "{all:?}");

    engine.server.lock().unwrap().process().resume();
    recover(&store).await;
    assert_eq!(store.get(&key("k")).await.unwrap().unwrap().value, "v");
    assert_eq!(next(&mut subscription).await, Some(TopicEvent::Interrupted));
    store.publish(&key("k"), "m".into()).await.unwrap();
    let message = Some(TopicEvent::Message("m".into()));
    assert_eq!(next(&mut subscription).await, message);
}

#[tokio::test]
async fn a_redis_that_pauses_its_clients_is_waited_for() {
    let engine = Engine::start().await;
    let store = engine.store().await;
    let () = engine.run("CLIENT PAUSE 200 ALL").await;
    put(&store, "v", Condition::Always).await.unwrap();

    let options = RedisStoreOptions::new().response_timeout(Duration::from_millis(200));
    let store = RedisStore::connect_with(&engine.url, options)
        .await
        .unwrap();
    let () = engine.run("CLIENT PAUSE 1000 ALL").await;
    let error = store.get(&key("k")).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::TimedOut);
    assert!(error.to_string().contains("response_timeout"), "{error}");
    recover(&store).await;
}

#[tokio::test]
async fn operations_at_once_share_one_attempt_to_connect() {
    let engine = Engine::start().await;
    let store = engine.store().await;
    let _: u64 = engine.run("CLIENT KILL SKIPME yes").await;
    let all: Vec<_> = (0..20)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.get(&key("k")).await })
        })
        .collect();
    for one in all {
        one.await.unwrap().unwrap();
    }
    let clients: String = engine.run("CLIENT LIST TYPE normal").await;
    assert_eq!(
        clients.lines().count(),
        2,
        "the test and the store: {clients}"
    );
}
