//! A client that behaves while others attack: it calls in both eras and opens sessions, and records what
//! it gets.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::problem::{Problem, to_problem};
use crate::raw::{Raw, call, of_session, request};
use crate::route::Route;

/// The time after which a call counts as not answered.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// The time between two rounds of calls.
const PAUSE: Duration = Duration::from_millis(5);

/// Rounds after which a session is opened and ended beside the other one.
const ROUNDS: usize = 10;

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

    fn record_opening(&mut self, opened: Option<Duration>) {
        self.record(opened);
        self.openings += 1;
        self.opened += usize::from(opened.is_some());
    }

    pub(super) fn answered_percent(&self) -> usize {
        (self.times.len() * 100)
            .checked_div(self.calls)
            .unwrap_or(0)
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
    service: Service,
}

impl HonestClient {
    pub(super) async fn connect(route: Route) -> Result<Self, Problem> {
        let mut raw = Raw::connect_by(route.clone()).await?;
        Ok(Self {
            route,
            session: raw.open().await?,
            raw,
            service: Service::default(),
        })
    }

    /// Returns the service since the last time that it was taken.
    pub(super) fn take_service(&mut self) -> Service {
        std::mem::take(&mut self.service)
    }

    /// Returns the number of sessions that the server has.
    pub(super) async fn sessions(&mut self) -> Result<usize, Problem> {
        let counted = within_timeout(count_sessions(&mut self.raw)).await;
        if counted.is_err() {
            self.reconnect().await;
        }
        counted
    }

    /// Ends the session and the connection.
    pub(super) async fn leave(mut self) {
        let headers = of_session(&self.session);
        self.raw.ask("DELETE", "/mcp", &headers).await;
        // A session that was ended in the attack cannot be ended again.
        let _ = within_timeout(self.raw.answer()).await;
    }

    /// Calls in both eras, one call at a time, and tells now and then how many sessions there are.
    pub(super) async fn call_until(&mut self, until: Instant, mut sessions: impl FnMut(usize)) {
        let mut round = 0;
        while Instant::now() < until {
            round += 1;
            let session = self.session.clone();
            let echo = call("echo", &json!({"message": "hello", "number": round}));
            let answers = [
                measure(async {
                    self.raw.modern("tools/call", echo.clone()).await;
                    check_answer(&mut self.raw).await
                })
                .await,
                measure(async {
                    let echo = request(round, "tools/call", &echo);
                    self.raw.legacy(&session, &echo).await;
                    check_answer(&mut self.raw).await
                })
                .await,
            ];
            let is_well = answers.iter().all(Option::is_some);
            answers.into_iter().for_each(|it| self.service.record(it));
            if !is_well {
                self.reconnect().await;
            }
            if round % ROUNDS as u64 == 1 {
                let opened = measure(async {
                    let mut raw = Raw::connect_by(self.route.clone()).await?;
                    let session = raw.open().await?;
                    raw.ask("DELETE", "/mcp", &of_session(&session)).await;
                    raw.answer().await.map(drop)
                });
                self.service.record_opening(opened.await);
                self.sessions().await.map_or_else(drop, &mut sessions);
            }
            sleep(PAUSE).await;
        }
        self.sessions().await.map_or_else(drop, &mut sessions);
    }

    /// Takes another connection, and another session if that one is gone.
    async fn reconnect(&mut self) {
        if let Ok(mut raw) = within_timeout(Raw::connect_by(self.route.clone())).await {
            if let Ok(session) = within_timeout(raw.open()).await {
                self.session = session;
            }
            self.raw = raw;
        }
    }
}

/// Returns the number of sessions that a server has, counted over a connection of its own.
pub(super) async fn sessions(route: Route) -> Result<usize, Problem> {
    let mut raw = within_timeout(Raw::connect_by(route)).await?;
    within_timeout(count_sessions(&mut raw)).await
}

async fn count_sessions(raw: &mut Raw) -> Result<usize, Problem> {
    raw.modern("tools/call", call("held", &json!({}))).await;
    let (_, body) = raw.answer().await?;
    let answer: Value = serde_json::from_slice(&body).map_err(to_problem)?;
    let text = answer["result"]["content"][0]["text"].as_str();
    let held: Value = serde_json::from_str(text.unwrap_or_default()).map_err(to_problem)?;
    let sessions = held["sessions"].as_u64().ok_or("no number of sessions")?;
    usize::try_from(sessions).map_err(to_problem)
}

async fn within_timeout<T>(call: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    let answered = timeout(CALL_TIMEOUT, call).await;
    answered.map_err(|_| "no answer in time".to_owned())?
}

/// Returns the time that a call takes, if it is answered.
pub(super) async fn measure(call: impl Future<Output = Result<(), Problem>>) -> Option<Duration> {
    let began = Instant::now();
    let answered = within_timeout(call).await;
    answered.is_ok().then(|| began.elapsed())
}

async fn check_answer(raw: &mut Raw) -> Result<(), Problem> {
    let (head, body) = raw.answer().await?;
    if head.status == 200 && body.windows(5).any(|part| part == b"hello") {
        Ok(())
    } else {
        Err(format!("a wrong answer ({})", head.status))
    }
}
