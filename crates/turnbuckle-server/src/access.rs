//! Who may see and use an item: a function of the principal alone.

use std::fmt;
use std::sync::Arc;

use turnbuckle_types::{Error, Principal, ScopeNeeded};

type Visible = dyn Fn(Option<&Principal>) -> bool + Send + Sync;

/// The rules of an item or a group; most have none.
#[derive(Clone, Default)]
pub(crate) struct Access(Option<Box<Rules>>);

#[derive(Clone, Default)]
struct Rules {
    /// All have to agree.
    visible: Vec<Arc<Visible>>,
    scopes: Vec<String>,
}

impl Access {
    pub(crate) fn show_to(
        &mut self,
        visible: impl Fn(Option<&Principal>) -> bool + Send + Sync + 'static,
    ) {
        let rules = self.0.get_or_insert_default();
        rules.visible.push(Arc::new(visible));
    }

    pub(crate) fn need_scope(&mut self, scope: String) {
        self.0.get_or_insert_default().scopes.push(scope);
    }

    /// These rules, and those of what is around.
    pub(crate) fn inside(mut self, outer: &Self) -> Self {
        if let Some(outer) = &outer.0 {
            let rules = self.0.get_or_insert_default();
            rules.visible.extend_from_slice(&outer.visible);
            rules.scopes.extend_from_slice(&outer.scopes);
        }
        self
    }

    /// Whether different principals may see different things.
    pub(crate) fn is_restricted(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn shows_to(&self, principal: Option<&Principal>) -> bool {
        let mut rules = self.0.iter().flat_map(|rules| &rules.visible);
        rules.all(|visible| visible(principal))
    }

    /// Checked before a handler starts.
    pub(crate) fn check(&self, principal: Option<&Principal>) -> Result<(), Error> {
        let scopes = self.0.as_ref().map(|rules| &rules.scopes);
        let Some(scopes) = scopes.filter(|scopes| !scopes.is_empty()) else {
            return Ok(());
        };
        let needed = ScopeNeeded::new(scopes.iter().map(String::as_str));
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
            .field("scopes", &self.0.as_ref().map(|rules| &rules.scopes))
            .finish_non_exhaustive()
    }
}
