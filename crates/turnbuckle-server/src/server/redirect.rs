//! Calls of a tool that are calls of another one.

use serde::Deserialize;
use turnbuckle_session::internal::IncomingRequest;
use turnbuckle_types::RawJson;
use turnbuckle_wire::era::Params;

use crate::Server;

/// The arguments of the tool whose calls are calls of others.
#[derive(Deserialize)]
struct RedirectedCall<'a> {
    #[serde(borrow)]
    name: RawJson<'a>,
    #[serde(borrow, default)]
    arguments: Option<RawJson<'a>>,
}

/// Returns a call with other parameters, if there are any. The headers of its HTTP request mirror the arguments of
/// the tool that was named first, so that they say nothing about these.
pub(super) fn with_params<'a>(
    call: IncomingRequest<'a>,
    params: Option<&'a Params<'a>>,
) -> IncomingRequest<'a> {
    match params {
        Some(params) => IncomingRequest {
            params,
            headers: None,
            ..call
        },
        None => call,
    }
}

impl Server {
    /// Returns the parameters of the call that a call of the
    /// [redirecting tool](crate::ServerBuilder::redirect_calls) stands for. `None` for calls of all other tools.
    pub(super) fn redirect_call<'a>(&self, params: &Params<'a>) -> Option<Params<'a>> {
        let tool = self.0.redirecting_tool.as_deref()?;
        if params.name?.text()? != tool {
            return None;
        }
        let call: RedirectedCall<'a> = params.arguments?.decode().ok()?;
        let is_other = call.name.text()? != tool;
        is_other.then(|| {
            let mut redirected = *params;
            redirected.name = Some(call.name);
            redirected.arguments = call.arguments;
            redirected
        })
    }
}
