//! Modern requests stand alone.

use serde_json::{Value, json};
use turnbuckle_it::harness::{Bind, Case, Client, ClientOptions};
use turnbuckle_server::{
    Failure, HandlerContext, KeyRing, Prompt, SecretKey, Server, ServerBuilder, Tool,
};
use turnbuckle_types::LoggingLevel;
use turnbuckle_wire::revision::Revision;

use crate::asking::{self, form, good_answer, handler_text, requests};
use crate::support::{able, call, code, connect_able, result, retry, taking, text};

fn builder() -> ServerBuilder {
    let key = || KeyRing::new(SecretKey::from_bytes([7; 32]));
    asking::builder().keys(key())
}

// requirement: f10aa01fa303
#[tokio::test(start_paused = true)]
async fn another_connection_serves_as_well() {
    // Two instances that share nothing but their keys.
    let (here, there) = (builder().build().unwrap(), builder().build().unwrap());
    let stranger = asking::server();
    for case in Case::modern() {
        for (method, params) in requests("form,roots") {
            let able = able(case.revision);
            let mut first = connect_able(case, &here, able.clone()).await;
            let answer = first.request(method, params.clone()).await;
            let mut half = retry(&params, result(&answer), |it| {
                good_answer(&it.method, &it.params)
            });
            half["inputResponses"]
                .as_object_mut()
                .unwrap()
                .remove("roots");
            drop(first);

            let mut second = connect_able(case, &there, able.clone()).await;
            let answer = second.request(method, half).await;
            let rest = retry(&params, result(&answer), |it| {
                good_answer(&it.method, &it.params)
            });
            drop(second);

            // Keys of its own open nothing of another's.
            let mut other = connect_able(case, &stranger, able.clone()).await;
            assert_eq!(
                code(&other.request(method, rest.clone()).await),
                -32602,
                "{case}"
            );

            let mut third = connect_able(case, &here, able).await;
            let said = handler_text(method, &third.request(method, rest).await);
            assert!(
                said.contains("Ada") && said.contains("file:///"),
                "{case}: {said}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn keys_can_be_replaced() {
    let (old, new) = (
        || SecretKey::from_bytes([1; 32]),
        || SecretKey::from_bytes([2; 32]),
    );
    let with = |keys: KeyRing| asking::builder().keys(keys).build().unwrap();
    let before = with(KeyRing::new(old()));
    let rolled = with(KeyRing::new(new()).with_previous(old()));
    let after = with(KeyRing::new(new()));
    for case in Case::modern() {
        let [(method, params), ..] = requests("form,roots");
        let able = able(case.revision);
        let mut client = connect_able(case, &before, able.clone()).await;
        let first = client.request(method, params.clone()).await;
        let mut half = retry(&params, result(&first), |it| {
            good_answer(&it.method, &it.params)
        });
        half["inputResponses"]
            .as_object_mut()
            .unwrap()
            .remove("roots");
        let second = client.request(method, half).await;
        let rest = retry(&params, result(&second), |it| {
            good_answer(&it.method, &it.params)
        });
        let mut client = connect_able(case, &rolled, able.clone()).await;
        handler_text(method, &client.request(method, rest.clone()).await);
        let mut client = connect_able(case, &after, able).await;
        assert_eq!(code(&client.request(method, rest).await), -32602, "{case}");
    }
}

// requirement: d9f7473b2b81
#[tokio::test(start_paused = true)]
async fn client_info_changes_nothing() {
    let server = builder().build().unwrap();
    for case in Case::modern() {
        let mut answers = Vec::new();
        for info in [
            Value::Null,
            json!({"name": "tester", "version": "1"}),
            json!({"name": "another", "version": "9.9.9", "title": "x", "com.example": [1]}),
        ] {
            let options = ClientOptions::new().client_info(info);
            let mut client = Client::connect_with(case, &server, options).await;
            let mut said = Vec::new();
            for (method, params) in [
                ("server/discover", json!({})),
                ("tools/list", json!({})),
                ("prompts/list", json!({})),
                ("resources/templates/list", json!({})),
                (
                    "tools/call",
                    json!({"name": "ask", "arguments": {"kinds": "form"}}),
                ),
                ("tools/call", json!({"name": "nothing"})),
                ("nothing", json!({})),
            ] {
                client.start(method, params).await;
                said.push(client.next_raw().await);
            }
            answers.push(said);
        }
        assert_eq!(answers[0], answers[1], "{case}");
        assert_eq!(answers[0], answers[2], "{case}");
    }
}

// requirement: e542f66d5d08
#[tokio::test(start_paused = true)]
async fn interleaved_conversations_do_not_meet() {
    let server = Server::new("s", "1")
        .tool(
            Tool::builder("greet").handler(async |(): (), context: HandlerContext| {
                let answer = context.ask("name", form())?;
                let name = answer
                    .field("name")
                    .and_then(|it| it.as_str())
                    .map(str::to_owned);
                Ok::<_, Failure>(name.unwrap_or_default())
            }),
        )
        .build()
        .unwrap();
    for case in Case::modern() {
        let mut client = connect_able(case, &server, able(case.revision)).await;
        let params = json!({"name": "greet"});
        let names = ["Ada", "Bob", "Eve"];
        let mut ids = Vec::new();
        for _ in names {
            ids.push(client.start("tools/call", params.clone()).await);
        }
        let mut seconds = Vec::new();
        for (id, name) in ids.into_iter().zip(names).rev() {
            let first = client.response(id).await;
            let again = retry(
                &params,
                result(&first),
                |_| json!({"action": "accept", "content": {"name": name}}),
            );
            seconds.push((client.start("tools/call", again).await, name));
        }
        for (id, name) in seconds {
            assert_eq!(text(&client.response(id).await), name, "{case}");
        }
    }
}

// requirement: 7814e0bbc462
#[tokio::test(start_paused = true)]
async fn lists_never_vary_by_connection() {
    let server = Server::new("s", "1")
        .tool(taking("a", json!({"type": "object"})))
        .tool(taking("b", json!({"type": "object"})))
        .prompt(Prompt::builder("p").handler(async |(): (), _: HandlerContext| String::new()))
        .build()
        .unwrap();
    for case in Case::all() {
        let mut lists = Vec::new();
        for round in 0..3 {
            let capabilities = if round == 1 {
                able(case.revision)
            } else {
                json!({})
            };
            let info = json!({"name": format!("client {round}"), "version": "1"});
            let options = ClientOptions::new()
                .capabilities(capabilities)
                .client_info(info);
            let mut client = Client::connect_with(case, &server, options).await;
            // What was asked before on the connection is no matter.
            if round == 2 {
                call(&mut client, "a", json!({})).await;
                call(&mut client, "nothing", json!({})).await;
                client.request("prompts/get", json!({"name": "p"})).await;
            }
            for method in ["tools/list", "prompts/list"] {
                lists.push((
                    method,
                    result(&client.request(method, json!({})).await).clone(),
                ));
            }
        }
        assert!(
            lists.iter().all(|it| lists[..2].contains(it)),
            "{case}: {lists:#?}"
        );
    }
}

// requirement: 0705efc7d780
#[tokio::test(start_paused = true)]
async fn nothing_is_remembered_between_requests() {
    let server = asking::builder()
        .logging()
        .tool(
            Tool::builder("log").handler(async |(): (), context: HandlerContext| {
                context.log(LoggingLevel::Error, None, "logged").await;
                let info = context.client_info().map(|it| it.name);
                format!(
                    "{info:?} {:?}",
                    context.client_capabilities().supports_sampling()
                )
            }),
        )
        .build()
        .unwrap();
    let meta = |name: &str, value: Value| json!({name: value});
    for case in Case::modern() {
        let options = ClientOptions::new().client_info(Value::Null);
        let mut client = Client::connect_with(case, &server, options).await;
        let ask = |kinds: &str, meta: Value| json!({"name": "ask", "arguments": {"kinds": kinds}, "_meta": meta});
        let capabilities = "io.modelcontextprotocol/clientCapabilities";
        let whole = meta(capabilities, able(case.revision));
        let asked = client
            .request("tools/call", ask("form", whole.clone()))
            .await;
        assert_eq!(result(&asked)["resultType"], "input_required", "{case}");
        // The next request says less, and that is what counts.
        for _ in 0..2 {
            let asked = client.request("tools/call", ask("form", json!({}))).await;
            assert_eq!(code(&asked), -32021, "{case}");
        }
        let mut loud = whole;
        loud["io.modelcontextprotocol/logLevel"] = "debug".into();
        loud["io.modelcontextprotocol/clientInfo"] = json!({"name": "loud", "version": "1"});
        let params = json!({"name": "log", "_meta": loud});
        let answer = client.request("tools/call", params).await;
        assert_eq!(text(&answer), "Some(\"loud\") true", "{case}");
        assert_eq!(client.messages().await.len(), 1, "{case}");
        let answer = call(&mut client, "log", json!({})).await;
        assert_eq!(text(&answer), "None false", "{case}");
        assert_eq!(client.messages().await, [Value::Null; 0], "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_on_the_pipe_says_nothing_of_modern_requests() {
    let server = asking::server();
    let pipes = Case::modern()
        .into_iter()
        .filter(|it| it.binding != Bind::Http);
    for case in pipes {
        let options = ClientOptions::new().capabilities(json!({}));
        let mut client = Client::connect_with(case, &server, options).await;
        let latest = json!({
            "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
                "protocolVersion": Revision::NEWEST_LEGACY.as_str(),
                "capabilities": able(Revision::NEWEST_LEGACY),
                "clientInfo": {"name": "both", "version": "1"},
            },
        });
        client.send(&latest).await;
        result(&client.response("hello").await);
        let [(method, params), ..] = requests("form");
        assert_eq!(
            code(&client.request(method, params).await),
            -32021,
            "{case}"
        );
    }
}
