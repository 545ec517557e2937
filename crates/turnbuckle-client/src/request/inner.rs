//! The state that all clones of one client share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use turnbuckle_session::transport::{ClientLimits, Timeouts, UserWaits};
use turnbuckle_types::LoggingLevel;

use crate::cache::ResultCache;
use crate::incoming::registry::SubscriptionRegistry;
use crate::incoming::router::IncomingRouter;
use crate::request::reconnector::Reconnector;
use crate::request::service::LayerService;
use crate::tools::ToolDefinitions;

/// The state of one client, shared by its clones, requests and subscriptions. The connection ends
/// when the last of them is dropped.
pub(crate) struct ClientInner {
    /// The connection, which is replaced when it is lost.
    pub(crate) reconnector: Arc<Reconnector>,
    /// The receiver of the requests and notifications that the server sends.
    pub(crate) router: Arc<IncomingRouter>,
    /// The server's address (a URL or a command), for errors and logs.
    pub(crate) address: String,
    /// The definitions from `tools/list` that calls need: mirrored arguments, annotations and
    /// output schemas.
    pub(crate) tools: Arc<ToolDefinitions>,
    /// The results that may be used again (`ttlMs`).
    pub(crate) cache: Arc<ResultCache>,
    /// The open subscriptions.
    pub(crate) subscriptions: Arc<SubscriptionRegistry>,
    /// The layers around requests, from the outermost.
    pub(crate) layers: Vec<Arc<dyn LayerService>>,
    /// The default timeouts of requests.
    pub(crate) timeouts: Timeouts,
    /// The times in which requests wait for their user, which timeouts do not count.
    pub(crate) user_waits: UserWaits,
    /// The number of waits for the user after which private results were removed.
    pub(crate) seen_user_waits: AtomicU64,
    /// The least level of log messages that the server is asked to send.
    pub(crate) log_level: Option<LoggingLevel>,
    /// The most times that one request is sent again with answers to the server's questions.
    pub(crate) max_input_rounds: usize,
    /// The limits of the client's sessions.
    pub(crate) limits: ClientLimits,
    /// True if `readOnlyHint` and `idempotentHint` decide whether a lost call is sent again.
    pub(crate) trust_tool_hints: bool,
}

impl ClientInner {
    /// Removes private results if a request has waited for the user, who may have logged in as
    /// somebody else.
    pub(crate) fn forget_results_of_former_user(&self) {
        let count = self.user_waits.ended_count();
        if self.seen_user_waits.swap(count, Ordering::Relaxed) != count {
            self.cache.clear_private();
        }
    }
}

impl Drop for ClientInner {
    fn drop(&mut self) {
        self.reconnector.abort();
    }
}
