//! Handles notifications of the server: they update the caches and reach subscriptions and
//! callbacks.

use std::collections::HashMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use turnbuckle_session::handler::Change;
use turnbuckle_session::internal::IncomingNotification;
use turnbuckle_session::transport::RequestTag;
use turnbuckle_types::base::text::{Escaped, shorten};
use turnbuckle_types::method::{
    Cancelled, PromptListChanged, ResourceListChanged, ResourceUpdated, SubscriptionsAcknowledged,
    ToolListChanged,
};
use turnbuckle_types::{
    CancelledNotificationParams, ExtensionNotification, LoggingMessageNotificationParams,
    Notification, NotificationParams, RawJson, RequestId, ResourceUpdatedNotificationParams,
    SubscriptionsAcknowledgedNotificationParams,
};
use turnbuckle_wire::era::params::raw_params;
use turnbuckle_wire::revision::EraKind;

use crate::cache::ResultCache;
use crate::connection::Connection;
use crate::incoming::registry::SubscriptionRegistry;
use crate::tools::ToolDefinitions;

type OnLog = Box<dyn Fn(LoggingMessageNotificationParams, Option<&RequestTag>) + Send + Sync>;
type OnExtension = Box<dyn Fn(IncomingNotification<'_>) + Send + Sync>;
type OnInvalidMessage = Box<dyn Fn(u64, &str) + Send + Sync>;

/// The receivers of notifications in one client.
#[derive(Default)]
pub(crate) struct NotificationHandlers {
    pub(crate) on_log: Option<OnLog>,
    pub(crate) on_invalid_message: Option<OnInvalidMessage>,
    extensions: HashMap<&'static str, OnExtension>,
    pub(crate) cache: Arc<ResultCache>,
    pub(crate) tools: Arc<ToolDefinitions>,
    pub(crate) subscriptions: Arc<SubscriptionRegistry>,
}

impl NotificationHandlers {
    /// Passes a log message to the user's callback, unless it is malformed.
    pub(crate) fn handle_log(&self, notice: IncomingNotification<'_>, tag: Option<&RequestTag>) {
        if let Some(callback) = &self.on_log
            && let Some(params) = decode_params(notice)
        {
            callback(params, tag);
        }
    }

    /// Adds a callback for a notification of an extension.
    pub(crate) fn add_extension<N: ExtensionNotification>(
        &mut self,
        callback: impl Fn(N::Params) + Send + Sync + 'static,
    ) {
        let callback = move |notice: IncomingNotification<'_>| {
            if let Some(params) = decode_params(notice) {
                callback(params);
            }
        };
        self.extensions.insert(N::METHOD, Box::new(callback));
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
        match notice.name {
            ToolListChanged::METHOD => self.handle_change(&Change::Tools, subscription_id(notice)),
            PromptListChanged::METHOD => {
                self.handle_change(&Change::Prompts, subscription_id(notice))
            }
            ResourceListChanged::METHOD => {
                self.handle_change(&Change::Resources, subscription_id(notice))
            }
            ResourceUpdated::METHOD => {
                if let Some(params) = decode_params::<ResourceUpdatedNotificationParams>(notice) {
                    let stream = params.meta.subscription_id();
                    self.handle_change(&Change::Resource(params.uri.into()), stream);
                }
            }
            SubscriptionsAcknowledged::METHOD => {
                if let Some(params) =
                    decode_params::<SubscriptionsAcknowledgedNotificationParams>(notice)
                    && let Some(stream) = params.meta.subscription_id()
                {
                    self.subscriptions
                        .acknowledge(&stream, &params.notifications);
                }
            }
            Cancelled::METHOD => {
                let params = decode_params::<CancelledNotificationParams>(notice);
                if let Some(stream) = params.and_then(|params| params.request_id) {
                    self.subscriptions.end_stream(&stream);
                }
            }
            method => match self.extensions.get(method) {
                Some(callback) => callback(notice),
                None => tracing::trace!(method, "an unknown notification is ignored"),
            },
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

/// Decodes the parameters of a notification; `None`, with a log message, if they are malformed.
fn decode_params<P: DeserializeOwned>(notice: IncomingNotification<'_>) -> Option<P> {
    let params = raw_params(notice.text).map_or("{}", RawJson::as_str);
    match serde_json::from_str(params) {
        Ok(params) => Some(params),
        Err(error) => {
            let reason = shorten(&error.to_string());
            tracing::debug!(method = notice.name, reason = %Escaped(&reason), "a malformed notification is ignored");
            None
        }
    }
}

/// Returns the id of the subscription stream that a notification belongs to, if it names one.
fn subscription_id(notice: IncomingNotification<'_>) -> Option<RequestId> {
    decode_params::<NotificationParams>(notice)?
        .meta
        .subscription_id()
}
