//! On whose behalf a request is made, and who may use what somebody opened.

use std::sync::Arc;

use turnbuckle_types::Principal;

/// On whose behalf a request is made, where something in front of us established it.
pub(crate) fn of(extensions: &http::Extensions) -> Option<Arc<Principal>> {
    if extensions.is_empty() {
        return None;
    }
    let shared = extensions.get::<Arc<Principal>>().cloned();
    shared.or_else(|| extensions.get::<Principal>().cloned().map(Arc::new))
}

/// Who opened a session or a connection: nobody else may use it. What nobody in particular opened
/// is open to whoever knows its id.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Owner(Option<Named>);

#[derive(Debug, PartialEq, Eq)]
struct Named {
    issuer: String,
    subject: String,
    client: Option<String>,
}

impl Owner {
    pub(crate) fn of(principal: Option<&Principal>) -> Self {
        Self(principal.map(|principal| Named {
            issuer: principal.issuer.clone(),
            subject: principal.subject.clone(),
            client: principal.client.clone(),
        }))
    }

    /// Whether a request on that behalf may use it.
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
        let owner = Owner::of(Some(&ann));
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
        assert!(Owner::of(None).admits(None) && Owner::of(None).admits(Some(&ann)));
    }
}
