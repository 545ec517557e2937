//! The page of a tool.
//!
//! Specification: MCP Apps, "Resource Discovery" (2026-01-26).

use serde::{Deserialize, Serialize};
use turnbuckle_server::{IntoItem, Tool};
use turnbuckle_types::Json;

use crate::page::{META_KEY, Page};

/// Methods of tools for MCP Apps: the page that shows the results, and who may call the tool.
///
/// Clients without the extension ignore both.
pub trait ToolUi: IntoItem<Tool> + Sized {
    /// Shows the results in a page. The server must also offer the page as a resource.
    fn ui(self, page: &Page) -> Tool {
        with_ui_meta(self.into_item(), |ui| {
            ui.resource_uri = Some(page.uri().to_owned());
        })
    }

    /// Allows only pages of this server to call the tool, for example for a button. Clients with
    /// the extension hide it from the model.
    fn app_only(self) -> Tool {
        with_ui_meta(self.into_item(), |ui| {
            ui.visibility = Some(vec![ToolVisibility::App]);
        })
    }

    /// Allows only the model to call the tool, not pages.
    fn model_only(self) -> Tool {
        with_ui_meta(self.into_item(), |ui| {
            ui.visibility = Some(vec![ToolVisibility::Model]);
        })
    }
}

impl<T: IntoItem<Tool>> ToolUi for T {}

/// The member `ui` of a tool's `_meta`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolUiMeta {
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_uri: Option<String>,
    /// The allowed callers. Both by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    visibility: Option<Vec<ToolVisibility>>,
}

/// A caller of a tool.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ToolVisibility {
    Model,
    App,
}

fn with_ui_meta(mut tool: Tool, change: impl FnOnce(&mut ToolUiMeta)) -> Tool {
    let meta = tool.meta_mut();
    let mut ui: ToolUiMeta = meta.get(META_KEY).unwrap_or_default();
    change(&mut ui);
    // Strings always serialise.
    if let Ok(ui) = Json::encode(&ui) {
        meta.insert_unchecked(META_KEY, ui);
    }
    tool
}
