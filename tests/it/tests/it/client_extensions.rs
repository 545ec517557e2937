//! Requests of extensions that our client sends to scripted peers.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use turnbuckle_it::faults::PeerTransport;
use turnbuckle_it::peer::{Peer, Step};
use turnbuckle_types::{ExtensionRequest, Request};
use turnbuckle_wire::revision::Revision;

use crate::extensions::{ID, Zone};
use crate::own_extensions::{AlarmParams, Stop};

/// A request that is not safe to send again.
struct Stray;

impl Request for Stray {
    const METHOD: &'static str = "clock/stray";
    type Params = Zone;
    type Result = Zone;
}

impl ExtensionRequest for Stray {
    const EXTENSION: &'static str = ID;
}

/// Creates a peer with the extension that breaks off the first request of it and answers the others.
fn breaking(answer: serde_json::Value) -> Peer {
    let broken = AtomicUsize::new(0);
    Peer::new(Revision::NEWEST, move |heard| match heard.method() {
        "server/discover" => Some(vec![heard.answer(json!({
            "resultType": "complete", "supportedVersions": [Revision::NEWEST.as_str()],
            "capabilities": {"extensions": {ID: {}}}, "ttlMs": 0, "cacheScope": "private",
        }))]),
        "clock/stop" | "clock/stray" if broken.fetch_add(1, Ordering::Relaxed) == 0 => {
            Some(vec![Step::Break])
        }
        "clock/stop" | "clock/stray" => Some(vec![heard.answer(answer.clone())]),
        _ => None,
    })
}

#[tokio::test(start_paused = true)]
async fn a_request_of_an_extension_is_sent_again_if_that_is_safe() {
    for transport in [PeerTransport::Lines, PeerTransport::Web] {
        let answer = json!({"resultType": "complete", "alarmId": "a", "zone": "UTC"});
        let peer = breaking(answer.clone());
        let client = transport.connect(&peer).await;
        let alarm = AlarmParams {
            alarm_id: "a".into(),
        };
        let stopped = client.request_extension::<Stop>(alarm).await.unwrap();
        assert_eq!(stopped.alarm_id, "a");
        assert_eq!(peer.messages_of("clock/stop").len(), 2);

        let peer = breaking(answer);
        let client = transport.connect(&peer).await;
        let zone = || Zone { zone: "UTC".into() };
        let sent = client.request_extension::<Stray>(zone()).await;
        let error = sent.map(|_| ()).unwrap_err();
        assert!(error.is_connection_lost(), "{error}");
        assert_eq!(peer.messages_of("clock/stray").len(), 1);
        client.request_extension::<Stray>(zone()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_of_an_extension_is_complete_and_a_mirrored_parameter_is_there() {
    let peer = breaking(json!({"resultType": "task", "zone": "UTC"}));
    let client = PeerTransport::Lines.connect(&peer).await;
    let zone = || Zone { zone: "UTC".into() };
    assert!(
        client.request_extension::<Stray>(zone()).await.is_err(),
        "it breaks off"
    );
    let error = client.request_extension::<Stray>(zone()).await.map(|_| ());
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("`resultType`") && error.contains("task"),
        "{error}"
    );

    /// The parameter has another name on the wire than the header needs.
    struct Nameless;

    impl Request for Nameless {
        const METHOD: &'static str = "clock/stop";
        type Params = Zone;
        type Result = Zone;
    }

    impl ExtensionRequest for Nameless {
        const EXTENSION: &'static str = ID;
        const MIRRORED_PARAM: Option<&'static str> = Some("alarmId");
    }
    let error = client
        .request_extension::<Nameless>(zone())
        .await
        .map(|_| ());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("\"alarmId\" must be there"), "{error}");
    assert!(peer.messages_of("clock/stop").is_empty());
}
