//! The directories and files that a client exposes to its server.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use turnbuckle_session::transport::is_server_method;
use turnbuckle_types::method::RootsListChanged;
use turnbuckle_types::{
    ListRootsResult, Notification, NotificationParams, ProtocolError, Root, RootError,
};

use crate::connection::Connection;
use crate::input::handler::InputHandler;
use crate::input::question::QuestionContext;

/// The roots of one client or of several. Clones share the same roots.
///
/// A legacy server is notified when they change; a modern one asks when it needs them.
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
    /// Creates an empty list of roots.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(Vec::new())))
    }

    /// Replaces all roots.
    ///
    /// # Errors
    /// Returns an error if one is no absolute `file://` URI or contains `..`; nothing is changed
    /// then.
    pub fn set(&self, roots: impl IntoIterator<Item = Root>) -> Result<(), RootError> {
        let mut new: Vec<Root> = Vec::new();
        for root in roots {
            root.check()?;
            insert_or_replace(&mut new, root);
        }
        self.0.send_if_modified(|roots| {
            let changed = *roots != new;
            *roots = new;
            changed
        });
        Ok(())
    }

    /// Adds a root, or replaces the one with the same URI.
    ///
    /// # Errors
    /// Returns an error if it is no absolute `file://` URI or contains `..`.
    pub fn add(&self, root: Root) -> Result<(), RootError> {
        root.check()?;
        self.0
            .send_if_modified(|roots| insert_or_replace(roots, root));
        Ok(())
    }

    /// Removes the root with that URI. Returns whether there was one.
    pub fn remove(&self, uri: &str) -> bool {
        self.0.send_if_modified(|roots| {
            let before = roots.len();
            roots.retain(|root| root.uri != uri);
            roots.len() != before
        })
    }

    /// Returns the current roots.
    #[must_use]
    pub fn list(&self) -> Vec<Root> {
        self.0.borrow().clone()
    }
}

/// Adds a root, or replaces the one with the same URI. Returns whether that changed anything.
fn insert_or_replace(roots: &mut Vec<Root>, root: Root) -> bool {
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

/// The roots that a server gets.
#[derive(Clone)]
pub(crate) enum RootsSource {
    /// A list, whose changes the server is notified of.
    List(Arc<RootsProvider>),
    /// A handler that is asked each time.
    Handler(RootsHandler),
}

/// The user's handler of questions for roots.
pub(crate) type RootsHandler = InputHandler<(), Result<Vec<Root>, ProtocolError>>;

/// Asks the handler, and checks its roots.
pub(crate) async fn answer_roots(
    handler: &RootsHandler,
    question: QuestionContext,
) -> Result<Vec<Root>, ProtocolError> {
    let roots = handler.run((), question).await??;
    for root in &roots {
        root.check()
            .map_err(|error| ProtocolError::internal(error.to_string()))?;
    }
    Ok(roots)
}

/// The roots of one client, and the state that its server has seen or was notified of.
pub(crate) struct RootsProvider {
    roots: Roots,
    seen: Mutex<watch::Receiver<Vec<Root>>>,
}

impl RootsProvider {
    pub(crate) fn new(roots: Roots) -> Self {
        let seen = Mutex::new(roots.0.subscribe());
        Self { roots, seen }
    }

    fn lock_seen(&self) -> MutexGuard<'_, watch::Receiver<Vec<Root>>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the result of `roots/list`.
    pub(crate) fn answer(&self) -> ListRootsResult {
        self.lock_seen().mark_unchanged();
        ListRootsResult::new(self.roots.list())
    }

    /// Notifies the server of a connection whenever the roots change, until the connection is lost.
    /// Several changes at once are one notification.
    pub(crate) fn notify_changes(self: &Arc<Self>, connection: &Connection) {
        if !is_server_method(RootsListChanged::METHOD, connection.server.revision) {
            return;
        }
        let provider = self.clone();
        let mut seen = self.lock_seen().clone();
        let session = Arc::downgrade(&connection.session);
        let ended = connection.session.closed().clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    changed = seen.changed() => if changed.is_err() { return },
                    () = ended.cancelled() => return,
                }
                seen.mark_unchanged();
                provider.lock_seen().mark_unchanged();
                let Some(session) = session.upgrade() else {
                    return;
                };
                let nothing = NotificationParams::new();
                let sent = tokio::select! {
                    sent = session.notify(RootsListChanged::METHOD, &nothing) => sent,
                    () = ended.cancelled() => return,
                };
                if let Err(error) = sent {
                    tracing::debug!(?error, "the server was not notified that the roots changed");
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
    fn only_absolute_file_uris_are_roots_and_an_invalid_one_changes_nothing() {
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
        let provider = RootsProvider::new(roots.clone());
        let changed = || {
            let changed = provider.seen.lock().unwrap().has_changed().unwrap();
            provider.answer();
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
        assert_eq!(provider.answer().roots, roots.list());
        assert!(roots.remove("file:///a"));
        assert!(changed());
        assert!(roots.list().is_empty());
    }
}
