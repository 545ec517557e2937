//! What a tool says of the page that shows it.
//!
//! Specification: MCP Apps, "Resource Discovery" (2026-01-26).

use serde::{Deserialize, Serialize};
use turnbuckle_server::{IntoItem, Tool};
use turnbuckle_types::Json;

use crate::page::{META, Page};

/// Says of a tool in which page its results are shown, and who may call it.
///
/// Clients that do not know the extension see a tool like any other, whatever is said here.
pub trait Ui: IntoItem<Tool> + Sized {
    /// Shows its results in a page, which the server has to offer as a resource too.
    fn ui(self, page: &Page) -> Tool {
        marked(self.into_item(), |ui| {
            ui.resource_uri = Some(page.uri().to_owned());
        })
    }

    /// Only pages of this server may call it: for what a button does. A client that knows the
    /// extension hides it from the model.
    fn ui_only(self) -> Tool {
        marked(self.into_item(), |ui| {
            ui.visibility = Some(vec![Caller::App]);
        })
    }

    /// Only the model may call it: no page is let to.
    fn model_only(self) -> Tool {
        marked(self.into_item(), |ui| {
            ui.visibility = Some(vec![Caller::Model]);
        })
    }
}

impl<T: IntoItem<Tool>> Ui for T {}

/// What a tool says.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Marks {
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_uri: Option<String>,
    /// Both may, if it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    visibility: Option<Vec<Caller>>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Caller {
    Model,
    App,
}

fn marked(mut tool: Tool, mark: impl FnOnce(&mut Marks)) -> Tool {
    let meta = tool.meta_mut();
    let mut marks: Marks = meta.get(META).unwrap_or_default();
    mark(&mut marks);
    // Strings always serialise.
    if let Ok(marks) = Json::of(&marks) {
        meta.insert_unchecked(META, marks);
    }
    tool
}
