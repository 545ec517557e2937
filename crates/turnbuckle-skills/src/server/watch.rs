//! The loop that reads the folders again, and notifies clients of what has changed.
//!
//! It polls: that works on network file systems and mounted volumes too, needs no watch for each folder, and notices when
//! the folder itself is replaced. What has not changed by its metadata is not read again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use turnbuckle_server::Background;

use super::extension::{State, log_faults};
use super::fault::Faults;
use super::loader::{Root, read_roots};
use super::skills::build;
use super::snapshot::{ServedSkill, Snapshot};

/// The time between two looks at the folders.
const INTERVAL: Duration = Duration::from_secs(1);

/// The time that nothing may change before a change is published, so that one that takes several writes is one change.
const QUIET: Duration = Duration::from_millis(200);

/// The most looks until a change is published all the same.
const MAX_LOOKS: u32 = 4;

/// The least ratio of the time between two looks to the duration of one.
const REST: u32 = 20;

/// The folders and what they are compared with. It is moved to a thread for each look.
struct Watcher {
    roots: Vec<Root>,
    made: Vec<ServedSkill>,
    state: Arc<State>,
    /// The faults of folders that could not be opened, which are logged once.
    unreadable: Vec<String>,
}

/// Looks at the folders until the server ends.
pub(super) async fn run(
    background: Background,
    state: Arc<State>,
    roots: Vec<Root>,
    made: Vec<ServedSkill>,
) {
    let end = background.end().clone();
    let mut watcher = Watcher {
        roots,
        made,
        state,
        unreadable: Vec::new(),
    };
    let mut pause = INTERVAL;
    loop {
        tokio::select! {
            biased;
            () = end.closing() => return,
            () = tokio::time::sleep(pause) => {}
        }
        let started = Instant::now();
        let Some((back, is_changed)) = look(watcher).await else {
            return;
        };
        watcher = back;
        pause = INTERVAL.max(started.elapsed() * REST);
        if !is_changed {
            continue;
        }
        for _ in 1..MAX_LOOKS {
            tokio::time::sleep(QUIET).await;
            let Some((back, is_changed)) = look(watcher).await else {
                return;
            };
            watcher = back;
            if !is_changed {
                break;
            }
        }
        let Some((back, older)) = publish(watcher).await else {
            return;
        };
        watcher = back;
        let newer = watcher.state.snapshot();
        let known = older.faults();
        log_faults(newer.faults().iter().filter(|fault| !known.contains(fault)));
        if !newer.differs_from(&older) {
            continue;
        }
        let Some(server) = background.server() else {
            return;
        };
        server.notify_resources_changed();
        for uri in newer.changed_files(&older) {
            server.notify_resource_updated(uri);
        }
    }
}

/// Reads the folders, and returns whether something is different.
async fn look(mut watcher: Watcher) -> Option<(Watcher, bool)> {
    let looking = tokio::task::spawn_blocking(move || {
        let mut faults = Faults::default();
        let limits = watcher.state.options.limits.clone();
        let is_changed = read_roots(&mut watcher.roots, &limits, &mut faults);
        let unreadable: Vec<_> = faults.into_vec().iter().map(ToString::to_string).collect();
        if watcher.unreadable != unreadable {
            for folder in &unreadable {
                tracing::warn!(
                    folder,
                    "a folder of skills is not read again: what was read before is served"
                );
            }
            watcher.unreadable = unreadable;
        }
        (watcher, is_changed)
    });
    looking.await.ok()
}

/// Replaces the snapshot, and returns the older one.
async fn publish(watcher: Watcher) -> Option<(Watcher, Arc<Snapshot>)> {
    let building = tokio::task::spawn_blocking(move || {
        let limits = &watcher.state.options.limits;
        let newer = build(&watcher.roots, &watcher.made, Faults::default(), limits);
        let older = watcher.state.replace(Arc::new(newer));
        (watcher, older)
    });
    building.await.ok()
}
