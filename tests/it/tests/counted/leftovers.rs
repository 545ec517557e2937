//! A thousand rounds of everything that goes wrong, and what is left after them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use turnbuckle_client::{Client, EraPreference};
use turnbuckle_it::peer::{Peer, ReceivedMessage, Step, open_files};
use turnbuckle_wire::revision::Revision;

use super::{Clock, LEGACY, PEER_CASES, PeerTransport, alone, tasks};

const ROUNDS: usize = 1000;

/// Faults by number; a few are none.
fn steps(way: PeerTransport, fault: usize, heard: &ReceivedMessage) -> Vec<Step> {
    let long = Bytes::from(vec![b'x'; 2 << 20]);
    match (fault, way) {
        (0, _) => vec![Step::Hang],
        (1, _) => vec![Step::Break],
        (2, _) => vec![heard.text("once"), heard.text("twice")],
        (3, _) => vec![heard.progress(1), Step::Break],
        (4, _) => vec![Step::Say(
            json!({"jsonrpc": "2.0", "id": "?", "result": {}}),
        )],
        (5, _) => vec![heard.refuse(-32603, "no")],
        (6, PeerTransport::Lines) => vec![Step::Write(long), Step::Write("\n".into())],
        (7, PeerTransport::Lines) => vec![Step::Write("{\"jsonrpc\":\n".into()), Step::Break],
        (6, PeerTransport::Web) => vec![Step::Head(404, Vec::new())],
        (7, PeerTransport::Web) => vec![Step::Head(307, vec![("location", "/mcp".into())])],
        (8, _) => vec![heard.answer(json!([]))],
        (9, _) => vec![
            Step::Say(json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list"})),
            Step::Wait(Duration::from_secs(1)),
            heard.text("slow"),
        ],
        _ => vec![heard.text("sound")],
    }
}

#[test]
fn a_thousand_rounds_leave_nothing() {
    alone(Clock::Paused, async {
        for (way, revision) in PEER_CASES {
            let (tasks_before, files_before) = (tasks(), open_files());
            let token = Arc::new(());
            let peer = Peer::new(revision, move |heard| {
                let fault = heard.message["params"]["name"].as_str()?.parse().ok()?;
                Some(steps(way, fault, heard))
            });
            let mut ended = [0; 2];
            let mut client = connect(way, revision, &peer, &token).await;
            for round in 0..ROUNDS {
                let call = client.call_tool((round % 12).to_string(), &json!({"round": round}));
                let outcome = match round % 7 {
                    // The caller loses patience.
                    6 => tokio::time::timeout(Duration::from_millis(1), call.send()).await,
                    _ => Ok(call.send().await),
                };
                assert_eq!(client.in_flight().requests, 0, "{round}");
                ended[usize::from(matches!(outcome, Ok(Ok(_))))] += 1;
                match round % 50 {
                    24 => client.close().await,
                    49 => {}
                    _ => {
                        // No more than the budget of connections.
                        tokio::time::sleep(Duration::from_secs(13)).await;
                        continue;
                    }
                }
                client = connect(way, revision, &peer, &token).await;
            }
            assert!(
                ended.iter().all(|count| *count > ROUNDS / 5),
                "{way:?} {revision} {ended:?}"
            );
            assert!(tasks() <= tasks_before + 4, "{} tasks stand", tasks());
            client.close().await;
            assert_eq!(client.in_flight(), Default::default());
            drop(client);
            tokio::time::sleep(Duration::from_secs(5)).await;
            let left = (tasks(), peer.open_count(), Arc::strong_count(&token));
            assert_eq!(left, (tasks_before, 0, 1), "{way:?} {revision}");
            assert_eq!(open_files(), files_before, "{way:?} {revision}");
        }
    });
}

/// Connects a client that holds the token for as long as its inner parts live.
async fn connect(way: PeerTransport, revision: Revision, peer: &Peer, token: &Arc<()>) -> Client {
    let token = token.clone();
    let builder = Client::builder("c", "1")
        .era(match revision == LEGACY {
            true => EraPreference::Legacy,
            false => EraPreference::Auto,
        })
        .on_log(move |_| {
            let _held = &token;
        });
    way.connect_by(peer, builder).await
}
