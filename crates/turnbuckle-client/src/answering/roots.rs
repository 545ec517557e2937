//! The directories and files that a client opens to its server.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use turnbuckle_session::reaches_server;
use turnbuckle_types::method::RootsListChanged;
use turnbuckle_types::{ListRootsResult, Notification, NotificationParams, Root, RootError};

use crate::live::Live;

/// The roots of one client or of several. Clones are the same roots: what one changes, all have.
///
/// A legacy server is told when they change; a modern one asks when it needs them.
///
/// Specification: client/roots (2026-07-28).
#[derive(Debug, Clone)]
pub struct Roots(Arc<watch::Sender<Vec<Root>>>);

impl Default for Roots {
    fn default() -> Self {
        Self::new()
    }
}

impl Roots {
    /// No roots yet.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(Vec::new())))
    }

    /// These roots, in place of those that were there.
    ///
    /// # Errors
    /// When one is no absolute `file://` URI, or holds `..`; nothing is changed then.
    pub fn set(&self, roots: impl IntoIterator<Item = Root>) -> Result<(), RootError> {
        let mut new: Vec<Root> = Vec::new();
        for root in roots {
            root.check()?;
            put(&mut new, root);
        }
        self.0.send_if_modified(|roots| {
            let changed = *roots != new;
            *roots = new;
            changed
        });
        Ok(())
    }

    /// Adds a root, in place of one with the same URI if there is one.
    ///
    /// # Errors
    /// When it is no absolute `file://` URI, or holds `..`.
    pub fn add(&self, root: Root) -> Result<(), RootError> {
        root.check()?;
        self.0.send_if_modified(|roots| put(roots, root));
        Ok(())
    }

    /// Takes the root with that URI away. Whether it was there.
    pub fn remove(&self, uri: &str) -> bool {
        self.0.send_if_modified(|roots| {
            let before = roots.len();
            roots.retain(|root| root.uri != uri);
            roots.len() != before
        })
    }

    /// The roots that there are.
    #[must_use]
    pub fn list(&self) -> Vec<Root> {
        self.0.borrow().clone()
    }
}

/// Whether that changed anything.
fn put(roots: &mut Vec<Root>, root: Root) -> bool {
    match roots.iter_mut().find(|old| old.uri == root.uri) {
        Some(old) if *old == root => false,
        Some(old) => {
            *old = root;
            true
        }
        None => {
            roots.push(root);
            true
        }
    }
}

/// The roots that were handed to a client, and what of them its server has seen, or was told that it changed.
pub(super) struct OpenRoots {
    roots: Roots,
    seen: Mutex<watch::Receiver<Vec<Root>>>,
}

impl OpenRoots {
    pub(super) fn new(roots: Roots) -> Self {
        let seen = Mutex::new(roots.0.subscribe());
        Self { roots, seen }
    }

    fn seen(&self) -> MutexGuard<'_, watch::Receiver<Vec<Root>>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn answer(&self) -> ListRootsResult {
        self.seen().mark_unchanged();
        ListRootsResult::new(self.roots.list())
    }

    /// Tells the server of a connection, as long as that lasts, when the roots have changed since
    /// it saw them; several changes at once are one.
    pub(super) fn announce_on(self: &Arc<Self>, live: &Live) {
        if !reaches_server(RootsListChanged::METHOD, live.server.revision) {
            return;
        }
        let open = self.clone();
        let mut seen = self.seen().clone();
        let conversation = Arc::downgrade(&live.conversation);
        let ended = live.conversation.ended().clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    changed = seen.changed() => if changed.is_err() { return },
                    () = ended.cancelled() => return,
                }
                seen.mark_unchanged();
                open.seen().mark_unchanged();
                let Some(conversation) = conversation.upgrade() else {
                    return;
                };
                let nothing = NotificationParams::new();
                let told = tokio::select! {
                    told = conversation.notify(RootsListChanged::METHOD, &nothing) => told,
                    () = ended.cancelled() => return,
                };
                if let Err(error) = told {
                    tracing::debug!(?error, "the server was not told that the roots changed");
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(uri: &str) -> Root {
        Root::unchecked(uri)
    }

    // requirement: 3a458bef0fdb 9e33d1771fba
    #[test]
    fn only_absolute_files_are_roots_and_one_that_is_none_changes_nothing() {
        let roots = Roots::new();
        roots.add(root("file:///a")).unwrap();
        for uri in ["https://a/", "file://a", "file:///a/../b", "/a"] {
            assert!(roots.add(root(uri)).is_err(), "{uri}");
            assert!(roots.set([root("file:///b"), root(uri)]).is_err(), "{uri}");
        }
        assert_eq!(roots.list(), [root("file:///a")]);
    }

    #[test]
    fn clones_are_the_same_roots_and_only_changes_count() {
        let roots = Roots::new();
        let open = OpenRoots::new(roots.clone());
        let changed = || {
            let changed = open.seen.lock().unwrap().has_changed().unwrap();
            open.answer();
            changed
        };
        assert!(!changed());
        roots.add(root("file:///a")).unwrap();
        assert!(changed());
        roots.add(root("file:///a")).unwrap();
        roots.set([root("file:///a"), root("file:///a")]).unwrap();
        assert!(!roots.remove("file:///b"));
        assert!(!changed());
        roots.add(root("file:///a").name("named")).unwrap();
        assert!(changed());
        assert_eq!(open.answer().roots, roots.list());
        assert!(roots.remove("file:///a"));
        assert!(changed());
        assert!(roots.list().is_empty());
    }
}
