//! Keeps the items of a proxy's server equal to the merged view.

use std::collections::HashMap;

use turnbuckle_server::Server;
use turnbuckle_types::{Prompt, Resource, ResourceTemplate, Tool};

use crate::proxy::items::Proxied;
use crate::proxy::route::Route;
use crate::proxy::updates::ResourceUpdates;
use crate::servers::Servers;
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
    /// Adds all items to the server, and starts a task that follows changes until the servers are
    /// closed.
    pub(super) fn start(servers: &Servers, server: Server, route: Route) {
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
        sync.apply(&shared.view());
        let updates = ResourceUpdates::new(sync.server.clone(), servers.downgrade());
        tokio::spawn(async move {
            let items = async {
                while changes.next().await.is_some() {
                    sync.apply(&shared.view());
                }
            };
            tokio::select! {
                () = items => {}
                () = updates.follow() => {}
            }
        });
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
        if let Err(error) = T::add_to(listed, server, route.clone()) {
            tracing::warn!(name = key, error, "an item cannot be served by the proxy");
        }
    }
    *known = next;
}
