//! All sequences of inputs up to a depth, with the rules that hold after each.

use std::collections::HashMap;

use super::*;
use crate::client::credentials::{Credentials, TokenType};
use crate::metadata::AuthorizationServerMetadata;

/// The number of inputs in a sequence.
const DEPTH: usize = 4;

/// The life of a token, in seconds.
const TOKEN_TTL: u64 = 1000;

const ISSUER: &str = "https://as.example";
const OTHER_ISSUER: &str = "https://other.example";

/// The most demands that wait at the same time.
const MAX_WAITING: usize = 2;

/// An input of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    /// A request begins.
    Request,
    /// The server refused a request with the current token, or with the one before.
    Unauthorized {
        used_current: bool,
    },
    /// The server asks for more scopes.
    Forbidden,
    /// The program asks for a login.
    Login,
    /// The program removes the credentials.
    LogOut,
    /// The first of those who wait goes away.
    WaiterLeaves,
    /// The attempt has to ask the user, at the issuer of the token or at another one.
    LoginNeeded {
        at_other_issuer: bool,
    },
    /// The attempt ends without a login: with what the store has, with a refresh or a removal.
    AttemptSucceeds,
    AttemptFails,
    /// The attempt ends with its runtime.
    AttemptIsAborted,
    /// The server takes the current token.
    TokenIsAccepted,
    /// The current token is about to end.
    TokenAges,
    /// The current token ends, and so does a refusal of logins.
    TokenEnds,
}

/// An attempt that runs, as its owner sees it.
#[derive(Debug, Clone)]
struct Running {
    attempt: Arc<Attempt>,
    /// The issuer at which the user logs in.
    login_at: Option<&'static str>,
}

/// A state, and what is known of it.
#[derive(Clone)]
struct World {
    state: SessionState<usize>,
    now: u64,
    running: Option<Running>,
    /// By waiter: its demand, until it is answered or leaves.
    waiting: HashMap<usize, Demand>,
    waiters: usize,
    tokens: usize,
    former: Option<Arc<ActiveToken>>,
    logins: usize,
}

impl World {
    fn new() -> Self {
        Self {
            state: SessionState::new(),
            now: 10_000,
            running: None,
            waiting: HashMap::new(),
            waiters: 0,
            tokens: 0,
            former: None,
            logins: 0,
        }
    }

    /// Returns every input that can come now.
    fn inputs(&self) -> Vec<Input> {
        let mut inputs = Vec::new();
        if self.waiting.len() < MAX_WAITING {
            inputs.extend([
                Input::Request,
                Input::Forbidden,
                Input::Login,
                Input::LogOut,
            ]);
            inputs.extend([true, false].map(|used_current| Input::Unauthorized { used_current }));
        }
        if !self.waiting.is_empty() {
            inputs.push(Input::WaiterLeaves);
        }
        if let Some(running) = &self.running {
            inputs.extend([Input::AttemptSucceeds, Input::AttemptFails]);
            inputs.push(Input::AttemptIsAborted);
            let refusal = match &running.attempt.kind {
                AttemptKind::Replace { refusal, .. } => refusal.is_some(),
                _ => true,
            };
            if !refusal && running.login_at.is_none() {
                let issuers = [true, false];
                inputs.extend(issuers.map(|other| Input::LoginNeeded {
                    at_other_issuer: other,
                }));
            }
        }
        if self.state.token().is_some() {
            inputs.extend([Input::TokenIsAccepted, Input::TokenAges, Input::TokenEnds]);
        }
        inputs
    }

    fn token(&mut self, issuer: &str, origin: TokenOrigin) -> Arc<ActiveToken> {
        self.tokens += 1;
        let credentials = Credentials {
            format: Credentials::format(),
            issuer: issuer.to_owned(),
            resource: "https://mcp.example".to_owned(),
            server: AuthorizationServerMetadata::default(),
            client: None,
            access_token: format!("token-{}", self.tokens).into(),
            token_type: TokenType::Bearer,
            obtained_at: self.now,
            expires_at: Some(self.now + TOKEN_TTL),
            refresh_token: Some("refresh".into()),
            requested_scopes: Vec::new(),
            granted_scopes: None,
            dpop_key: None,
        };
        Arc::new(ActiveToken::new(credentials, None, origin, true).unwrap())
    }

