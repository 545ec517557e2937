//! A client that behaves while others attack: it calls in both eras, opens sessions, and records the
//! service that it gets.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::problem::Result;
use crate::process::within;
use crate::raw::{Raw, legacy_call};
use crate::route::Route;

/// The time after which a call counts as not answered.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// The time between two rounds of calls, and the rounds after which another session is opened.
const PAUSE: Duration = Duration::from_millis(5);
const ROUNDS: u64 = 10;

/// Entries of a server's tables, by name.
pub(super) type Counts = BTreeMap<String, usize>;

/// The service that a client got.
#[derive(Debug, Default)]
pub(super) struct Service {
    calls: usize,
    /// The times of the calls that were answered.
    times: Vec<Duration>,
    /// Attempts to open a session on a new connection, and those that succeeded. They count as calls, too.
    openings: usize,
    opened: usize,
}

impl Service {
    pub(super) fn record(&mut self, answered: Option<Duration>) {
        self.calls += 1;
        self.times.extend(answered);
    }

    pub(super) fn answered_percent(&self) -> usize {
        let answered = 100 * self.times.len();
        answered.checked_div(self.calls).unwrap_or(0)
    }

    /// Returns the part of the new connections that got a session, in percent, if there were any.
    pub(super) fn opened_percent(&self) -> Option<usize> {
        (self.opened * 100).checked_div(self.openings)
    }

    /// Returns the time within which 99 % of the answers came.
    pub(super) fn p99(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort_unstable();
        let rank = (times.len() * 99).div_ceil(100).saturating_sub(1);
        times.get(rank).copied().unwrap_or(CALL_TIMEOUT)
    }
}

/// A client with a connection and a session.
pub(super) struct HonestClient {
    route: Route,
    raw: Raw,
    session: String,
    pub(super) service: Service,
    /// The most sessions that the server had.
    pub(super) peak_sessions: usize,
}

impl HonestClient {
    pub(super) async fn connect(route: Route) -> Result<Self> {
        let mut raw = Raw::connect(&route).await?;
        Ok(Self {
            route,
            session: raw.open().await?,
            raw,
            service: Service::default(),
            peak_sessions: 0,
        })
    }

    /// Returns the entries of the server's tables.
    pub(super) async fn counts(&mut self) -> Result<Counts> {
        in_time(count(&mut self.raw)).await
    }

    /// Ends the session and the connection.
    pub(super) async fn leave(mut self) {
        // A session that was ended in the attack cannot be ended again.
        let _ = in_time(self.raw.delete(&self.session)).await;
    }

    /// Calls in both eras, one call at a time, and counts the sessions now and then.
    pub(super) async fn call_until(&mut self, until: Instant) {
        for round in 0.. {
            let modern = measure(self.call(round, false)).await;
            let legacy = measure(self.call(round, true)).await;
            let mut is_well = modern.is_some() && legacy.is_some();
            self.service.record(modern);
            self.service.record(legacy);
            let is_over = Instant::now() >= until;
            if round % ROUNDS == 0 {
                let opened = measure(async {
                    let mut raw = Raw::connect(&self.route).await?;
                    let session = raw.open().await?;
                    raw.delete(&session).await
                });
                let opened = opened.await;
                self.service.record(opened);
                self.service.openings += 1;
                self.service.opened += usize::from(opened.is_some());
            }
            if is_well && (round % ROUNDS == 0 || is_over) {
                let counts = self.counts().await;
                is_well = counts.is_ok();
                let sessions = counts
                    .ok()
                    .and_then(|counts| counts.get("sessions").copied());
                self.peak_sessions = self.peak_sessions.max(sessions.unwrap_or(0));
            }
            if !is_well {
                self.reconnect().await;
            }
            if is_over {
                return;
            }
            sleep(PAUSE).await;
        }
    }

    /// Calls a tool, whose answer has to repeat the number.
    async fn call(&mut self, number: u64, in_session: bool) -> Result {
        let arguments = json!({"message": "hello", "number": number});
        if in_session {
            let echo = legacy_call(number, "echo", arguments);
            self.raw.legacy(&self.session, &echo).await;
        } else {
            self.raw.call("echo", arguments).await;
        }
        let (head, body) = self.raw.answer().await?;
        let body = String::from_utf8_lossy(&body);
        if head.status == 200 && body.contains(&format!(r#""number":{number}"#)) {
            Ok(())
        } else {
            Err(format!("a wrong answer ({}): {body}", head.status).into())
        }
    }

    /// Takes another connection, and another session if that one is gone.
    async fn reconnect(&mut self) {
        if let Ok(mut raw) = in_time(Raw::connect(&self.route)).await {
            if let Ok(session) = in_time(raw.open()).await {
                self.session = session;
            }
            self.raw = raw;
        }
    }
}

/// Returns the entries of a server's tables, counted over a connection of its own.
pub(super) async fn counts(route: &Route) -> Result<Counts> {
    let mut raw = in_time(Raw::connect(route)).await?;
    in_time(count(&mut raw)).await
}

async fn count(raw: &mut Raw) -> Result<Counts> {
    raw.call("held", json!({})).await;
    let (_, body) = raw.answer().await?;
    let answer: Value = serde_json::from_slice(&body)?;
    let text = answer["result"]["content"][0]["text"].as_str();
    Ok(serde_json::from_str(text.ok_or("no counts")?)?)
}

async fn in_time<T>(call: impl Future<Output = Result<T>>) -> Result<T> {
    within(CALL_TIMEOUT, "no answer in time", call).await
}

/// Returns the time that a call takes, if it is answered.
pub(super) async fn measure(call: impl Future<Output = Result>) -> Option<Duration> {
    let began = Instant::now();
    let answered = in_time(call).await;
    answered.is_ok().then(|| began.elapsed())
}
