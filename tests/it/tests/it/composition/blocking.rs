//! Functions that hold their thread.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{Args, Cancellation, Prompt, ReadRequest, Resource, Server, State, Tool};

use crate::support::{assert_panicked, call, error_text, result, text};
use crate::traced::Traced;

#[derive(Deserialize, JsonSchema)]
struct Number {
    n: i64,
}

#[tokio::test(start_paused = true)]
async fn they_run_on_other_threads_with_all_that_they_take() {
    type Threads = Mutex<Vec<ThreadId>>;
    let note = |threads: &Threads| threads.lock().unwrap().push(thread::current().id());
    let server = Server::new("s", "1")
        .state(Threads::default())
        .tool(
            Tool::builder("half").blocking(move |Args(it): Args<Number>, on: State<Threads>| {
                note(&on);
                match it.n % 2 {
                    0 => Ok((it.n / 2).to_string()),
                    _ => Err(format!("{} is odd", it.n)),
                }
            }),
        )
        .tool(Tool::builder("panics").blocking(|| -> String { panic!("secret") }))
        .prompt(Prompt::builder("p").blocking(|| "prompted"))
        .resource(Resource::builder("r://{n}", "r").blocking(
            |Args(it): Args<Number>, read: ReadRequest| format!("{} at {}", it.n, read.uri),
        ))
        .tool(Tool::builder("threads").handler(|on: State<Threads>| {
            let here = thread::current().id();
            on.lock()
                .unwrap()
                .iter()
                .all(|there| *there != here)
                .to_string()
        }))
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        assert_eq!(
            text(&call(&mut client, "half", json!({"n": 4})).await),
            "2",
            "{case}"
        );
        assert_eq!(
            error_text(&call(&mut client, "half", json!({"n": 3})).await),
            "3 is odd",
            "{case}"
        );
        let misused = call(&mut client, "half", json!({"n": "x"})).await;
        assert!(error_text(&misused).contains("arguments"), "{case}");
        assert_eq!(
            text(&call(&mut client, "threads", json!({})).await),
            "true",
            "{case}"
        );
        let failed = call(&mut client, "panics", json!({})).await;
        assert_panicked(&failed, case);
        let prompt = client.request("prompts/get", json!({"name": "p"})).await;
        assert_eq!(
            result(&prompt)["messages"][0]["content"]["text"],
            "prompted",
            "{case}"
        );
        let read = client
            .request("resources/read", json!({"uri": "r://7"}))
            .await;
        assert_eq!(result(&read)["contents"][0]["text"], "7 at r://7", "{case}");
    }
}

#[tokio::test]
async fn blocking_handlers_are_limited_and_cancelled_ones_do_not_begin() {
    let (go, wait) = mpsc::channel::<()>();
    let (wait, begun) = (Mutex::new(wait), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&begun);
    let server = Server::new("s", "1")
        .max_blocking(1)
        .tool(Tool::builder("t").blocking(move |_: Cancellation| {
            count.fetch_add(1, Ordering::SeqCst);
            wait.lock().unwrap().recv().unwrap();
            "went"
        }))
        .build()
        .unwrap();
    for case in Case::all() {
        begun.store(0, Ordering::SeqCst);
        let mut client = Client::connect(case, &server).await;
        let params = json!({"name": "t", "arguments": {}});
        let first = client.start("tools/call", params.clone()).await;
        let second = client.start("tools/call", params.clone()).await;
        let third = client.start("tools/call", params).await;
        while begun.load(Ordering::SeqCst) == 0 {
            client.settle().await;
        }
        client.cancel(second).await;
        client.settle().await;
        assert_eq!(begun.load(Ordering::SeqCst), 1, "{case}");
        go.send(()).unwrap();
        go.send(()).unwrap();
        assert_eq!(text(&client.response(first).await), "went", "{case}");
        assert_eq!(text(&client.response(third).await), "went", "{case}");
        assert_eq!(begun.load(Ordering::SeqCst), 2, "{case}");
    }
}

#[tokio::test]
async fn one_that_holds_its_thread_in_place_is_warned_about_once() {
    let traced = Traced::start();
    let sleep = |ms| move || thread::sleep(Duration::from_millis(ms));
    let server = Server::new("s", "1")
        .tool(Tool::builder("slow").handler(sleep(120)))
        .tool(Tool::builder("quick").handler(|| ()))
        .tool(Tool::builder("blocking").blocking(sleep(120)))
        .build()
        .unwrap();
    let mut client = Client::connect(
        Case::pipe(turnbuckle_wire::revision::Revision::NEWEST),
        &server,
    )
    .await;
    for name in ["slow", "quick", "slow", "blocking"] {
        let answer = call(&mut client, name, json!({})).await;
        assert!(answer.get("result").is_some(), "{answer:#}");
    }
    let warned = traced.with("held its thread");
    assert_eq!(warned.len(), 1, "{warned:?}");
    for word in ["WARN", "slow", "#[tool(blocking)]", ".blocking(…)"] {
        assert!(warned[0].contains(word), "{word}: {warned:?}");
    }
}
