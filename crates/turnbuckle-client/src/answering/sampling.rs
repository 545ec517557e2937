//! Asking the user's model on behalf of a server.

use turnbuckle_types::{
    ClientCapabilities, CreateMessageParams, CreateMessageResult, Error, ErrorKind, IncludeContext,
    check_tool_use_pairing,
};
use turnbuckle_wire::revision::Features;

use super::Question;
use super::handler::Handler;

/// The code of a request that the user refused.
pub(super) const REJECTED: i64 = -1;

pub(super) type OnSampling = Handler<CreateMessageParams, Result<CreateMessageResult, Error>>;

/// Who asks the model, and what may be asked for.
#[derive(Clone, Default)]
pub(super) struct Sampling {
    pub(super) on_sampling: Option<OnSampling>,
    pub(super) tools: bool,
    pub(super) context: bool,
}

impl Sampling {
    pub(super) async fn answer(
        &self,
        params: CreateMessageParams,
        question: Question,
    ) -> Result<CreateMessageResult, Error> {
        match &self.on_sampling {
            Some(handler) => handler.run(params, question).await?,
            None => Err(Error::internal("there is no handler")),
        }
    }
}

/// The user did not allow a server to ask the model: what a handler of sampling returns then, as
/// `Err(Declined.into())`. A legacy server gets the page's code, -1. The modern era has no form for
/// it: there the request that needed the answer ends in
/// [`Error::Unanswered`](crate::Error::Unanswered).
///
/// Specification: client/sampling, "Error Handling" (2025-11-25).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Declined;

impl From<Declined> for Error {
    fn from(_: Declined) -> Self {
        Self::new(
            ErrorKind::Application(REJECTED),
            "User rejected sampling request",
        )
    }
}

/// What may be put before a model, or the page's error.
pub(super) fn admit(
    mut params: CreateMessageParams,
    declared: &ClientCapabilities,
    features: &Features,
) -> Result<CreateMessageParams, Error> {
    let tools = params.tools.is_some() || params.tool_choice.is_some();
    if tools && !declared.supports_sampling_tools() {
        return Err(Error::invalid_params(
            "this client does not declare sampling with tools",
        ));
    }
    check_tool_use_pairing(&params.messages)
        .map_err(|error| Error::invalid_params(error.to_string()))?;
    let wants_context = |context: &IncludeContext| *context != IncludeContext::None;
    // Before tools came, context was a part of sampling as such.
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

    fn admitted(
        with: Value,
        declared: SamplingCapability,
        revision: Revision,
    ) -> Result<CreateMessageParams, Error> {
        let mut params = json!({"maxTokens": 1, "messages": []});
        let members = with.as_object().unwrap().clone();
        params.as_object_mut().unwrap().extend(members);
        let params = serde_json::from_value(params).unwrap();
        let declared = ClientCapabilities::new().sampling(declared);
        admit(params, &declared, revision.features())
    }

    #[test]
    fn tools_that_were_not_declared_are_refused() {
        let newest = Revision::NEWEST;
        for with in [
            json!({"tools": []}),
            json!({"toolChoice": {"mode": "auto"}}),
        ] {
            let refused = admitted(with.clone(), SamplingCapability::new(), newest);
            assert_eq!(*refused.unwrap_err().kind(), ErrorKind::InvalidParams);
            let declared = SamplingCapability::new().tools(Settings::new());
            assert!(admitted(with, declared, newest).is_ok());
        }
    }

    #[test]
    fn context_that_was_not_declared_is_left_out() {
        let asked = || json!({"includeContext": "thisServer"});
        let kept = |declared, revision| {
            let params = admitted(asked(), declared, revision).unwrap();
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
    fn uses_of_tools_without_their_results_never_come_to_a_handler() {
        let said = json!({"messages": [{"role": "assistant", "content":
            {"type": "tool_use", "id": "1", "name": "n", "input": {}}}]});
        let declared = SamplingCapability::new().tools(Settings::new());
        let refused = admitted(said, declared, Revision::NEWEST);
        assert_eq!(*refused.unwrap_err().kind(), ErrorKind::InvalidParams);
    }
}
