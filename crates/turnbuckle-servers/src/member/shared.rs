//! The state that all servers share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use turnbuckle_session::handler::Signal;
use turnbuckle_types::base::fair_permits::FairPermits;

use crate::change::{ChangeHub, ChangeKind};
use crate::connections::client_key::ClientKey;
use crate::connections::list_memory::ListMemory;
use crate::limits::ServersLimits;
use crate::member::state::Member;
use crate::rules::ItemRules;
use crate::view::items::ServerItems;
use crate::view::merged_view::{MergedView, ReservedNames, Surroundings};
use crate::view::names::Prefix;

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
    views: RwLock<Views>,
    /// Held while the views are merged, so that older ones never replace newer ones.
    merging: Mutex<Arc<ReservedNames>>,
    /// The memory that is left for lists of clients' own connections.
    pub(crate) own_lists: ListMemory,
}

/// The merged views of the lists that supervisors have read.
#[derive(Clone, Default)]
struct Views {
    /// The items of all servers.
    all: Arc<MergedView>,
    /// The items of the servers whose connections clients share.
    common: Arc<MergedView>,
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
            views: RwLock::default(),
            merging: Mutex::default(),
            own_lists: ListMemory::new(limits.max_own_list_bytes),
        }
    }

    fn views(&self) -> Views {
        self.views
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns the merged view of all servers.
    pub(crate) fn view(&self) -> Arc<MergedView> {
        self.views().all
    }

    /// Returns the merged view of the servers whose connections clients share: the items that every client of a
    /// proxy has.
    pub(crate) fn common_view(&self) -> Arc<MergedView> {
        self.views().common
    }

    fn merging(&self) -> MutexGuard<'_, Arc<ReservedNames>> {
        self.merging.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Merges the items of all servers anew.
    pub(crate) fn merge(&self) {
        let reserved = self.merging();
        self.merge_beside(&reserved);
    }

    /// Merges the items of all servers anew, without those whose names a proxy has itself.
    pub(crate) fn reserve(&self, names: ReservedNames) {
        let mut reserved = self.merging();
        *reserved = Arc::new(names);
        self.merge_beside(&reserved);
    }

    fn merge_beside(&self, reserved: &ReservedNames) {
        let members = self.members.iter();
        let items: Vec<_> = members.map(|it| (&it.prefix, it.items())).collect();
        let before = self.view();
        let none = MergedView::default();
        let around = Surroundings {
            limits: &self.limits,
            reserved,
            beside: &none,
            known: &none,
        };
        let view = Arc::new(MergedView::merge(&items, &around));
        let common = match self.members.iter().any(|it| it.options.mode.is_private()) {
            false => view.clone(),
            true => {
                let common = self.members.iter().zip(&items).map(|(member, (_, items))| {
                    let items = match member.options.mode.is_private() {
                        true => Arc::default(),
                        false => items.clone(),
                    };
                    (&member.prefix, items)
                });
                let common: Vec<_> = common.collect();
                let around = Surroundings {
                    known: &view,
                    ..around
                };
                Arc::new(MergedView::merge(&common, &around))
            }
        };
        *self.views.write().unwrap_or_else(PoisonError::into_inner) = Views {
            all: view.clone(),
            common,
        };
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

    /// Merges the items that connections of one client have listed, beside those of the common view.
    pub(crate) fn merge_own(
        &self,
        items: &[(&Prefix, Arc<ServerItems>)],
        common: &MergedView,
    ) -> MergedView {
        let reserved = self.merging().clone();
        let around = Surroundings {
            limits: &self.limits,
            reserved: &reserved,
            beside: common,
            known: common,
        };
        MergedView::merge(items, &around)
    }

    /// Returns the server of this name.
    pub(crate) fn member(&self, name: &str) -> Option<&Arc<Member>> {
        self.members.iter().find(|member| *member.name == *name)
    }
}
