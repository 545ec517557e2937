//! Requests, notifications and responses are told apart, and each is what it is.

use serde_json::{Value, json};
use turnbuckle_it::harness::{Bind, Case, Client, ClientOptions};
use turnbuckle_server::{HandlerContext, Tool};

use turnbuckle_wire::revision::{Capability, Method, Party};

use crate::servers::{echo, echo_builder, full_server, params_of};

// requirement: 12365377c146 34c4a64dd615 f8a6ca4b25be
#[tokio::test(start_paused = true)]
async fn a_response_is_a_result_or_an_error() {
    for case in Case::all() {
        let mut client = Client::connect(case, &full_server()).await;
        let served = |method: &&Method| {
            method.is_received_by(Party::Server, case.revision)
                && !method.is_notification()
                && !matches!(method, Method::Initialize | Method::SubscriptionsListen)
                // The server runs no tasks.
                && method.capability() != Some(Capability::Tasks)
                && !matches!(method, Method::ListTasks | Method::LegacyCancelTask)
        };
        for method in Method::ALL.iter().filter(served) {
            let answer = client.request(method.as_str(), params_of(*method)).await;
            assert!(
                answer.get("result").is_some(),
                "{case}: {method:?}: {answer}"
            );
            assert!(
                answer.get("error").is_none(),
                "{case}: {method:?}: {answer}"
            );
            let mut wrong = client.with_envelope(json!({}));
            wrong["cursor"] = json!(5);
            wrong["level"] = json!("none");
            let answer = client.request(method.as_str(), wrong).await;
            assert_ne!(
                answer.get("result").is_some(),
                answer.get("error").is_some(),
                "{case}: {method:?}: {answer}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_with_both_or_neither_is_refused() {
    let server = echo_builder()
        .tool(
            Tool::builder("ask").handler(async |(): (), context: HandlerContext| {
                let peer = context.peer().unwrap();
                let roots = peer.request::<()>("roots/list", None).await;
                roots.unwrap().to_string()
            }),
        )
        .build()
        .unwrap();
    for case in Case::duplex(Case::legacy()) {
        let options = ClientOptions::new().capabilities(json!({"roots": {}}));
        let mut client = Client::connect_with(case, &server, options).await;
        let call = client.start("tools/call", json!({"name": "ask"})).await;
        let id = client.next_of("roots/list").await["id"].clone();
        let error = json!({"code": 1, "message": "m"});
        for bad in [
            json!({"jsonrpc": "2.0", "id": id, "result": {"roots": []}, "error": error}),
            json!({"jsonrpc": "2.0", "id": id}),
            json!({"jsonrpc": "2.0", "id": id, "error": {"message": "no code"}}),
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": "1", "message": "m"}}),
            json!({"jsonrpc": "1.0", "id": id, "result": {}}),
        ] {
            let refused = client.exchange(&bad).await;
            assert_eq!(refused["error"]["code"], -32600, "{bad}");
            assert!(refused["id"].is_null(), "no request is answered: {refused}");
        }
        client.answer(&id, json!({"roots": []})).await;
        let answer = client.response(call).await;
        assert_eq!(answer["result"]["content"][0]["text"], r#"{"roots":[]}"#);
    }
}

// requirement: 9774fb4db6ac b81901557cbc
#[tokio::test(start_paused = true)]
async fn a_message_of_another_version_is_refused() {
    for case in Case::all() {
        let mut client = Client::connect(case, &echo()).await;
        let params = client.with_envelope(json!({}));
        for (id, version) in [None, Some(json!("1.0")), Some(json!(2)), Some(json!(null))]
            .into_iter()
            .enumerate()
        {
            let mut message = json!({"id": id + 50, "method": "tools/list", "params": params});
            if let Some(version) = version {
                message["jsonrpc"] = version;
            }
            let refused = client.exchange(&message).await;
            assert_eq!(refused["error"]["code"], -32600, "{message}");
            assert_eq!(refused["id"], id + 50);
            assert_eq!(refused["jsonrpc"], "2.0");
        }
        assert_eq!(
            client.request("tools/list", json!({})).await["jsonrpc"],
            "2.0"
        );
    }
}

// requirement: 40588302ffff
#[tokio::test(start_paused = true)]
async fn a_notification_is_never_answered() {
    for case in Case::all() {
        let mut client = Client::connect(case, &full_server()).await;
        for (method, params) in [
            ("notifications/initialized", json!({})),
            ("notifications/cancelled", json!({"requestId": 999})),
            ("notifications/cancelled", json!({})),
            (
                "notifications/progress",
                json!({"progressToken": 1, "progress": 1}),
            ),
            ("notifications/progress", json!({"progress": "no"})),
            ("notifications/roots/list_changed", json!({})),
            ("notifications/nobody/knows", json!({"a": 1})),
            ("tools/list", json!({})),
            (
                "tools/call",
                json!({"name": "echo", "arguments": {"text": "t"}}),
            ),
            ("ping", json!({})),
            ("initialize", json!({})),
            ("", json!({})),
            ("notifications/cancelled", json!([])),
            ("notifications/cancelled", json!(5)),
            ("notifications/progress", json!("text")),
        ] {
            if case.binding == Bind::Http && !params.is_object() {
                continue; // Its status says that it is refused.
            }
            client.notify(method, params.clone()).await;
            let enveloped = client.with_envelope(json!({}));
            client.notify(method, enveloped).await;
        }
        client
            .send(&json!({"jsonrpc": "2.0", "method": "ping"}))
            .await;
        client.expect_silence().await;
        let answer = client.request("tools/list", json!({})).await;
        assert!(answer["result"]["tools"].is_array(), "{case}");
    }
}

// requirement: c3b3f8bd1e21
#[tokio::test(start_paused = true)]
async fn own_notifications_have_no_id() {
    for case in Case::all() {
        let options = ClientOptions::new().log_level("debug").progress_tokens();
        let mut client = Client::connect_with(case, &full_server(), options).await;
        if case.is_legacy() {
            client
                .request("resources/subscribe", json!({"uri": "test://one"}))
                .await;
        } else {
            let all = json!({"toolsListChanged": true, "promptsListChanged": true,
                "resourcesListChanged": true, "resourceSubscriptions": ["test://one"]});
            let listen = json!({"notifications": all});
            client.start("subscriptions/listen", listen).await;
        }
        client.request("tools/call", json!({"name": "talk"})).await;
        let messages = client.messages().await;
        for method in [
            "notifications/progress",
            "notifications/message",
            "notifications/tools/list_changed",
            "notifications/prompts/list_changed",
            "notifications/resources/list_changed",
            "notifications/resources/updated",
        ] {
            let of_method = |message: &&Value| message["method"] == method;
            let notification = messages.iter().find(of_method);
            let notification = notification.unwrap_or_else(|| panic!("{case}: no {method}"));
            assert_eq!(notification.get("id"), None, "{case}: {notification}");
        }
    }
}
