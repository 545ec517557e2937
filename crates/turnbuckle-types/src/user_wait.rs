//! Requests of a client that wait for their user.

use crate::base::debug_fields;
use std::sync::Arc;

/// A place where a layer of a client reports that a request waits for its user, for instance for a
/// login. The client's timeouts do not run meanwhile.
///
/// The HTTP client puts it into the extensions of responses with 401 and 403, which are those that
/// make a layer ask the user. The layer must bound the wait itself.
#[derive(Clone)]
pub struct UserWait(Arc<dyn Fn(bool) + Send + Sync>);

/// A running wait for the user. Dropping the value ends the wait.
#[must_use = "the wait ends when this is dropped"]
pub struct UserWaitGuard(UserWait);

impl UserWait {
    /// Creates a place whose reports go to `report`: true at the begin of a wait, false at its end.
    #[must_use]
    pub fn new(report: impl Fn(bool) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    /// Begins a wait.
    pub fn begin(&self) -> UserWaitGuard {
        (self.0)(true);
        UserWaitGuard(self.clone())
    }
}

impl Drop for UserWaitGuard {
    fn drop(&mut self) {
        (self.0.0)(false);
    }
}

debug_fields!(UserWait {});

debug_fields!(UserWaitGuard {});
