//! The state of an authorization: the current token, the attempt that runs, and those who wait for it.
//!
//! It does no input or output, reads no clock and never waits: [`AuthSession`](super::AuthSession)
//! tells it what happens, and performs the actions that it returns. It is
//!
//! - *idle*: no attempt runs. A login whose token the server refused may be remembered; then requests
//!   that are refused do not begin another one for a while.
//! - *attempting*: an attempt runs that needs no user: a read of the store, a refresh, a grant.
//! - *logging in*: the attempt waits for the user.

#[cfg(test)]
mod explore;

use std::sync::Arc;

use crate::challenge::Challenge;
use crate::client::active_token::{ActiveToken, TokenOrigin};
use crate::error::{AuthError, AuthErrorKind};

/// The time until an early refresh is tried again after a failure, in seconds.
const REFRESH_RETRY_DELAY: u64 = 10;

/// The time for which no login follows one whose token was refused at once, in seconds.
const REFUSAL_TTL: u64 = 10 * 60;

/// The logins in a row whose tokens were refused at once. The second one is for a server that has
/// moved to another issuer, or asks for other scopes.
const MAX_REFUSED_LOGINS: u32 = 2;

/// The sets of scopes that are remembered as authorized because of a challenge.
const MAX_STEP_UPS: usize = 64;

/// The answer to a demand: a token, or `None` for a request that is sent without one.
pub(super) type Answer = Result<Option<Arc<ActiveToken>>, AuthError>;

/// The reason why a token is asked for.
#[derive(Debug, Clone)]
pub(crate) enum Demand {
    /// A request begins. It takes the current token, which is refreshed shortly before its end.
    Token,
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
    /// The program asked to remove the credentials. The answer is the token that there was.
    LogOut,
}

impl Demand {
    /// Returns whether another token than the one that was used is asked for.
    fn is_replacement(&self) -> bool {
        !matches!(self, Self::Token | Self::LogOut)
    }

    pub(super) fn challenge(&self) -> Option<&Challenge> {
        match self {
            Self::Unauthorized { challenge, .. } | Self::Login(challenge) => challenge.as_ref(),
            Self::InsufficientScope(challenge) => Some(challenge),
            Self::Token | Self::LogOut => None,
        }
    }
}

/// An attempt to get a token, or to remove it. One runs at a time.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) kind: AttemptKind,
    /// The current token at the begin of the attempt.
    pub(super) current: Option<Arc<ActiveToken>>,
}

/// The purpose of an attempt.
#[derive(Debug)]
pub(super) enum AttemptKind {
    /// Read the credentials from the store.
    Load,
    /// Refresh a token before its end.
    Refresh(Arc<ActiveToken>),
    /// Get another token than the one that was used.
    Replace {
        used: Option<Arc<ActiveToken>>,
        demand: Demand,
        /// The error of the attempt, unless another process has stored a token.
        refusal: Option<AuthError>,
    },
    /// Remove the credentials.
    LogOut,
}

/// The outcome of an attempt.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The store was read.
    Loaded(Option<Arc<ActiveToken>>),
    /// There is another token. It is stored already, if the store works.
    Obtained(Arc<ActiveToken>),
    /// The credentials are no longer in the store. The value is the token that there was.
    Removed(Option<Arc<ActiveToken>>),
    Failed(AuthError),
}

/// An action for the owner of the state. `W` stands for one who waits for an answer.
#[derive(Debug)]
pub(super) enum Action<W> {
    /// Run an attempt, and report its outcome.
    Start(Arc<Attempt>),
    /// Tell one who waits that the user has to log in first.
    AnnounceLogin(W),
    /// Answer one who waits, who does not wait any longer.
    Answer(W, Answer),
}

#[derive(Debug, Clone)]
struct WaitingDemand<W> {
    used: Option<Arc<ActiveToken>>,
    demand: Demand,
    waiter: W,
}

#[derive(Debug, Clone)]
enum Phase {
    Idle,
    Attempting(Arc<Attempt>),
    LoggingIn(Arc<Attempt>),
}

