//! The merged view: the items of all servers, in the order in which the servers were added.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use turnbuckle_types::base::text::shorten;
use turnbuckle_types::{Prompt, Resource, ResourceTemplate, Tool};

use crate::limits::ServersLimits;
use crate::rules::DroppedUris;
use crate::view::items::{ItemList, Listed, ServerItem, ServerItems};
use crate::view::names::Prefix;
use crate::view::shadowing::KnownNames;

/// The items of all servers.
#[derive(Debug, Default)]
pub(crate) struct MergedView {
    pub(crate) tools: Vec<ServerItem<Tool>>,
    pub(crate) resources: Vec<ServerItem<Resource>>,
    pub(crate) templates: Vec<ServerItem<ResourceTemplate>>,
    pub(crate) prompts: Vec<ServerItem<Prompt>>,
    tools_by_name: HashMap<String, usize>,
    prompts_by_name: HashMap<String, usize>,
    resources_by_uri: HashMap<String, usize>,
    /// The URIs that rules have dropped, by the index of the server.
    dropped_uris: Vec<DroppedUris>,
    /// The reasons why items of a server are left out, by the index of the server.
    pub(crate) problems: Vec<(usize, String)>,
}

/// The names and URIs of items that a proxy has beside those of its servers.
#[derive(Debug, Default)]
pub(crate) struct ReservedNames {
    pub(crate) tools: HashSet<String>,
    pub(crate) prompts: HashSet<String>,
    pub(crate) uris: HashSet<String>,
}

impl MergedView {
    /// Merges the items of servers. Over the bounds of all servers, items of the last servers are
    /// left out.
    ///
    /// Of items with the same name, that of the view `before` stays, or else the first one.
    pub(crate) fn merge(
        servers: &[(&Prefix, Arc<ServerItems>)],
        limits: &ServersLimits,
        reserved: &ReservedNames,
        before: &Self,
    ) -> Self {
        let mut view = Self {
            dropped_uris: servers
                .iter()
                .map(|(_, items)| items.dropped_uris.clone())
                .collect(),
            ..Self::default()
        };
        let mut bytes = 0;
        let tools = servers.iter().map(|(_, items)| &items.tools);
        let tools = NameOwners::find(tools, &reserved.tools, |name| before.tool(name));
        let prompts = servers.iter().map(|(_, items)| &items.prompts);
        let prompts = NameOwners::find(prompts, &reserved.prompts, |name| before.prompt(name));
        let no_owners = (
            NameOwners::of_uris(&reserved.uris),
            NameOwners::of_uris(&reserved.uris),
        );
        for (index, (_, server)) in servers.iter().enumerate() {
            let mut room = Room {
                index,
                servers,
                limits,
                bytes: &mut bytes,
                problems: &mut view.problems,
            };
            room.add(&server.tools, &tools, &mut view.tools);
            room.add(&server.resources, &no_owners.0, &mut view.resources);
            room.add(&server.templates, &no_owners.1, &mut view.templates);
            room.add(&server.prompts, &prompts, &mut view.prompts);
        }
        view.mark_shadowing(servers);
        let names = view.tools.iter().map(|tool| tool.item.name.clone());
        view.tools_by_name = names.zip(0..).collect();
        let names = view.prompts.iter().map(|prompt| prompt.item.name.clone());
        view.prompts_by_name = names.zip(0..).collect();
        let uris = view
            .resources
            .iter()
            .map(|resource| resource.item.uri.clone());
        view.resources_by_uri = uris.zip(0..).collect();
        view
    }

    /// Marks items whose texts take the place of another server's.
    fn mark_shadowing(&mut self, servers: &[(&Prefix, Arc<ServerItems>)]) {
        let mut known = KnownNames::default();
        known.add(&self.tools);
        known.add(&self.prompts);
        let mut named = known.mark(&mut self.tools);
        named.extend(known.mark(&mut self.prompts));
        for (server, item) in named {
            let is_server = |items: &ServerItems| items.server() == Some(&server);
            let index = servers.iter().position(|(_, items)| is_server(items));
            let problem = format!("the text of {item:?} names an item of another server");
            self.problems.extend(index.map(|index| (index, problem)));
        }
    }

    /// Returns whether a rule has dropped a URI of a server.
    pub(crate) fn is_dropped(&self, server: usize, own_uri: &str) -> bool {
        self.dropped_uris
            .get(server)
            .is_some_and(|dropped| dropped.contains(own_uri))
    }

    /// Returns the resource that is listed under this URI.
    pub(crate) fn resource(&self, uri: &str) -> Option<&ServerItem<Resource>> {
        self.resources.get(*self.resources_by_uri.get(uri)?)
    }

