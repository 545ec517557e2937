//! Panics of user code become errors: they end one request and nothing else.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};

use turnbuckle_types::ProtocolError;
use turnbuckle_wire::era::Reply;

use crate::shared::incoming::HandlerFuture;

/// Runs a function of user code.
///
/// # Errors
/// Returns an internal error when the function panics. The panic's message is logged and not part
/// of the error.
pub fn catch_panic<T>(function: impl FnOnce() -> T) -> Result<T, ProtocolError> {
    catch_unwind(AssertUnwindSafe(function)).map_err(|panic| panic_error(&*panic))
}

/// Runs a callback of user code and logs a panic.
pub(crate) fn guard_callback(callback: impl FnOnce()) {
    drop(catch_panic(callback));
}

/// Polls a handler. A panic makes the reply an internal error.
pub(crate) fn poll_handler(handler: &mut HandlerFuture, cx: &mut Context<'_>) -> Poll<Reply> {
    catch_panic(|| handler.as_mut().poll(cx)).unwrap_or_else(|error| Poll::Ready(error.into()))
}

#[cold]
fn panic_error(panic: &(dyn Any + Send)) -> ProtocolError {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    tracing::error!(message, "a handler panicked");
    ProtocolError::internal("the handler failed unexpectedly")
}
