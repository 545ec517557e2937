//! Each tool gives the same result as a plain call, as a task, and as a task whose handler is lost at any of
//! its awaits and begins again on another instance.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use turnbuckle_it::harness::{Bind, Case, Client};
use turnbuckle_server::{
    Ask, Failure, File, HandlerContext, KeyRing, NeedsInput, Progress, RawArguments, SecretKey,
    Server, Structured, TaskSupport, Tasks, Tool,
};
use turnbuckle_store::MemoryStore;
use turnbuckle_types::ProtocolError;

use super::{ORIGIN, able, answer_task, call_as_task, get, task_cases};
use crate::asking::{good_answer, question};
use crate::support::{self, connect_able, converse};

/// The tools that are called.
const TOOLS: [&str; 15] = [
    "sync",
    "blocking",
    "slow",
    "form",
    "parallel",
    "sampling",
    "roots",
    "once",
    "needs",
    "metadata",
    "fails",
    "breaks",
    "structured",
    "file",
    "progress",
];

/// A place at which handlers are lost, as with the end of their process.
#[derive(Clone, Default)]
struct Loss {
    /// The number of the await at which a handler is lost, from 1 on.
    at: usize,
    awaits: Arc<AtomicUsize>,
    has_happened: Arc<AtomicBool>,
}

impl Loss {
    fn has_happened(&self) -> bool {
        self.has_happened.load(Ordering::Relaxed)
    }

    /// Runs a handler until it is lost.
    async fn run<T>(self, handler: impl Future<Output = T> + Send) -> T {
        let mut handler: Option<Pin<Box<dyn Future<Output = T> + Send>>> = Some(Box::pin(handler));
        std::future::poll_fn(move |cx| {
            let Some(running) = &mut handler else {
                return Poll::Pending;
            };
            let polled = running.as_mut().poll(cx);
            if polled.is_pending() && self.awaits.fetch_add(1, Ordering::Relaxed) + 1 == self.at {
                handler = None;
                self.has_happened.store(true, Ordering::Relaxed);
            }
            polled
        })
        .await
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Sum {
    sum: u32,
}

const STEP: Duration = Duration::from_secs(2);

async fn slow() -> &'static str {
    for _ in 0..3 {
        sleep(STEP).await;
    }
    "done"
}

async fn form(ask: Ask) -> Result<String, Failure> {
    let first: Name = ask.form("The first?").await?;
    sleep(STEP).await;
    let second: Name = ask.form("The second?").key("second").await?;
    Ok(format!("{} {}", first.name, second.name))
}

async fn parallel(ask: Ask) -> Result<String, Failure> {
    let (first, said): (Name, _) =
        tokio::try_join!(async { ask.form("The first?").key("first").await }, async {
            ask.sample("Say something").key("said").await
        },)?;
    let (roots, third): (_, Name) =
        tokio::try_join!(async { ask.roots().key("roots").await }, async {
            ask.form("The third?").key("third").await
        },)?;
    Ok(format!(
        "{} {} {} {}",
        first.name,
        said.model,
        roots.len(),
        third.name
    ))
}

async fn sampling(ask: Ask) -> Result<String, Failure> {
    let said = ask.sample("Say something").max_tokens(5).await?;
    sleep(STEP).await;
    Ok(format!("{} {:?}", said.model, said.role))
}

async fn roots(ask: Ask) -> Result<String, Failure> {
    sleep(STEP).await;
    let roots = ask.roots().await?;
    Ok(roots[0].uri.clone())
}

async fn once(ask: Ask) -> Result<String, Failure> {
    let first: u32 = ask.once("first", async { Ok(1) }).await?;
    sleep(STEP).await;
    let name: Name = ask.form("Go on?").await?;
    let second: u32 = ask.once("second", async { Ok(2) }).await?;
    sleep(STEP).await;
    Ok(format!("{first} {} {second}", name.name))
}

async fn needs(context: HandlerContext) -> Result<String, Failure> {
    sleep(STEP).await;
    match context.raw_answer("form") {
        None => Err(NeedsInput::new().ask("form", question("form")).into()),
        Some(answer) => Ok(answer.to_string()),
    }
}

async fn metadata(context: HandlerContext) -> Result<String, Failure> {
    sleep(STEP).await;
    let origin = context.meta().and_then(|meta| meta.get(ORIGIN));
    origin.ok_or_else(|| Failure::new("the request has no origin"))
}

async fn fails(ask: Ask) -> Result<String, Failure> {
    let name: Name = ask.form("Who are you?").await?;
    sleep(STEP).await;
    Err(Failure::new(format!("{} is not known here", name.name)))
}

async fn breaks() -> Result<String, Failure> {
    sleep(STEP).await;
    Err(ProtocolError::application(-31000, "beyond repair").into())
}

async fn structured() -> Structured<Sum> {
    sleep(STEP).await;
    Structured(Sum { sum: 7 })
}

async fn progress(progress: Progress) -> &'static str {
    for step in 1..=3 {
        progress.report_with_message(step, 3, "on the way").await;
        sleep(STEP).await;
    }
    "arrived"
}

