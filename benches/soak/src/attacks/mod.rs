//! Attacks: what each does to a server's memory, descriptors and sessions, and to the service that an
//! honest client gets meanwhile.
//!
//! Each attack has a server process of its own. Over HTTP attackers come from `127.0.0.1`, or from many
//! addresses, and the honest client from `127.0.0.2`; where tokens are checked all come from one address
//! with different tokens. An attack over HTTP is a row of the table in `list`. A server on a pipe has one
//! client, so the honest client is the attacker itself afterwards; these attacks are in `pipes`. Those of
//! a server on its client are in `client`.

mod attack;
mod calls;
mod client;
mod floods;
mod form;
mod honest;
mod http2;
mod list;
mod network;
mod outcome;
mod pipe;
mod pipes;
mod sse;
mod target;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use tokio::process::Command;
use tokio::task::JoinSet;

use crate::problem::{Problem, to_problem};
use crate::process::itself;
use crate::role::runtime;
use form::{Form, LONG, SHORT};
use outcome::Outcome;

const USAGE: &str =
    "usage: turnbuckle-soak attacks [--seconds N] [--only WORD] [--server PROGRAM] [--brief]";

/// The option that selects the short form, which must come last.
const BRIEF: &str = "--brief";

/// Attacks that are played at a time in the short form, most of whose time is waiting.
const SHORT_LANES: usize = 6;

/// Plays the attacks whose name contains a word, for so many seconds each, by hand.
pub(crate) fn play(words: &[String]) -> Result<(), Problem> {
    let mut form = Form {
        time: LONG,
        is_short: false,
        server: itself()?,
    };
    let mut only = "";
    for pair in words.chunks(2) {
        match pair {
            [name] if name == BRIEF => (form.time, form.is_short) = (SHORT, true),
            [name, value] if name == "--only" => only = value,
            [name, value] if name == "--server" => form.server = value.into(),
            [name, value] if name == "--seconds" => {
                let seconds = value.parse().map_err(|_| format!("no number: {value}"))?;
                form.time = Duration::from_secs(seconds);
            }
            _ => return Err(USAGE.to_owned()),
        }
    }
    runtime()?.block_on(run(form, only))
}

/// Plays every attack for a moment and with few attackers, in a process of its own: the counts and delays of
/// this one are its own.
pub(crate) async fn run_briefly() -> Result<(), Problem> {
    let mut command = Command::new(itself()?);
    let command = command.args(["attacks", BRIEF]).kill_on_drop(true);
    let status = command.status().await.map_err(to_problem)?;
    if status.success() {
        Ok(())
    } else {
        Err("attacks failed".to_owned())
    }
}

async fn run(form: Form, only: &str) -> Result<(), Problem> {
    let form = Arc::new(form);
    let variables = target::VARIABLES.iter();
    let variables: Vec<_> = variables
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    println!("the servers run with {}", variables.join(" "));
    println!("{}", outcome::header());
    let mut plays = plays(&form, only).into_iter();
    let lanes = if form.is_short { SHORT_LANES } else { 1 };
    let mut running = JoinSet::new();
    let mut problems = Vec::new();
    loop {
        let next = plays.by_ref().take(lanes - running.len());
        next.for_each(|play| drop(running.spawn(play)));
        let Some(ended) = running.join_next().await else {
            break;
        };
        match ended {
            Ok(Ok(outcome)) => {
                println!("{outcome}");
                problems.extend(outcome.broken_bounds(&form));
            }
            Ok(Err(problem)) => problems.push(problem),
            Err(panicked) => problems.push(panicked.to_string()),
        }
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.join("\n"))
    }
}

/// The playing of one attack.
type Play = std::pin::Pin<Box<dyn Future<Output = Result<Outcome, Problem>> + Send>>;

/// Returns the attacks whose name contains a word, to be played in this form.
fn plays(form: &Arc<Form>, only: &str) -> Vec<Play> {
    let mut plays: Vec<Play> = Vec::new();
    for attack in list::ATTACKS.iter().filter(|it| it.name.contains(only)) {
        let form = form.clone();
        plays.push(Box::pin(async move {
            let played = network::play(attack, &form).await;
            played.map_err(|problem| format!("{}: {problem}", attack.name))
        }));
    }
    for attack in pipes::ATTACKS.iter().filter(|it| it.name.contains(only)) {
        let form = form.clone();
        plays.push(Box::pin(async move {
            let played = pipe::play(attack, &form).await;
            played.map_err(|problem| format!("{}: {problem}", attack.name))
        }));
    }
    for attack in client::ATTACKS.iter().filter(|it| it.name.contains(only)) {
        let form = form.clone();
        plays.push(Box::pin(async move {
            let played = client::play(attack, &form).await;
            played.map_err(|problem| format!("{}: {problem}", attack.name))
        }));
    }
    plays
}
