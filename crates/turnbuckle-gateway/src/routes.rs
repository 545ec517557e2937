//! The ways from the names that clients use to the upstreams, for the audit log.

use std::collections::BTreeMap;
use std::sync::Arc;

use turnbuckle::servers::{ItemKind, WeakServers};
use turnbuckle_wire::revision::Method;

use crate::policy::{Policy, Subject};

/// The policies of upstreams, by their names.
pub(crate) type Policies = Arc<BTreeMap<String, Arc<Policy>>>;

/// The ways to the upstreams. They do not keep the servers open.
pub(crate) struct Routes {
    pub(crate) servers: WeakServers,
    pub(crate) policies: Policies,
}

/// The item of an upstream that a request named, offered or not.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) upstream: Arc<str>,
    /// The name or URI at the upstream.
    pub(crate) item: Arc<str>,
    /// False if the upstream is not connected, of a request that has failed.
    pub(crate) is_ready: bool,
    /// True if a rule of the upstream is why the item is not offered.
    pub(crate) is_denied: bool,
}

impl Routes {
    /// Returns the target of a request with this name or URI. The state of its upstream is looked up if the
    /// request has failed.
    pub(crate) fn find(&self, method: &str, name: &str, has_failed: bool) -> Option<Target> {
        let servers = self.servers.upgrade()?;
        let kind = match Method::parse(method)? {
            Method::CallTool => ItemKind::Tool,
            Method::GetPrompt => ItemKind::Prompt,
            Method::ReadResource
            | Method::Subscribe
            | Method::Unsubscribe
            | Method::SubscriptionsListen => ItemKind::Resource,
            // A completion is for a prompt or a template. Names of prompts have none of these characters.
            Method::Complete if name.contains([':', '+', '{']) => ItemKind::Resource,
            Method::Complete => ItemKind::Prompt,
            _ => return None,
        };
        let (upstream, item) = servers.item_owner(kind, name)?;
        let policy = self.policies.get(&*upstream);
        let subject = match kind {
            ItemKind::Resource if item.contains('{') => Subject::Template(&item),
            ItemKind::Resource => Subject::Uri(&item),
            _ => Subject::Name(&item),
        };
        let is_denied = policy.is_some_and(|it| it.scopes(subject).is_none());
        Some(Target {
            is_ready: !has_failed || servers.is_reachable(&upstream),
            upstream,
            item,
            is_denied,
        })
    }
}
