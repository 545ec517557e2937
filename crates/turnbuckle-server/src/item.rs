//! What every kind of item has in common for its author.

use std::borrow::Cow;

use turnbuckle_types::{Icon, Meta};

/// Something that a server can be given as a `T`.
///
/// A `T` is one; so is a function with the attribute for it (`#[tool]`, `#[prompt]`,
/// `#[resource("…")]`), and a value whose `impl` block has `#[server]`, as a group.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be offered as a `{T}`",
    label = "not a `{T}`",
    note = "put the attribute on the function: `#[tool]`, `#[prompt]` or `#[resource(\"…\")]`; on an `impl` block: `#[server]`",
    note = "or make it at run time: `Tool::builder(\"name\").handler(function)`"
)]
pub trait IntoItem<T> {
    /// Makes it.
    fn into_item(self) -> T;
}

impl<T> IntoItem<T> for T {
    fn into_item(self) -> T {
        self
    }
}

/// What its author says of an item, whatever kind it is: kept as it was said, and made into a
/// definition when somebody asks for a list.
#[derive(Debug, Default)]
pub(crate) struct About {
    pub(crate) title: Option<Cow<'static, str>>,
    pub(crate) description: Option<Cow<'static, str>>,
    /// What few items have.
    more: Option<Box<More>>,
}

#[derive(Debug, Default)]
pub(crate) struct More {
    pub(crate) icons: Option<Vec<Icon>>,
    pub(crate) meta: Meta,
}

impl About {
    /// To say more.
    pub(crate) fn say(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }

    pub(crate) fn more(&self) -> Option<&More> {
        self.more.as_deref()
    }
}

/// A definition, with what its author says of the item.
macro_rules! told {
    ($definition:expr, $about:expr) => {{
        let (mut definition, about): (_, &crate::item::About) = ($definition, &$about);
        definition.title = about.title.as_deref().map(str::to_owned);
        definition.description = about.description.as_deref().map(str::to_owned);
        if let Some(more) = about.more() {
            definition.icons.clone_from(&more.icons);
            definition.meta.clone_from(&more.meta);
        }
        definition
    }};
}
pub(crate) use told;

/// The setters of a definition's common members, of its access rules and of its policy.
macro_rules! item_setters {
    ($set_by:literal) => {
        /// A name for people.
        pub fn title(mut self, title: impl Into<std::borrow::Cow<'static, str>>) -> Self {
            self.draft.about.title = Some(title.into());
            self
        }

        /// What it is or does, for a person or a model that has to choose.
        pub fn description(
            mut self,
            description: impl Into<std::borrow::Cow<'static, str>>,
        ) -> Self {
            self.draft.about.description = Some(description.into());
            self
        }

        /// An icon; may be called again for another size or theme.
        pub fn icon(mut self, icon: turnbuckle_types::Icon) -> Self {
            let icons = &mut self.draft.about.say().icons;
            icons.get_or_insert_default().push(icon);
            self
        }

        /// Metadata.
        pub fn meta(mut self, meta: turnbuckle_types::Meta) -> Self {
            self.draft.about.say().meta = meta;
            self
        }

        /// Shows it only to those principals for whom `visible` says so, and every other such rule
        /// of it; to all others it does not exist. It may depend on the principal alone, so that a list is the same for as long as
        /// the principal is.
        pub fn visible_to(
            mut self,
            visible: impl Fn(Option<&turnbuckle_types::Principal>) -> bool + Send + Sync + 'static,
        ) -> Self {
            self.draft.access.show_to(visible);
            self
        }

        /// Lets only principals with this scope use it. It is listed for everybody.
        pub fn scope(mut self, scope: impl Into<String>) -> Self {
            self.draft.access.need_scope(scope.into());
            self
        }

        crate::policy::policy_setters!($set_by, self => self.draft.policy);
    };
}
pub(crate) use item_setters;
