//! Content: Base64 with a type, resources with their contents.

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{HandlerContext, Prompt, Resource, Server, Tool};
use turnbuckle_types::{
    Audio, BlobResourceContents, ContentBlock, Image, PromptMessage, ResourceContents, Role,
    TextResourceContents,
};

use crate::servers::echo_builder;

/// Every byte, and its Base64.
const BYTES: [u8; 5] = [0, 0xff, 0x10, 0x80, 0x7f];
const BASE64: &str = "AP8QgH8=";

fn blocks() -> Vec<ContentBlock> {
    let mut text = TextResourceContents::new("test://text", "some text");
    text.mime_type = Some("text/plain".into());
    let mut blob = BlobResourceContents::new("test://blob", BASE64);
    blob.mime_type = Some("application/octet-stream".into());
    vec![
        Image::png(BYTES).into(),
        Audio::wav(BYTES).into(),
        ContentBlock::resource(ResourceContents::Text(text)),
        ContentBlock::resource(ResourceContents::Blob(blob)),
    ]
}

fn server() -> Server {
    let messages = |(): (), _: HandlerContext| async {
        let message = |block| PromptMessage::new(Role::User, block);
        blocks().into_iter().map(message).collect::<Vec<_>>()
    };
    echo_builder()
        .tool(Tool::builder("show").handler(async |(): (), _: HandlerContext| blocks()))
        .prompt(Prompt::builder("show").handler(messages))
        .resource(
            Resource::builder("test://bytes", "bytes")
                .handler(async |_: HandlerContext| BYTES.to_vec())
                .mime_type("application/octet-stream"),
        )
        .build()
        .unwrap()
}

/// Returns equal content from a tool and from a prompt.
async fn content_shown(case: Case) -> Vec<Vec<Value>> {
    let mut client = Client::connect(case, &server()).await;
    let show = json!({"name": "show"});
    let called = client.request("tools/call", show.clone()).await;
    let called = called["result"]["content"].as_array().unwrap().clone();
    let got = client.request("prompts/get", show).await;
    let messages = got["result"]["messages"].as_array().unwrap();
    let got = messages.iter().map(|message| message["content"].clone());
    vec![called, got.collect()]
}

// requirement: 23ff5de39d7c 50110d42ea08 6c8704f19cfc
#[tokio::test(start_paused = true)]
async fn image_and_audio_are_base64_with_a_type() {
    for case in Case::all() {
        for content in content_shown(case).await {
            let image = json!({"type": "image", "data": BASE64, "mimeType": "image/png"});
            assert_eq!(content[0], image, "{case}");
            let audio = &content[1];
            if case.revision.features().audio {
                let whole = json!({"type": "audio", "data": BASE64, "mimeType": "audio/wav"});
                assert_eq!(audio, &whole, "{case}");
            } else {
                assert_eq!(audio["type"], "resource", "{case}: {audio}");
                assert_eq!(audio["resource"]["blob"], BASE64, "{case}: {audio}");
                assert_eq!(
                    audio["resource"]["mimeType"], "audio/wav",
                    "{case}: {audio}"
                );
            }
        }
        let mut client = Client::connect(case, &server()).await;
        let uri = json!({"uri": "test://bytes"});
        let read = client.request("resources/read", uri).await;
        let contents = &read["result"]["contents"][0];
        assert_eq!(contents["blob"], BASE64, "{case}: {read}");
        assert_eq!(contents["mimeType"], "application/octet-stream", "{case}");
    }
}

// requirement: 757c8a9550dd 9fa38b2fea1c ee3e7ee5efaa
#[tokio::test(start_paused = true)]
async fn an_embedded_resource_has_uri_type_and_data() {
    for case in Case::all() {
        for content in content_shown(case).await {
            let text = json!({"uri": "test://text", "mimeType": "text/plain", "text": "some text"});
            assert_eq!(content[2]["resource"], text, "{case}");
            let blob = json!({
                "uri": "test://blob",
                "mimeType": "application/octet-stream",
                "blob": BASE64,
            });
            assert_eq!(content[3]["resource"], blob, "{case}");
        }
    }
}
