//! Conversations that a script has while a request waits for its answer.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::outlet::Outlet;
use super::session::Session;

/// A script that runs before a request is answered.
pub(super) type BeforeAnswer =
    dyn Fn(&str, Interlude) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync;

/// A sender of messages to the client of a request that is not answered yet.
#[derive(Clone)]
pub struct Interlude {
    session: Arc<Session>,
    outlet: Outlet,
}

impl Interlude {
    pub(super) fn new(session: Arc<Session>, outlet: Outlet) -> Self {
        Self { session, outlet }
    }

    /// Sends a request to the client, and returns its response; `None` if there is none in that time.
    pub async fn ask(&self, method: &str, params: &Value, limit: Duration) -> Option<Value> {
        let answer = self.session.ask(&self.outlet, method, params);
        tokio::time::timeout(limit, answer).await.ok()?.ok()
    }

    /// Sends a notification to the client.
    pub fn notify(&self, method: &str, params: Value) {
        self.outlet.notify(method, params);
    }

    /// Cuts the connection that carries the response. A client of a legacy session over HTTP can resume
    /// the stream.
    pub fn cut(&self) {
        self.outlet.cut();
    }
}
