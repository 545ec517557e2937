//! The scopes that an authorization request asks for.
//!
//! Specification: basic/authorization, "Scope Selection Strategy" and "Step-Up Authorization Flow"
//! (2026-07-28).

/// The scope that asks for a refresh token.
const OFFLINE_ACCESS: &str = "offline_access";

/// The texts that a choice of scopes is made from.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct ScopeSources<'a> {
    /// The scopes that the server's challenge names.
    pub(crate) challenge: Option<&'a [String]>,
    /// The scopes that the resource's metadata name.
    pub(crate) resource: Option<&'a [String]>,
    /// The scopes that the user of the client set.
    pub(crate) configured: &'a [String],
    /// The scopes that were asked for before.
    pub(crate) previous: &'a [String],
    /// The scopes that the authorization server knows.
    pub(crate) authorization_server: Option<&'a [String]>,
    /// True if a refresh token is of use.
    pub(crate) wants_refresh_token: bool,
}

/// Returns the scopes to ask for, without repetition. Empty means that `scope` is left out.
pub(crate) fn select_scopes(sources: ScopeSources<'_>) -> Vec<String> {
    let needed = match (sources.challenge, sources.configured) {
        (Some(challenge), _) => challenge,
        (None, []) => sources.resource.unwrap_or_default(),
        (None, configured) => configured,
    };
    let mut selected: Vec<String> = Vec::new();
    for scope in sources
        .previous
        .iter()
        .chain(needed)
        .chain(sources.configured)
    {
        if !scope.is_empty() && !selected.contains(scope) {
            selected.push(scope.clone());
        }
    }
    // Alone it would take the place of the server's default scopes.
    let known = sources.authorization_server.unwrap_or_default();
    if sources.wants_refresh_token
        && !selected.is_empty()
        && known.iter().any(|scope| scope == OFFLINE_ACCESS)
        && !selected.iter().any(|scope| scope == OFFLINE_ACCESS)
    {
        selected.push(OFFLINE_ACCESS.to_owned());
    }
    selected
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    // requirement: 7765f3f87a2a 790e6c19ec2c 8a1d74080686 b11f9c890cfa c9edef340d23 d28691237157
    // requirement: ff0cd6f072de
    #[test]
    fn the_challenge_precedes_the_metadata() {
        let (challenge, resource) = (list("a"), list("b c"));
        let sources = ScopeSources {
            challenge: Some(&challenge),
            resource: Some(&resource),
            ..ScopeSources::default()
        };
        assert_eq!(select_scopes(sources), list("a"));
        let sources = ScopeSources {
            challenge: None,
            ..sources
        };
        assert_eq!(select_scopes(sources), list("b c"));
        assert!(select_scopes(ScopeSources::default()).is_empty());
    }

    // requirement: c15d4ad326ba caf8b2f31edd
    #[test]
    fn a_step_up_keeps_the_scopes_of_earlier_requests() {
        let (challenge, previous) = (list("write read"), list("basic read"));
        let sources = ScopeSources {
            challenge: Some(&challenge),
            previous: &previous,
            ..ScopeSources::default()
        };
        assert_eq!(select_scopes(sources), list("basic read write"));
    }

    #[test]
    fn offline_access_is_asked_for_only_where_it_is_known() {
        let (challenge, known) = (list("a"), list("a offline_access"));
        let mut sources = ScopeSources {
            challenge: Some(&challenge),
            authorization_server: Some(&known),
            wants_refresh_token: true,
            ..ScopeSources::default()
        };
        assert_eq!(select_scopes(sources), list("a offline_access"));
        sources.challenge = None;
        assert!(select_scopes(sources).is_empty());
        sources.challenge = Some(&challenge);
        sources.authorization_server = Some(&challenge);
        assert_eq!(select_scopes(sources), list("a"));
    }
}
