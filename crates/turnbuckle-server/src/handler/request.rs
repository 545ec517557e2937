//! A request on its way to the handler of an item, and the type-erased handler.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use turnbuckle_session::internal::HandlerOutcome;
use turnbuckle_types::{Json, RawJson};
use turnbuckle_wire::revision::MirroredParam;

use super::HandlerKind;
use crate::request::completion::CompletionRequest;
use crate::request::context::HandlerContext;
use crate::request::extract::RequestPayload;
use crate::request::read::ReadRequest;
use crate::request::redaction::Redact;

/// A handler whose function and extractor types are erased.
pub(crate) trait ErasedHandler: Send + Sync {
    /// Handles a request.
    fn call(self: Arc<Self>, request: HandlerRequest<'_>) -> HandlerOutcome;
}

/// A request for the handler of an item, with arguments borrowed from the received message.
pub(crate) struct HandlerRequest<'a> {
    pub(crate) context: HandlerContext,
    /// The member `arguments` of the message, for a tool or a prompt.
    arguments: Option<RawJson<'a>>,
    payload: OwnedPayload,
}

/// A request for the handler of an item that owns its data, so that it can outlive the received
/// message: while it waits for a permit, a blocking thread or a layer, or for another run of the
/// handler. Its arguments are a range of the message that its context keeps, or those that a layer
/// put in their place.
#[derive(Debug, Clone)]
pub(crate) struct DetachedRequest {
    pub(crate) context: HandlerContext,
    payload: OwnedPayload,
    /// The arguments of a tool or a prompt, as a range of the message.
    arguments: Option<Range<usize>>,
}

/// The part of a [`RequestPayload`] that does not borrow from the message.
#[derive(Debug, Clone)]
pub(crate) enum OwnedPayload {
    /// The arguments of a tool or a prompt, which are borrowed from the message.
    Arguments,
    /// The URI of `resources/read` and the variables of its template.
    Read(ReadRequest),
    /// The argument of `completion/complete`.
    Completion(CompletionRequest),
    /// A list request, whose parameters are read from the message.
    List,
}

impl<'a> HandlerRequest<'a> {
    /// Creates a request of a tool or a prompt.
    pub(crate) fn new(context: HandlerContext, arguments: Option<RawJson<'a>>) -> Self {
        Self {
            context,
            arguments,
            payload: OwnedPayload::Arguments,
        }
    }

    /// Creates a request without arguments.
    pub(crate) fn with_payload(context: HandlerContext, payload: OwnedPayload) -> Self {
        Self {
            context,
            arguments: None,
            payload,
        }
    }

    /// Converts the request into one that does not borrow from the message.
    pub(crate) fn detach(self) -> DetachedRequest {
        let arguments = self
            .arguments
            .map(|arguments| range_in(self.context.text(), arguments.as_str()));
        DetachedRequest {
            context: self.context,
            payload: self.payload,
            arguments,
        }
    }

    /// Returns the data that the handler's extractors read: the arguments of a tool or prompt, the
    /// resource to read, or the argument to complete.
    pub(super) fn payload(&self) -> RequestPayload<'_> {
        self.payload.payload(self.arguments)
    }

    /// Returns the URI that is read, if any.
    pub(super) fn uri(&self) -> Option<&str> {
        self.payload.uri()
    }

    /// Returns the context, and the URI that is read, if any.
    pub(super) fn into_parts(self) -> (HandlerContext, Option<String>) {
        match self.payload {
            OwnedPayload::Read(request) => (self.context, Some(request.uri)),
            _ => (self.context, None),
        }
    }
}

/// Returns the range of `part` in `text`: an empty one if `part` is not a slice of it, as when a
/// layer replaced the arguments.
fn range_in(text: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
    match start.checked_add(part.len()) {
        Some(end) if end <= text.len() => start..end,
        _ => 0..0,
    }
}

impl OwnedPayload {
    fn uri(&self) -> Option<&str> {
        match self {
            Self::Read(request) => Some(&request.uri),
            _ => None,
        }
    }

    fn payload<'a>(&'a self, arguments: Option<RawJson<'a>>) -> RequestPayload<'a> {
        match self {
            Self::Arguments | Self::List => RequestPayload::Arguments(arguments),
            Self::Read(request) => RequestPayload::Read(request),
            Self::Completion(request) => RequestPayload::Completion(request),
        }
    }
}

/// Returns the arguments that a layer set, or else those at a range of the message.
fn find_arguments(context: &HandlerContext, range: Option<Range<usize>>) -> Option<RawJson<'_>> {
    if let Some(replaced) = context.replaced_arguments() {
        return Some(replaced);
    }
    let text = context.text().get(range?)?;
    (!text.is_empty()).then(|| RawJson::from_valid_text(text))
}

impl DetachedRequest {
    /// Creates a request for another run of the handler, from the context of the earlier run.
    pub(super) fn for_rerun<K: HandlerKind>(
        context: HandlerContext,
        reply_options: &K::ReplyOptions,
    ) -> Self {
        let params = context.params();
        let uri = match K::METHOD.mirrored_param() {
            Some(MirroredParam::Uri) => params.uri.and_then(RawJson::text).map(Cow::into_owned),
            _ => None,
        };
        let arguments = params.arguments;
        let arguments = arguments.map(|arguments| range_in(context.text(), arguments.as_str()));
        let request = uri.and_then(|uri| K::read_request(reply_options, &uri));
        Self {
            payload: request.map_or(OwnedPayload::Arguments, OwnedPayload::Read),
            arguments,
            context,
        }
    }

    /// Returns the arguments of a tool or a prompt.
    pub(crate) fn arguments(&self) -> Option<RawJson<'_>> {
        match self.payload {
            OwnedPayload::Arguments => find_arguments(&self.context, self.arguments.clone()),
            _ => None,
        }
    }

    /// Replaces the arguments of a tool or a prompt.
    pub(crate) fn replace_arguments(&mut self, arguments: Json) {
        self.context.replace_arguments(arguments);
    }

    /// Redacts what the handler sends while it runs.
    pub(crate) fn add_redaction(&mut self, redact: Arc<Redact>) {
        self.context.add_redaction(redact);
    }

    /// Returns the URI that is read, if any.
    pub(crate) fn uri(&self) -> Option<&str> {
        self.payload.uri()
    }

    /// Returns the data that the handler's extractors read.
    pub(super) fn payload(&self) -> RequestPayload<'_> {
        self.payload.payload(self.arguments())
    }

    /// Passes the request on to a handler.
    pub(crate) fn call(self, target: Arc<dyn ErasedHandler>) -> HandlerOutcome {
        let context = self.context.clone();
        let arguments = match self.payload {
            OwnedPayload::Arguments => find_arguments(&context, self.arguments),
            _ => None,
        };
        target.call(HandlerRequest {
            context: self.context,
            arguments,
            payload: self.payload,
        })
    }
}
