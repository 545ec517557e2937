//! A legacy server that asks: too much, or without waiting for the answer.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_client::{Client, ClientBuilder, FormAnswer};
use turnbuckle_it::peer::{Peer, ReceivedMessage, Step};

use super::{FAULTY, LEGACY, PeerTransport, faulty, text_of};

const ASKED: usize = 1000;

fn question(id: usize) -> Step {
    Step::Say(
        json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": {
        "message": "Well?", "requestedSchema": {"type": "object", "properties": {}}}}),
    )
}

fn ping(id: usize) -> Step {
    Step::Say(json!({"jsonrpc": "2.0", "id": id, "method": "ping"}))
}

fn withdrawn(id: usize) -> Step {
    Step::Say(
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": id}}),
    )
}

/// Returns a client whose user never answers; the token's count is the number of open questions.
fn pondering(token: &Arc<()>) -> ClientBuilder {
    let token = token.clone();
    Client::builder("c", "1")
        .max_concurrent_questions(ASKED)
        .on_form(move |_, _| {
            let token = token.clone();
            async move {
                std::future::pending::<()>().await;
                drop(token);
                FormAnswer::accept(std::iter::empty::<(&str, bool)>())
            }
        })
}

fn standing(token: &Arc<()>) -> usize {
    // One is here, one is the handler's.
    Arc::strong_count(token) - 2
}

fn answers(peer: &Peer) -> Vec<ReceivedMessage> {
    let mut messages = peer.messages();
    messages.retain(|heard| {
        heard.method().is_empty() && !heard.message.is_null() && !heard.id().is_null()
    });
    messages
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_questions_is_refused_by_name_and_pings_are_answered_all_the_same() {
    for way in [PeerTransport::Lines, PeerTransport::Web] {
        let token = Arc::new(());
        let peer = faulty(LEGACY, |heard| {
            let mut steps: Vec<_> = (0..ASKED).map(question).collect();
            steps.push(ping(ASKED));
            steps.push(heard.text("answered"));
            steps
        });
        let client = way.connect_by(&peer, pondering(&token)).await;
        assert_eq!(text_of(&client, FAULTY).await.unwrap(), "answered");
        tokio::time::sleep(Duration::from_secs(1)).await;
        let answers = answers(&peer);
        let (pongs, refused): (Vec<_>, Vec<_>) = answers
            .iter()
            .partition(|heard| heard.message["error"].is_null());
        assert_eq!((pongs.len(), refused.len()), (1, ASKED - 64), "{way:?}");
        assert_eq!(*pongs[0].id(), ASKED);
        for refused in refused {
            let message = refused.message["error"]["message"].as_str().unwrap();
            assert!(message.contains("the limit is 64"), "{message}");
        }
        assert_eq!(
            (client.in_flight().server_requests, standing(&token)),
            (64, 64)
        );
        client.close().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(
            (client.in_flight(), standing(&token)),
            (Default::default(), 0)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_withdrawn_is_dropped_and_not_answered() {
    for way in [PeerTransport::Lines, PeerTransport::Web] {
        let token = Arc::new(());
        let peer = faulty(LEGACY, |heard| {
            let second = Duration::from_secs(1);
            let mut steps = vec![
                question(9),
                Step::Wait(second),
                withdrawn(9),
                Step::Wait(second),
            ];
            // Again, and one that never was.
            steps.extend([withdrawn(9), withdrawn(4711), question(9), withdrawn(9)]);
            steps.push(heard.text("answered"));
            steps
        });
        let client = way.connect_by(&peer, pondering(&token)).await;
        assert_eq!(text_of(&client, FAULTY).await.unwrap(), "answered");
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(
            (client.in_flight(), standing(&token)),
            (Default::default(), 0),
            "{way:?}"
        );
        let answered: Vec<Value> = answers(&peer)
            .into_iter()
            .map(|heard| heard.message)
            .collect();
        assert_eq!(answered, Vec::<Value>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn an_id_that_is_used_twice_at_once_is_refused() {
    for way in [PeerTransport::Lines, PeerTransport::Web] {
        let token = Arc::new(());
        let peer = faulty(LEGACY, |heard| {
            vec![question(9), question(9), heard.text("answered")]
        });
        let client = way.connect_by(&peer, pondering(&token)).await;
        assert_eq!(text_of(&client, FAULTY).await.unwrap(), "answered");
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(standing(&token), 1, "{way:?}");
        let answers = answers(&peer);
        assert_eq!(answers.len(), 1);
        assert!(!answers[0].message["error"].is_null());
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_stands_keeps_the_call_alive_until_its_own_deadline() {
    for way in [PeerTransport::Lines, PeerTransport::Web] {
        let token = Arc::new(());
        let peer = faulty(LEGACY, |_| vec![question(9), Step::Hang]);
        let client = way.connect_by(&peer, pondering(&token)).await;
        let began = tokio::time::Instant::now();
        let error = client.call_tool(FAULTY, &()).await.unwrap_err();
        assert!(super::is_silence(&error), "{error}");
        // Ten minutes for the user, and then the server's own silence.
        let took = began.elapsed();
        assert!(
            (Duration::from_secs(600)..Duration::from_secs(600 + 121)).contains(&took),
            "{took:?}"
        );
        assert_eq!(
            (client.in_flight(), standing(&token)),
            (Default::default(), 0)
        );
        assert!(!answers(&peer)[0].message["error"].is_null());
    }
}
