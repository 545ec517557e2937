//! Attacks of a server on a client, which has to give it up.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::time::{sleep, timeout};

use super::form::{Form, SAMPLE_INTERVAL, SETTLE};
use super::outcome::Outcome;
use super::target::{VARIABLES, usage};
use crate::hostile::{CONNECTED, GIVEN_UP};
use crate::problem::{Problem, to_problem};
use crate::process::{spawn, wait_for_end};

/// One attack on a client.
pub(super) struct ClientAttack {
    pub(super) name: &'static str,
    /// The role of the client that is attacked.
    role: &'static str,
}

/// The attacks, in the order in which they are played.
pub(super) const ATTACKS: &[ClientAttack] = &[
    ClientAttack {
        name: "client: pages of a list without an end",
        role: "attacked-list",
    },
    ClientAttack {
        name: "client: messages of a call without an end",
        role: "attacked-call",
    },
];

pub(super) async fn play(attack: &ClientAttack, form: &Form) -> Result<Outcome, Problem> {
    let mut child = spawn(&form.server, attack.role, VARIABLES, Stdio::null())?;
    let process = child.id().ok_or("the client has ended")?;
    let output = child.stdout.take().ok_or("a process without an output")?;
    let mut input = child.stdin.take().ok_or("a process without an input")?;
    let mut lines = BufReader::new(output).lines();
    let line = timeout(SETTLE, lines.next_line()).await;
    let line = line.map_err(|_| "the client does not connect".to_owned())?;
    if line.map_err(to_problem)?.as_deref() != Some(CONNECTED) {
        return Err("the client does not connect".to_owned());
    }
    let start = usage(process, 0)?;
    let mut peak = start;
    input.write_all(b"\n").await.map_err(to_problem)?;
    let sampling = async {
        loop {
            peak = peak.max(usage(process, 0).unwrap_or_default());
            sleep(SAMPLE_INTERVAL / 10).await;
        }
    };
    let line = tokio::select! {
        line = timeout(form.time.max(SETTLE), lines.next_line()) => line,
        () = sampling => return Err("the look at the client ended".to_owned()),
    };
    let line = line.map_err(|_| "the client does not give its server up".to_owned())?;
    let line = line.map_err(to_problem)?.unwrap_or_default();
    if !line.starts_with(GIVEN_UP) {
        return Err(format!("the client does not give its server up: {line}"));
    }
    // The server that it started ends with the connection.
    sleep(2 * SAMPLE_INTERVAL).await;
    let end = usage(process, 0)?;
    drop(input);
    wait_for_end(&mut child).await?;
    Ok(Outcome {
        name: attack.name,
        attackers: 1,
        start,
        peak,
        end: Some(end),
        again: Vec::new(),
        service: None,
    })
}
