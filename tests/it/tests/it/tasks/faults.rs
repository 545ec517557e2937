//! Tests of tasks whose store is slow, full or gone, and of tasks between two runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use turnbuckle_it::faulty_store::{Fault, FaultyStore};
use turnbuckle_it::harness::{Case, Client, ClientOptions};
use turnbuckle_server::{
    Ask, Failure, KeyRing, RawArguments, SecretKey, Server, ServerBuilder, TaskSupport, Tasks, Tool,
};
use turnbuckle_store::{MemoryStore, MemoryStoreOptions, StoreErrorKind};

use super::{able, answer_task, call_as_task, get, task_cases};
use crate::support::{call, code, message, principal, result, text};

/// A time after which an instance without a sign counts as ended.
const LOST: Duration = Duration::from_secs(30);

/// The runs of handlers, and the gate at which some wait.
#[derive(Clone)]
struct Work {
    runs: Arc<AtomicUsize>,
    gate: Arc<Semaphore>,
}

impl Work {
    fn new() -> Self {
        Self {
            runs: Arc::default(),
            gate: Arc::new(Semaphore::new(0)),
        }
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Go {
    go: bool,
}

fn builder(work: &Work, store: &FaultyStore, tasks: Tasks) -> ServerBuilder {
    let counted = |name: &'static str, support: TaskSupport| {
        let runs = work.runs.clone();
        Tool::builder(name)
            .task(support)
            .handler(move |_: RawArguments| {
                runs.fetch_add(1, Ordering::Relaxed);
                async { "done" }
            })
    };
    let optional = TaskSupport::optional;
    let gate = work.gate.clone();
    let waits = Tool::builder("waits")
        .task(optional())
        .handler(move |_: RawArguments| {
            let gate = gate.clone();
            async move {
                gate.acquire().await.unwrap().forget();
                "passed"
            }
        });
    let asks = Tool::builder("asks")
        .task(optional())
        .handler(async |ask: Ask| {
            let go: Go = ask.form("Go on?").key("go").await?;
            Ok::<_, Failure>(format!("go: {}", go.go))
        });
    let large = Tool::builder("large")
        .task(optional())
        .handler(async |_: RawArguments| "x".repeat(100_000));
    Server::new("s", "1")
        .tool(Tool::builder("plain").handler(async |_: RawArguments| "plain"))
        .tool(counted("quick", optional()))
        .tool(counted("again", optional().resumable()))
        .tool(counted("only", TaskSupport::required()))
        .tools([waits, asks, large])
        .extension(tasks)
        .keys(KeyRing::new(SecretKey::from_bytes([7; 32])))
        .store(store.clone())
}

fn server(work: &Work, store: &FaultyStore) -> Server {
    builder(work, store, Tasks::new()).build().unwrap()
}

async fn connect(case: Case, server: &Server) -> Client {
    let options = ClientOptions::new()
        .capabilities(able(case))
        .principal(principal("ada"));
    Client::connect_with(case, server, options).await
}

/// Starts a tool as a task.
async fn start(client: &mut Client, tool: &str) -> String {
    let created = call_as_task(client, tool, json!({})).await;
    created["taskId"].as_str().unwrap().to_owned()
}

fn accept() -> Value {
    json!({"go": {"action": "accept", "content": {"go": true}}})
}

fn modern() -> impl Iterator<Item = Case> {
    task_cases().into_iter().filter(|case| case.is_modern())
}

#[tokio::test(start_paused = true)]
async fn without_its_store_a_call_is_plain_or_refused_by_name() {
    for case in task_cases() {
        for (fault, name) in [
            (Fault::Error(StoreErrorKind::Unavailable), "unavailable"),
            (Fault::Error(StoreErrorKind::Full), "full"),
            (Fault::Slow(Duration::from_secs(60)), "timed_out"),
        ] {
            let (work, store) = (Work::new(), FaultyStore::default());
            let server = server(&work, &store);
            let mut client = connect(case, &server).await;
            let id = start(&mut client, "waits").await;
            store.fail("", fault);
            let answer = call(&mut client, "plain", json!({})).await;
            assert_eq!(text(&answer), "plain", "{case} {name}");
            let mut refused = Vec::new();
            let mut params = json!({"name": "only", "arguments": {}});
            match case.is_modern() {
                // The server decides whether the call becomes a task.
                true => {
                    let answer = call(&mut client, "quick", json!({})).await;
                    assert_eq!(text(&answer), "done", "{case} {name}");
                    refused.push(answer_task(&mut client, &id, accept()).await);
                }
                false => params["task"] = json!({}),
            }
            refused.push(client.request("tools/call", params).await);
            for method in ["tasks/get", "tasks/cancel"] {
                refused.push(client.request(method, json!({"taskId": id})).await);
            }
            for answer in refused {
                assert_eq!(code(&answer), -32603, "{case} {name}: {answer}");
                assert!(
                    message(&answer).starts_with("the store of tasks has failed ("),
                    "{case} {name}: {answer}"
                );
                // What an engine says is for the log.
                assert!(!message(&answer).contains("engine"), "{case}: {answer}");
            }
            // The end of the run is recorded when the store is there again.
            work.gate.add_permits(1);
            client.wait(Duration::from_secs(7)).await;
            store.heal();
            client.wait(Duration::from_secs(15)).await;
            let ended = get(&mut client, &id).await;
            assert_eq!(ended["status"], "completed", "{case} {name}: {ended}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_did_not_become_a_task_is_not_run_again() {
    for case in modern() {
        for operation in ["append", "push"] {
            let work = Work::new();
            let engine = MemoryStore::new();
            let store = FaultyStore::for_engine(&engine);
            let first = builder(&work, &store, Tasks::new().list(true));
            let first = first.build().unwrap();
            let second = server(&work, &FaultyStore::for_engine(&engine));
            let mut client = connect(case, &first).await;
            let mut other = connect(case, &second).await;
            // The instances show that they are there.
            other.wait(LOST).await;
            let before = engine.len();
            store.fail(operation, Fault::Error(StoreErrorKind::TimedOut));
            let answer = call(&mut client, "again", json!({})).await;
            assert_eq!(text(&answer), "done", "{case} {operation}");
            other.wait(LOST * 3).await;
            assert_eq!(work.runs.load(Ordering::Relaxed), 1, "{case} {operation}");
            // But for the entry in the list of the caller's tasks.
            let left = usize::from(operation == "push");
            assert_eq!(engine.len() - before, left, "{case} {operation}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_without_room_fails_by_name() {
    for case in task_cases() {
        let engine = MemoryStore::with_options(MemoryStoreOptions::new().max_bytes(60_000));
        let server = server(&Work::new(), &FaultyStore::for_engine(&engine));
        let mut client = connect(case, &server).await;
        let id = start(&mut client, "large").await;
        client.wait(Duration::from_secs(1)).await;
        let ended = get(&mut client, &id).await;
        assert_eq!(ended["status"], "failed", "{case}: {ended}");
        let why = ended["statusMessage"].as_str().unwrap();
        assert!(why.contains("no room"), "{case}: {why}");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_that_come_before_a_run_is_over_are_not_lost() {
    for case in modern() {
        let store = FaultyStore::default();
        let server = server(&Work::new(), &store);
        let mut client = connect(case, &server).await;
        // The lease is given up behind the questions.
        store.fail("remove", Fault::Slow(Duration::from_millis(500)));
        let id = start(&mut client, "asks").await;
        client.wait(Duration::from_millis(100)).await;
        result(&answer_task(&mut client, &id, accept()).await);
        client.wait(Duration::from_secs(3)).await;
        let ended = get(&mut client, &id).await;
        assert_eq!(
            ended["result"]["content"][0]["text"], "go: true",
            "{case}: {ended}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn answers_at_another_instance_wait_for_the_end_of_the_run() {
    for case in modern() {
        let engine = MemoryStore::new();
        let store = FaultyStore::for_engine(&engine);
        let first = server(&Work::new(), &store);
        let second = server(&Work::new(), &FaultyStore::for_engine(&engine));
        let mut client = connect(case, &first).await;
        let mut other = connect(case, &second).await;
        store.fail("remove", Fault::Slow(Duration::from_millis(500)));
        let id = start(&mut client, "asks").await;
        client.wait(Duration::from_millis(100)).await;
        result(&answer_task(&mut other, &id, accept()).await);
        other.wait(Duration::from_secs(3)).await;
        let ended = get(&mut other, &id).await;
        assert_eq!(
            ended["result"]["content"][0]["text"], "go: true",
            "{case}: {ended}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_a_lease_does_not_renew_it() {
    for case in modern() {
        let engine = MemoryStore::new();
        let store = FaultyStore::for_engine(&engine);
        let first = server(&Work::new(), &store);
        let mut client = connect(case, &first).await;
        // The instance ends between the questions and the end of its lease.
        store.fail("remove", Fault::Error(StoreErrorKind::Unavailable));
        let id = start(&mut client, "asks").await;
        client.wait(Duration::from_millis(100)).await;
        store.fail("", Fault::Error(StoreErrorKind::Unavailable));
        let second = server(&Work::new(), &FaultyStore::for_engine(&engine));
        let mut other = connect(case, &second).await;
        result(&answer_task(&mut other, &id, accept()).await);
        other.wait(Duration::from_secs(12)).await;
        let ended = get(&mut other, &id).await;
        assert_eq!(
            ended["result"]["content"][0]["text"], "go: true",
            "{case}: {ended}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_waits_for_its_turn_is_not_lost() {
    for case in modern() {
        let (work, engine) = (Work::new(), MemoryStore::new());
        let store = FaultyStore::for_engine(&engine);
        let busy = builder(&work, &store, Tasks::new().max_running(1));
        let busy = busy.build().unwrap();
        let mut client = connect(case, &busy).await;
        let id = start(&mut client, "asks").await;
        client.wait(Duration::from_millis(100)).await;
        start(&mut client, "waits").await;
        result(&answer_task(&mut client, &id, accept()).await);
        client.wait(LOST).await;
        assert_eq!(get(&mut client, &id).await["status"], "working", "{case}");
        // Another instance has room.
        let second = server(&Work::new(), &FaultyStore::for_engine(&engine));
        let mut other = connect(case, &second).await;
        get(&mut other, &id).await;
        other.wait(Duration::from_secs(1)).await;
        let ended = get(&mut other, &id).await;
        assert_eq!(
            ended["result"]["content"][0]["text"], "go: true",
            "{case}: {ended}"
        );
        work.gate.add_permits(1);
        client.wait(Duration::from_secs(1)).await;
        assert_eq!(get(&mut client, &id).await["status"], "completed", "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_queue_does_not_end_leases() {
    let (work, engine) = (Work::new(), MemoryStore::new());
    let store = FaultyStore::for_engine(&engine);
    let first = server(&work, &store);
    let second = server(&work, &FaultyStore::for_engine(&engine));
    let case = modern().next().unwrap();
    let mut client = connect(case, &first).await;
    let mut other = connect(case, &second).await;
    let id = start(&mut client, "waits").await;
    // Slower than any bound of the server would let it be.
    store.fail("claim", Fault::Slow(Duration::from_secs(60)));
    other.wait(LOST * 2).await;
    assert_eq!(get(&mut other, &id).await["status"], "working");
}
