//! Completion: suggestions for the arguments of prompts and resource templates.
//!
//! Specification: server/utilities/completion (2026-07-28).

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use turnbuckle_session::Reply;
use turnbuckle_types::{CompleteResult, Completion, Error, Map, Number};

use crate::context::Context;
use crate::failure::{Kind, Result};

/// Suggestions that one answer may hold; the rest is told as a number.
const MOST: usize = 100;

/// What is being typed.
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

/// A function that suggests values: of what is being typed and a [`Context`], async. The best
/// suggestion comes first; a hundred are sent at most.
pub trait Completer: Send + Sync + 'static {
    /// Suggests values.
    fn complete(
        &self,
        typing: Typing,
        context: Context,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<String>>> + Send>>;
}

impl<F, Fut> Completer for F
where
    F: Fn(Typing, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Vec<String>> + Send + 'static,
{
    fn complete(
        &self,
        typing: Typing,
        context: Context,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<String>>> + Send>> {
        let suggestions = self(typing, context);
        Box::pin(async move { Ok(suggestions.await) })
    }
}

/// The completers of one item, by argument.
#[derive(Clone, Default)]
pub(crate) struct Completers(BTreeMap<String, Arc<dyn Completer>>);

impl Completers {
    pub(crate) fn add(&mut self, argument: String, completer: impl Completer) {
        self.0.insert(argument, Arc::new(completer));
    }

    pub(crate) fn get(&self, argument: &str) -> Option<Arc<dyn Completer>> {
        self.0.get(argument).cloned()
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
}

impl fmt::Debug for Completers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Runs a completer, or none, to its answer.
pub(crate) async fn run(
    completer: Option<Arc<dyn Completer>>,
    typing: Typing,
    context: Context,
) -> Reply {
    let suggestions = match completer {
        None => Vec::new(),
        Some(completer) => match completer.complete(typing, context).await {
            Ok(suggestions) => suggestions,
            Err(failure) => {
                return Reply::Error(match failure.into_kind() {
                    Kind::Protocol(error) => error,
                    Kind::Told(message) => Error::internal(message),
                    Kind::Input(_) => Error::internal("a completion cannot ask for input"),
                });
            }
        },
    };
    Reply::complete(cut(suggestions))
}

fn cut(mut suggestions: Vec<String>) -> CompleteResult {
    let total = suggestions.len();
    suggestions.truncate(MOST);
    let mut completion = Completion::new(suggestions);
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
