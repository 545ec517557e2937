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
