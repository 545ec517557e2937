//! Language models: an OpenAI-compatible endpoint, or a script.

mod openai;
mod scripted;

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use openai::OpenAi;
use scripted::Script;

/// A language model.
pub(crate) enum Model {
    OpenAi(OpenAi),
    Scripted(Script),
}

/// An answer of a model.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The whole message, which becomes part of the conversation.
    pub(crate) message: Value,
    /// The text for the user.
    pub(crate) text: Option<String>,
    /// The tools that the model wants to call.
    pub(crate) calls: Vec<ToolCall>,
}

/// A call that a model wants to make.
#[derive(Debug)]
pub(crate) struct ToolCall {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The arguments as JSON, as the model wrote them.
    pub(crate) arguments: String,
}

impl Model {
    /// Creates a model behind an OpenAI-compatible endpoint.
    pub(crate) fn openai(url: &str, name: &str) -> Result<Self, String> {
        OpenAi::new(url, name).map(Self::OpenAi)
    }

    /// Creates a model that answers with the lines of a file.
    pub(crate) fn from_script(file: &Path) -> Result<Self, String> {
        Script::read(file).map(Self::Scripted)
    }

    /// Returns the name of the model.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::OpenAi(endpoint) => endpoint.name(),
            Self::Scripted(_) => "script",
        }
    }

    /// Returns the next message of a conversation. `tools` are those that the model may call.
    pub(crate) async fn complete(
        &self,
        messages: &[Value],
        tools: &[Value],
    ) -> Result<Answer, String> {
        let message = match self {
            Self::OpenAi(endpoint) => endpoint.complete(messages, tools).await?,
            Self::Scripted(script) => script.next()?,
        };
        Answer::read(message)
    }
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
    #[serde(default)]
    tool_calls: Vec<MessageCall>,
}

#[derive(Deserialize)]
struct MessageCall {
    id: String,
    function: MessageFunction,
}

#[derive(Deserialize)]
struct MessageFunction {
    name: String,
    arguments: String,
}

impl Answer {
    /// Reads a message of the role `assistant`.
    fn read(message: Value) -> Result<Self, String> {
        let read: Message = serde_json::from_value(message.clone())
            .map_err(|error| format!("the model's answer cannot be read: {error}"))?;
        let call = |call: MessageCall| ToolCall {
            id: call.id,
            name: call.function.name,
            arguments: call.function.arguments,
        };
        Ok(Self {
            message,
            text: read.content.filter(|text| !text.is_empty()),
            calls: read.tool_calls.into_iter().map(call).collect(),
        })
    }
}
