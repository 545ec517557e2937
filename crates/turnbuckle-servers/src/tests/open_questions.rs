//! Questions that are open at a client of a proxy, while their requests go on at the server.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};
use turnbuckle_client::{Client, ClientBuilder, EraPreference, FormAnswer, Started};
use turnbuckle_server::{Ask, Result, Server, TaskSupport, Tasks, Tool};
use turnbuckle_session::transport::{ClientLimits, Timeouts};
use turnbuckle_types::Map;

use super::support::{ERAS, speak};
use crate::{InProcess, Proxy, Servers, UpstreamOptions};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Agreement {}

/// Returns a server with tools that ask: one waits for the answer, one for a second, one works for a minute after it.
fn origin() -> Server {
    let ask = Tool::builder("ask").handler(async |ask: Ask| -> Result<&str> {
        ask.form::<Agreement>("Really?").await?;
        Ok("asked")
    });
    let hurry = Tool::builder("hurry").handler(async |ask: Ask| {
        tokio::select! {
            _ = ask.form::<Agreement>("Really?") => "asked",
            () = sleep(Duration::from_secs(1)) => "gave up",
        }
    });
    let work = Tool::builder("work")
        .task(TaskSupport::optional().after(Duration::from_secs(5)))
        .handler(async |ask: Ask| -> Result<&str> {
            ask.form::<Agreement>("Really?").await?;
            sleep(Duration::from_secs(60)).await;
            Ok("worked")
        });
    let quick = Tool::builder("quick").handler(|| "quick");
    let server = Server::new("origin", "1").tool(ask).tool(hurry);
    let server = server.tool(work).tool(quick).extension(Tasks::new());
    server.build().unwrap()
}

async fn proxy(
    behind: EraPreference,
    options: impl FnOnce(UpstreamOptions) -> UpstreamOptions,
) -> Proxy {
    let proxy = Servers::builder("host", "1")
        .server("one", InProcess::new(origin()))
        .upstream("one", options)
        .clients(speak(behind));
    proxy.proxy(Server::new("gateway", "1")).await.unwrap()
}

async fn connect(proxy: &Proxy, builder: ClientBuilder) -> Client {
    let gateway = InProcess::new(proxy.server().clone());
    builder.connect(gateway).await.unwrap()
}

/// Returns a client whose user answers after this time; its own timeouts are longer.
fn answering_after(front: EraPreference, time: Duration) -> ClientBuilder {
    Client::builder("c", "1")
        .era(front)
        .limits(ClientLimits::default().handler_timeout(Duration::from_secs(3600)))
        .timeouts(Timeouts::uniform(Duration::from_secs(3600)))
        .on_form(move |_, _| async move {
            sleep(time).await;
            FormAnswer::Accept(Map::new())
        })
}

#[tokio::test(start_paused = true)]
async fn a_user_may_take_minutes_to_answer_in_every_pair_of_eras() {
    for (front, behind) in ERAS
        .into_iter()
        .flat_map(|it| ERAS.map(|behind| (it, behind)))
    {
        let proxy = proxy(behind, |options| options).await;
        let slow = answering_after(front, Duration::from_secs(5 * 60));
        let client = connect(&proxy, slow).await;
        let asked = client.call_tool("one__ask", &()).await.unwrap();
        assert_eq!(asked.text(), "asked", "{front:?} {behind:?}");
    }
}

/// A count that goes up when this value is dropped.
struct CountDrop(Arc<AtomicUsize>);

impl Drop for CountDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_its_server_withdraws_is_withdrawn_at_the_client() {
    let proxy = proxy(EraPreference::Legacy, |options| options).await;
    let dropped = Arc::new(AtomicUsize::new(0));
    let count = dropped.clone();
    let builder = Client::builder("c", "1").era(EraPreference::Legacy);
    let builder = builder.on_form(move |_, _| {
        let guard = CountDrop(count.clone());
        async move {
            let _guard = guard;
            pending().await
        }
    });
    let client = connect(&proxy, builder).await;
    let begun = Instant::now();
    let result = client.call_tool("one__hurry", &()).await.unwrap();
    assert_eq!(result.text(), "gave up");
    assert!(begun.elapsed() < Duration::from_secs(2));
    sleep(Duration::from_millis(10)).await;
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_too_late_brings_the_result_that_waits() {
    for front in ERAS {
        let proxy = proxy(EraPreference::Legacy, |options| options).await;
        let late = answering_after(front, Duration::from_secs(3));
        let client = connect(&proxy, late).await;
        let result = client.call_tool("one__hurry", &()).await.unwrap();
        assert_eq!(result.text(), "gave up", "{front:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_timeout_of_an_upstream_holds_while_a_question_is_open() {
    let options = |options: UpstreamOptions| {
        let options = options.total_timeout(Duration::from_secs(4));
        options.max_in_flight(1)
    };
    for front in ERAS {
        let proxy = proxy(EraPreference::Legacy, options).await;
        let never = answering_after(front, Duration::from_secs(3000));
        let asked = connect(&proxy, never).await;
        let other = connect(&proxy, Client::builder("c", "1").era(front)).await;
        let begun = Instant::now();
        let call = asked.call_tool("one__ask", &());
        let call = tokio::spawn(async move { call.await });
        sleep(Duration::from_secs(1)).await;
        // It waits for the one that is asked, and is not kept for ten minutes.
        let quick = other.call_tool("one__quick", &()).await.unwrap();
        assert_eq!(quick.text(), "quick", "{front:?}");
        assert!(begun.elapsed() < Duration::from_secs(6), "{front:?}");
        if front == EraPreference::Legacy {
            let ended = call.await.unwrap().unwrap();
            assert!(ended.is_error(), "{ended:?}");
            assert!(begun.elapsed() < Duration::from_secs(6));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_asks_and_then_becomes_a_task_is_a_task_of_the_proxy() {
    for (front, behind) in ERAS
        .into_iter()
        .flat_map(|it| ERAS.map(|behind| (it, behind)))
    {
        let case = format!("{front:?} {behind:?}");
        if front == EraPreference::Legacy {
            // A task of 2025-11-25 is one from the beginning.
            continue;
        }
        let proxy = proxy(behind, |options| options).await;
        let client = connect(&proxy, answering_after(front, Duration::ZERO)).await;
        let begun = Instant::now();
        let started = client.call_tool("one__work", &json!({})).start().await;
        let Started::Task(task) = started.unwrap() else {
            panic!("{case}: no task");
        };
        assert!(begun.elapsed() < Duration::from_secs(30), "{case}");
        assert_eq!(task.await.unwrap().text(), "worked", "{case}");
    }
}
