//! Panics of user code become errors: they end one request and nothing else.

use std::collections::hash_map::RandomState;
use std::error::Error;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _};
use std::task::{Context, Poll};

use turnbuckle_types::ProtocolError;
use turnbuckle_types::base::panics;
use turnbuckle_wire::era::Reply;

use crate::shared::incoming::HandlerFuture;

/// The cause of an error that a panic became. The log has the panic.
#[derive(Debug, Clone, Copy)]
pub struct HandlerPanic;

impl HandlerPanic {
    /// Returns whether the log has panics.
    #[must_use]
    pub fn is_logged() -> bool {
        tracing::enabled!(tracing::Level::ERROR)
    }
}

impl fmt::Display for HandlerPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a handler panicked")
    }
}

impl Error for HandlerPanic {}

/// Runs a function of user code.
///
/// # Errors
/// Returns an internal error when the function panics. Its message has a
/// [reference](log_reference) and nothing of the panic; the log has both.
pub fn catch_panic<T>(function: impl FnOnce() -> T) -> Result<T, ProtocolError> {
    panics::catch(function).map_err(|panic| panic_error(&panic))
}

/// Runs a callback of user code and logs a panic.
pub(crate) fn guard_callback(callback: impl FnOnce()) {
    drop(catch_panic(callback));
}

/// Polls a handler. A panic makes the reply an internal error.
pub(crate) fn poll_handler(handler: &mut HandlerFuture, cx: &mut Context<'_>) -> Poll<Reply> {
    catch_panic(|| handler.as_mut().poll(cx)).unwrap_or_else(|error| Poll::Ready(error.into()))
}

/// Returns eight random hexadecimal digits. An error that hides its details has them, and so does the
/// line of the log that tells these details.
#[must_use]
pub fn log_reference() -> String {
    let random = RandomState::new().build_hasher().finish();
    format!("{:08x}", random & 0xffff_ffff)
}

#[cold]
fn panic_error(panic: &str) -> ProtocolError {
    let reference = log_reference();
    tracing::error!(panic, reference, "a handler panicked");
    ProtocolError::internal(format!(
        "the handler failed unexpectedly (reference {reference})"
    ))
    .with_source(HandlerPanic)
}
