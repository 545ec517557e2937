//! The user's consent to calls of tools.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use turnbuckle::servers::ServerItem;
use turnbuckle::types::Tool;

use crate::console::Console;

/// The most characters of arguments that are shown.
const MAX_SHOWN_CHARS: usize = 2_000;

/// The tools that the user has allowed for the rest of the chat.
#[derive(Default)]
pub(crate) struct Consent(HashMap<String, Arc<Tool>>);

impl Consent {
    /// Asks whether a call may be made. A tool that was allowed for the rest of the chat is not asked
    /// about again, unless its definition has changed.
    pub(crate) async fn ask(
        &mut self,
        console: &Console,
        tool: &ServerItem<Tool>,
        arguments: &Value,
    ) -> bool {
        let name = &tool.item.name;
        if self
            .0
            .get(name)
            .is_some_and(|allowed| *allowed == tool.item)
        {
            return true;
        }
        let mut shown: String = arguments.to_string();
        if let Some((end, _)) = shown.char_indices().nth(MAX_SHOWN_CHARS) {
            shown.truncate(end);
            shown.push('…');
        }
        console.print(format!(
            "-- the model calls {} of {}: {shown}",
            tool.own_name, tool.server
        ));
        let answer = console.read("   allow? [yes/always/no] ").await;
        match answer.as_deref().map(str::trim) {
            Some("y" | "yes") => true,
            Some("a" | "always") => {
                self.0.insert(name.clone(), tool.item.clone());
                true
            }
            _ => false,
        }
    }
}
