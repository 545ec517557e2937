//! The items of one server, renamed for the merged view.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use serde::Serialize;
use turnbuckle_types::base::text::shorten;
use turnbuckle_types::{Meta, Prompt, Resource, ResourceTemplate, Tool};

use crate::limits::ServersLimits;
use crate::rules::{DroppedNames, DroppedUris, ItemAccess, ItemRule, ItemRules, Ruled};
use crate::view::merged_uris::rewrite_meta;
use crate::view::names::Prefix;

/// An item of one server in the merged view.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub struct ServerItem<T> {
    /// The name of the server.
    pub server: Arc<str>,
    /// The name of the item at the server; for resources the URI, for templates the URI template.
    pub own_name: Arc<str>,
    /// The definition, in which the name or URI is that of the merged view.
    pub item: Arc<T>,
    /// The principals that can use the item, if a rule restricts them.
    pub(crate) access: Option<Arc<ItemAccess>>,
}

impl<T> ServerItem<T> {
    /// Returns whether this is the same item of the same server, possibly with another definition.
    pub(crate) fn is_same_item(&self, other: &Self) -> bool {
        self.server == other.server && self.own_name == other.own_name
    }

    /// Returns the server and the name of the item there.
    pub(crate) fn into_owner(self) -> (Arc<str>, Arc<str>) {
        (self.server, self.own_name)
    }
}

impl<T> Clone for ServerItem<T> {
    fn clone(&self) -> Self {
        Self {
            server: self.server.clone(),
            own_name: self.own_name.clone(),
            item: self.item.clone(),
            access: self.access.clone(),
        }
    }
}

/// An item with the bytes of its definition as JSON.
#[derive(Debug)]
pub(crate) struct SizedItem<T> {
    pub(crate) item: ServerItem<T>,
    pub(crate) bytes: usize,
}

/// The items of one kind of one server.
pub(crate) type ItemList<T> = Arc<[SizedItem<T>]>;

/// All items of one server.
#[derive(Debug, Clone)]
pub(crate) struct ServerItems {
    pub(crate) tools: ItemList<Tool>,
    pub(crate) resources: ItemList<Resource>,
    pub(crate) templates: ItemList<ResourceTemplate>,
    pub(crate) prompts: ItemList<Prompt>,
    /// The URIs that no template makes readable.
    pub(crate) dropped_uris: DroppedUris,
    /// The own names of tools and prompts that rules have dropped, by the shortened names that clients may know.
    pub(crate) dropped_names: DroppedNames,
}

impl Default for ServerItems {
    fn default() -> Self {
        Self {
            tools: Arc::new([]),
            resources: Arc::new([]),
            templates: Arc::new([]),
            prompts: Arc::new([]),
            dropped_uris: DroppedUris::default(),
            dropped_names: DroppedNames::default(),
        }
    }
}

impl ServerItems {
    /// Returns the name of the server, if it has any items.
    pub(crate) fn server(&self) -> Option<&Arc<str>> {
        let of_resources = || server_of(&self.resources).or_else(|| server_of(&self.templates));
        let of_names = server_of(&self.tools).or_else(|| server_of(&self.prompts));
        of_names.or_else(of_resources)
    }

    /// Returns the bytes of all definitions.
    pub(crate) fn bytes(&self) -> usize {
        total(&self.tools) + total(&self.resources) + total(&self.templates) + total(&self.prompts)
    }
}

/// Returns the name of the server of a list that is not empty.
fn server_of<T>(items: &ItemList<T>) -> Option<&Arc<str>> {
    items.first().map(|item| &item.item.server)
}

fn total<T>(items: &ItemList<T>) -> usize {
    items.iter().map(|item| item.bytes).sum()
}

/// A type of item that servers list.
pub(crate) trait Listed: Serialize + PartialEq + Sized {
    /// The plural, for texts.
    const PLURAL: &'static str;

    /// True if the item has a URI instead of a name.
    const HAS_URI: bool;

    /// Returns the member that identifies the item: its name, URI or URI template.
    fn key(&self) -> &str;

    /// Returns the member that identifies the item, to change it.
    fn key_mut(&mut self) -> &mut String;

    /// Returns the name in the merged view.
    fn merged_name(prefix: &Prefix, own: &str) -> String;

    /// Returns the member `name`, to change it.
    fn name_mut(&mut self) -> &mut String;

    /// Returns the description, to change it.
    fn description_mut(&mut self) -> &mut Option<String>;

    /// Returns the metadata, to change them.
    fn meta_mut(&mut self) -> &mut Meta;

    /// Replaces the title.
    fn set_title(&mut self, title: String);

    /// Returns the rules about items of this kind.
    fn rules(rules: &ItemRules) -> &[ItemRule<Self>];
}

