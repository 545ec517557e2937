//! The authorization of one client at one server: the current token, and how to get the next one.
//!
//! Requests take the current token without waiting. Whoever finds that it has to be replaced takes
//! the one place in `flight`; others wait there and use its outcome. Locks of the store do the same
//! between processes. Getting a token (`attempt`) runs in a task of its own: a refresh token that the
//! server has replaced must be stored, even if the request that needed it is dropped.

mod active_token;
mod attempt;
mod login_guard;
mod user_wait;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub(crate) use active_token::ActiveToken;
use active_token::TokenOrigin;
pub(crate) use attempt::Demand;
use tokio::sync::watch;

use self::login_guard::LoginGuard;
use super::credentials::Credentials;
use super::login::Login;
use super::race::race;
use super::settings::Settings;
use crate::clock::Clock;
use crate::error::{AuthError, AuthErrorKind};
use crate::outbound::{Outbound, is_https_or_loopback};
use crate::transcript::{Recorder, StepKind, Transcript};

/// The time until an early refresh is tried again after a failure, in seconds.
const REFRESH_RETRY_DELAY: u64 = 10;

/// The current token.
#[derive(Default)]
struct Current {
    /// True once the store was asked.
    is_loaded: bool,
    token: Option<Arc<ActiveToken>>,
    /// The time before which no early refresh is tried, in seconds since 1970.
    next_refresh: u64,
}

/// The state of whoever gets a new token.
#[derive(Default)]
struct Flight {
    /// The error of the last attempt, for those who waited for it.
    last_error: Option<AuthError>,
    /// The sets of scopes that were authorized because of a challenge.
    step_ups: Vec<Vec<String>>,
    login_guard: LoginGuard,
}

/// The authorization of one client at one server.
pub(crate) struct AuthSession {
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    /// True if nobody between can read requests to the server, or the settings do not mind.
    is_confidential: bool,
    outbound: OnceLock<Outbound>,
    current: Mutex<Current>,
    /// Held across requests to the authorization server, on purpose: one at a time.
    flight: tokio::sync::Mutex<Flight>,
    /// The number of attempts to get a token that have ended.
    finished_attempts: AtomicU64,
    /// True if the store lacks the current token because it could not be saved.
    is_unsaved: AtomicBool,
    transcript: Mutex<Transcript>,
    /// True while an attempt waits for the user.
    waits_for_user: watch::Sender<bool>,
}

