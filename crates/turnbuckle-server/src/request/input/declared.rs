//! Checks that a client can be asked a question: it declared what answering requires, and the question is valid.

use turnbuckle_session::handler::RequestContext;
use turnbuckle_types::{
    ClientCapabilities, ElicitRequestParams, ElicitationCapability, IncludeContext, InputRequest,
    InputRequests, ProtocolError, RootsCapability, SamplingCapability, Settings,
    check_tool_use_pairing,
};
use turnbuckle_wire::revision::Features;

use super::check_elicitation_url;

/// Checks that the client declared the capabilities that answering requires, and that the questions
/// are valid.
pub(crate) fn check(requests: &InputRequests, call: &RequestContext) -> Result<(), ProtocolError> {
    let mut needed = ClientCapabilities::new();
    for request in requests.values() {
        need(&mut needed, request, call.features());
    }
    check_declared(&needed, call)?;
    requests.values().try_for_each(check_content)
}

/// Checks one question in the same way.
pub(crate) fn check_one(
    request: &InputRequest,
    call: &RequestContext,
) -> Result<(), ProtocolError> {
    let mut needed = ClientCapabilities::new();
    need(&mut needed, request, call.features());
    check_declared(&needed, call)?;
    check_content(request)
}

fn check_declared(needed: &ClientCapabilities, call: &RequestContext) -> Result<(), ProtocolError> {
    let Some(missing) = call.client_capabilities().missing(needed) else {
        return Ok(());
    };
    let names = turnbuckle_wire::json::to_vec(&missing)
        .ok()
        .and_then(|json| String::from_utf8(json).ok())
        .unwrap_or_default();
    Err(ProtocolError::missing_required_client_capability(
        missing,
        format!("the client did not declare what this needs: {names}"),
    ))
}

fn check_content(request: &InputRequest) -> Result<(), ProtocolError> {
    match request {
        InputRequest::CreateMessage(params) => check_tool_use_pairing(&params.messages)
            .map_err(|error| ProtocolError::internal(error.to_string())),
        InputRequest::Elicit(ElicitRequestParams::Url(params)) => check_elicitation_url(params),
        _ => Ok(()),
    }
}

/// Adds the capabilities that a question requires.
fn need(needed: &mut ClientCapabilities, request: &InputRequest, features: &Features) {
    match request {
        InputRequest::Elicit(params) => {
            let elicitation = needed
                .elicitation
                .get_or_insert_with(ElicitationCapability::new);
            match params {
                ElicitRequestParams::Url(_) => elicitation.url = Some(Settings::new()),
                _ => elicitation.form = Some(Settings::new()),
            }
        }
        InputRequest::CreateMessage(params) => {
            let sampling = needed.sampling.get_or_insert_with(SamplingCapability::new);
            if params.tools.is_some() || params.tool_choice.is_some() {
                sampling.tools = Some(Settings::new());
            }
            // Revisions without tools in sampling have no capability for context either.
            let context = params.include_context.as_ref();
            let context = context.filter(|_| features.sampling_tools);
            if context.is_some_and(|context| *context != IncludeContext::None) {
                sampling.context = Some(Settings::new());
            }
        }
        InputRequest::ListRoots(_) => {
            needed.roots.get_or_insert_with(RootsCapability::new);
        }
        _ => {}
    }
}
