//! Tasks of servers behind a proxy, between clients and servers of either era.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::{Notify, Semaphore};
use turnbuckle_client::{
    Client, ClientBuilder, EraPreference, Form, FormAnswer, QuestionContext, Started,
};
use turnbuckle_server::{Ask, Cancellation, Progress, Result, Server, TaskSupport, Tasks, Tool};
use turnbuckle_types::{CallToolResult, FieldValue, Map, TaskStatus};

use super::support::{ERAS, speak};
use crate::{InProcess, Proxy, Servers};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

/// Returns a server whose tools are tasks: one waits at a gate and then asks, one needs a client with tasks,
/// one waits until it is cancelled, and one is quick.
fn origin(gate: Arc<Semaphore>, ended: Arc<Notify>) -> Server {
    let render = Tool::builder("render")
        .task(TaskSupport::optional())
        .handler(move |ask: Ask, progress: Progress| {
            let gate = gate.clone();
            async move {
                progress.report_with_message(1, 2, "half of it").await;
                gate.acquire().await.unwrap().forget();
                let name: Name = ask.form("Whose?").await?;
                Ok(format!("rendered for {}", name.name)) as Result<String>
            }
        });
    let train = Tool::builder("train")
        .task(TaskSupport::required())
        .handler(async || "trained");
    let endless = Tool::builder("endless")
        .task(TaskSupport::optional())
        .handler(move |cancellation: Cancellation| {
            let ended = ended.clone();
            async move {
                cancellation.cancelled().await;
                ended.notify_one();
            }
        });
    let quick = Tool::builder("quick").handler(async || "quick");
    Server::new("origin", "1")
        .tool(render)
        .tool(train)
        .tool(endless)
        .tool(quick)
        .extension(Tasks::new())
        .build()
        .unwrap()
}

struct Connected {
    client: Client,
    gate: Arc<Semaphore>,
    ended: Arc<Notify>,
    _proxy: Proxy,
}

async fn connect(
    towards_server: EraPreference,
    towards_client: EraPreference,
    configure: impl FnOnce(ClientBuilder) -> ClientBuilder,
) -> Connected {
    let (gate, ended) = (Arc::new(Semaphore::new(0)), Arc::new(Notify::new()));
    let origin = origin(gate.clone(), ended.clone());
    let proxy = Servers::builder("proxy", "1")
        .server("origin", InProcess::new(origin))
        .client("origin", speak(towards_server))
        .proxy(Server::new("proxy", "1"))
        .await
        .unwrap();
    let builder = Client::builder("host", "1").era(towards_client).on_form(
        |form: Form, _: QuestionContext| async move {
            assert_eq!(form.message, "Whose?");
            let mut answer = Map::new();
            answer.insert("name", FieldValue::from("Ada"));
            FormAnswer::Accept(answer)
        },
    );
    let client = configure(builder)
        .connect(InProcess::new(proxy.server().clone()))
        .await
        .unwrap();
    Connected {
        client,
        gate,
        ended,
        _proxy: proxy,
    }
}

fn text(result: &CallToolResult) -> &str {
    assert_ne!(result.is_error, Some(true), "{result:?}");
    result.content[0].as_text().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_task_of_a_server_is_a_task_of_the_proxy_in_every_pair_of_eras() {
    for to_server in ERAS {
        for to_client in ERAS {
            let pair = format!("server {to_server:?}, client {to_client:?}");
            let connected = connect(to_server, to_client, |builder| builder).await;
            let tools = connected.client.list_tools().fetch_all().await.unwrap();
            let name = |own: &str| {
                let tool = tools.iter().find(|tool| tool.name.ends_with(own));
                tool.unwrap().name.clone()
            };
            let call = connected.client.call_tool(name("render"), &json!({}));
            let Started::Task(task) = call.start().await.unwrap() else {
                panic!("{pair}: no task");
            };
            tokio::time::sleep(Duration::from_secs(3)).await;
            let state = task.status().await.unwrap();
            assert_eq!(state.task.status, TaskStatus::Working, "{pair}");
            assert_eq!(
                state.task.status_message.as_deref(),
                Some("half of it"),
                "{pair}"
            );
            // The handler runs again when its question was answered.
            connected.gate.add_permits(2);
            let result = task.await.unwrap();
            assert_eq!(text(&result), "rendered for Ada", "{pair}");

            let call = connected.client.call_tool(name("train"), &json!({}));
            assert_eq!(text(&call.await.unwrap()), "trained", "{pair}");
            let call = connected.client.call_tool(name("quick"), &json!({}));
            // A client of 2025-11-25 wishes for tasks itself, where any call of the server may become one.
            let result = match call.start().await.unwrap() {
                Started::Done(result) => result,
                Started::Task(task) if to_client == EraPreference::Legacy => task.await.unwrap(),
                Started::Task(_) => panic!("{pair}: a task that is none"),
            };
            assert_eq!(text(&result), "quick", "{pair}");

            let call = connected.client.call_tool(name("endless"), &json!({}));
            let Started::Task(task) = call.start().await.unwrap() else {
                panic!("{pair}: no task");
            };
            task.cancel().await.unwrap();
            let ended = connected.ended.notified();
            tokio::time::timeout(Duration::from_secs(60), ended)
                .await
                .expect(&pair);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_without_tasks_gets_the_plain_call() {
    for to_server in ERAS {
        for to_client in ERAS {
            let pair = format!("server {to_server:?}, client {to_client:?}");
            let connected = connect(to_server, to_client, |builder| builder.tasks(false)).await;
            // The handler runs again when its question was answered.
            connected.gate.add_permits(2);
            for (own, expected) in [("render", "rendered for Ada"), ("train", "trained")] {
                let tools = connected.client.list_tools().fetch_all().await.unwrap();
                let tool = tools.iter().find(|tool| tool.name.ends_with(own)).unwrap();
                let call = connected.client.call_tool(&tool.name, &json!({}));
                assert_eq!(text(&call.await.unwrap()), expected, "{pair}");
            }
        }
    }
}
