//! Tests that the oracle checks every message of a server while the conversation goes on.

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client, ClientOptions};
use turnbuckle_server::{HandlerContext, Prompt, Result, Roots, Server, Tool};

use turnbuckle_types::{
    CreateMessageRequestParams, ElicitRequestFormParams, ElicitationSchema, SamplingMessage,
    SamplingMessageContentBlock,
};
use turnbuckle_wire::revision::{Method, Party};

use crate::servers::{echo_builder, full_server, params_of};

fn form() -> ElicitRequestFormParams {
    ElicitRequestFormParams::new("Who are you?", ElicitationSchema::new())
}

fn sample() -> CreateMessageRequestParams {
    let message = SamplingMessage::user(SamplingMessageContentBlock::text("Who am I?"));
    CreateMessageRequestParams::new(vec![message], 100)
}

/// Creates a server that asks everything that can be asked.
fn inquisitive() -> Server {
    let called = async |(): (), context: HandlerContext| -> Result<&'static str> {
        context.ask("form", form())?;
        context.ask("sample", sample())?;
        context.ask("roots", Roots)?;
        Ok("asked")
    };
    let got = async |(): (), context: HandlerContext| -> Result<String> {
        context.ask("form", form())?;
        Ok("asked".to_owned())
    };
    echo_builder()
        .tool(Tool::builder("ask").handler(called))
        .prompt(Prompt::builder("ask").handler(got))
        .build()
        .unwrap()
}

// requirement: 4f182538b1ca 6855da91cdba 95e5f05888a1 9774fb4db6ac b81901557cbc cec94cc86958
// requirement: e37c9bc083a9
#[tokio::test(start_paused = true)]
async fn every_server_message_validates() {
    for case in Case::all() {
        let options = ClientOptions::new().progress_tokens().log_level("debug");
        let mut client = Client::connect_with(case, &full_server(), options).await;
        for method in Method::ALL
            .iter()
            .filter(|method| !method.is_notification())
        {
            let id = client.start(method.as_str(), params_of(*method)).await;
            if *method != Method::SubscriptionsListen
                || !method.is_received_by(Party::Server, case.revision)
            {
                client.response(id).await;
            }
        }
        client.request("tools/call", json!({"name": "talk"})).await;
        client.settle().await;
        assert!(client.received_messages().len() > 20, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_question_validates() {
    let capabilities = json!({"elicitation": {"form": {}}, "sampling": {}, "roots": {}});
    let reply = |method: &str| match method {
        "elicitation/create" => json!({"action": "accept", "content": {}}),
        "sampling/createMessage" => json!({
            "role": "assistant", "model": "m", "content": {"type": "text", "text": "you"},
        }),
        _ => json!({"roots": []}),
    };
    for case in Case::all()
        .into_iter()
        .filter(|case| case.revision.features().elicitation)
    {
        let options = ClientOptions::new().capabilities(capabilities.clone());
        let mut client = Client::connect_with(case, &inquisitive(), options).await;
        for (method, rounds) in [("tools/call", 3), ("prompts/get", 1)] {
            let mut params = json!({"name": "ask"});
            let mut id = client.start(method, params.clone()).await;
            for _ in 0..rounds {
                if case.is_legacy() {
                    let asked = client.next().await;
                    let asks = asked["method"].as_str().unwrap();
                    client.answer(&asked["id"], reply(asks)).await;
                    continue;
                }
                let result = client.response(id).await["result"].take();
                assert_eq!(result["resultType"], "input_required", "{case}: {result}");
                let answers: serde_json::Map<String, Value> = result["inputRequests"]
                    .as_object()
                    .unwrap()
                    .iter()
                    .map(|(key, asked)| (key.clone(), reply(asked["method"].as_str().unwrap())))
                    .collect();
                params["inputResponses"] = answers.into();
                if let Some(state) = result.get("requestState") {
                    params["requestState"] = state.clone();
                }
                id = client.start(method, params.clone()).await;
            }
            let answer = client.response(id).await;
            assert!(
                answer["result"].to_string().contains("asked"),
                "{case}: {answer}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_oracle_finds_messages_that_the_revision_lacks() {
    // A handler can send a frame of its own making; the harness must not let it pass.
    let bad = async |(): (), context: HandlerContext| {
        let frame = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}});
        context.send_frame(frame.to_string().into_bytes()).await;
        "sent"
    };
    let server = echo_builder()
        .tool(Tool::builder("bad").handler(bad))
        .build()
        .unwrap();
    for case in Case::all() {
        let server = server.clone();
        let called = tokio::spawn(async move {
            let mut client = Client::connect(case, &server).await;
            client.request("tools/call", json!({"name": "bad"})).await;
        });
        assert!(called.await.is_err_and(|error| error.is_panic()), "{case}");
    }
}
