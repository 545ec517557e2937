//! Who may see and use an item: a function of the principal alone.

use std::fmt;
use std::sync::Arc;

use turnbuckle_types::{Error, Principal, ScopeNeeded};

type Visible = dyn Fn(Option<&Principal>) -> bool + Send + Sync;

/// The rules of one item.
#[derive(Clone, Default)]
pub(crate) struct Access {
    visible: Option<Arc<Visible>>,
    scopes: Vec<String>,
}

impl Access {
    pub(crate) fn show_to(
        &mut self,
        visible: impl Fn(Option<&Principal>) -> bool + Send + Sync + 'static,
    ) {
        self.visible = Some(Arc::new(visible));
    }

    pub(crate) fn need_scope(&mut self, scope: String) {
        self.scopes.push(scope);
    }

    /// Whether different principals may see different things.
    pub(crate) fn is_restricted(&self) -> bool {
        self.visible.is_some() || !self.scopes.is_empty()
    }

    pub(crate) fn shows_to(&self, principal: Option<&Principal>) -> bool {
        self.visible
            .as_ref()
            .is_none_or(|visible| visible(principal))
    }

    /// Checked before a handler starts.
    pub(crate) fn check(&self, principal: Option<&Principal>) -> Result<(), Error> {
        if self.scopes.is_empty() {
            return Ok(());
        }
        let needed = ScopeNeeded::new(self.scopes.iter().map(String::as_str));
        if needed.is_met_by(principal) {
            Ok(())
        } else {
            Err(Error::forbidden(needed))
        }
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("restricted", &self.is_restricted())
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// The setters that every kind of item has for its access rules.
macro_rules! access_setters {
    () => {
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
pub(crate) use access_setters;
