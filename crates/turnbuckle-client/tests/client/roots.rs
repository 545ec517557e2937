//! Notifications of changed roots.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use turnbuckle_client::{Client, EraPreference, Roots};
use turnbuckle_server::Server;
use turnbuckle_session::handler::{Limits, Signal};
use turnbuckle_session::transport::{
    Dispatch, Link, LinkKind, TransportContext, TransportLink, memory_pair, serve,
};
use turnbuckle_types::{RequestParams, Root};
use turnbuckle_wire::revision::Revision;

use crate::scripted_link::ScriptedConnector;

/// Returns a connector that has the server serve each link anew, and the signal that ends the present
/// one.
fn reopening_connector(server: Server) -> (ScriptedConnector, Arc<Mutex<Signal>>) {
    let server: Arc<dyn Dispatch> = server.into();
    let present: Arc<Mutex<Signal>> = Arc::default();
    let opened = present.clone();
    let connector = ScriptedConnector::new(LinkKind::Duplex, move |inbox| {
        let (ours, theirs) = memory_pair();
        let (limits, stop) = (Limits::default(), Signal::new());
        *opened.lock().unwrap() = stop.clone();
        let context = TransportContext::default();
        tokio::spawn(serve(server.clone(), theirs, limits, context, stop));
        Ok(TransportLink::start(ours, inbox, 1 << 16) as Arc<dyn Link>)
    });
    (connector, present)
}

// requirement: d3a6d7509658
#[tokio::test(start_paused = true)]
async fn a_legacy_server_is_notified_of_changed_roots_and_asks_again() {
    for revision in Revision::ALL {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let server = Server::new("s", "1")
            .on_roots_changed(move |peer| {
                let sender = sender.clone();
                async move {
                    let nothing: Option<&RequestParams> = None;
                    let answer = peer.request("roots/list", nothing).await.unwrap();
                    sender
                        .send(serde_json::from_str::<Value>(answer.as_str()).unwrap())
                        .unwrap();
                }
            })
            .build()
            .unwrap();
        let roots = Roots::new();
        let builder = Client::builder("c", "1").roots(roots.clone());
        let builder = builder.era(EraPreference::Only(revision));
        let client = builder
            .connect(reopening_connector(server).0)
            .await
            .unwrap();
        let mut hears = async || {
            let wait = Duration::from_secs(60);
            tokio::time::timeout(wait, receiver.recv())
                .await
                .ok()
                .flatten()
        };
        roots.add(Root::new("file:///a").unwrap()).unwrap();
        let expected = revision.features().server_requests;
        let expected = expected.then(|| json!({"roots": [{"uri": "file:///a"}]}));
        assert_eq!(hears().await, expected, "{revision}");
        // A call that changes nothing is not notified.
        roots.add(Root::new("file:///a").unwrap()).unwrap();
        assert_eq!(hears().await, None);
        client.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn changed_roots_are_notified_once_after_a_reconnect() {
    let changes = Arc::new(AtomicUsize::new(0));
    let counted = changes.clone();
    let server = Server::new("s", "1")
        .on_roots_changed(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            std::future::ready(())
        })
        .build()
        .unwrap();
    let (connector, present) = reopening_connector(server);
    let roots = Roots::new();
    let builder = Client::builder("c", "1").roots(roots.clone());
    let client = builder
        .era(EraPreference::Legacy)
        .connect(connector)
        .await
        .unwrap();
    for round in 1..4 {
        roots
            .add(Root::new(format!("file:///{round}")).unwrap())
            .unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(changes.load(Ordering::Relaxed), round);
        present.lock().unwrap().cancel();
        tokio::time::sleep(Duration::from_secs(1)).await;
        client.ping().await.unwrap();
    }
}
