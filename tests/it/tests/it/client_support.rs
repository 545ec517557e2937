//! Shared parts of the tests of our client.

use std::num::NonZeroUsize;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use turnbuckle_client::{Client, ClientBuilder};
use turnbuckle_server::{
    Args, CompletionRequest, HandlerContext, Prompt, ReadRequest, Resource, Server, Structured,
    Tool,
};
use turnbuckle_types::LoggingLevel;

/// Arguments of the tool `add`.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Add {
    pub(crate) a: i64,
    pub(crate) b: i64,
}

/// Result of the tool `add`.
#[derive(Debug, Serialize, Deserialize, JsonSchema, PartialEq)]
pub(crate) struct Sum {
    pub(crate) sum: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Greet {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Echo {
    text: String,
}

/// Returns a client with default settings.
pub(crate) fn plain() -> ClientBuilder {
    Client::builder("tester", "1.0.0")
}

/// Lets everything happen that needs no time.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Creates a server with every feature; its lists come in pages of two.
pub(crate) fn full_server() -> Server {
    let add = async |Args(it): Args<Add>, _: HandlerContext| Structured(Sum { sum: it.a + it.b });
    let steps = async |(): (), context: HandlerContext| {
        for step in 1..=3 {
            tokio::time::sleep(Duration::from_secs(3)).await;
            context.progress_message(step, Some(3.into()), "on").await;
        }
        "done"
    };
    let log = async |(): (), context: HandlerContext| {
        context
            .log(LoggingLevel::Info, Some("test"), "little")
            .await;
        context.log(LoggingLevel::Error, Some("test"), "much").await;
        "logged"
    };
    let forever =
        async |(): (), _: HandlerContext| -> &'static str { std::future::pending().await };
    let fails = async |(): (), _: HandlerContext| -> Result<String, turnbuckle_server::Failure> {
        Err(turnbuckle_server::Failure::new("it does not work"))
    };
    let names =
        async |typing: CompletionRequest, _: HandlerContext| vec![format!("{}da", typing.value)];
    let note = async |reading: ReadRequest, _: HandlerContext| {
        format!("note {}", reading.variables.text("id").unwrap_or_default())
    };
    Server::new("everything", "1.0.0")
        .page_size(NonZeroUsize::new(2).unwrap())
        .tool(Tool::builder("add").handler(add))
        .tool(Tool::builder("steps").handler(steps))
        .tool(Tool::builder("log").handler(log))
        .tool(Tool::builder("forever").handler(forever))
        .tool(Tool::builder("fails").handler(fails))
        .tool(
            Tool::builder("echo").handler(async |Args(it): Args<Echo>, _: HandlerContext| it.text),
        )
        .resource(
            Resource::builder("a:1", "one")
                .handler(async |_: ReadRequest, _: HandlerContext| "first"),
        )
        .resource(
            Resource::builder("a:2", "two")
                .handler(async |_: ReadRequest, _: HandlerContext| "second"),
        )
        .resource(
            Resource::builder("a:3", "three")
                .handler(async |_: ReadRequest, _: HandlerContext| "third"),
        )
        .resource(Resource::builder("note:{id}", "note").handler(note))
        .prompt(
            Prompt::builder("greet")
                .handler(async |Args(it): Args<Greet>, _: HandlerContext| {
                    format!("Hello {}", it.name)
                })
                .complete("name", names),
        )
        .logging()
        .build()
        .unwrap()
}
