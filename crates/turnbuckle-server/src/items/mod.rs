//! Items: tools, prompts, resources and the groups that hold them, from their definition to their
//! registration.

pub(crate) mod access;
pub(crate) mod cache_hint;
pub(crate) mod completion;
pub(crate) mod group;
mod group_settings;
pub(crate) mod prompt;
pub(crate) mod provider;
pub(crate) mod registration;
pub(crate) mod resource;
pub(crate) mod tool;

use std::borrow::Cow;

use turnbuckle_types::{Icon, Meta};

use crate::items::access::AccessRules;
use crate::service::policy::CallPolicy;

/// Conversion into an item that a server can offer: a [`Tool`](crate::Tool),
/// [`Prompt`](crate::Prompt), [`Resource`](crate::Resource) or [`Group`](crate::Group).
///
/// Implemented for the items themselves, and for values whose `impl` block has `#[server]`, which
/// become groups. A function with an attribute is listed by its name: `.tools(tools![add])`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be offered as a `{T}`",
    label = "not a `{T}`",
    note = "list functions with an attribute: `.tools(tools![…])`, `.prompts(prompts![…])`, `.resources(resources![…])`; `item!(…)` is one of them, with its setters",
    note = "a function without an attribute: `Tool::builder(\"name\").handler(function)`; an `impl` block: put `#[server]` on it"
)]
pub trait IntoItem<T> {
    /// Converts into the item.
    fn into_item(self) -> T;
}

impl<T> IntoItem<T> for T {
    fn into_item(self) -> T {
        self
    }
}

/// An item that a server offers under a name.
pub(crate) trait CatalogItem: Send + Sync + 'static {
    /// Returns the name or URI by which the item is looked up.
    fn key(&self) -> &str;

    /// Returns the rules of who can see and use the item.
    fn access(&self) -> &AccessRules;
}

/// The handler of an item that has none yet: `Tool<NoHandler>` becomes a [`Tool`](crate::Tool) when it
/// is given a function.
#[derive(Debug)]
#[non_exhaustive]
pub struct NoHandler;

/// The settings that all kinds of items have.
#[derive(Debug, Default)]
pub(crate) struct ItemSettings {
    pub(crate) info: ItemInfo,
    pub(crate) access: AccessRules,
    pub(crate) policy: CallPolicy,
}

/// The descriptive fields of an item, kept as they were given and turned into a definition when a
/// list is requested.
#[derive(Debug, Default)]
pub(crate) struct ItemInfo {
    pub(crate) title: Option<Cow<'static, str>>,
    pub(crate) description: Option<Cow<'static, str>>,
    /// Fields that few items have.
    extras: Option<Box<ItemExtras>>,
}

/// Descriptive fields that few items have.
#[derive(Debug, Default)]
pub(crate) struct ItemExtras {
    pub(crate) icons: Option<Vec<Icon>>,
    pub(crate) meta: Meta,
}

impl ItemInfo {
    /// Returns the rarely used fields, to be changed.
    pub(crate) fn extras_mut(&mut self) -> &mut ItemExtras {
        self.extras.get_or_insert_default()
    }

    /// Returns the rarely used fields, if any is set.
    pub(crate) fn extras(&self) -> Option<&ItemExtras> {
        self.extras.as_deref()
    }
}

/// Fills the descriptive fields of a definition from an [`ItemInfo`].
macro_rules! with_item_info {
    ($definition:expr, $info:expr) => {{
        let (mut definition, info): (_, &crate::items::ItemInfo) = ($definition, &$info);
        definition.title = info.title.as_deref().map(str::to_owned);
        definition.description = info.description.as_deref().map(str::to_owned);
        if let Some(extras) = info.extras() {
            definition.icons.clone_from(&extras.icons);
            definition.meta.clone_from(&extras.meta);
        }
        definition
    }};
}
pub(crate) use with_item_info;

/// The setters of an item's descriptive fields, access rules and call policy.
macro_rules! item_setters {
    ($set_by:literal) => {
        turnbuckle_types::base::setters! {
            /// Sets the name that clients show to people.
            title(title: impl Into<std::borrow::Cow<'static, str>>) {
                draft.settings.info.title = Some(title.into())
            }

            /// Sets a description, for the person or the model that chooses among items.
            description(description: impl Into<std::borrow::Cow<'static, str>>) {
                draft.settings.info.description = Some(description.into())
            }

            /// Adds an icon. Call this again for another size or theme.
            icon(icon: turnbuckle_types::Icon) {
                draft.settings.info.extras_mut().icons.get_or_insert_default().push(icon)
            }

            /// Sets the `_meta` of the definition.
            meta(meta: turnbuckle_types::Meta) { draft.settings.info.extras_mut().meta = meta }

            /// Shows the item only to principals for whom `visible` returns true; for all others it
            /// does not exist.
            ///
            /// If this is called several times, all rules must agree. `visible` must depend on the
            /// principal alone, so that the list of a principal does not change between requests.
            visible_to(
                visible: impl Fn(Option<&turnbuckle_types::Principal>) -> bool + Send + Sync + 'static
            ) {
                draft.settings.access.add_visibility_rule(visible)
            }

            /// Requires this OAuth scope for using the item. Call this again for another one.
            ///
            /// A request of a principal without the scope is refused with all scopes that the item
            /// needs, so that a client can ask for them. The item is listed, unless
            /// `hide_without_scopes` is set; without a principal, as on stdio, in any case.
            scope(scope: impl Into<String>) {
                draft.settings.access.require_scope(scope.into())
            }

            /// Leaves the item out of the lists of authenticated principals that lack its scopes.
            hide_without_scopes() { draft.settings.access.hide_without_scopes() }

            /// Leaves the item out of all lists. Whoever knows its name can use it, as far as its scopes and
            /// `visible_to` allow.
            hide_from_lists() { draft.settings.access.hide_from_lists() }
        }

        crate::service::policy::policy_setters!($set_by, draft.settings.policy);
    };
}
pub(crate) use item_setters;
