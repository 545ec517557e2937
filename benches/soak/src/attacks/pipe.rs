//! The playing of an attack on a server on pipes, whose only client is the attacker.

use std::pin::Pin;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::{Instant, sleep, timeout};

use super::form::{Form, SAMPLE_INTERVAL, SETTLE};
use super::honest::{Service, measure};
use super::outcome::Outcome;
use super::target::{Usage, VARIABLES, usage};
use crate::problem::{Problem, to_problem};
use crate::process::{spawn, wait_for_end};
use crate::raw::{GREETED, GREETING, SOON, call, request};

/// Calls of the honest client before and after the attack.
const CALLS: u64 = 200;

/// The time between two of these calls, which leaves them below the rate that a client may have.
const PAUSE: Duration = Duration::from_millis(1);

/// One attack on a pipe.
pub(super) struct PipeAttack {
    pub(super) name: &'static str,
    pub(super) act: for<'a> fn(&'a mut Pipe) -> Acting<'a>,
    /// The server has to end by itself, since nobody reads its output.
    pub(super) ends: bool,
}

pub(super) type Acting<'a> = Pin<Box<dyn Future<Output = Result<(), Problem>> + Send + 'a>>;

/// The pipes of a server.
pub(super) struct Pipe {
    pub(super) input: ChildStdin,
    pub(super) output: BufReader<ChildStdout>,
}

impl Pipe {
    fn take(child: &mut Child) -> Result<Self, Problem> {
        match (child.stdin.take(), child.stdout.take()) {
            (Some(input), Some(output)) => Ok(Self {
                input,
                output: BufReader::new(output),
            }),
            _ => Err("a process without pipes".to_owned()),
        }
    }

    /// Writes lines without an end and reads whatever comes back.
    pub(super) async fn flood(
        &mut self,
        mut line: impl FnMut(u64) -> Vec<u8>,
    ) -> Result<(), Problem> {
        let Self { input, output } = self;
        let writing = async {
            for number in 0.. {
                input.write_all(&line(number)).await?;
            }
            Ok(())
        };
        let mut nowhere = tokio::io::sink();
        let reading = tokio::io::copy_buf(output, &mut nowhere);
        let (written, _) = tokio::try_join!(writing, reading).map_err(to_problem)?;
        Ok(written)
    }

    /// Begins a session as an honest client does, behind anything that an attack has left.
    async fn greet(&mut self) -> Result<(), Problem> {
        // The first newline ends the line that an attack may have left.
        let lines = format!("\n{GREETING}\n{GREETED}\n");
        let written = timeout(SOON, self.input.write_all(lines.as_bytes())).await;
        written
            .map_err(|_| "a pipe takes nothing".to_owned())?
            .map_err(to_problem)
    }

    /// Calls a tool and waits for the answer.
    async fn call(&mut self, number: u64) -> Result<(), Problem> {
        let echo = call("echo", &json!({"message": "hello", "number": number}));
        let mut echo = request(0, "tools/call", &echo);
        let id = format!("honest-{number}");
        echo["id"] = id.clone().into();
        let Self { input, output } = self;
        let reading = async {
            let mut line = Vec::new();
            loop {
                line.clear();
                let count = output.read_until(b'\n', &mut line).await;
                if count.map_err(to_problem)? == 0 {
                    return Err("the server ended".to_owned());
                }
                // Most of what an attack has left is not worth being parsed.
                if line.windows(id.len()).any(|part| part == id.as_bytes())
                    && let Ok(answer) = serde_json::from_slice::<Value>(&line)
                    && answer["id"] == id.as_str()
                {
                    return if answer["result"].is_object() {
                        Ok(())
                    } else {
                        Err(format!("refused: {}", answer["error"]))
                    };
                }
            }
        };
        let line = format!("{echo}\n");
        let writing = async { input.write_all(line.as_bytes()).await.map_err(to_problem) };
        tokio::try_join!(writing, reading).map(drop)
    }

    /// Waits until the server answers again, and then measures its service.
    async fn measure_service(&mut self) -> Result<Service, Problem> {
        let deadline = Instant::now() + SOON;
        let mut number = 0;
        // What is left of the attack is answered first, and its rates may be used up, that of handshakes too.
        loop {
            number += 1;
            self.greet().await?;
            let answered = timeout(SOON, self.call(number)).await;
            match answered {
                Ok(Ok(())) => break,
                _ if Instant::now() < deadline => sleep(SAMPLE_INTERVAL).await,
                Ok(Err(problem)) => return Err(format!("afterwards: {problem}")),
                Err(_) => return Err("afterwards nothing is answered".to_owned()),
            }
        }
        let mut service = Service::default();
        for _ in 0..CALLS {
            number += 1;
            service.record(measure(self.call(number)).await);
            sleep(PAUSE).await;
        }
        Ok(service)
    }
}

pub(super) async fn play(attack: &PipeAttack, form: &Form) -> Result<Outcome, Problem> {
    let mut child = spawn(&form.server, "attacked-pipe", VARIABLES, Stdio::null())?;
    let process = child.id().ok_or("the server has ended")?;
    let mut pipe = Pipe::take(&mut child)?;
    pipe.measure_service().await?;
    let start = usage(process, 0)?;
    let mut peak = start;
    let attacking = timeout(form.time, (attack.act)(&mut pipe));
    let until = Instant::now() + form.time;
    let sampling = async {
        while Instant::now() < until {
            // A server that has ended uses nothing.
            peak = peak.max(usage(process, 0).unwrap_or_default());
            sleep(SAMPLE_INTERVAL).await;
        }
    };
    let (attacked, ()) = tokio::join!(attacking, sampling);
    let mut outcome = Outcome {
        name: attack.name,
        attackers: 1,
        start,
        peak,
        end: None,
        again: Vec::new(),
        service: None,
    };
    if attack.ends {
        let ended = timeout(SETTLE, child.wait()).await;
        ended
            .map_err(|_| "the server goes on for a client that reads nothing".to_owned())?
            .map_err(to_problem)?;
        return Ok(outcome);
    }
    // Only a pipe that broke ends an attack before its time.
    if let Ok(Err(problem)) = attacked {
        return Err(problem);
    }
    outcome.service = Some(pipe.measure_service().await?);
    outcome.end = Some(settle(form.settle_time(), process, start).await?);
    drop(pipe);
    wait_for_end(&mut child).await?;
    Ok(outcome)
}

async fn settle(most: Duration, process: u32, start: Usage) -> Result<Usage, Problem> {
    let deadline = Instant::now() + most;
    loop {
        let now = usage(process, 0)?;
        if now.is_near(start) || Instant::now() > deadline {
            return Ok(now);
        }
        sleep(2 * SAMPLE_INTERVAL).await;
    }
}
