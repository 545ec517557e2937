//! Sampling: a server asks the client's model.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _};

use crate::content::{join_texts, text_blocks};
use crate::object::object;
use crate::tagged::tagged;
use crate::words::words;
use crate::{
    AudioContent, ContentBlock, ImageContent, Json, Meta, Number, RawObject, Role, TaskMetadata,
    TextContent, Tool,
};

tagged! {
    /// One piece of content of a sampling message.
    ///
    /// Specification: client/sampling (2026-07-28).
    pub enum SamplingMessageContentBlock by "type" {
        /// Text.
        Text(TextContent) = "text",
        /// A picture.
        Image(ImageContent) = "image",
        /// Sound.
        Audio(AudioContent) = "audio",
        /// A tool call of the model.
        ToolUse(ToolUseContent) = "tool_use",
        /// The result of a tool.
        ToolResult(ToolResultContent) = "tool_result",
    }
}

object! {
    /// A tool call of the model.
    pub struct ToolUseContent tagged "type" = "tool_use" {
        /// The id of the call, which its result repeats.
        req id: String = "id",
        /// The tool's name.
        req name: String = "name",
        /// The arguments, an object.
        req input: RawObject = "input",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// The result of a tool, for the model that asked for the call.
    pub struct ToolResultContent tagged "type" = "tool_result" {
        /// The id of the call that this answers.
        req tool_use_id: String = "toolUseId",
        /// The content, for the model.
        few content: Vec<ContentBlock> = "content",
        /// The structured content, for programs: any JSON value.
        raw structured_content: Json = "structuredContent",
        /// The tool failed.
        bare is_error: bool = "isError",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

impl ToolResultContent {
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
}

text_blocks!(SamplingMessageContentBlock);

/// One value or a list of them; keeps which of the two it was.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    /// The value itself.
    One(T),
    /// A list, possibly of one or none.
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// Returns the values.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }

    /// Returns the values, one after the other.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.as_slice().iter()
    }
}

impl<'a, T> IntoIterator for &'a OneOrMany<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl OneOrMany<SamplingMessageContentBlock> {
    /// Returns the texts of the content, one per line; empty if no content is text.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        join_texts(self.iter().map(SamplingMessageContentBlock::as_text))
    }
}

impl<T> From<Vec<T>> for OneOrMany<T> {
    fn from(values: Vec<T>) -> Self {
        Self::Many(values)
    }
}

impl From<SamplingMessageContentBlock> for OneOrMany<SamplingMessageContentBlock> {
    fn from(content: SamplingMessageContentBlock) -> Self {
        Self::One(content)
    }
}

impl From<&str> for OneOrMany<SamplingMessageContentBlock> {
    fn from(text: &str) -> Self {
        Self::One(text.into())
    }
}

impl From<String> for OneOrMany<SamplingMessageContentBlock> {
    fn from(text: String) -> Self {
        Self::One(text.into())
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Json::deserialize(deserializer)?;
        if raw.as_str().starts_with('[') {
            raw.decode().map(Self::Many).map_err(D::Error::custom)
        } else {
            raw.decode().map(Self::One).map_err(D::Error::custom)
        }
    }
}

object! {
    /// A message of the conversation that the model continues.
    pub struct SamplingMessage {
        /// The sender.
        req role: Role = "role",
        /// The content.
        req content: OneOrMany<SamplingMessageContentBlock> = "content",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

impl SamplingMessage {
    /// Creates a message of the user.
    #[must_use]
    pub fn user(content: impl Into<OneOrMany<SamplingMessageContentBlock>>) -> Self {
        Self::new(Role::User, content)
    }

    /// Creates a message of the model.
    #[must_use]
    pub fn assistant(content: impl Into<OneOrMany<SamplingMessageContentBlock>>) -> Self {
        Self::new(Role::Assistant, content)
    }
}

object! {
    /// The preferences for a model. The client decides.
    pub struct ModelPreferences {
        /// Names to look for, best first.
        opt hints: Vec<ModelHint> = "hints",
        /// The weight of low cost, from 0 to 1.
        opt cost_priority: Number = "costPriority" is fraction,
        /// The weight of speed, from 0 to 1.
        opt speed_priority: Number = "speedPriority" is fraction,
        /// The weight of intelligence, from 0 to 1.
        opt intelligence_priority: Number = "intelligencePriority" is fraction,
    }

    /// A name to look for among models.
    pub struct ModelHint {
        /// A part of the model's name, such as its family.
        opt name: String = "name",
    }
}

words! {
    /// The servers whose context the client is asked to add.
    pub open enum IncludeContext {
        /// No server.
        None = "none",
        /// The server that asks. Needs the `sampling.context` capability.
        ThisServer = "thisServer",
        /// All servers of the client. Needs the `sampling.context` capability.
        AllServers = "allServers",
    }
}

words! {
    /// The use of tools by the model.
    pub open enum ToolChoiceMode {
        /// The model decides.
        Auto = "auto",
        /// The model calls at least one tool.
        Required = "required",
        /// The model calls no tool.
        None = "none",
    }
}

object! {
    /// The choice of tools that the model has.
    pub struct ToolChoice {
        /// The mode. Default: the model decides.
        opt mode: ToolChoiceMode = "mode",
    }

