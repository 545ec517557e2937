//! Access rules of items: which principals can see and use an item.

use std::sync::Arc;

use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{Principal, ProtocolError, RequiredScopes};

/// A function that returns whether a principal can see an item.
type VisibilityRule = dyn Fn(Option<&Principal>) -> bool + Send + Sync;

/// The access rules of an item or a group. Most have none.
#[derive(Clone, Default)]
pub(crate) struct AccessRules(Option<Box<Rules>>);

#[derive(Clone, Default)]
struct Rules {
    /// The visibility rules, all of which must agree.
    visible: Vec<Arc<VisibilityRule>>,
    scopes: Vec<String>,
    /// True if principals without the scopes do not see the item in lists.
    hidden_without_scopes: bool,
    /// True if no list holds the item.
    is_unlisted: bool,
}

impl AccessRules {
    /// Adds a rule of who can see the item.
    pub(crate) fn add_visibility_rule(
        &mut self,
        visible: impl Fn(Option<&Principal>) -> bool + Send + Sync + 'static,
    ) {
        let rules = self.0.get_or_insert_default();
        rules.visible.push(Arc::new(visible));
    }

    /// Adds a scope that using the item requires.
    pub(crate) fn require_scope(&mut self, scope: String) {
        self.0.get_or_insert_default().scopes.push(scope);
    }

    /// Leaves the item out of the lists of principals that lack its scopes.
    pub(crate) fn hide_without_scopes(&mut self) {
        self.0.get_or_insert_default().hidden_without_scopes = true;
    }

    /// Leaves the item out of all lists.
    pub(crate) fn hide_from_lists(&mut self) {
        self.0.get_or_insert_default().is_unlisted = true;
    }

    /// Returns the scopes that using the item requires.
    pub(crate) fn scopes(&self) -> &[String] {
        self.0.as_ref().map_or(&[], |rules| &rules.scopes)
    }

    /// Adds the scopes that using the item requires, where they are new.
    pub(crate) fn add_scopes(&self, scopes: &mut Vec<String>) {
        for scope in self.scopes() {
            if !scopes.contains(scope) {
                scopes.push(scope.clone());
            }
        }
    }

    /// Adds the rules of the enclosing group or server.
    pub(crate) fn merge_outer(mut self, outer: &Self) -> Self {
        if let Some(outer) = &outer.0 {
            let rules = self.0.get_or_insert_default();
            rules.visible.extend_from_slice(&outer.visible);
            rules.scopes.extend_from_slice(&outer.scopes);
            rules.hidden_without_scopes |= outer.hidden_without_scopes;
            rules.is_unlisted |= outer.is_unlisted;
        }
        self
    }

    /// Returns whether some principals cannot use the item.
    pub(crate) fn is_restricted(&self) -> bool {
        let rules = self.0.as_ref();
        rules.is_some_and(|rules| !rules.visible.is_empty() || !rules.scopes.is_empty())
    }

    /// Returns whether the lists of some principals lack the item.
    pub(crate) fn restricts_lists(&self) -> bool {
        self.0.as_ref().is_some_and(|rules| {
            let hides = rules.hidden_without_scopes && !rules.scopes.is_empty();
            hides || rules.is_unlisted || !rules.visible.is_empty()
        })
    }

    /// Returns whether this principal can see the item.
    pub(crate) fn is_visible_to(&self, principal: Option<&Principal>) -> bool {
        let mut rules = self.0.iter().flat_map(|rules| &rules.visible);
        rules.all(|visible| visible(principal))
    }

    /// Returns whether lists of this principal hold the item. Scopes hide nothing by default, so that
    /// clients find out what to ask for, and nothing at all where nobody is authenticated.
    pub(crate) fn is_listed_for(&self, principal: Option<&Principal>) -> bool {
        let Some(rules) = &self.0 else {
            return true;
        };
        let has_scopes = !rules.hidden_without_scopes
            || principal.is_none()
            || self.check_scopes(principal).is_ok();
        !rules.is_unlisted && has_scopes && self.is_visible_to(principal)
    }

    /// Returns an error if the principal lacks a required scope. Called before a handler starts.
    pub(crate) fn check_scopes(&self, principal: Option<&Principal>) -> Result<(), ProtocolError> {
        let scopes = self.scopes();
        if scopes.is_empty() {
            return Ok(());
        }
        let needed = RequiredScopes::new(scopes.iter().map(String::as_str));
        if needed.is_met_by(principal) {
            Ok(())
        } else {
            Err(ProtocolError::forbidden(needed))
        }
    }
}

debug_fields!(AccessRules {
    restricted = |access| access.is_restricted(),
    scopes = |access| access.scopes().to_vec(),
});
