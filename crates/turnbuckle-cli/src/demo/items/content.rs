//! Tools without arguments: one for each kind of content in a result.

use turnbuckle::prelude::*;
use turnbuckle::types::{ContentBlock, TextResourceContents};

/// A PNG of one red pixel.
pub(super) const PIXEL: &[u8] = include_bytes!("media/pixel.png");

/// A WAV of one millisecond of silence.
const SILENCE: &[u8] = include_bytes!("media/silence.wav");

pub(super) struct Content;

#[server]
impl Content {
    /// Returns one line of text
    #[tool(title = "Simple text")]
    fn test_simple_text() -> &'static str {
        "This is a simple text response for testing."
    }

    /// Returns a picture: one red pixel
    #[tool(title = "Image")]
    fn test_image_content() -> Image {
        Image::png(PIXEL)
    }

    // Clients whose revision lacks audio get a resource of that media type instead.
    /// Returns sound: a millisecond of silence
    #[tool(title = "Audio")]
    fn test_audio_content() -> Audio {
        Audio::wav(SILENCE)
    }

    /// Returns a resource with its contents
    #[tool(title = "Embedded resource")]
    fn test_embedded_resource() -> ContentBlock {
        let text = "This is an embedded resource content.";
        let contents = TextResourceContents::new("test://embedded-resource", text);
        ContentBlock::resource(contents.mime_type("text/plain"))
    }

    /// Returns text, a picture and a resource in one result
    #[tool(title = "Several kinds of content")]
    fn test_multiple_content_types() -> Vec<ContentBlock> {
        let json = r#"{"test":"data","value":123}"#;
        let contents = TextResourceContents::new("test://mixed-content-resource", json);
        vec![
            ContentBlock::text("Multiple content types test:"),
            Image::png(PIXEL).into(),
            ContentBlock::resource(contents.mime_type("application/json")),
        ]
    }
}
