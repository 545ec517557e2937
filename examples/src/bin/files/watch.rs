//! Notification of subscribers about changed files.

use notify::event::{EventKind, ModifyKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use turnbuckle::prelude::*;

use crate::grant::Tree;
use crate::place::uri_of;

/// A watcher that stops when it is dropped.
pub(crate) fn start(tree: &Tree, server: Server) -> Result<RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        if let Ok(event) = event {
            tell(&server, &event);
        }
    })?;
    for grant in tree.grants() {
        watcher.watch(grant.path(), RecursiveMode::Recursive)?;
    }
    Ok(watcher)
}

fn tell(server: &Server, event: &Event) {
    let lists_change = match event.kind {
        EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => {
            true
        }
        EventKind::Modify(_) => false,
        _ => return,
    };
    for path in &event.paths {
        server.notify_resource_updated(&uri_of(path));
        if let Some(directory) = path.parent().filter(|_| lists_change) {
            server.notify_resource_updated(&uri_of(directory));
        }
    }
}
