//! The authorization of one client at one server: the current token, and how to get the next one.
//!
//! [`SessionState`] decides what to do; an [`AuthSession`] owns it behind one mutex and does it. Each
//! attempt to get a token runs in a task of its own, with the steps of `login`: a refresh token that
//! the server has replaced must be stored, even if the request that needed it is dropped. Locks of the
//! store make sure of one attempt at a time between processes.

mod state;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use state::Demand;
use state::{Action, Answer, Attempt, AttemptKind, Outcome, SessionState};
use tokio::sync::mpsc;
use turnbuckle_types::base::text::Escaped;
use turnbuckle_types::{PeerAddress, UserWait};

use super::active_token::ActiveToken;
use super::login::{LoginContext, Renewal};
use super::settings::Settings;
use crate::challenge::Challenge;
use crate::clock::Clock;
use crate::error::{AuthError, AuthErrorKind};
use crate::outbound::{Outbound, is_https_or_loopback};
use crate::transcript::{Recorder, StepKind, Transcript};

/// The authorization of one client at one server.
pub(crate) struct AuthSession {
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    /// The client for requests to URLs that the server named.
    pub(crate) outbound: Outbound,
    /// True if nobody between can read requests to the server, or the settings do not mind.
    is_confidential: bool,
    shared: Mutex<Shared>,
}

struct Shared {
    state: SessionState<mpsc::Sender<Event>>,
    /// The steps of the last attempt.
    transcript: Transcript,
}

/// An event for one who waits for a token.
enum Event {
    UserWaitBegan,
    Answered(Answer),
}

impl AuthSession {
    /// Creates the session of a client that has no token yet.
    ///
    /// # Errors
    /// Fails when the certificates of the settings cannot be read.
    pub(crate) fn new(settings: Settings, clock: Clock) -> Result<Self, AuthError> {
        let allowed = &settings.outbound.plain_http_origins;
        let server = &settings.server;
        let is_confidential = is_https_or_loopback(server)
            || allowed
                .iter()
                .any(|origin| origin.origin() == server.origin());
        Ok(Self {
            is_confidential,
            outbound: Outbound::new(server, settings.outbound.clone())?,
            settings,
            clock,
            shared: Mutex::new(Shared {
                state: SessionState::new(),
                transcript: Transcript::default(),
            }),
        })
    }

    /// Returns whether a URL belongs to the server, so that it may see the token, and not in clear text.
    pub(crate) fn is_own_origin(&self, uri: &http::Uri) -> bool {
        let server = &self.settings.server;
        if !self.is_confidential {
            return false;
        }
        let default_port = match uri.scheme_str() {
            Some("https") => Some(443),
            Some("http") => Some(80),
            _ => return false,
        };
        uri.scheme_str() == Some(server.scheme())
            && uri.host().is_some_and(|host| {
                server
                    .host_str()
                    .is_some_and(|own| own.eq_ignore_ascii_case(host))
            })
            && uri.port_u16().or(default_port) == server.port_or_known_default()
    }

    /// Returns the steps of the last attempt to get a token.
    pub(crate) fn transcript(&self) -> Transcript {
        self.lock().transcript.clone()
    }

    /// Takes in the address to which a request to the server went, if it is known.
    pub(crate) fn note_connection(&self, address: Option<PeerAddress>) {
        self.outbound.note_connection(address.map(PeerAddress::ip));
    }

    /// Returns the token for a request, if there is one. An old token is refreshed before its end; if
    /// that fails, it is used as long as it is valid.
    pub(crate) async fn token(self: &Arc<Self>) -> Option<Arc<ActiveToken>> {
        let answer = self.demand(None, Demand::Token, None).await;
        answer.ok().flatten()
    }

    /// Returns the token even if it has ended, after a refresh that is due.
    pub(crate) async fn token_or_ended(self: &Arc<Self>) -> Option<Arc<ActiveToken>> {
        match self.token().await {
            Some(token) => Some(token),
            None => self.lock().state.token().cloned(),
        }
    }

    /// Gets another token than `used`, the token of a request or none. While the user has to log in,
    /// that is reported to `user_wait`: the timeouts of the request do not run meanwhile.
    ///
    /// Requests that were refused at the same time share one attempt and its outcome. The attempt goes
    /// on if the returned future is dropped.
    pub(crate) async fn replace(
        self: &Arc<Self>,
        used: Option<Arc<ActiveToken>>,
        demand: Demand,
        user_wait: Option<UserWait>,
    ) -> Result<Arc<ActiveToken>, AuthError> {
        let answer = self.demand(used, demand, user_wait).await?;
        answer.ok_or_else(runtime_ended)
    }

