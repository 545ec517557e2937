//! Servers that are killed while they run a resumable task on SQLite: no effect of `once` happens twice, and
//! the task says which outcome is not known.
//!
//! Forty kills by hand: `cargo nextest run -p turnbuckle --run-ignored all forty_kills`.
#![cfg(unix)]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test")]

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use turnbuckle::prelude::*;
use turnbuckle::sqlite::SqliteStore;
use turnbuckle::store::{
    AppendAt, Bytes, Claim, Condition, Keep, LogSlice, Position, ReadLimit, Store, StoreFuture,
    StoreKey, Subscription, Version, Versioned,
};
use turnbuckle::{KeyRing, Revision, SecretKey, TaskSupport, Tasks};

/// The variable with the folder of a server, which makes a server of this program.
const FOLDER: &str = "TURNBUCKLE_KILL_TEST_FOLDER";

/// The variable with the point at which the server is killed: a name, or a number from 1 on.
const POINT: &str = "TURNBUCKLE_KILL_TEST_POINT";

/// The time after which a killed server counts as ended.
const LEASE_TTL: Duration = Duration::from_millis(300);

const EFFECTS: [&str; 3] = ["create", "pay", "send"];

/// Kills this process, as `kill -9` does, if this is the point at which it is to die.
fn point(name: &str) {
    static PASSED: AtomicUsize = AtomicUsize::new(0);
    let number = PASSED.fetch_add(1, Ordering::SeqCst) + 1;
    let wanted = std::env::var(POINT).unwrap_or_default();
    if !wanted.is_empty() && (wanted == name || wanted == number.to_string()) {
        let kill = rustix::process::Signal::KILL;
        rustix::process::kill_process(rustix::process::getpid(), kill).unwrap();
        std::thread::sleep(Duration::from_secs(60));
    }
}

/// A store with a point before and behind each operation that a request or a run makes.
struct Pointed(SqliteStore);

macro_rules! operations {
    ($($name:ident($($argument:ident: $Argument:ty),*) -> $Result:ty;)+) => {
        impl Store for Pointed {
            $(fn $name(&self, $($argument: $Argument),*) -> StoreFuture<'_, $Result> {
                point("");
                let operation = self.0.$name($($argument),*);
                Box::pin(async move {
                    let result = operation.await;
                    point("");
                    result
                })
            })+

            fn touch(&self, keys: Vec<StoreKey>, ttl: Duration) -> StoreFuture<'_, ()> {
                self.0.touch(keys, ttl)
            }

            fn claim(&self, queue: &StoreKey, hidden_for: Duration) -> StoreFuture<'_, Option<Claim>> {
                self.0.claim(queue, hidden_for)
            }
        }
    };
}

operations! {
    get(key: &StoreKey) -> Option<Versioned>;
    put(key: &StoreKey, value: Bytes, when: Condition, ttl: Duration) -> Option<Version>;
    remove(key: &StoreKey, when: Condition) -> bool;
    append(log: &StoreKey, at: AppendAt, entries: Vec<Bytes>, keep: Keep) -> Option<Position>;
    read(log: &StoreKey, after: Position, limit: ReadLimit) -> LogSlice;
    publish(topic: &StoreKey, message: Bytes) -> ();
    subscribe(topic: &StoreKey) -> Subscription;
    push(queue: &StoreKey, job: Bytes, ttl: Duration) -> ();
    extend(claim: &Claim, hidden_for: Duration) -> bool;
    complete(claim: Claim) -> bool;
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Go {
    go: bool,
}

/// Does an effect that is still there when the process is not: a line in a file.
async fn effect(name: &str) -> Result<String, Failure> {
    point(&format!("{name}: begun"));
    let folder = std::env::var_os(FOLDER).unwrap();
    let path = Path::new(&folder).join("effects");
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    writeln!(file, "{name}")?;
    file.sync_all()?;
    point(&format!("{name}: done"));
    Ok(name.to_owned())
}

async fn migrate(ask: Ask) -> Result<String, Failure> {
    point("started");
    // Meanwhile the client gets the answer to its call.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let created: String = ask.once("create", effect("create")).await?;
    point("created");
    let go: Go = ask.form("Go on?").key("go").await?;
    point("answered");
    let paid: String = ask.once("pay", effect("pay")).await?;
    let sent: String = ask.once("send", effect("send")).await?;
    point("sent");
    Ok(format!("{created} {} {paid} {sent}", go.go))
}

/// The server: it does nothing unless a test has started it.
#[tokio::test]
async fn serve_until_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let store = SqliteStore::open(Path::new(&folder).join("tasks.db")).unwrap();
    let tool = Tool::builder("migrate").task(TaskSupport::required().resumable());
    let served = Server::new("s", "1")
        .tool(tool.handler(migrate))
        .extension(Tasks::new().lease_ttl(LEASE_TTL))
        .keys(KeyRing::new(SecretKey::from_bytes([7; 32])))
        .store(Pointed(store))
        .serve_stdio()
        .await;
    served.unwrap();
}

/// One life of the server, and the client of it.
struct Life {
    child: Child,
    input: ChildStdin,
    output: Receiver<Value>,
    requests: u64,
}

