//! Tests of tasks in a store that several servers share, or one after a restart.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use turnbuckle_it::faulty_store::{Fault, FaultyStore};
use turnbuckle_it::harness::{Case, Client, ClientOptions};
use turnbuckle_server::{
    Ask, Failure, KeyRing, Progress, SecretKey, Server, TaskSupport, Tasks, Tool,
};
use turnbuckle_store::{MemoryStore, StoreErrorKind};

use super::{able, answer_task, call_as_task, cancel, get, task_cases};
use crate::support::{code, message, principal, result, text};

/// Cuts the line of an instance to its store.
fn cut(instance: &Instance) {
    let gone = Fault::Error(StoreErrorKind::Unavailable);
    instance.line.fail("", gone);
}

/// The world outside of the servers.
#[derive(Clone, Default)]
struct World {
    /// The effects that happened, in order.
    effects: Arc<Mutex<Vec<String>>>,
    runs: Arc<AtomicUsize>,
    gate: Arc<Gate>,
    /// The gate inside of the effect.
    inner: Arc<Gate>,
}

struct Gate(Semaphore);

impl Default for Gate {
    fn default() -> Self {
        Self(Semaphore::new(0))
    }
}

impl Gate {
    fn open(&self) {
        self.0.add_permits(1);
    }

    async fn pass(&self) {
        self.0.acquire().await.unwrap().forget();
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Go {
    go: bool,
}

/// Does an effect once, asks, and waits at a gate.
async fn migrate(world: World, ask: Ask, progress: Progress) -> Result<String, Failure> {
    world.runs.fetch_add(1, Ordering::Relaxed);
    let effects = world.effects.clone();
    let key = ask.idempotency_key("create")?;
    let effect = async {
        effects.lock().unwrap().push(key);
        world.inner.pass().await;
        Ok(7)
    };
    let id: u32 = ask.once("create", effect).await?;
    progress.report_with_message(1, 2, "created").await;
    world.gate.pass().await;
    let go: Go = ask.form("Go on?").key("go").await?;
    world.gate.pass().await;
    Ok(format!("{id} {}", go.go))
}

/// An instance of the server.
struct Instance {
    server: Server,
    line: FaultyStore,
}

fn instance(store: &MemoryStore, world: &World) -> Instance {
    let line = FaultyStore::for_engine(store);
    let tool = |name: &'static str, support: TaskSupport| {
        let world = world.clone();
        Tool::builder(name)
            .task(support)
            .handler(move |ask: Ask, progress: Progress| migrate(world.clone(), ask, progress))
    };
    let server = Server::new("s", "1")
        .tool(tool("once", TaskSupport::optional()))
        .tool(tool("again", TaskSupport::required().resumable()))
        .extension(Tasks::new().list(true))
        .keys(KeyRing::new(SecretKey::from_bytes([7; 32])))
        .store(line.clone())
        .build()
        .unwrap();
    Instance { server, line }
}

async fn connect(case: Case, instance: &Instance) -> Client {
    let options = ClientOptions::new()
        .capabilities(able(case))
        .principal(principal("ada"));
    Client::connect_with(case, &instance.server, options).await
}

async fn start(client: &mut Client, tool: &str) -> String {
    let created = call_as_task(client, tool, json!({})).await;
    created["taskId"].as_str().unwrap().to_owned()
}

fn accept() -> Value {
    json!({"action": "accept", "content": {"go": true}})
}

/// Answers the question of a task in the way of the client's form, and returns the result.
async fn finish(client: &mut Client, id: &str, world: &World) -> Value {
    match client.case().is_legacy() {
        true => {
            let waiting = client.start("tasks/result", json!({"taskId": id})).await;
            let question = client.next_of("elicitation/create").await;
            client.answer(&question["id"], accept()).await;
            world.gate.open();
            world.gate.open();
            client.response(waiting).await
        }
        false => {
            let answer = answer_task(client, id, json!({"go": accept()})).await;
            assert_eq!(result(&answer)["resultType"], "complete");
            world.gate.open();
            world.gate.open();
            client.wait(Duration::from_secs(1)).await;
            let task = get(client, id).await;
            json!({"result": task["result"], "error": task["error"]})
        }
    }
}

/// A time after which an instance without a sign counts as ended.
const LOST: Duration = Duration::from_secs(30);

#[tokio::test(start_paused = true)]
async fn a_task_that_waits_survives_its_server() {
    for case in task_cases() {
        let (store, world) = (MemoryStore::new(), World::default());
        let first = instance(&store, &world);
        let mut client = connect(case, &first).await;
        let id = start(&mut client, "once").await;
        world.inner.open();
        world.gate.open();
        client.wait(Duration::from_secs(1)).await;
        assert_eq!(
            get(&mut client, &id).await["status"],
            "input_required",
            "{case}"
        );
        drop((client, first));

        let second = instance(&store, &world);
        let mut client = connect(case, &second).await;
        assert_eq!(
            get(&mut client, &id).await["status"],
            "input_required",
            "{case}"
        );
        let answer = finish(&mut client, &id, &world).await;
        assert_eq!(text(&answer), "7 true", "{case}");
        assert_eq!(world.effects.lock().unwrap().len(), 1, "{case}");
        drop((client, second));

        let third = instance(&store, &world);
        let mut client = connect(case, &third).await;
        assert_eq!(get(&mut client, &id).await["status"], "completed", "{case}");
        if case.is_legacy() {
            let list = client.request("tasks/list", json!({})).await;
            assert_eq!(result(&list)["tasks"][0]["taskId"], *id, "{case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_instance_has_ended_says_so() {
    for case in task_cases() {
        let (store, world) = (MemoryStore::new(), World::default());
        let first = instance(&store, &world);
        let mut client = connect(case, &first).await;
        let id = start(&mut client, "once").await;
        world.inner.open();
        client.wait(Duration::from_secs(1)).await;
        let second = instance(&store, &world);
        let mut other = connect(case, &second).await;
        // An instance that is there is believed.
        other.wait(LOST).await;
        assert_eq!(get(&mut other, &id).await["status"], "working", "{case}");
        cut(&first);
        other.wait(LOST).await;
        let lost = get(&mut other, &id).await;
        assert_eq!(lost["status"], "failed", "{case}: {lost}");
        let message = lost["statusMessage"].as_str().unwrap();
        assert!(
            message.contains("has ended") && message.contains("call the tool again"),
            "{message}"
        );
        // It cannot bring in its result any more.
        first.line.heal();
        for _ in 0..3 {
            world.gate.open();
        }
        other.wait(LOST).await;
        assert_eq!(get(&mut other, &id).await["status"], "failed", "{case}");
        assert_eq!(get(&mut client, &id).await["status"], "failed", "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_resumable_task_goes_on_elsewhere_without_its_effects_again() {
    for case in task_cases() {
        let (store, world) = (MemoryStore::new(), World::default());
        let first = instance(&store, &world);
        let mut client = connect(case, &first).await;
        let id = start(&mut client, "again").await;
        world.inner.open();
        client.wait(Duration::from_secs(1)).await;
        assert_eq!(
            get(&mut client, &id).await["statusMessage"],
            "created",
            "{case}"
        );
        let second = instance(&store, &world);
        let mut other = connect(case, &second).await;
        cut(&first);
        // Nobody looks at it.
        other.wait(LOST * 3 / 2).await;
        assert_eq!(world.runs.load(Ordering::Relaxed), 2, "{case}");
        world.gate.open();
        world.gate.open();
        other.wait(Duration::from_secs(1)).await;
        assert_eq!(
            get(&mut other, &id).await["status"],
            "input_required",
            "{case}"
        );
        let answer = finish(&mut other, &id, &world).await;
        assert_eq!(text(&answer), "7 true", "{case}");
        assert_eq!(world.effects.lock().unwrap().len(), 1, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_effect_whose_outcome_is_unknown_ends_the_task_by_name() {
    for case in task_cases() {
        let (store, world) = (MemoryStore::new(), World::default());
        let first = instance(&store, &world);
        let mut client = connect(case, &first).await;
        let id = start(&mut client, "again").await;
        client.wait(Duration::from_secs(1)).await;
        cut(&first);
        let second = instance(&store, &world);
        let mut other = connect(case, &second).await;
        other.wait(LOST * 3 / 2).await;
        let ended = get(&mut other, &id).await;
        let answer = match case.is_legacy() {
            true => other.request("tasks/result", json!({"taskId": id})).await,
            false => json!({"result": ended["result"]}),
        };
        assert_eq!(answer["result"]["isError"], true, "{case}: {ended}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(
            text.contains("\"create\"") && text.contains("not known"),
            "{case}: {text}"
        );
        assert_eq!(world.effects.lock().unwrap().len(), 1, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_is_cancelled_from_another_instance() {
    for case in task_cases() {
        let (store, world) = (MemoryStore::new(), World::default());
        let (first, second) = (instance(&store, &world), instance(&store, &world));
        let mut client = connect(case, &first).await;
        let mut other = connect(case, &second).await;
        let id = start(&mut client, "again").await;
        world.inner.open();
        client.wait(Duration::from_secs(5)).await;
        result(&cancel(&mut other, &id).await);
        client.wait(Duration::from_secs(5)).await;
        for client in [&mut client, &mut other] {
            assert_eq!(get(client, &id).await["status"], "cancelled", "{case}");
        }
        world.gate.open();
        client.wait(LOST * 2).await;
        assert_eq!(
            world.gate.0.available_permits(),
            1,
            "{case}: the handler went on"
        );
        assert_eq!(world.runs.load(Ordering::Relaxed), 1, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_gone_leaves_plain_calls() {
    for case in task_cases() {
        let (store, world) = (MemoryStore::new(), World::default());
        let first = instance(&store, &world);
        let mut client = connect(case, &first).await;
        let id = start(&mut client, "once").await;
        cut(&first);
        for method in ["tasks/get", "tasks/cancel"] {
            let answer = client.request(method, json!({"taskId": id})).await;
            assert_eq!(code(&answer), -32603, "{case} {method}");
            assert!(message(&answer).contains("store"), "{case}: {answer}");
        }
        let mut params = json!({"name": "again", "arguments": {}});
        if case.is_legacy() {
            params["task"] = json!({});
        }
        let refused = client.request("tools/call", params).await;
        assert_eq!(code(&refused), -32603, "{case}: {refused}");
        assert!(message(&refused).contains("store"), "{case}: {refused}");
    }
}
