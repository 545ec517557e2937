use turnbuckle_types::{DerivedKeys, KeyLabel, KeyRing, SecretKey};

use super::*;
use crate::contract::{self, ContractBackend, ContractFuture};
use crate::{MemoryStore, TopicEvent};

const TTL: Duration = Duration::from_secs(60);

/// The keys of the server, as the server itself uses them.
#[derive(Clone)]
struct Keys(DerivedKeys);

impl Seal for Keys {
    fn overhead(&self) -> usize {
        DerivedKeys::OVERHEAD
    }

    fn seal(&self, context: &[u8], plain: &[u8]) -> Result<Vec<u8>, StoreError> {
        Ok(self.0.seal(context, plain).unwrap())
    }

    fn open(&self, context: &[u8], sealed: &[u8]) -> Result<Vec<u8>, StoreError> {
        let kind = match self.0.has_key_of(sealed) {
            true => StoreErrorKind::Corrupt,
            false => StoreErrorKind::UnknownKey,
        };
        let error = || StoreError::new(kind, "it does not open");
        self.0.open(context, sealed).ok_or_else(error)
    }
}

fn keys(number: u8) -> KeyRing {
    KeyRing::new(SecretKey::from_bytes([number; 32]))
}

fn seal_store(engine: &MemoryStore, ring: &KeyRing) -> SealedStore<MemoryStore> {
    let keys = ring.derive(KeyLabel::new("store"));
    SealedStore::new(engine.clone(), Keys(keys))
}

fn key(text: &str) -> StoreKey {
    StoreKey::new(text).unwrap()
}

fn kind<T>(result: Result<T, StoreError>) -> Option<StoreErrorKind> {
    result.err().map(|error| error.kind())
}

struct Backend(MemoryStore);

impl ContractBackend for Backend {
    fn open(&self) -> StoreFuture<'_, Arc<dyn Store>> {
        Box::pin(async { Ok(Arc::new(seal_store(&self.0, &keys(1))) as Arc<dyn Store>) })
    }

    fn advance(&self, time: Duration) -> ContractFuture<'_, ()> {
        Box::pin(tokio::time::advance(time))
    }

    fn overhead(&self) -> usize {
        DerivedKeys::OVERHEAD
    }

    fn remaining(&self) -> StoreFuture<'_, Option<u64>> {
        Box::pin(async { Ok(Some(self.0.len() as u64)) })
    }
}

#[tokio::test(start_paused = true)]
async fn a_sealed_store_keeps_the_rules_of_stores() {
    contract::check(&Backend(MemoryStore::new())).await.unwrap();
}

const SECRET: &str = "the secret of somebody";

async fn put(store: &SealedStore<MemoryStore>, key: &StoreKey) {
    let put = store.put(key, SECRET.into(), Condition::Always, TTL);
    put.await.unwrap().unwrap();
}

/// Returns the bytes of a value in the engine.
async fn read_engine(engine: &MemoryStore, key: &StoreKey) -> Vec<u8> {
    let found = engine.get(&hashed_key(key).unwrap()).await.unwrap();
    found.unwrap().value.to_vec()
}

