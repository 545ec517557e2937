//! Attacks of a server on a client, which has to give it up.

use std::rc::Rc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::time::sleep;

use super::form::{Form, SAMPLE_INTERVAL, SETTLE};
use super::outcome::Outcome;
use super::target::Usage;
use crate::hostile::{CONNECTED, GIVEN_UP};
use crate::problem::Result;
use crate::process::Process;

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
        role: "flooded-list",
    },
    ClientAttack {
        name: "client: messages of a call without an end",
        role: "flooded-call",
    },
];

/// The time in which a client gives its server up. A build without optimizations reads the messages for some seconds, and
/// several times as long beside other work.
const GIVE_UP_TIME: Duration = Duration::from_secs(120);

pub(super) async fn play(attack: &ClientAttack, form: Rc<Form>) -> Result<Outcome> {
    let mut process = Process::start(&form.server, attack.role)?;
    if process.line(SETTLE).await? != CONNECTED {
        return Err("the client does not connect".into());
    }
    let id = process.id;
    let start = Usage::read(id)?;
    let mut peak = start;
    process.input.write_all(b"\n").await?;
    let sampling = async {
        loop {
            peak = peak.max(Usage::read(id).unwrap_or_default());
            sleep(SAMPLE_INTERVAL / 10).await;
        }
    };
    let line: String = tokio::select! {
        line = process.line(form.time.max(GIVE_UP_TIME)) => line?,
        never = sampling => never,
    };
    if !line.starts_with(GIVEN_UP) {
        return Err(format!("the client does not give its server up: {line}").into());
    }
    // The server that it started ends with the connection.
    sleep(2 * SAMPLE_INTERVAL).await;
    let end = Some(Usage::read(id)?);
    process.end().await?;
    Ok(Outcome {
        name: attack.name,
        attackers: 1,
        start,
        peak,
        end,
        ..Outcome::default()
    })
}
