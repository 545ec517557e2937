//! Changes of the server, and who is told of them.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::outlet::Outlet;
use super::session::Session;

/// Key of `_meta` that names a subscription.
pub(super) const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A change on the server.
pub(super) enum Change {
    Tools,
    Prompts,
    Resource(String),
}

/// A receiver of notifications about changes.
pub(super) enum Listener {
    /// A legacy session.
    Session(Arc<Session>),
    /// A subscription of the modern era.
    Subscription {
        id: Value,
        filter: Map<String, Value>,
        outlet: Outlet,
    },
}

impl Change {
    fn method(&self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resource(_) => "notifications/resources/updated",
        }
    }

    fn params(&self) -> Value {
        match self {
            Self::Resource(uri) => json!({"uri": uri}),
            _ => json!({}),
        }
    }

    /// Returns whether a filter asks for the change.
    fn is_in(&self, filter: &Map<String, Value>) -> bool {
        let is_true = |name: &str| filter.get(name) == Some(&Value::Bool(true));
        match self {
            Self::Tools => is_true("toolsListChanged"),
            Self::Prompts => is_true("promptsListChanged"),
            Self::Resource(uri) => {
                let uris = filter
                    .get("resourceSubscriptions")
                    .and_then(Value::as_array);
                uris.is_some_and(|uris| uris.iter().any(|it| it == uri))
            }
        }
    }
}

impl Listener {
    pub(super) fn is_there(&self) -> bool {
        match self {
            Self::Session(session) => session.general().is_some_and(|outlet| outlet.is_open()),
            Self::Subscription { outlet, .. } => outlet.is_open(),
        }
    }

    pub(super) fn announce(&self, change: &Change) {
        match self {
            Self::Session(session) => {
                let is_wanted = match change {
                    Change::Resource(uri) => session.is_subscribed(uri),
                    _ => session.revision().is_some(),
                };
                if let Some(outlet) = session.general().filter(|_| is_wanted) {
                    outlet.notify(change.method(), change.params());
                }
            }
            Self::Subscription { id, filter, outlet } if change.is_in(filter) => {
                let mut params = change.params();
                params["_meta"] = json!({SUBSCRIPTION: id});
                outlet.notify(change.method(), params);
            }
            Self::Subscription { .. } => {}
        }
    }
}
