//! Tests of the `tickets` server, with an API in the process of the test.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use serde_json::{Value, json};
use turnbuckle::client::EraPreference;

use crate::harness::{Example, Transport, client_builder, data, read, text, with_timeout};

/// An API with one ticket, and the number of searches that it answered.
#[derive(Clone, Default)]
struct Tracker(Arc<AtomicUsize>);

impl Tracker {
    /// Serves the API, and returns the example that uses it with a token.
    async fn start(&self, token: &str) -> Example {
        let router = Router::new()
            .route("/api/tickets", get(search).post(create))
            .route("/api/tickets/{id}", get(ticket))
            .route("/api/tickets/{id}/comments", post(comment))
            .with_state(self.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/api", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Example::new(env!("CARGO_BIN_EXE_tickets"))
            .arg(url)
            .arg(format!("--token={token}"))
    }
}

type Answer = (StatusCode, String);

fn answer(headers: &HeaderMap, status: StatusCode, value: Value) -> Answer {
    if headers
        .get("authorization")
        .is_none_or(|token| token != "Bearer right")
    {
        return (
            StatusCode::UNAUTHORIZED,
            "internal-host-7 refuses it".to_owned(),
        );
    }
    (status, value.to_string())
}

async fn search(
    State(tracker): State<Tracker>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answer {
    tracker.0.fetch_add(1, Ordering::Relaxed);
    assert_eq!(query.as_deref(), Some("text=a+%26+b&page=1"));
    let tickets = json!([{ "id": 7, "title": "It is red" }]);
    answer(
        &headers,
        StatusCode::OK,
        json!({ "tickets": tickets, "next": null }),
    )
}

async fn create(headers: HeaderMap, body: Bytes) -> Answer {
    let body: Value = serde_json::from_slice(&body).unwrap();
    match body["title"].as_str() {
        Some("busy") => answer(&headers, StatusCode::TOO_MANY_REQUESTS, Value::Null),
        Some("broken") => answer(
            &headers,
            StatusCode::INTERNAL_SERVER_ERROR,
            json!("at internal-host-7"),
        ),
        Some("rude") => answer(
            &headers,
            StatusCode::UNPROCESSABLE_ENTITY,
            json!("no such words"),
        ),
        title => answer(
            &headers,
            StatusCode::CREATED,
            json!({ "id": 8, "title": title }),
        ),
    }
}

async fn ticket(Path(id): Path<u64>, headers: HeaderMap) -> Answer {
    let comment = json!({ "author": "ada", "text": "Is it?" });
    match id {
        7 => answer(
            &headers,
            StatusCode::OK,
            json!({ "title": "It is red", "body": "Should be blue.", "comments": [comment] }),
        ),
        _ => answer(&headers, StatusCode::NOT_FOUND, Value::Null),
    }
}

async fn comment(path: Path<u64>, headers: HeaderMap) -> Answer {
    ticket(path, headers).await
}

#[tokio::test]
async fn tickets_are_found_read_and_changed_in_every_revision() {
    with_timeout(async {
        let example = Tracker::default().start("right").await;
        for transport in Transport::all() {
            let (client, _process) = example.connect(transport, client_builder()).await;
            let found = client
                .call_tool("search", &json!({ "text": "a & b" }))
                .await
                .unwrap();
            assert_eq!(data(&found)["tickets"][0]["id"], 7, "{transport:?}");
            let contents = client.read_resource("tickets://7").await.unwrap();
            let page = "# It is red\n\nShould be blue.\n\n## ada\n\nIs it?\n";
            assert_eq!(read(&contents), (page, Some("text/markdown")));
            let created = client
                .call_tool("create", &json!({ "title": "New" }))
                .await
                .unwrap();
            assert_eq!(data(&created), json!({ "id": 8, "title": "New" }));
            let said = json!({ "id": 7, "text": "No." });
            let said = client.call_tool("comment", &said).await.unwrap();
            assert_eq!(text(&said), "the comment stands on ticket 7");
            let prompt = client.get_prompt("triage", [("id", "7")]).await.unwrap();
            let prompt = serde_json::to_string(&prompt).unwrap();
            assert!(prompt.contains("Should be blue."), "{prompt}");
            client.close().await;
        }
    })
    .await;
}

#[tokio::test]
async fn clients_read_the_public_part_of_an_error_only() {
    with_timeout(async {
        let (right, wrong) = (Tracker::default(), Tracker::default());
        let (right, wrong) = (right.start("right").await, wrong.start("wrong").await);
        let modern = Transport::Http(EraPreference::Modern);
        let (client, _process) = right.connect(modern, client_builder()).await;
        for (title, said) in [
            ("busy", "the tracker is busy; try again in a minute"),
            ("rude", "the tracker refused it: \"no such words\""),
        ] {
            let refused = client
                .call_tool("create", &json!({ "title": title }))
                .await
                .unwrap();
            assert_eq!((refused.is_error(), text(&refused)), (true, said));
        }
        let missing = json!({ "id": 9, "text": "?" });
        let missing = client.call_tool("comment", &missing).await.unwrap();
        assert_eq!(
            text(&missing),
            "there is no such ticket; `search` finds tickets"
        );

        let broken = client
            .call_tool("create", &json!({ "title": "broken" }))
            .await
            .unwrap();
        let (stranger, _process) = wrong.connect(modern, client_builder()).await;
        let refused = stranger
            .call_tool("create", &json!({ "title": "x" }))
            .await
            .unwrap();
        for hidden in [broken, refused] {
            assert!(hidden.is_error());
            let said = text(&hidden);
            assert!(
                !said.contains("internal-host-7") && !said.contains("tracker"),
                "{said}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn a_search_that_a_client_repeats_reaches_the_api_once() {
    with_timeout(async {
        let tracker = Tracker::default();
        let example = tracker.start("right").await;
        let newest = Transport::newest()[0];
        let (client, _process) = example.connect(newest, client_builder()).await;
        for _ in 0..3 {
            client
                .call_tool("search", &json!({ "text": "a & b" }))
                .await
                .unwrap();
        }
        assert_eq!(tracker.0.load(Ordering::Relaxed), 1);
    })
    .await;
}
