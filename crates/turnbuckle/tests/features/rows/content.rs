//! Content blocks other than text.

use serde_json::json;

use super::{content, result, text};
use crate::cells::each;

#[test]
fn a_tool_returns_a_picture() {
    each(|at| async move {
        let image = json!([{"type": "image", "data": "cGl4ZWxz", "mimeType": "image/png"}]);
        assert_eq!(content(&at, "picture").await, image);
    });
}

#[test]
fn a_tool_returns_a_sound() {
    each(|at| async move {
        let sound = content(&at, "sound").await;
        assert_eq!(sound[0]["type"], at.reader.sound);
        let holder = sound[0].get("resource").unwrap_or(&sound[0]);
        assert_eq!(holder["mimeType"], "audio/wav");
        let data = holder.get("blob").unwrap_or(&holder["data"]);
        assert_eq!(data, "d2F2ZXM=");
    });
}

#[test]
fn a_tool_returns_a_link_to_a_resource() {
    each(|at| async move {
        let link = content(&at, "link").await;
        assert_eq!(link[0]["type"], at.reader.link);
        assert!(link.to_string().contains("notes://readme"), "{link}");
    });
}

#[test]
fn a_tool_returns_several_blocks() {
    each(|at| async move {
        let blocks = content(&at, "several").await;
        assert_eq!(blocks[0]["text"], "one");
        assert_eq!(blocks[1]["mimeType"], "image/jpeg");
        assert_eq!(blocks[2]["text"], "three");
    });
}

#[test]
fn a_tool_returns_a_full_result() {
    each(|at| async move {
        let result = result(&at, "full", json!({})).await;
        assert_eq!(result.is_error, Some(true));
        assert_eq!(text(&result), "out of order");
        assert_eq!(result.meta.get::<u8>("example.com/code"), Some(7));
    });
}
