//! The state that all servers share.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use turnbuckle_session::handler::Signal;
use turnbuckle_types::base::fair_permits::FairPermits;

use crate::change::{ChangeHub, ChangeKind};
use crate::connections::client_key::ClientKey;
use crate::limits::ServersLimits;
use crate::member::state::Member;
use crate::rules::ItemRules;
use crate::view::merged_view::{MergedView, ReservedNames};

/// The state that the servers, their tasks and all handles share.
pub(crate) struct Shared {
    /// The name and version of the host.
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) limits: ServersLimits,
    pub(crate) rules: ItemRules,
    /// The servers, in the order in which they were added.
    pub(crate) members: Vec<Arc<Member>>,
    pub(crate) changes: ChangeHub,
    /// The connections of clients of a proxy to all servers.
    pub(crate) connections: FairPermits<ClientKey>,
    /// Fires when the servers are closed.
    pub(crate) stop: Signal,
    view: RwLock<Arc<MergedView>>,
    /// Held while the view is merged, so that an older one never replaces a newer one.
    merging: Mutex<ReservedNames>,
}

impl Shared {
    pub(crate) fn new(
        name: String,
        version: String,
        limits: ServersLimits,
        rules: ItemRules,
        members: Vec<Arc<Member>>,
    ) -> Self {
        Self {
            name,
            version,
            limits,
            rules,
            members,
            changes: ChangeHub::default(),
            connections: FairPermits::new(
                limits.max_connections,
                limits.max_connections.saturating_mul(4),
            ),
            stop: Signal::new(),
            view: RwLock::default(),
            merging: Mutex::default(),
        }
    }

    /// Returns the merged view.
    pub(crate) fn view(&self) -> Arc<MergedView> {
        self.view
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Merges the items of all servers anew.
    pub(crate) fn merge(&self) {
        let reserved = self.merging.lock().unwrap_or_else(PoisonError::into_inner);
        self.merge_beside(&reserved);
    }

    /// Merges the items of all servers anew, without those whose names a proxy has itself.
    pub(crate) fn reserve(&self, names: ReservedNames) {
        let mut reserved = self.merging.lock().unwrap_or_else(PoisonError::into_inner);
        *reserved = names;
        self.merge_beside(&reserved);
    }

    fn merge_beside(&self, reserved: &ReservedNames) {
        let members = self.members.iter();
        let items: Vec<_> = members.map(|it| (&it.prefix, it.items())).collect();
        let before = self.view();
        let view = Arc::new(MergedView::merge(&items, &self.limits, reserved, &before));
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = view.clone();
        for (index, member) in self.members.iter().enumerate() {
            let is_of = |(server, _): &&(usize, String)| *server == index;
            let known: Vec<_> = before.problems.iter().filter(is_of).collect();
            let found: Vec<_> = view.problems.iter().filter(is_of).collect();
            if known == found {
                continue;
            }
            for (_, problem) in found.iter().filter(|it| !known.contains(it)) {
                tracing::warn!(
                    server = &*member.name,
                    problem,
                    "an item is left out or marked"
                );
            }
            self.changes.publish(&member.name, ChangeKind::Problems);
        }
    }

    /// Returns the server of this name.
    pub(crate) fn member(&self, name: &str) -> Option<&Arc<Member>> {
        self.members.iter().find(|member| *member.name == *name)
    }
}
