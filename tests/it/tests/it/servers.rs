//! The smallest servers that several modules need.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use turnbuckle_server::{Args, Context, Prompt, Resource, Server, ServerBuilder, Tool};
use turnbuckle_wire::revision::Method;

/// A text.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Text {
    pub(crate) text: String,
}

/// A time to wait.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Seconds {
    pub(crate) seconds: u64,
}

/// A server with a tool `echo` that gives its `text` back, and a tool `sleep` that takes `seconds`.
pub(crate) fn echo() -> Server {
    echo_builder().build().unwrap()
}

/// The same, to be added to.
pub(crate) fn echo_builder() -> ServerBuilder {
    Server::new("echo", "1.0.0")
        .tool(Tool::builder("echo").handler(async |Args(said): Args<Text>, _: Context| said.text))
        .tool(
            Tool::builder("sleep").handler(async |Args(nap): Args<Seconds>, _: Context| {
                tokio::time::sleep(Duration::from_secs(nap.seconds)).await;
                "slept"
            }),
        )
}

/// A server that answers every core method.
pub(crate) fn everything() -> Server {
    echo_builder()
        .tool(
            Tool::builder("talk").handler(async |(): (), context: Context| {
                context.progress(1, None).await;
                let level = turnbuckle_types::LogLevel::Error;
                context.log(level, Some("talker"), "a log message").await;
                context.server().tools_changed();
                context.server().prompts_changed();
                context.server().resources_changed();
                context.server().resource_updated("test://one");
                "talked"
            }),
        )
        .prompt(Prompt::builder("greet").handler(async |(): (), _: Context| "hello".to_owned()))
        .resource(Resource::builder("test://one", "one").handler(async |_: Context| "1"))
        .resource(
            Resource::builder("test://many/{n}", "many")
                .handler(async |_: Context| "n")
                .complete("n", async |_: Context| vec!["1".to_owned()]),
        )
        .logging()
        .build()
        .unwrap()
}

/// Parameters that a method accepts.
pub(crate) fn params_of(method: Method) -> Value {
    match method {
        Method::CallTool => json!({"name": "echo", "arguments": {"text": "t"}}),
        Method::GetPrompt => json!({"name": "greet"}),
        Method::ReadResource | Method::Subscribe | Method::Unsubscribe => {
            json!({"uri": "test://one"})
        }
        Method::Complete => json!({
            "ref": {"type": "ref/resource", "uri": "test://many/{n}"},
            "argument": {"name": "n", "value": "1"},
        }),
        Method::SetLevel => json!({"level": "info"}),
        Method::Listen => json!({"notifications": {"toolsListChanged": true}}),
        _ => json!({}),
    }
}
