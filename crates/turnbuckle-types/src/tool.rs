//! Tools: what a server lets a model do.

use crate::object::object;
use crate::without;
use crate::{CacheScope, ContentBlock, Icon, InputResponses, Json, Meta, RawObject, Schema};

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
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

object! {
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
}

object! {
    /// Parameters of `tools/call`.
    pub struct CallToolRequestParams {
        /// The tool's name.
        req name: String = "name",
        /// The arguments, an object.
        opt arguments: RawObject = "arguments",
        /// Answers to the questions of an earlier round.
        map input_responses: InputResponses = "inputResponses",
        /// The state that the server gave with those questions.
        opt request_state: String = "requestState",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

object! {
    /// Result of `tools/call`.
    pub struct CallToolResult {
        /// The content, for the model.
        few content: Vec<ContentBlock> = "content",
        /// The structured content, for programs: any JSON value, in the shape of the tool's output
        /// schema.
        raw structured_content: Json = "structuredContent",
        /// The tool failed, in a way that the model should see and can act on.
        opt is_error: bool = "isError",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

impl CallToolResult {
    /// Creates a result of one text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new().content([ContentBlock::text(text)])
    }

    /// Decodes a result for whoever wants its structured form: the content is passed over, unless the
    /// tool failed.
    ///
    /// # Errors
    /// If the rest is no such result.
    // Hidden, since only `turnbuckle-client` needs a result without its content.
    #[doc(hidden)]
    pub fn decode_structured(text: &str) -> Result<Self, serde_json::Error> {
        let result: Self = without::decode(text, "content")?;
        match result.is_error {
            Some(true) => serde_json::from_str(text),
            _ => Ok(result),
        }
    }

    /// Creates a failure that the model should see, as one text.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self::text(text).is_error(true)
    }
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