    /// Forgets the token, and returns it.
    pub(crate) async fn log_out(self: &Arc<Self>) -> Answer {
        self.demand(None, Demand::LogOut, None).await
    }

    async fn demand(
        self: &Arc<Self>,
        used: Option<Arc<ActiveToken>>,
        demand: Demand,
        user_wait: Option<UserWait>,
    ) -> Answer {
        let now = self.clock.now();
        let (actions, mut events) = {
            let state = &mut self.lock().state;
            if let Some(token) = state.answer(used.as_deref(), &demand, now) {
                return Ok(token);
            }
            // At most two events follow.
            let (waiter, events) = mpsc::channel(2);
            (state.join(used, demand, waiter, now), events)
        };
        self.perform(actions);
        let mut _reported = None;
        loop {
            match events.recv().await {
                Some(Event::UserWaitBegan) => {
                    _reported = user_wait.as_ref().map(UserWait::begin);
                }
                Some(Event::Answered(answer)) => return answer,
                None => return Err(runtime_ended()),
            }
        }
    }

    fn perform(self: &Arc<Self>, actions: Vec<Action<mpsc::Sender<Event>>>) {
        for action in actions {
            // One who waits no longer misses nothing.
            let (waiter, event) = match action {
                Action::Start(attempt) => {
                    let session = self.clone();
                    let running = RunningAttempt { session, attempt };
                    tokio::spawn(async move { running.run().await });
                    continue;
                }
                Action::AnnounceLogin(waiter) => (waiter, Event::UserWaitBegan),
                Action::Answer(waiter, answer) => (waiter, Event::Answered(answer)),
            };
            let _ = waiter.try_send(event);
        }
    }

    /// Gets another token: one that another process stored, a refreshed one, or that of a login or
    /// another grant.
    ///
    /// The lock of the credentials is held while the store is read and a token is refreshed. While the
    /// user logs in, the lock of logins is held instead: other processes can use and refresh what is
    /// stored, and one that needs a login too waits for this one.
    async fn obtain(
        self: &Arc<Self>,
        context: &LoginContext<'_>,
        current: Option<&Arc<ActiveToken>>,
        used: Option<&ActiveToken>,
        demand: &Demand,
        refusal: Option<&AuthError>,
    ) -> Result<Arc<ActiveToken>, AuthError> {
        let challenge = demand.challenge();
        let lock = context.lock_credentials().await?;
        let stored = context.load(current).await?;
        if let Some(token) = context.adopt(used, stored.as_ref()) {
            return Ok(token);
        }
        if let Some(error) = refusal {
            return Err(error.clone());
        }
        // Credentials that were removed are not brought back.
        let previous = stored.as_deref();
        let discovery = match demand {
            Demand::Unauthorized { may_refresh, .. } => {
                match context.renew(previous, challenge, *may_refresh).await? {
                    Renewal::Refreshed(token) => return Ok(token),
                    Renewal::LoginNeeded(discovery) => {
                        self.check_token_scheme(context, used, challenge)?;
                        *discovery
                    }
                }
            }
            _ => context.discover(previous, challenge).await?,
        };
        drop(lock);

        if self.settings.grant.is_interactive() {
            let now = self.clock.now();
            let begun = self.lock().state.begin_login(&discovery.issuer, now);
            self.perform(begun.inspect_err(|_| {
                context.recorder.fail(
                    StepKind::Challenge,
                    "send the token of the login",
                    "the server refused it",
                    "stop: another login would end the same way",
                    "compare the issuer, the audience and the clock of the server with those of its \
                     authorization server",
                );
            })?);
        }
        let _login_lock = context.lock_logins().await?;
        // Another process may have logged in meanwhile.
        let stored = context.load(current).await?;
        if let Some(token) = context.adopt(used, stored.as_ref()) {
            return Ok(token);
        }
        context
            .authorize(&discovery, stored.as_deref(), challenge)
            .await
    }

