//! Completion: suggested values for arguments of prompts and variables of resource templates.
//!
//! Specification: server/utilities/completion (2026-07-28).

use std::collections::BTreeMap;
use std::sync::Arc;

use turnbuckle_session::internal::HandlerOutcome;
use turnbuckle_types::{CompleteResult, Completion, Number};
use turnbuckle_wire::era::Reply;
use turnbuckle_wire::revision::Method;

use crate::error::BuildError;
use crate::error::failure::Result;
use crate::error::into_failure::IntoFailure;
use crate::handler::CallKind;
use crate::handler::{
    ErasedHandler, FailureMapping, Handler, HandlerFactory, HandlerKind, HandlerOutput,
    HandlerRequest, OwnedPayload, handler_factory,
};
use crate::items::registration::Registration;
use crate::request::completion::CompletionRequest;
use crate::request::context::HandlerContext;
use crate::request::extract::{AddRequirements, HandlerRequirements};
use crate::schema::ArgumentReader;
use crate::service::LayerTarget;
use crate::service::policy::CallPolicy;

/// The most suggestions that one result may hold. The total is sent as a number.
const MOST: usize = 100;

/// A function that suggests values while a user types.
///
/// It takes a [`CompletionRequest`] and other extractors, is sync or async, and returns the
/// suggestions with the best one first. At most one hundred are sent.
///
/// Specification: server/utilities/completion (2026-07-28).
pub struct Completer {
    make: HandlerFactory<Self>,
    needs: AddRequirements,
}

impl HandlerKind for Completer {
    type ReplyOptions = ();
    type Reply = Reply;

    const METHOD: Method = Method::Complete;
    const ERRORS_IN_RESULT: bool = false;
    const CALL_KIND: CallKind = CallKind::Completion;
}

impl<S: Into<String> + Send + 'static> HandlerOutput<Completer> for Vec<S> {
    fn into_handler_reply(self, (): &(), _: Option<&str>) -> Result<Reply> {
        Ok(Reply::complete(cut(self)))
    }
}

impl<S, E> HandlerOutput<Completer> for std::result::Result<Vec<S>, E>
where
    S: Into<String> + Send + 'static,
    E: IntoFailure + Send + 'static,
{
    fn into_handler_reply(self, (): &(), _: Option<&str>) -> Result<Reply> {
        let values = self.map_err(IntoFailure::into_failure)?;
        Ok(Reply::complete(cut(values)))
    }
}

/// A result with its total, such as that of another server.
impl<E> HandlerOutput<Completer> for std::result::Result<CompleteResult, E>
where
    E: IntoFailure + Send + 'static,
{
    fn into_handler_reply(self, (): &(), _: Option<&str>) -> Result<Reply> {
        Ok(Reply::complete(self.map_err(IntoFailure::into_failure)?))
    }
}

/// The completers of one item, by argument.
#[derive(Default)]
pub(crate) struct Completers(BTreeMap<String, Completer>);

impl Completers {
    pub(crate) fn add<H, M>(&mut self, argument: String, completer: H)
    where
        H: Handler<Completer, M>,
        M: 'static,
    {
        let completer = Completer {
            make: handler_factory(completer),
            needs: H::add_requirements,
        };
        self.0.insert(argument, completer);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the first argument for which `is_known` returns false.
    pub(crate) fn first_unknown(&self, is_known: impl Fn(&str) -> bool) -> Option<&str> {
        self.0
            .keys()
            .map(String::as_str)
            .find(|argument| !is_known(argument))
    }

    /// Makes the completers of the item `name` callable, in the layers of the item's `policy`.
    ///
    /// # Errors
    /// If a completer takes state that the server does not have, or an `Ask`.
    pub(crate) fn register(
        self,
        name: &str,
        policy: &CallPolicy,
        registration: &Registration,
    ) -> Result<CompleterEntries, BuildError> {
        let entries = self.0.into_iter().map(|(argument, completer)| {
            let needs = HandlerRequirements::collect(completer.needs);
            registration.check_requirements(&needs)?;
            if needs.asks {
                return Err(BuildError::new(format!(
                    "the completer of {argument:?} takes an Ask, but a completer cannot ask the client"
                )));
            }
            let settings = registration.handler_settings(false, policy);
            let reader = ArgumentReader::without_arguments();
            let call = (completer.make)((), reader, &settings);
            let target = LayerTarget {
                kind: CallKind::Completion,
                name: name.into(),
                read_only: true,
                mapping: FailureMapping::for_kind::<Completer>(settings.masks_errors),
            };
            Ok((argument, registration.wrap_in_layers(call, target, policy)))
        });
        entries.collect::<Result<_, _>>().map(CompleterEntries)
    }
}

/// The registered completers of one item, by argument.
#[derive(Default)]
pub(crate) struct CompleterEntries(BTreeMap<String, Arc<dyn ErasedHandler>>);

impl CompleterEntries {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, argument: &str) -> Option<Arc<dyn ErasedHandler>> {
        self.0.get(argument).cloned()
    }
}

/// Answers a completion request. Without a completer, there are no suggestions.
pub(crate) fn suggest(
    completer: Option<Arc<dyn ErasedHandler>>,
    request: CompletionRequest,
    context: HandlerContext,
) -> HandlerOutcome {
    match completer {
        Some(completer) => completer.call(HandlerRequest::with_payload(
            context,
            OwnedPayload::Completion(request),
        )),
        None => Reply::complete(cut(Vec::<String>::new())).into(),
    }
}

/// Builds the result: the first hundred suggestions, their total, and whether there are more.
fn cut<S: Into<String>>(suggestions: Vec<S>) -> CompleteResult {
    let total = suggestions.len();
    let shown: Vec<String> = suggestions.into_iter().take(MOST).map(Into::into).collect();
    let mut completion = Completion::new(shown);
    completion.total = Some(Number::from(total as u64));
    completion.has_more = Some(total > MOST);
    CompleteResult::new(completion)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_suggestions_are_sent_and_the_rest_is_counted() {
        let many = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
        let all = cut(many(100)).completion;
        assert_eq!((all.values.len(), all.has_more), (100, Some(false)));
        let more = cut(many(101)).completion;
        assert_eq!((more.values.len(), more.has_more), (100, Some(true)));
        assert_eq!(more.total, Some(Number::from(101u64)));
    }
}
