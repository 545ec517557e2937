//! Tests of the envelope that every modern message carries.

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client, ClientOptions};

use turnbuckle_wire::revision::{Method, Party};

use crate::servers::{echo, echo_builder, full_server, params_of};

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Returns every request that a modern server accepts.
fn methods(case: Case) -> impl Iterator<Item = Method> {
    let served = move |method: &Method| {
        method.is_received_by(Party::Server, case.revision) && !method.is_notification()
    };
    Method::ALL.iter().copied().filter(served)
}

/// Returns the result of a request; that of a stream comes when the server winds down.
async fn result_of(client: &mut Client, method: Method) -> Value {
    let id = client.start(method.as_str(), params_of(method)).await;
    if method == Method::SubscriptionsListen {
        client.settle().await;
        client.server_stop().close();
    }
    client.response(id).await["result"].clone()
}

// requirement: 8e2a30eda7e2
#[tokio::test(start_paused = true)]
async fn every_modern_result_names_its_type() {
    for case in Case::modern() {
        for method in methods(case) {
            let mut client = Client::connect(case, &full_server()).await;
            let result = result_of(&mut client, method).await;
            assert_eq!(result["resultType"], "complete", "{case}: {method:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_legacy_result_names_its_type() {
    for case in Case::legacy() {
        let mut client = Client::connect(case, &full_server()).await;
        for method in [Method::CallTool, Method::ListTools, Method::ReadResource] {
            let result = result_of(&mut client, method).await;
            for name in ["resultType", "ttlMs", "cacheScope"] {
                assert_eq!(result.get(name), None, "{case}: {method:?}: {result}");
            }
            assert_eq!(result["_meta"].get(SERVER_INFO), None, "{case}: {method:?}");
        }
    }
}

// requirement: 443d197e9715 e361a557c429
#[tokio::test(start_paused = true)]
async fn server_info_is_in_every_modern_result() {
    let anonymous = echo_builder().anonymous_results().build().unwrap();
    for case in Case::modern() {
        for method in methods(case) {
            let mut client = Client::connect(case, &full_server()).await;
            let result = result_of(&mut client, method).await;
            let info = json!({"name": "echo", "version": "1.0.0"});
            assert_eq!(result["_meta"][SERVER_INFO], info, "{case}: {method:?}");
        }
        for method in [Method::CallTool, Method::ListTools, Method::Discover] {
            let mut client = Client::connect(case, &anonymous).await;
            let result = result_of(&mut client, method).await;
            assert_eq!(result["_meta"].get(SERVER_INFO), None, "{case}: {method:?}");
        }
    }
}

// requirement: b68b2e5b380e
#[tokio::test(start_paused = true)]
async fn a_missing_field_is_32602() {
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    for case in Case::modern() {
        let mut client = Client::connect(case, &echo()).await;
        let whole = client.with_envelope(json!({}));
        let with = |key: &str, value: Option<Value>| {
            let mut params = whole.clone();
            let meta = params["_meta"].as_object_mut().unwrap();
            match value {
                Some(value) => meta.insert(key.into(), value),
                None => meta.remove(key),
            };
            params
        };
        let wrong = [
            with(version, None),
            with(version, Some(json!(5))),
            with(version, Some(json!(null))),
            with(capabilities, None),
            with(capabilities, Some(json!([]))),
            with(capabilities, Some(json!("all"))),
            with(capabilities, Some(json!(null))),
        ];
        for (at, params) in wrong.into_iter().enumerate() {
            let request =
                json!({"jsonrpc": "2.0", "id": at, "method": "tools/list", "params": params});
            let answer = client.exchange(&request).await;
            assert_eq!(answer["error"]["code"], -32602, "{request}: {answer}");
            assert_eq!(answer["id"], at);
        }
        for params in [json!({}), json!({"_meta": {}})] {
            let request =
                json!({"jsonrpc": "2.0", "id": "d", "method": "server/discover", "params": params});
            let answer = client.exchange(&request).await;
            assert_eq!(answer["error"]["code"], -32602, "{request}: {answer}");
        }
        // Who the client is may be left out.
        let info = "io.modelcontextprotocol/clientInfo";
        let request = json!({"jsonrpc": "2.0", "id": "i", "method": "tools/list", "params": with(info, None)});
        assert!(client.exchange(&request).await["result"]["tools"].is_array());
    }
}

#[tokio::test(start_paused = true)]
async fn each_request_counts_for_itself() {
    for case in Case::modern() {
        let options = ClientOptions::new().log_level("debug").progress_tokens();
        let mut client = Client::connect_with(case, &full_server(), options).await;
        client.request("tools/call", json!({"name": "talk"})).await;
        assert_eq!(
            client.messages().await.len(),
            2,
            "progress and a log message"
        );
        let mut meta = client.with_envelope(json!({}));
        let fields = meta["_meta"].as_object_mut().unwrap();
        fields.remove("io.modelcontextprotocol/logLevel");
        meta["name"] = "talk".into();
        let request = json!({"jsonrpc": "2.0", "id": "q", "method": "tools/call", "params": meta});
        assert_eq!(client.exchange(&request).await["id"], "q", "{case}");
        client.expect_silence().await;
    }
}
