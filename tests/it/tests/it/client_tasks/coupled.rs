//! Our client with tasks of our server, over every transport and revision.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use turnbuckle_client::{Error, Form, FormAnswer, QuestionContext, Started, TaskHandle};
use turnbuckle_it::coupled::Coupled;
use turnbuckle_it::harness::Case;
use turnbuckle_server::{Ask, Failure, Progress, Server, TaskSupport, Tasks, Tool};
use turnbuckle_types::TaskStatus;
use turnbuckle_wire::revision::Features;

use super::read;
use crate::client_support::plain;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Keep {
    keep: bool,
}

fn server() -> Server {
    let slow = async |progress: Progress| {
        progress.report_with_message(1, 2, "half of it").await;
        tokio::time::sleep(Duration::from_secs(30)).await;
        "done"
    };
    let asks = async |ask: Ask| -> Result<String, Failure> {
        let keep: Keep = ask.form("Keep it?").await?;
        Ok(format!("keep: {}", keep.keep))
    };
    let fails = async || Err::<(), _>(Failure::new("it broke"));
    let optional = TaskSupport::optional;
    let required = TaskSupport::required;
    Server::new("studio", "1.0.0")
        .tool(Tool::builder("slow").task(optional()).handler(slow))
        .tool(Tool::builder("long").task(required()).handler(slow))
        .tool(Tool::builder("asks").task(optional()).handler(asks))
        .tool(Tool::builder("fails").task(optional()).handler(fails))
        .tool(Tool::builder("plain").handler(async || "at once"))
        .extension(Tasks::new())
        .build()
        .unwrap()
}

fn has_tasks(features: &Features) -> bool {
    features.core_tasks || features.extensions
}

#[tokio::test(start_paused = true)]
async fn calls_wait_through_the_tasks_of_our_server() {
    for case in Case::all() {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let builder = plain().on_form(move |_: Form, _: QuestionContext| {
            count.fetch_add(1, Ordering::Relaxed);
            async { FormAnswer::accept([("keep", true)]) }
        });
        let client = Coupled::connect(case, &server(), builder).await;
        let features = case.revision.features();
        let result = client.call_tool("slow", &()).await.unwrap();
        assert_eq!(result.text(), "done", "{case}");
        if features.elicitation {
            let result = client.call_tool("asks", &()).await.unwrap();
            assert_eq!(result.text(), "keep: true", "{case}");
            assert_eq!(asked.load(Ordering::Relaxed), 1, "{case}");
        }
        let failed = client.call_tool("fails", &()).await.unwrap();
        assert!(
            failed.is_error() && failed.text().contains("it broke"),
            "{case}"
        );
        let required = client.call_tool("long", &()).await;
        match has_tasks(features) {
            true => assert_eq!(required.unwrap().text(), "done", "{case}"),
            false => assert!(matches!(required, Err(Error::ErrorResponse(_))), "{case}"),
        }
        assert_eq!(client.in_flight(), Default::default(), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_of_our_server_is_started_left_and_found_again() {
    for case in Case::all() {
        let builder = plain()
            .on_form(async |_: Form, _: QuestionContext| FormAnswer::accept([("keep", false)]));
        let client = Coupled::connect(case, &server(), builder).await;
        let features = case.revision.features();
        let started = client.call_tool("plain", &()).start().await.unwrap();
        assert!(matches!(started, Started::Done(_)), "{case}");
        let tools: &[_] = match features.elicitation {
            true => &[("slow", "done"), ("asks", "keep: false")],
            false => &[("slow", "done")],
        };
        for (tool, text) in tools {
            match client.call_tool(*tool, &()).start().await.unwrap() {
                Started::Done(result) => {
                    assert!(!has_tasks(features), "{case}");
                    assert_eq!(result.text(), *text, "{case}");
                }
                Started::Task(task) => {
                    assert!(has_tasks(features), "{case}");
                    let handle: TaskHandle = task.to_string().parse().unwrap();
                    let result = client.task(handle).await.unwrap();
                    assert_eq!(result.text(), *text, "{case}");
                    let state = task.status().await.unwrap();
                    assert_eq!(state.task.status, TaskStatus::Completed, "{case}");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn status_messages_of_our_server_are_progress() {
    for case in Case::all() {
        if !has_tasks(case.revision.features()) {
            continue;
        }
        let client = Coupled::connect(case, &server(), plain()).await;
        client.list_tools().fetch_all().await.unwrap();
        let (call, progress) = client.call_tool("long", &()).with_progress();
        let (result, heard) = tokio::join!(call, read(progress));
        assert_eq!(result.unwrap().text(), "done", "{case}");
        assert!(
            heard
                .iter()
                .any(|(_, message)| message.contains("half of it")),
            "{case} {heard:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_of_our_server_is_cancelled_by_the_deadline_and_by_its_client() {
    for case in Case::all() {
        if !has_tasks(case.revision.features()) {
            continue;
        }
        let client = Coupled::connect(case, &server(), plain()).await;
        client.list_tools().fetch_all().await.unwrap();
        let call = client.call_tool("long", &());
        let error = call
            .total_timeout(Duration::from_secs(5))
            .await
            .unwrap_err();
        assert!(error.is_timeout(), "{case} {error}");
        let sent = client.tap().sent_messages();
        let cancels = sent.iter().filter(|it| it["method"] == "tasks/cancel");
        assert_eq!(cancels.count(), 1, "{case}");

        let Started::Task(task) = client.call_tool("slow", &()).start().await.unwrap() else {
            panic!("{case}");
        };
        task.cancel().await.unwrap();
        let error = task.await.unwrap_err();
        assert!(
            matches!(error, Error::TaskCancelled { .. }),
            "{case} {error}"
        );
        let unknown = format!("{}/slow/none", case.revision).parse::<TaskHandle>();
        let error = client.task(unknown.unwrap()).await.unwrap_err();
        let code = error.error_response().map(|response| response.code);
        assert_eq!(code, Some(-32602), "{case} {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn our_server_fetches_the_answer_of_a_question_that_is_a_task() {
    use turnbuckle_server::HandlerContext;

    let fetch = async |(): (), context: HandlerContext| -> Result<String, Failure> {
        let failed = |error: &dyn std::fmt::Debug| Failure::new(format!("{error:?}"));
        let peer = context.peer().unwrap();
        let question = json!({"message": "?", "mode": "form", "task": {"ttl": 60_000},
            "requestedSchema": {"type": "object", "properties": {"keep": {"type": "boolean"}}}});
        let created = peer.request("elicitation/create", Some(&question)).await;
        let created: serde_json::Value = created
            .map_err(|error| failed(&error))?
            .decode()
            .map_err(|error| failed(&error))?;
        let id = json!({"taskId": created["task"]["taskId"]});
        let result = peer.request("tasks/result", Some(&id)).await;
        Ok(result.map_err(|error| failed(&error))?.to_string())
    };
    let server = Server::new("studio", "1.0.0")
        .tool(Tool::builder("fetch").handler(fetch))
        .build()
        .unwrap();
    for case in Case::legacy() {
        if !case.revision.features().core_tasks {
            continue;
        }
        let builder = plain().on_form(async |_: Form, _: QuestionContext| {
            tokio::time::sleep(Duration::from_secs(7)).await;
            FormAnswer::accept([("keep", true)])
        });
        let client = Coupled::connect(case, &server, builder).await;
        let result = client.call_tool("fetch", &()).await.unwrap();
        let text = result.text();
        assert!(
            text.contains(r#""content":{"keep":true}"#) && text.contains("related-task"),
            "{case} {text}"
        );
    }
}
