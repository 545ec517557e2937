#![cfg(unix)]

mod faults;
mod garbage;

use std::sync::Mutex;
use std::time::Instant;

use redis::Client;
use redis::aio::MultiplexedConnection;
use turnbuckle_engines::RedisServer;
use turnbuckle_store::TopicEvent;
use turnbuckle_store::contract::{self, ContractBackend, ContractFuture, Fault};

use super::*;
use crate::connector::FORMAT;

const TTL: Duration = Duration::from_secs(60);
const KEEP: Keep = Keep {
    entries: 1000,
    ttl: TTL,
};

/// Lets time pass for every key: what Redis would remove by then goes, and claims end.
const ADVANCE: &str = "
for _, key in ipairs(redis.call('KEYS', '*')) do
  local left = redis.call('PTTL', key)
  if left >= 0 then redis.call('PEXPIRE', key, left - ARGV[1]) end
  if redis.call('TYPE', key).ok == 'zset' then
    for _, id in ipairs(redis.call('ZRANGE', key, '(0', 'inf', 'BYSCORE')) do
      redis.call('ZINCRBY', key, -ARGV[1], id)
    end
  end
end";

/// Counts values, entries of logs and jobs.
const COUNT: &str = "
local count = 0
for _, key in ipairs(redis.call('KEYS', '*')) do
  local kind = redis.call('TYPE', key).ok
  if kind == 'stream' then count = count + redis.call('XLEN', key)
  elseif kind == 'hash' or string.find(key, ':v:') then count = count + 1 end
end
return count";

fn key(text: &str) -> StoreKey {
    StoreKey::new(text).unwrap()
}

fn kind<T>(result: Result<T, StoreError>) -> Option<StoreErrorKind> {
    result.err().map(|error| error.kind())
}

/// The time within which messages arrive, and a lost connection is made again.
const PATIENCE: Duration = Duration::from_secs(20);

async fn next(subscription: &mut Subscription) -> Option<TopicEvent> {
    let next = tokio::time::timeout(PATIENCE, subscription.next());
    next.await.expect("an event arrives")
}

/// A Redis of a test, and a connection of the test to it.
struct Engine {
    server: Mutex<RedisServer>,
    url: String,
    admin: MultiplexedConnection,
    /// Time passes for Redis without waiting.
    is_moved: bool,
}

impl Engine {
    async fn start() -> Self {
        Self::start_with(&[]).await
    }

    async fn start_with(arguments: &[&str]) -> Self {
        let server = RedisServer::start_with(arguments);
        Self {
            url: server.url(),
            admin: connect(&server.url()).await,
            server: Mutex::new(server),
            is_moved: true,
        }
    }

    async fn store(&self) -> RedisStore {
        RedisStore::connect(&self.url).await.unwrap()
    }

    /// Runs a command of the test: words that spaces separate.
    async fn run<T: FromRedisValue>(&self, words: &str) -> T {
        let mut command = redis::Cmd::new();
        for word in words.split(' ') {
            command.arg(word);
        }
        command.query_async(&mut self.admin.clone()).await.unwrap()
    }

    async fn evaluate(&self, script: &str, number: u128) -> u64 {
        let mut eval = cmd("EVAL");
        eval.arg(script).arg(0).arg(number.to_string());
        let result: Option<u64> = eval.query_async(&mut self.admin.clone()).await.unwrap();
        result.unwrap_or_default()
    }

    /// Moves the socket away, or back.
    fn move_socket(&self, is_back: bool) {
        let here = self.server.lock().unwrap().socket();
        let away = here.with_extension("away");
        let (from, to) = if is_back { (away, here) } else { (here, away) };
        std::fs::rename(from, to).unwrap();
    }
}

async fn connect(url: &str) -> MultiplexedConnection {
    let client = Client::open(url).unwrap();
    client.get_multiplexed_async_connection().await.unwrap()
}

