//! The legacy handshake, and what it leaves behind.

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_it::harness::{Bind, Case, Client, ClientOptions};
use turnbuckle_server::{HandlerContext, Prompt, Server, Structured, Tool};
use turnbuckle_session::transport::CloseReason;
use turnbuckle_types::{Audio, ContentBlock, Icon, LoggingLevel};
use turnbuckle_wire::revision::Revision;

use crate::servers::{echo, echo_builder};

fn initialize(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "tester", "version": "1.0.0"},
    })
}

fn fresh() -> ClientOptions {
    ClientOptions::new().without_handshake()
}

// requirement: 7f20780329e1
#[tokio::test(start_paused = true)]
async fn every_legacy_revision_shakes_hands() {
    for case in Case::legacy() {
        let mut client = Client::connect(case, &echo()).await;
        let call = json!({"name": "echo", "arguments": {"text": "hello"}});
        let answer = client.request("tools/call", call).await;
        assert_eq!(answer["result"]["content"][0]["text"], "hello", "{case}");
        if case.is_duplex() {
            client.close();
            assert!(
                matches!(client.closed().await, CloseReason::ByPeer),
                "{case}"
            );
        }
    }
}

// requirement: 307a89f1692f
#[tokio::test(start_paused = true)]
async fn a_supported_revision_is_echoed() {
    for case in Case::legacy() {
        let mut client = Client::connect_with(case, &echo(), fresh()).await;
        let version = case.revision.as_str();
        let answer = client.request("initialize", initialize(version)).await;
        assert_eq!(answer["result"]["protocolVersion"], version, "{case}");
    }
}

// requirement: 048c73d47a90 6674e82c9a58 8870fa90d726
#[tokio::test(start_paused = true)]
async fn an_unknown_revision_is_offered_the_latest() {
    let latest = Case::legacy().last().unwrap().revision;
    let modern = Revision::modern().map(Revision::as_str);
    for version in modern.chain(["", "2099-01-01", "1", "latest", "2025-06-18 "]) {
        for case in Case::with_revisions([latest]) {
            let mut client = Client::connect_with(case, &echo(), fresh()).await;
            let answer = client.request("initialize", initialize(version)).await;
            assert_eq!(
                answer["result"]["protocolVersion"],
                latest.as_str(),
                "{version:?}"
            );
            client.notify("notifications/initialized", json!({})).await;
            let answer = client.request("tools/list", json!({})).await;
            assert_eq!(answer["result"]["tools"][0]["name"], "echo", "{version:?}");
        }
    }
}

// requirement: 5dab91540e21
#[tokio::test(start_paused = true)]
async fn initialize_answers_capabilities_and_identity() {
    let server = Server::new("guide", "2.1.0")
        .title("The Guide")
        .description("Guides")
        .website("https://example.com")
        .icon(Icon::new("https://example.com/icon.png"))
        .instructions("Ask for the way.")
        .tool(Tool::builder("way").handler(async |(): (), _: HandlerContext| "left"))
        .logging()
        .build()
        .unwrap();
    for case in Case::legacy() {
        let client = Client::connect(case, &server).await;
        let result = client.handshake().unwrap();
        assert_eq!(result["protocolVersion"], case.revision.as_str());
        assert_eq!(
            result["capabilities"],
            json!({"tools": {"listChanged": true}, "logging": {}})
        );
        assert_eq!(result["instructions"], "Ask for the way.");
        let features = case.revision.features();
        let mut info = json!({"name": "guide", "version": "2.1.0"});
        if features.titles {
            info["title"] = "The Guide".into();
        }
        if features.icons {
            info["description"] = "Guides".into();
            info["websiteUrl"] = "https://example.com".into();
            info["icons"] = json!([{"src": "https://example.com/icon.png"}]);
        }
        assert_eq!(result["serverInfo"], info, "{case}");
    }
}

