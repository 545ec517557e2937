//! The items that one client of a proxy has beside those of all clients.

use std::sync::Arc;

use turnbuckle_client::ServerInfo;

use crate::connections::own_lists::OwnLists;
use crate::member::shared::Shared;
use crate::view::items::ServerItems;
use crate::view::merged_view::MergedView;

/// The merged items of the connections that one client has for itself, and the lists that they were merged of.
#[derive(Default)]
pub(crate) struct ClientView {
    pub(crate) merged: MergedView,
    /// The view of all clients, beside which they were merged.
    common: Arc<MergedView>,
    /// The lists of each server. `None` for servers whose connections are shared, and for lists that were not read.
    items: Vec<Option<Arc<ServerItems>>>,
    infos: Vec<Option<Arc<ServerInfo>>>,
}

impl ClientView {
    /// Returns the view of these lists, by the index of their servers. While no list changes, it is the same one as
    /// before, which one of the lists keeps: that of `keeper`.
    pub(crate) fn of_lists(
        lists: &[Option<Arc<OwnLists>>],
        keeper: Option<usize>,
        shared: &Shared,
    ) -> Arc<Self> {
        let items = lists.iter().map(|it| it.as_ref()?.items());
        let items: Vec<_> = items.collect();
        let Some(keeper) = keeper.and_then(|index| lists.get(index)?.as_ref()) else {
            return Arc::default();
        };
        let common = shared.common_view();
        let mut kept = keeper.view();
        if let Some(view) = &*kept
            && view.is_of(&common, &items)
        {
            return view.clone();
        }
        let infos = lists.iter().map(|it| it.as_ref()?.server_info());
        let sources = shared.members.iter().zip(&items);
        let sources =
            sources.map(|(member, items)| (&member.prefix, items.clone().unwrap_or_default()));
        let merged = shared.merge_own(&sources.collect::<Vec<_>>(), &common);
        let view = Arc::new(Self {
            merged,
            common,
            infos: infos.collect(),
            items,
        });
        *kept = Some(view.clone());
        view
    }

    fn is_of(&self, common: &Arc<MergedView>, items: &[Option<Arc<ServerItems>>]) -> bool {
        let same = |pair: (&Option<Arc<ServerItems>>, &Option<Arc<ServerItems>>)| match pair {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        };
        Arc::ptr_eq(&self.common, common)
            && self.items.len() == items.len()
            && self.items.iter().zip(items).all(same)
    }

    /// Returns the description that a server gave of itself on the connection of the client.
    pub(crate) fn server_info(&self, index: usize) -> Option<&Arc<ServerInfo>> {
        self.infos.get(index)?.as_ref()
    }
}
