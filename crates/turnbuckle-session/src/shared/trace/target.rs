//! The item that a request names, and the arguments for it.

use std::borrow::Cow;

use turnbuckle_types::RawJson;
use turnbuckle_wire::era::Params;
use turnbuckle_wire::era::params::{member_of, raw_param};
use turnbuckle_wire::revision::Method;

/// Returns the name or URI that a request names: of a completion, that of the prompt or the template. `text` is
/// the whole message.
pub(crate) fn target_of<'a>(
    method: &str,
    params: &Params<'a>,
    text: &'a str,
) -> Option<Cow<'a, str>> {
    let named = match Method::parse(method) {
        Some(Method::Complete) => {
            let reference = raw_param(text, "ref")?.as_str();
            member_of(reference, "name").or_else(|| member_of(reference, "uri"))
        }
        _ => params.name.or(params.uri),
    };
    named.and_then(RawJson::text)
}

/// Returns the arguments for the item that a request names: of a completion, its one argument. `text` is the whole message.
pub(crate) fn arguments_of<'a>(
    method: &str,
    params: &Params<'a>,
    text: &'a str,
) -> Option<RawJson<'a>> {
    match Method::parse(method) {
        Some(Method::Complete) => raw_param(text, "argument"),
        _ => params.arguments,
    }
}
