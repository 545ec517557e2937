//! The state that all servers share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use turnbuckle_session::handler::Signal;

use crate::change::ChangeHub;
use crate::limits::ServersLimits;
use crate::member::state::Member;
use crate::view::merged_view::MergedView;

/// The state that the servers, their tasks and all handles share.
pub(crate) struct Shared {
    /// The name and version of the host.
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) limits: ServersLimits,
    /// The servers, in the order in which they were added.
    pub(crate) members: Vec<Arc<Member>>,
    pub(crate) changes: ChangeHub,
    /// Fires when the servers are closed.
    pub(crate) stop: Signal,
    view: RwLock<Arc<MergedView>>,
    /// Held while the view is merged, so that an older one never replaces a newer one.
    merging: Mutex<()>,
}

impl Shared {
    pub(crate) fn new(
        name: String,
        version: String,
        limits: ServersLimits,
        members: Vec<Arc<Member>>,
    ) -> Self {
        Self {
            name,
            version,
            limits,
            members,
            changes: ChangeHub::default(),
            stop: Signal::new(),
            view: RwLock::default(),
            merging: Mutex::new(()),
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
        let _merging: MutexGuard<'_, ()> =
            self.merging.lock().unwrap_or_else(PoisonError::into_inner);
        let members = self.members.iter();
        let items: Vec<_> = members.map(|it| (&it.prefix, it.items())).collect();
        let view = Arc::new(MergedView::merge(&items, &self.limits));
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = view;
    }

    /// Returns the server of this name.
    pub(crate) fn member(&self, name: &str) -> Option<&Arc<Member>> {
        self.members.iter().find(|member| *member.name == *name)
    }
}