    fn happen(&mut self, input: Input) {
        let current = self.state.token().cloned();
        let challenge = || Challenge::new("Bearer").with("scope", "write");
        match input {
            Input::Request => self.demand(None, Demand::Token),
            Input::Login => self.demand(current, Demand::Login(None)),
            Input::LogOut => self.demand(None, Demand::LogOut),
            Input::Forbidden => self.demand(current, Demand::InsufficientScope(challenge())),
            Input::Unauthorized { used_current } => {
                let used = if used_current {
                    current
                } else {
                    self.former.clone()
                };
                let demand = Demand::Unauthorized {
                    challenge: None,
                    may_refresh: true,
                };
                self.demand(used, demand);
            }
            Input::WaiterLeaves => {
                let leaving = self.waiting.keys().min().copied();
                self.state.retain_waiters(|waiter| Some(*waiter) != leaving);
                self.waiting.remove(&leaving.unwrap());
            }
            Input::LoginNeeded { at_other_issuer } => self.need_login(at_other_issuer),
            Input::AttemptSucceeds => self.succeed(),
            Input::AttemptFails => {
                let error = AuthError::new(AuthErrorKind::Network, "no network");
                self.finish(Outcome::Failed(error));
            }
            Input::AttemptIsAborted => {
                let attempt = self.running.take().unwrap().attempt;
                let error = AuthError::new(AuthErrorKind::Network, "ended");
                let actions = self.state.abort(&attempt, &error);
                self.perform(actions);
                assert!(self.running.is_none() && self.waiting.is_empty());
            }
            Input::TokenIsAccepted => current.unwrap().note_status(http::StatusCode::OK),
            Input::TokenAges => self.now += TOKEN_TTL - 10,
            Input::TokenEnds => self.now += TOKEN_TTL,
        }
        self.check();
    }

    fn demand(&mut self, used: Option<Arc<ActiveToken>>, demand: Demand) {
        if let Some(answer) = self.state.answer(used.as_deref(), &demand, self.now) {
            assert!(!matches!(demand, Demand::LogOut | Demand::Login(_)) || answer.is_some());
            if let (true, Some(token)) = (demand.is_replacement(), &answer) {
                assert!(
                    token.is_other_than(used.as_deref()),
                    "the refused token again"
                );
            }
            return self.check_answer(&demand, &Ok(answer));
        }
        let waiter = self.waiters;
        self.waiters += 1;
        self.waiting.insert(waiter, demand.clone());
        let actions = self.state.join(used, demand, waiter, self.now);
        self.perform(actions);
    }

    fn need_login(&mut self, at_other_issuer: bool) {
        let issuer = if at_other_issuer {
            OTHER_ISSUER
        } else {
            ISSUER
        };
        match self.state.begin_login(issuer, self.now) {
            Ok(actions) => {
                self.running.as_mut().unwrap().login_at = Some(issuer);
                self.logins += 1;
                let replacements = self
                    .waiting
                    .values()
                    .filter(|demand| demand.is_replacement());
                let replacements = replacements.count();
                let announced =
                    |action: &&Action<usize>| matches!(action, Action::AnnounceLogin(_));
                assert_eq!(actions.iter().filter(announced).count(), replacements);
                self.perform(actions);
            }
            Err(error) => {
                assert_eq!(error.kind(), AuthErrorKind::TokenRefused);
                self.finish(Outcome::Failed(error));
                // From here on, no refused request begins a login by itself.
                let refusal = self.state.refusal.as_ref().unwrap();
                assert!(refusal.ends_at > self.now);
            }
        }
    }

    fn succeed(&mut self) {
        let running = self.running.clone().unwrap();
        let current = running.attempt.current.clone();
        let outcome = match &running.attempt.kind {
            AttemptKind::Load => Outcome::Loaded(Some(self.token(ISSUER, TokenOrigin::Store))),
            AttemptKind::Refresh(_) => Outcome::Obtained(self.token(ISSUER, TokenOrigin::Refresh)),
            AttemptKind::LogOut => Outcome::Removed(current),
            AttemptKind::Replace { .. } => Outcome::Obtained(match running.login_at {
                Some(issuer) => self.token(issuer, TokenOrigin::Login),
                None => self.token(ISSUER, TokenOrigin::Refresh),
            }),
        };
        self.finish(outcome);
    }

    fn finish(&mut self, outcome: Outcome) {
        self.former = self.state.token().cloned().or(self.former.take());
        let obtained = match &outcome {
            Outcome::Obtained(token) => Some(token.clone()),
            _ => None,
        };
        let replaced = matches!(
            self.running.take().unwrap().attempt.kind,
            AttemptKind::Replace { .. }
        );
        let waiting = self.waiting.clone();
        let actions = self.state.finish(outcome, self.now);
        if let (Some(token), true) = (obtained, replaced) {
            let got_token = |waiter: usize| {
                actions.iter().any(|action| match action {
                    Action::Answer(answered, Ok(Some(answer))) => {
                        *answered == waiter && Arc::ptr_eq(answer, &token)
                    }
                    _ => false,
                })
            };
            for (waiter, demand) in waiting {
                assert!(!demand.is_replacement() || got_token(waiter), "{demand:?}");
            }
        }
        self.perform(actions);
    }

    fn perform(&mut self, actions: Vec<Action<usize>>) {
        for action in actions {
            match action {
                Action::Start(attempt) => {
                    let running = Running {
                        attempt,
                        login_at: None,
                    };
                    assert!(self.running.replace(running).is_none(), "two attempts");
                }
                Action::AnnounceLogin(waiter) => {
                    assert!(self.waiting[&waiter].is_replacement());
                    assert!(self.running.as_ref().unwrap().login_at.is_some());
                }
                Action::Answer(waiter, answer) => {
                    let demand = self.waiting.remove(&waiter);
                    let demand = demand.expect("answered twice, or after it left");
                    self.check_answer(&demand, &answer);
                }
            }
        }
    }

