//! The steps of a login that use the credential store: its locks, and the credentials in it.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use turnbuckle_types::base::text::Escaped;

use super::LoginContext;
use crate::client::active_token::{ActiveToken, TokenOrigin};
use crate::client::credentials::Credentials;
use crate::client::store::StoreLock;
use crate::error::{AuthError, AuthErrorKind};
use crate::transcript::StepKind;

/// The time that a login waits for that of another task or process: a little more than a user has.
const OTHER_LOGIN_TIMEOUT: Duration = Duration::from_secs(6 * 60);

/// The time after which the user hears that a login waits for another.
const WAIT_NOTICE_DELAY: Duration = Duration::from_millis(300);

/// The pause between two attempts to take the lock of logins.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(100);

impl LoginContext<'_> {
    /// Waits for the lock of the credentials: for reading and refreshing them, and writing new ones.
    pub(crate) async fn lock_credentials(&self) -> Result<StoreLock, AuthError> {
        let key = self.settings.credentials_key();
        self.settings.store.lock(&key).await
    }

    /// Waits for the lock of logins at the server, which a login of another task or process holds for
    /// as long as its user needs.
    pub(crate) async fn lock_logins(&self) -> Result<StoreLock, AuthError> {
        let (store, key) = (&self.settings.store, self.settings.login_key());
        let mut lock = pin!(store.lock(&key));
        if let Ok(lock) = timeout(WAIT_NOTICE_DELAY, &mut lock).await {
            return lock;
        }
        let (step, busy) = (
            StepKind::Authorization,
            "another task or process logs in at this server",
        );
        self.settings.ui.announce_wait().map_err(|error| {
            let advice = "finish that login, then try again";
            self.recorder.fail(step, "log in", busy, "stop", advice);
            AuthError::new(AuthErrorKind::LoginRequired, format!("login: {error}"))
        })?;
        tracing::info!("{busy}: waiting for it");
        self.recorder.record(step, "log in", busy, "wait for it");
        let wait = async {
            let mut outcome = lock.await;
            // The store gives up sooner than a user.
            while matches!(&outcome, Err(error) if error.kind() == AuthErrorKind::StoreLocked) {
                sleep(LOCK_RETRY_INTERVAL).await;
                outcome = store.lock(&key).await;
            }
            outcome
        };
        timeout(OTHER_LOGIN_TIMEOUT, wait)
            .await
            .unwrap_or_else(|_| {
                let seconds = OTHER_LOGIN_TIMEOUT.as_secs();
                let answer = format!("{busy}, since {seconds} s");
                let advice = "finish or end that login, then try again";
                self.recorder.fail(step, "log in", &answer, "stop", advice);
                let message = format!("{answer}: {advice}");
                Err(AuthError::new(AuthErrorKind::LoginRequired, message))
            })
    }

    /// Returns the credentials of the store, ready for use. `current` is the token of this process.
    pub(crate) async fn load(
        &self,
        current: Option<&Arc<ActiveToken>>,
    ) -> Result<Option<Arc<ActiveToken>>, AuthError> {
        if let Some(unsaved) = current.filter(|current| !current.is_stored) {
            // What the store has is older: its refresh token may be used up.
            return Ok(Some(unsaved.clone()));
        }
        let key = self.settings.credentials_key();
        let stored = self.settings.store.load(&key).await?;
        let credentials = stored.as_ref().and_then(Credentials::from_stored);
        let token = credentials.and_then(|credentials| {
            let current = current.map(Arc::as_ref);
            ActiveToken::new(credentials, current, TokenOrigin::Store, true).ok()
        });
        Ok(token.map(Arc::new))
    }

    /// Returns the stored token, if it is valid and another than `used`: another process was faster.
    pub(crate) fn adopt(
        &self,
        used: Option<&ActiveToken>,
        stored: Option<&Arc<ActiveToken>>,
    ) -> Option<Arc<ActiveToken>> {
        let now = self.clock.now();
        let token = stored
            .filter(|stored| stored.is_other_than(used) && stored.credentials.is_valid(now))?;
        self.recorder.record(
            StepKind::Store,
            "load the credentials",
            "another token",
            "use the token that another process obtained",
        );
        Some(token.clone())
    }

    /// Writes credentials into the store, and prepares them for use. A failure of the store is
    /// reported, and they are used all the same. The key and the nonces of `previous` are kept if they
    /// belong to the same key.
    ///
    /// # Errors
    /// Fails when the token cannot be sent.
    pub(super) async fn save(
        &self,
        credentials: Credentials,
        previous: Option<&ActiveToken>,
        origin: TokenOrigin,
    ) -> Result<Arc<ActiveToken>, AuthError> {
        let mut is_stored = true;
        if let Some(text) = credentials.to_stored() {
            let key = self.settings.credentials_key();
            if let Err(error) = self.settings.store.save(&key, &text).await {
                is_stored = false;
                tracing::warn!(error = %Escaped(&error), "the credentials could not be stored");
                self.recorder.fail(
                    StepKind::Store,
                    "save the credentials",
                    error.to_string(),
                    "go on without",
                    "mend the store, or the next start has to log in again",
                );
            }
        }
        ActiveToken::new(credentials, previous, origin, is_stored).map(Arc::new)
    }

    /// Removes the credentials from the store, and the issuers to which clients are bound.
    pub(crate) async fn remove(&self) -> Result<(), AuthError> {
        let key = self.settings.credentials_key();
        for key in [vec![key], self.settings.binding_keys()].concat() {
            self.settings.store.remove(&key).await?;
        }
        Ok(())
    }
}
