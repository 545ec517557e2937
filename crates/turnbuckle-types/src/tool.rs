//! Tools: what a server lets a model do.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

use crate::content::join_texts;
use crate::object::object;
use crate::without;
use crate::words::words;
use crate::{
    CacheScope, ContentBlock, Icon, InputResponses, Json, Meta, RawObject, Schema, TaskMetadata,
    describe_decode_error,
};

words! {
    /// The part of a tool's calls that are tasks.
    ///
    /// Specification: basic/utilities/tasks, "Tool-Level Negotiation" (2025-11-25).
    pub enum TaskSupportLevel {
        /// No call is a task.
        Forbidden = "forbidden",
        /// A call may be a task.
        Optional = "optional",
        /// Every call is a task.
        Required = "required",
    }
}

object! {
    /// A tool in a server's list.
    ///
    /// Specification: server/tools (2026-07-28).
    pub struct Tool {
        /// The name by which it is called.
        req name: String = "name",
        /// The shape of its arguments: a schema of type `object`.
        req input_schema: Schema = "inputSchema",
        /// The name for people.
        opt title: String = "title",
        /// The description, for the model.
        opt description: String = "description",
        /// The shape of its structured content.
        opt output_schema: Schema = "outputSchema",
        /// Hints about its behaviour, true only as far as the server is trusted.
        opt annotations: ToolAnnotations = "annotations",
        /// The icons.
        opt icons: Vec<Icon> = "icons",
        /// The ways in which it runs. Only the revision 2025-11-25 has this field.
        opt execution: ToolExecution = "execution",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// The ways in which a tool runs.
    pub struct ToolExecution {
        /// The part of its calls that are tasks; absent means none.
        opt task_support: TaskSupportLevel = "taskSupport",
    }

    /// Hints about a tool's behaviour. None of them is a promise; an absent one has its default.
    pub struct ToolAnnotations {
        /// The tool's name for people, from before tools had a title.
        opt title: String = "title",
        /// The tool changes nothing. Default: false.
        opt read_only_hint: bool = "readOnlyHint",
        /// The tool may destroy something, unless it is read-only. Default: true.
        opt destructive_hint: bool = "destructiveHint",
        /// A second call with the same arguments changes nothing more. Default: false.
        opt idempotent_hint: bool = "idempotentHint",
        /// The tool deals with an open world, such as the web. Default: true.
        opt open_world_hint: bool = "openWorldHint",
    }

    /// Parameters of `tools/call`.
    pub struct CallToolRequestParams {
        /// The tool's name.
        req name: String = "name",
        /// The arguments, an object.
        opt arguments: RawObject = "arguments",
        /// Answers to the questions of an earlier round.
        map input_responses: InputResponses = "inputResponses" is input_responses,
        /// The state that the server gave with those questions.
        opt request_state: String = "requestState",
        /// The wish that the call is a task. Only the revision 2025-11-25 has this field.
        opt task: TaskMetadata = "task",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Result of `tools/call`, or the error that the tool reports to the model.
    pub struct CallToolResult {
        /// The content, for the model.
        few content: Vec<ContentBlock> = "content",
        /// The structured content, for programs: any JSON value, in the shape of the tool's output
        /// schema.
        raw structured_content: Json = "structuredContent",
        /// The tool failed, in a way that the model should see and can act on.
        bare is_error: bool = "isError",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

impl CallToolResult {
    /// Creates a result of one text.
    #[must_use]
    pub fn from_text(text: impl Into<String>) -> Self {
        Self::new().content([ContentBlock::text(text)])
    }

    /// Returns the texts of the content, one per line; empty if no content is text.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        join_texts(self.content.iter().map(ContentBlock::as_text))
    }

    /// Returns whether the tool failed. The [text](Self::text) then says how.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.is_error == Some(true)
    }

    /// Sets `isError`: whether the tool failed.
    #[must_use]
    pub fn with_is_error(mut self, is_error: bool) -> Self {
        self.is_error = Some(is_error);
        self
    }

    /// Decodes the structured content. Servers of revisions without structured content send the
    /// same JSON as the only text; this is decoded if there is no structured content.
    ///
    /// # Errors
    /// If the tool failed, the result has neither structured content nor JSON as its only text, or
    /// the content is no `T`.
    pub fn structured<T: DeserializeOwned>(&self) -> Result<T, StructuredContentError> {
        if self.is_error() {
            return Err(StructuredContentError::ToolFailed(self.text().into_owned()));
        }
        decode_structured(self.structured_content.as_ref(), &self.content)
    }

    /// Decodes a result for whoever wants its structured form: the content is passed over, unless the
    /// tool failed or there is no other form.
    ///
    /// # Errors
    /// If the rest is no such result.
    // Hidden, since only `turnbuckle-client` needs a result without its content.
    #[doc(hidden)]
    pub fn decode_structured(text: &str) -> Result<Self, serde_json::Error> {
        let result: Self = without::decode(text, "content")?;
        match result.is_error() || result.structured_content.is_none() {
            true => serde_json::from_str(text),
            false => Ok(result),
        }
    }

    /// Creates a failure that the model should see, as one text.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self::from_text(text).with_is_error(true)
    }
}

/// Decodes structured content, or else the JSON in the only text of `content`.
pub(crate) fn decode_structured<T: DeserializeOwned>(
    structured: Option<&Json>,
    content: &[ContentBlock],
) -> Result<T, StructuredContentError> {
    let malformed = |error| StructuredContentError::Malformed(describe_decode_error(&error));
    if let Some(structured) = structured {
        return structured.decode().map_err(malformed);
    }
    let text = match content {
        [only] => only.as_text(),
        _ => None,
    };
    let json = text.and_then(|text| text.parse::<Json>().ok());
    let json = json.ok_or(StructuredContentError::Missing)?;
    json.decode().map_err(malformed)
}

/// The reason that a tool's result has no structured content of the expected type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StructuredContentError {
    /// The tool failed, with this text.
    #[error("the tool failed: {0}")]
    ToolFailed(String),
    /// The result has neither structured content nor JSON as its only text.
    #[error("the result has neither structured content nor JSON as its only text")]
    Missing,
    /// The structured content is of another type; the text says where.
    #[error("the structured content: {0}")]
    Malformed(String),
}

object! {
    /// Result of `tools/list`: one page.
    pub struct ListToolsResult {
        /// The tools.
        req tools: Vec<Tool> = "tools",
        /// The start of the next page; absent on the last one.
        opt next_cursor: String = "nextCursor",
        /// The time for which the page may be cached, in milliseconds.
        ttl ttl_ms: u64 = "ttlMs",
        /// The receivers that may be given a cached copy.
        opt cache_scope: CacheScope = "cacheScope",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}
