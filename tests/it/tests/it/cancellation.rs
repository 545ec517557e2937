//! Giving up on requests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use turnbuckle_it::harness::{Bind, Case, Client, ClientOptions};
use turnbuckle_server::{HandlerContext, Server, Tool};
use turnbuckle_session::handler::Limits;
use turnbuckle_types::LoggingLevel;

use crate::refusals::Refusals;
use crate::servers::{echo, echo_builder, full_server};
use crate::traced::Traced;

/// Events that the handlers recorded, in order.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Notes when a handler's future is dropped.
struct Dropped(Seen, Instant);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.note(format!("dropped after {:?}", self.1.elapsed()));
    }
}

/// Creates a server whose tool `polite` ends when it is cancelled, and whose tool `stubborn` goes
/// on for ever.
fn cancellable(seen: &Seen) -> Server {
    let polite = {
        let seen = seen.clone();
        move |(): (), context: HandlerContext| {
            let seen = seen.clone();
            async move {
                context.cancelled().await;
                seen.note(format!("cancelled: {}", context.is_cancelled()));
                context.progress(9, None).await;
                context.log(LoggingLevel::Error, None, "cancelled").await;
                "a result that nobody wants"
            }
        }
    };
    let stubborn = {
        let seen = seen.clone();
        move |(): (), context: HandlerContext| {
            let dropped = Dropped(seen.clone(), Instant::now());
            async move {
                for step in 1.. {
                    context.progress(step, None).await;
                    context.log(LoggingLevel::Error, None, "still here").await;
                    tokio::time::sleep(Duration::from_millis(300)).await;
                }
                drop(dropped);
                "never"
            }
        }
    };
    echo_builder()
        .tool(Tool::builder("polite").handler(polite))
        .tool(Tool::builder("stubborn").handler(stubborn))
        .logging()
        .build()
        .unwrap()
}

fn talkative() -> ClientOptions {
    ClientOptions::new().progress_tokens().log_level("debug")
}

// requirement: 4ed9b56e705d e04f1edf4bf5
#[tokio::test(start_paused = true)]
async fn the_handler_sees_its_token() {
    for case in Case::all() {
        let seen = Seen::default();
        let mut client = Client::connect(case, &cancellable(&seen)).await;
        let one = client.start("tools/call", json!({"name": "polite"})).await;
        let other = client.start("tools/call", json!({"name": "polite"})).await;
        client.settle().await;
        assert_eq!(seen.take(), [] as [&str; 0], "{case}");
        client.cancel(one).await;
        client.settle().await;
        assert_eq!(seen.take(), ["cancelled: true"], "{case}");
        client.cancel(other).await;
        client.settle().await;
        assert_eq!(seen.take(), ["cancelled: true"], "{case}");
    }
}

// requirement: 291f6cbeb0b6 316c14ce0604 e56ffa706260
#[tokio::test(start_paused = true)]
async fn a_cancelled_request_is_never_answered() {
    for case in Case::all() {
        for name in ["polite", "stubborn"] {
            let server = cancellable(&Seen::default());
            let mut client = Client::connect_with(case, &server, talkative()).await;
            let call = client.start("tools/call", json!({"name": name})).await;
            client.wait(Duration::from_secs(1)).await;
            client.cancel(call).await;
            client.settle().await;
            client.messages().await;
            // Neither in the handler's grace nor after it.
            client.wait(Duration::from_secs(60)).await;
            client.expect_silence().await;
            assert!(client.request("tools/list", json!({})).await["result"].is_object());
        }
    }
}

