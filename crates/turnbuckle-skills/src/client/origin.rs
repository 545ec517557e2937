//! The identity of a skill: its server, by the host's name for it, and its URI there.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The identity of a skill. Two servers can serve skills with the same URI or the same name: these are
/// different skills.
///
/// Specification: "Skill URIs" of the extension.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillOrigin {
    /// The host's name for the server, never the name that the server gives itself.
    pub server: String,
    /// The URI of the skill's `SKILL.md`.
    pub uri: String,
}

impl SkillOrigin {
    /// Creates the identity of the skill at `uri` on a server that the host calls `server`.
    pub fn new(server: impl Into<String>, uri: impl Into<String>) -> Self {
        Self {
            server: server.into(),
            uri: uri.into(),
        }
    }
}

impl fmt::Display for SkillOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.uri, self.server)
    }
}

/// A name that several skills have. A host shows all of them, each with its origin, and prefers none.
///
/// Specification: "Names" of the extension.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NameCollision {
    /// The `name` of the frontmatter of each.
    pub name: String,
    /// The skills with this name, in their order.
    pub origins: Vec<SkillOrigin>,
}

/// Returns the names that more than one of these skills has, in the order of the alphabet. A host passes
/// the skills of its file system too, under a name of its own for them.
pub fn name_collisions<'a>(
    skills: impl IntoIterator<Item = (&'a str, SkillOrigin)>,
) -> Vec<NameCollision> {
    let mut by_name: BTreeMap<&str, Vec<SkillOrigin>> = BTreeMap::new();
    for (name, origin) in skills {
        let origins = by_name.entry(name).or_default();
        if !origins.contains(&origin) {
            origins.push(origin);
        }
    }
    let collisions = by_name.into_iter().filter(|(_, origins)| origins.len() > 1);
    collisions
        .map(|(name, origins)| NameCollision {
            name: name.to_owned(),
            origins,
        })
        .collect()
}
