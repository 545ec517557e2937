//! The reason why a client has no authorization.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// The reason why a client could not obtain what a server demanded with 401 or 403.
///
/// A layer of the client that authorizes requests puts it into the extensions of the server's
/// response. The error of the request carries it; its [`source`](Error::source) is the layer's own
/// error.
#[derive(Clone)]
pub struct AuthorizationFailure(Arc<dyn Error + Send + Sync>);

impl AuthorizationFailure {
    /// Wraps the error of the layer. Its text is shown to people and must hold no secret.
    #[must_use]
    pub fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Arc::new(error))
    }

    /// Returns the error of the layer, if it is of this type.
    #[must_use]
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }
}

impl fmt::Display for AuthorizationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for AuthorizationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Error for AuthorizationFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}
