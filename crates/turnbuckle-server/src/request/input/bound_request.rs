//! The request that a sealed state is bound to.

use std::borrow::Cow;

use turnbuckle_types::RawJson;
use turnbuckle_wire::era::Params;
use turnbuckle_wire::era::headers::mirrored_name;
use turnbuckle_wire::revision::Method;

/// The method, name and arguments of the request that a state is bound to.
#[derive(Debug)]
pub(crate) struct BoundRequest<'a> {
    pub(super) method: &'static str,
    pub(super) name: Cow<'a, str>,
    pub(super) arguments: Option<RawJson<'a>>,
}

impl<'a> BoundRequest<'a> {
    pub(crate) fn new(method: Method, params: &Params<'a>) -> Self {
        // Other members of the params may have names, too; the method's table decides which one counts.
        let named = mirrored_name(method, params).flatten();
        let named = named.and_then(RawJson::text);
        Self {
            method: method.as_str(),
            name: named.unwrap_or_default(),
            arguments: params.arguments,
        }
    }
}