// requirement: 2ab245507c45
#[tokio::test(start_paused = true)]
async fn only_ping_precedes_initialize() {
    for case in Case::duplex(Case::legacy()) {
        let mut client = Client::connect_with(case, &echo(), fresh()).await;
        for method in [
            "tools/list",
            "tools/call",
            "resources/read",
            "logging/setLevel",
            "nobody/knows",
        ] {
            let answer = client.request(method, json!({"name": "echo"})).await;
            assert_eq!(
                answer["error"]["code"], -32600,
                "{case}: {method}: {answer}"
            );
        }
        assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
        let version = case.revision.as_str();
        let answer = client.request("initialize", initialize(version)).await;
        assert_eq!(answer["result"]["protocolVersion"], version, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_of_streamable_http_is_opened_once() {
    for case in Case::legacy() {
        if case.binding != Bind::Http {
            continue;
        }
        let mut client = Client::connect_with(case, &echo(), fresh()).await;
        // What is no handshake opens nothing, and another may be tried.
        for params in [
            json!({}),
            json!({"protocolVersion": 5}),
            json!({"capabilities": {}}),
        ] {
            let answer = client.request("initialize", params).await;
            assert_eq!(answer["error"]["code"], -32602, "{case}: {answer}");
        }
        let version = case.revision.as_str();
        let answer = client.request("initialize", initialize(version)).await;
        assert_eq!(answer["result"]["protocolVersion"], version);
        for version in [version, Revision::NEWEST_LEGACY.as_str()] {
            let answer = client.request("initialize", initialize(version)).await;
            assert_eq!(answer["error"]["code"], -32600, "{case}: {answer}");
        }
    }
}

// requirement: c6d7f6178b20
#[tokio::test(start_paused = true)]
async fn only_ping_and_logs_precede_initialized() {
    let server = echo_builder()
        .tool(
            Tool::builder("ask").handler(async |(): (), context: HandlerContext| {
                context.log(LoggingLevel::Error, None, "asking").await;
                let peer = context.peer().unwrap();
                peer.ping(Duration::from_secs(1)).await.unwrap();
                peer.request::<()>("roots/list", None).await.unwrap();
                "asked"
            }),
        )
        .logging()
        .build()
        .unwrap();
    for case in Case::legacy() {
        let options = ClientOptions::new()
            .capabilities(json!({"roots": {}}))
            .without_initialized();
        let mut client = Client::connect_with(case, &server, options).await;
        // Requests are served already.
        assert!(client.request("tools/list", json!({})).await["result"].is_object());
        let call = client.start("tools/call", json!({"name": "ask"})).await;
        client.next_of("notifications/message").await;
        let ping = client.next_of("ping").await;
        client.answer(&ping["id"], json!({})).await;
        server.notify_tools_changed();
        client.wait(Duration::from_secs(60)).await;
        client.expect_silence().await;

        client.notify("notifications/initialized", json!({})).await;
        client.next_of("notifications/tools/list_changed").await;
        let asked = client.next_of("roots/list").await;
        client.answer(&asked["id"], json!({"roots": []})).await;
        let answer = client.response(call).await;
        assert_eq!(answer["result"]["content"][0]["text"], "asked", "{case}");
    }
}

/// Creates a server that uses features of later revisions only.
fn rich() -> Server {
    let icon = || Icon::new("https://example.com/icon.png");
    let many = |(): (), _: HandlerContext| async {
        vec![
            Audio::wav([0; 3]).into(),
            ContentBlock::resource_link("test://linked", "linked"),
        ]
    };
    echo_builder()
        .tool(
            Tool::builder("many")
                .handler(many)
                .title("Many")
                .icon(icon()),
        )
        .tool(
            Tool::builder("typed").handler(async |(): (), _: HandlerContext| {
                Structured(std::collections::BTreeMap::from([("answer", 42)]))
            }),
        )
        .prompt(
            Prompt::builder("greet")
                .handler(async |(): (), _: HandlerContext| "hello".to_owned())
                .title("Greet")
                .icon(icon()),
        )
        .build()
        .unwrap()
}

// requirement: 86dfb9db8878 e38b2b6c6e6a
#[tokio::test(start_paused = true)]
async fn the_negotiated_revision_shapes_every_message() {
    for case in Case::all() {
        let features = case.revision.features();
        let mut client = Client::connect(case, &rich()).await;

        let tools = client.request("tools/list", json!({})).await;
        let tool = |name: &str| {
            let tools = tools["result"]["tools"].as_array().unwrap();
            tools.iter().find(|tool| tool["name"] == name).unwrap()
        };
        assert_eq!(
            tool("many").get("title").is_some(),
            features.titles,
            "{case}"
        );
        assert_eq!(
            tool("many").get("icons").is_some(),
            features.icons,
            "{case}"
        );
        let structured = features.structured_output;
        assert_eq!(
            tool("typed").get("outputSchema").is_some(),
            structured,
            "{case}"
        );

        let prompts = client.request("prompts/list", json!({})).await;
        let prompt = &prompts["result"]["prompts"][0];
        assert_eq!(prompt.get("title").is_some(), features.titles, "{case}");
        assert_eq!(prompt.get("icons").is_some(), features.icons, "{case}");

        let typed = client.request("tools/call", json!({"name": "typed"})).await;
        let typed = &typed["result"];
        assert_eq!(
            typed.get("structuredContent").is_some(),
            structured,
            "{case}"
        );
        assert_eq!(typed["content"][0]["text"], r#"{"answer":42}"#, "{case}");

        let many = client.request("tools/call", json!({"name": "many"})).await;
        let content = many["result"]["content"].as_array().unwrap();
        let has = |kind: &str| content.iter().any(|block| block["type"] == kind);
        assert_eq!(content.len(), 2, "nothing is lost: {many}");
        assert_eq!(has("audio"), features.audio, "{case}");
        assert_eq!(has("resource_link"), features.resource_links, "{case}");
    }
}
