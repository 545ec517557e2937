//! Handlers that ask as straight code, in every era.

mod interleaving;
mod rounds;
mod store;

use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{
    Ask, AskError, Failure, Handler, Prompt, Resource, Server, ServerBuilder, Tool, ToolOutput,
};
use turnbuckle_types::{
    CreateMessageRequestParams, ElicitRequestFormParams, ElicitationSchema, SamplingMessage,
    StringSchema,
};
use turnbuckle_wire::revision::Revision;

use crate::support::{
    Question, able, assert_panicked, code, connect_able, converse, error_text, result, text,
};

#[derive(Debug, Deserialize, JsonSchema)]
struct Answer {
    said: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Confirm {
    /// Really?
    really: bool,
    #[serde(default)]
    #[schemars(range(min = 1, max = 9))]
    copies: Option<u8>,
}

fn server(tool: Tool) -> Server {
    Server::new("asking", "1.0.0").tool(tool).build().unwrap()
}

fn call() -> Value {
    json!({"name": "it"})
}

fn tool<H, M>(handler: H) -> Tool
where
    H: Handler<Tool, M, Output: ToolOutput>,
    M: 'static,
{
    Tool::builder("it").handler(handler)
}

async fn connect(case: Case, server: &Server) -> Client {
    connect_able(case, server, able(case.revision)).await
}

fn eliciting() -> impl Iterator<Item = Case> {
    let all = Case::all().into_iter();
    all.filter(|case| case.revision.features().elicitation)
}

/// Returns the cases of both eras in which everything can be asked.
fn both() -> [Case; 2] {
    [
        Case::pipe(Revision::NEWEST),
        Case::pipe(Revision::NEWEST_LEGACY),
    ]
}

fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

async fn deploy(ask: Ask) -> Result<String, Failure> {
    let go: Confirm = ask.form("Deploy to prod?").await?;
    let roots = ask.roots().await?;
    Ok(format!("{} {:?} {}", go.really, go.copies, roots[0].uri))
}

fn answers(question: &Question) -> Value {
    match question.method.as_str() {
        "elicitation/create" if question.params["mode"] == "url" => json!({"action": "accept"}),
        "elicitation/create" => accept(json!({"really": "true", "copies": "3"})),
        "roots/list" => json!({"roots": [{"uri": "file:///home"}]}),
        _ => json!({
            "role": "assistant", "content": {"type": "text", "text": "fine"}, "model": "m",
        }),
    }
}

#[tokio::test(start_paused = true)]
async fn asking_reads_as_straight_code_in_every_revision() {
    let server = server(tool(deploy));
    for case in eliciting() {
        let mut client = connect(case, &server).await;
        let (answer, asked) = converse(&mut client, "tools/call", call(), answers).await;
        assert_eq!(text(&answer), "true Some(3) file:///home", "{case}");
        let methods: Vec<_> = asked.iter().map(|it| it.method.as_str()).collect();
        assert_eq!(methods, ["elicitation/create", "roots/list"], "{case}");
        let form = &asked[0].params["requestedSchema"];
        assert_eq!(
            *form,
            json!({
                "type": "object",
                "properties": {
                    "really": {"type": "boolean", "description": "Really?"},
                    "copies": {"type": "integer", "minimum": 1, "maximum": 9},
                },
                "required": ["really"],
            }),
            "{case}"
        );
        if case.is_modern() {
            let keys: Vec<_> = asked.iter().map(|it| it.key.as_deref().unwrap()).collect();
            assert_eq!(keys, ["form-1", "roots-1"]);
        }
    }
}

async fn together(ask: Ask) -> Result<String, Failure> {
    let (form, url, sample, roots) = tokio::join!(
        ask.form::<Confirm>("Sure?").key("sure"),
        ask.url("Sign in", "https://example.com/in"),
        ask.sample("Say something").max_tokens(7).system("Be kind"),
        ask.roots(),
    );
    let (form, (), sample, roots) = (form?, url?, sample?, roots?);
    let said = sample.content.as_slice()[0].as_text().unwrap_or_default();
    Ok(format!("{} {said} {}", form.really, roots.len()))
}

#[tokio::test(start_paused = true)]
async fn concurrent_questions_are_sent_together() {
    let server = server(tool(together));
    let mut client = connect(both()[0], &server).await;
    let answer = client.request("tools/call", call()).await;
    let asked = result(&answer)["inputRequests"].as_object().unwrap();
    let mut keys: Vec<_> = asked.keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["roots-1", "sample-1", "sure", "url-1"]);
    let sample = &asked["sample-1"]["params"];
    assert_eq!(sample["maxTokens"], 7);
    assert_eq!(sample["systemPrompt"], "Be kind");
    assert_eq!(sample["messages"][0]["content"]["text"], "Say something");
    for case in both() {
        let mut client = connect(case, &server).await;
        let (answer, asked) = converse(&mut client, "tools/call", call(), answers).await;
        assert_eq!((text(&answer), asked.len()), ("true fine 1", 4), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_spawned_task_asks_too() {
    let server = server(tool(async |ask: Ask| -> Result<String, Failure> {
        let task = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            ask.form::<Answer>("who?").await
        });
        Ok(task.await??.said)
    }));
    for case in both() {
        let mut client = connect(case, &server).await;
        let answer = |_: &Question| accept(json!({"said": "Ada"}));
        let (answer, _) = converse(&mut client, "tools/call", call(), answer).await;
        assert_eq!(text(&answer), "Ada", "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_spawned_task_repeats_an_unanswered_question() {
    let server = server(tool(async |ask: Ask| -> Result<String, Failure> {
        let task = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            ask.form::<Answer>("who?").await
        });
        Ok(task.await??.said)
    }));
    let mut client = connect(both()[0], &server).await;
    let mut params = call();
    for _ in 0..3 {
        let answer = client.request("tools/call", params).await;
        let result = result(&answer);
        assert_eq!(result["inputRequests"].as_object().unwrap().len(), 1);
        params = json!({"name": "it", "requestState": result["requestState"]});
    }
    params["inputResponses"] = json!({"form-1": accept(json!({"said": "Ada"}))});
    let answer = client.request("tools/call", params).await;
    assert_eq!(text(&answer), "Ada");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_question_is_not_asked() {
    let server = server(tool(async |ask: Ask| -> Result<String, Failure> {
        let mut unwanted = Box::pin(ask.form::<Answer>("never"));
        std::future::poll_fn(|cx| Poll::Ready(unwanted.as_mut().poll(cx).is_ready())).await;
        drop(unwanted);
        Ok(ask.form::<Answer>("who?").await?.said)
    }));
    let mut client = connect(both()[0], &server).await;
    let answer = |_: &Question| accept(json!({"said": "Ada"}));
    let (answer, asked) = converse(&mut client, "tools/call", call(), answer).await;
    assert_eq!((text(&answer), asked.len()), ("Ada", 1));
    assert_eq!(asked[0].params["message"], "who?");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_outlives_its_run_is_told_so() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let handler = {
        let told = told.clone();
        move |ask: Ask| {
            let told = told.clone();
            async move {
                let left = ask.clone();
                tokio::spawn(async move {
                    let error = left.form::<Answer>("from the task").await.unwrap_err();
                    told.lock().unwrap().push(format!("{error:?}"));
                    let error = left.form::<Answer>("too late").await.unwrap_err();
                    told.lock().unwrap().push(format!("{error:?}"));
                });
                tokio::task::yield_now().await;
                "done"
            }
        }
    };
    let server = server(tool(handler));
    for case in both() {
        let mut client = connect(case, &server).await;
        let id = client.start("tools/call", call()).await;
        client.wait(Duration::from_secs(1)).await;
        assert!(client.is_answered(id).await, "{case}");
        let told = std::mem::take(&mut *told.lock().unwrap());
        assert_eq!(told, ["Ended", "Ended"], "{case}");
    }
}

/// Returns a server whose handlers of every kind describe the answer to their first question.
fn telling() -> ServerBuilder {
    async fn describe_answer(ask: Ask) -> Result<String, Failure> {
        Ok(match ask.form::<Answer>("who?").await {
            Ok(said) => said.said,
            Err(AskError::Declined) => "declined".to_owned(),
            Err(AskError::Cancelled) => "cancelled".to_owned(),
            Err(AskError::Unsupported(error)) => format!("unsupported: {error}"),
            Err(AskError::Malformed(reason)) => format!("malformed: {reason}"),
            Err(other) => return Err(other.into()),
        })
    }
    async fn fail(ask: Ask) -> Result<String, Failure> {
        Ok(ask.form::<Answer>("who?").await?.said)
    }
    Server::new("telling", "1.0.0")
        .tool(Tool::builder("tell").handler(describe_answer))
        .tool(Tool::builder("it").handler(fail))
        .prompt(Prompt::builder("it").handler(fail))
        .resource(Resource::builder("it:1", "it").handler(fail))
}

#[tokio::test(start_paused = true)]
async fn outcomes_are_typed() {
    let server = telling().build().unwrap();
    for case in both() {
        let mut client = connect(case, &server).await;
        for (answer, expected) in [
            (json!({"action": "decline"}), "declined"),
            (json!({"action": "cancel"}), "cancelled"),
            (accept(json!({"said": "Ada"})), "Ada"),
            (
                accept(json!({})),
                "malformed: field `said`: must be filled in",
            ),
            (
                accept(json!({"said": [1]})),
                "malformed: field `said`: must be a string",
            ),
            (json!({"action": "dance"}), "malformed: `action`: "),
            (
                accept(json!("dance")),
                "malformed: `content`: expected an object",
            ),
        ] {
            let params = json!({"name": "tell"});
            let (told, _) = converse(&mut client, "tools/call", params, |_| answer.clone()).await;
            assert!(text(&told).starts_with(expected), "{case} {told}");
            // What was typed is for the handler alone.
            assert!(!text(&told).contains("dance"), "{case} {told}");
        }
        let mut client = connect_able(case, &server, json!({})).await;
        let told = client.request("tools/call", json!({"name": "tell"})).await;
        assert!(
            text(&told).starts_with("unsupported: the client did not"),
            "{case} {told}"
        );
        assert!(text(&told).contains("elicitation"), "{case} {told}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_a_handler_that_asks_keeps_its_error_code() {
    let server = telling().build().unwrap();
    for case in both() {
        let mut client = connect_able(case, &server, json!({})).await;
        let tool = client.request("tools/call", call()).await;
        let prompt = client.request("prompts/get", call()).await;
        let resource = client
            .request("resources/read", json!({"uri": "it:1"}))
            .await;
        if case.is_modern() {
            for answer in [tool, prompt, resource] {
                assert_eq!(code(&answer), -32021, "{answer}");
                let needed = &answer["error"]["data"]["requiredCapabilities"];
                assert_eq!(*needed, json!({"elicitation": {"form": {}}}));
            }
        } else {
            assert!(error_text(&tool).contains("elicitation"), "{tool}");
            assert_eq!((code(&prompt), code(&resource)), (-32602, -32602));
        }
        let mut client = connect(case, &server).await;
        let decline = |_: &Question| json!({"action": "decline"});
        let (answer, _) = converse(&mut client, "tools/call", call(), decline).await;
        assert_eq!(error_text(&answer), "the user declined to answer", "{case}");
        let malformed = |_: &Question| accept(json!({"said": 5.5}));
        let (answer, _) = converse(&mut client, "prompts/get", call(), malformed).await;
        assert_eq!(code(&answer), -32602, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn our_client_answers_in_every_revision() {
    use turnbuckle_client::{Client, Form, FormAnswer, QuestionContext};
    use turnbuckle_it::coupled::Coupled;
    use turnbuckle_types::FieldValue;

    let server = server(tool(async |ask: Ask| -> Result<String, Failure> {
        let (name, sure) = tokio::join!(ask.form::<Answer>("name"), ask.form::<Confirm>("sure"));
        Ok(format!("{} {}", name?.said, sure?.really))
    }));
    for case in eliciting() {
        let builder = Client::builder("tester", "1.0.0");
        let builder =
            builder.on_form(
                async |form: Form, _: QuestionContext| match &*form.message {
                    "name" => FormAnswer::accept([("said", FieldValue::from("Ada"))]),
                    _ => FormAnswer::accept([("really", FieldValue::from(true))]),
                },
            );
        let client = Coupled::connect(case, &server, builder).await;
        let result = client.call_tool("it", &json!({})).await.unwrap();
        assert_eq!(result.content[0].as_text(), Some("Ada true"), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_sampling_request_of_a_legacy_client_is_declined() {
    let server = server(tool(async |ask: Ask| {
        let params = CreateMessageRequestParams::new([SamplingMessage::user("Hello")], 5u32);
        match ask.sample(params).await {
            Err(AskError::Declined) => "declined",
            _ => "something else",
        }
    }));
    let mut client = connect(both()[1], &server).await;
    let id = client.start("tools/call", call()).await;
    let asked = client.next_of("sampling/createMessage").await;
    client
        .answer_error(&asked["id"], -1, "User rejected sampling request")
        .await;
    assert_eq!(text(&client.response(id).await), "declined");
}

#[tokio::test(start_paused = true)]
async fn an_answer_may_come_along_with_the_first_request() {
    let named = server(tool(async |ask: Ask| -> Result<String, Failure> {
        let said: Answer = ask.form("Who?").key("who").await?;
        let more: Answer = ask.form("What?").await?;
        Ok(format!("{} {}", said.said, more.said))
    }));
    let mut client = connect(Case::pipe(Revision::NEWEST), &named).await;
    let brought = json!({
        "name": "it",
        "inputResponses": {
            "who": accept(json!({"said": "Ada"})),
            // Only a key that the handler chose is known before it is asked.
            "form-1": accept(json!({"said": "early"})),
        },
    });
    let answers = |_: &Question| accept(json!({"said": "asked"}));
    let (answer, asked) = converse(&mut client, "tools/call", brought, answers).await;
    assert_eq!(text(&answer), "Ada asked");
    assert_eq!(asked.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_form_by_hand_returns_the_action_and_the_content() {
    let server = server(tool(async |ask: Ask| -> Result<String, Failure> {
        let schema = ElicitationSchema::new().required("said", StringSchema::new());
        let result = ask
            .raw_form(ElicitRequestFormParams::new("Say", schema))
            .await?;
        Ok(format!("{:?}", result.action))
    }));
    for case in both() {
        for (action, told) in [
            ("accept", "Accept"),
            ("decline", "Decline"),
            ("cancel", "Cancel"),
        ] {
            let mut client = connect(case, &server).await;
            let answers = move |_: &Question| match action {
                "accept" => accept(json!({"said": "x"})),
                _ => json!({"action": action}),
            };
            let (answer, _) = converse(&mut client, "tools/call", call(), answers).await;
            assert_eq!(text(&answer), told, "{case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_after_an_answer_is_told_like_any_other() {
    async fn straight(ask: Ask) -> Result<String, Failure> {
        let _: Answer = ask.form("Who?").await?;
        panic!("secret");
    }
    async fn again(context: turnbuckle_server::HandlerContext) -> Result<String, Failure> {
        let schema = ElicitationSchema::new().required("said", StringSchema::new());
        context.ask("who", ElicitRequestFormParams::new("Who?", schema))?;
        panic!("secret");
    }
    for server in [server(tool(straight)), server(tool(again))] {
        for case in both() {
            let mut client = connect(case, &server).await;
            let answers = |_: &Question| accept(json!({"said": "x"}));
            let (answer, asked) = converse(&mut client, "tools/call", call(), answers).await;
            assert_eq!(asked.len(), 1, "{case}");
            assert_panicked(&answer, case);
        }
    }
}