    /// Refuses a login that would end as the last one: the server refused a token that is bound to a
    /// key, and its challenge names no `DPoP`.
    fn check_token_scheme(
        &self,
        context: &LoginContext<'_>,
        used: Option<&ActiveToken>,
        challenge: Option<&Challenge>,
    ) -> Result<(), AuthError> {
        let now = self.clock.now();
        let is_refused = self.settings.uses_dpop
            && challenge.is_some_and(|challenge| !challenge.is_scheme("DPoP"))
            && used.is_some_and(|token| {
                token.dpop.is_some() && token.credentials.is_valid(now) && !token.was_accepted()
            });
        if !is_refused {
            return Ok(());
        }
        let answer = "the server refuses a token that is bound to a key (DPoP), and its challenge \
                      names Bearer and no DPoP: it takes bearer tokens only";
        let advice = "log in without DPoP: leave out `OAuthBuilder::dpop` (on the command line, \
                      `--dpop`)";
        context.recorder.fail(
            StepKind::Challenge,
            "send a token that is bound to a key",
            answer,
            "stop: another login would end the same way",
            advice,
        );
        let message = format!("{answer}; {advice}");
        Err(AuthError::new(AuthErrorKind::TokenRefused, message))
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An attempt that runs. Dropping the value ends the attempt.
struct RunningAttempt {
    session: Arc<AuthSession>,
    attempt: Arc<Attempt>,
}

impl RunningAttempt {
    /// Runs the attempt and answers those who wait for it.
    async fn run(self) {
        let session = &self.session;
        let recorder = Recorder::new();
        let outcome = self.outcome(&recorder).await;
        let outcome = outcome.unwrap_or_else(|error| Outcome::Failed(error.with_steps(&recorder)));
        match (&self.attempt.kind, &outcome) {
            (AttemptKind::Load, Outcome::Failed(error)) => {
                tracing::warn!(error = %Escaped(&error), "the stored credentials cannot be read");
            }
            (AttemptKind::Refresh(_), Outcome::Failed(error)) => {
                tracing::warn!(error = %Escaped(&error), "the access token could not be refreshed");
            }
            _ => {}
        }
        let actions = {
            let mut shared = session.lock();
            if let AttemptKind::Refresh(_) | AttemptKind::Replace { .. } = &self.attempt.kind {
                shared.transcript = match &outcome {
                    // It may be the error of an earlier attempt, with the steps of that one.
                    Outcome::Failed(error) => error.transcript().clone(),
                    _ => recorder.transcript(),
                };
            }
            shared.state.retain_waiters(|waiter| !waiter.is_closed());
            shared.state.finish(outcome, session.clock.now())
        };
        session.perform(actions);
    }

    async fn outcome(&self, recorder: &Recorder) -> Result<Outcome, AuthError> {
        let context = LoginContext {
            settings: &self.session.settings,
            outbound: &self.session.outbound,
            clock: &self.session.clock,
            recorder,
        };
        let current = self.attempt.current.as_ref();
        match &self.attempt.kind {
            AttemptKind::Load => context.load(current).await.map(Outcome::Loaded),
            AttemptKind::Refresh(token) => {
                let _lock = context.lock_credentials().await?;
                match context.load(current).await? {
                    Some(stored) => {
                        let refreshed = context.refresh_or_adopt(token, stored).await;
                        refreshed.map(Outcome::Obtained)
                    }
                    None => Ok(Outcome::Removed(None)),
                }
            }
            AttemptKind::LogOut => {
                let _lock = context.lock_credentials().await?;
                let stored = context.load(current).await?;
                if let Some(token) = &stored {
                    context.revoke(token).await;
                }
                context.remove().await?;
                Ok(Outcome::Removed(stored))
            }
            AttemptKind::Replace {
                used,
                demand,
                refusal,
            } => {
                record_demand(demand, recorder);
                let (used, refusal) = (used.as_deref(), refusal.as_ref());
                let obtained = self
                    .session
                    .obtain(&context, current, used, demand, refusal);
                obtained.await.map(Outcome::Obtained)
            }
        }
    }
}

impl Drop for RunningAttempt {
    fn drop(&mut self) {
        let actions = {
            let state = &mut self.session.lock().state;
            state.abort(&self.attempt, &runtime_ended())
        };
        self.session.perform(actions);
    }
}

fn runtime_ended() -> AuthError {
    let message = "the authorization was ended with its runtime";
    AuthError::new(AuthErrorKind::Network, message)
}

fn record_demand(demand: &Demand, recorder: &Recorder) {
    let is_step_up = matches!(demand, Demand::InsufficientScope(_));
    let answer = match demand.challenge() {
        Some(challenge) if is_step_up => format!("403 {challenge}"),
        Some(challenge) => format!("401 {challenge}"),
        None => "no challenge".to_owned(),
    };
    let decision = if is_step_up {
        "authorize with more scopes"
    } else {
        "authorize"
    };
    recorder.record(
        StepKind::Challenge,
        "a request to the server",
        answer,
        decision,
    );
}
