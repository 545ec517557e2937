//! Failures of handlers in the log, and the sentence that clients read instead of a masked one.

use std::error::Error;

use turnbuckle_session::internal::log_reference;
use turnbuckle_types::RawJson;
use turnbuckle_types::base::error_chain::ErrorChain;
use turnbuckle_types::base::text::Escaped;
use turnbuckle_wire::era::headers::mirrored_name;
use turnbuckle_wire::revision::Method;

use crate::request::context::HandlerContext;

/// The most characters of a name that a line of the log has.
const MAX_NAME_CHARS: usize = 200;

/// Logs the error of a handler with all its sources, and returns the text for clients: its own
/// message, or, if it is to be masked, a sentence with a reference that the log has, too.
///
/// `method` is `None` for the methods of extensions.
#[cold]
pub(crate) fn report_error(
    method: Option<Method>,
    context: &HandlerContext,
    error: &(dyn Error + 'static),
    mask: bool,
) -> String {
    // One line for each failure, unless nothing of this crate is logged.
    if tracing::enabled!(tracing::Level::WARN) {
        context.set_failure_logged();
    }
    let name = method.map(|method| called_name(method, context));
    let method = method.map(Method::as_str);
    let chain = ErrorChain(error);
    if !mask {
        tracing::warn!(method, name, error = %Escaped(&chain), "a handler failed");
        return error.to_string();
    }
    let reference = log_reference();
    tracing::warn!(method, name, reference, error = %Escaped(&chain), "a handler failed");
    format!("The request failed for an internal reason (reference {reference}).")
}

/// Returns the name of the tool or prompt, or the URI, that a request names.
fn called_name(method: Method, context: &HandlerContext) -> String {
    let name = mirrored_name(method, &context.params()).flatten();
    let name = name.and_then(RawJson::text).unwrap_or_default();
    name.chars().take(MAX_NAME_CHARS).collect()
}
