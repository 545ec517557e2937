//! Prompts: messages that a server has ready for a person to choose.

use crate::object::object;
use crate::{CacheScope, ContentBlock, Icon, InputResponses, Map, Meta, Role};

object! {
    /// A prompt in a server's list.
    ///
    /// Specification: server/prompts (2026-07-28).
    pub struct Prompt {
        /// The name by which it is asked for.
        req name: String = "name",
        /// The name for people.
        opt title: String = "title",
        /// The description.
        opt description: String = "description",
        /// The arguments.
        opt arguments: Vec<PromptArgument> = "arguments",
        /// The icons.
        opt icons: Vec<Icon> = "icons",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// An argument that a client fills in before it gets the prompt's messages.
    pub struct PromptArgument {
        /// The argument's name.
        req name: String = "name",
        /// The name for people.
        opt title: String = "title",
        /// The description.
        opt description: String = "description",
        /// `true` if the argument is required. Default: false.
        opt required: bool = "required",
    }

    /// One message of a prompt.
    pub struct PromptMessage {
        /// The sender.
        req role: Role = "role",
        /// The content.
        req content: ContentBlock = "content",
    }
}

impl PromptMessage {
    /// Creates a message of the user.
    #[must_use]
    pub fn user(content: impl Into<ContentBlock>) -> Self {
        Self::new(Role::User, content)
    }

    /// Creates a message of the model.
    #[must_use]
    pub fn assistant(content: impl Into<ContentBlock>) -> Self {
        Self::new(Role::Assistant, content)
    }
}

object! {
    /// Parameters of `prompts/get`.
    pub struct GetPromptRequestParams {
        /// The prompt's name.
        req name: String = "name",
        /// The arguments by name.
        map arguments: Map<String> = "arguments",
        /// Answers to the questions of an earlier round.
        map input_responses: InputResponses = "inputResponses" is input_responses,
        /// The state that the server gave with those questions.
        opt request_state: String = "requestState",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Result of `prompts/get`: the messages, with the arguments filled in.
    pub struct GetPromptResult {
        /// The messages.
        req messages: Vec<PromptMessage> = "messages",
        /// The description of the prompt.
        opt description: String = "description",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Result of `prompts/list`: one page.
    pub struct ListPromptsResult {
        /// The prompts.
        req prompts: Vec<Prompt> = "prompts",
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
