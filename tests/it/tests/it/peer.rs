//! Requests of the server to a legacy client.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use turnbuckle_it::harness::{Case, Client, ClientOptions};
use turnbuckle_server::{Args, HandlerContext, Server, Tool};
use turnbuckle_session::handler::{Limits, PeerError};

use crate::refusals::Refusals;
use crate::servers::{Seconds, echo_builder};

/// Creates a server whose tool `ask` asks for roots, with a timeout of `seconds` (0 for the
/// default), and returns the outcome.
fn asking() -> Server {
    let ask = async |Args(patience): Args<Seconds>, context: HandlerContext| {
        let mut peer = context.peer().unwrap();
        if patience.seconds > 0 {
            peer = peer.with_timeout(Duration::from_secs(patience.seconds));
        }
        let start = Instant::now();
        let ended = match peer.request::<()>("roots/list", None).await {
            Ok(roots) => roots.to_string(),
            Err(late @ PeerError::TimedOut { .. }) => late.to_string(),
            Err(PeerError::Refused(error)) => format!("{} {}", error.code, error.message),
            Err(other) => format!("{other:?}"),
        };
        format!("{ended} after {} s", start.elapsed().as_secs())
    };
    echo_builder()
        .tool(Tool::builder("ask").handler(ask))
        .build()
        .unwrap()
}

fn ask(patience: u64) -> Value {
    json!({"name": "ask", "arguments": {"seconds": patience}})
}

/// Returns the error text of a request that timed out.
fn late(seconds: u64) -> String {
    format!("the client did not answer within {seconds}s after {seconds} s")
}

fn client_with_roots() -> ClientOptions {
    ClientOptions::new()
        .capabilities(json!({"roots": {}}))
        .patience(Duration::from_secs(3600))
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap()
}

// requirement: 2504ad379a5c af3dc5ded27b ed627495b5aa
#[tokio::test(start_paused = true)]
async fn a_server_request_times_out() {
    let refusals = Refusals::start();
    for case in Case::legacy() {
        let mut client = Client::connect_with(case, &asking(), client_with_roots()).await;
        let answer = client.request("tools/call", ask(0)).await;
        assert_eq!(text(&answer), &*late(600), "{case}");

        let mut limits = Limits::default();
        limits.request_timeout = Duration::from_secs(20);
        let options = client_with_roots().limits(limits);
        let mut client = Client::connect_with(case, &asking(), options).await;
        let answer = client.request("tools/call", ask(0)).await;
        assert_eq!(text(&answer), &*late(20), "{case}");
    }
    let requests = 2 * Case::legacy().len();
    assert_eq!(refusals.count("Limits::request_timeout"), requests);
}

// requirement: 6a2cad29576f
#[tokio::test(start_paused = true)]
async fn the_timeout_is_settable_per_request() {
    for case in Case::legacy() {
        let mut client = Client::connect_with(case, &asking(), client_with_roots()).await;
        let short = client.start("tools/call", ask(5)).await;
        let long = client.start("tools/call", ask(50)).await;
        let answer = client.response(short).await;
        assert_eq!(text(&answer), &*late(5), "{case}");
        let answer = client.response(long).await;
        assert_eq!(text(&answer), &*late(50), "{case}");
    }
}

// requirement: 6c2d1fea748e
#[tokio::test(start_paused = true)]
async fn progress_never_passes_the_maximum() {
    for case in Case::legacy() {
        let mut client = Client::connect_with(case, &asking(), client_with_roots()).await;
        let call = client.start("tools/call", ask(10)).await;
        let asked = client.next_of("roots/list").await;
        for step in 1..=20 {
            client.wait(Duration::from_secs(1)).await;
            let token = asked["params"]["_meta"].get("progressToken");
            let token = token.unwrap_or(&asked["id"]);
            let progress = json!({"progressToken": token, "progress": step});
            client.notify("notifications/progress", progress).await;
        }
        let answer = client.response(call).await;
        assert_eq!(text(&answer), &*late(10), "{case}");
    }
}

// requirement: 56640aa98c1b
#[tokio::test(start_paused = true)]
async fn a_timeout_cancels_the_request() {
    for case in Case::legacy() {
        let mut client = Client::connect_with(case, &asking(), client_with_roots()).await;
        let call = client.start("tools/call", ask(10)).await;
        let asked = client.next_of("roots/list").await;
        client.response(call).await;
        let cancelled = client.next_of("notifications/cancelled").await;
        assert_eq!(cancelled["params"]["requestId"], asked["id"], "{case}");
        client.expect_silence().await;
    }
}