/// A refusal of logins, after the server refused the token of one.
#[derive(Debug, Clone)]
struct Refusal {
    error: AuthError,
    /// The end of the refusal, in seconds since 1970.
    ends_at: u64,
}

/// The state of the authorization of one client at one server. `W` stands for one who waits.
#[derive(Debug, Clone)]
pub(super) struct SessionState<W> {
    /// True once the store was read.
    is_loaded: bool,
    token: Option<Arc<ActiveToken>>,
    /// The time before which no early refresh is tried, in seconds since 1970.
    next_refresh: u64,
    phase: Phase,
    waiting: Vec<WaitingDemand<W>>,
    /// The sets of scopes that were authorized because of a challenge, the newest first.
    step_ups: Vec<Vec<String>>,
    refused_logins: u32,
    refusal: Option<Refusal>,
}

impl<W: Clone> SessionState<W> {
    /// Creates a state that knows no token and has not read the store.
    pub(super) fn new() -> Self {
        Self {
            is_loaded: false,
            token: None,
            next_refresh: 0,
            phase: Phase::Idle,
            waiting: Vec::new(),
            step_ups: Vec::new(),
            refused_logins: 0,
            refusal: None,
        }
    }

    /// Returns the current token, which may have ended.
    pub(super) fn token(&self) -> Option<&Arc<ActiveToken>> {
        self.token.as_ref()
    }

    /// Returns the answer to a demand if it needs no attempt, and need not wait for one.
    pub(super) fn answer(
        &self,
        used: Option<&ActiveToken>,
        demand: &Demand,
        now: u64,
    ) -> Option<Option<Arc<ActiveToken>>> {
        let valid = self.token.as_ref().filter(|token| token.is_valid(now));
        if demand.is_replacement() {
            let is_idle = matches!(self.phase, Phase::Idle);
            let other = valid.filter(|token| is_idle && token.is_other_than(used));
            return other.cloned().map(Some);
        }
        let is_due = |token: &&Arc<ActiveToken>| {
            token.should_refresh(now) && token.can_refresh() && now >= self.next_refresh
        };
        match (&self.phase, demand) {
            (_, Demand::LogOut) => None,
            // The server refuses a request without a token, which then waits for the login.
            (Phase::LoggingIn(_), _) => Some(valid.cloned()),
            (_, _) if !self.is_loaded => None,
            (Phase::Attempting(_), _) if valid.is_some() => Some(valid.cloned()),
            (_, _) if self.token.as_ref().filter(is_due).is_some() => None,
            (_, _) => Some(valid.cloned()),
        }
    }

    /// Takes in a demand that has no [`answer`](Self::answer) yet. `used` is the token of the request.
    pub(super) fn join(
        &mut self,
        used: Option<Arc<ActiveToken>>,
        demand: Demand,
        waiter: W,
        now: u64,
    ) -> Vec<Action<W>> {
        let mut actions = Vec::new();
        if matches!(self.phase, Phase::LoggingIn(_)) && demand.is_replacement() {
            actions.push(Action::AnnounceLogin(waiter.clone()));
        }
        self.waiting.push(WaitingDemand {
            used,
            demand,
            waiter,
        });
        self.advance(now, &mut actions);
        actions
    }

    /// Forgets those who wait no longer. An attempt that runs goes on: a refresh token that the server
    /// has replaced must be stored.
    pub(super) fn retain_waiters(&mut self, still_waits: impl Fn(&W) -> bool) {
        self.waiting.retain(|waiting| still_waits(&waiting.waiter));
    }

