//! Deadlines and limits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use turnbuckle_it::harness::{Case, Client, ClientOptions};
use turnbuckle_server::{Cancellation, Group, Prompt, Server, Tool};
use turnbuckle_session::handler::Limits;

use crate::refusals::Refusals;
use crate::support::{call, error_text, message, text};

/// Counts how many calls of its tools run at once. Each takes a second.
#[derive(Clone)]
pub(super) struct Busy(Vec<Arc<Count>>);

#[derive(Default)]
struct Count {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Busy {
    pub(super) fn new() -> Self {
        Self(vec![Arc::default()])
    }

    /// Counts what the others count too.
    fn and_counting(mut self, others: &Self) -> Self {
        self.0.extend(others.0.iter().cloned());
        self
    }

    pub(super) fn tool(&self, name: &'static str) -> Tool {
        let busy = self.clone();
        Tool::builder(name).handler(move || {
            let busy = busy.clone();
            async move {
                for count in &busy.0 {
                    let now = count.now.fetch_add(1, Ordering::SeqCst) + 1;
                    count.most.fetch_max(now, Ordering::SeqCst);
                }
                tokio::time::sleep(SECOND).await;
                for count in &busy.0 {
                    count.now.fetch_sub(1, Ordering::SeqCst);
                }
                "done"
            }
        })
    }

    pub(super) fn most(&self) -> usize {
        self.0[0].most.load(Ordering::SeqCst)
    }
}

const SECOND: Duration = Duration::from_secs(1);

/// Returns a tool that never ends by itself, and records that it was cancelled and dropped.
fn endless(name: &'static str, seen: &Arc<Mutex<Vec<String>>>) -> Tool {
    struct Dropped(Arc<Mutex<Vec<String>>>, Instant);
    impl Drop for Dropped {
        fn drop(&mut self) {
            let after = self.1.elapsed().as_secs();
            self.0
                .lock()
                .unwrap()
                .push(format!("dropped after {after} s"));
        }
    }
    let seen = Arc::clone(seen);
    Tool::builder(name).handler(move |cancel: Cancellation| {
        let seen = Arc::clone(&seen);
        async move {
            let dropped = Dropped(Arc::clone(&seen), Instant::now());
            cancel.cancelled().await;
            let after = dropped.1.elapsed().as_secs();
            seen.lock()
                .unwrap()
                .push(format!("cancelled after {after} s"));
            std::future::pending::<()>().await;
        }
    })
}

#[tokio::test(start_paused = true)]
async fn the_innermost_timeout_counts() {
    let refusals = Refusals::start();
    let seen = Arc::default();
    let server = Server::new("s", "1")
        .timeout(5 * SECOND)
        .tool(endless("servers", &seen))
        .prompt(Prompt::builder("slow").handler(async || std::future::pending::<String>().await))
        .group(
            Group::new()
                .timeout(3 * SECOND)
                .tool(endless("groups", &seen))
                .tool(endless("own", &seen).timeout(10 * SECOND)),
        )
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        for (name, seconds) in [("servers", 5), ("groups", 3), ("own", 10)] {
            let late = call(&mut client, name, json!({})).await;
            let says = format!("the call took longer than {seconds}s");
            assert_eq!(error_text(&late), says, "{case}");
            let seen = std::mem::take(&mut *seen.lock().unwrap());
            let after = [
                format!("cancelled after {seconds} s"),
                format!("dropped after {} s", seconds + 2),
            ];
            assert_eq!(seen, after, "{case}");
        }
        let late = client.request("prompts/get", json!({"name": "slow"})).await;
        let says = "the call took longer than 5s";
        assert_eq!(message(&late), says, "{case}");
    }
    for (setting, calls) in [
        ("ServerBuilder::timeout", 2),
        ("Group::timeout", 1),
        ("Tool::timeout", 1),
    ] {
        assert_eq!(
            refusals.count(setting),
            calls * Case::all().len(),
            "{setting}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_sessions_deadline_still_holds_where_it_is_shorter() {
    let seen = Arc::default();
    let server = Server::new("s", "1")
        .tool(endless("own", &seen).timeout(10 * SECOND))
        .build()
        .unwrap();
    let mut limits = Limits::default();
    limits.handler_timeout = SECOND;
    for case in Case::all() {
        let options = ClientOptions::new().limits(limits.clone());
        let mut client = Client::connect_with(case, &server, options).await;
        let late = call(&mut client, "own", json!({})).await;
        assert!(
            message(&late).contains("longer than the server allows"),
            "{case}: {late:#}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn limits_of_items_groups_and_servers_all_hold() {
    for case in Case::all() {
        let all = Busy::new();
        let some = Busy::new().and_counting(&all);
        let one = Busy::new().and_counting(&some);
        let group = Group::new()
            .max_concurrent(2)
            .tool(some.tool("some"))
            .tool(one.tool("one").max_concurrent(1));
        let server = Server::new("s", "1")
            .max_concurrent(3)
            .tool(all.tool("all"))
            .group(group)
            .build()
            .unwrap();
        let mut clients = Vec::new();
        for _ in 0..2 {
            clients.push(Client::connect(case, &server).await);
        }
        let mut open = Vec::new();
        for (at, client) in clients.iter_mut().enumerate() {
            for name in ["one", "some", "all", "one", "some", "all"] {
                let params = json!({"name": name, "arguments": {}});
                open.push((at, client.start("tools/call", params).await));
            }
        }
        for (at, id) in open {
            assert_eq!(text(&clients[at].response(id).await), "done", "{case}");
        }
        assert_eq!((one.most(), some.most(), all.most()), (1, 2, 3), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn too_many_waiting_calls_are_refused_and_cancelled_ones_leave_the_queue() {
    let busy = Busy::new();
    let server = Server::new("s", "1")
        .tool(busy.tool("t").max_concurrent(1))
        .build()
        .unwrap();
    let mut limits = Limits::default();
    limits.max_in_flight = 5000;
    let options = ClientOptions::new().limits(limits);
    let case = Case::pipe(turnbuckle_wire::revision::Revision::NEWEST);
    let mut client = Client::connect_with(case, &server, options.clone()).await;
    let params = json!({"name": "t", "arguments": {}});
    let mut ids = Vec::new();
    for _ in 0..1025 {
        ids.push(client.start("tools/call", params.clone()).await);
    }
    let refused = client.request("tools/call", params.clone()).await;
    let says = "the server is busy: 1 calls run and 1024 wait; try again later";
    assert_eq!(error_text(&refused), says);
    for id in ids.drain(1..) {
        client.cancel(id).await;
    }
    client.settle().await;
    let next = Instant::now();
    assert_eq!(text(&client.request("tools/call", params).await), "done");
    assert!(next.elapsed() <= 2 * SECOND, "nobody else was waiting");
    assert_eq!(busy.most(), 1);
}

#[tokio::test(start_paused = true)]
async fn how_many_may_wait_is_settable() {
    let busy = Busy::new();
    let server = Server::new("s", "1")
        .max_waiting(2)
        .tool(busy.tool("t").max_concurrent(1))
        .build()
        .unwrap();
    let case = Case::pipe(turnbuckle_wire::revision::Revision::NEWEST);
    let mut client = Client::connect(case, &server).await;
    let params = json!({"name": "t", "arguments": {}});
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(client.start("tools/call", params.clone()).await);
    }
    let refused = client.request("tools/call", params).await;
    assert!(
        error_text(&refused).contains("1 calls run and 2 wait"),
        "{refused}"
    );
    for id in ids {
        assert_eq!(text(&client.response(id).await), "done");
    }
}
