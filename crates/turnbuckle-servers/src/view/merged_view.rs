//! The merged view: the items of all servers, in the order in which the servers were added.

use std::collections::HashSet;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use foldhash::HashMap;
use turnbuckle_types::base::text::shorten;
use turnbuckle_types::{Prompt, Resource, ResourceTemplate, Tool};

use crate::limits::ServersLimits;
use crate::rules::DroppedUris;
use crate::view::item_kind::ItemKind;
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
    /// The bytes of all definitions.
    bytes: usize,
}

/// The views beside which items are merged, and the bounds of all.
pub(crate) struct Surroundings<'a> {
    pub(crate) limits: &'a ServersLimits,
    /// The names that a proxy has itself.
    pub(crate) reserved: &'a ReservedNames,
    /// The view whose items have their names already, and a part of the room.
    pub(crate) beside: &'a MergedView,
    /// The view with items that texts may not take the place of.
    pub(crate) known: &'a MergedView,
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
    /// Of items with the same name, that of the view `beside` stays. Otherwise one whose name is its own has it, then the
    /// one of the first server, then the one whose own name comes first. So the names depend on nothing that differs
    /// between starts and instances, such as the order in which servers connect and list.
    pub(crate) fn merge(
        servers: &[(&Prefix, Arc<ServerItems>)],
        around: &Surroundings<'_>,
    ) -> Self {
        let Surroundings {
            limits,
            reserved,
            beside,
            known,
        } = *around;
        let mut view = Self {
            dropped_uris: servers
                .iter()
                .map(|(_, items)| items.dropped_uris.clone())
                .collect(),
            ..Self::default()
        };
        let mut bytes = beside.bytes;
        let tools = NameOwners::find(servers, |it| &it.tools, &reserved.tools, beside);
        let prompts = NameOwners::find(servers, |it| &it.prompts, &reserved.prompts, beside);
        let no_owners = (
            NameOwners::of_uris(&reserved.uris),
            NameOwners::of_uris(&reserved.uris),
        );
        for (index, (_, server)) in servers.iter().enumerate() {
            let mut room = Room {
                index,
                servers,
                limits,
                beside,
                bytes: &mut bytes,
                problems: &mut view.problems,
            };
            room.add(&server.tools, &tools, &mut view.tools);
            room.add(&server.resources, &no_owners.0, &mut view.resources);
            room.add(&server.templates, &no_owners.1, &mut view.templates);
            room.add(&server.prompts, &prompts, &mut view.prompts);
        }
        view.bytes = bytes - beside.bytes;
        view.mark_shadowing(servers, known);
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
    fn mark_shadowing(&mut self, servers: &[(&Prefix, Arc<ServerItems>)], others: &Self) {
        let mut known = KnownNames::default();
        known.add(&others.tools);
        known.add(&others.prompts);
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

/// A kind of item of the merged view.
pub(crate) trait Merged: Listed {
    const KIND: ItemKind;

    /// Returns the items of this kind.
    fn all(view: &MergedView) -> &[ServerItem<Self>];

    /// Returns the item of this name, URI or URI template.
    fn find<'a>(view: &'a MergedView, key: &str) -> Option<&'a ServerItem<Self>>;
}

macro_rules! merged {
    ($($Item:ty: $Kind:ident, $list:ident, |$view:ident, $key:ident| $find:expr;)+) => {$(
        impl Merged for $Item {
            const KIND: ItemKind = ItemKind::$Kind;

            fn all(view: &MergedView) -> &[ServerItem<Self>] {
                &view.$list
            }

            fn find<'a>($view: &'a MergedView, $key: &str) -> Option<&'a ServerItem<Self>> {
                $find
            }
        }
    )+};
}

merged! {
    Tool: Tool, tools, |view, name| view.tool(name);
    Prompt: Prompt, prompts, |view, name| view.prompt(name);
    Resource: Resource, resources, |view, uri| view.resource(uri);
    ResourceTemplate: Resource, templates, |view, text| view.templates.iter().find(|it| it.item.uri_template == *text);
}

/// An item that may have its name in the merged view, with the index and the prefix of its server.
struct Candidate<'a, T> {
    index: usize,
    prefix: &'a Prefix,
    item: &'a ServerItem<T>,
}

impl<T: Merged> Candidate<'_, T> {
    /// Returns whether this item has the name that another one has, too.
    fn precedes(&self, other: &Self) -> bool {
        self.rank() < other.rank()
    }

    fn rank(&self) -> (bool, usize, &str) {
        let own_name = &self.item.own_name;
        let is_new = T::merged_name(self.prefix, own_name) != self.item.item.key();
        (is_new, self.index, own_name)
    }
}

/// The owners of names in the merged view: of several items with the same name, the one that has it.
struct NameOwners<'a, T> {
    owners: HashMap<&'a str, Candidate<'a, T>>,
    reserved: &'a HashSet<String>,
    /// The view whose items have their names already.
    beside: Option<&'a MergedView>,
}

impl<'a, T: Merged> NameOwners<'a, T> {
    /// Finds the owner of each name.
    fn find(
        servers: &'a [(&'a Prefix, Arc<ServerItems>)],
        list: impl Fn(&'a ServerItems) -> &'a ItemList<T>,
        reserved: &'a HashSet<String>,
        beside: &'a MergedView,
    ) -> Self {
        let mut owners: HashMap<&str, Candidate<'_, T>> = HashMap::default();
        for (index, (prefix, items)) in servers.iter().enumerate() {
            for item in list(items).iter().map(|it| &it.item) {
                let candidate = Candidate {
                    index,
                    prefix,
                    item,
                };
                match owners.entry(item.item.key()) {
                    Entry::Vacant(vacant) => {
                        vacant.insert(candidate);
                    }
                    Entry::Occupied(mut owner) => {
                        if candidate.precedes(owner.get()) {
                            owner.insert(candidate);
                        }
                    }
                }
            }
        }
        Self {
            owners,
            reserved,
            beside: Some(beside),
        }
    }

    /// Returns the owners of URIs, which no two servers share.
    fn of_uris(reserved: &'a HashSet<String>) -> Self {
        Self {
            owners: HashMap::default(),
            reserved,
            beside: None,
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
        let of_beside = self.beside.and_then(|view| T::find(view, item.item.key()));
        let owner = of_beside.or_else(|| Some(self.owners.get(item.item.key())?.item))?;
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
    beside: &'a MergedView,
    bytes: &'a mut usize,
    problems: &'a mut Vec<(usize, String)>,
}

impl Room<'_> {
    /// Adds the items of one kind.
    fn add<T: Merged>(
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
            let count = merged.len() + T::all(self.beside).len();
            let bound = if count >= self.limits.max_items {
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