    /// Lets the running attempt ask the user to log in at `issuer`.
    ///
    /// # Errors
    /// Fails if the server refused the token of the last login at once, and another login would be the
    /// same.
    pub(super) fn begin_login(
        &mut self,
        issuer: &str,
        now: u64,
    ) -> Result<Vec<Action<W>>, AuthError> {
        let Phase::Attempting(attempt) = self.phase.clone() else {
            return Ok(Vec::new());
        };
        if let AttemptKind::Replace { used, demand, .. } = &attempt.kind
            && matches!(demand, Demand::Unauthorized { .. })
        {
            self.check_login(used.as_deref(), issuer, demand.challenge())?;
        }
        self.phase = Phase::LoggingIn(attempt);
        let mut actions = Vec::new();
        self.advance(now, &mut actions);
        let announced = self.waiting.iter().filter(|w| w.demand.is_replacement());
        actions.extend(announced.map(|waiting| Action::AnnounceLogin(waiting.waiter.clone())));
        Ok(actions)
    }

    /// Takes in the outcome of the running attempt.
    pub(super) fn finish(&mut self, outcome: Outcome, now: u64) -> Vec<Action<W>> {
        let mut actions = Vec::new();
        let phase = std::mem::replace(&mut self.phase, Phase::Idle);
        let (Phase::Attempting(attempt) | Phase::LoggingIn(attempt)) = phase else {
            return actions;
        };
        let is_replacement = |demand: &Demand| demand.is_replacement();
        let is_log_out = |demand: &Demand| matches!(demand, Demand::LogOut);
        match (outcome, &attempt.kind) {
            (Outcome::Loaded(token), _) => self.set_token(token),
            (Outcome::Obtained(token), kind) => {
                self.set_token(Some(token.clone()));
                if let AttemptKind::Replace { demand, .. } = kind {
                    self.remember_step_up(demand, &token);
                    self.answer_all(is_replacement, &Ok(Some(token)), &mut actions);
                }
            }
            (Outcome::Removed(previous), kind) => {
                self.set_token(None);
                if let AttemptKind::LogOut = kind {
                    self.step_ups.clear();
                    self.forget_refusals();
                    self.answer_all(is_log_out, &Ok(previous), &mut actions);
                }
            }
            (Outcome::Failed(_), AttemptKind::Load) => {
                let is_token = |demand: &Demand| matches!(demand, Demand::Token);
                self.answer_all(is_token, &Ok(None), &mut actions);
            }
            (Outcome::Failed(_), AttemptKind::Refresh(_)) => {
                self.next_refresh = now.saturating_add(REFRESH_RETRY_DELAY);
            }
            (Outcome::Failed(error), AttemptKind::Replace { refusal, .. }) => {
                if error.kind() == AuthErrorKind::TokenRefused && refusal.is_none() {
                    self.refusal = Some(Refusal {
                        error: error.clone(),
                        ends_at: now.saturating_add(REFUSAL_TTL),
                    });
                }
                self.answer_all(is_replacement, &Err(error), &mut actions);
            }
            (Outcome::Failed(error), AttemptKind::LogOut) => {
                self.answer_all(is_log_out, &Err(error), &mut actions);
            }
        }
        self.advance(now, &mut actions);
        actions
    }

    /// Takes in that an attempt has ended without an outcome: with its runtime, or by a panic in a
    /// store. Nothing happens if it is not the running attempt.
    pub(super) fn abort(&mut self, attempt: &Arc<Attempt>, error: &AuthError) -> Vec<Action<W>> {
        let mut actions = Vec::new();
        if let Phase::Attempting(running) | Phase::LoggingIn(running) = &self.phase
            && Arc::ptr_eq(running, attempt)
        {
            self.phase = Phase::Idle;
            self.answer_all(|_| true, &Err(error.clone()), &mut actions);
        }
        actions
    }

    /// Answers all who need no attempt any more, and starts an attempt for the first of the others.
    fn advance(&mut self, now: u64, actions: &mut Vec<Action<W>>) {
        for waiting in std::mem::take(&mut self.waiting) {
            match self.answer(waiting.used.as_deref(), &waiting.demand, now) {
                Some(token) => actions.push(Action::Answer(waiting.waiter, Ok(token))),
                None => self.waiting.push(waiting),
            }
        }
        let first = self.waiting.first();
        let first = first.filter(|_| matches!(self.phase, Phase::Idle));
        if let Some((used, demand)) = first.map(|first| (first.used.clone(), first.demand.clone()))
        {
            let attempt = Arc::new(Attempt {
                kind: self.next_attempt(used, demand, now),
                current: self.token.clone(),
            });
            self.phase = Phase::Attempting(attempt.clone());
            actions.push(Action::Start(attempt));
        }
    }

