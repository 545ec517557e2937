//! The principal of a request, and the owner of a session or connection.

use std::collections::BTreeSet;
use std::sync::Arc;

use turnbuckle_session::internal::SessionOwner;
use turnbuckle_types::Principal;

/// Returns the principal of a request, if a layer in front of the endpoint put one into its
/// extensions.
pub(crate) fn from_extensions(extensions: &http::Extensions) -> Option<Arc<Principal>> {
    if extensions.is_empty() {
        return None;
    }
    let shared = extensions.get::<Arc<Principal>>().cloned();
    shared.or_else(|| extensions.get::<Principal>().cloned().map(Arc::new))
}

/// The owner of a session or connection: the principal that opened it, and the only one that may
/// use it. One that was opened without a principal may be used by anybody who knows its id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Owner(Option<SessionOwner>);

impl Owner {
    pub(crate) fn new(principal: Option<&Principal>) -> Self {
        Self(principal.map(SessionOwner::from))
    }

    /// Returns the owner that the record of a session names.
    pub(crate) fn of_record(owner: Option<SessionOwner>) -> Self {
        Self(owner)
    }

    /// Returns the owner as the record of a session has it.
    pub(crate) fn into_record(self) -> Option<SessionOwner> {
        self.0
    }

    /// Returns whether a request of this principal may use what the owner opened.
    pub(crate) fn admits(&self, principal: Option<&Principal>) -> bool {
        match (&self.0, principal) {
            (None, _) => true,
            (Some(owner), Some(principal)) => owner.identity() == principal.identity(),
            (Some(_), None) => false,
        }
    }
}

/// The owner of a connection whose calls all run with the scopes of the request that opened it: only
/// requests with the same scopes may use it, too.
#[derive(Debug)]
pub(crate) struct ScopedOwner {
    owner: Owner,
    scopes: BTreeSet<String>,
}

impl ScopedOwner {
    pub(crate) fn new(principal: Option<&Principal>) -> Self {
        let scopes = principal.map(|principal| principal.scopes.iter().cloned().collect());
        Self {
            owner: Owner::new(principal),
            scopes: scopes.unwrap_or_default(),
        }
    }

    /// Returns whether a request of this principal may use what the owner opened.
    pub(crate) fn admits(&self, principal: Option<&Principal>) -> bool {
        self.owner.admits(principal)
            && (self.owner.0.is_none() || principal.is_some_and(|it| self.has_scopes(&it.scopes)))
    }

    fn has_scopes(&self, scopes: &[String]) -> bool {
        let scopes: BTreeSet<&str> = scopes.iter().map(String::as_str).collect();
        scopes.into_iter().eq(&self.scopes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_all_that_names_a_principal() {
        let ann = Principal::new("https://issuer.example", "ann").client("app");
        let owner = Owner::new(Some(&ann));
        assert!(owner.admits(Some(&ann.clone().scopes(["more"]))));
        for other in [
            Principal::new("https://issuer.example", "ann"),
            Principal::new("https://issuer.example", "bob").client("app"),
            Principal::new("https://other.example", "ann").client("app"),
            Principal::new("https://issuer.example", "ann").client("other"),
        ] {
            assert!(!owner.admits(Some(&other)), "{other:?}");
        }
        assert!(!owner.admits(None));
        assert!(Owner::new(None).admits(None) && Owner::new(None).admits(Some(&ann)));
    }

    #[test]
    fn a_scoped_owner_has_the_same_scopes_in_any_order() {
        let ann = Principal::new("https://issuer.example", "ann");
        let owner = ScopedOwner::new(Some(&ann.clone().scopes(["a", "b"])));
        for same in [vec!["a", "b"], vec!["b", "a"], vec!["b", "a", "b"]] {
            assert!(owner.admits(Some(&ann.clone().scopes(same))));
        }
        for other in [vec![], vec!["a"], vec!["a", "c"], vec!["a", "b", "c"]] {
            assert!(!owner.admits(Some(&ann.clone().scopes(other))));
        }
        let bob = Principal::new("https://issuer.example", "bob").scopes(["a", "b"]);
        assert!(!owner.admits(Some(&bob)) && !owner.admits(None));
        let nobody = ScopedOwner::new(None);
        assert!(nobody.admits(None) && nobody.admits(Some(&bob)));
    }
}
