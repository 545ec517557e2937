//! Requests that our client makes again with what the server asked for.

use std::collections::HashSet;

use serde_json::{Value, json};
use turnbuckle_client::{Form, FormAnswer, QuestionContext};
use turnbuckle_it::coupled::connect_to;
use turnbuckle_it::peer::{Peer, ReceivedMessage};
use turnbuckle_wire::revision::Revision;

use crate::client_support::plain;

const STATE: &str = "  {\"not\": \"ours\"} \u{e9}\\\n=?base64?eA==?= ";

fn form(message: &str) -> Value {
    json!({"method": "elicitation/create", "params": {"message": message,
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}})
}

fn required(heard: &ReceivedMessage, mut asks: Value) -> Vec<turnbuckle_it::peer::Step> {
    asks["resultType"] = "input_required".into();
    vec![heard.answer(asks)]
}

// requirement: 013b00853412 076bfd1014f6 3235405f49c2 5e61c8f6d4dd 8ea5efde43ca 92cc9a4a8d2c
// requirement: c6d42bcccdf7
#[tokio::test(start_paused = true)]
async fn state_goes_back_as_it_came_and_none_is_made_up() {
    let round = std::sync::atomic::AtomicUsize::new(0);
    let peer = Peer::calls(Revision::NEWEST, move |heard| {
        match round.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 => required(
                heard,
                json!({"inputRequests": {"a": form("?")}, "requestState": STATE}),
            ),
            1 => required(heard, json!({"inputRequests": {"b": form("?")}})),
            2 => required(heard, json!({"requestState": ""})),
            _ => vec![heard.answer(json!({"content": [], "resultType": "complete"}))],
        }
    });
    let builder =
        plain().on_form(async |_: Form, _: QuestionContext| FormAnswer::accept([("name", "Ada")]));
    let client = connect_to(&peer, builder).await.unwrap();
    client
        .call_tool("t", &json!({"x": [1, {"y": null}]}))
        .await
        .unwrap();
    let told: Vec<_> = peer
        .messages_of("tools/call")
        .into_iter()
        .map(|it| it.message)
        .collect();
    let params: Vec<_> = told.iter().map(|it| &it["params"]).collect();
    let state: Vec<_> = params.iter().map(|it| it.get("requestState")).collect();
    assert_eq!(state, [None, Some(&json!(STATE)), None, Some(&json!(""))]);
    let answers: Vec<_> = params.iter().map(|it| it.get("inputResponses")).collect();
    let named = |key: &str| json!({key: {"action": "accept", "content": {"name": "Ada"}}});
    assert_eq!(answers, [None, Some(&named("a")), Some(&named("b")), None]);
    for it in &params {
        assert_eq!(
            (&it["name"], &it["arguments"]),
            (&json!("t"), &params[0]["arguments"])
        );
    }
    let ids: HashSet<_> = told.iter().map(|it| it["id"].to_string()).collect();
    assert_eq!(ids.len(), 4);
}

// requirement: a496bd2971ac
#[tokio::test(start_paused = true)]
async fn answers_never_reach_another_request() {
    let peer = Peer::calls(Revision::NEWEST, |heard| {
        let params = &heard.message["params"];
        let who = params["arguments"]["who"].as_str().unwrap();
        match params.get("inputResponses") {
            None => required(
                heard,
                json!({"inputRequests": {"a": form(who)}, "requestState": who}),
            ),
            Some(_) => vec![heard.answer(json!({"content": [], "resultType": "complete"}))],
        }
    });
    let builder = plain().on_form(async |form: Form, _: QuestionContext| {
        // The first that is asked is the last to answer.
        let wait = 10 - form.message.parse::<u64>().unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(wait)).await;
        FormAnswer::accept([("name", form.message)])
    });
    let client = connect_to(&peer, builder.max_concurrent_questions(5))
        .await
        .unwrap();
    let calls: Vec<_> = (0..5)
        .map(|who| client.call_tool("t", &json!({"who": who.to_string()})))
        .map(|call| tokio::spawn(call.into_future()))
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    let retried: Vec<_> = peer
        .messages_of("tools/call")
        .into_iter()
        .map(|heard| heard.message["params"].clone())
        .filter(|params| params.get("inputResponses").is_some())
        .collect();
    assert_eq!(retried.len(), 5);
    for params in retried {
        let who = &params["arguments"]["who"];
        assert_eq!(params["inputResponses"]["a"]["content"]["name"], *who);
        assert_eq!(params["requestState"], *who);
    }
}
