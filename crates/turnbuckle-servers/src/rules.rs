//! Rules about the items of servers: which of them are offered, under which names, and to whom.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{
    Principal, Prompt, ProtocolError, RequiredScopes, Resource, ResourceTemplate, Tool,
};

use crate::view::items::Listed;

/// The decision of a rule about an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The item is offered, as the rule has changed it.
    Keep,
    /// The item does not exist: it is neither listed nor can it be used.
    Drop,
}

/// A function that returns whether a principal can see an item.
type VisibleTo = Arc<dyn Fn(Option<&Principal>) -> bool + Send + Sync>;

/// The principals that can see and use an item through a proxy.
#[derive(Clone, Default)]
pub(crate) struct ItemAccess {
    pub(crate) scopes: Vec<String>,
    pub(crate) visible: Vec<VisibleTo>,
    pub(crate) is_unlisted: bool,
}

debug_fields!(ItemAccess { scopes });

impl ItemAccess {
    /// Checks that a principal can use a resource, also where a template stands for it.
    ///
    /// # Errors
    /// If the principal cannot see it, or lacks a scope.
    pub(crate) fn check(
        &self,
        uri: &str,
        principal: Option<&Principal>,
    ) -> Result<(), ProtocolError> {
        if !self.visible.iter().all(|visible| visible(principal)) {
            return Err(ProtocolError::resource_not_found(uri));
        }
        let needed = RequiredScopes::new(self.scopes.iter().map(String::as_str));
        match self.scopes.is_empty() || needed.is_met_by(principal) {
            true => Ok(()),
            false => Err(ProtocolError::forbidden(needed)),
        }
    }
}

/// Functions cannot be compared: only the same function is equal.
impl PartialEq for ItemAccess {
    fn eq(&self, other: &Self) -> bool {
        self.scopes == other.scopes
            && self.is_unlisted == other.is_unlisted
            && self.visible.len() == other.visible.len()
            && (self.visible.iter().zip(&other.visible)).all(|(one, other)| Arc::ptr_eq(one, other))
    }
}

/// An item of a server, as a rule sees and changes it before it is offered.
///
/// Rules run whenever the list of the server is read: when it is connected, and when its list has changed.
pub struct ProxiedItem<T> {
    server: Arc<str>,
    own_name: Arc<str>,
    item: T,
    new_name: Option<String>,
    access: ItemAccess,
}

#[expect(
    private_bounds,
    reason = "the trait is that of the four kinds of items"
)]
impl<T: Listed> ProxiedItem<T> {
    /// Returns the name of the server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns the name of the item at the server; for resources the URI, for templates the URI template.
    #[must_use]
    pub fn own_name(&self) -> &str {
        &self.own_name
    }

    /// Returns the definition, in which the name or URI is that of the merged view.
    #[must_use]
    pub fn item(&self) -> &T {
        &self.item
    }

    /// Gives a tool or a prompt exactly this name, without the prefix of the server: 1 to 128 of the
    /// characters `A-Z a-z 0-9 _ - .`. A name that is not valid, or that another item has, is refused: the item
    /// is left out, and the status of the server says so.
    ///
    /// Of items with the same name, one without a new name has it, then one of the server that was added first, then the
    /// one whose own name comes first.
    ///
    /// Of a resource or a template it is the member `name`; their URIs cannot be changed.
    pub fn rename(&mut self, name: impl Into<String>) {
        self.new_name = Some(name.into());
    }

    /// Replaces the description.
    pub fn describe(&mut self, description: impl Into<String>) {
        *self.item.description_mut() = Some(description.into());
    }

    /// Replaces the title.
    pub fn title(&mut self, title: impl Into<String>) {
        self.item.set_title(title.into());
    }

    /// Adds scopes that a client of the proxy needs to use the item.
    pub fn scopes(&mut self, scopes: impl IntoIterator<Item = impl Into<String>>) {
        self.access
            .scopes
            .extend(scopes.into_iter().map(Into::into));
    }

    /// Leaves the item out of the lists of the proxy. Clients that know its name can use it.
    pub fn hide_from_lists(&mut self) {
        self.access.is_unlisted = true;
    }

    /// Shows the item only to the clients of the proxy whose principal `visible` returns true for; for all
    /// others it does not exist. If this is called several times, all functions must agree.
    pub fn visible_to(
        &mut self,
        visible: impl Fn(Option<&Principal>) -> bool + Send + Sync + 'static,
    ) {
        self.access.visible.push(Arc::new(visible));
    }
}

debug_fields!([T] ProxiedItem<T> { server, own_name, new_name, access });

/// A function that decides about an item of one kind.
pub(crate) type ItemRule<T> = Arc<dyn Fn(&mut ProxiedItem<T>) -> Rule + Send + Sync>;

/// The rules about the items of all servers, in the order in which they were added.
#[derive(Clone, Default)]
pub(crate) struct ItemRules {
    pub(crate) tools: Vec<ItemRule<Tool>>,
    pub(crate) prompts: Vec<ItemRule<Prompt>>,
    pub(crate) resources: Vec<ItemRule<Resource>>,
    pub(crate) templates: Vec<ItemRule<ResourceTemplate>>,
}

/// An item that all rules keep.
pub(crate) struct KeptItem<T> {
    pub(crate) item: T,
    pub(crate) access: Option<Arc<ItemAccess>>,
}

/// The outcome of the rules about one item.
pub(crate) enum Ruled<T> {
    Kept(KeptItem<T>),
    Dropped,
    /// The item has a name that is not valid.
    Misnamed(String),
}

impl ItemRules {
    /// Applies the rules about items of this kind to one of them.
    pub(crate) fn apply<T: Listed>(
        &self,
        server: &Arc<str>,
        own_name: &Arc<str>,
        item: T,
    ) -> Ruled<T> {
        let rules = T::rules(self);
        if rules.is_empty() {
            return Ruled::Kept(KeptItem { item, access: None });
        }
        let mut item = ProxiedItem {
            server: server.clone(),
            own_name: own_name.clone(),
            item,
            new_name: None,
            access: ItemAccess::default(),
        };
        if rules.iter().any(|rule| rule(&mut item) == Rule::Drop) {
            return Ruled::Dropped;
        }
        if let Some(name) = item.new_name {
            if !T::HAS_URI && !is_item_name(&name) {
                return Ruled::Misnamed(name);
            }
            *item.item.name_mut() = name;
        }
        let is_restricted = item.access != ItemAccess::default();
        Ruled::Kept(KeptItem {
            item: item.item,
            access: is_restricted.then(|| Arc::new(item.access)),
        })
    }
}

/// Returns whether a rule can give an item this name.
fn is_item_name(name: &str) -> bool {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=128).contains(&name.len()) && name.bytes().all(is_valid)
}

/// The URIs of resources and templates that rules have dropped, at one server.
pub(crate) type DroppedUris = Arc<HashSet<Arc<str>>>;

/// The own names of tools and prompts that rules have dropped, at one server, by their shortened names.
pub(crate) type DroppedNames = Arc<HashMap<String, Arc<str>>>;
