//! The conversation between the user, the model and the tools.

use std::sync::Arc;

use serde_json::{Value, json};
use turnbuckle::servers::{ServerItem, Servers};
use turnbuckle::types::{CallToolResult, ProgressNotificationParams, Tool};

use crate::consent::Consent;
use crate::console::Console;
use crate::history::History;
use crate::items::{block_text, get_prompt, read_resource, show_prompts, show_resources};
use crate::model::{Model, ToolCall};

/// The most bytes of a tool's result or a resource that the model reads.
const MAX_RESULT_BYTES: usize = 64 << 10;

/// The most calls in one answer of the model.
const MAX_CALLS_PER_ANSWER: usize = 16;

const HELP: &str = "\
/tools                  lists the tools
/resources              lists the resources
/attach URI             puts a resource before the next message
/prompts                lists the prompts
/prompt NAME ARG=VALUE  sends a prompt to the model
/servers                shows the state of the servers
/quit                   ends the program
Everything else is a message to the model.";

pub(crate) struct ChatLoop {
    servers: Servers,
    model: Arc<Model>,
    console: Arc<Console>,
    max_rounds: usize,
    consent: Consent,
    history: History,
    /// The resources that stand before the next message.
    attached: Vec<String>,
}

impl ChatLoop {
    pub(crate) fn new(
        servers: Servers,
        model: Arc<Model>,
        console: Arc<Console>,
        history: History,
        max_rounds: usize,
    ) -> Self {
        Self {
            servers,
            model,
            console,
            max_rounds,
            consent: Consent::default(),
            history,
            attached: Vec::new(),
        }
    }

    /// Reads messages and commands until the end of the input.
    pub(crate) async fn run(&mut self) {
        while let Some(line) = self.console.read("> ").await {
            let line = line.trim();
            let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
            match command {
                "" => {}
                "/quit" => return,
                "/help" => self.console.print(HELP),
                "/tools" => self.show_tools(),
                "/servers" => self.show_servers(),
                "/resources" => show_resources(&self.servers, &self.console),
                "/prompts" => show_prompts(&self.servers, &self.console),
                "/attach" => match read_resource(&self.servers, rest.trim()).await {
                    Ok(text) => self.attached.push(shorten(text)),
                    Err(error) => self.console.print(format!("error: {error}")),
                },
                "/prompt" => match get_prompt(&self.servers, rest).await {
                    Ok(messages) => self.answer(messages).await,
                    Err(error) => self.console.print(format!("error: {error}")),
                },
                _ => {
                    self.attached.push(line.to_owned());
                    let message = std::mem::take(&mut self.attached).join("\n\n");
                    let message = json!({"role": "user", "content": message});
                    self.answer(vec![message]).await;
                }
            }
        }
    }

    fn show_tools(&self) {
        for tool in self.servers.tools() {
            let about = tool.item.description.as_deref().unwrap_or_default();
            let about = about.lines().next().unwrap_or_default();
            self.console.print(format!("{}  {about}", tool.item.name));
        }
    }

    fn show_servers(&self) {
        for status in self.servers.status() {
            self.console.print(status.to_string());
        }
    }

    /// Lets the model answer messages, with as many calls of tools as it needs and may make.
    async fn answer(&mut self, messages: Vec<Value>) {
        for message in messages {
            self.history.push(message);
        }
        for _ in 0..self.max_rounds {
            // The tools of this moment: servers come and go.
            let tools = self.servers.tools();
            let described: Vec<Value> = tools.iter().map(describe).collect();
            let answer = match self
                .model
                .complete(self.history.messages(), &described)
                .await
            {
                Ok(answer) => answer,
                Err(error) => {
                    // The next message begins as if this one had not been sent.
                    self.history.remove_last_turn();
                    return self.console.print(format!("error: {error}"));
                }
            };
            self.history.push(answer.message);
            if let Some(text) = &answer.text {
                self.console.print(text);
            }
            if answer.calls.is_empty() {
                return;
            }
            for (index, call) in answer.calls.iter().enumerate() {
                let result = match index < MAX_CALLS_PER_ANSWER {
                    true => self.call(&tools, call).await,
                    false => format!("at most {MAX_CALLS_PER_ANSWER} calls at a time"),
                };
                self.history.push(json!({
                    "role": "tool", "tool_call_id": call.id, "content": result,
                }));
            }
        }
        let rounds = self.max_rounds;
        self.console.print(format!(
            "error: no end after {rounds} answers (--max-rounds)"
        ));
    }

    /// Calls a tool if the user allows it, and returns what the model reads.
    async fn call(&mut self, tools: &[ServerItem<Tool>], call: &ToolCall) -> String {
        let Some(tool) = tools.iter().find(|tool| tool.item.name == call.name) else {
            return format!("there is no tool {:?}", call.name);
        };
        let arguments: Value = match serde_json::from_str(&call.arguments) {
            Ok(arguments @ Value::Object(_)) => arguments,
            _ => return "the arguments are not a JSON object".to_owned(),
        };
        if !self.consent.ask(&self.console, tool, &arguments).await {
            return "the user did not allow the call".to_owned();
        }
        let console = self.console.clone();
        let request = self.servers.call_tool(&call.name, &arguments);
        let request = request.on_progress(move |server, progress| {
            console.print(format!("-- {server}: {}", format_progress(&progress)));
        });
        shorten(match request.await {
            Ok(result) => describe_result(&result),
            Err(error) => {
                self.console.print(format!("-- {error}"));
                format!("the call failed: {error}")
            }
        })
    }
}

/// Returns the beginning of a text that is too long.
fn shorten(mut text: String) -> String {
    if text.len() > MAX_RESULT_BYTES {
        let mut ends = (0..=MAX_RESULT_BYTES).rev();
        let end = ends.find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or_default());
        text.push_str("\n(the rest is left out)");
    }
    text
}

/// Returns a tool as the model reads it.
fn describe(tool: &ServerItem<Tool>) -> Value {
    let schema: Value = serde_json::from_str(tool.item.input_schema.as_str()).unwrap_or_default();
    json!({"type": "function", "function": {
        "name": tool.item.name,
        "description": tool.item.description.as_deref().unwrap_or_default(),
        "parameters": schema,
    }})
}

/// Returns a result as the model reads it.
fn describe_result(result: &CallToolResult) -> String {
    let blocks = result.content.iter().map(block_text);
    let text = blocks.collect::<Vec<_>>().join("\n");
    match result.is_error() {
        true => format!("error: {text}"),
        false => text,
    }
}

fn format_progress(progress: &ProgressNotificationParams) -> String {
    let total = progress.total.as_ref();
    let total = total.map_or_else(String::new, |total| format!("/{total}"));
    let message = progress.message.as_deref().unwrap_or_default();
    format!("{}{total} {message}", progress.progress)
}