impl AuthSession {
    pub(crate) fn new(settings: Settings, clock: Clock) -> Self {
        let allowed = &settings.outbound.plain_http_origins;
        let server = &settings.server;
        let is_confidential = is_https_or_loopback(server)
            || allowed
                .iter()
                .any(|origin| origin.origin() == server.origin());
        Self {
            is_confidential,
            settings,
            clock,
            outbound: OnceLock::new(),
            current: Mutex::default(),
            flight: tokio::sync::Mutex::default(),
            finished_attempts: AtomicU64::new(0),
            is_unsaved: AtomicBool::new(false),
            transcript: Mutex::default(),
            waits_for_user: watch::Sender::new(false),
        }
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
        let transcript = self.transcript.lock();
        transcript.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the token for a request, if there is one. An old token is refreshed before its end; if
    /// that fails, it is used as long as it is valid.
    pub(crate) async fn token(self: &Arc<Self>) -> Option<Arc<ActiveToken>> {
        let now = self.clock.now();
        {
            let current = self.current();
            if current.is_loaded {
                let token = current.token.clone()?;
                let is_early = token.credentials.should_refresh(now);
                let has_refresh = token.credentials.refresh_token.is_some();
                let is_valid = token.credentials.is_valid(now);
                // Somebody who gets a new token already may have to wait for the user.
                let is_busy = is_valid && self.flight.try_lock().is_err();
                if !is_early || now < current.next_refresh || !has_refresh || is_busy {
                    return is_valid.then_some(token);
                }
            }
        }
        let session = self.clone();
        let loading = tokio::spawn(async move { session.load_or_refresh().await });
        let loading = async { loading.await.ok().flatten() };
        // A request without a token is refused, and then waits for the user's login as others do.
        race(loading, async {
            self.user_wait_begun().await;
            let token = self.current().token.clone()?;
            token.credentials.is_valid(now).then_some(token)
        })
        .await
    }

    /// Returns the token even if it has ended, after a refresh that is due.
    pub(crate) async fn token_or_ended(self: &Arc<Self>) -> Option<Arc<ActiveToken>> {
        match self.token().await {
            Some(token) => Some(token),
            None => self.current().token.clone(),
        }
    }

    /// Loads the credentials from the store the first time, and refreshes an old token.
    async fn load_or_refresh(&self) -> Option<Arc<ActiveToken>> {
        let mut flight = self.flight.lock().await;
        let now = self.clock.now();
        let recorder = Recorder::new();
        if !self.current().is_loaded {
            match self.load(&recorder).await {
                Ok(loaded) => self.set_current(loaded),
                Err(error) => tracing::warn!(%error, "the stored credentials cannot be read"),
            }
        }
        let token = self.current().token.clone()?;
        let waits = now < self.current().next_refresh;
        let is_fresh = !token.credentials.should_refresh(now);
        if is_fresh || waits || token.credentials.refresh_token.is_none() {
            return token.credentials.is_valid(now).then_some(token);
        }
        let refreshed = async {
            let _lock = self.lock_store(&recorder).await?;
            let login = Login::new(self, &recorder)?;
            let Some(stored) = self.load(&recorder).await? else {
                self.set_current(None);
                let message = "the credentials were removed from the store: log in again";
                return Err(AuthError::recorded(
                    AuthErrorKind::LoginRequired,
                    message,
                    &recorder,
                ));
            };
            login.refresh_or_adopt(&token, &stored).await
        };
        let refreshed = refreshed.await;
        self.set_transcript(recorder.transcript());
        match refreshed {
            Ok(credentials) => {
                flight.last_error = None;
                self.activate(credentials, Some(&token), TokenOrigin::Refresh, &recorder)
                    .ok()
            }
            Err(error) if error.kind() == AuthErrorKind::LoginRequired => None,
            Err(error) => {
                tracing::warn!(%error, "the access token could not be refreshed");
                let now = self.clock.now();
                self.current().next_refresh = now + REFRESH_RETRY_DELAY;
                token.credentials.is_valid(now).then_some(token)
            }
        }
    }

    /// Forgets the token, and returns it.
    pub(crate) async fn forget(&self) -> Result<Option<Arc<ActiveToken>>, AuthError> {
        let recorder = Recorder::new();
        let mut flight = self.flight.lock().await;
        let lock = self.lock_store(&recorder).await?;
        let stored = self.load(&recorder).await?;
        if let Some(token) = &stored {
            Login::new(self, &recorder)?.revoke(token).await;
        }
        let key = self.settings.credentials_key();
        for key in [vec![key], self.settings.binding_keys()].concat() {
            let removed = self.settings.store.remove(&key).await;
            removed.map_err(|error| error.with_steps(&recorder))?;
        }
        self.set_current(None);
        self.is_unsaved.store(false, Ordering::Release);
        *flight = Flight::default();
        drop(lock);
        Ok(stored)
    }

    /// Returns the client for requests to URLs that the server named.
    pub(crate) fn outbound(&self, recorder: &Recorder) -> Result<&Outbound, AuthError> {
        if let Some(outbound) = self.outbound.get() {
            return Ok(outbound);
        }
        let settings = self.settings.outbound.clone();
        let outbound = Outbound::new(&self.settings.server, settings)
            .map_err(|error| AuthError::from(error).with_steps(recorder))?;
        Ok(self.outbound.get_or_init(|| outbound))
    }

    /// Writes credentials into the store. A failure is reported, and they are used all the same.
    pub(crate) async fn save(&self, credentials: &Credentials, recorder: &Recorder) {
        let Some(text) = credentials.to_stored() else {
            return;
        };
        let key = self.settings.credentials_key();
        let saved = self.settings.store.save(&key, &text).await;
        self.is_unsaved.store(saved.is_err(), Ordering::Release);
        if let Err(error) = saved {
            tracing::warn!(%error, "the credentials could not be stored");
            recorder.fail(
                StepKind::Store,
                "save the credentials",
                error.to_string(),
                "go on without",
                "mend the store, or the next start has to log in again",
            );
        }
    }

    fn current(&self) -> std::sync::MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_current(&self, token: Option<Arc<ActiveToken>>) {
        *self.current() = Current {
            is_loaded: true,
            token,
            next_refresh: 0,
        };
    }

    /// Returns the current token if it is another than `used`, and valid.
    fn newer_than(&self, used: Option<&ActiveToken>) -> Option<Arc<ActiveToken>> {
        let current = self.current().token.clone()?;
        let is_other = used
            .is_none_or(|used| used.credentials.access_token != current.credentials.access_token);
        (is_other && current.credentials.is_valid(self.clock.now())).then_some(current)
    }

    /// Returns the credentials of the store, ready for use.
    async fn load(&self, recorder: &Recorder) -> Result<Option<Arc<ActiveToken>>, AuthError> {
        if self.is_unsaved.load(Ordering::Acquire) {
            // What the store has is older: its refresh token may be used up.
            return Ok(self.current().token.clone());
        }
        let key = self.settings.credentials_key();
        let stored = self.settings.store.load(&key).await;
        let stored = stored.map_err(|error| error.with_steps(recorder))?;
        let credentials = stored.as_ref().and_then(Credentials::from_stored);
        let Some(credentials) = credentials else {
            return Ok(None);
        };
        let known = self.current().token.clone();
        let token = ActiveToken::new(credentials, known.as_deref(), TokenOrigin::Store);
        Ok(token.ok().map(Arc::new))
    }

    /// Makes credentials the current ones. The key and the nonces of `previous` are kept if they
    /// belong to the same key.
    fn activate(
        &self,
        credentials: Credentials,
        previous: Option<&ActiveToken>,
        origin: TokenOrigin,
        recorder: &Recorder,
    ) -> Result<Arc<ActiveToken>, AuthError> {
        let token = ActiveToken::new(credentials, previous, origin);
        let token =
            token.map_err(|reason| AuthError::recorded(AuthErrorKind::Token, reason, recorder))?;
        let token = Arc::new(token);
        self.set_current(Some(token.clone()));
        Ok(token)
    }

    fn set_transcript(&self, transcript: Transcript) {
        *self
            .transcript
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = transcript;
    }
}
