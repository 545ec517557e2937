//! Clients that call until they are stopped, and the errors of their calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::timeout;
use turnbuckle::Client;
use turnbuckle::client::Error;

use super::SOON;

/// Calls that are under way at a time, of one client.
const CALLS: u64 = 12;

/// The calls of some clients.
pub(crate) struct Load {
    calls: JoinSet<Result<(), Error>>,
    over: Arc<AtomicBool>,
    answers: Arc<AtomicU64>,
}

impl Load {
    /// Begins to call.
    pub(crate) fn new(clients: &[Client]) -> Self {
        let (over, answers) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let mut calls = JoinSet::new();
        for (client, number) in clients
            .iter()
            .flat_map(|it| (0..CALLS).map(move |n| (it, n)))
        {
            let (client, over, answers) = (client.clone(), over.clone(), answers.clone());
            calls.spawn(async move {
                let echo = json!({"message": "m".repeat(2000), "number": number});
                while !over.load(Ordering::Relaxed) {
                    // Every other call is in a handler for a while.
                    let call = match number % 2 {
                        0 => client.call_tool("slow", &json!({"ms": 5})),
                        _ => client.call_tool("echo", &echo),
                    };
                    call.await?;
                    answers.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            });
        }
        Self {
            calls,
            over,
            answers,
        }
    }

    /// Waits until so many calls were answered.
    pub(crate) async fn until(&self, answers: u64) {
        let answered = async {
            while self.answers.load(Ordering::Relaxed) < answers {
                tokio::task::yield_now().await;
            }
        };
        timeout(SOON, answered).await.expect("a call hangs");
    }

    /// Begins no further call, and returns the errors of those under way.
    pub(crate) async fn end(mut self) -> Vec<Error> {
        self.over.store(true, Ordering::Relaxed);
        let mut errors = Vec::new();
        let ended = async {
            while let Some(ended) = self.calls.join_next().await {
                errors.extend(ended.unwrap().err());
            }
        };
        timeout(SOON, ended).await.expect("a call hangs");
        errors
    }
}

/// Calls until the next server answers: a call that is sent before the end of the old one was noticed is
/// lost with it, and so is one in a session of the old server.
pub(crate) async fn call_next_server(client: &Client) {
    let arguments = json!({"ms": 0});
    let call = async || {
        let answered = timeout(SOON, client.call_tool("slow", &arguments).send()).await;
        answered.expect("a call hangs")
    };
    if call().await.is_err() {
        call().await.expect("another server");
    }
}
