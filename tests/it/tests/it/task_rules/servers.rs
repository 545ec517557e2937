//! The server whose tools become tasks.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use turnbuckle_server::{
    Args, Ask, Failure, HandlerContext, Log, Progress, Result, Server, ServerBuilder, TaskSupport,
    Tasks, Tool,
};
use turnbuckle_types::{LoggingLevel, ProtocolError};

use crate::servers::Seconds;

/// A form.
#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// Builds the server.
pub(super) fn server() -> Server {
    builder(Tasks::new().list(true)).build().unwrap()
}

/// Returns the builder of a server with these tasks.
pub(super) fn builder(tasks: Tasks) -> ServerBuilder {
    let task = || TaskSupport::optional();
    let tool = |name: &'static str| Tool::builder(name);
    Server::new("studio", "1.0.0")
        .logging()
        .extension(tasks)
        .tool(tool("plain").handler(|| "done"))
        .tool(tool("nap").task(task()).handler(nap))
        .tool(
            tool("only")
                .task(TaskSupport::required())
                .handler(async || "done"),
        )
        .tool(
            tool("fail")
                .task(task())
                .handler(async || -> Result<()> { Err("there is no paint".into()) }),
        )
        .tool(tool("broken").task(task()).handler(async || -> Result<()> {
            Err(ProtocolError::invalid_params("there is no such scene").into())
        }))
        .tool(
            tool("panics")
                .task(task())
                .handler(async || -> Result<()> { panic!("the brush is broken") }),
        )
        .tool(tool("ask").task(task()).handler(ask))
        .tool(tool("both").task(task()).handler(both))
        .tool(tool("again").task(task()).handler(again))
        .tool(tool("paint").task(task()).handler(paint))
        .tool(
            tool("later")
                .task(task().after(Duration::from_secs(5)))
                .handler(nap),
        )
        .tool(
            tool("choose")
                .task(TaskSupport::required().after(Duration::from_secs(5)))
                .handler(choose),
        )
}

async fn nap(Args(nap): Args<Seconds>, _: HandlerContext) -> &'static str {
    tokio::time::sleep(Duration::from_secs(nap.seconds)).await;
    "slept"
}

async fn ask(ask: Ask) -> Result<String> {
    let Name { name } = ask.form("Who are you?").key("who").await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    Ok(format!("Hello, {name}!"))
}

async fn both(ask: Ask) -> Result<String> {
    let (first, second) = tokio::join!(
        ask.form("The first?").key("first"),
        ask.form("The second?").key("second"),
    );
    let (first, second): (Name, Name) = (first?, second?);
    Ok(format!("{} and {}", first.name, second.name))
}

/// Asks the same three times, one after another.
async fn again(ask: Ask) -> Result<String> {
    let mut names = Vec::new();
    for _ in 0..3 {
        let Name { name } = ask.form("Another name?").await?;
        names.push(name);
    }
    Ok(names.join(", "))
}

/// Reports how far it is, and logs.
async fn paint(progress: Progress, log: Log) -> &'static str {
    for frame in 1..=3 {
        let message = format!("frame {frame} is done");
        progress.report_with_message(frame, 3, message).await;
        log.send(LoggingLevel::Error, "a frame is done").await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    "painted"
}

async fn choose(ask: Ask) -> Result<String, Failure> {
    let Name { name } = ask.form("Who are you?").key("who").await?;
    tokio::time::sleep(Duration::from_secs(60)).await;
    Ok(format!("Hello, {name}!"))
}
