//! Completion: suggestions for the arguments of prompts and resource templates.
//!
//! Specification: server/utilities/completion (2026-07-28).

use std::collections::BTreeMap;
use std::sync::Arc;

use turnbuckle_session::Handling;
use turnbuckle_types::{CompleteResult, Completion, Map, Number};
use turnbuckle_wire::era::Reply;
use turnbuckle_wire::revision::Method;

use crate::context::Context;
use crate::error::BuildError;
use crate::extract::{Declare, Needs};
use crate::failure::{Failure, Result};
use crate::handler::{Callable, Handler, Kind, Maker, Request, Returns, maker};
use crate::schema::Intake;
use crate::scope::Scope;

/// Suggestions that one answer may hold; the rest is told as a number.
const MOST: usize = 100;

/// What is being typed.
///
/// Specification: server/utilities/completion (2026-07-28).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Typing {
    /// What stands in the argument so far.
    pub value: String,
    /// The other arguments that are filled in already, where the client's revision tells.
    pub arguments: Map<String>,
}

impl Typing {
    pub(crate) fn new(value: String, arguments: Map<String>) -> Self {
        Self { value, arguments }
    }
}

/// What suggests values while a user types: a function of a [`Typing`] and other extractors, sync
/// or async, that returns them. The best comes first; a hundred are sent at most.
///
/// Specification: server/utilities/completion (2026-07-28).
pub struct Completer {
    make: Maker<Self>,
    needs: Declare,
}

impl Kind for Completer {
    type Frame = ();

    const METHOD: Method = Method::Complete;
    const TELLS: bool = false;
    const ATTRIBUTE: Option<&'static str> = None;
}

impl<S: Into<String> + Send + 'static> Returns<Completer> for Vec<S> {
    fn reply(self, (): &(), _: Option<&str>) -> Result<Reply> {
        Ok(Reply::complete(cut(self)))
    }
}

impl<S, E> Returns<Completer> for std::result::Result<Vec<S>, E>
where
    S: Into<String> + Send + 'static,
    E: Into<Failure> + Send + 'static,
{
    fn reply(self, (): &(), _: Option<&str>) -> Result<Reply> {
        let values = self.map_err(Into::<Failure>::into)?;
        Ok(Reply::complete(cut(values)))
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
            make: maker(completer),
            needs: H::needs,
        };
        self.0.insert(argument, completer);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One that is for something that `known` does not know.
    pub(crate) fn other_than(&self, known: impl Fn(&str) -> bool) -> Option<&str> {
        self.0
            .keys()
            .map(String::as_str)
            .find(|argument| !known(argument))
    }

    pub(crate) fn register(self, scope: &Scope) -> Result<CompleterEntries, BuildError> {
        let entries = self.0.into_iter().map(|(argument, completer)| {
            let needs = Needs::of(completer.needs);
            scope.provide(&needs)?;
            if needs.asks {
                return Err(BuildError::new(format!(
                    "the completer of {argument:?} takes an Ask, but completing cannot ask"
                )));
            }
            let call = (completer.make)((), Intake::of_nothing(), scope, false);
            Ok((argument, call))
        });
        entries.collect::<Result<_, _>>().map(CompleterEntries)
    }
}

/// Registered completers of one item.
#[derive(Default)]
pub(crate) struct CompleterEntries(BTreeMap<String, Arc<dyn Callable>>);

impl CompleterEntries {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, argument: &str) -> Option<Arc<dyn Callable>> {
        self.0.get(argument).cloned()
    }
}

/// Suggests values; none, where nothing completes what is being typed.
pub(crate) fn suggest(
    completer: Option<Arc<dyn Callable>>,
    typing: Typing,
    context: Context,
) -> Handling {
    match completer {
        Some(completer) => completer.call(Request::of_typing(context, typing)),
        None => Reply::complete(cut(Vec::<String>::new())).into(),
    }
}

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