    /// Returns the attempt that meets a demand.
    fn next_attempt(
        &mut self,
        used: Option<Arc<ActiveToken>>,
        demand: Demand,
        now: u64,
    ) -> AttemptKind {
        let refusal = match &demand {
            Demand::LogOut => return AttemptKind::LogOut,
            Demand::Token => {
                return match self.token.clone().filter(|_| self.is_loaded) {
                    Some(token) => AttemptKind::Refresh(token),
                    None => AttemptKind::Load,
                };
            }
            Demand::Unauthorized { .. } => {
                let refusal = self.refusal.as_ref();
                let refusal = refusal.filter(|refusal| now < refusal.ends_at);
                let error = refusal.map(|refusal| refusal.error.clone());
                if error.is_none() {
                    self.step_ups.clear();
                }
                error
            }
            Demand::Login(_) => {
                self.step_ups.clear();
                self.forget_refusals();
                None
            }
            Demand::InsufficientScope(challenge) => {
                let scopes = challenge.scope().unwrap_or_default();
                self.step_ups.contains(&scopes).then(|| {
                    let scopes = scopes.join(" ");
                    AuthError::new(
                        AuthErrorKind::StepUpLimit,
                        format!("the server asks again for scopes that it was given: {scopes}"),
                    )
                })
            }
        };
        AttemptKind::Replace {
            used,
            demand,
            refusal,
        }
    }

    /// Decides about a login after the server refused `used`. A server that refuses every token must
    /// not send the user to the login page for each request.
    fn check_login(
        &mut self,
        used: Option<&ActiveToken>,
        issuer: &str,
        challenge: Option<&Challenge>,
    ) -> Result<(), AuthError> {
        let refused =
            used.filter(|token| token.origin == TokenOrigin::Login && !token.was_accepted());
        // A refusal that is remembered here has ended.
        let (Some(token), None) = (refused, &self.refusal) else {
            self.forget_refusals();
            return Ok(());
        };
        self.refused_logins += 1;
        let credentials = &token.credentials;
        let scopes = challenge.and_then(Challenge::scope).unwrap_or_default();
        let is_same = credentials.issuer == issuer
            && scopes
                .iter()
                .all(|scope| credentials.requested_scopes.contains(scope));
        if !is_same && self.refused_logins < MAX_REFUSED_LOGINS {
            return Ok(());
        }
        let message = format!(
            "the server refuses the token that {} issued for {} in the login that has just ended; \
             no other login begins within {} min, unless you ask for one",
            credentials.issuer,
            credentials.resource,
            REFUSAL_TTL / 60
        );
        Err(AuthError::new(AuthErrorKind::TokenRefused, message))
    }

    fn forget_refusals(&mut self) {
        self.refused_logins = 0;
        self.refusal = None;
    }

    fn remember_step_up(&mut self, demand: &Demand, token: &ActiveToken) {
        if let Demand::InsufficientScope(challenge) = demand
            && token.origin == TokenOrigin::Login
        {
            self.step_ups.truncate(MAX_STEP_UPS - 1);
            let scopes = challenge.scope().unwrap_or_default();
            self.step_ups.insert(0, scopes);
        }
    }

    fn set_token(&mut self, token: Option<Arc<ActiveToken>>) {
        self.is_loaded = true;
        self.token = token;
        self.next_refresh = 0;
    }

    /// Answers all whose demand is of a kind.
    fn answer_all(
        &mut self,
        is_kind: impl Fn(&Demand) -> bool,
        answer: &Answer,
        actions: &mut Vec<Action<W>>,
    ) {
        for waiting in self.waiting.extract_if(.., |w| is_kind(&w.demand)) {
            actions.push(Action::Answer(waiting.waiter, answer.clone()));
        }
    }
}
