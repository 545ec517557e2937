//! Sampling: a server asks the client's model.

use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

use crate::object::object;
use crate::tagged::tagged;
use crate::words::words;
use crate::{
    AudioContent, ContentBlock, ImageContent, Json, MessageRole, Meta, Number, RawObject,
    TextContent, Tool,
};

tagged! {
    /// One piece of content of a sampling message.
    ///
    /// Specification: client/sampling (2026-07-28).
    pub enum SamplingContent by "type" {
        /// Text.
        Text(TextContent) = "text",
        /// A picture.
        Image(ImageContent) = "image",
        /// Sound.
        Audio(AudioContent) = "audio",
        /// The model wants to use a tool.
        ToolUse(ToolUseContent) = "tool_use",
        /// What a tool answered.
        ToolResult(ToolResultContent) = "tool_result",
    }
}

object! {
    /// The model wants to use a tool.
    pub struct ToolUseContent tagged "type" = "tool_use" {
        /// The id by which the answer names this use.
        req id: String = "id",
        /// The tool's name.
        req name: String = "name",
        /// The arguments, an object.
        req input: RawObject = "input",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

object! {
    /// What a tool answered.
    pub struct ToolResultContent tagged "type" = "tool_result" {
        /// The id of the use that this answers.
        req tool_use_id: String = "toolUseId",
        /// What the tool says, for the model.
        few content: Vec<ContentBlock> = "content",
        /// What the tool says, for programs: any JSON value.
        raw structured_content: Json = "structuredContent",
        /// The tool failed.
        opt is_error: bool = "isError",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

impl SamplingContent {
    /// Text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// A picture: its Base64 text and media type.
    #[must_use]
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image(ImageContent::new(data, mime_type))
    }

    /// Sound: its Base64 text and media type.
    #[must_use]
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Audio(AudioContent::new(data, mime_type))
    }

    /// The text, if this is text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(content) => Some(&content.text),
            _ => None,
        }
    }
}

impl From<&str> for SamplingContent {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for SamplingContent {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// One value or a list of them; keeps which of the two it was.
#[derive(Debug, Clone, PartialEq)]
pub enum OneOrMany<T> {
    /// The value itself.
    One(T),
    /// A list, possibly of one or none.
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// The values.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }

    /// The values, one after the other.
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

impl<T> From<Vec<T>> for OneOrMany<T> {
    fn from(values: Vec<T>) -> Self {
        Self::Many(values)
    }
}

impl From<SamplingContent> for OneOrMany<SamplingContent> {
    fn from(content: SamplingContent) -> Self {
        Self::One(content)
    }
}

impl From<&str> for OneOrMany<SamplingContent> {
    fn from(text: &str) -> Self {
        Self::One(text.into())
    }
}

impl From<String> for OneOrMany<SamplingContent> {
    fn from(text: String) -> Self {
        Self::One(text.into())
    }
}

impl<T: Serialize> Serialize for OneOrMany<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(value) => value.serialize(serializer),
            Self::Many(values) => values.serialize(serializer),
        }
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
        /// Who says it.
        req role: MessageRole = "role",
        /// What is said.
        req content: OneOrMany<SamplingContent> = "content",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

impl SamplingMessage {
    /// Something that the user says.
    #[must_use]
    pub fn user(content: impl Into<OneOrMany<SamplingContent>>) -> Self {
        Self::new(MessageRole::User, content)
    }

