//! Who hears what the server says by itself.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use turnbuckle_session::{Change, Notice};
use turnbuckle_types::method::{
    Cancelled, PromptListChanged, ResourceListChanged, ResourceUpdated, SubscriptionsAcknowledged,
    ToolListChanged,
};
use turnbuckle_types::{LogParams, Notification, NotificationParams, RequestId};
use turnbuckle_wire::revision::EraKind;

use crate::cache::Cache;
use crate::live::Live;
use crate::subscription::Subscribers;
use crate::tools::Tools;

type OnLog = Box<dyn Fn(LogParams) + Send + Sync>;
type OnNoise = Box<dyn Fn(u64, &str) + Send + Sync>;

/// The listeners of one client.
#[derive(Default)]
pub(crate) struct Listening {
    pub(crate) on_log: Option<OnLog>,
    pub(crate) on_noise: Option<OnNoise>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) tools: Arc<Tools>,
    pub(crate) subscribers: Arc<Subscribers>,
}

impl Listening {
    pub(crate) fn log(&self, message: &str) {
        let Some(heard) = &self.on_log else { return };
        if let Some(params) = params_of::<turnbuckle_types::method::Log>(message) {
            heard(params);
        }
    }

    pub(crate) fn noise(&self, count: u64, beginning: &str) {
        if let Some(heard) = &self.on_noise {
            heard(count, beginning);
        }
    }

    /// There is a connection, in place of the one before.
    pub(crate) fn connected(&self, live: &Live) {
        // A session is another state of things. What a modern server said does not depend on one.
        if live.server.era() == EraKind::Legacy {
            self.cache.forget_everything();
        }
    }

    pub(crate) fn other(&self, notice: Notice<'_>) {
        let text = notice.text;
        match notice.name {
            ToolListChanged::METHOD => self.changed(&Change::Tools, stream_of(text)),
            PromptListChanged::METHOD => self.changed(&Change::Prompts, stream_of(text)),
            ResourceListChanged::METHOD => self.changed(&Change::Resources, stream_of(text)),
            ResourceUpdated::METHOD => {
                if let Some(params) = params_of::<ResourceUpdated>(text) {
                    let stream = params.meta.subscription_id();
                    self.changed(&Change::Resource(params.uri.into()), stream);
                }
            }
            SubscriptionsAcknowledged::METHOD => {
                if let Some(params) = params_of::<SubscriptionsAcknowledged>(text)
                    && let Some(stream) = params.meta.subscription_id()
                {
                    self.subscribers
                        .acknowledged(&stream, &params.notifications);
                }
            }
            Cancelled::METHOD => {
                let params = params_of::<Cancelled>(text);
                if let Some(stream) = params.and_then(|params| params.request_id) {
                    self.subscribers.over(&stream);
                }
            }
            method => tracing::trace!(method, "a notification that nobody listens for"),
        }
    }

    fn changed(&self, change: &Change, stream: Option<RequestId>) {
        self.outdated(change);
        self.subscribers.tell(change, stream.as_ref());
    }

    /// What is kept of it may be old.
    pub(crate) fn outdated(&self, change: &Change) {
        self.cache.changed(change);
        if *change == Change::Tools {
            self.tools.changed();
        }
    }
}

/// The parameters of a notification.
fn params_of<N: Notification>(message: &str) -> Option<N::Params> {
    fn decode<P: DeserializeOwned>(message: &str) -> Option<P> {
        let raw = turnbuckle_wire::era::params::raw_params(message)?;
        raw.decode().ok()
    }
    decode(message)
}

/// The stream that a notification belongs to, where the era has such streams.
fn stream_of(message: &str) -> Option<RequestId> {
    let params: NotificationParams = params_of::<ToolListChanged>(message)?;
    params.meta.subscription_id()
}

/// Whether a change of the resource `changed` is one of the resource `uri`: of itself, or of a part
/// of it.
pub(crate) fn concerns(changed: &str, uri: &str) -> bool {
    match changed.strip_prefix(uri) {
        Some("") => true,
        Some(part) => !uri.is_empty() && (uri.ends_with('/') || part.starts_with(['/', '?', '#'])),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_a_part_concerns_the_whole() {
        for (changed, uri, expected) in [
            ("file:///a", "file:///a", true),
            ("file:///a/b", "file:///a", true),
            ("file:///a/b", "file:///a/", true),
            ("file:///a#b", "file:///a", true),
            ("file:///ab", "file:///a", false),
            ("file:///a", "file:///a/b", false),
            ("file:///a", "", false),
        ] {
            assert_eq!(concerns(changed, uri), expected, "{changed} {uri}");
        }
    }
}
