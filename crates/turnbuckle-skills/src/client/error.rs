//! Errors of a host that reads skills.

use turnbuckle_client::Error;

/// The reason why a skill, a file of one or a list of skills cannot be used.
///
/// The error holds no content that failed a check.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SkillError {
    /// A request to the server failed.
    #[error("{what}: {error}")]
    Request {
        /// The method, and the URI if it has one.
        what: String,
        /// The error of the client.
        #[source]
        error: Box<Error>,
    },
    /// The URI is not one of a skill's `SKILL.md`, so the server is not asked for its entry.
    #[error("{reason}; a skill is named by the URI of its SKILL.md")]
    InvalidUri {
        /// The URI, and the rule that it breaks.
        reason: String,
    },
    /// The server no longer serves a file that the held entry lists.
    #[error(
        "{uri}: the server no longer serves this file: ask for the skill's entry again \
         (LoadedSkill::refresh), and for the user's approval if it has changed"
    )]
    Missing {
        /// The URI of the file.
        uri: String,
    },
    /// The entry of a skill breaks a rule of the extension.
    #[error("the entry of skill {uri} is invalid: {reason}; its server has to correct it")]
    InvalidEntry {
        /// The URI of the entry.
        uri: String,
        /// The rule that is broken.
        reason: String,
    },
    /// The entry lists more files than the host accepts.
    #[error(
        "skill {uri} has {files} files, and this host accepts {limit} (SkillLimits::max_files): \
         raise the limit, or ask the server's author for a smaller skill"
    )]
    TooManyFiles {
        /// The URI of the skill.
        uri: String,
        /// The number of files in its entry.
        files: usize,
        /// The most files that this host accepts.
        limit: usize,
    },
    /// The files of the skill are larger in sum than the host accepts.
    #[error(
        "the files of skill {uri} have {bytes} bytes, and this host accepts {limit} \
         (SkillLimits::max_bytes): raise the limit, or ask the server's author for a smaller skill"
    )]
    TooManyBytes {
        /// The URI of the skill.
        uri: String,
        /// The bytes in sum: those of the entry, or those that were read of a dynamic skill.
        bytes: u64,
        /// The most bytes that this host accepts.
        limit: u64,
    },
    /// The content of the skill is generated, so nothing can be verified, and the host does not allow that.
    #[error(
        "skill {uri} is dynamic: its content cannot be verified, and no approval covers it; \
         SkillReader::allow_dynamic loads it nevertheless"
    )]
    DynamicRefused {
        /// The URI of the skill.
        uri: String,
    },
    /// The file is outside of the skill, or the held entry does not list it.
    #[error(
        "{path:?} is not a file of skill {uri} in the entry that was loaded: if the skill has changed, \
         ask for its entry again (LoadedSkill::refresh) and for the user's approval"
    )]
    Unlisted {
        /// The URI of the skill.
        uri: String,
        /// The path or URI that was asked for.
        path: String,
    },
    /// The content has another length than the entry says.
    #[error("{uri} has {actual} bytes, and the entry of its skill says {expected}: {STALE}")]
    SizeMismatch {
        /// The URI of the file.
        uri: String,
        /// The size in the entry.
        expected: u64,
        /// The size of what the server sent.
        actual: u64,
    },
    /// The content has another digest than the entry says.
    #[error("{uri} has the digest {actual}, and the entry of its skill says {expected}: {STALE}")]
    DigestMismatch {
        /// The URI of the file.
        uri: String,
        /// The digest in the entry.
        expected: String,
        /// The digest of what the server sent.
        actual: String,
    },
    /// A field of the frontmatter of `SKILL.md` differs from the entry.
    #[error(
        "{uri}: the field {field:?} of the frontmatter differs from the entry of the skill: {STALE}"
    )]
    FrontmatterMismatch {
        /// The URI of the skill.
        uri: String,
        /// The name of the field.
        field: String,
    },
    /// The frontmatter of `SKILL.md` cannot be read.
    #[error("{uri} has no frontmatter that can be read: {reason}; its server has to correct it")]
    InvalidFrontmatter {
        /// The URI of the skill.
        uri: String,
        /// The fault.
        reason: String,
    },
    /// The result of `resources/read` is not the content of one file.
    #[error("{uri}: the server did not send one file: {reason}")]
    UnusableContents {
        /// The URI of the file.
        uri: String,
        /// The fault.
        reason: String,
    },
    /// A list of the server does not end, or is too large in sum.
    #[error("the result of {method} {reason} ({setting})")]
    EndlessList {
        /// The method of the list.
        method: &'static str,
        /// The fault.
        reason: String,
        /// The limit that was reached.
        setting: &'static str,
    },
    /// The server did not declare `directoryRead`.
    #[error(
        "the server does not list directories (directoryRead is not declared): the files of a skill \
         are in its entry (LoadedSkill::files)"
    )]
    NoDirectories,
    /// A dynamic skill cannot be approved for later.
    #[error(
        "skill {uri} is dynamic: an approval cannot be bound to its content; ask the user each time it is \
         loaded"
    )]
    CannotBind {
        /// The URI of the skill.
        uri: String,
    },
}

/// The cause of a mismatch, and what to do.
const STALE: &str = "it was changed, or tampered with, after the entry was fetched; nothing of it may be \
    used. Ask for the entry again (`skills/get`), and for the user's approval";

impl SkillError {
    /// Creates the error of a request, with its method and what it is about.
    pub(super) fn request(method: &str, subject: &str, error: Error) -> Self {
        Self::Request {
            what: format!("{method} {subject}").trim_end().to_owned(),
            error: Box::new(error),
        }
    }

    /// Returns whether content is not what the held entry describes. A host presents the skill as one
    /// that has changed and needs the user's approval again.
    ///
    /// Specification: "Integrity and Verification" of the extension.
    #[must_use]
    pub fn is_verification_failure(&self) -> bool {
        matches!(
            self,
            Self::Unlisted { .. }
                | Self::SizeMismatch { .. }
                | Self::DigestMismatch { .. }
                | Self::FrontmatterMismatch { .. }
                | Self::InvalidFrontmatter { .. }
                | Self::UnusableContents { .. }
        )
    }

    /// Returns the error of the request, if one failed.
    #[must_use]
    pub fn request_error(&self) -> Option<&Error> {
        match self {
            Self::Request { error, .. } => Some(error),
            _ => None,
        }
    }
}
