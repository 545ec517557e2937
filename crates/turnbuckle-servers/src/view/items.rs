//! The items of one server, renamed for the merged view.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use serde::Serialize;
use turnbuckle_types::{Prompt, Resource, ResourceTemplate, Tool};

use crate::limits::ServersLimits;
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
}

impl<T> Clone for ServerItem<T> {
    fn clone(&self) -> Self {
        Self {
            server: self.server.clone(),
            own_name: self.own_name.clone(),
            item: self.item.clone(),
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
}

impl Default for ServerItems {
    fn default() -> Self {
        Self {
            tools: Arc::new([]),
            resources: Arc::new([]),
            templates: Arc::new([]),
            prompts: Arc::new([]),
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
pub(crate) trait Listed: Serialize + PartialEq {
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
}

macro_rules! listed {
    ($($Item:ty: $plural:literal, $has_uri:literal, $member:ident, $merge:ident;)+) => {$(
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
        }
    )+};
}

listed! {
    Tool: "tools", false, name, name;
    Prompt: "prompts", false, name, name;
    Resource: "resources", true, uri, uri;
    ResourceTemplate: "resource templates", true, uri_template, uri;
}

/// The items that one server listed, within the bounds of the server.
pub(crate) struct Renamed<T> {
    pub(crate) items: ItemList<T>,
    /// The reason why items are left out, if any are.
    pub(crate) problem: Option<String>,
}

/// Renames the items of a server. Of items with the same name the first stays. Items over the bounds
/// are left out, from the end of the list; `bytes` is the sum of the server's other lists.
pub(crate) fn rename<T: Listed>(
    server: &Arc<str>,
    prefix: &Prefix,
    listed: Vec<T>,
    limits: &ServersLimits,
    mut bytes: usize,
) -> Renamed<T> {
    let count = listed.len();
    let mut seen = HashSet::new();
    let mut items = Vec::new();
    let mut repeated = 0;
    let mut bound = None;
    for mut item in listed {
        if items.len() >= limits.max_items_per_server {
            bound = Some("max_items_per_server");
            break;
        }
        let own_name: Arc<str> = item.key_mut().as_str().into();
        if !seen.insert(own_name.clone()) {
            repeated += 1;
            continue;
        }
        *item.key_mut() = T::merged_name(prefix, &own_name);
        let size = json_bytes(&item);
        if bytes.saturating_add(size) > limits.max_server_bytes {
            bound = Some("max_server_bytes");
            break;
        }
        bytes += size;
        items.push(SizedItem {
            item: ServerItem {
                server: server.clone(),
                own_name,
                item: Arc::new(item),
            },
            bytes: size,
        });
    }
    let problem = match bound {
        Some(bound) => Some(format!(
            "{} of its {count} {} are left out (ServersLimits::{bound})",
            count - items.len(),
            T::PLURAL
        )),
        None if repeated > 0 => Some(format!(
            "{repeated} of its {count} {} repeat the name of another",
            T::PLURAL
        )),
        None => None,
    };
    Renamed {
        items: items.into(),
        problem,
    }
}

/// Returns whether two lists are the same.
pub(crate) fn same<T: PartialEq>(one: &ItemList<T>, other: &ItemList<T>) -> bool {
    one.len() == other.len()
        && (one.iter().zip(&**other)).all(|(one, other)| one.item.item == other.item.item)
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
