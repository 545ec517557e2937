//! Clients that call until it is over, and how each of them ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::timeout;
use turnbuckle::Client;
use turnbuckle::client::Error;

use super::point::SOON;

/// Calls that are under way at a time, of one client.
const AT_ONCE: u64 = 12;

/// The calls of some clients.
pub(crate) struct Load {
    calls: JoinSet<Result<(), Error>>,
    over: Arc<AtomicBool>,
    answers: Arc<AtomicUsize>,
}

impl Load {
    /// Begins to call.
    pub(crate) fn new(clients: &[Client]) -> Self {
        let (over, answers) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let mut calls = JoinSet::new();
        for client in clients {
            for number in 0..AT_ONCE {
                let (client, over, answers) = (client.clone(), over.clone(), answers.clone());
                calls.spawn(async move {
                    while !over.load(Ordering::Relaxed) {
                        // Every other one is in a handler for a while.
                        let (tool, arguments) = match number % 2 {
                            0 => ("slow", json!({"ms": 5})),
                            _ => (
                                "echo",
                                json!({"message": "m".repeat(2000), "number": number}),
                            ),
                        };
                        client.call_tool(tool, &arguments).await?;
                        answers.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(())
                });
            }
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
            while (self.answers.load(Ordering::Relaxed) as u64) < answers {
                tokio::task::yield_now().await;
            }
        };
        timeout(SOON, answered).await.expect("nobody hangs");
    }

    /// Begins no call any more, and says how those under way end.
    pub(crate) async fn end(mut self) -> Vec<Error> {
        self.over.store(true, Ordering::Relaxed);
        let mut errors = Vec::new();
        let ended = async {
            while let Some(ended) = self.calls.join_next().await {
                errors.extend(ended.unwrap().err());
            }
        };
        timeout(SOON, ended).await.expect("nobody hangs");
        errors
    }
}
