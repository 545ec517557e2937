//! The principal of a request, and the owner of a session or connection.

use std::sync::Arc;

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
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Owner(Option<OwnerIdentity>);

#[derive(Debug, PartialEq, Eq)]
struct OwnerIdentity {
    issuer: String,
    subject: String,
    client: Option<String>,
}

impl Owner {
    pub(crate) fn new(principal: Option<&Principal>) -> Self {
        Self(principal.map(|principal| OwnerIdentity {
            issuer: principal.issuer.clone(),
            subject: principal.subject.clone(),
            client: principal.client.clone(),
        }))
    }

    /// Returns whether a request of this principal may use what the owner opened.
    pub(crate) fn admits(&self, principal: Option<&Principal>) -> bool {
        match (&self.0, principal) {
            (None, _) => true,
            (Some(owner), Some(principal)) => {
                owner.issuer == principal.issuer
                    && owner.subject == principal.subject
                    && owner.client == principal.client
            }
            (Some(_), None) => false,
        }
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
}
