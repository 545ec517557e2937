//! A server with every feature that a proxy passes on.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use turnbuckle_server::{
    Args, Ask, Cancellation, Failure, HandlerContext, Progress, Prompt, ReadRequest, Resource,
    Result, Server, TaskSupport, Tasks, Tool,
};
use turnbuckle_types::{
    self as types, CacheScope, CallToolResult, CompleteResult, Completion, ContentBlock, Json,
    LoggingLevel, Meta, Number, ProtocolError, ResourceLink,
};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

/// A schema with keywords that no schema of a Rust type has.
const SCHEMA: &str = r##"{"type":"object","$defs":{"id":{"$anchor":"id","type":"string"}},"properties":{"id":{"$ref":"#id"}},"x-unknown":1}"##;

fn definition() -> Arc<types::Tool> {
    let mut definition = types::Tool::new("odd", SCHEMA.parse::<types::Schema>().unwrap());
    definition.description = Some("A tool with an unusual definition".to_owned());
    definition
        .extra
        .insert("x-member", Json::encode(&json!({"a": [1, 2]})).unwrap());
    let ui = json!({"resourceUri": "ui://page", "visibility": ["model"]});
    definition.meta.set("ui", &ui).unwrap();
    Arc::new(definition)
}

fn structured() -> CallToolResult {
    let mut meta = Meta::new();
    meta.set("com.example/trace", &json!({"id": 7})).unwrap();
    let mut result = CallToolResult::new()
        .content([
            ContentBlock::text("text"),
            ContentBlock::ResourceLink(Box::new(ResourceLink::new("notes://linked", "linked"))),
        ])
        .structured_content(Json::encode(&json!({"b": 1, "a": [null, 1.50]})).unwrap());
    result.meta = meta;
    result
        .extra
        .insert("x-result", Json::encode(&json!(["unknown"])).unwrap());
    result
}

async fn greet(ask: Ask) -> Result<String> {
    let other: Name = ask.form("Who?").await?;
    let said = ask.sample("Say hello").await?;
    let said = said.content.iter().find_map(|block| block.as_text());
    Ok(format!("{} {}", said.unwrap_or_default(), other.name))
}

fn tools() -> Vec<Tool> {
    vec![
        Tool::builder("echo").handler(|Args(Name { name }): Args<Name>| name),
        Tool::builder("odd")
            .foreign_definition(definition())
            .handler(|| "odd"),
        Tool::builder("structured").handler(structured),
        Tool::builder("fail").handler(|| Err::<String, _>(Failure::new("no"))),
        Tool::builder("refuse").handler(|| {
            let error = ProtocolError::new(types::ErrorKind::Forwarded(-32050), "not now");
            Err::<String, Failure>(error.with_data(&json!({"why": "because"})).into())
        }),
        Tool::builder("work").handler(async |progress: Progress| {
            progress.report(1).await;
            progress.report_with_message(2, 3, "half").await;
            "done"
        }),
        Tool::builder("wait").handler(async |cancellation: Cancellation| {
            cancellation.cancelled().await;
        }),
        Tool::builder("log").handler(async |context: HandlerContext| {
            context.log(LoggingLevel::Info, Some("part"), "hello").await;
            context
                .log(LoggingLevel::Error, None, &json!({"n": 1}))
                .await;
            "logged"
        }),
        Tool::builder("meta").handler(|context: HandlerContext| {
            let meta = context.meta().unwrap_or_default();
            meta.get_raw("com.example/id")
                .map_or("none".to_owned(), Json::to_string)
        }),
        Tool::builder("greet").handler(greet),
        Tool::builder("roots").handler(async |ask: Ask| -> Result<String> {
            let roots = ask.roots().await?;
            Ok(roots.iter().map(|root| root.uri.to_string()).collect())
        }),
        Tool::builder("task")
            .task(TaskSupport::optional().after(Duration::MAX))
            .handler(async || "finished"),
    ]
}

/// Returns the server.
pub(super) fn origin() -> Server {
    let read = |read: ReadRequest| read.uri;
    let ask = Prompt::builder("ask")
        .complete("name", async || {
            let mut completion = Completion::new(["Ada".to_owned()]);
            completion.total = Some(Number::from(999_u64));
            completion.has_more = Some(true);
            Ok::<_, Failure>(CompleteResult::new(completion))
        })
        .handler(|Args(Name { name }): Args<Name>| format!("Ask {name}"));
    Server::new("origin", "1")
        .logging()
        .instructions("Be kind.")
        .extension(Tasks::new())
        .tools(tools())
        .prompt(ask)
        .resource(
            Resource::builder("notes://one", "one")
                .size(3)
                .cache(Duration::from_secs(5), CacheScope::Public)
                .handler(read),
        )
        .resource(Resource::builder("notes://{id}", "note").handler(read))
        .build()
        .unwrap()
}