async fn overwrite(engine: &MemoryStore, key: &StoreKey, bytes: Vec<u8>) {
    let hashed = hashed_key(key).unwrap();
    let put = engine.put(&hashed, bytes.into(), Condition::Always, TTL);
    put.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_engine_sees_neither_contents_nor_names() {
    let engine = MemoryStore::new();
    let (key, short) = (key("session/0123456789abcdef"), key("short"));
    let store = seal_store(&engine, &keys(1));
    put(&store, &key).await;
    put(&store, &short).await;
    assert_eq!(engine.get(&key).await.unwrap(), None);
    assert_eq!(engine.get(&short).await.unwrap(), None);
    let (one, two) = (
        read_engine(&engine, &key).await,
        read_engine(&engine, &short).await,
    );
    assert_ne!(one[DerivedKeys::OVERHEAD..], two[DerivedKeys::OVERHEAD..]);
    let shown = String::from_utf8_lossy(&one).into_owned();
    assert!(!shown.contains("secret") && !shown.contains("0123456789"));

    // Operators see what takes the room.
    let hashed = hashed_key(&key).unwrap();
    assert!(hashed.as_str().starts_with("session/"));
    assert!(!hashed.as_str().contains("0123456789"));
    let long = StoreKey::new(format!("{}/x", "p".repeat(200))).unwrap();
    assert_eq!(hashed_key(&long).unwrap().as_str().len(), 43);
}

#[tokio::test(start_paused = true)]
async fn every_changed_byte_is_noticed() {
    let engine = MemoryStore::new();
    let key = key("session/1");
    let store = seal_store(&engine, &keys(1));
    put(&store, &key).await;
    let whole = read_engine(&engine, &key).await;
    assert_eq!(whole.len(), SECRET.len() + DerivedKeys::OVERHEAD);
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        overwrite(&engine, &key, changed).await;
        // The version and the id of the key stand before the nonce.
        let expected = match at {
            0..5 => StoreErrorKind::UnknownKey,
            _ => StoreErrorKind::Corrupt,
        };
        assert_eq!(kind(store.get(&key).await), Some(expected), "byte {at}");
    }
    for length in 0..whole.len() {
        overwrite(&engine, &key, whole[..length].to_vec()).await;
        assert!(store.get(&key).await.is_err(), "{length} bytes");
    }
    let longer = [&whole[..], &[0]].concat();
    overwrite(&engine, &key, longer).await;
    assert_eq!(kind(store.get(&key).await), Some(StoreErrorKind::Corrupt));
    overwrite(&engine, &key, whole).await;
    assert_eq!(store.get(&key).await.unwrap().unwrap().value, SECRET);
}

#[tokio::test(start_paused = true)]
async fn what_was_moved_does_not_open() {
    let engine = MemoryStore::new();
    let (mine, yours) = (key("session/mine"), key("session/yours"));
    let store = seal_store(&engine, &keys(1));
    put(&store, &mine).await;
    let bytes = read_engine(&engine, &mine).await;
    overwrite(&engine, &yours, bytes.clone()).await;
    assert_eq!(kind(store.get(&yours).await), Some(StoreErrorKind::Corrupt));

    // A value is no entry, message or job of the same key.
    let hashed = hashed_key(&mine).unwrap();
    let bytes = Bytes::from(bytes);
    let keep = Keep {
        entries: 1,
        ttl: TTL,
    };
    let entries = vec![bytes.clone()];
    engine
        .append(&hashed, AppendAt::End, entries, keep)
        .await
        .unwrap();
    let read = store.read(&mine, Position(0), ReadLimit::default()).await;
    assert_eq!(kind(read), Some(StoreErrorKind::Corrupt));
    engine.push(&hashed, bytes.clone(), TTL).await.unwrap();
    let claimed = store.claim(&mine, TTL).await;
    assert_eq!(kind(claimed), Some(StoreErrorKind::Corrupt));
    let mut subscription = store.subscribe(&mine).await.unwrap();
    engine.publish(&hashed, bytes).await.unwrap();
    assert_eq!(subscription.next().await, Some(TopicEvent::Interrupted));
    store.publish(&mine, SECRET.into()).await.unwrap();
    let message = TopicEvent::Message(SECRET.into());
    assert_eq!(subscription.next().await, Some(message));
}

#[tokio::test(start_paused = true)]
async fn a_key_is_replaced_without_losing_anything() {
    let engine = MemoryStore::new();
    let key = key("session/1");
    put(&seal_store(&engine, &keys(1)), &key).await;

    let both = keys(2).with_previous(SecretKey::from_bytes([1; 32]));
    let store = seal_store(&engine, &both);
    assert_eq!(store.get(&key).await.unwrap().unwrap().value, SECRET);
    let other = seal_store(&engine, &keys(2));
    assert_eq!(
        kind(other.get(&key).await),
        Some(StoreErrorKind::UnknownKey)
    );
    // Names do not depend on the keys, so that conditions hold across them.
    let again = other.put(&key, SECRET.into(), Condition::Absent, TTL).await;
    assert_eq!(again.unwrap(), None);
    put(&store, &key).await;
    assert_eq!(other.get(&key).await.unwrap().unwrap().value, SECRET);
}
