//! Keeps the items of a proxy's server equal to those that all of its clients have.

use std::collections::{HashMap, HashSet};

use turnbuckle_server::Server;
use turnbuckle_types::{Prompt, Resource, ResourceTemplate, Tool};

use crate::change::ChangeKind;
use crate::proxy::items::{ItemSource, Proxied};
use crate::proxy::route::Route;
use crate::proxy::updates::ResourceUpdates;
use crate::servers::Servers;
use crate::view::item_kind::ItemKind;
use crate::view::items::ServerItem;
use crate::view::merged_view::MergedView;

/// The items that the proxy's server has.
pub(super) struct ItemSync {
    server: Server,
    route: Route,
    tools: HashMap<String, ServerItem<Tool>>,
    resources: HashMap<String, ServerItem<Resource>>,
    templates: HashMap<String, ServerItem<ResourceTemplate>>,
    prompts: HashMap<String, ServerItem<Prompt>>,
}

impl ItemSync {
    /// Adds all items to the server, which has those of `own_uris` itself, and starts a task that follows changes until
    /// the servers are closed.
    pub(super) fn start(
        servers: &Servers,
        server: Server,
        route: Route,
        own_uris: HashSet<String>,
    ) {
        let mut sync = Self {
            server,
            route,
            tools: HashMap::new(),
            resources: HashMap::new(),
            templates: HashMap::new(),
            prompts: HashMap::new(),
        };
        let mut changes = servers.changes();
        let shared = servers.state().clone();
        sync.apply(&shared.common_view());
        let private = shared
            .members
            .iter()
            .filter(|it| it.options.mode.is_private());
        let servers_with_own: Vec<_> = private.map(|it| it.name.clone()).collect();
        let updates = ResourceUpdates::new(sync.server.clone(), servers.downgrade(), own_uris);
        tokio::spawn(async move {
            let items = async {
                while let Some(change) = changes.next().await {
                    sync.apply(&shared.common_view());
                    let has_own = servers_with_own.contains(&change.server);
                    if let (true, ChangeKind::Items(kind)) = (has_own, change.change) {
                        sync.notify_all(kind);
                    }
                }
            };
            tokio::select! {
                () = items => {}
                () = updates.follow() => {}
            }
        });
    }

    /// Tells all clients that their lists may have changed, since that of a server's first connection has: the server
    /// is another one, or is back.
    fn notify_all(&self, kind: ItemKind) {
        match kind {
            ItemKind::Tool => self.server.notify_tools_changed(),
            ItemKind::Prompt => self.server.notify_prompts_changed(),
            ItemKind::Resource => self.server.notify_resources_changed(),
        }
    }

    fn apply(&mut self, view: &MergedView) {
        let Self { server, route, .. } = self;
        update(server, route, &mut self.tools, &view.tools);
        update(server, route, &mut self.resources, &view.resources);
        update(server, route, &mut self.templates, &view.templates);
        update(server, route, &mut self.prompts, &view.prompts);
    }
}

/// Removes, adds and replaces items of one kind, and leaves those alone that are the same.
fn update<T: Proxied + PartialEq>(
    server: &Server,
    route: &Route,
    known: &mut HashMap<String, ServerItem<T>>,
    listed: &[ServerItem<T>],
) {
    let mut next = HashMap::with_capacity(listed.len());
    for listed in listed {
        next.insert(listed.item.key().to_owned(), listed.clone());
    }
    for (key, item) in &*known {
        if next.get(key).is_none_or(|new| new != item) {
            T::remove_from(server, key);
        }
    }
    for listed in listed {
        let key = listed.item.key();
        if known.get(key) == Some(listed) {
            continue;
        }
        let item = T::to_item(listed, route, &ItemSource::Common);
        let added = item.and_then(|it| T::add_to(it, server).map_err(|error| error.to_string()));
        if let Err(error) = added {
            tracing::warn!(name = key, error, "an item cannot be served by the proxy");
        }
    }
    *known = next;
}