    fn check_answer(&self, demand: &Demand, answer: &Answer) {
        if let Ok(Some(token)) = answer {
            assert!(matches!(demand, Demand::LogOut) || token.is_valid(self.now));
        }
        if demand.is_replacement() {
            assert!(!matches!(answer, Ok(None)), "a replacement without a token");
        }
    }

    /// Asserts the rules that always hold.
    fn check(&self) {
        let phase = match &self.running {
            None => matches!(self.state.phase, Phase::Idle),
            Some(running) => match &self.state.phase {
                Phase::Idle => false,
                Phase::Attempting(attempt) => {
                    Arc::ptr_eq(attempt, &running.attempt) && running.login_at.is_none()
                }
                Phase::LoggingIn(attempt) => {
                    Arc::ptr_eq(attempt, &running.attempt) && running.login_at.is_some()
                }
            },
        };
        assert!(phase, "{:?} {:?}", self.state.phase, self.running);
        assert_eq!(self.state.waiting.len(), self.waiting.len());
        // Who waits, waits for an attempt.
        assert!(self.running.is_some() || self.waiting.is_empty());
        assert!(self.state.step_ups.len() <= MAX_STEP_UPS);
        if let Some(Running { attempt, .. }) = &self.running
            && let AttemptKind::Replace {
                demand, refusal, ..
            } = &attempt.kind
        {
            let is_refused = self.state.refusal.is_some() && refusal.is_some();
            assert!(!matches!(demand, Demand::Login(_)) || !is_refused);
        }
    }

    /// Lets all attempts end: nobody is left without an answer.
    fn close(mut self, ending: Input) {
        for _ in 0..10 {
            if self.running.is_none() {
                break;
            }
            self.happen(ending);
        }
        assert!(self.waiting.is_empty() && self.running.is_none());
    }
}

fn follow(world: &World, depth: usize, sequences: &mut usize, logins: &mut usize) {
    if depth == 0 {
        *sequences += 1;
        *logins = (*logins).max(world.logins);
        for ending in [Input::AttemptSucceeds, Input::AttemptFails] {
            world.clone().close(ending);
        }
        return;
    }
    for input in world.inputs() {
        let mut then = world.clone();
        then.happen(input);
        follow(&then, depth - 1, sequences, logins);
    }
}

#[test]
fn every_short_sequence_answers_everybody_once_and_runs_one_attempt_at_a_time() {
    let refused = Input::Unauthorized { used_current: true };
    let login = Input::LoginNeeded {
        at_other_issuer: false,
    };
    let starts: [&[Input]; 3] = [
        &[],
        &[Input::Request, Input::AttemptSucceeds],
        &[refused, login, Input::AttemptSucceeds],
    ];
    let mut sequences = 0;
    let mut logins = 0;
    for start in starts {
        let mut world = World::new();
        for input in start {
            world.happen(*input);
        }
        follow(&world, DEPTH, &mut sequences, &mut logins);
    }
    println!("{sequences} sequences of {DEPTH} inputs");
    assert!(sequences > 10_000 && logins >= 2, "{sequences} {logins}");
}

#[test]
fn a_server_that_refuses_each_login_gets_no_other_one_until_the_program_asks() {
    let refused = Input::Unauthorized { used_current: true };
    let login = |at_other_issuer| Input::LoginNeeded { at_other_issuer };
    let mut world = World::new();
    for input in [
        refused,
        login(false),
        Input::AttemptSucceeds,
        refused,
        login(false),
    ] {
        world.happen(input);
    }
    assert!(world.running.is_none(), "the second login is refused");
    assert_eq!(world.logins, 1);
    // A refused request looks into the store only.
    world.happen(refused);
    let running = world.running.clone().unwrap();
    assert!(matches!(
        &running.attempt.kind,
        AttemptKind::Replace { refusal: Some(error), .. } if error.kind() == AuthErrorKind::TokenRefused
    ));
    world.happen(Input::AttemptFails);
    // The program may ask at once, and a refused request once the refusal has ended.
    let mut asked = world.clone();
    asked.happen(Input::Login);
    asked.happen(login(false));
    assert_eq!(asked.logins, 2);
    world.happen(Input::TokenEnds);
    world.happen(refused);
    world.happen(login(false));
    assert_eq!(world.logins, 2);
}

#[test]
fn a_login_at_another_issuer_follows_a_refused_one_once() {
    let refused = Input::Unauthorized { used_current: true };
    let login = |at_other_issuer| Input::LoginNeeded { at_other_issuer };
    let mut world = World::new();
    for input in [
        refused,
        login(false),
        Input::AttemptSucceeds,
        refused,
        login(true),
    ] {
        world.happen(input);
    }
    assert_eq!(world.logins, 2);
    world.happen(Input::AttemptSucceeds);
    assert_eq!(
        world.state.token().unwrap().credentials.issuer,
        OTHER_ISSUER
    );
    world.happen(refused);
    world.happen(login(false));
    assert_eq!(world.logins, 2, "a third login in a row");
}
