//! The attacks, and their playing one after the other or several at a time.
//!
//! Over HTTP attackers come from `127.0.0.1`, or from many addresses, and the honest client from
//! `127.0.0.2`; where tokens are checked all come from one address with different tokens. An attack over
//! HTTP is a row of the table in [`list`]. A server on a pipe has one client, so the honest client is the
//! attacker itself afterwards; these attacks are in [`pipes`]. Those of a server on its client are in
//! [`client`].

mod attacker;
mod calls;
mod client;
mod form;
mod honest;
mod http2;
mod list;
mod network;
mod outcome;
mod pipe;
mod pipes;
mod sse;
mod tables;
mod target;
mod tls;

use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use tokio::task::{JoinSet, LocalSet};

use crate::problem::{Problem, Result};
use crate::process::{VARIABLES, itself};
use crate::role::runtime;
use form::{Form, LONG, SHORT};
use outcome::Outcome;

const USAGE: &str =
    "usage: turnbuckle-soak [--seconds N] [--only WORD] [--server PROGRAM] [--brief]";

/// Attacks that are played at a time in the short form, most of whose time is waiting.
const SHORT_LANES: usize = 6;

/// Plays the attacks that the options select.
pub(crate) fn run(options: &[String]) -> Result {
    let mut form = Form {
        time: LONG,
        is_short: false,
        server: itself()?,
    };
    let mut only = "";
    let mut options = options.iter();
    while let Some(option) = options.next() {
        let mut value = || options.next().ok_or(USAGE);
        match option.as_str() {
            "--brief" => (form.time, form.is_short) = (SHORT, true),
            "--only" => only = value()?,
            "--server" => form.server = value()?.into(),
            "--seconds" => form.time = Duration::from_secs(value()?.parse()?),
            _ => return Err(USAGE.into()),
        }
    }
    LocalSet::new().block_on(&runtime()?, play(Rc::new(form), only))
}

/// The playing of one attack.
type Playing = Pin<Box<dyn Future<Output = Result<Outcome>>>>;

async fn play(form: Rc<Form>, only: &str) -> Result {
    println!("the servers run with {VARIABLES:?}");
    outcome::print_header();
    let http = list::ATTACKS
        .iter()
        .map(|attack| (attack.name, network::play(attack, form.clone())));
    let mut waiting: Vec<(&str, Playing)> = Vec::new();
    for (name, playing) in http {
        waiting.push((name, Box::pin(playing)));
    }
    for attack in pipes::ATTACKS {
        waiting.push((attack.name, Box::pin(pipe::play(attack, form.clone()))));
    }
    for attack in client::ATTACKS {
        waiting.push((attack.name, Box::pin(client::play(attack, form.clone()))));
    }
    let mut waiting = waiting.into_iter().filter(|(name, _)| name.contains(only));
    let lanes = if form.is_short { SHORT_LANES } else { 1 };
    let mut running = JoinSet::new();
    let mut problems = Vec::new();
    loop {
        for (name, playing) in waiting.by_ref().take(lanes - running.len()) {
            running.spawn_local(async move {
                let played = playing.await;
                played.map_err(|problem| Problem::from(format!("{name}: {problem}")))
            });
        }
        match running.join_next().await {
            Some(Ok(Ok(outcome))) => {
                println!("{outcome}");
                problems.extend(outcome.broken_bounds(&form));
            }
            Some(Ok(Err(problem))) => problems.push(problem.to_string()),
            Some(Err(panicked)) => problems.push(panicked.to_string()),
            None if problems.is_empty() => return Ok(()),
            None => return Err(problems.join("\n").into()),
        }
    }
}
