//! Attacks on a server on pipes.

use std::future::pending;

use serde_json::json;
use tokio::io::AsyncWriteExt;

use super::pipe::{Pipe, PipeAttack};
use crate::problem::{Problem, to_problem};
use crate::raw::{GREETED, GREETING, call, request};

/// The bytes of a large message: nearly as many as a line may have.
const LARGE: usize = (16 << 20) - (64 << 10);

macro_rules! attacks {
    ($($act:ident $name:literal $ends:literal,)*) => {
        /// The attacks, in the order in which they are played.
        pub(super) const ATTACKS: &[PipeAttack] = &[$(PipeAttack {
            name: $name,
            act: |pipe| Box::pin($act(pipe)),
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
async fn unread_answers(pipe: &mut Pipe) -> Result<(), Problem> {
    for id in 0.. {
        let big = request(id, "tools/call", &call("big", &json!({"bytes": 4 << 20})));
        pipe.input.write_all(&line(big)).await.map_err(to_problem)?;
    }
    Ok(())
}

/// Asks for messages on the way to an answer and reads none.
async fn unread_messages(pipe: &mut Pipe) -> Result<(), Problem> {
    for id in 0..100 {
        let params = json!({"name": "flood", "arguments": {"messages": 20_000},
            "_meta": {"progressToken": id}});
        let flood = line(request(id, "tools/call", &params));
        pipe.input.write_all(&flood).await.map_err(to_problem)?;
    }
    pending().await
}

async fn calls(pipe: &mut Pipe) -> Result<(), Problem> {
    let echo = call("echo", &json!({"message": "m".repeat(100), "number": 1}));
    pipe.flood(|id| line(request(id, "tools/call", &echo)))
        .await
}

async fn slow_calls(pipe: &mut Pipe) -> Result<(), Problem> {
    let slow = call("slow", &json!({"ms": 5000}));
    pipe.flood(|id| line(request(id, "tools/call", &slow)))
        .await
}

async fn cancelled_calls(pipe: &mut Pipe) -> Result<(), Problem> {
    let slow = call("slow", &json!({"ms": 5000}));
    pipe.flood(|id| {
        let call = request(id, "tools/call", &slow);
        let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": id}});
        line(format_args!("{call}\n{cancelled}"))
    })
    .await
}

async fn notifications(pipe: &mut Pipe) -> Result<(), Problem> {
    pipe.flood(|id| {
        line(json!({"jsonrpc": "2.0", "method": "notifications/progress",
            "params": {"progressToken": id, "progress": 1}}))
    })
    .await
}

async fn handshakes(pipe: &mut Pipe) -> Result<(), Problem> {
    pipe.flood(|_| line(format_args!("{GREETING}\n{GREETED}")))
        .await
}

async fn subscriptions(pipe: &mut Pipe) -> Result<(), Problem> {
    pipe.flood(|id| {
        let uri = format!("soak://note/{id}");
        line(request(id, "resources/subscribe", &json!({"uri": uri})))
    })
    .await
}

async fn questions(pipe: &mut Pipe) -> Result<(), Problem> {
    let form = call("form", &json!({}));
    pipe.flood(|id| line(request(id, "tools/call", &form)))
        .await
}

async fn half_line(pipe: &mut Pipe) -> Result<(), Problem> {
    pipe.flood(|_| vec![b'x'; 64 << 10]).await
}

/// Calls with messages that are as large as they may be, and that are held for a while.
async fn large_calls(pipe: &mut Pipe) -> Result<(), Problem> {
    let mut slow = call("slow", &json!({"ms": 5000}));
    slow["_meta"]["padding"] = "x".repeat(LARGE).into();
    pipe.flood(|id| line(request(id, "tools/call", &slow)))
        .await
}

async fn deep_lines(pipe: &mut Pipe) -> Result<(), Problem> {
    let lines = [
        vec![b'['; 1 << 20],
        br#"{"a":"#.repeat(100_000),
        b"0,".repeat(1 << 20),
    ];
    let mut lines = lines.map(|mut it| {
        it.push(b'\n');
        it
    });
    lines[2][0] = b'[';
    let mut lines = lines.iter().cycle();
    pipe.flood(|_| lines.next().cloned().unwrap_or_default())
        .await
}

async fn garbage(pipe: &mut Pipe) -> Result<(), Problem> {
    let mut random = crate::random::Random::new(1, 1);
    pipe.flood(|_| random.bytes(2000)).await
}
