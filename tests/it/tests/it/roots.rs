//! The directories that a client opens.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use turnbuckle_it::harness::Case;
use turnbuckle_server::{Ask, AskError, Failure, HandlerContext, Roots, Server, Tool};
use turnbuckle_session::handler::Peer;

use crate::asking::{self, good_answer, handler_text, requests};
use crate::support::{Question, code, connect_able, converse, error_text, text};
use crate::traced::Traced;

// requirement: 7059086de5ac
#[tokio::test(start_paused = true)]
async fn roots_are_requested_only_from_clients_that_declare_them() {
    let server = asking::server();
    for case in Case::all() {
        for (able, may) in [
            (json!({}), false),
            (json!({"sampling": {}}), false),
            (json!({"roots": {}}), true),
        ] {
            let mut client = connect_able(case, &server, able).await;
            for (method, params) in requests("roots") {
                let answer = |it: &Question| good_answer(&it.method, &it.params);
                let (response, asked) = converse(&mut client, method, params, answer).await;
                assert_eq!(asked.len(), usize::from(may), "{case} {method}");
                if may {
                    assert!(
                        handler_text(method, &response).contains("file:///home/ada"),
                        "{case}"
                    );
                } else if case.is_modern() {
                    assert_eq!(code(&response), -32021, "{case}");
                } else if method == "tools/call" {
                    assert!(error_text(&response).contains("roots"), "{case}");
                } else {
                    assert_eq!(code(&response), -32602, "{case}");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn roots_that_are_not_file_uris_are_left_out_with_a_warning() {
    let server = Server::new("roots", "1.0.0")
        .tool(
            Tool::builder("roots").handler(async |(): (), context: HandlerContext| {
                let roots = context.ask("roots", Roots)?.roots;
                let uris: Vec<_> = roots.into_iter().map(|root| root.uri).collect();
                Ok::<_, Failure>(uris.join(" "))
            }),
        )
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = connect_able(case, &server, json!({"roots": {}})).await;
        let mut answered = async |roots: Value| {
            let answer = |_: &Question| json!({"roots": roots});
            converse(&mut client, "tools/call", json!({"name": "roots"}), answer)
                .await
                .0
        };
        let two = json!([{"uri": "file:///a"}, {"uri": "file:///b", "name": "b"}]);
        assert_eq!(text(&answered(two).await), "file:///a file:///b", "{case}");
        assert_eq!(text(&answered(json!([])).await), "", "{case}");
        // Every revision demands `file://`. A root that is no absolute file URI is left out, the
        // others stay.
        for uri in [
            "https://example.com",
            "file:relative",
            "file:///a/../b",
            "file:///a/%2e%2e/b",
        ] {
            let traced = Traced::start();
            let some = json!([{"uri": "file:///a"}, {"uri": uri}]);
            assert_eq!(text(&answered(some).await), "file:///a", "{case} {uri}");
            let warnings = traced.with("a root of the client is left out");
            assert!(warnings[0].contains(uri), "{case} {uri}: {warnings:?}");
        }
        for bad in [json!([{}]), json!("file:///a")] {
            assert_eq!(code(&answered(bad.clone()).await), -32602, "{case} {bad}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn roots_are_asked_again_only_after_a_change_or_of_clients_that_notify_of_none() {
    let server = Server::new("roots", "1.0.0")
        .tool(Tool::builder("roots").handler(async |ask: Ask| {
            let roots = ask.roots().await?;
            let uris: Vec<_> = roots.into_iter().map(|root| root.uri).collect();
            Ok::<_, AskError>(uris.join(" "))
        }))
        .build()
        .unwrap();
    for case in Case::all() {
        for notifies in [true, false] {
            let able = json!({"roots": {"listChanged": notifies}});
            let mut client = connect_able(case, &server, able).await;
            let is_cached = notifies && !case.is_modern();
            // Refused answers are not kept.
            for (uri, asks) in [
                (None, true),
                (Some("file:///a"), true),
                (Some("file:///a"), !is_cached),
                (Some("file:///b"), true),
                (Some("file:///b"), !is_cached),
            ] {
                if uri == Some("file:///b") && asks && is_cached {
                    let changed = "notifications/roots/list_changed";
                    client.notify(changed, json!({})).await;
                }
                let roots = uri.map_or(json!([{}]), |uri| json!([{ "uri": uri }]));
                let answer = |_: &Question| json!({ "roots": roots });
                let call = json!({"name": "roots"});
                let (response, asked) = converse(&mut client, "tools/call", call, answer).await;
                assert_eq!(asked.len(), usize::from(asks), "{case} {notifies} {uri:?}");
                if let Some(uri) = uri {
                    assert_eq!(text(&response), uri, "{case} {notifies}");
                }
            }
        }
    }
}

// requirement: a77fcdec4443
#[tokio::test(start_paused = true)]
async fn a_change_reaches_the_hook() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let noting = seen.clone();
    let server = Server::new("roots", "1.0.0")
        .on_roots_changed(move |peer: Peer| {
            let seen = noting.clone();
            async move {
                let roots = peer.request::<()>("roots/list", None).await;
                let roots =
                    roots.map_or_else(|error| error.to_string(), |it| it.as_str().to_owned());
                seen.lock().unwrap().push(roots);
            }
        })
        .build()
        .unwrap();
    for case in Case::legacy() {
        let able = json!({"roots": {"listChanged": true}});
        let mut client = connect_able(case, &server, able).await;
        let mut other = connect_able(case, &server, json!({})).await;
        client.expect_silence().await;
        for uri in ["file:///a", "file:///b"] {
            client
                .notify("notifications/roots/list_changed", json!({}))
                .await;
            let asked = client.next().await;
            assert_eq!(asked["method"], "roots/list", "{case}");
            let roots = json!({"roots": [{"uri": uri}]});
            client.answer(&asked["id"], roots.clone()).await;
            client.settle().await;
            let seen = seen.lock().unwrap().pop().expect("the hook ran to its end");
            assert_eq!(
                serde_json::from_str::<Value>(&seen).unwrap(),
                roots,
                "{case}"
            );
        }
        // Who opened no session has no roots to change.
        client.expect_silence().await;
        other.expect_silence().await;
    }
}

#[tokio::test(start_paused = true)]
async fn hooks_that_never_end_are_bounded() {
    let started = Arc::new(Mutex::new(0));
    let counting = started.clone();
    let server = Server::new("roots", "1.0.0")
        .on_roots_changed(move |_: Peer| {
            *counting.lock().unwrap() += 1;
            std::future::pending()
        })
        .build()
        .unwrap();
    for case in Case::legacy() {
        let mut client = connect_able(case, &server, json!({"roots": {}})).await;
        for _ in 0..1000 {
            client
                .notify("notifications/roots/list_changed", json!({}))
                .await;
        }
        let pong = client.request("ping", json!({})).await;
        assert_eq!(pong["result"], json!({}), "{case}");
        let started = std::mem::take(&mut *started.lock().unwrap());
        assert!((1..=64).contains(&started), "{case}: {started}");
    }
}