macro_rules! listed {
    ($($Item:ty: $plural:literal, $has_uri:literal, $member:ident, $merge:ident, $rules:ident;)+) => {$(
        impl Listed for $Item {
            const PLURAL: &'static str = $plural;
            const HAS_URI: bool = $has_uri;

            fn key(&self) -> &str {
                &self.$member
            }

            fn key_mut(&mut self) -> &mut String {
                &mut self.$member
            }

            fn merged_name(prefix: &Prefix, own: &str) -> String {
                prefix.$merge(own)
            }

            fn name_mut(&mut self) -> &mut String {
                &mut self.name
            }

            fn description_mut(&mut self) -> &mut Option<String> {
                &mut self.description
            }

            fn meta_mut(&mut self) -> &mut Meta {
                &mut self.meta
            }

            fn set_title(&mut self, title: String) {
                self.title = Some(title);
            }

            fn rules(rules: &ItemRules) -> &[ItemRule<Self>] {
                &rules.$rules
            }
        }
    )+};
}

listed! {
    Tool: "tools", false, name, name, tools;
    Prompt: "prompts", false, name, name, prompts;
    Resource: "resources", true, uri, uri, resources;
    ResourceTemplate: "resource templates", true, uri_template, uri, templates;
}

/// The items that one server listed, within the bounds of the server.
pub(crate) struct Renamed<T> {
    pub(crate) items: ItemList<T>,
    /// The own names that a rule has dropped.
    pub(crate) dropped: Vec<Arc<str>>,
    /// The reason why items are left out, if any are.
    pub(crate) problem: Option<String>,
}

/// Renames the items of a server by its prefix and the rules. Of items with the same name the first stays.
/// Items over the bounds are left out, from the end of the list; `bytes` is the sum of the server's other
/// lists.
pub(crate) fn rename<T: Listed>(
    server: &Arc<str>,
    prefix: &Prefix,
    listed: Vec<T>,
    (limits, rules): (&ServersLimits, &ItemRules),
    mut bytes: usize,
) -> Renamed<T> {
    let count = listed.len();
    let mut seen = HashSet::new();
    let mut items = Vec::new();
    let mut dropped = Vec::new();
    let mut repeated = 0;
    let mut misnamed = None;
    let mut problems = Vec::new();
    for (read, mut item) in listed.into_iter().enumerate() {
        let left_out = |bound: &str| {
            let (left, plural) = (count - read, T::PLURAL);
            format!("{left} of its {count} {plural} are left out (ServersLimits::{bound})")
        };
        if items.len() >= limits.max_items_per_server {
            problems.push(left_out("max_items_per_server"));
            break;
        }
        let own_name: Arc<str> = item.key_mut().as_str().into();
        if !seen.insert(own_name.clone()) {
            repeated += 1;
            continue;
        }
        *item.key_mut() = T::merged_name(prefix, &own_name);
        rewrite_meta(item.meta_mut(), prefix);
        let kept = match rules.apply(server, &own_name, item) {
            Ruled::Kept(kept) => kept,
            Ruled::Dropped => {
                dropped.push(own_name);
                continue;
            }
            Ruled::Misnamed(name) => {
                misnamed.get_or_insert_with(|| (own_name.clone(), name));
                dropped.push(own_name);
                continue;
            }
        };
        let size = json_bytes(&kept.item);
        if bytes.saturating_add(size) > limits.max_server_bytes {
            problems.push(left_out("max_server_bytes"));
            break;
        }
        bytes += size;
        items.push(SizedItem {
            item: ServerItem {
                server: server.clone(),
                own_name,
                item: Arc::new(kept.item),
                access: kept.access,
            },
            bytes: size,
        });
    }
    if let Some((own_name, name)) = misnamed {
        let (own_name, name) = (shorten(&own_name), shorten(&name));
        problems.push(format!(
            "{own_name:?} is left out: a rule gives it the name {name:?}, which is not valid"
        ));
    }
    if repeated > 0 {
        let plural = T::PLURAL;
        problems.push(format!(
            "{repeated} of its {count} {plural} repeat the name of another"
        ));
    }
    Renamed {
        items: items.into(),
        dropped,
        problem: (!problems.is_empty()).then(|| problems.join("; ")),
    }
}

/// Returns whether two lists are the same.
pub(crate) fn same<T: PartialEq>(one: &ItemList<T>, other: &ItemList<T>) -> bool {
    one.len() == other.len()
        && (one.iter().zip(&**other)).all(|(one, other)| one.item == other.item)
}

/// Returns the length of a value as JSON.
fn json_bytes(value: &impl Serialize) -> usize {
    struct Counter(usize);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    match serde_json::to_writer(&mut counter, value) {
        Ok(()) => counter.0,
        Err(_) => usize::MAX,
    }
}
