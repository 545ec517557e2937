use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use turnbuckle_store::{Condition, MemoryStore, StoreKey};

use super::*;
use crate::message::{MessageKind, Received, Receiver};

/// A receiver that keeps what it is sent, and says of some messages that they were not for it.
#[derive(Default)]
struct Inbox(Mutex<Vec<Received>>);

impl Receiver for Inbox {
    fn receive(&self, message: &Received) -> bool {
        self.0.lock().unwrap().push(message.clone());
        message.body != "not for it"
    }
}

impl Inbox {
    fn new(cluster: &Cluster) -> Arc<Self> {
        let inbox = Arc::new(Self::default());
        let weak: Weak<Self> = Arc::downgrade(&inbox);
        cluster.add_receiver(MessageKind::SessionMessage, weak);
        inbox
    }

    fn bodies(&self) -> Vec<Bytes> {
        let received = std::mem::take(&mut *self.0.lock().unwrap());
        received.into_iter().map(|message| message.body).collect()
    }
}

/// Returns two instances on one store.
async fn pair(store: &Arc<MemoryStore>) -> [Arc<Cluster>; 2] {
    let new = || Cluster::new(store.clone()).unwrap();
    let pair = [new(), new()];
    for instance in &pair {
        instance.start();
        instance.ready().await;
    }
    // Both have their leases.
    tokio::time::sleep(Duration::from_millis(1)).await;
    pair
}

const KIND: MessageKind = MessageKind::SessionMessage;

#[tokio::test(start_paused = true)]
async fn messages_arrive_and_are_acknowledged() {
    let store = Arc::new(MemoryStore::new());
    let [one, two] = pair(&store).await;
    let inbox = Inbox::new(&two);
    let to = two.instance().clone();
    assert_ne!(one.instance(), two.instance());
    let big = Bytes::from(vec![b'x'; 3 << 20]);
    for body in [Bytes::from_static(b"small"), big] {
        let delivery = one.send(&to, KIND, body.clone()).await.unwrap();
        assert_eq!(delivery, Delivery::Delivered);
        assert_eq!(inbox.bodies(), [body]);
    }
    let delivery = one.send(&to, KIND, "not for it".into()).await.unwrap();
    assert_eq!(delivery, Delivery::NotThere);
    inbox.bodies();
    one.notify(&to, KIND, "told".into()).await.unwrap();
    one.broadcast(KIND, "to all".into()).await.unwrap();
    two.broadcast(KIND, "own".into()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1)).await;
    // The order of two topics is open.
    let mut bodies = inbox.bodies();
    bodies.sort();
    assert_eq!(bodies, ["to all", "told"], "nobody tells itself");
    let own = two.send(&to, KIND, "here".into()).await.unwrap();
    assert_eq!(
        (own, inbox.bodies()),
        (Delivery::Delivered, vec!["here".into()])
    );
    drop(inbox);
    let delivery = one.send(&to, KIND, "gone".into()).await.unwrap();
    assert_eq!(delivery, Delivery::NotThere);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_ends_is_missed_within_its_lease() {
    let store = Arc::new(MemoryStore::new());
    let [one, two] = pair(&store).await;
    let name = two.instance().clone();
    tokio::time::sleep(3 * LEASE_TTL).await;
    assert!(one.is_alive(&name).await.unwrap(), "it renews its lease");
    drop(two);
    assert_eq!(
        one.send(&name, KIND, "lost".into()).await.unwrap(),
        Delivery::Unanswered
    );
    tokio::time::sleep(LEASE_TTL).await;
    assert!(!one.is_alive(&name).await.unwrap());
    assert_eq!(
        one.send(&name, KIND, "lost".into()).await.unwrap(),
        Delivery::NoInstance
    );
    assert_eq!(
        one.send("nobody00", KIND, "lost".into()).await.unwrap(),
        Delivery::NoInstance
    );
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_stops_is_missed_at_once() {
    let store = Arc::new(MemoryStore::new());
    let [one, two] = pair(&store).await;
    two.stop().await;
    assert!(!one.is_alive(two.instance()).await.unwrap());
    two.stop().await;
    tokio::time::sleep(LEASE_TTL).await;
    let lease = StoreKey::new(format!("instance/{}", two.instance())).unwrap();
    assert_eq!(
        store.get(&lease).await.unwrap(),
        None,
        "it renews nothing more"
    );
}

#[tokio::test(start_paused = true)]
async fn an_instance_ends_with_the_last_server_that_serves_as_it() {
    let store = Arc::new(MemoryStore::new());
    let [one, two] = pair(&store).await;
    two.add_server();
    two.add_server();
    two.remove_server().await;
    assert!(one.is_alive(two.instance()).await.unwrap());
    tokio::time::sleep(Duration::from_secs(1)).await;
    two.remove_server().await;
    assert!(!one.is_alive(two.instance()).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_was_emptied_is_noticed_by_all() {
    let store = Arc::new(MemoryStore::new());
    let [one, two] = pair(&store).await;
    let counts = [one.losses(), two.losses()];
    assert!(!one.was_emptied().await.unwrap(), "it is new");
    let mark = StoreKey::new("mark").unwrap();
    assert!(store.remove(&mark, Condition::Always).await.unwrap());
    assert!(one.was_emptied().await.unwrap());
    tokio::time::sleep(Duration::from_millis(1)).await;
    for losses in counts {
        assert_eq!(losses.count(), 1, "each is told once");
    }
    assert!(two.was_emptied().await.unwrap());
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(
        !one.was_emptied().await.unwrap(),
        "there was time to fill it again"
    );
    let new = Cluster::new(store.clone()).unwrap();
    assert!(!new.was_emptied().await.unwrap(), "it knew no other mark");
}

#[tokio::test(start_paused = true)]
async fn messages_that_are_not_ours_are_dropped() {
    let store = Arc::new(MemoryStore::new());
    let [one, two] = pair(&store).await;
    let inbox = Inbox::new(&two);
    let topic = StoreKey::new("instances").unwrap();
    for garbage in [
        "",
        "garbage",
        "\u{1}\u{3}\u{1}12345678abcdefgh",
        "\u{1}\u{3}\u{9}12345678abcdefgh",
    ] {
        store.publish(&topic, garbage.into()).await.unwrap();
    }
    assert_eq!(
        one.send(two.instance(), KIND, "after".into())
            .await
            .unwrap(),
        Delivery::Delivered
    );
    assert_eq!(inbox.bodies(), ["after"]);
}