impl ContractBackend for Engine {
    fn open(&self) -> StoreFuture<'_, Arc<dyn Store>> {
        Box::pin(async {
            let store = RedisStore::connect(&self.url).await?;
            Ok(Arc::new(store) as Arc<dyn Store>)
        })
    }

    fn advance(&self, time: Duration) -> ContractFuture<'_, ()> {
        Box::pin(async move {
            match self.is_moved {
                true => drop(self.evaluate(ADVANCE, time.as_millis()).await),
                false => tokio::time::sleep(time).await,
            }
        })
    }

    fn remaining(&self) -> StoreFuture<'_, Option<u64>> {
        Box::pin(async { Ok(Some(self.evaluate(COUNT, 0).await)) })
    }

    fn faults(&self) -> &[Fault] {
        &[Fault::Cut, Fault::Full, Fault::NewerVersion]
    }

    fn begin(&self, fault: Fault) -> ContractFuture<'_, ()> {
        Box::pin(async move {
            match fault {
                Fault::Cut => {
                    self.move_socket(false);
                    let _: u64 = self.run("CLIENT KILL SKIPME yes").await;
                }
                Fault::Full => {
                    let memory: String = self.run("INFO memory").await;
                    let used = memory
                        .lines()
                        .find_map(|it| it.strip_prefix("used_memory:"));
                    let most = used.unwrap().parse::<u64>().unwrap() + (4 << 20);
                    let () = self.run(&format!("CONFIG SET maxmemory {most}")).await;
                }
                Fault::NewerVersion => {
                    let newer = FORMAT + 1;
                    let () = self.run(&format!("SET turnbuckle:format {newer}")).await;
                }
                _ => {}
            }
        })
    }

    fn end(&self, fault: Fault) -> ContractFuture<'_, ()> {
        Box::pin(async move {
            match fault {
                Fault::Cut => self.move_socket(true),
                Fault::Full => self.run("CONFIG SET maxmemory 0").await,
                Fault::NewerVersion => self.run(&format!("SET turnbuckle:format {FORMAT}")).await,
                _ => {}
            }
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_in_redis_keeps_every_rule() {
    contract::check(&Engine::start().await).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "by hand: it waits for Redis to remove what has expired"]
async fn a_store_in_redis_keeps_every_rule_in_real_time() {
    let mut engine = Engine::start().await;
    engine.is_moved = false;
    contract::check(&engine).await.unwrap();
}

#[tokio::test]
async fn servers_of_two_prefixes_or_databases_share_one_redis() {
    let engine = Engine::start().await;
    let options = RedisStoreOptions::new().prefix("other");
    let all = [
        engine.store().await,
        RedisStore::connect_with(&engine.url, options)
            .await
            .unwrap(),
        RedisStore::connect(&format!("{}?db=3", engine.url))
            .await
            .unwrap(),
    ];
    let mut subscriptions = Vec::new();
    for (number, store) in all.iter().enumerate() {
        let value = number.to_string();
        let put = store.put(&key("k"), value.into(), Condition::Absent, TTL);
        assert!(put.await.unwrap().is_some(), "{number}");
        subscriptions.push(store.subscribe(&key("k")).await.unwrap());
    }
    for (number, store) in all.iter().enumerate() {
        let value = number.to_string();
        let found = store.get(&key("k")).await.unwrap().unwrap();
        assert_eq!(found.value, value);
        store.publish(&key("k"), value.into()).await.unwrap();
    }
    for (number, subscription) in subscriptions.iter_mut().enumerate() {
        let message = TopicEvent::Message(number.to_string().into());
        assert_eq!(next(subscription).await, Some(message));
    }
    for prefix in ["", "a b", "a{b}", &"p".repeat(65)] {
        let options = RedisStoreOptions::new().prefix(prefix);
        let refused = RedisStore::connect_with(&engine.url, options).await;
        assert_eq!(
            kind(refused),
            Some(StoreErrorKind::Misconfigured),
            "{prefix}"
        );
    }
}

#[tokio::test]
async fn nothing_is_left_after_expiry() {
    let engine = Engine::start().await;
    let store = engine.store().await;
    let ttl = Duration::from_secs(100);
    for number in 0..20 {
        let key = key(&format!("k{number}"));
        store
            .put(&key, "v".into(), Condition::Always, ttl)
            .await
            .unwrap();
        store.touch(vec![key.clone()], ttl).await.unwrap();
        let keep = Keep { entries: 9, ttl };
        store
            .append(&key, AppendAt::End, vec!["e".into()], keep)
            .await
            .unwrap();
        store.push(&key, "j".into(), ttl).await.unwrap();
        store.push(&key, "k".into(), ttl * 2).await.unwrap();
        let claim = store.claim(&key, TTL * 1000).await.unwrap().unwrap();
        assert!(store.extend(&claim, TTL * 2000).await.unwrap());
    }
    engine.advance(ttl + Duration::from_secs(1)).await;
    assert_eq!(engine.run::<String>("GET turnbuckle:format").await, "1");
    engine.advance(ttl * 3).await;
    assert_eq!(engine.run::<u64>("DBSIZE").await, 0);
    // The version of the format comes back with the next write of a longer time to live.
    store
        .put(&key("k"), "v".into(), Condition::Always, ttl * 9)
        .await
        .unwrap();
    assert_eq!(engine.run::<u64>("DBSIZE").await, 2);
}

#[tokio::test]
async fn expired_jobs_neither_hide_others_nor_pile_up() {
    let engine = Engine::start().await;
    let store = engine.store().await;
    let queue = key("q");
    for _ in 0..250 {
        store.push(&queue, "short".into(), TTL / 2).await.unwrap();
    }
    store.push(&queue, "long".into(), TTL).await.unwrap();
    engine.advance(TTL / 2 + Duration::from_secs(1)).await;
    let found = store.claim(&queue, TTL).await.unwrap().unwrap();
    assert_eq!(found.job, "long");
    assert_eq!(engine.run::<u64>("ZCARD turnbuckle:q:{q}").await, 1);

    // Nobody claims, and each job expires before the next one is pushed.
    let queue = key("unclaimed");
    for _ in 0..10 {
        store.push(&queue, "short".into(), TTL / 2).await.unwrap();
        engine.advance(TTL / 2 - Duration::from_secs(1)).await;
        store.push(&queue, "short".into(), TTL / 2).await.unwrap();
        engine.advance(Duration::from_secs(2)).await;
    }
    let ids: u64 = engine.run("ZCARD turnbuckle:q:{unclaimed}").await;
    assert!(ids <= 3, "{ids}");
}

#[tokio::test]
async fn a_store_subscribes_to_all_topics_over_one_connection_and_gives_up_unused_ones() {
    let engine = Engine::start().await;
    let store = engine.store().await;
    let mut subscriptions = Vec::new();
    for number in 0..100 {
        let topic = key(&format!("t{number}"));
        subscriptions.push(store.subscribe(&topic).await.unwrap());
    }
    let clients: String = engine.run("CLIENT LIST TYPE pubsub").await;
    assert_eq!(clients.lines().count(), 1, "{clients}");
    subscriptions.truncate(2);
    let start = Instant::now();
    loop {
        let channels: Vec<String> = engine.run("PUBSUB CHANNELS *").await;
        if channels.len() == 2 {
            break;
        }
        assert!(start.elapsed() < PATIENCE, "{channels:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for (number, subscription) in subscriptions.iter_mut().enumerate() {
        let topic = key(&format!("t{number}"));
        store.publish(&topic, "m".into()).await.unwrap();
        let message = Some(TopicEvent::Message("m".into()));
        assert_eq!(next(subscription).await, message);
    }
    drop(store);
    assert_eq!(subscriptions[0].next().await, None);
}

#[tokio::test]
async fn an_idle_session_costs_at_most_1200_bytes() {
    let engine = Engine::start().await;
    let store = engine.store().await;
    let before: u64 = used_memory(&engine).await;
    const SESSIONS: u64 = 5000;
    for number in 0..SESSIONS {
        // A sealed record under a hashed name.
        let name = key(&format!("{number:043}"));
        let record = vec![7; 400].into();
        store
            .put(&name, record, Condition::Absent, TTL)
            .await
            .unwrap();
    }
    let each = (used_memory(&engine).await - before) / SESSIONS;
    assert!(each <= 1200, "{each} bytes a session");
    let name = format!("turnbuckle:v:{{{:043}}}", 0);
    let value: u64 = engine.run(&format!("MEMORY USAGE {name}")).await;
    println!("{each} bytes of memory a session, {value} of them by MEMORY USAGE");
}

async fn used_memory(engine: &Engine) -> u64 {
    let memory: String = engine.run("INFO memory").await;
    let used = memory
        .lines()
        .find_map(|it| it.strip_prefix("used_memory:"));
    used.unwrap().parse().unwrap()
}
