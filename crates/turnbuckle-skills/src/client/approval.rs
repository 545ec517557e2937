//! Approvals of the user, each bound to the files that it was given for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::SkillError;
use super::origin::SkillOrigin;
use crate::{Digest, Skill};

/// The approvals that a user has given, by skill. It can be stored, for example as JSON.
///
/// An approval is bound to the URIs and digests of all files of the entry that the user saw. With any other set it is
/// revoked, and stays so even if the former set comes back. It is for one skill: those inside of it need approvals of
/// their own. It grants nothing that the frontmatter asks for, such as `allowed-tools`.
///
/// Specification: Skills (stable), "Security Considerations".
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Approval>", into = "Vec<Approval>")]
pub struct ApprovalSet(BTreeMap<SkillOrigin, Digest>);

/// An approval as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Approval {
    #[serde(flatten)]
    origin: SkillOrigin,
    digest: Digest,
}

/// The state of a user's approval of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalState {
    /// The user has approved exactly these files.
    Approved,
    /// There is no approval: ask the user.
    Missing,
    /// The user has approved other files, and that approval is revoked: ask the user, and say that the skill has
    /// changed.
    Revoked,
}

impl ApprovalSet {
    /// Creates an empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores the user's approval of the skill of an entry, with the files that the entry lists. `server` is the host's
    /// name for the server that sent the entry.
    ///
    /// # Errors
    /// Returns [`SkillError::CannotBind`] for a dynamic skill.
    pub fn approve(&mut self, server: &str, entry: &Skill) -> Result<(), SkillError> {
        let digest = approval_digest(entry)?;
        let origin = SkillOrigin::new(server, entry.uri().as_str());
        self.0.insert(origin, digest);
        Ok(())
    }

    /// Returns the state of the user's approval of an entry of a server. An approval of other files is removed.
    pub fn check(&mut self, server: &str, entry: &Skill) -> ApprovalState {
        let origin = SkillOrigin::new(server, entry.uri().as_str());
        let Some(approved) = self.0.get(&origin) else {
            return ApprovalState::Missing;
        };
        let is_same = approval_digest(entry).is_ok_and(|digest| digest == *approved);
        if is_same {
            return ApprovalState::Approved;
        }
        self.0.remove(&origin);
        ApprovalState::Revoked
    }

    /// Removes the approval of a skill. Returns whether there was one.
    pub fn revoke(&mut self, origin: &SkillOrigin) -> bool {
        self.0.remove(origin).is_some()
    }

    /// Removes the approvals of all skills of a server.
    pub fn remove_server(&mut self, server: &str) {
        self.0.retain(|origin, _| origin.server != server);
    }

    /// Returns the approved skills, in the order of their servers and URIs.
    pub fn origins(&self) -> impl Iterator<Item = &SkillOrigin> {
        self.0.keys()
    }
}

/// Returns the digest of the set of URIs and digests that an entry lists: what an approval is bound to. The order of
/// the files does not count.
///
/// # Errors
/// Returns [`SkillError::CannotBind`] for a dynamic skill.
pub fn approval_digest(entry: &Skill) -> Result<Digest, SkillError> {
    let files = entry.files().ok_or_else(|| SkillError::CannotBind {
        uri: entry.uri().as_str().to_owned(),
    })?;
    let mut files: Vec<_> = files.iter().map(|file| (&*file.uri, file.digest)).collect();
    files.sort_unstable();
    // With the length of each URI before it, two sets cannot be written alike.
    let mut text = b"turnbuckle skill approval 1\n".to_vec();
    for (uri, digest) in files {
        text.extend_from_slice(format!("{} {uri} {digest}\n", uri.len()).as_bytes());
    }
    Ok(Digest::compute(&text))
}

impl From<Vec<Approval>> for ApprovalSet {
    fn from(approvals: Vec<Approval>) -> Self {
        let approvals = approvals.into_iter();
        Self(
            approvals
                .map(|approval| (approval.origin, approval.digest))
                .collect(),
        )
    }
}

impl From<ApprovalSet> for Vec<Approval> {
    fn from(set: ApprovalSet) -> Self {
        let approvals = set.0.into_iter();
        approvals
            .map(|(origin, digest)| Approval { origin, digest })
            .collect()
    }
}
