//! Asking the client's model.

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{Failure, HandlerContext, Server, Tool};
use turnbuckle_types::{
    Audio, CreateMessageRequestParams, Image, IncludeContext, RawObject, Role, SamplingMessage,
    SamplingMessageContentBlock, Schema, ToolResultContent, ToolUseContent,
};

use crate::asking::{self, good_answer, handler_text, requests};
use crate::support::{
    Question, able, call, code, connect_able, converse, error_text, message, text,
};

fn good(question: &Question) -> Value {
    good_answer(&question.method, &question.params)
}

/// Creates a server with a tool that asks the model the given question.
fn asking_with(
    params: impl Fn() -> CreateMessageRequestParams + Send + Sync + Clone + 'static,
) -> Server {
    Server::new("sampling", "1.0.0")
        .tool(
            Tool::builder("sample").handler(move |(): (), context: HandlerContext| {
                let params = params();
                async move {
                    let answer = context.ask("q", params)?;
                    Ok::<_, Failure>(format!("{} says {:?}", answer.model, answer.content))
                }
            }),
        )
        .build()
        .unwrap()
}

async fn connect(case: Case, server: &Server) -> Client {
    connect_able(case, server, able(case.revision)).await
}

// requirement: cec94cc86958
#[tokio::test(start_paused = true)]
async fn a_message_has_role_and_content() {
    let messages = || {
        [
            SamplingMessage::user("hello"),
            SamplingMessage::assistant("yes?"),
            SamplingMessage::user(Image::png("hi")),
            SamplingMessage::user(Audio::wav("hi")),
        ]
    };
    let server = asking_with(move || {
        CreateMessageRequestParams::new(messages(), 50u32)
            .system_prompt("Be brief")
            .temperature(1u32)
    });
    for case in Case::all() {
        let mut client = connect(case, &server).await;
        let params = json!({"name": "sample"});
        let (answer, asked) = converse(&mut client, "tools/call", params, good).await;
        assert!(text(&answer).contains("something"), "{case}");
        let [asked] = &asked[..] else {
            panic!("{case}: {asked:?}")
        };
        assert_eq!(asked.params["maxTokens"], 50, "{case}");
        assert_eq!(asked.params["systemPrompt"], "Be brief", "{case}");
        let sent = asked.params["messages"].as_array().unwrap();
        assert_eq!(sent.len(), 4, "{case}");
        for message in sent {
            assert!(
                ["user", "assistant"]
                    .map(Value::from)
                    .contains(&message["role"]),
                "{case}"
            );
            assert!(message["content"]["type"].is_string(), "{case}");
        }
        assert_eq!(
            sent[0],
            json!({"role": "user", "content": {"type": "text", "text": "hello"}})
        );
        assert_eq!(sent[1]["role"], "assistant");
        assert_eq!(sent[2]["content"]["mimeType"], "image/png");
        let audio = case.revision.features().audio;
        assert_eq!(sent[3]["content"]["type"] == "audio", audio, "{case}");
        assert!(
            sent[3].to_string().contains("audio/wav"),
            "{case}: {}",
            sent[3]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn several_blocks_are_sent_where_a_message_may_hold_them() {
    let server = asking_with(|| {
        let blocks = vec![
            SamplingMessageContentBlock::text("a"),
            SamplingMessageContentBlock::text("b"),
        ];
        CreateMessageRequestParams::new([SamplingMessage::user(blocks)], 50u32)
    });
    for case in Case::all() {
        let mut client = connect(case, &server).await;
        let params = json!({"name": "sample"});
        let (answer, asked) = converse(&mut client, "tools/call", params, good).await;
        if case.revision.features().sampling_tools {
            text(&answer);
            let content = &asked[0].params["messages"][0]["content"];
            assert_eq!(content.as_array().unwrap().len(), 2, "{case}");
        } else {
            // Nothing is left out: it is not asked at all.
            assert!(
                error_text(&answer).contains("several blocks"),
                "{case}: {answer}"
            );
            assert_eq!(asked, [], "{case}");
        }
    }
}

// requirement: 00fc182ebc6d
#[tokio::test(start_paused = true)]
async fn tools_need_their_capability() {
    let server = asking::server();
    for case in Case::all() {
        let with = case.revision.features().sampling_tools;
        for (able, may) in [
            (json!({"sampling": {}}), false),
            (json!({"sampling": {"context": {}}}), false),
            (json!({"sampling": {"tools": {}}}), with),
        ] {
            let mut client = connect_able(case, &server, able.clone()).await;
            for (method, params) in requests("tools") {
                let (response, asked) = converse(&mut client, method, params, good).await;
                assert_eq!(asked.len(), usize::from(may), "{case} {able}");
                if may {
                    handler_text(method, &response);
                    assert_eq!(asked[0].params["tools"][0]["name"], "look", "{case}");
                } else if case.is_modern() {
                    let required = &response["error"]["data"]["requiredCapabilities"];
                    assert_eq!(required, &json!({"sampling": {"tools": {}}}), "{case}");
                } else if method == "tools/call" {
                    error_text(&response);
                } else {
                    assert_eq!(code(&response), -32602, "{case}");
                }
            }
        }
    }
}

// requirement: af4ea0edcaa7
#[tokio::test(start_paused = true)]
async fn context_needs_its_capability() {
    let server = asking::server();
    for case in Case::all() {
        // Before it was a capability of its own, context was a part of sampling.
        let apart = case.revision.features().sampling_tools;
        for (able, may) in [
            (json!({"sampling": {}}), !apart),
            (json!({"sampling": {"tools": {}}}), !apart),
            (json!({"sampling": {"context": {}}}), true),
        ] {
            let mut client = connect_able(case, &server, able.clone()).await;
            for (method, params) in requests("context") {
                let (_, asked) = converse(&mut client, method, params, good).await;
                assert_eq!(asked.len(), usize::from(may), "{case} {able}");
                for asked in asked {
                    assert_eq!(asked.params["includeContext"], "thisServer", "{case}");
                }
            }
        }
        // To include none is no capability at all.
        let none = asking_with(|| asking::sample().include_context(IncludeContext::None));
        let mut client = connect_able(case, &none, json!({"sampling": {}})).await;
        let params = json!({"name": "sample"});
        let (answer, asked) = converse(&mut client, "tools/call", params, good).await;
        text(&answer);
        assert_eq!(asked.len(), 1, "{case}");
    }
}

fn uses(ids: &[&str]) -> SamplingMessage {
    let uses = ids
        .iter()
        .map(|id| ToolUseContent::new(*id, "look", RawObject::empty()).into());
    SamplingMessage::new(
        Role::Assistant,
        uses.collect::<Vec<SamplingMessageContentBlock>>(),
    )
}

fn results(ids: &[&str]) -> SamplingMessage {
    let results = ids.iter().map(|id| ToolResultContent::new(*id).into());
    SamplingMessage::new(
        Role::User,
        results.collect::<Vec<SamplingMessageContentBlock>>(),
    )
}

// requirement: 26228a209fab 8f8905afc45a d31b84a630a5 e17277ff9f72
#[tokio::test(start_paused = true)]
async fn tool_turns_are_checked_before_sending() {
    let hello = || SamplingMessage::user("hello");
    let mixed = || {
        let result: SamplingMessageContentBlock = ToolResultContent::new("1").into();
        SamplingMessage::user(vec![result, SamplingMessageContentBlock::text("and more")])
    };
    let good_turns = [
        vec![hello(), uses(&["1"]), results(&["1"])],
        vec![
            hello(),
            uses(&["1", "2"]),
            results(&["2", "1"]),
            uses(&["3"]),
            results(&["3"]),
        ],
        vec![
            hello(),
            uses(&["1"]),
            results(&["1"]),
            SamplingMessage::assistant("done"),
        ],
    ];
    let bad_turns = [
        vec![hello(), uses(&["1"])],
        vec![hello(), uses(&["1"]), hello()],
        vec![hello(), uses(&["1"]), uses(&["2"]), results(&["1", "2"])],
        vec![hello(), uses(&["1", "2"]), results(&["1"])],
        vec![hello(), uses(&["1"]), results(&["1", "2"])],
        vec![hello(), uses(&["1"]), results(&["2"])],
        vec![hello(), uses(&["1"]), results(&["1", "1"])],
        vec![hello(), results(&["1"])],
        vec![hello(), uses(&["1"]), mixed()],
        vec![hello(), uses(&["1", "1"]), results(&["1", "1"])],
        vec![SamplingMessage::user(vec![
            ToolUseContent::new("1", "look", RawObject::empty()).into(),
        ])],
    ];
    let turns = good_turns
        .map(|it| (it, true))
        .into_iter()
        .chain(bad_turns.map(|it| (it, false)));
    for (messages, good_turn) in turns {
        let shown = format!("{messages:?}");
        let server = asking_with(move || {
            let tools = [turnbuckle_types::Tool::new("look", Schema::object())];
            CreateMessageRequestParams::new(messages.clone(), 50u32).tools(tools)
        });
        for case in Case::all()
            .into_iter()
            .filter(|it| it.revision.features().sampling_tools)
        {
            let mut client = connect(case, &server).await;
            let params = json!({"name": "sample"});
            let (answer, asked) = converse(&mut client, "tools/call", params, good).await;
            assert_eq!(asked.len(), usize::from(good_turn), "{case} {shown}");
            if good_turn {
                text(&answer);
            } else {
                assert_eq!(code(&answer), -32603, "{case} {shown}");
                assert!(message(&answer).contains("message "), "{answer}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_malformed_answer_of_the_model_is_refused() {
    let server = asking_with(asking::sample);
    for case in Case::all() {
        let mut client = connect(case, &server).await;
        for malformed in [
            json!({}),
            json!({"role": "assistant", "content": {"type": "text", "text": "x"}}),
            json!({"role": "nobody", "content": {"type": "text", "text": "x"}, "model": "m"}),
            json!({"role": "assistant", "content": "x", "model": "m"}),
        ] {
            let answer = |_: &Question| malformed.clone();
            let params = json!({"name": "sample"});
            let (response, _) = converse(&mut client, "tools/call", params, answer).await;
            assert_eq!(code(&response), -32602, "{case} {malformed}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_the_client_is_told() {
    let server = asking_with(asking::sample);
    for case in Case::legacy() {
        let mut client = connect(case, &server).await;
        for refusal in [-1, -32602, -32601, -32603] {
            let id = client.start("tools/call", json!({"name": "sample"})).await;
            let asked = client.next().await;
            client
                .answer_error(&asked["id"], refusal, "User rejected sampling")
                .await;
            let answer = client.response(id).await;
            assert!(
                error_text(&answer).contains("User rejected sampling"),
                "{case}"
            );
        }
        assert_eq!(
            call(&mut client, "nothing", json!({})).await["error"]["code"],
            -32602
        );
    }
}
