//! The response to a request, as layers see, change and create it.

use std::any::{Any, TypeId};

use serde::Serialize;
use serde::de::DeserializeOwned;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{
    CallToolResult, CompleteResult, GetPromptResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, ProtocolError,
    ReadResourceResult,
};
use turnbuckle_wire::era::{Project, Reply, ResultBody, WriteTarget};
use turnbuckle_wire::json::Additions;
use turnbuckle_wire::revision::Revision;

use crate::error::failure::{Failure, Result};
use crate::error::into_failure::IntoFailure;
use crate::handler::output::tool::ToolOutput;
use crate::handler::{FailureMapping, failure_reply};
use crate::request::context::HandlerContext;

/// The response to a request: a result, questions to the client, or an error.
pub struct CallResponse(ResponseContent);

enum ResponseContent {
    Reply(Reply),
    Failed(Failure),
}

/// A result that layers can read and write: those of calls, reads, prompts, completions and lists.
pub trait CallResult: Serialize + DeserializeOwned + Project + Clone + Send + 'static {}

impl CallResult for CallToolResult {}
impl CallResult for GetPromptResult {}
impl CallResult for ReadResourceResult {}
impl CallResult for CompleteResult {}
impl CallResult for ListToolsResult {}
impl CallResult for ListPromptsResult {}
impl CallResult for ListResourcesResult {}
impl CallResult for ListResourceTemplatesResult {}

impl CallResponse {
    /// Creates the response of a tool.
    ///
    /// # Errors
    /// When the output is a failure, or cannot be encoded.
    pub fn from_tool_output(output: impl ToolOutput) -> Result<Self> {
        Ok(Self(ResponseContent::Reply(output.into_reply()?)))
    }

    /// Creates a response from a complete result: a [`CallToolResult`] for a tool, a
    /// [`ListToolsResult`] for `tools/list`, and so on.
    #[must_use]
    pub fn from_result(result: impl CallResult) -> Self {
        Self(ResponseContent::Reply(Reply::complete(result)))
    }

    /// Creates a failure of an error: an error result of a tool, an error elsewhere. For an error that
    /// does not implement [`IntoFailure`], write `Failure::from(error)`.
    pub fn from_failure(error: impl IntoFailure) -> Self {
        Self(ResponseContent::Failed(error.into_failure()))
    }

    pub(super) fn from_reply(reply: Reply) -> Self {
        Self(ResponseContent::Reply(reply))
    }

    /// Returns whether the response is an error, or an error result of a tool.
    #[must_use]
    pub fn is_error(&self) -> bool {
        match &self.0 {
            ResponseContent::Reply(reply) => reply.is_error(),
            ResponseContent::Failed(_) => true,
        }
    }

    /// Returns the error of the protocol, if the response is one. A failure of a tool's handler is
    /// an error result instead: a [`CallToolResult`] whose `is_error` is true.
    #[must_use]
    pub fn error(&self) -> Option<&ProtocolError> {
        match &self.0 {
            ResponseContent::Reply(Reply::Error(error)) => Some(error),
            _ => None,
        }
    }

    /// Returns a copy of the complete result: a [`CallToolResult`] of a tool, a [`ListToolsResult`]
    /// of `tools/list`, and so on. `None` if the response is an error, asks the client for input,
    /// or has a result of another type.
    ///
    /// A result that exists only in its JSON form, such as a list, is decoded here.
    #[must_use]
    pub fn result<T: CallResult>(&self) -> Option<T> {
        let ResponseContent::Reply(Reply::Complete(body)) = &self.0 else {
            return None;
        };
        let is_tool_result = TypeId::of::<T>() == TypeId::of::<CallToolResult>();
        match body.as_any() {
            Some(value) => match value.downcast_ref::<T>() {
                Some(result) => Some(result.clone()),
                None if is_tool_result && is_tool_body(value) => decode(&**body),
                None => None,
            },
            None if is_tool_result => None,
            None => decode(&**body),
        }
    }

    /// Replaces the response with a complete result.
    ///
    /// The result of a tool is not compared with the tool's output schema. A list that depends on
    /// the caller should have the `cache_scope` `Private` if the server's lists are shared
    /// ([`ServerBuilder::list_cache`](crate::ServerBuilder::list_cache)).
    pub fn set_result(&mut self, result: impl CallResult) {
        *self = Self::from_result(result);
    }

    pub(super) fn into_reply(self, mapping: FailureMapping, context: &HandlerContext) -> Reply {
        match self.0 {
            ResponseContent::Reply(reply) => reply,
            ResponseContent::Failed(failure) => {
                failure_reply(failure.into_kind(), mapping, context)
            }
        }
    }
}

/// Returns whether a body is the result of a tool without a value of the vocabulary.
fn is_tool_body(value: &dyn Any) -> bool {
    value.is::<turnbuckle_wire::era::TextToolResult>()
        || value.is::<turnbuckle_wire::era::StructuredToolResult>()
}

/// Writes a body for the newest revision and decodes it.
fn decode<T: DeserializeOwned>(body: &dyn ResultBody) -> Option<T> {
    let target = WriteTarget {
        features: Revision::NEWEST.features(),
        additions: Additions::default(),
    };
    let mut json = Vec::new();
    body.write(&target, &mut json).ok()?;
    serde_json::from_slice(&json).ok()
}

debug_fields!(CallResponse { is_error = |response| response.is_error() });
