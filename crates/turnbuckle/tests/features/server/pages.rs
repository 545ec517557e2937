//! A tool with an app page.

use turnbuckle::apps::{Page, ToolUi, is_supported};
use turnbuckle::prelude::*;

/// The URI of the page.
pub(crate) const PAGE: &str = "ui://weather/view.html";

pub(super) fn group() -> Group {
    let page = Page::builder(PAGE, "weather").html("<!doctype html><p id=now></p>");
    let page = page.unwrap();
    Group::new().tool(item!(weather).ui(&page)).resource(page)
}

#[tool]
fn weather(context: HandlerContext) -> &'static str {
    match is_supported(&context) {
        true => "rain, as shown",
        false => "It rains.",
    }
}
