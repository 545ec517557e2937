//! The server, in a process of its own.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::address::ServerAddress;
use crate::counts::Counts;
use crate::problem::{Problem, to_problem};
use crate::process::{ServerProcess, itself};
use crate::raw::{Raw, call};
use crate::server::OVER;

/// The place where its endpoints are.
#[derive(Debug, Clone)]
pub(crate) struct Urls {
    pub(crate) mcp: String,
    pub(crate) sse: String,
}

/// The tables that are empty when nobody is connected.
const TABLES: [&str; 4] = ["sessions", "streams", "sse connections", "subscriptions"];

/// The process. It ends when its input does, and so with this one.
pub(crate) struct Started {
    process: ServerProcess,
    pub(crate) urls: Urls,
    pub(crate) place: ServerAddress,
}

impl Started {
    /// Starts one whose resident set is what it holds: glibc else keeps pages that are free, as
    /// many as the sizes that it has seen let it expect to be of use.
    pub(crate) async fn frugal() -> Result<Self, Problem> {
        let variables = [
            ("MALLOC_MMAP_THRESHOLD_", "65536"),
            ("MALLOC_TRIM_THRESHOLD_", "65536"),
        ];
        let process = ServerProcess::start(&itself()?, "http", &variables).await?;
        let line = &process.first_line;
        let (mcp, sse) = line.split_once(' ').ok_or("the server names no URL")?;
        let address = mcp.split('/').nth(2).unwrap_or_default();
        let address: SocketAddr = address.parse().map_err(to_problem)?;
        Ok(Self {
            urls: Urls {
                mcp: mcp.to_owned(),
                sse: sse.to_owned(),
            },
            process,
            place: ServerAddress { address },
        })
    }

    /// Returns what it holds, told over a connection of its own.
    pub(crate) async fn counts(&self) -> Result<Counts, Problem> {
        let mut raw = Raw::connect(self.place.address).await?;
        raw.modern("tools/call", call("held", &json!({}))).await;
        let (_, body) = raw.answer().await?;
        let answer: Value = serde_json::from_slice(&body).map_err(to_problem)?;
        let text = answer["result"]["content"][0]["text"].as_str();
        serde_json::from_str(text.unwrap_or_default())
            .map_err(|_| format!("the server does not tell what it holds: {answer}"))
    }

    /// Returns what it holds when everybody has gone and everything is over.
    pub(crate) async fn wait_until_empty(&self) -> Result<Counts, Problem> {
        let deadline = Instant::now() + 4 * OVER;
        loop {
            sleep(Duration::from_millis(500)).await;
            let counts = self.counts().await?;
            let is_empty = |table: &&str| counts.get(*table).is_none_or(|count| *count == 0);
            // The look itself is a task.
            let is_quiet = counts.get("tasks").is_some_and(|tasks| *tasks <= 1);
            if is_quiet && TABLES.iter().all(is_empty) {
                return Ok(counts);
            }
            if Instant::now() > deadline {
                return Err(format!(
                    "after the warm-up the server still holds {counts:?}"
                ));
            }
        }
    }

    /// Lets it end, which it has to by itself.
    pub(crate) async fn end(self) -> Result<(), Problem> {
        self.process.end().await
    }
}
