//! Bad input: ids, records and messages that are not ours.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use serde_json::json;
use sha2::Digest as _;
use turnbuckle_it::web::{Session, Web};
use turnbuckle_store::{
    Condition, MemoryStore, Seal, SealedStore, Store, StoreError, StoreErrorKind, StoreKey,
};
use turnbuckle_types::{DerivedKeys, KeyLabel};
use turnbuckle_wire::revision::Revision;

use super::{instance, keys, ping, two};
use crate::support::principal;

const LEGACY: Revision = Revision::NEWEST_LEGACY;
const HOUR: Duration = Duration::from_secs(3600);

/// The encryption of the servers' store, to look into it and to write to it as they do.
struct ServerSeal(DerivedKeys);

impl Seal for ServerSeal {
    fn overhead(&self) -> usize {
        DerivedKeys::OVERHEAD
    }

    fn seal(&self, context: &[u8], plain: &[u8]) -> Result<Vec<u8>, StoreError> {
        Ok(self.0.seal(context, plain).unwrap())
    }

    fn open(&self, context: &[u8], sealed: &[u8]) -> Result<Vec<u8>, StoreError> {
        let opened = self.0.open(context, sealed);
        opened.ok_or_else(|| StoreError::new(StoreErrorKind::Corrupt, "another seal"))
    }
}

/// Returns the encryption of the servers' store.
pub(crate) fn seal() -> impl Seal {
    ServerSeal(keys().derive(KeyLabel::new("store")))
}

fn record_key(session: &Session) -> StoreKey {
    StoreKey::new(format!("session/{}", session.id)).unwrap()
}

fn with_id(session: &Session, id: &str) -> Session {
    let mut named = session.clone();
    named.id = id.to_owned();
    named
}

#[tokio::test(start_paused = true)]
async fn ids_that_are_not_ours_are_unknown() {
    let (one, two) = two().await;
    let session = one.web.open(LEGACY).await;
    let mut changed = session.id.clone().into_bytes();
    changed[31] = if changed[31] == b'0' { b'1' } else { b'0' };
    let changed = String::from_utf8(changed).unwrap();
    let long = "a".repeat(10_000);
    for id in [
        &changed,
        &long,
        "x",
        "s1.AAAA",
        "../instance/x",
        &session.id.to_uppercase(),
    ] {
        for web in [&one.web, &two.web] {
            let got = with_id(&session, id)
                .with_web(web)
                .request(1, "ping", &json!({}));
            assert_eq!(got.send().await.status, 404, "{id}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_is_its_principal_s_on_every_instance() {
    let (one, two) = two().await;
    let opened = one.web.initialize(LEGACY, json!({}));
    let opened = opened.principal(principal("ann")).send().await;
    let id = opened.header("mcp-session-id").unwrap().to_owned();
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let post = |web: &Web| web.post(ping.clone()).header("mcp-session-id", &id);
    for web in [&two.web, &one.web, &two.web] {
        for stranger in [post(web), post(web).principal(principal("bob"))] {
            assert_eq!(stranger.send().await.status, 404);
        }
        assert_eq!(
            post(web).principal(principal("ann")).send().await.status,
            200
        );
    }
}

#[tokio::test(start_paused = true)]
async fn records_that_cannot_be_read_open_no_session() {
    let store = MemoryStore::new();
    let one = instance(&store).await;
    let session = one.web.open(LEGACY).await;
    let other = one.web.open(LEGACY).await;
    let sealed = SealedStore::new(store.clone(), seal());
    let good = sealed
        .get(&record_key(&session))
        .await
        .unwrap()
        .unwrap()
        .value;
    let mut newer = good.to_vec();
    newer[0] = 200;
    for (record, expected) in [
        (Bytes::from_static(b"\x01garbage"), 404),
        (Bytes::from_static(b"\0"), 404),
        (Bytes::new(), 404),
        (Bytes::from(newer), 503),
        (good, 200),
    ] {
        let put = sealed.put(&record_key(&session), record, Condition::Always, HOUR);
        put.await.unwrap();
        let fresh = instance(&store).await;
        assert_eq!(ping(&session.with_web(&fresh.web)).await.0, expected);
    }
    // What the engine has under one key is moved to another one.
    let engine_key = |session: &Session| {
        let hash = sha2::Sha256::digest(format!("session/{}", session.id));
        StoreKey::new(format!("session/{}", URL_SAFE_NO_PAD.encode(hash))).unwrap()
    };
    let raw = store.get(&engine_key(&other)).await.unwrap();
    let raw = raw.expect("the key of the engine").value;
    let put = store.put(&engine_key(&session), raw, Condition::Always, HOUR);
    put.await.unwrap();
    let fresh = instance(&store).await;
    assert_eq!(ping(&session.with_web(&fresh.web)).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn an_answer_does_not_reach_another_session() {
    let (one, two) = two().await;
    let asked = one.web.open_able(LEGACY, json!({"roots": {}})).await;
    let stranger = one.web.open(LEGACY).await;
    let mut events = asked.call_tool(1, "roots", &json!({})).events().await;
    let question = events.message().await;
    let forged = json!({
        "jsonrpc": "2.0", "id": question["id"], "result": {"roots": [{"uri": "file:///forged"}]},
    });
    for web in [&one.web, &two.web] {
        assert_eq!(
            stranger.with_web(web).post(&forged).send().await.status,
            202
        );
    }
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}});
    assert_eq!(
        asked.with_web(&two.web).post(&answer).send().await.status,
        202
    );
    let text = events.message().await["result"]["content"][0]["text"].to_string();
    assert!(!text.contains("forged"), "{text}");
}
