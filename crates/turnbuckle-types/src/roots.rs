//! Roots: the directories that a client opens to a server.

use crate::Meta;
use crate::object::object;

object! {
    /// A directory or file that the server may work in.
    ///
    /// [`new`](Root::new) checks the URI; `unchecked` creates a root with any URI, as a received one
    /// may have.
    ///
    /// Specification: client/roots (2026-07-28).
    pub struct Root as pub unchecked {
        /// The `file://` URI of the root.
        req uri: String = "uri" is uri,
        /// The name for people.
        opt name: String = "name",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

impl Root {
    /// Creates a root with an absolute `file://` URI.
    ///
    /// # Errors
    /// If the URI is of another kind, not absolute, or climbs with `..`.
    pub fn new(uri: impl Into<String>) -> Result<Self, RootError> {
        let root = Self::unchecked(uri);
        root.check()?;
        Ok(root)
    }

    /// Checks the URI of a root that was received or created with [`Root::unchecked`].
    ///
    /// # Errors
    /// If it is not a `file://` URI, not absolute, or climbs with `..`.
    pub fn check(&self) -> Result<(), RootError> {
        let rest = match self.uri.split_at_checked("file://".len()) {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file://") => rest,
            _ => return Err(RootError::NotAFileUri),
        };
        // What stands before the first slash is a host, as in `file://server/share`.
        let path = rest
            .find('/')
            .map(|start| &rest[start..])
            .ok_or(RootError::NotAbsolute)?;
        if path.split(['/', '\\']).any(has_parent_segment) {
            return Err(RootError::ParentSegment);
        }
        Ok(())
    }
}

/// Returns whether a path segment is `..`, plainly or in percent-encoding, which may also hide a separator.
fn has_parent_segment(segment: &str) -> bool {
    let plain = segment.replace("%2e", ".").replace("%2E", ".");
    let plain = ["%2f", "%2F", "%5c", "%5C"]
        .iter()
        .fold(plain, |text, code| text.replace(code, "/"));
    plain.split('/').any(|part| part == "..")
}

/// An error in the URI of a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RootError {
    /// The URI does not start with `file://`.
    #[error("a root must be a file:// URI")]
    NotAFileUri,
    /// The URI has no absolute path.
    #[error("a root must have an absolute path")]
    NotAbsolute,
    /// The path has a `..`.
    #[error("a root must not hold `..`")]
    ParentSegment,
}

object! {
    /// Result of `roots/list`, which has no pages.
    pub struct ListRootsResult {
        /// The roots.
        req roots: Vec<Root> = "roots",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}
