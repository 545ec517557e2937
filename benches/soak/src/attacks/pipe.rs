//! The playing of an attack on a server on a pipe, whose only client is the attacker.

use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep, timeout};

use super::form::{Form, SAMPLE_INTERVAL, SETTLE, SHORT};
use super::honest::{Service, measure};
use super::outcome::Outcome;
use super::target::Usage;
use crate::problem::Result;
use crate::process::{Process, SOON, within};
use crate::raw::{INITIALIZE, INITIALIZED, legacy_call};

/// Calls of the honest client before and after the attack.
const CALLS: u64 = 200;

/// The time between two of these calls, which leaves them below the rate that a client may have.
const PAUSE: Duration = Duration::from_millis(1);

/// One attack on a pipe.
pub(super) struct PipeAttack {
    pub(super) name: &'static str,
    pub(super) act: for<'a> fn(&'a mut Process) -> Acting<'a>,
    /// The server has to end by itself, since its output is not read.
    pub(super) ends: bool,
}

pub(super) type Acting<'a> = Pin<Box<dyn Future<Output = Result> + 'a>>;

/// Writes lines without an end and reads whatever comes back.
pub(super) async fn flood(server: &mut Process, mut line: impl FnMut(u64) -> Vec<u8>) -> Result {
    let Process { input, output, .. } = server;
    let writing = async {
        for number in 0.. {
            input.write_all(&line(number)).await?;
        }
        Ok(())
    };
    let mut nowhere = tokio::io::sink();
    tokio::try_join!(writing, tokio::io::copy_buf(output, &mut nowhere))?;
    Ok(())
}

/// Begins a session as an honest client does, behind anything that an attack has left.
async fn initialize(server: &mut Process) -> Result {
    // The first newline ends the line that an attack may have left.
    let lines = format!("\n{INITIALIZE}\n{INITIALIZED}\n");
    let writing = server.input.write_all(lines.as_bytes());
    within(SOON, "a pipe takes nothing", writing).await
}

/// Calls a tool and waits for the answer.
async fn call(server: &mut Process, number: u64) -> Result {
    let mut echo = legacy_call(0, "echo", json!({"message": "hello", "number": number}));
    let id = format!("honest-{number}");
    echo["id"] = id.clone().into();
    let Process { input, output, .. } = server;
    let reading = async {
        let mut line = Vec::new();
        loop {
            line.clear();
            if output.read_until(b'\n', &mut line).await? == 0 {
                return Err("the server ended".into());
            }
            // Most of the lines that an attack has left are not worth being parsed.
            if line.windows(id.len()).any(|part| part == id.as_bytes())
                && let Ok(answer) = serde_json::from_slice::<Value>(&line)
                && answer["id"] == id.as_str()
            {
                return if answer["result"].is_object() {
                    Ok(())
                } else {
                    Err(format!("refused: {}", answer["error"]).into())
                };
            }
        }
    };
    let line = format!("{echo}\n");
    let writing = async { Ok(input.write_all(line.as_bytes()).await?) };
    tokio::try_join!(writing, reading).map(drop)
}

/// Waits until the server answers again, and then measures its service.
async fn measure_service(server: &mut Process) -> Result<Service> {
    let deadline = Instant::now() + SOON;
    let mut number = 0;
    // The rest of the attack is answered first, and its rates may be used up, that of handshakes too.
    loop {
        number += 1;
        initialize(server).await?;
        match within(SOON, "afterwards nothing is answered", call(server, number)).await {
            Ok(()) => break,
            Err(_) if Instant::now() < deadline => sleep(SAMPLE_INTERVAL).await,
            Err(problem) => return Err(problem),
        }
    }
    let mut service = Service::default();
    for _ in 0..CALLS {
        number += 1;
        service.record(measure(call(server, number)).await);
        sleep(PAUSE).await;
    }
    Ok(service)
}

pub(super) async fn play(attack: &PipeAttack, form: Rc<Form>) -> Result<Outcome> {
    let mut server = Process::start(&form.server, "pipe")?;
    let id = server.id;
    measure_service(&mut server).await?;
    let start = Usage::read(id)?;
    let mut peak = start;
    let until = Instant::now() + form.time;
    let sampling = async {
        while Instant::now() < until {
            // A server that has ended uses nothing.
            peak = peak.max(Usage::read(id).unwrap_or_default());
            sleep(SAMPLE_INTERVAL).await;
        }
    };
    let attacking = timeout(form.time, (attack.act)(&mut server));
    let (attacked, ()) = tokio::join!(attacking, sampling);
    let mut outcome = Outcome {
        name: attack.name,
        attackers: 1,
        start,
        peak,
        ..Outcome::default()
    };
    if attack.ends {
        server.wait().await?;
        return Ok(outcome);
    }
    // Only a pipe that broke ends an attack before its time.
    if let Ok(ended) = attacked {
        ended?;
    }
    outcome.service = Some(measure_service(&mut server).await?);
    let most = if form.is_short { 10 * SHORT } else { SETTLE };
    outcome.end = Some(settle(most, id, start).await?);
    server.end().await?;
    Ok(outcome)
}

async fn settle(most: Duration, process: u32, start: Usage) -> Result<Usage> {
    let deadline = Instant::now() + most;
    loop {
        let usage = Usage::read(process)?;
        if usage.is_near(start) || Instant::now() > deadline {
            return Ok(usage);
        }
        sleep(2 * SAMPLE_INTERVAL).await;
    }
}
