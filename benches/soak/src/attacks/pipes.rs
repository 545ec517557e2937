//! The attacks on a server on a pipe.

use std::future::pending;

use serde_json::json;
use tokio::io::AsyncWriteExt;

use super::pipe::{PipeAttack, flood};
use crate::problem::Result;
use crate::process::Process;
use crate::random::Random;
use crate::raw::{INITIALIZE, INITIALIZED, call, legacy_call, request};

/// The bytes of a large message: nearly as many as a line may have.
const LARGE: usize = (16 << 20) - (64 << 10);

macro_rules! attacks {
    ($($act:ident $name:literal $ends:literal,)*) => {
        /// The attacks, in the order in which they are played.
        pub(super) const ATTACKS: &[PipeAttack] = &[$(PipeAttack {
            name: $name,
            act: |server| Box::pin($act(server)),
            ends: $ends,
        }),*];
    };
}

attacks! {
    unread_answers "pipe: unread answers" true,
    unread_messages "pipe: unread messages" true,
    calls "pipe: a flood of calls" false,
    slow_calls "pipe: a flood of slow calls" false,
    cancelled_calls "pipe: a flood of cancelled calls" false,
    notifications "pipe: a flood of notifications" false,
    handshakes "pipe: a flood of handshakes" false,
    subscriptions "pipe: a flood of subscriptions" false,
    questions "pipe: questions that nobody answers" false,
    half_line "pipe: half a line that never ends" false,
    large_calls "pipe: large calls that wait" false,
    deep_lines "pipe: deep and huge JSON" false,
    garbage "pipe: garbage" false,
}

fn line(message: impl std::fmt::Display) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}

/// Asks for large answers and reads none.
async fn unread_answers(server: &mut Process) -> Result {
    for id in 0.. {
        let big = legacy_call(id, "big", json!({"bytes": 4 << 20}));
        server.input.write_all(&line(big)).await?;
    }
    Ok(())
}

/// Asks for messages on the way to an answer and reads none.
async fn unread_messages(server: &mut Process) -> Result {
    for id in 0..100 {
        let mut flood = crate::raw::flood(20_000);
        flood["_meta"] = json!({"progressToken": id});
        let flood = line(request(id, "tools/call", flood));
        server.input.write_all(&flood).await?;
    }
    pending().await
}

async fn calls(server: &mut Process) -> Result {
    let echo = json!({"message": "m".repeat(100), "number": 1});
    flood(server, |id| line(legacy_call(id, "echo", echo.clone()))).await
}

async fn slow_calls(server: &mut Process) -> Result {
    flood(server, |id| {
        line(legacy_call(id, "slow", json!({"ms": 5000})))
    })
    .await
}

async fn cancelled_calls(server: &mut Process) -> Result {
    flood(server, |id| {
        let call = legacy_call(id, "slow", json!({"ms": 5000}));
        let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": id}});
        line(format_args!("{call}\n{cancelled}"))
    })
    .await
}

async fn notifications(server: &mut Process) -> Result {
    flood(server, |id| {
        line(json!({"jsonrpc": "2.0", "method": "notifications/progress",
            "params": {"progressToken": id, "progress": 1}}))
    })
    .await
}

async fn handshakes(server: &mut Process) -> Result {
    flood(server, |_| {
        line(format_args!("{INITIALIZE}\n{INITIALIZED}"))
    })
    .await
}

async fn subscriptions(server: &mut Process) -> Result {
    flood(server, |id| {
        let uri = json!({"uri": format!("soak://note/{id}")});
        line(request(id, "resources/subscribe", uri))
    })
    .await
}

async fn questions(server: &mut Process) -> Result {
    flood(server, |id| line(legacy_call(id, "form", json!({})))).await
}

async fn half_line(server: &mut Process) -> Result {
    flood(server, |_| vec![b'x'; 64 << 10]).await
}

/// Calls with messages of the largest size, each of which is kept for a while.
async fn large_calls(server: &mut Process) -> Result {
    let mut slow = call("slow", json!({"ms": 5000}));
    slow["_meta"]["padding"] = "x".repeat(LARGE).into();
    flood(server, |id| line(request(id, "tools/call", slow.clone()))).await
}

async fn deep_lines(server: &mut Process) -> Result {
    let lines = [
        line("[".repeat(1 << 20)),
        line(r#"{"a":"#.repeat(100_000)),
        line(format_args!("[{}", "0,".repeat(1 << 20))),
    ];
    let mut lines = lines.iter().cycle();
    flood(server, |_| lines.next().cloned().unwrap_or_default()).await
}

async fn garbage(server: &mut Process) -> Result {
    let mut random = Random::new(1);
    flood(server, |_| {
        (0..2000).map(|_| random.below(256) as u8).collect()
    })
    .await
}
