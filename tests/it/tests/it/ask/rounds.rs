//! Tests of handlers that run again in each round of a request.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use turnbuckle_it::harness::{Client, ClientOptions};
use turnbuckle_server::{Args, Ask, AskError, Failure, HandlerContext, Server, Tool};

use super::{Answer, accept, answers, both, call, connect, server, tool};
use crate::support::{Question, able, code, converse, message, result, retry, text};

/// Does one round of a request and returns the parameters of the next.
async fn round(client: &mut Client, params: &Value, answer: impl Fn(&Question) -> Value) -> Value {
    let response = client.request("tools/call", params.clone()).await;
    assert_eq!(
        result(&response)["resultType"],
        "input_required",
        "{response:#}"
    );
    retry(&call(), &response["result"], answer)
}

fn answer_question(question: &Question) -> Value {
    match question.method.as_str() {
        "elicitation/create" => accept(json!({"said": question.params["message"]})),
        _ => answers(question),
    }
}

/// Creates a server whose handler asks differently in each of its runs.
fn changing(scripts: &'static [&'static [&'static str]]) -> Server {
    let run = Arc::new(AtomicUsize::new(0));
    server(tool(move |ask: Ask| {
        let script = scripts[run.fetch_add(1, Ordering::Relaxed).min(scripts.len() - 1)];
        async move {
            let mut heard = Vec::new();
            for message in script {
                match message.split_once('=') {
                    Some(("once", name)) => {
                        let value: u32 = ask.once(name, async { Ok(7) }).await?;
                        heard.push(value.to_string());
                    }
                    Some(("text", name)) => {
                        heard.push(ask.once(name, async { Ok("x".to_owned()) }).await?);
                    }
                    Some((key, message)) => {
                        let said: Answer = ask.form(message).key(key).await?;
                        heard.push(said.said);
                    }
                    None => heard.push(ask.form::<Answer>(*message).await?.said),
                }
            }
            Ok::<_, Failure>(heard.join(" "))
        }
    }))
}

#[tokio::test(start_paused = true)]
async fn the_value_of_a_once_is_there_in_a_later_run() {
    let server = server(tool(async |ask: Ask| {
        let before: Option<u32> = ask.once_value("build")?;
        let build: u32 = ask.once("build", async { Ok(7) }).await?;
        let said: Answer = ask.form("Which?").await?;
        let of_another_type = ask.once_value::<String>("build").is_err();
        Ok::<_, Failure>(format!(
            "{before:?} {build} {} {of_another_type}",
            said.said
        ))
    }));
    for (case, before) in both().into_iter().zip(["Some(7)", "None"]) {
        let mut client = connect(case, &server).await;
        let (answer, _) = converse(&mut client, "tools/call", call(), answer_question).await;
        assert_eq!(text(&answer), format!("{before} 7 Which? true"));
    }
}

#[tokio::test(start_paused = true)]
async fn code_that_changes_between_rounds_is_refused() {
    let changed: [&[&[&str]]; 8] = [
        // Another text, without and with a key of its own.
        &[&["a"], &["b"]],
        &[&["k=a"], &["k=b"]],
        // One more before, one less, another order.
        &[&["a"], &["b", "a"]],
        &[&["a"], &["a", "b"], &["b", "c"]],
        &[&["a"], &["a", "b"], &["b", "a"]],
        &[&["a"], &["a", "b"], &["b", "a", "c"]],
        // A value of another type.
        &[&["once=n", "a"], &["text=n", "a"]],
        &[&["text=n", "a"], &["once=n", "a"]],
    ];
    for scripts in changed {
        let server = changing(scripts);
        let mut client = connect(both()[0], &server).await;
        let mut params = call();
        for _ in 1..scripts.len() {
            params = round(&mut client, &params, answer_question).await;
        }
        let before = tokio::time::Instant::now();
        let answer = client.request("tools/call", params).await;
        // It cannot ask any more what it has not, and that is seen at once.
        assert!(before.elapsed() < Duration::from_secs(1), "{scripts:?}");
        assert_eq!(code(&answer), -32602, "{scripts:?} {answer}");
        assert!(message(&answer).contains("start it again"), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn code_that_only_adds_at_the_end_goes_on() {
    let server = changing(&[&["a"], &["a", "b"], &["a", "b", "once=n", "a", "k=a"]]);
    let mut client = connect(both()[0], &server).await;
    let (answer, asked) = converse(&mut client, "tools/call", call(), answer_question).await;
    assert_eq!(text(&answer), "a b 7 a a");
    let keys: Vec<_> = asked.iter().map(|it| it.key.as_deref().unwrap()).collect();
    assert_eq!(keys, ["form-1", "form-2", "form-3", "k"]);
}

#[tokio::test(start_paused = true)]
async fn names_are_unique_in_a_run() {
    let twice: [&[&[&str]]; 3] = [
        &[&["once=n", "once=n"]],
        &[&["k=a", "k=a"]],
        &[&["k=a", "k=b"]],
    ];
    for scripts in twice {
        let server = changing(scripts);
        for case in both() {
            let mut client = connect(case, &server).await;
            let (answer, _) = converse(&mut client, "tools/call", call(), answer_question).await;
            assert_eq!(code(&answer), -32603, "{case} {answer}");
            assert!(message(&answer).contains("two"), "{case} {answer}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_of_once_cannot_ask() {
    let server = server(tool(async |ask: Ask| {
        let inner = ask.clone();
        let body = async move { Ok(inner.form::<Answer>("in there?").await?.said) };
        ask.once::<String, _>("n", body).await
    }));
    for case in both() {
        let mut client = connect(case, &server).await;
        let answer = client.request("tools/call", call()).await;
        assert_eq!(code(&answer), -32603, "{case}");
        assert!(message(&answer).contains("`once`"), "{case} {answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_runs_is_waited_for() {
    let server = server(tool(async |ask: Ask| -> Result<String, Failure> {
        let slow = ask.once("slow", async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            Ok(5)
        });
        let (slow, said) = tokio::join!(slow, ask.form::<Answer>("who?"));
        let (slow, said): (u32, _) = (slow?, said?);
        Ok(format!("{slow} {}", said.said))
    }));
    let mut client = connect(both()[0], &server).await;
    let before = tokio::time::Instant::now();
    let params = round(&mut client, &call(), answer_question).await;
    assert!(before.elapsed() >= Duration::from_secs(3));
    let before = tokio::time::Instant::now();
    let answer = client.request("tools/call", params).await;
    assert_eq!(text(&answer), "5 who?");
    assert!(before.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_still_waits_for_something_is_refused_in_time() {
    let run = Arc::new(AtomicUsize::new(0));
    let server = server(tool(move |ask: Ask| {
        let message = ["first", "second"][run.fetch_add(1, Ordering::Relaxed)];
        async move {
            let for_ever = std::future::pending::<Result<(), AskError>>();
            let long = async { tokio::time::timeout(Duration::from_secs(60), for_ever).await };
            let long = async { long.await.unwrap_or(Ok(())) };
            let (said, ()) = tokio::try_join!(ask.form::<Answer>(message), long)?;
            Ok::<_, Failure>(said.said)
        }
    }));
    let mut client = connect(both()[0], &server).await;
    let params = round(&mut client, &call(), answer_question).await;
    let id = client.start("tools/call", params).await;
    client.wait(Duration::from_secs(9)).await;
    assert!(!client.is_answered(id).await);
    client.wait(Duration::from_secs(2)).await;
    assert_eq!(code(&client.response(id).await), -32602);
}

#[tokio::test(start_paused = true)]
async fn a_legacy_request_that_asks_without_an_end_is_bounded() {
    let server = server(tool(async |ask: Ask| -> Result<String, AskError> {
        loop {
            let question = ask.form::<Answer>("are you there?");
            let patience = Duration::from_millis(1);
            if let Ok(said) = tokio::time::timeout(patience, question).await {
                return Ok(said?.said);
            }
        }
    }));
    let mut client = connect(both()[1], &server).await;
    let answer = client.request("tools/call", call()).await;
    assert_eq!(code(&answer), -32603);
    assert!(message(&answer).contains("256"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_task_of_a_sync_handler_is_told_of_the_end() {
    let ended = Arc::new(AtomicUsize::new(0));
    let server = server(tool({
        let ended = ended.clone();
        move |ask: Ask| {
            let ended = ended.clone();
            tokio::spawn(async move {
                let answer = ask.form::<Answer>("too late").await;
                assert!(matches!(answer, Err(AskError::Ended)));
                ended.fetch_add(1, Ordering::Relaxed);
            });
            "done"
        }
    }));
    let mut client = connect(both()[0], &server).await;
    assert_eq!(text(&client.request("tools/call", call()).await), "done");
    client.settle().await;
    assert_eq!(ended.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_branch_that_is_slower_this_time_is_waited_for() {
    let run = Arc::new(AtomicUsize::new(0));
    let server = server(tool(move |ask: Ask| {
        let run = run.fetch_add(1, Ordering::Relaxed);
        async move {
            let early = async {
                tokio::time::sleep(Duration::from_secs(if run == 0 { 0 } else { 5 })).await;
                ask.form::<Answer>("early").await
            };
            let late = async {
                ask.form::<Answer>("late").await?;
                ask.form::<Answer>("last").await
            };
            if run == 0 {
                tokio::task::yield_now().await;
            }
            let (early, last) = tokio::join!(early, late);
            Ok::<_, Failure>(format!("{} {}", early?.said, last?.said))
        }
    }));
    let mut client = connect(both()[0], &server).await;
    let (answer, _) = converse(&mut client, "tools/call", call(), answer_question).await;
    assert_eq!(text(&answer), "early last");
}

#[tokio::test(start_paused = true)]
async fn state_belongs_to_its_request() {
    #[derive(Deserialize, JsonSchema)]
    struct Order {
        number: u32,
    }
    async fn place(Args(order): Args<Order>, ask: Ask) -> Result<String, Failure> {
        let answer: Answer = ask.form("who?").await?;
        Ok(format!("{} {}", order.number, answer.said))
    }
    let server = Server::new("bound", "1.0.0")
        .tool(Tool::builder("order").handler(place))
        .tool(Tool::builder("other").handler(place))
        .build()
        .unwrap();
    let params = json!({"name": "order", "arguments": {"number": 1}});
    let case = both()[0];
    let capabilities = able(case.revision);
    let options = |name: &str| {
        let principal = crate::support::principal(name);
        ClientOptions::new()
            .capabilities(capabilities.clone())
            .principal(principal)
    };
    let mut client = Client::connect_with(case, &server, options("ada")).await;
    let response = client.request("tools/call", params.clone()).await;
    let again = retry(&params, &response["result"], answer_question);
    let mut other = Client::connect_with(case, &server, options("eve")).await;
    let mut moved = again.clone();
    moved["name"] = "other".into();
    let mut changed = again.clone();
    changed["arguments"]["number"] = 2.into();
    let mut bare = again.clone();
    bare.as_object_mut().unwrap().remove("requestState");
    assert_eq!(
        code(&other.request("tools/call", again.clone()).await),
        -32602
    );
    assert_eq!(code(&client.request("tools/call", moved).await), -32602);
    assert_eq!(code(&client.request("tools/call", changed).await), -32602);
    // An answer that nobody asked for is none.
    let asked = client.request("tools/call", bare).await;
    assert_eq!(result(&asked)["resultType"], "input_required");
    assert_eq!(text(&client.request("tools/call", again).await), "1 who?");
}

#[tokio::test(start_paused = true)]
async fn answers_that_were_taken_stand() {
    let server = changing(&[&["a"], &["a", "b"], &["a", "b"]]);
    let mut client = connect(both()[0], &server).await;
    let first = round(&mut client, &call(), answer_question).await;
    let mut second = round(&mut client, &first, answer_question).await;
    second["inputResponses"]["form-1"] = accept(json!({"said": "something else"}));
    second["inputResponses"]["nobody"] = json!({"asked": "for this"});
    let answer = client.request("tools/call", second).await;
    assert_eq!(text(&answer), "a b");
}

#[tokio::test(start_paused = true)]
async fn the_state_of_a_legacy_client_is_limited() {
    let server = server(tool(async |ask: Ask| -> Result<String, AskError> {
        let big: String = ask.once("big", async { Ok("x".repeat(70_000)) }).await?;
        let said: Answer = ask.form("who?").await?;
        Ok(said.said + &big[..0])
    }));
    let mut client = connect(both()[0], &server).await;
    let answer = client.request("tools/call", call()).await;
    assert_eq!(code(&answer), -32603);
    assert!(message(&answer).contains("65536"), "{answer}");
    assert!(message(&answer).contains("\"big\" takes 70002"), "{answer}");
    // A legacy session keeps everything itself.
    let mut client = connect(both()[1], &server).await;
    let (answer, _) = converse(&mut client, "tools/call", call(), answer_question).await;
    assert_eq!(text(&answer), "who?");
}

#[tokio::test(start_paused = true)]
async fn questions_are_bounded() {
    let server = server(tool(async |ask: Ask| -> Result<(), AskError> {
        let mut all: Vec<_> = (0..257)
            .map(|n| ask.form::<Answer>(n.to_string()))
            .collect();
        let poll = |cx: &mut std::task::Context<'_>| {
            for it in &mut all {
                if let Poll::Ready(Err(error)) = Pin::new(it).poll(cx) {
                    return Poll::Ready(Err(error));
                }
            }
            Poll::Pending
        };
        std::future::poll_fn(poll).await
    }));
    for case in both() {
        let mut client = connect(case, &server).await;
        let id = client.start("tools/call", call()).await;
        let answer = client.response(id).await;
        assert_eq!(code(&answer), -32603, "{case}");
        assert!(message(&answer).contains("256"), "{case} {answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn both_doors_lead_into_one_ledger() {
    let server = server(tool(async |ask: Ask, context: HandlerContext| {
        let first: Answer = ask.form("first").await?;
        let count: u32 = ask.once("count", async { Ok(3) }).await?;
        let second = context.ask("second", crate::asking::form())?;
        let name = second
            .field("name")
            .and_then(|it| it.as_str().map(str::to_owned));
        let third: Answer = ask.form("third").await?;
        Ok::<_, Failure>(format!("{} {count} {name:?} {}", first.said, third.said))
    }));
    for case in both() {
        let mut client = connect(case, &server).await;
        let answer = |it: &Question| match it.params["message"].as_str() {
            Some("Who are you?") => accept(json!({"name": "Ada"})),
            _ => answer_question(it),
        };
        let (answer, asked) = converse(&mut client, "tools/call", call(), answer).await;
        assert_eq!(text(&answer), "first 3 Some(\"Ada\") third", "{case}");
        assert_eq!(asked.len(), 3, "{case}");
    }
}
