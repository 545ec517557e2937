//! Ids: echoed, refused, never repeated.

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client, ClientOptions};
use turnbuckle_server::{HandlerContext, Server, Tool};
use turnbuckle_wire::revision::Revision;

use crate::servers::{echo, echo_builder};

/// Returns a call as text, with an id that need not be valid.
fn call(client: &Client, id: &str, name: &str, arguments: Value) -> String {
    let params = client.with_envelope(json!({"name": name, "arguments": arguments}));
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
}

// requirement: 448dd036ee4b e767e54402d1 e826b15cd428
#[tokio::test(start_paused = true)]
async fn a_response_has_the_id_of_its_request() {
    let ids = [
        "1",
        r#""1""#,
        "-9223372036854775808",
        "9007199254740993",
        "123456789012345678901234567890",
        r#""a longer one, with ü""#,
        r#""""#,
    ];
    for case in Case::all() {
        let mut client = Client::connect(case, &echo()).await;
        for (name, arguments) in [("echo", json!({"text": "t"})), ("nobody", json!({}))] {
            for id in ids {
                client
                    .raw(&call(&client, id, name, arguments.clone()))
                    .await;
                let answer = client.next_raw().await;
                assert!(
                    answer.contains(&format!(r#""id":{id},"#)),
                    "{case}: {answer}"
                );
            }
        }
        // All at once, the last to begin the first to end.
        for (at, id) in ids.iter().enumerate() {
            let nap = json!({"seconds": 100 - at});
            client.raw(&call(&client, id, "sleep", nap)).await;
        }
        for id in ids.iter().rev() {
            let answer = client.next_raw().await;
            assert!(
                answer.contains(&format!(r#""id":{id},"#)),
                "{case}: {answer}"
            );
        }
    }
}

// requirement: bdbcccfb5804
#[tokio::test(start_paused = true)]
async fn an_id_is_a_string_or_an_integer() {
    for case in Case::duplex(Case::all()) {
        let mut client = Client::connect(case, &echo()).await;
        for id in ["1.5", "1e3", "true", "{}", "[]", "[1]"] {
            client
                .raw(&call(&client, id, "echo", json!({"text": "t"})))
                .await;
            assert_refused_without_id(&client.next_raw().await, case.revision);
        }
        client.expect_silence().await;
    }
}

// requirement: 8aace556e919
#[tokio::test(start_paused = true)]
async fn a_null_id_is_refused() {
    for case in Case::duplex(Case::all()) {
        let mut client = Client::connect(case, &echo()).await;
        client
            .raw(&call(&client, "null", "echo", json!({"text": "t"})))
            .await;
        assert_refused_without_id(&client.next_raw().await, case.revision);
        client.expect_silence().await;
    }
}

fn assert_refused_without_id(answer: &str, revision: Revision) {
    let answer: Value = serde_json::from_str(answer).unwrap();
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    let id = revision.features().null_error_id.then_some(&Value::Null);
    assert_eq!(answer.get("id"), id, "{revision}: {answer}");
}

// requirement: 448dd036ee4b
#[tokio::test(start_paused = true)]
async fn an_unreadable_id_is_answered_as_the_era_says() {
    for case in Case::duplex(Case::all()) {
        let options = ClientOptions::new().without_handshake();
        let mut fresh = Client::connect_with(case, &echo(), options).await;
        let mut open = Client::connect(case, &echo()).await;
        for (text, code) in [
            ("{\"jsonrpc\":\"2.0\",\"id\":1,", -32700),
            ("nonsense", -32700),
            ("5", -32600),
            ("{}", -32600),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600),
        ] {
            fresh.raw(text).await;
            let answer = fresh.next().await;
            assert_eq!(answer["error"]["code"], code, "{text}");
            assert_eq!(answer.get("id"), None, "nobody knows the era yet: {answer}");

            open.raw(text).await;
            let answer = open.next().await;
            assert_eq!(answer["error"]["code"], code, "{text}");
            let null = case.revision.features().null_error_id;
            assert_eq!(answer.get("id"), null.then_some(&Value::Null), "{answer}");
        }
    }
}

/// Returns the cases in which requests share a connection or a session. Exchanges of the modern era
/// share nothing.
fn sharing() -> Vec<Case> {
    let mut cases = Case::duplex(Case::modern());
    cases.extend(Case::legacy());
    cases
}

// requirement: bfab722d3e17 d3a20c5161d3
#[tokio::test(start_paused = true)]
async fn an_id_in_flight_is_refused() {
    for case in sharing() {
        let mut client = Client::connect(case, &echo()).await;
        client
            .raw(&call(&client, "7", "sleep", json!({"seconds": 5})))
            .await;
        let again = call(&client, "7", "echo", json!({"text": "t"}));
        client.raw(&again).await;
        let refused: Value = serde_json::from_str(&client.next_raw().await).unwrap();
        assert_eq!(
            (&refused["id"], &refused["error"]["code"]),
            (&json!(7), &json!(-32600))
        );
        // The other kind of 7 is another id.
        client
            .raw(&call(&client, r#""7""#, "echo", json!({"text": "t"})))
            .await;
        assert_eq!(
            client.response("7").await["result"]["content"][0]["text"],
            "t"
        );
        let answer: Value = serde_json::from_str(&client.next_raw().await).unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], "slept", "{case}");
        // It is free again.
        client.raw(&again).await;
        assert_eq!(
            client.response(7).await["result"]["content"][0]["text"],
            "t"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_id_is_not_free_before_its_handler_has_ended() {
    for case in sharing() {
        let mut client = Client::connect(case, &echo()).await;
        let id = client
            .start(
                "tools/call",
                json!({"name": "sleep", "arguments": {"seconds": 60}}),
            )
            .await;
        client.cancel(id).await;
        let again = call(&client, &id.to_string(), "echo", json!({"text": "t"}));
        client.raw(&again).await;
        let refused = client.response(id).await;
        assert_eq!(refused["error"]["code"], -32600, "{case}: {refused}");
        client.wait(std::time::Duration::from_secs(3)).await;
        client.raw(&again).await;
        let answer = client.response(id).await;
        assert_eq!(answer["result"]["content"][0]["text"], "t", "{case}");
    }
}

/// Creates a server whose one tool asks the client for its roots, several times at once and one
/// after another.
fn asking() -> Server {
    let ask = Tool::builder("ask").handler(async |(): (), context: HandlerContext| {
        let peer = context.peer().unwrap();
        for _ in 0..3 {
            let ask = || peer.request::<()>("roots/list", None);
            let (one, two) = tokio::join!(ask(), ask());
            one.unwrap();
            two.unwrap();
        }
        "asked"
    });
    echo_builder().tool(ask).build().unwrap()
}

// requirement: bfab722d3e17
#[tokio::test(start_paused = true)]
async fn own_ids_never_repeat_in_a_session() {
    for case in Case::legacy() {
        let options = ClientOptions::new().capabilities(json!({"roots": {}}));
        let mut client = Client::connect_with(case, &asking(), options).await;
        let mut ids: Vec<Value> = Vec::new();
        for _ in 0..2 {
            let call = client.start("tools/call", json!({"name": "ask"})).await;
            for _ in 0..6 {
                let asked = client.next_of("roots/list").await;
                let id = asked["id"].clone();
                assert!(!ids.contains(&id), "{case}: {id} again");
                client.answer(&id, json!({"roots": []})).await;
                ids.push(id);
            }
            let answer = client.response(call).await;
            assert_eq!(answer["result"]["content"][0]["text"], "asked");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn answers_in_any_order_reach_their_requests() {
    for case in Case::legacy() {
        let options = ClientOptions::new().capabilities(json!({"roots": {}}));
        let mut client = Client::connect_with(case, &asking(), options).await;
        let call = client.start("tools/call", json!({"name": "ask"})).await;
        for _ in 0..3 {
            let (one, two) = (client.next().await, client.next().await);
            // Answers with ids that nobody gave, or in another type, change nothing.
            client.answer(&json!(999), json!({"roots": []})).await;
            client
                .answer(&json!(one["id"].to_string()), json!({}))
                .await;
            client.answer(&two["id"], json!({"roots": []})).await;
            assert!(!client.is_answered(call).await);
            client.answer(&one["id"], json!({"roots": []})).await;
        }
        let answer = client.response(call).await;
        assert_eq!(answer["result"]["content"][0]["text"], "asked", "{case}");
    }
}
