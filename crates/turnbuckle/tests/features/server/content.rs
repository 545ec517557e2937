//! Content of every kind.

use turnbuckle::prelude::*;
use turnbuckle::types::{CallToolResult, ContentBlock, ResourceLink};

pub(super) fn group() -> Group {
    Group::new().tools(tools![picture, sound, link, several, full])
}

#[tool]
fn picture() -> Image {
    Image::png(*b"pixels")
}

#[tool]
fn sound() -> Audio {
    Audio::wav(*b"waves")
}

#[tool]
fn link() -> ResourceLink {
    ResourceLink::new("notes://readme", "readme")
}

#[tool]
fn several() -> Vec<ContentBlock> {
    vec!["one".into(), Image::jpeg(*b"two").into(), "three".into()]
}

#[tool]
fn full() -> CallToolResult {
    let mut result = CallToolResult::error("out of order");
    result.meta.set("example.com/code", &7).unwrap();
    result
}