fn server(store: &MemoryStore, loss: &Loss) -> Server {
    let task = |name: &'static str| Tool::builder(name).task(TaskSupport::optional().resumable());
    macro_rules! tools {
        ($($name:ident($($Argument:ty)?);)+) => {
            vec![$({
                let loss = loss.clone();
                task(stringify!($name)).handler(move |argument: tools!(@ $($Argument)?)| {
                    loss.clone().run(tools!(@ $name argument $($Argument)?))
                })
            }),+]
        };
        (@) => { RawArguments };
        (@ $Argument:ty) => { $Argument };
        (@ $name:ident $argument:ident) => { { let _ = $argument; $name() } };
        (@ $name:ident $argument:ident $Argument:ty) => { $name($argument) };
    }
    Server::new("s", "1")
        .tool(task("sync").handler(|| "at once"))
        .tool(task("blocking").blocking(|| "blocked"))
        .tool(task("file").handler(|| File::new("notes.txt", "text/plain", "notes")))
        .tools(tools! {
            slow();
            form(Ask);
            parallel(Ask);
            sampling(Ask);
            roots(Ask);
            once(Ask);
            needs(HandlerContext);
            metadata(HandlerContext);
            fails(Ask);
            breaks();
            structured();
            progress(Progress);
        })
        .extension(Tasks::new())
        .keys(KeyRing::new(SecretKey::from_bytes([7; 32])))
        .store(store.clone())
        .build()
        .unwrap()
}

/// Returns the result or error of an answer, without what belongs to the form of the answer.
fn outcome(answer: &Value) -> Value {
    if answer["error"].is_object() {
        return answer["error"].clone();
    }
    let mut result = answer["result"].clone();
    let members = result.as_object_mut().expect("a result");
    members.retain(|name, _| name != "_meta" && name != "resultType");
    result
}

/// Calls a tool without tasks.
async fn call_plainly(case: Case, tool: &str) -> Value {
    let server = server(&MemoryStore::new(), &Loss::default());
    let mut client = connect_able(case, &server, support::able(case.revision)).await;
    let params = json!({"name": tool, "arguments": {}, "_meta": {ORIGIN: "a test"}});
    if case.is_legacy() {
        let request = client.start("tools/call", params).await;
        let answer = wait_and_answer(&mut client, request, &Loss::default()).await;
        return answer.expect("an answer");
    }
    let answer = |it: &support::Question| good_answer(&it.method, &it.params);
    outcome(&converse(&mut client, "tools/call", params, answer).await.0)
}

/// Waits for the response to a request of a legacy client, and answers what the server asks meanwhile. `None`
/// if a handler is lost.
async fn wait_and_answer(client: &mut Client, request: i64, loss: &Loss) -> Option<Value> {
    for _ in 0..1000 {
        client.wait(Duration::from_millis(500)).await;
        if loss.has_happened() {
            return None;
        }
        for message in client.messages().await {
            if let (false, Some(method)) = (message["id"].is_null(), message["method"].as_str()) {
                let answer = good_answer(method, &message["params"]);
                client.answer(&message["id"], answer).await;
            }
        }
        if client.is_answered(request).await {
            return Some(outcome(&client.response(request).await));
        }
    }
    panic!("no response");
}

/// Follows a task to its end, and answers its questions. `None` if its handler is lost meanwhile.
async fn follow(client: &mut Client, id: &str, loss: &Loss) -> Option<Value> {
    if client.case().is_legacy() {
        let request = client.start("tasks/result", json!({"taskId": id})).await;
        return wait_and_answer(client, request, loss).await;
    }
    for _ in 0..1000 {
        client.wait(Duration::from_millis(500)).await;
        if loss.has_happened() {
            return None;
        }
        let task = get(client, id).await;
        match task["status"].as_str() {
            Some("working") => {}
            Some("input_required") => {
                let questions = task["inputRequests"].as_object().unwrap().iter();
                let answers = questions.map(|(key, question)| {
                    let method = question["method"].as_str().unwrap();
                    (key.clone(), good_answer(method, &question["params"]))
                });
                let answers = answers.collect::<serde_json::Map<_, _>>().into();
                answer_task(client, id, answers).await;
            }
            _ => return Some(outcome(&task)),
        }
    }
    panic!("the task does not end");
}

/// Calls a tool as a task, and returns how it ends.
async fn call_with_loss(case: Case, tool: &str, loss: &Loss) -> Value {
    let store = MemoryStore::new();
    let first = server(&store, loss);
    let mut client = connect_able(case, &first, able(case)).await;
    let created = call_as_task(&mut client, tool, json!({})).await;
    let id = created["taskId"].as_str().unwrap();
    if let Some(ended) = follow(&mut client, id, loss).await {
        return ended;
    }
    drop((client, first));
    let second = server(&store, &Loss::default());
    let mut client = connect_able(case, &second, able(case)).await;
    let ended = follow(&mut client, id, &Loss::default()).await;
    ended.expect("nothing is lost any more")
}

#[tokio::test(start_paused = true)]
async fn a_task_ends_as_the_plain_call_does() {
    for case in task_cases() {
        for tool in TOOLS {
            let plain = call_plainly(case, tool).await;
            let task = call_with_loss(case, tool, &Loss::default()).await;
            assert_eq!(task, plain, "{case} {tool}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_is_lost_at_any_await_ends_as_the_plain_call_does() {
    let mut lost = 0;
    for case in task_cases()
        .into_iter()
        .filter(|case| case.binding == Bind::Pipe)
    {
        for tool in TOOLS {
            let plain = call_plainly(case, tool).await;
            for at in 1.. {
                let loss = Loss {
                    at,
                    ..Loss::default()
                };
                let task = call_with_loss(case, tool, &loss).await;
                assert_eq!(task, plain, "{case} {tool}, lost at await {at}");
                if !loss.has_happened() {
                    break;
                }
                lost += 1;
            }
        }
    }
    assert!(lost > 40, "only {lost} handlers were lost");
}
