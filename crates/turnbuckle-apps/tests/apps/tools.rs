//! Tools that are shown in a page.

use serde_json::{Value, json};
use turnbuckle_apps::{Page, ToolUi, extension, is_supported};
use turnbuckle_server::{Args, HandlerContext, IntoItem, Server, Tool};
use turnbuckle_types::Meta;

use crate::host::{
    Host, MODERN, NEWEST_LEGACY, REVISIONS, extension_capabilities, page_capabilities,
};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Forecast {
    city: String,
}

fn weather(Args(forecast): Args<Forecast>, context: HandlerContext) -> String {
    match is_supported(&context) {
        true => format!("The page shows the weather of {}.", forecast.city),
        false => format!("It rains in {}.", forecast.city),
    }
}

/// Something that becomes a tool, as a function with an attribute does.
struct Press;

impl IntoItem<Tool> for Press {
    fn into_item(self) -> Tool {
        Tool::builder("press").handler(|| "pressed")
    }
}

fn server() -> Server {
    let view = Page::builder("ui://weather/view.html", "weather")
        .html("<!doctype html><title>Weather</title>")
        .unwrap();
    let mut meta = Meta::new();
    meta.set("com.example/kind", "weather").unwrap();
    Server::new("weather", "1")
        .tool(
            Tool::builder("weather")
                .meta(meta)
                .handler(weather)
                .ui(&view),
        )
        .tool(
            Tool::builder("refresh")
                .handler(|| "refreshed")
                .app_only()
                .ui(&view),
        )
        .tool(Press.app_only())
        .tool(
            Tool::builder("think")
                .handler(|| "thought")
                .ui(&view)
                .model_only(),
        )
        .tool(Tool::builder("plain").handler(|| "plain"))
        .resource(view)
        .extension(extension())
        .build()
        .unwrap()
}

#[tokio::test]
async fn the_extension_is_declared_in_revisions_with_extensions() {
    let server = server();
    for revision in REVISIONS {
        for capabilities in [json!({}), page_capabilities()] {
            let (_, declared) = Host::connect(&server, revision, capabilities).await;
            let expected = (revision == MODERN).then(|| json!({"io.modelcontextprotocol/ui": {}}));
            assert_eq!(declared.get("extensions"), expected.as_ref(), "{revision}");
        }
    }
}

#[tokio::test]
async fn a_tool_names_its_page_in_revisions_with_metadata() {
    let server = server();
    let view = "ui://weather/view.html";
    for revision in REVISIONS {
        for capabilities in [json!({}), page_capabilities()] {
            let (mut host, _) = Host::connect(&server, revision, capabilities).await;
            for (name, meta) in [
                (
                    "weather",
                    json!({"com.example/kind": "weather", "ui": {"resourceUri": view}}),
                ),
                (
                    "refresh",
                    json!({"ui": {"resourceUri": view, "visibility": ["app"]}}),
                ),
                ("press", json!({"ui": {"visibility": ["app"]}})),
                (
                    "think",
                    json!({"ui": {"resourceUri": view, "visibility": ["model"]}}),
                ),
            ] {
                let expected = (revision >= "2025-06-18").then_some(&meta);
                let tool = host.tool(name).await;
                assert_eq!(tool.get("_meta"), expected, "{name} in {revision}");
            }
            assert_eq!(host.tool("plain").await.get("_meta"), None, "{revision}");
        }
    }
}

async fn call_weather(revision: &'static str, capabilities: Value) -> String {
    let (mut host, _) = Host::connect(&server(), revision, capabilities).await;
    host.call("weather", json!({"city": "Bergen"})).await
}

#[tokio::test]
async fn a_tool_returns_text_to_clients_without_pages() {
    let shown = "The page shows the weather of Bergen.";
    assert_eq!(call_weather(MODERN, page_capabilities()).await, shown);
    for capabilities in [
        json!({}),
        extension_capabilities(json!({})),
        extension_capabilities(json!({"mimeTypes": ["text/html"]})),
        extension_capabilities(json!({"mimeTypes": 7})),
    ] {
        let text = call_weather(MODERN, capabilities.clone()).await;
        assert_eq!(text, "It rains in Bergen.", "{capabilities}");
    }
}

#[tokio::test]
async fn a_client_of_any_revision_may_declare_the_extension() {
    for revision in REVISIONS {
        let text = call_weather(revision, page_capabilities()).await;
        assert_eq!(text, "The page shows the weather of Bergen.", "{revision}");
        let text = call_weather(revision, json!({})).await;
        assert_eq!(text, "It rains in Bergen.", "{revision}");
    }
}

#[tokio::test]
async fn a_tool_for_pages_answers_any_caller() {
    for revision in [MODERN, NEWEST_LEGACY] {
        let (mut host, _) = Host::connect(&server(), revision, page_capabilities()).await;
        assert_eq!(host.call("refresh", json!({})).await, "refreshed");
    }
}