impl Life {
    fn start(folder: &Path, killed_at: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "serve_until_killed", "--nocapture"])
            .env(FOLDER, folder)
            .env(POINT, killed_at)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, output) = mpsc::channel();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                // The test program writes to its output, too.
                let json = line.find('{').map_or("", |start| &line[start..]);
                if let Ok(message) = serde_json::from_str(json)
                    && sender.send(message).is_err()
                {
                    return;
                }
            }
        });
        let input = child.stdin.take().unwrap();
        Self {
            child,
            input,
            output,
            requests: 0,
        }
    }

    /// Makes a request. `None` if the server was killed.
    fn request(&mut self, method: &str, mut params: Value) -> Option<Value> {
        self.requests += 1;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": Revision::NEWEST.as_str(),
            "io.modelcontextprotocol/clientCapabilities": {
                "elicitation": {"form": {}},
                "extensions": {"io.modelcontextprotocol/tasks": {}},
            },
        });
        let request =
            json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params});
        writeln!(self.input, "{request}").ok()?;
        loop {
            match self.output.recv_timeout(Duration::from_secs(60)) {
                Ok(message) if message["id"] == self.requests => return Some(message),
                Ok(_) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => return None,
                Err(mpsc::RecvTimeoutError::Timeout) => panic!("no response to {request}"),
            }
        }
    }

    /// Calls the tool. Returns the id of the task.
    fn call(&mut self) -> Option<String> {
        let params = json!({"name": "migrate", "arguments": {}});
        let answer = self.request("tools/call", params)?;
        let id = answer["result"]["taskId"].as_str();
        Some(id.unwrap_or_else(|| panic!("no task: {answer}")).to_owned())
    }

    /// Follows the task to its end, and answers its question.
    fn follow(&mut self, id: &str) -> Option<Value> {
        let begun = Instant::now();
        let mut last = Value::Null;
        while begun.elapsed() < Duration::from_secs(60) {
            let answer = self.request("tasks/get", json!({"taskId": id}))?;
            let task = &answer["result"];
            match task["status"].as_str() {
                Some("working") => std::thread::sleep(Duration::from_millis(20)),
                Some("input_required") => {
                    let answers = json!({"go": {"action": "accept", "content": {"go": true}}});
                    self.request(
                        "tasks/update",
                        json!({"taskId": id, "inputResponses": answers}),
                    )?;
                }
                Some("completed" | "failed") => return Some(task.clone()),
                _ => panic!("no task any more: {answer}"),
            }
            last = answer;
        }
        panic!("the task does not end: {last}");
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The end of a task whose server was killed.
#[derive(Debug, PartialEq)]
enum End {
    /// The task has completed, and each effect has happened.
    Completed,
    /// The task says that it does not know the outcome of this effect.
    Unknown(&'static str),
    /// The server was killed before its client knew of the task.
    Unheard,
}

/// Runs the task with lives of the server that end at these points, and one that does not. Checks the
/// effects, and returns how the task ended and how often each effect happened.
fn run(killed_at: &[String]) -> (End, [usize; 3]) {
    let folder = tempfile::tempdir().unwrap();
    let (mut id, mut ended) = (None, None);
    for killed_at in killed_at.iter().map(String::as_str).chain([""]) {
        let mut life = Life::start(folder.path(), killed_at);
        if id.is_none() {
            id = life.call();
            if id.is_none() {
                break;
            }
        }
        ended = id.as_deref().and_then(|id| life.follow(id));
        if ended.is_some() {
            break;
        }
    }
    if id.is_none() {
        // The task may be there. Then it goes on, and asks.
        let _life = Life::start(folder.path(), "");
        std::thread::sleep(LEASE_TTL * 5);
    }
    let done = match File::open(folder.path().join("effects")) {
        Ok(_) => fs::read_to_string(folder.path().join("effects")).unwrap(),
        Err(_) => String::new(),
    };
    let count = |name: &str| done.lines().filter(|line| *line == name).count();
    let counts = EFFECTS.map(count);
    assert!(
        counts.iter().all(|count| *count <= 1),
        "{killed_at:?}: {done}"
    );
    let Some(task) = ended else {
        return (End::Unheard, counts);
    };
    let text = task["result"]["content"][0]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("{killed_at:?}: no result: {task}"));
    if task["result"]["isError"] != true {
        assert_eq!(text, "create true pay send", "{killed_at:?}");
        assert_eq!(counts, [1; 3], "{killed_at:?}");
        return (End::Completed, counts);
    }
    let named = EFFECTS
        .iter()
        .position(|name| text.contains(&format!("{name:?}")));
    let named = named.unwrap_or_else(|| panic!("{killed_at:?}: {text}"));
    assert!(text.contains("not known"), "{killed_at:?}: {text}");
    assert!(
        counts[..named].iter().all(|count| *count == 1),
        "{counts:?}"
    );
    assert!(
        counts[named + 1..].iter().all(|count| *count == 0),
        "{counts:?}"
    );
    (End::Unknown(EFFECTS[named]), counts)
}

#[test]
fn a_killed_server_does_no_effect_twice() {
    for (point, end, counts) in [
        ("create: begun", End::Unknown("create"), [0, 0, 0]),
        ("pay: done", End::Unknown("pay"), [1, 1, 0]),
        ("created", End::Completed, [1, 1, 1]),
        ("answered", End::Completed, [1, 1, 1]),
    ] {
        assert_eq!(run(&[point.to_owned()]), (end, counts), "{point}");
    }
}

#[test]
#[ignore = "by hand: it kills forty servers, most of them several times"]
fn forty_kills() {
    let mut ends = Vec::new();
    for first in 1..=40 {
        // A server that was started again is killed, too.
        let points: Vec<usize> = std::iter::successors(Some(first * 2), |at| Some(at / 2))
            .take_while(|at| *at > 0)
            .collect();
        let points: Vec<String> = points.iter().map(usize::to_string).collect();
        let (end, counts) = run(&points);
        println!("killed at {points:?}: {end:?}, effects {counts:?}");
        ends.push(end);
    }
    assert!(ends.contains(&End::Completed), "{ends:?}");
    assert!(ends.contains(&End::Unheard), "{ends:?}");
    assert!(
        EFFECTS
            .iter()
            .any(|name| ends.contains(&End::Unknown(name))),
        "{ends:?}"
    );
}
