//! An attempt to get another token: one at a time, over tasks and processes.
//!
//! The lock of the credentials is held while the store is read and a token is refreshed. While the
//! user logs in, the attempt holds the lock of logins instead: other processes can use and refresh
//! what is stored, and one that needs a login too waits for this one.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::active_token::TokenOrigin;
use super::{ActiveToken, AuthSession, Flight};
use crate::challenge::Challenge;
use crate::client::login::{Login, Renewal};
use crate::client::store::StoreLock;
use crate::error::{AuthError, AuthErrorKind};
use crate::transcript::{Recorder, StepKind};

/// The sets of scopes that are remembered as authorized because of a challenge.
const MAX_STEP_UPS: usize = 64;

/// The time that a login waits for that of another task or process: a little more than a user has.
const OTHER_LOGIN_TIMEOUT: Duration = Duration::from_secs(6 * 60);

/// The time after which the user hears that a login waits for another.
const WAIT_NOTICE_DELAY: Duration = Duration::from_millis(300);

/// The pause between two attempts to take the lock of logins.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// The reason why a new token is needed.
pub(crate) enum Demand {
    /// The server answered 401.
    Unauthorized {
        challenge: Option<Challenge>,
        /// False if the token that was refused had just been refreshed.
        may_refresh: bool,
    },
    /// The server answered 403: more scopes are needed.
    InsufficientScope(Challenge),
    /// The program asked for a login.
    Login(Option<Challenge>),
}

impl Demand {
    fn challenge(&self) -> Option<&Challenge> {
        match self {
            Self::Unauthorized { challenge, .. } | Self::Login(challenge) => challenge.as_ref(),
            Self::InsufficientScope(challenge) => Some(challenge),
        }
    }

    fn record(&self, recorder: &Recorder) {
        let answer = match (self, self.challenge()) {
            (Self::InsufficientScope(_), Some(challenge)) => format!("403 {challenge}"),
            (_, Some(challenge)) => format!("401 {challenge}"),
            (_, None) => "no challenge".to_owned(),
        };
        let decision = match self {
            Self::InsufficientScope(_) => "authorize with more scopes",
            Self::Unauthorized { .. } | Self::Login(_) => "authorize",
        };
        let request = "a request to the server";
        recorder.record(StepKind::Challenge, request, answer, decision);
    }
}

impl AuthSession {
    /// Gets another token because of a demand. `used` is the token of the request, or none.
    ///
    /// Requests that were refused at the same time share one attempt and its outcome. The attempt goes
    /// on if the returned future is dropped.
    pub(crate) async fn replace(
        self: &Arc<Self>,
        used: Option<Arc<ActiveToken>>,
        demand: Demand,
    ) -> Result<Arc<ActiveToken>, AuthError> {
        let session = self.clone();
        let seen = self.finished_attempts.load(Ordering::Acquire);
        let attempt = tokio::spawn(async move { session.join_attempt(used, demand, seen).await });
        attempt.await.unwrap_or_else(|_| {
            let recorder = Recorder::new();
            let message = "the authorization was ended with its runtime";
            Err(AuthError::recorded(
                AuthErrorKind::Network,
                message,
                &recorder,
            ))
        })
    }

    async fn join_attempt(
        &self,
        used: Option<Arc<ActiveToken>>,
        demand: Demand,
        seen: u64,
    ) -> Result<Arc<ActiveToken>, AuthError> {
        let mut flight = self.flight.lock().await;
        if let Some(token) = self.newer_than(used.as_deref()) {
            return Ok(token);
        }
        let has_waited = self.finished_attempts.load(Ordering::Acquire) != seen;
        if has_waited && let Some(error) = &flight.last_error {
            return Err(error.clone());
        }
        let recorder = Recorder::new();
        let outcome = self
            .attempt(&mut flight, used.as_deref(), &demand, &recorder)
            .await;
        match &outcome {
            // It may be the error of an earlier attempt, with the steps of that one.
            Err(error) => self.set_transcript(error.transcript().clone()),
            Ok(_) => self.set_transcript(recorder.transcript()),
        }
        flight.last_error = outcome.as_ref().err().cloned();
        self.finished_attempts.fetch_add(1, Ordering::Release);
        outcome
    }

