//! What every kind of item has in common for its author.

/// The setters of a definition's common members and of its access rules.
macro_rules! item_setters {
    () => {
        /// A name for people.
        #[must_use]
        pub fn title(mut self, title: impl Into<String>) -> Self {
            self.definition.title = Some(title.into());
            self
        }

        /// What it is or does, for a person or a model that has to choose.
        #[must_use]
        pub fn description(mut self, description: impl Into<String>) -> Self {
            self.definition.description = Some(description.into());
            self
        }

        /// An icon; may be called again for another size or theme.
        #[must_use]
        pub fn icon(mut self, icon: turnbuckle_types::Icon) -> Self {
            self.definition.icons.get_or_insert_default().push(icon);
            self
        }

        /// Metadata.
        #[must_use]
        pub fn meta(mut self, meta: turnbuckle_types::Meta) -> Self {
            self.definition.meta = meta;
            self
        }

        /// Shows it only to those principals for whom `visible` says so; to all others it does not
        /// exist. It may depend on the principal alone, so that a list is the same for as long as
        /// the principal is.
        #[must_use]
        pub fn visible_to(
            mut self,
            visible: impl Fn(Option<&turnbuckle_types::Principal>) -> bool + Send + Sync + 'static,
        ) -> Self {
            self.access.show_to(visible);
            self
        }

        /// Lets only principals with this scope use it. It is listed for everybody.
        #[must_use]
        pub fn scope(mut self, scope: impl Into<String>) -> Self {
            self.access.need_scope(scope.into());
            self
        }
    };
}
pub(crate) use item_setters;
