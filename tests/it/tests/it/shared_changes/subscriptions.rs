//! Subscriptions of sessions that their clients make at one instance and read at another: between the two, no
//! change is lost.

use std::time::Duration;

use turnbuckle_it::faulty_store::Fault;
use turnbuckle_it::web::{Session, sessions};
use turnbuckle_store::{MemoryStore, StoreErrorKind};
use turnbuckle_wire::revision::Revision;

use super::streams::{Listener, subscribe, webs};
use super::{BACK, Instance, SOON, TOOLS, UPDATED, instance};

/// The delay of an answer of the store, in which much happens.
const DELAY: Duration = Duration::from_millis(500);

const GONE: Fault = Fault::Error(StoreErrorKind::Unavailable);

/// Opens a session at the first of two instances, and returns them with the session at each.
async fn two(store: &MemoryStore, revision: Revision) -> ([Instance; 2], [Session; 2]) {
    let instances = [instance(store), instance(store)];
    let webs = webs(&instances);
    // The instances have read the log.
    tokio::time::sleep(SOON).await;
    let session = webs[0].open(revision).await;
    let there = session.with_web(&webs[1]);
    (instances, [session, there])
}

#[tokio::test(start_paused = true)]
async fn a_change_before_its_subscription_was_known_is_told_once() {
    for fault in [Fault::Slow(DELAY), Fault::Late(DELAY), GONE] {
        for revision in sessions() {
            let (instances, [here, there]) = two(&MemoryStore::new(), revision).await;
            let mut listener = Listener::open(&here).await;
            listener.methods(SOON).await;
            instances[0].line.fail("get", fault);
            subscribe(&there).await;
            let server = &instances[1].server;
            server.notify_resource_updated("r:1");
            server.notify_resource_updated("r:2");
            server.notify_tools_changed();
            let told = listener.methods(SOON).await;
            assert_eq!(told, [TOOLS], "{revision} {fault:?}");
            tokio::time::sleep(BACK).await;
            instances[0].line.heal();
            let told = listener.methods(BACK).await;
            assert_eq!(told, [UPDATED], "{revision} {fault:?}");
            server.notify_resource_updated("r:1");
            let told = listener.methods(SOON).await;
            assert_eq!(told, [UPDATED], "{revision} {fault:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_subscription_while_a_reader_comes_is_known() {
    for is_known in [false, true] {
        for revision in sessions() {
            let store = MemoryStore::new();
            let (instances, [here, there]) = two(&store, revision).await;
            if is_known {
                crate::cluster::ping(&there).await;
                store.interrupt();
                tokio::time::sleep(SOON).await;
            }
            instances[1].line.fail("get", Fault::Late(DELAY));
            let subscribed = async {
                tokio::time::sleep(DELAY / 2).await;
                subscribe(&here).await;
                instances[1].line.heal();
            };
            let (mut listener, ()) = tokio::join!(Listener::open(&there), subscribed);
            listener.methods(SOON).await;
            instances[0].server.notify_resource_updated("r:1");
            let told = listener.methods(SOON).await;
            assert_eq!(told, [UPDATED], "{revision} {is_known}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_message_about_a_subscription_is_made_up_for() {
    for revision in sessions() {
        let store = MemoryStore::new();
        let (instances, [here, there]) = two(&store, revision).await;
        let mut listener = Listener::open(&here).await;
        listener.methods(SOON).await;
        instances[1].line.fail("publish", GONE);
        subscribe(&there).await;
        instances[1].line.heal();
        instances[1].server.notify_resource_updated("r:1");
        assert_eq!(listener.methods(SOON).await, [""; 0], "{revision}");
        store.interrupt();
        assert_eq!(listener.methods(BACK).await, [UPDATED], "{revision}");
        assert_eq!(listener.methods(BACK).await, [""; 0], "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_before_its_subscription_was_saved_is_told_once() {
    for revision in sessions() {
        let store = MemoryStore::new();
        let (instances, [here, there]) = two(&store, revision).await;
        let mut listener = Listener::open(&here).await;
        listener.methods(SOON).await;
        instances[1].line.fail("put", GONE);
        subscribe(&there).await;
        instances[1].server.notify_resource_updated("r:1");
        assert_eq!(listener.methods(SOON).await, [""; 0], "{revision}");
        // The instance looks at the record, which does not have the subscription yet.
        store.interrupt();
        assert_eq!(listener.methods(SOON).await, [""; 0], "{revision}");
        instances[1].line.heal();
        assert_eq!(listener.methods(BACK).await, [UPDATED], "{revision}");
        assert_eq!(listener.methods(BACK).await, [""; 0], "{revision}");
    }
}
