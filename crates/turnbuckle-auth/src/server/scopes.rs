//! Scope hierarchies: a broad scope that implies narrower ones.

use std::collections::HashMap;

/// The scopes of a token that are read. Others are left out.
const MAX_SCOPES: usize = 256;

/// The scopes that other scopes imply.
#[derive(Debug, Clone, Default)]
pub(super) struct ScopeHierarchy {
    implied: HashMap<String, Vec<String>>,
}

impl ScopeHierarchy {
    /// Adds scopes that a scope implies.
    pub(super) fn add(&mut self, scope: String, implied: impl IntoIterator<Item = String>) {
        self.implied.entry(scope).or_default().extend(implied);
    }

    /// Returns the granted scopes and all that they imply, directly or through others, each once.
    pub(super) fn expand(&self, granted: Vec<String>) -> Vec<String> {
        let mut held: Vec<String> = Vec::with_capacity(granted.len());
        let mut pending = granted;
        pending.reverse();
        while let Some(scope) = pending.pop() {
            if held.len() >= MAX_SCOPES || held.contains(&scope) {
                continue;
            }
            pending.extend(self.implied.get(&scope).into_iter().flatten().cloned());
            held.push(scope);
        }
        held
    }
}

/// Returns the scopes of a text that separates them by spaces.
pub(super) fn split(text: &str) -> Vec<String> {
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

/// Returns whether a text can be a scope of OAuth.
pub(super) fn is_scope(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    // requirement: f15f195aed7c
    #[test]
    fn a_broad_scope_implies_narrower_ones_through_others() {
        let mut hierarchy = ScopeHierarchy::default();
        hierarchy.add("admin".into(), ["orders:write".into(), "users".into()]);
        hierarchy.add("orders:write".into(), ["orders:read".into()]);
        hierarchy.add("orders:read".into(), ["admin".into()]); // a cycle ends
        let held = hierarchy.expand(vec!["x".into(), "admin".into()]);
        for scope in ["x", "admin", "orders:write", "users", "orders:read"] {
            assert_eq!(
                held.iter().filter(|held| *held == scope).count(),
                1,
                "{scope}"
            );
        }
        assert_eq!(hierarchy.expand(vec!["users".into()]), ["users"]);
    }

    #[test]
    fn the_number_of_scopes_is_bounded() {
        let granted = (0..10_000).map(|n| n.to_string()).collect();
        assert_eq!(ScopeHierarchy::default().expand(granted).len(), MAX_SCOPES);
    }
}
