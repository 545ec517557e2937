//! Tests of the revision that client and server agree on.

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client, ClientOptions, modern_meta};
use turnbuckle_wire::revision::Revision;

use crate::servers::echo;

// requirement: a0816e823fd5
#[tokio::test(start_paused = true)]
async fn every_revision_is_served() {
    for case in Case::all() {
        let mut client = Client::connect(case, &echo()).await;
        let call = json!({"name": "echo", "arguments": {"text": "hello"}});
        let answer = client.request("tools/call", call).await;
        assert_eq!(answer["result"]["content"][0]["text"], "hello", "{case}");
        client.expect_silence().await;
    }
}

fn modern_request(id: &str, method: &str) -> Value {
    let meta = modern_meta(Revision::NEWEST, &json!({}));
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": meta}})
}

// requirement: 845b6a3bae33 8bec9222d177
#[tokio::test(start_paused = true)]
async fn discover_is_always_answered() {
    let modern: Vec<_> = Revision::modern().map(Revision::as_str).collect();
    for case in Case::all() {
        let fresh = ClientOptions::new().without_handshake();
        for options in [fresh, ClientOptions::new()] {
            let mut client = Client::connect_with(case, &echo(), options).await;
            let answer = client
                .exchange(&modern_request("d", "server/discover"))
                .await;
            let result = &answer["result"];
            assert_eq!(
                result["supportedVersions"],
                json!(modern),
                "{case}: {answer}"
            );
            assert_eq!(
                result["capabilities"],
                json!({"tools": {"listChanged": true}})
            );
            assert_eq!(
                result["_meta"]["io.modelcontextprotocol/serverInfo"],
                json!({"name": "echo", "version": "1.0.0"})
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn both_eras_share_a_pipe() {
    for case in Case::legacy() {
        let mut client = Client::connect(case, &echo()).await;
        let modern = client.exchange(&modern_request("m", "tools/list")).await;
        assert_eq!(modern["result"]["resultType"], "complete", "{case}");
        let legacy = client.request("tools/list", json!({})).await;
        assert_eq!(legacy["result"].get("resultType"), None, "{case}");
        // What a session may say does not spread to what carries its own envelope.
        let ping = client.exchange(&modern_request("p", "ping")).await;
        assert_eq!(ping["error"]["code"], -32601, "{case}");
        assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
    }
}

// requirement: 7d049f8e4eb6
#[tokio::test(start_paused = true)]
async fn an_unserved_version_lists_the_served() {
    let modern: Vec<_> = Revision::modern().map(Revision::as_str).collect();
    let legacy = Revision::ALL.iter().map(|revision| revision.as_str());
    let unserved = legacy.filter(|version| !modern.contains(version));
    for version in unserved.chain(["", "2099-01-01", "DRAFT", "2.0"]) {
        for case in Case::modern() {
            let mut client = Client::connect(case, &echo()).await;
            for method in ["tools/list", "server/discover", "nobody/knows"] {
                let mut request = modern_request("v", method);
                request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] =
                    version.into();
                let answer = client.exchange(&request).await;
                assert_eq!(answer["error"]["code"], -32022, "{case}: {answer}");
                let data = json!({"supported": modern, "requested": version});
                assert_eq!(answer["error"]["data"], data);
            }
        }
    }
}
