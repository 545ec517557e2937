//! The smallest servers that several modules need.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use turnbuckle_server::{Args, HandlerContext, Prompt, Resource, Server, ServerBuilder, Tool};
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

/// Creates a server with a tool `echo` that returns its `text`, and a tool `sleep` that takes
/// `seconds`.
pub(crate) fn echo() -> Server {
    echo_builder().build().unwrap()
}

/// Returns the builder of [`echo`]'s server, to which more can be added.
pub(crate) fn echo_builder() -> ServerBuilder {
    Server::new("echo", "1.0.0")
        .tool(
            Tool::builder("echo")
                .handler(async |Args(text): Args<Text>, _: HandlerContext| text.text),
        )
        .tool(Tool::builder("sleep").handler(
            async |Args(nap): Args<Seconds>, _: HandlerContext| {
                tokio::time::sleep(Duration::from_secs(nap.seconds)).await;
                "slept"
            },
        ))
}

/// Creates a server that answers every core method.
pub(crate) fn full_server() -> Server {
    echo_builder()
        .tool(
            Tool::builder("talk").handler(async |context: HandlerContext, server: Server| {
                context.progress(1, None).await;
                let level = turnbuckle_types::LoggingLevel::Error;
                context.log(level, Some("talker"), "a log message").await;
                server.notify_tools_changed();
                server.notify_prompts_changed();
                server.notify_resources_changed();
                server.notify_resource_updated("test://one");
                "talked"
            }),
        )
        .prompt(
            Prompt::builder("greet").handler(async |(): (), _: HandlerContext| "hello".to_owned()),
        )
        .resource(Resource::builder("test://one", "one").handler(async |_: HandlerContext| "1"))
        .resource(
            Resource::builder("test://many/{n}", "many")
                .handler(async |_: HandlerContext| "n")
                .complete("n", async |_: HandlerContext| vec!["1".to_owned()]),
        )
        .logging()
        .build()
        .unwrap()
}

/// Returns parameters that a method accepts.
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
        Method::SubscriptionsListen => json!({"notifications": {"toolsListChanged": true}}),
        _ => json!({}),
    }
}