// requirement: 23e43825faf9 db33922935d3
#[tokio::test(start_paused = true)]
async fn a_stubborn_handler_is_dropped_after_the_grace() {
    let refusals = Refusals::start();
    for case in Case::all() {
        for grace in [None, Some(Duration::from_secs(7))] {
            let mut limits = Limits::default();
            if let Some(grace) = grace {
                limits.cancel_timeout = grace;
            }
            let seen = Seen::default();
            let options = ClientOptions::new().limits(limits);
            let mut client = Client::connect_with(case, &cancellable(&seen), options).await;
            let call = client
                .start("tools/call", json!({"name": "stubborn"}))
                .await;
            client.settle().await;
            let start = Instant::now();
            client.cancel(call).await;
            while seen.0.lock().unwrap().is_empty() {
                client.wait(Duration::from_millis(100)).await;
                assert!(
                    start.elapsed() < Duration::from_secs(10),
                    "{case}: it goes on"
                );
            }
            let expected = grace.unwrap_or(Duration::from_secs(2));
            let late = start.elapsed() - expected;
            assert!(late <= Duration::from_millis(100), "{case}: {late:?}");
        }
    }
    let handlers = 2 * Case::all().len();
    assert_eq!(refusals.count("Limits::cancel_timeout"), handlers);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_ends_a_handler_with_an_error() {
    for case in Case::all() {
        let mut limits = Limits::default();
        limits.handler_timeout = Duration::from_secs(30);
        let options = ClientOptions::new().limits(limits);
        let seen = Seen::default();
        let mut client = Client::connect_with(case, &cancellable(&seen), options).await;
        let start = Instant::now();
        let answer = client
            .request("tools/call", json!({"name": "polite"}))
            .await;
        assert_eq!(answer["error"]["code"], -32603, "{case}: {answer}");
        assert_eq!(start.elapsed().as_secs(), 30, "{case}");
        assert_eq!(seen.take(), ["cancelled: true"], "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_connection_cancels() {
    for case in Case::duplex(Case::all()) {
        let seen = Seen::default();
        let mut client = Client::connect(case, &cancellable(&seen)).await;
        client.start("tools/call", json!({"name": "polite"})).await;
        client
            .start("tools/call", json!({"name": "stubborn"}))
            .await;
        client.settle().await;
        let start = Instant::now();
        client.close();
        client.closed().await;
        assert_eq!(start.elapsed().as_secs(), 1, "{case}: as long as it drains");
        tokio::time::sleep(Duration::from_secs(3)).await;
        let seen = seen.take();
        assert_eq!(seen.len(), 2, "{case}: {seen:?}");
    }
}

// requirement: a4b7f49b39b8 d5a34268aa6e ee37dbe477da
#[tokio::test(start_paused = true)]
async fn invalid_cancellations_are_ignored() {
    for case in Case::all() {
        let mut client = Client::connect(case, &echo()).await;
        let done = client
            .start(
                "tools/call",
                json!({"name": "echo", "arguments": {"text": "t"}}),
            )
            .await;
        client.response(done).await;
        let open = client
            .start(
                "tools/call",
                json!({"name": "sleep", "arguments": {"seconds": 5}}),
            )
            .await;
        for params in [
            json!({"requestId": done}),
            json!({"requestId": "nobody"}),
            json!({"requestId": open.to_string()}),
            json!({"requestId": null}),
            json!({"requestId": {"id": open}}),
            json!({"requestId": [open]}),
            json!({"requestId": 1.5, "reason": "half"}),
            json!({"reason": 5}),
            json!({}),
            json!([]),
            json!("no"),
        ] {
            if case.binding == Bind::Http && !params.is_object() {
                continue; // Its status says that it is refused.
            }
            client.notify("notifications/cancelled", params).await;
        }
        client
            .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled"}))
            .await;
        let answer = client.response(open).await;
        assert_eq!(answer["result"]["content"][0]["text"], "slept", "{case}");
        client.expect_silence().await;
    }
}

// requirement: db4bc7520823
#[tokio::test(start_paused = true)]
async fn initialize_is_never_cancelled() {
    for case in Case::legacy() {
        let options = ClientOptions::new().without_handshake();
        let mut client = Client::connect_with(case, &echo(), options).await;
        let params = json!({
            "protocolVersion": case.revision.as_str(),
            "capabilities": {},
            "clientInfo": {"name": "tester", "version": "1"},
        });
        client
            .notify("notifications/cancelled", json!({"requestId": 1}))
            .await;
        let id = client.start("initialize", params).await;
        client
            .notify("notifications/cancelled", json!({"requestId": id}))
            .await;
        let answer = client.response(id).await;
        assert_eq!(
            answer["result"]["protocolVersion"],
            case.revision.as_str(),
            "{case}"
        );
        client
            .notify("notifications/cancelled", json!({"requestId": id}))
            .await;
        assert!(client.request("tools/list", json!({})).await["result"].is_object());
    }
}

// requirement: e993277c3def
#[tokio::test(start_paused = true)]
async fn races_with_completion_are_harmless() {
    for case in Case::all() {
        let mut client = Client::connect(case, &echo()).await;
        let mut answers = 0;
        for moment in 990..=1010 {
            let id = client
                .start(
                    "tools/call",
                    json!({"name": "sleep", "arguments": {"seconds": 1}}),
                )
                .await;
            client.wait(Duration::from_millis(moment)).await;
            client.cancel(id).await;
            client.wait(Duration::from_secs(3)).await;
            let answered: Vec<_> = client
                .received_messages()
                .iter()
                .filter(|it| it["id"] == id)
                .collect();
            assert!(answered.len() <= 1, "{case}: {answered:?}");
            answers += answered.len();
        }
        assert!((5..=15).contains(&answers), "{case}: {answers}");
        // In the same burst as the request.
        for _ in 0..20 {
            let id = client
                .start(
                    "tools/call",
                    json!({"name": "echo", "arguments": {"text": "t"}}),
                )
                .await;
            client.cancel(id).await;
            client.settle().await;
            let answered = client
                .received_messages()
                .iter()
                .filter(|it| it["id"] == id)
                .count();
            assert!(answered <= 1, "{case}");
        }
        assert!(client.request("tools/list", json!({})).await["result"].is_object());
    }
}

// requirement: b6fd44e773c0
#[tokio::test(start_paused = true)]
async fn the_reason_is_logged() {
    // A closed response has no reason.
    let closes = |case: &Case| case.is_modern() && case.binding == Bind::Http;
    for case in Case::all().into_iter().filter(|case| !closes(case)) {
        let traced = Traced::start();
        let mut client = Client::connect(case, &echo()).await;
        let nap = json!({"name": "sleep", "arguments": {"seconds": 5}});
        let one = client.start("tools/call", nap.clone()).await;
        client.cancel_because(one, Some("the user\nleft")).await;
        client.settle().await;
        assert_eq!(
            traced.with(r"the user\nleft").len(),
            1,
            "{case}: and on one line"
        );

        let long = format!("long {}", "x".repeat(5000));
        let two = client.start("tools/call", nap).await;
        client.cancel_because(two, Some(&long)).await;
        client.settle().await;
        let logged = traced.with("long xxx");
        assert_eq!(logged.len(), 1, "{case}");
        assert!(logged[0].len() < 500, "{case}: cut");
    }
}

// requirement: 35f3b72675bf 7c218f18b6a6
#[tokio::test(start_paused = true)]
async fn a_modern_server_cancels_only_listens() {
    for case in Case::modern() {
        let mut client = Client::connect_with(case, &full_server(), talkative()).await;
        let listen = json!({"notifications": {"toolsListChanged": true}});
        let listen = client.start("subscriptions/listen", listen).await;
        client.request("tools/call", json!({"name": "talk"})).await;
        let nap = json!({"name": "sleep", "arguments": {"seconds": 5}});
        let cancelled = client.start("tools/call", nap.clone()).await;
        client.cancel(cancelled).await;
        client.request("tools/call", nap).await;
        client.server_stop().close();
        client.response(listen).await;
        client.settle().await;
        let cancelled: Vec<&Value> = client
            .received_messages()
            .iter()
            .filter(|message| message["method"] == "notifications/cancelled")
            .map(|message| &message["params"]["requestId"])
            .collect();
        // An endpoint ends a response instead.
        let expected = if case.binding == Bind::Http {
            vec![]
        } else {
            vec![listen]
        };
        assert_eq!(cancelled, expected, "{case}");
    }
}

// requirement: 0ab0e30955dd 840ea9e79e50 ef60663a1045
#[tokio::test(start_paused = true)]
async fn a_closed_response_cancels() {
    let exchanges = |case: &Case| case.binding == Bind::Http;
    for case in Case::modern().into_iter().filter(exchanges) {
        let seen = Seen::default();
        let mut client = Client::connect_with(case, &cancellable(&seen), talkative()).await;
        // Before the response has begun, and while it is a stream.
        let plain = client.start("tools/call", json!({"name": "polite"})).await;
        client.cancel(plain).await;
        client.settle().await;
        assert_eq!(seen.take(), ["cancelled: true"], "{case}");
        let stream = client.start("tools/call", json!({"name": "polite"})).await;
        client.wait(Duration::from_secs(5)).await;
        assert_eq!(seen.take(), [] as [&str; 0], "{case}");
        client.cancel(stream).await;
        client.settle().await;
        assert_eq!(seen.take(), ["cancelled: true"], "{case}");

        let call = client
            .start("tools/call", json!({"name": "stubborn"}))
            .await;
        client.wait(Duration::from_secs(5)).await;
        client.cancel(call).await;
        client.messages().await;
        client.wait(Duration::from_secs(5)).await;
        assert_eq!(seen.take().len(), 1, "{case}: dropped after its grace");
        client.expect_silence().await;
        // A message cancels nothing here.
        let nap = json!({"name": "sleep", "arguments": {"seconds": 5}});
        let nap = client.start("tools/call", nap).await;
        client
            .notify("notifications/cancelled", json!({"requestId": nap}))
            .await;
        let answer = client.response(nap).await;
        assert_eq!(answer["result"]["content"][0]["text"], "slept", "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_cancels() {
    for case in Case::duplex(Case::all()) {
        let seen = Seen::default();
        let mut client = Client::connect(case, &cancellable(&seen)).await;
        client.start("tools/call", json!({"name": "polite"})).await;
        client
            .start("tools/call", json!({"name": "stubborn"}))
            .await;
        client.settle().await;
        client.server_stop().cancel();
        client.closed().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(seen.take(), ["cancelled: true"], "{case}");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(seen.take().len(), 1, "{case}: dropped after its grace");
    }
}

#[tokio::test(start_paused = true)]
async fn another_handshake_on_a_pipe_cancels_the_requests_of_the_session_before() {
    for case in Case::legacy().into_iter().filter(|case| case.is_duplex()) {
        let seen = Seen::default();
        let mut client = Client::connect(case, &cancellable(&seen)).await;
        client.start("tools/call", json!({"name": "polite"})).await;
        client.settle().await;
        client.messages().await;
        let handshake = json!({
            "protocolVersion": "2024-11-05",
            "capabilities": {},
            "clientInfo": {"name": "next", "version": "1"},
        });
        let answer = client.request("initialize", handshake.clone()).await;
        assert_eq!(answer["result"]["protocolVersion"], "2024-11-05", "{case}");
        client.notify("notifications/initialized", json!({})).await;
        client.settle().await;
        assert_eq!(seen.take(), ["cancelled: true"], "{case}");
        let answer = client.request("tools/list", json!({})).await;
        assert!(answer["result"].is_object(), "{case}: {answer}");
        client.wait(Duration::from_secs(60)).await;
        client.expect_silence().await;

        // A handler that does not end keeps its place, so that no limit is multiplied.
        for refused in [false, true] {
            let params = json!({"name": "stubborn"});
            client.start("tools/call", params).await;
            client.settle().await;
            client.messages().await;
            let answer = client.request("initialize", handshake.clone()).await;
            assert_eq!(answer["error"].is_object(), refused, "{case}: {answer}");
            client.notify("notifications/initialized", json!({})).await;
        }
    }
}
