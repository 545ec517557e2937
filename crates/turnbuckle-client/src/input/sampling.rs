//! Sampling: the server asks the user's model.

use turnbuckle_types::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ErrorKind, IncludeContext,
    ProtocolError, check_tool_use_pairing,
};
use turnbuckle_wire::revision::Features;

use crate::input::handler::InputHandler;
use crate::input::question::QuestionContext;

/// The error code for a request that the user rejected.
pub(crate) const USER_REJECTED_CODE: i64 = -1;

pub(crate) type OnSampling =
    InputHandler<CreateMessageRequestParams, Result<CreateMessageResult, ProtocolError>>;

/// The handler of sampling, and the capabilities that it declares.
#[derive(Clone, Default)]
pub(crate) struct SamplingHandler {
    pub(crate) handler: Option<OnSampling>,
    pub(crate) tools: bool,
    pub(crate) context: bool,
}

impl SamplingHandler {
    pub(crate) async fn answer(
        &self,
        params: CreateMessageRequestParams,
        question: QuestionContext,
    ) -> Result<CreateMessageResult, ProtocolError> {
        match &self.handler {
            Some(handler) => handler.run(params, question).await?,
            None => Err(ProtocolError::internal("there is no handler")),
        }
    }
}

/// The user did not allow a server to ask the model. A handler of sampling returns
/// `Err(SamplingRejected.into())` then.
///
/// A legacy server gets the specification's error code -1. The modern era has no form for that:
/// there the request that needed the answer ends in
/// [`Error::InputUnanswered`](crate::Error::InputUnanswered).
///
/// Specification: client/sampling, "Error Handling" (2025-11-25).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamplingRejected;

impl From<SamplingRejected> for ProtocolError {
    fn from(_: SamplingRejected) -> Self {
        Self::new(
            ErrorKind::Application(USER_REJECTED_CODE),
            "User rejected sampling request",
        )
    }
}

/// Checks a request before it reaches the handler, and removes what was not declared.
pub(crate) fn check_params(
    mut params: CreateMessageRequestParams,
    declared: &ClientCapabilities,
    features: &Features,
) -> Result<CreateMessageRequestParams, ProtocolError> {
    let tools = params.tools.is_some() || params.tool_choice.is_some();
    if tools && !declared.supports_sampling_tools() {
        return Err(ProtocolError::invalid_params(
            "this client does not declare sampling with tools",
        ));
    }
    check_tool_use_pairing(&params.messages)
        .map_err(|error| ProtocolError::invalid_params(error.to_string()))?;
    let wants_context = |context: &IncludeContext| *context != IncludeContext::None;
    // In revisions without sampling tools, context is part of the plain capability.
    if params.include_context.as_ref().is_some_and(wants_context)
        && features.sampling_tools
        && !declared.supports_sampling_context()
    {
        tracing::debug!("a server asks for context that this client does not offer: left out");
        params.include_context = None;
    }
    Ok(params)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use turnbuckle_types::{ErrorKind, SamplingCapability, Settings};
    use turnbuckle_wire::revision::Revision;

    use super::*;

    fn check_with(
        with: Value,
        declared: SamplingCapability,
        revision: Revision,
    ) -> Result<CreateMessageRequestParams, ProtocolError> {
        let mut params = json!({"maxTokens": 1, "messages": []});
        let members = with.as_object().unwrap().clone();
        params.as_object_mut().unwrap().extend(members);
        let params = serde_json::from_value(params).unwrap();
        let declared = ClientCapabilities::new().sampling(declared);
        check_params(params, &declared, revision.features())
    }

    #[test]
    fn undeclared_sampling_tools_are_refused() {
        let newest = Revision::NEWEST;
        for with in [
            json!({"tools": []}),
            json!({"toolChoice": {"mode": "auto"}}),
        ] {
            let refused = check_with(with.clone(), SamplingCapability::new(), newest);
            assert_eq!(*refused.unwrap_err().kind(), ErrorKind::InvalidParams);
            let declared = SamplingCapability::new().tools(Settings::new());
            assert!(check_with(with, declared, newest).is_ok());
        }
    }

    #[test]
    fn undeclared_sampling_context_is_left_out() {
        let asked = || json!({"includeContext": "thisServer"});
        let kept = |declared, revision| {
            let params = check_with(asked(), declared, revision).unwrap();
            params.include_context.is_some()
        };
        let plain = SamplingCapability::new;
        let declared = plain().context(Settings::new());
        assert!(!kept(plain(), Revision::NEWEST));
        assert!(!kept(plain(), Revision::NEWEST_LEGACY));
        assert!(kept(declared, Revision::NEWEST));
        // There it belongs to sampling itself.
        assert!(kept(plain(), Revision::V2025_06_18));
    }

    #[test]
    fn tool_uses_without_results_are_refused() {
        let params = json!({"messages": [{"role": "assistant", "content":
            {"type": "tool_use", "id": "1", "name": "n", "input": {}}}]});
        let declared = SamplingCapability::new().tools(Settings::new());
        let refused = check_with(params, declared, Revision::NEWEST);
        assert_eq!(*refused.unwrap_err().kind(), ErrorKind::InvalidParams);
    }
}
