//! One request of a client that is being handled.

use std::sync::Arc;

use serde_json::{Value, json};
use turnbuckle_types::LoggingLevel;
use turnbuckle_wire::revision::{EraKind, Features, Revision};

use super::outlet::Outlet;
use super::server::Sound;
use super::session::Session;

/// An admitted request.
pub(super) struct Call {
    pub(super) method: String,
    pub(super) params: Value,
    pub(super) id: Value,
    pub(super) revision: Revision,
    /// Capabilities of the client.
    pub(super) capabilities: Value,
    pub(super) session: Arc<Session>,
    pub(super) outlet: Outlet,
    pub(super) sound: Sound,
}

impl Call {
    pub(super) fn features(&self) -> &'static Features {
        self.revision.features()
    }

    pub(super) fn is_modern(&self) -> bool {
        self.features().era == EraKind::Modern
    }

    /// Sends a log message, if the client wants it.
    pub(super) fn log(&self, level: &str, text: &str) {
        let rank = |level: &str| {
            LoggingLevel::ALL
                .iter()
                .position(|known| known.as_str() == level)
        };
        let least = match self.is_modern() {
            false => Some(self.session.level()),
            true => {
                let wanted = &self.params["_meta"]["io.modelcontextprotocol/logLevel"];
                wanted.as_str().and_then(rank)
            }
        };
        if least.is_some_and(|least| rank(level) >= Some(least)) {
            let params = json!({"level": level, "logger": "sound", "data": text});
            self.outlet.notify("notifications/message", params);
        }
    }

    /// Reports progress, if the client wants it.
    pub(super) fn progress(&self, progress: u32, total: u32) {
        let Some(token) = self.params["_meta"].get("progressToken") else {
            return;
        };
        let mut params = json!({"progressToken": token, "progress": progress, "total": total});
        if self.features().progress_message {
            params["message"] = "working".into();
        }
        self.outlet.notify("notifications/progress", params);
    }
}
