//! Records of the effects of requests, so that none happens twice.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use turnbuckle_types::Json;

/// The future of an operation on records.
pub(crate) type ClaimFuture<'a, T> =
    Pin<Box<dyn Future<Output = Result<T, ClaimError>> + Send + 'a>>;

/// The reason that a record could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ClaimError(pub(crate) String);

/// The state of an effect, as one run of a handler finds it.
#[cfg_attr(
    not(feature = "store"),
    expect(dead_code, reason = "a server without stores keeps no records")
)]
pub(crate) enum Claimed {
    /// This run has claimed the effect, and nobody else can.
    Now(Box<dyn OpenClaim>),
    /// An earlier run has done it, with this value.
    Done(Json),
    /// Another run has claimed it and has not said how it ended.
    Unknown,
}

/// Records of effects that all instances of a server share.
pub(crate) trait OnceClaims: Send + Sync {
    /// Claims an effect, unless it was claimed before.
    fn claim(&self, record: String, ttl: Duration) -> ClaimFuture<'_, Claimed>;
}

/// The claim of the run that runs an effect.
pub(crate) trait OpenClaim: Send {
    /// Records the value of the effect.
    fn complete(self: Box<Self>, value: Json) -> ClaimFuture<'static, ()>;

    /// Gives the effect back: it did not happen.
    fn release(self: Box<Self>) -> ClaimFuture<'static, ()>;
}

/// The records of a server, if it keeps any.
#[derive(Clone, Default)]
pub(crate) struct OnceRecords(pub(crate) Option<Arc<dyn OnceClaims>>);

impl fmt::Debug for OnceRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnceRecords")
            .field(&self.0.is_some())
            .finish()
    }
}
