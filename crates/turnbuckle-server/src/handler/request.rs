//! A request on its way to the handler of an item.

use std::borrow::Cow;
use std::sync::Arc;

use turnbuckle_session::Handling;
use turnbuckle_types::RawJson;
use turnbuckle_wire::revision::Method;

use super::{Callable, Kind};
use crate::completion::Typing;
use crate::context::Context;
use crate::extract::Subject;
use crate::resource::Reading;

/// A request, as it is handed on while its message is at hand.
pub(crate) struct Request<'a> {
    pub(super) context: Context,
    arguments: Option<RawJson<'a>>,
    brings: Brings,
}

/// A request that waits for something: what its message says is read again later.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) context: Context,
    brings: Brings,
}

#[derive(Debug, Clone)]
enum Brings {
    Arguments,
    Reading(Reading),
    Typing(Typing),
}

impl<'a> Request<'a> {
    /// A request with arguments.
    pub(crate) fn new(context: Context, arguments: Option<RawJson<'a>>) -> Self {
        Self {
            context,
            arguments,
            brings: Brings::Arguments,
        }
    }

    /// A request to read something.
    pub(crate) fn of_reading(context: Context, reading: Reading) -> Self {
        Self {
            context,
            arguments: None,
            brings: Brings::Reading(reading),
        }
    }

    /// A request to complete what is being typed.
    pub(crate) fn of_typing(context: Context, typing: Typing) -> Self {
        Self {
            context,
            arguments: None,
            brings: Brings::Typing(typing),
        }
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) fn keep(self) -> Kept {
        Kept {
            context: self.context,
            brings: self.brings,
        }
    }

    pub(super) fn subject(&self) -> Subject<'_> {
        self.brings.subject(self.arguments)
    }

    /// What is read, if something is.
    pub(super) fn uri(&self) -> Option<&str> {
        match &self.brings {
            Brings::Reading(reading) => Some(&reading.uri),
            _ => None,
        }
    }

    /// The context, and what is read, if something is.
    pub(super) fn into_parts(self) -> (Context, Option<String>) {
        match self.brings {
            Brings::Reading(reading) => (self.context, Some(reading.uri)),
            _ => (self.context, None),
        }
    }
}

impl Brings {
    fn subject<'a>(&'a self, arguments: Option<RawJson<'a>>) -> Subject<'a> {
        match self {
            Self::Arguments => Subject::Arguments(arguments),
            Self::Reading(reading) => Subject::Reading(reading),
            Self::Typing(typing) => Subject::Typing(typing),
        }
    }
}

impl Kept {
    /// A request that is looked at again.
    pub(super) fn again<K: Kind>(context: Context, frame: &K::Frame) -> Self {
        let uri = match K::METHOD {
            Method::ReadResource => context
                .params()
                .uri
                .and_then(RawJson::text)
                .map(Cow::into_owned),
            _ => None,
        };
        let reading = uri.and_then(|uri| K::reading(frame, &uri));
        let brings = reading.map_or(Brings::Arguments, Brings::Reading);
        Self { context, brings }
    }

    /// The URI that is read, if one is.
    pub(crate) fn uri(&self) -> Option<&str> {
        match &self.brings {
            Brings::Reading(reading) => Some(&reading.uri),
            _ => None,
        }
    }

    /// Looks at what the handler is run for.
    pub(super) fn with_subject<T>(&self, look: impl FnOnce(Subject<'_>) -> T) -> T {
        let arguments = match self.brings {
            Brings::Arguments => self.context.params().arguments,
            _ => None,
        };
        look(self.brings.subject(arguments))
    }

    /// Hands it on.
    pub(crate) fn call(self, target: Arc<dyn Callable>) -> Handling {
        let context = self.context.clone();
        let arguments = match self.brings {
            Brings::Arguments => context.params().arguments,
            _ => None,
        };
        target.call(Request {
            context: self.context,
            arguments,
            brings: self.brings,
        })
    }
}
