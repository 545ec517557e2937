//! Tools without arguments: one for each kind of content that a result can have.

use turnbuckle::types::{ContentBlock, TextResourceContents};
use turnbuckle::{Context, Tool, tool};

use super::media::{PIXEL_PNG, SILENCE_WAV};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool("test_simple_text", simple_text)
            .title("Simple text")
            .description("Returns one line of text"),
        tool("test_image_content", image)
            .title("Image")
            .description("Returns a picture: one red pixel"),
        tool("test_audio_content", audio)
            .title("Audio")
            .description("Returns sound: a millisecond of silence"),
        tool("test_embedded_resource", embedded_resource)
            .title("Embedded resource")
            .description("Returns a resource with its contents"),
        tool("test_multiple_content_types", several)
            .title("Several kinds of content")
            .description("Returns text, a picture and a resource in one result"),
    ]
}

/// Text is all that most tools need.
async fn simple_text((): (), _: Context) -> &'static str {
    "This is a simple text response for testing."
}

async fn image((): (), _: Context) -> ContentBlock {
    ContentBlock::image(PIXEL_PNG, "image/png")
}

/// Clients from before there was audio get a resource of that media type instead.
async fn audio((): (), _: Context) -> ContentBlock {
    ContentBlock::audio(SILENCE_WAV, "audio/wav")
}

async fn embedded_resource((): (), _: Context) -> ContentBlock {
    let text = "This is an embedded resource content.";
    let contents = TextResourceContents::new("test://embedded-resource", text);
    ContentBlock::resource(contents.mime_type("text/plain"))
}

async fn several((): (), _: Context) -> Vec<ContentBlock> {
    let json = r#"{"test":"data","value":123}"#;
    let contents = TextResourceContents::new("test://mixed-content-resource", json);
    vec![
        ContentBlock::text("Multiple content types test:"),
        ContentBlock::image(PIXEL_PNG, "image/png"),
        ContentBlock::resource(contents.mime_type("application/json")),
    ]
}