    /// Returns the tool of this name.
    pub(crate) fn tool(&self, name: &str) -> Option<&ServerItem<Tool>> {
        self.tools.get(*self.tools_by_name.get(name)?)
    }

    /// Returns the prompt of this name.
    pub(crate) fn prompt(&self, name: &str) -> Option<&ServerItem<Prompt>> {
        self.prompts.get(*self.prompts_by_name.get(name)?)
    }
}

/// The owners of names in the merged view: of several items with the same name, the one that has it.
struct NameOwners<'a, T> {
    owners: HashMap<&'a str, &'a ServerItem<T>>,
    reserved: &'a HashSet<String>,
}

impl<'a, T: Listed> NameOwners<'a, T> {
    /// Finds the owner of each name: the one that had it before, or else the first item.
    fn find(
        lists: impl Iterator<Item = &'a ItemList<T>>,
        reserved: &'a HashSet<String>,
        before: impl Fn(&str) -> Option<&'a ServerItem<T>>,
    ) -> Self {
        let mut owners = HashMap::new();
        for item in lists.flat_map(|list| list.iter()) {
            let item = &item.item;
            match owners.entry(item.item.key()) {
                Entry::Vacant(vacant) => {
                    vacant.insert(item);
                }
                Entry::Occupied(mut taken) => {
                    if before(item.item.key()).is_some_and(|owner| owner.is_same_item(item)) {
                        taken.insert(item);
                    }
                }
            }
        }
        Self { owners, reserved }
    }

    /// Returns the owners of URIs, which no two servers share.
    fn of_uris(reserved: &'a HashSet<String>) -> Self {
        Self {
            owners: HashMap::new(),
            reserved,
        }
    }

    /// Returns the reason why an item cannot have its name.
    fn refusal(&self, item: &ServerItem<T>) -> Option<String> {
        let (own, name) = (shorten(&item.own_name), shorten(item.item.key()));
        if self.reserved.contains(item.item.key()) {
            return Some(format!(
                "{own:?} is left out: the proxy itself has {name:?}"
            ));
        }
        let owner = self.owners.get(item.item.key())?;
        (!owner.is_same_item(item)).then(|| {
            let (server, other) = (&owner.server, shorten(&owner.own_name));
            format!("{own:?} is left out: the name {name:?} is that of {other:?} of the server {server:?}")
        })
    }
}

/// The most items that are left out for their names, and named in the problems of a server.
const MAX_NAMED_REFUSALS: usize = 8;

/// The room that is left in the merged view while one server is added.
struct Room<'a> {
    index: usize,
    servers: &'a [(&'a Prefix, Arc<ServerItems>)],
    limits: &'a ServersLimits,
    bytes: &'a mut usize,
    problems: &'a mut Vec<(usize, String)>,
}

impl Room<'_> {
    /// Adds the items of one kind.
    fn add<T: Listed>(
        &mut self,
        items: &ItemList<T>,
        owners: &NameOwners<'_, T>,
        merged: &mut Vec<ServerItem<T>>,
    ) {
        let mut shadowing = 0;
        let mut refused = 0;
        for (added, item) in items.iter().enumerate() {
            if let Some(reason) = owners.refusal(&item.item) {
                refused += 1;
                if refused <= MAX_NAMED_REFUSALS {
                    self.problems.push((self.index, reason));
                }
                continue;
            }
            if T::HAS_URI && self.is_foreign_uri(item.item.item.key()) {
                shadowing += 1;
                continue;
            }
            let bound = if merged.len() >= self.limits.max_items {
                "max_items"
            } else if self.bytes.saturating_add(item.bytes) > self.limits.max_bytes {
                "max_bytes"
            } else {
                *self.bytes += item.bytes;
                merged.push(item.item.clone());
                continue;
            };
            let problem = format!(
                "{} of its {} {} have no room beside those of other servers \
                 (ServersLimits::{bound})",
                items.len() - added,
                items.len(),
                T::PLURAL
            );
            self.problems.push((self.index, problem));
            return;
        }
        if refused > MAX_NAMED_REFUSALS {
            let (more, plural) = (refused - MAX_NAMED_REFUSALS, T::PLURAL);
            let problem = format!("{more} more {plural} are left out: others have their names");
            self.problems.push((self.index, problem));
        }
        if shadowing > 0 {
            let problem = format!(
                "{shadowing} of its {} {} have URIs of other servers, and are left out",
                items.len(),
                T::PLURAL
            );
            self.problems.push((self.index, problem));
        }
    }

    /// Returns whether a URI of a server without a prefix is that of another server in the merged view.
    fn is_foreign_uri(&self, uri: &str) -> bool {
        let mut others = self.servers.iter().enumerate();
        others.any(|(index, (prefix, _))| {
            index != self.index && !prefix.is_empty() && prefix.own_uri(uri).is_some()
        })
    }
}
