//! The memory of logins whose tokens the server refused: a server that refuses every token must not
//! send the user to the login page for each request.

use super::ActiveToken;
use super::active_token::TokenOrigin;
use crate::challenge::Challenge;
use crate::client::discovery::Discovery;
use crate::error::{AuthError, AuthErrorKind};
use crate::transcript::{Recorder, StepKind};

/// The time for which no login follows one whose token was refused at once, in seconds.
const REFUSAL_TTL: u64 = 10 * 60;

/// The logins in a row whose tokens were refused at once. The second one is for a server that has
/// moved to another issuer, or asks for other scopes.
const MAX_REFUSED_LOGINS: u32 = 2;

/// The logins whose tokens the server refused at once.
#[derive(Default)]
pub(super) struct LoginGuard {
    refused_logins: u32,
    refusal: Option<Refusal>,
}

struct Refusal {
    error: AuthError,
    /// The end of the refusal, in seconds since 1970.
    ends_at: u64,
}

impl LoginGuard {
    /// Returns the error of the last login, if it is too early for another one.
    pub(super) fn refusal(&self, now: u64) -> Option<AuthError> {
        let refusal = self.refusal.as_ref()?;
        (now < refusal.ends_at).then(|| refusal.error.clone())
    }

    /// Allows logins again.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Decides about a login after the server refused `used`. The caller has asked for a
    /// [`refusal`](Self::refusal) before.
    ///
    /// # Errors
    /// Fails if the last login's token was refused at once, and another login would be the same. The
    /// error is remembered.
    pub(super) fn check(
        &mut self,
        used: Option<&ActiveToken>,
        discovery: &Discovery,
        challenge: Option<&Challenge>,
        now: u64,
        recorder: &Recorder,
    ) -> Result<(), AuthError> {
        let is_refused =
            |token: &&ActiveToken| token.origin == TokenOrigin::Login && !token.was_accepted();
        let is_over = self.refusal.is_some();
        let Some(token) = used.filter(is_refused).filter(|_| !is_over) else {
            self.reset();
            return Ok(());
        };
        self.refused_logins += 1;
        let credentials = &token.credentials;
        let scopes = challenge.and_then(Challenge::scope).unwrap_or_default();
        let is_same = credentials.issuer == discovery.issuer
            && scopes
                .iter()
                .all(|scope| credentials.requested_scopes.contains(scope));
        if !is_same && self.refused_logins < MAX_REFUSED_LOGINS {
            return Ok(());
        }
        recorder.fail(
            StepKind::Challenge,
            "send the token of the login",
            "the server refused it",
            "stop: another login would end the same way",
            "compare the issuer, the audience and the clock of the server with those of its \
             authorization server",
        );
        let message = format!(
            "the server refuses the token that {} issued for {} in the login that has just ended; \
             no other login begins within {} min, unless you ask for one",
            credentials.issuer,
            credentials.resource,
            REFUSAL_TTL / 60
        );
        let error = AuthError::recorded(AuthErrorKind::TokenRefused, message, recorder);
        self.refusal = Some(Refusal {
            error: error.clone(),
            ends_at: now.saturating_add(REFUSAL_TTL),
        });
        Err(error)
    }
}
