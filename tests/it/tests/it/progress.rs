//! Progress of requests under way.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client, ClientOptions};
use turnbuckle_server::{HandlerContext, Tool};
use turnbuckle_types::Number;

use crate::servers::echo_builder;

/// Creates a server whose tool `steps` reports two steps, three seconds apart.
fn stepping() -> turnbuckle_server::Server {
    let steps = async |(): (), context: HandlerContext| {
        for step in 1..=2 {
            tokio::time::sleep(Duration::from_secs(3)).await;
            let message = format!("step {step}");
            context
                .progress_message(step, Some(2.into()), message)
                .await;
        }
        "done"
    };
    echo_builder()
        .tool(Tool::builder("steps").handler(steps))
        .build()
        .unwrap()
}

fn tokens(messages: &[Value]) -> Vec<Value> {
    let progress = messages
        .iter()
        .filter(|message| message["method"] == "notifications/progress");
    progress
        .map(|message| message["params"]["progressToken"].clone())
        .collect()
}

// requirement: 4a04d220ebed e3b94f2d42b8 f677a95c094a f704babfa3d8
#[tokio::test(start_paused = true)]
async fn only_the_tokens_of_open_requests() {
    for case in Case::all() {
        let server = stepping();
        let mut client = Client::connect(case, &server).await;
        // Nothing is told of a request that gave no token.
        client.request("tools/call", json!({"name": "steps"})).await;
        assert_eq!(client.messages().await, [] as [Value; 0], "{case}");

        // Two at once, and each is told of by its own.
        let with = |token: &str| json!({"name": "steps", "_meta": {"progressToken": token}});
        let a = client.start("tools/call", with("a")).await;
        client.wait(Duration::from_secs(1)).await;
        let b = client.start("tools/call", with("b")).await;
        client.response(a).await;
        assert_eq!(tokens(&client.messages().await), ["a", "b", "a"], "{case}");
        client.response(b).await;
        assert_eq!(tokens(&client.messages().await), ["b"], "{case}");
        client.wait(Duration::from_secs(60)).await;
        client.expect_silence().await;

        // Once cancelled, no more.
        let c = client.start("tools/call", with("c")).await;
        client.next_of("notifications/progress").await;
        client.cancel(c).await;
        client.wait(Duration::from_secs(60)).await;
        client.expect_silence().await;
    }
}

// requirement: 0588cd8f646e
#[tokio::test(start_paused = true)]
async fn a_token_is_a_string_or_an_integer() {
    for case in Case::all() {
        let mut client = Client::connect(case, &stepping()).await;
        for token in ["7", "-1", r#""7""#, r#""""#, "9007199254740993"] {
            let params =
                client.with_envelope(json!({"name": "steps", "_meta": {"progressToken": "T"}}));
            let params = params.to_string().replace(r#""T""#, token);
            client
                .raw(&format!(
                    r#"{{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{params}}}"#
                ))
                .await;
            let progress = client.next_raw().await;
            let expected = format!(r#""progressToken":{token},"#);
            assert!(progress.contains(&expected), "{case}: {progress}");
            client.next_raw().await;
            client.next_raw().await;
        }
        for token in [
            json!(1.5),
            json!(true),
            json!({}),
            json!(["a"]),
            json!(null),
        ] {
            let params = json!({"name": "steps", "_meta": {"progressToken": token}});
            let answer = client.request("tools/call", params).await;
            assert_eq!(answer["error"]["code"], -32602, "{case}: {token}: {answer}");
        }
    }
}

// requirement: b393cf02f49e
#[tokio::test(start_paused = true)]
async fn values_strictly_increase() {
    let report = async |(): (), context: HandlerContext| {
        let values = [0.5, 0.5, 0.25, 1.0, 1.0, -3.0, 1.5, 1e300, 1e299];
        for value in values.into_iter().filter_map(Number::from_f64) {
            context.progress(value, None).await;
        }
        // Beyond what a float can hold apart.
        let huge: Number = serde_json::from_str("1e999").unwrap();
        context.progress(huge.clone(), None).await;
        context.progress(huge, None).await;
        "done"
    };
    let server = echo_builder()
        .tool(Tool::builder("report").handler(report))
        .build()
        .unwrap();
    assert_eq!(Number::from_f64(f64::NAN), None, "there is no such number");
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let params = client.with_envelope(json!({"name": "report", "_meta": {"progressToken": 1}}));
        let call = json!({"jsonrpc": "2.0", "id": 50, "method": "tools/call", "params": params});
        client.send(&call).await;
        let mut values = Vec::new();
        loop {
            let message: Value = serde_json::from_str(&client.next_raw().await).unwrap();
            if message["id"] == 50 {
                break;
            }
            values.push(message["params"]["progress"].as_f64().unwrap());
        }
        assert_eq!(values, [0.5, 1.0, 1.5, 1e300], "{case}");
    }
}

// requirement: 458723ccde2a
#[tokio::test(start_paused = true)]
async fn nothing_follows_the_answer() {
    let kept: Arc<Mutex<Vec<HandlerContext>>> = Arc::default();
    let keep = {
        let kept = Arc::clone(&kept);
        move |(): (), context: HandlerContext| {
            let kept = Arc::clone(&kept);
            async move {
                context.progress(1, None).await;
                kept.lock().unwrap().push(context);
                "done"
            }
        }
    };
    let slowly = {
        let kept = Arc::clone(&kept);
        move |(): (), context: HandlerContext| {
            kept.lock().unwrap().push(context.clone());
            async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                context.progress(1, None).await;
                "done"
            }
        }
    };
    let server = echo_builder()
        .tool(Tool::builder("keep").handler(keep))
        .tool(Tool::builder("slowly").handler(slowly))
        .logging()
        .build()
        .unwrap();
    for case in Case::all() {
        let options = ClientOptions::new().progress_tokens().log_level("debug");
        let mut client = Client::connect_with(case, &server, options).await;
        for name in ["keep", "slowly"] {
            client.request("tools/call", json!({"name": name})).await;
            assert_eq!(client.messages().await.len(), 1, "{case}: {name}");
            let context = kept.lock().unwrap().pop().unwrap();
            context.progress(2, None).await;
            let error = turnbuckle_types::LoggingLevel::Error;
            context.log(error, None, "too late").await;
            if let Some(peer) = context.peer() {
                let asked = peer.request::<()>("roots/list", None).await;
                assert!(asked.is_err(), "{case}: nobody is asked any more");
            }
            client.expect_silence().await;
        }
    }
}
