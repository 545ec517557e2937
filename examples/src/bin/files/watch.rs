//! Notification of subscribers about changed files.

use notify::event::{EventKind, ModifyKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use turnbuckle::prelude::*;

use crate::client_path::file_uri;
use crate::grant::Tree;

/// Starts to watch the granted directories. Dropping the watcher stops it.
pub(crate) fn start(tree: &Tree, server: Server) -> Result<RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        if let Ok(event) = event {
            notify_subscribers(&server, &event);
        }
    })?;
    for grant in tree.grants() {
        watcher.watch(grant.path(), RecursiveMode::Recursive)?;
    }
    Ok(watcher)
}

/// Sends resource updates for the files of an event, and for their directories if an entry was
/// added, removed or renamed.
fn notify_subscribers(server: &Server, event: &Event) {
    let lists_change = match event.kind {
        EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => {
            true
        }
        EventKind::Modify(_) => false,
        _ => return,
    };
    for path in &event.paths {
        server.notify_resource_updated(&file_uri(path));
        if let Some(directory) = path.parent().filter(|_| lists_change) {
            server.notify_resource_updated(&file_uri(directory));
        }
    }
}