    /// Something that the model says.
    #[must_use]
    pub fn assistant(content: impl Into<OneOrMany<SamplingContent>>) -> Self {
        Self::new(MessageRole::Assistant, content)
    }
}

object! {
    /// Which model to ask. The client decides; these are wishes.
    pub struct ModelPreferences {
        /// Names to look for, best first.
        opt hints: Vec<ModelHint> = "hints",
        /// How much low cost matters, from 0 to 1.
        opt cost_priority: Number = "costPriority",
        /// How much speed matters, from 0 to 1.
        opt speed_priority: Number = "speedPriority",
        /// How much ability matters, from 0 to 1.
        opt intelligence_priority: Number = "intelligencePriority",
    }
}

object! {
    /// A name to look for among models.
    pub struct ModelHint {
        /// A part of the model's name, such as its family.
        opt name: String = "name",
    }
}

words! {
    /// Whose context the client is asked to add.
    pub open enum IncludeContext {
        /// Nobody's.
        None = "none",
        /// That of the server that asks. Needs the `sampling.context` capability.
        ThisServer = "thisServer",
        /// That of all its servers. Needs the `sampling.context` capability.
        AllServers = "allServers",
    }
}

words! {
    /// Whether the model uses tools.
    pub open enum ToolChoiceMode {
        /// As it likes.
        Auto = "auto",
        /// At least one.
        Required = "required",
        /// None.
        None = "none",
    }
}

object! {
    /// How the model may use the tools it is given.
    pub struct ToolChoice {
        /// Whether it uses them. Default: as it likes.
        opt mode: ToolChoiceMode = "mode",
    }
}

object! {
    /// Parameters of `sampling/createMessage`.
    pub struct CreateMessageParams {
        /// The conversation so far.
        req messages: Vec<SamplingMessage> = "messages",
        /// The most tokens that the model may write.
        req max_tokens: Number = "maxTokens",
        /// Which model to ask.
        opt model_preferences: ModelPreferences = "modelPreferences",
        /// Instructions to the model.
        opt system_prompt: String = "systemPrompt",
        /// Whose context to add.
        opt include_context: IncludeContext = "includeContext",
        /// How freely the model writes.
        opt temperature: Number = "temperature",
        /// Texts at which the model stops.
        opt stop_sequences: Vec<String> = "stopSequences",
        /// More for the model's provider.
        opt metadata: RawObject = "metadata",
        /// Tools that the model may use. Needs the `sampling.tools` capability.
        opt tools: Vec<Tool> = "tools",
        /// How it may use them. Needs the `sampling.tools` capability.
        opt tool_choice: ToolChoice = "toolChoice",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

object! {
    /// Result of `sampling/createMessage`: what the model says.
    pub struct CreateMessageResult {
        /// Who says it.
        req role: MessageRole = "role",
        /// What is said.
        req content: OneOrMany<SamplingContent> = "content",
        /// The model that was asked.
        req model: String = "model",
        /// Why it stopped: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or the provider's own
        /// word.
        opt stop_reason: String = "stopReason",
        /// Metadata.
        map meta: Meta = "_meta",
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
                SamplingContent::ToolUse(tool_use) => uses.push(&*tool_use.id),
                SamplingContent::ToolResult(result) => results.push(&*result.tool_use_id),
                _ => other = true,
            }
        }
        match role {
            MessageRole::User if !uses.is_empty() => return fail(PairingFault::UseByUser),
            MessageRole::Assistant if !results.is_empty() => {
                return fail(PairingFault::ResultByAssistant);
            }
            _ => {}
        }
        if !results.is_empty() && other {
            return fail(PairingFault::Mixed);
        }
        results.sort_unstable();
        if results != open {
            let missing = open.iter().any(|id| results.binary_search(id).is_err());
            return fail(if missing {
                PairingFault::Unanswered
            } else {
                PairingFault::Unasked
            });
        }
        uses.sort_unstable();
        if uses.windows(2).any(|pair| pair[0] == pair[1]) {
            return fail(PairingFault::RepeatedId);
        }
        open = uses;
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(ToolUsePairingError {
            message: messages.len(),
            fault: PairingFault::Unanswered,
        })
    }
}

/// A message that breaks the pairing of tool uses and results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolUsePairingError {
    /// The message's place in the list, from 0; the list's length if a message is missing at its end.
    pub message: usize,
    /// What is wrong with it.
    pub fault: PairingFault,
}

/// How a message breaks the pairing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PairingFault {
    /// The user uses a tool.
    UseByUser,
    /// The assistant answers for a tool.
    ResultByAssistant,
    /// Tool results stand beside other content.
    Mixed,
    /// A tool use of the message before has no result here.
    Unanswered,
    /// A tool result here answers nothing, or answers twice.
    Unasked,
    /// Two tool uses have the same id.
    RepeatedId,
}

impl fmt::Display for ToolUsePairingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = match self.fault {
            PairingFault::UseByUser => "only the assistant can use a tool",
            PairingFault::ResultByAssistant => "only the user can give a tool result",
            PairingFault::Mixed => "tool results cannot be mixed with other content",
            PairingFault::Unanswered => "a tool use of the message before has no result",
            PairingFault::Unasked => "a tool result does not answer the message before",
            PairingFault::RepeatedId => "two tool uses have the same id",
        };
        write!(f, "message {}: {fault}", self.message)
    }
}

impl std::error::Error for ToolUsePairingError {}
