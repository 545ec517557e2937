//! Prompts: messages that a server has ready for a person to choose.

use crate::object::object;
use crate::{CacheScope, ContentBlock, Icon, InputResponses, Map, MessageRole, Meta};

object! {
    /// A prompt in a server's list.
    ///
    /// Specification: server/prompts (2026-07-28).
    pub struct Prompt {
        /// The name by which it is asked for.
        req name: String = "name",
        /// Its name for people.
        opt title: String = "title",
        /// What it is for.
        opt description: String = "description",
        /// What it can be given.
        opt arguments: Vec<PromptArgument> = "arguments",
        /// Pictures for it.
        opt icons: Vec<Icon> = "icons",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

object! {
    /// Something that a prompt can be given.
    pub struct PromptArgument {
        /// The argument's name.
        req name: String = "name",
        /// Its name for people.
        opt title: String = "title",
        /// What it means.
        opt description: String = "description",
        /// Whether it must be given. Default: false.
        opt required: bool = "required",
    }
}

object! {
    /// One message of a prompt.
    pub struct PromptMessage {
        /// Who says it.
        req role: MessageRole = "role",
        /// What is said.
        req content: ContentBlock = "content",
    }
}

impl PromptMessage {
    /// Something that the user says.
    #[must_use]
    pub fn user(content: impl Into<ContentBlock>) -> Self {
        Self::new(MessageRole::User, content)
    }

    /// Something that the model says.
    #[must_use]
    pub fn assistant(content: impl Into<ContentBlock>) -> Self {
        Self::new(MessageRole::Assistant, content)
    }
}

object! {
    /// Parameters of `prompts/get`.
    pub struct GetPromptParams {
        /// The prompt's name.
        req name: String = "name",
        /// The arguments by name.
        map arguments: Map<String> = "arguments",
        /// Answers to the questions of an earlier round.
        map input_responses: InputResponses = "inputResponses",
        /// The state that the server gave with those questions.
        opt request_state: String = "requestState",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

object! {
    /// Result of `prompts/get`.
    pub struct GetPromptResult {
        /// The messages.
        req messages: Vec<PromptMessage> = "messages",
        /// What the prompt is for.
        opt description: String = "description",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

object! {
    /// Result of `prompts/list`: one page.
    pub struct ListPromptsResult {
        /// The prompts.
        req prompts: Vec<Prompt> = "prompts",
        /// Where the next page starts; absent on the last one.
        opt next_cursor: String = "nextCursor",
        /// How long the page may be used, in milliseconds.
        ttl ttl_ms: u64 = "ttlMs",
        /// Who may be shown a cached copy.
        opt cache_scope: CacheScope = "cacheScope",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}