// requirement: 269126eb703e
#[tokio::test(start_paused = true)]
async fn a_late_answer_is_ignored() {
    for case in Case::legacy() {
        let mut client = Client::connect_with(case, &asking(), client_with_roots()).await;
        let first = client.start("tools/call", ask(10)).await;
        let asked = client.next_of("roots/list").await;
        client.response(first).await;
        client.next_of("notifications/cancelled").await;
        let second = client.start("tools/call", ask(10)).await;
        let again = client.next_of("roots/list").await;
        client.answer(&asked["id"], json!({"roots": "late"})).await;
        client.answer_error(&asked["id"], -1, "late").await;
        client.expect_silence().await;
        client.answer(&again["id"], json!({"roots": []})).await;
        // Only the first answer counts.
        client.answer(&again["id"], json!({"roots": "twice"})).await;
        let answer = client.response(second).await;
        assert_eq!(text(&answer), r#"{"roots":[]} after 1 s"#, "{case}");
    }
}

// requirement: 0371cec0106d 3d758103de26
#[tokio::test(start_paused = true)]
async fn only_own_open_requests_are_cancelled() {
    for case in Case::legacy() {
        let mut client = Client::connect_with(case, &asking(), client_with_roots()).await;
        // One is answered, one refused, one times out, one loses the request that it was made for.
        let mut open: Vec<Value> = Vec::new();
        for _ in 0..4 {
            client.start("tools/call", ask(10)).await;
            open.push(client.next_of("roots/list").await["id"].clone());
        }
        client.answer(&open[0], json!({"roots": []})).await;
        client.answer_error(&open[1], -1, "no").await;
        // The handshake's id is 1.
        client.cancel(5).await;
        client.wait(Duration::from_secs(60)).await;
        let mut cancelled: Vec<Value> = client
            .messages()
            .await
            .iter()
            .filter(|message| message["method"] == "notifications/cancelled")
            .map(|message| message["params"]["requestId"].clone())
            .collect();
        cancelled.sort_by_key(Value::as_i64);
        assert_eq!(cancelled, open[2..], "{case}");
    }
}

// requirement: b9b544b85612
#[tokio::test(start_paused = true)]
async fn server_requests_ask_for_no_progress() {
    for case in Case::legacy() {
        let mut client = Client::connect_with(case, &asking(), client_with_roots()).await;
        client.start("tools/call", ask(10)).await;
        let asked = client.next_of("roots/list").await;
        let token = asked["params"]["_meta"].get("progressToken");
        assert_eq!(token, None, "{case}: {asked}");
    }
}

#[tokio::test(start_paused = true)]
async fn too_many_requests_are_refused_by_name() {
    for case in Case::legacy() {
        let mut limits = Limits::default();
        limits.max_outgoing_requests = 2;
        let options = client_with_roots().limits(limits);
        let mut client = Client::connect_with(case, &asking(), options).await;
        for _ in 0..2 {
            client.start("tools/call", ask(10)).await;
        }
        let answer = client.request("tools/call", ask(10)).await;
        assert_eq!(text(&answer), "TooMany { limit: 2 } after 0 s", "{case}");
    }
}

// requirement: b54afab82f92
#[tokio::test(start_paused = true)]
async fn a_peers_code_passes_unjudged() {
    for case in Case::legacy() {
        let mut client = Client::connect_with(case, &asking(), client_with_roots()).await;
        for code in [
            -1, -32601, -32002, -32000, -32020, -32042, -32099, -32700, 0, 12345,
        ] {
            let call = client.start("tools/call", ask(10)).await;
            let asked = client.next_of("roots/list").await;
            client.answer_error(&asked["id"], code, "as it came").await;
            let answer = client.response(call).await;
            assert_eq!(
                text(&answer),
                format!("{code} as it came after 0 s"),
                "{case}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_to_the_client_ends_with_its_call_and_with_the_connection() {
    let ended: Arc<Mutex<Vec<String>>> = Arc::default();
    let ask = {
        let ended = Arc::clone(&ended);
        move |(): (), context: HandlerContext| {
            let ended = Arc::clone(&ended);
            async move {
                let asked = context.peer().unwrap();
                let asked = asked.request::<()>("roots/list", None).await;
                ended.lock().unwrap().push(format!("{asked:?}"));
                "asked"
            }
        }
    };
    let server = echo_builder()
        .tool(Tool::builder("ask").handler(ask))
        .build()
        .unwrap();
    for case in Case::duplex(Case::legacy()) {
        let mut client = Client::connect_with(case, &server, client_with_roots()).await;
        let call = client.start("tools/call", json!({"name": "ask"})).await;
        client.next_of("roots/list").await;
        client.cancel(call).await;
        client.settle().await;
        assert_eq!(ended.lock().unwrap().split_off(0), ["Err(Ended)"], "{case}");

        client.start("tools/call", json!({"name": "ask"})).await;
        client.next_of("roots/list").await;
        client.close();
        client.closed().await;
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(ended.lock().unwrap().split_off(0), ["Err(Ended)"], "{case}");
    }
}
