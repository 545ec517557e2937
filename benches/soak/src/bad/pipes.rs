//! Servers on pipes, each a process: however their clients behave, they end when they are left, and
//! before that a sound request is answered.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Child;
use tokio::time::timeout;

use crate::address::ServerAddress;
use crate::problem::{Problem, to_problem};
use crate::process::{itself, spawn};
use crate::random::Random;
use crate::random::sleep_randomly;
use crate::raw::{SOON, modern, request};

fn start() -> Result<Child, Problem> {
    spawn(&itself()?, "stdio", &[], Stdio::null())
}

/// Waits until the server has ended by itself.
async fn ends(mut server: Child) -> Result<(), Problem> {
    let ended = timeout(SOON, server.wait()).await;
    ended
        .map_err(|_| "a server without a client stays".to_owned())?
        .map(drop)
        .map_err(to_problem)
}

/// Writes lines of any kind, then asks something sound, and leaves.
pub(super) async fn writes_garbage(_: ServerAddress, mut random: Random) -> Result<(), Problem> {
    let mut server = start()?;
    let (Some(mut input), Some(output)) = (server.stdin.take(), server.stdout.take()) else {
        return Err("a process without pipes".to_owned());
    };
    let mut lines = BufReader::new(output).lines();
    for _ in 0..50 {
        let length = random.below(300);
        let mut line = match random.below(4) {
            0 => random.bytes(length),
            1 => b"[".repeat(length),
            2 => {
                br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#
                    .to_vec()
            }
            _ => br#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_vec(),
        };
        line.push(b'\n');
        input.write_all(&line).await.map_err(to_problem)?;
    }
    let (_, mut sound) = modern(
        "tools/call",
        json!({"name": "slow", "arguments": {"ms": 1}}),
    );
    sound = sound.replacen(r#""id":1"#, r#""id":"last""#, 1);
    sound.push('\n');
    input
        .write_all(sound.as_bytes())
        .await
        .map_err(to_problem)?;
    loop {
        let line = timeout(SOON, lines.next_line()).await;
        let line = line
            .map_err(|_| "no answer on a pipe".to_owned())?
            .map_err(to_problem)?;
        let line = line.ok_or("a pipe ended before its client")?;
        let answer: Value = serde_json::from_str(&line).map_err(|_| format!("no JSON: {line}"))?;
        if answer["id"] == "last" {
            break;
        }
    }
    drop(input);
    ends(server).await
}

/// Leaves in mid-call, with all it asked unread; or kills the server.
pub(super) async fn is_killed_or_leaves(
    _: ServerAddress,
    mut random: Random,
) -> Result<(), Problem> {
    let mut server = start()?;
    let Some(mut input) = server.stdin.take() else {
        return Err("a process without pipes".to_owned());
    };
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "bad", "version": "1"}});
    let mut asked = request(0, "initialize", &params).to_string() + "\n";
    for id in 1..40 {
        let (tool, arguments) = random.choose(&[
            ("slow", json!({"ms": 30_000})),
            ("big", json!({"bytes": 100_000})),
            ("echo", json!({"message": "m", "number": 1})),
        ]);
        let call = json!({"name": tool, "arguments": arguments});
        asked.push_str(&request(id, "tools/call", &call).to_string());
        asked.push('\n');
    }
    let at = random.below(asked.len());
    // A server that is not read stops reading when its queues are full.
    let write = input.write_all(&asked.as_bytes()[..at]);
    let _ = timeout(Duration::from_millis(500), write).await;
    sleep_randomly(&mut random, 100).await;
    if random.below(3) == 0 {
        server.start_kill().map_err(to_problem)?;
    }
    drop(input);
    drop(server.stdout.take());
    ends(server).await
}