    /// Parameters of `sampling/createMessage`.
    pub struct CreateMessageRequestParams {
        /// The messages so far.
        req messages: Vec<SamplingMessage> = "messages",
        /// The most tokens that the model may write.
        req max_tokens: Number = "maxTokens" is integer,
        /// The preferences for a model.
        opt model_preferences: ModelPreferences = "modelPreferences",
        /// Instructions to the model.
        opt system_prompt: String = "systemPrompt",
        /// The servers whose context to add.
        opt include_context: IncludeContext = "includeContext",
        /// The temperature of the model.
        opt temperature: Number = "temperature",
        /// Texts at which the model stops.
        opt stop_sequences: Vec<String> = "stopSequences",
        /// More for the model's provider.
        opt metadata: RawObject = "metadata" is settings,
        /// Tools that the model may use. Needs the `sampling.tools` capability.
        opt tools: Vec<Tool> = "tools",
        /// The choice of tools. Needs the `sampling.tools` capability.
        opt tool_choice: ToolChoice = "toolChoice",
        /// The wish that the request is a task. Only the revision 2025-11-25 has this field.
        opt task: TaskMetadata = "task",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Result of `sampling/createMessage`: what the model says.
    pub struct CreateMessageResult {
        /// The sender.
        req role: Role = "role",
        /// The content.
        req content: OneOrMany<SamplingMessageContentBlock> = "content",
        /// The model that was asked.
        req model: String = "model",
        /// The reason to stop: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or the provider's own
        /// word.
        opt stop_reason: String = "stopReason",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

impl CreateMessageResult {
    /// Creates the reply of the model `model` as one text.
    #[must_use]
    pub fn from_text(text: impl Into<String>, model: impl Into<String>) -> Self {
        Self::new(Role::Assistant, text.into(), model)
    }

    /// Returns the texts of the content, one per line; empty if no content is text.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        self.content.text()
    }
}

/// Checks that every tool use is answered at once and completely.
///
/// An assistant message with tool uses must be followed by a user message of tool results only, one
/// per use, with the same ids; tool results stand nowhere else. The same rule holds for whoever sends
/// the messages and whoever receives them.
///
/// Specification: client/sampling, Tool Use and Result Balance (2026-07-28).
///
/// # Errors
/// The first message that breaks the rule, and how.
pub fn check_tool_use_pairing(messages: &[SamplingMessage]) -> Result<(), ToolUsePairingError> {
    let mut open: Vec<&str> = Vec::new();
    for (message, SamplingMessage { role, content, .. }) in messages.iter().enumerate() {
        let fail = |fault| Err(ToolUsePairingError { message, fault });
        let (mut uses, mut results, mut other) = (Vec::new(), Vec::new(), false);
        for block in content {
            match block {
                SamplingMessageContentBlock::ToolUse(tool_use) => uses.push(&*tool_use.id),
                SamplingMessageContentBlock::ToolResult(result) => {
                    results.push(&*result.tool_use_id)
                }
                _ => other = true,
            }
        }
        match role {
            Role::User if !uses.is_empty() => return fail(PairingFault::ToolUseByUser),
            Role::Assistant if !results.is_empty() => {
                return fail(PairingFault::ToolResultByAssistant);
            }
            _ => {}
        }
        if !results.is_empty() && other {
            return fail(PairingFault::MixedContent);
        }
        results.sort_unstable();
        if results != open {
            let missing = open.iter().any(|id| results.binary_search(id).is_err());
            return fail(if missing {
                PairingFault::MissingToolResult
            } else {
                PairingFault::UnknownToolUse
            });
        }
        uses.sort_unstable();
        if uses.windows(2).any(|pair| pair[0] == pair[1]) {
            return fail(PairingFault::DuplicateToolUseId);
        }
        open = uses;
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(ToolUsePairingError {
            message: messages.len(),
            fault: PairingFault::MissingToolResult,
        })
    }
}

/// A message that breaks the pairing of tool uses and results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("message {message}: {fault}")]
#[non_exhaustive]
pub struct ToolUsePairingError {
    /// The message's place in the list, from 0; the list's length if a message is missing at its end.
    pub message: usize,
    /// The reason.
    pub fault: PairingFault,
}

/// The way in which a message breaks the pairing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PairingFault {
    /// The user uses a tool.
    #[error("only the assistant can use a tool")]
    ToolUseByUser,
    /// The assistant answers for a tool.
    #[error("only the user can give a tool result")]
    ToolResultByAssistant,
    /// Tool results stand beside other content.
    #[error("tool results cannot be mixed with other content")]
    MixedContent,
    /// A tool use of the message before has no result here.
    #[error("a tool use of the message before has no result")]
    MissingToolResult,
    /// A tool result here answers nothing, or answers twice.
    #[error("a tool result does not answer the message before")]
    UnknownToolUse,
    /// Two tool uses have the same id.
    #[error("two tool uses have the same id")]
    DuplicateToolUseId,
}
