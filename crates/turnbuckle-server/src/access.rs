//! Who may see and use an item: a function of the principal alone.

use std::fmt;
use std::sync::Arc;

use turnbuckle_types::{Error, Principal, ScopeNeeded};

type Visible = dyn Fn(Option<&Principal>) -> bool + Send + Sync;

/// The rules of an item or a group.
#[derive(Clone, Default)]
pub(crate) struct Access {
    /// All have to agree.
    visible: Vec<Arc<Visible>>,
    scopes: Vec<String>,
}

impl Access {
    pub(crate) fn show_to(
        &mut self,
        visible: impl Fn(Option<&Principal>) -> bool + Send + Sync + 'static,
    ) {
        self.visible.push(Arc::new(visible));
    }

    /// These rules, and those of what is around.
    pub(crate) fn inside(mut self, outer: &Self) -> Self {
        self.visible.extend(outer.visible.iter().cloned());
        self.scopes.extend(outer.scopes.iter().cloned());
        self
    }

    pub(crate) fn need_scope(&mut self, scope: String) {
        self.scopes.push(scope);
    }

    /// Whether different principals may see different things.
    pub(crate) fn is_restricted(&self) -> bool {
        !self.visible.is_empty() || !self.scopes.is_empty()
    }

    pub(crate) fn shows_to(&self, principal: Option<&Principal>) -> bool {
        self.visible.iter().all(|visible| visible(principal))
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