    async fn attempt(
        &self,
        flight: &mut Flight,
        used: Option<&ActiveToken>,
        demand: &Demand,
        recorder: &Recorder,
    ) -> Result<Arc<ActiveToken>, AuthError> {
        demand.record(recorder);
        let login = Login::new(self, recorder)?;
        let lock = self.lock_store(recorder).await?;
        let stored = self.load(recorder).await?;
        if let Some(token) = self.adopt(used, stored.as_ref(), recorder) {
            return Ok(token);
        }
        // Credentials that were removed are not brought back.
        let previous = stored.as_deref();
        let discovery = match demand {
            Demand::Unauthorized {
                challenge,
                may_refresh,
            } => {
                let now = self.clock.now();
                if let Some(error) = flight.login_guard.refusal(now) {
                    return Err(error);
                }
                flight.step_ups.clear();
                let renewal = login.renew(previous, challenge.as_ref(), *may_refresh);
                let discovery = match renewal.await? {
                    Renewal::Refreshed(credentials) => {
                        let origin = TokenOrigin::Refresh;
                        return self.activate(*credentials, previous, origin, recorder);
                    }
                    Renewal::LoginNeeded(discovery) => *discovery,
                };
                if self.settings.grant.is_interactive() {
                    let guard = &mut flight.login_guard;
                    guard.check(used, &discovery, challenge.as_ref(), now, recorder)?;
                }
                discovery
            }
            Demand::Login(challenge) => {
                flight.step_ups.clear();
                flight.login_guard.reset();
                login.discover(previous, challenge.as_ref()).await?
            }
            Demand::InsufficientScope(challenge) => {
                let scopes = challenge.scope().unwrap_or_default();
                if flight.step_ups.contains(&scopes) {
                    let scopes = scopes.join(" ");
                    return Err(AuthError::recorded(
                        AuthErrorKind::StepUpLimit,
                        format!("the server asks again for scopes that it was given: {scopes}"),
                        recorder,
                    ));
                }
                login.discover(previous, Some(challenge)).await?
            }
        };
        drop(lock);

        let _user_wait = self.begin_user_wait();
        let _login_lock = self.lock_logins(recorder).await?;
        // Another process may have logged in meanwhile.
        let stored = self.load(recorder).await?;
        if let Some(token) = self.adopt(used, stored.as_ref(), recorder) {
            return Ok(token);
        }
        let previous = stored.as_deref();
        let credentials = login
            .authorize(&discovery, previous, demand.challenge())
            .await?;
        if let Demand::InsufficientScope(challenge) = demand {
            flight.step_ups.truncate(MAX_STEP_UPS - 1);
            flight
                .step_ups
                .insert(0, challenge.scope().unwrap_or_default());
        }
        self.activate(credentials, previous, TokenOrigin::Login, recorder)
    }

    /// Makes the stored token the current one, if it is valid and another than `used`: another process
    /// was faster.
    fn adopt(
        &self,
        used: Option<&ActiveToken>,
        stored: Option<&Arc<ActiveToken>>,
        recorder: &Recorder,
    ) -> Option<Arc<ActiveToken>> {
        let stored = stored?;
        let access_token = &stored.credentials.access_token;
        let is_other = used.is_none_or(|used| used.credentials.access_token != *access_token);
        if !is_other || !stored.credentials.is_valid(self.clock.now()) {
            return None;
        }
        recorder.record(
            StepKind::Store,
            "load the credentials",
            "another token",
            "use the token that another process obtained",
        );
        self.set_current(Some(stored.clone()));
        Some(stored.clone())
    }

    /// Waits for the lock of the credentials: for reading and refreshing them, and writing new ones.
    pub(crate) async fn lock_store(&self, recorder: &Recorder) -> Result<StoreLock, AuthError> {
        let key = self.settings.credentials_key();
        let lock = self.settings.store.lock(&key).await;
        lock.map_err(|error| error.with_steps(recorder))
    }

    /// Waits for the lock of logins at the server, which a login of another task or process holds for
    /// as long as its user needs.
    async fn lock_logins(&self, recorder: &Recorder) -> Result<StoreLock, AuthError> {
        let (store, key) = (&self.settings.store, self.settings.login_key());
        let mut lock = pin!(store.lock(&key));
        if let Ok(lock) = timeout(WAIT_NOTICE_DELAY, &mut lock).await {
            return lock.map_err(|error| error.with_steps(recorder));
        }
        let busy = "another task or process logs in at this server";
        self.settings.ui.announce_wait().map_err(|error| {
            let advice = "finish that login, then try again";
            recorder.fail(StepKind::Authorization, "log in", busy, "stop", advice);
            AuthError::recorded(AuthErrorKind::LoginRequired, error.to_string(), recorder)
        })?;
        tracing::info!("{busy}: waiting for it");
        recorder.record(StepKind::Authorization, "log in", busy, "wait for it");
        let wait = async {
            let mut outcome = lock.await;
            // The store gives up sooner than a user.
            while matches!(&outcome, Err(error) if error.kind() == AuthErrorKind::StoreLocked) {
                sleep(LOCK_RETRY_INTERVAL).await;
                outcome = store.lock(&key).await;
            }
            outcome
        };
        match timeout(OTHER_LOGIN_TIMEOUT, wait).await {
            Ok(lock) => lock.map_err(|error| error.with_steps(recorder)),
            Err(_) => {
                let seconds = OTHER_LOGIN_TIMEOUT.as_secs();
                let answer = format!("{busy}, since {seconds} s");
                let advice = "finish or end that login, then try again";
                recorder.fail(StepKind::Authorization, "log in", &answer, "stop", advice);
                let message = format!("{answer}: {advice}");
                let kind = AuthErrorKind::LoginRequired;
                Err(AuthError::recorded(kind, message, recorder))
            }
        }
    }
}
