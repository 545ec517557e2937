//! The state that all clones of one client share.

use std::sync::Arc;

use turnbuckle_session::{ClientLimits, Timeouts};
use turnbuckle_types::LoggingLevel;

use crate::cache::results::ResultCache;
use crate::cache::tools::ToolDefinitions;
use crate::connection::reconnector::Reconnector;
use crate::incoming::router::IncomingRouter;
use crate::subscription::registry::SubscriptionRegistry;

/// The state of one client, shared by its clones, requests and subscriptions. The connection ends
/// when the last of them is dropped.
pub(crate) struct ClientInner {
    pub(crate) reconnector: Arc<Reconnector>,
    pub(crate) router: Arc<IncomingRouter>,
    pub(crate) address: String,
    pub(crate) tools: Arc<ToolDefinitions>,
    pub(crate) cache: Arc<ResultCache>,
    pub(crate) subscriptions: Arc<SubscriptionRegistry>,
    pub(crate) timeouts: Timeouts,
    pub(crate) log_level: Option<LoggingLevel>,
    pub(crate) max_input_rounds: usize,
    pub(crate) limits: ClientLimits,
    /// True if `readOnlyHint` and `idempotentHint` decide whether a lost call is sent again.
    pub(crate) trust_tool_hints: bool,
}

impl Drop for ClientInner {
    fn drop(&mut self) {
        self.reconnector.abort();
    }
}
