//! The merged view: the items of all servers, in the order in which the servers were added.

use std::collections::HashMap;
use std::sync::Arc;

use turnbuckle_types::{Prompt, Resource, ResourceTemplate, Tool};

use crate::limits::ServersLimits;
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
    /// The reasons why items of a server are left out, by the index of the server.
    pub(crate) problems: Vec<(usize, String)>,
}

impl MergedView {
    /// Merges the items of servers. Over the bounds of all servers, items of the last servers are
    /// left out.
    pub(crate) fn merge(servers: &[(&Prefix, Arc<ServerItems>)], limits: &ServersLimits) -> Self {
        let mut view = Self::default();
        let mut bytes = 0;
        for (index, (_, server)) in servers.iter().enumerate() {
            let mut room = Room {
                index,
                servers,
                limits,
                bytes: &mut bytes,
                problems: &mut view.problems,
            };
            room.add(&server.tools, &mut view.tools);
            room.add(&server.resources, &mut view.resources);
            room.add(&server.templates, &mut view.templates);
            room.add(&server.prompts, &mut view.prompts);
        }
        view.mark_shadowing(servers);
        let names = view.tools.iter().map(|tool| tool.item.name.clone());
        view.tools_by_name = names.zip(0..).collect();
        let names = view.prompts.iter().map(|prompt| prompt.item.name.clone());
        view.prompts_by_name = names.zip(0..).collect();
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

    /// Returns the tool of this name.
    pub(crate) fn tool(&self, name: &str) -> Option<&ServerItem<Tool>> {
        self.tools.get(*self.tools_by_name.get(name)?)
    }

    /// Returns the prompt of this name.
    pub(crate) fn prompt(&self, name: &str) -> Option<&ServerItem<Prompt>> {
        self.prompts.get(*self.prompts_by_name.get(name)?)
    }
}

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
    fn add<T: Listed>(&mut self, items: &ItemList<T>, merged: &mut Vec<ServerItem<T>>) {
        let mut shadowing = 0;
        for (added, item) in items.iter().enumerate() {
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
