//! Handles notifications of the server: they update the caches and reach subscriptions and
//! callbacks.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use turnbuckle_session::{Change, IncomingNotification};
use turnbuckle_types::method::{
    Cancelled, PromptListChanged, ResourceListChanged, ResourceUpdated, SubscriptionsAcknowledged,
    ToolListChanged,
};
use turnbuckle_types::{
    LoggingMessageNotificationParams, Notification, NotificationParams, RequestId,
};
use turnbuckle_wire::revision::EraKind;

use crate::cache::results::ResultCache;
use crate::cache::tools::ToolDefinitions;
use crate::connection::Connection;
use crate::subscription::registry::SubscriptionRegistry;

type OnLog = Box<dyn Fn(LoggingMessageNotificationParams) + Send + Sync>;
type OnInvalidMessage = Box<dyn Fn(u64, &str) + Send + Sync>;

/// The receivers of notifications in one client.
#[derive(Default)]
pub(crate) struct NotificationHandlers {
    pub(crate) on_log: Option<OnLog>,
    pub(crate) on_invalid_message: Option<OnInvalidMessage>,
    pub(crate) cache: Arc<ResultCache>,
    pub(crate) tools: Arc<ToolDefinitions>,
    pub(crate) subscriptions: Arc<SubscriptionRegistry>,
}

impl NotificationHandlers {
    /// Passes a log message to the user's callback.
    pub(crate) fn handle_log(&self, message: &str) {
        let Some(callback) = &self.on_log else { return };
        if let Some(params) = decode_params::<turnbuckle_types::method::LoggingMessage>(message) {
            callback(params);
        }
    }

    /// Passes output that is no message to the user's callback.
    pub(crate) fn handle_invalid_message(&self, count: u64, beginning: &str) {
        if let Some(callback) = &self.on_invalid_message {
            callback(count, beginning);
        }
    }

    /// Takes note of a new connection.
    pub(crate) fn on_connected(&self, connection: &Connection) {
        // A new legacy session may have another state. Modern results do not depend on a session.
        if connection.server.era() == EraKind::Legacy {
            self.cache.clear();
        }
    }

    /// Handles any other notification.
    pub(crate) fn handle(&self, notice: IncomingNotification<'_>) {
        let text = notice.text;
        match notice.name {
            ToolListChanged::METHOD => self.handle_change(&Change::Tools, subscription_id(text)),
            PromptListChanged::METHOD => {
                self.handle_change(&Change::Prompts, subscription_id(text))
            }
            ResourceListChanged::METHOD => {
                self.handle_change(&Change::Resources, subscription_id(text))
            }
            ResourceUpdated::METHOD => {
                if let Some(params) = decode_params::<ResourceUpdated>(text) {
                    let stream = params.meta.subscription_id();
                    self.handle_change(&Change::Resource(params.uri.into()), stream);
                }
            }
            SubscriptionsAcknowledged::METHOD => {
                if let Some(params) = decode_params::<SubscriptionsAcknowledged>(text)
                    && let Some(stream) = params.meta.subscription_id()
                {
                    self.subscriptions
                        .acknowledge(&stream, &params.notifications);
                }
            }
            Cancelled::METHOD => {
                let params = decode_params::<Cancelled>(text);
                if let Some(stream) = params.and_then(|params| params.request_id) {
                    self.subscriptions.end_stream(&stream);
                }
            }
            method => tracing::trace!(method, "an unknown notification is ignored"),
        }
    }

    /// Invalidates cached knowledge and notifies subscriptions of a change.
    fn handle_change(&self, change: &Change, stream: Option<RequestId>) {
        self.invalidate(change);
        self.subscriptions.notify(change, stream.as_ref());
    }

    /// Drops cached knowledge that a change affects.
    pub(crate) fn invalidate(&self, change: &Change) {
        self.cache.invalidate(change);
        if *change == Change::Tools {
            self.tools.mark_changed();
        }
    }
}

/// Decodes the parameters of a notification; `None` if they are malformed.
fn decode_params<N: Notification>(message: &str) -> Option<N::Params> {
    fn decode<P: DeserializeOwned>(message: &str) -> Option<P> {
        let raw = turnbuckle_wire::era::params::raw_params(message)?;
        raw.decode().ok()
    }
    decode(message)
}

/// Returns the id of the subscription stream that a notification belongs to, if it names one.
fn subscription_id(message: &str) -> Option<RequestId> {
    let params: NotificationParams = decode_params::<ToolListChanged>(message)?;
    params.meta.subscription_id()
}
