//! Tasks of the server's end, apart from handlers: delayed work, notification handlers and
//! keep-alive pings.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tracing::Instrument as _;

use crate::server::dispatch::NotificationFuture;
use crate::server::peer::{Peer, PeerError};
use crate::server::session::state::SessionState;
use crate::shared::signal::Signal;
use crate::shared::trace::count_refusal;

/// Runs `action` on `target` after `delay`, unless `target` was dropped or `cancelled` fired.
/// Without a runtime nothing happens.
pub(crate) fn run_after<T: Send + Sync + 'static>(
    delay: Duration,
    target: Weak<T>,
    cancelled: Signal,
    action: impl FnOnce(Arc<T>) + Send + 'static,
) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = cancelled.cancelled() => return,
            }
            if let Some(target) = target.upgrade() {
                action(target);
            }
        });
    }
}

/// Handles a notification in a task until it is done or the session has `ended`. Then `permit` is
/// released.
pub(crate) fn spawn_notification(
    future: NotificationFuture,
    ended: Signal,
    permit: OwnedSemaphorePermit,
) {
    let handling = async move {
        tokio::select! {
            () = future => {}
            () = ended.cancelled() => {}
        }
        drop(permit);
    };
    tokio::spawn(handling.in_current_span());
}

/// Pings a client every `interval`. `end` is called, once, if the client does not answer within
/// `timeout`. A client without a connection cannot be pinged and is not ended by this.
pub(crate) fn spawn_pings(
    session: &Arc<SessionState>,
    interval: Duration,
    timeout: Duration,
    end: impl FnOnce() + Send + 'static,
) {
    let (peer, ended) = (Peer::of_session(session), session.ended.clone());
    tokio::spawn(async move {
        loop {
            tokio::select! {
                () = tokio::time::sleep(interval) => {}
                () = ended.cancelled() => return,
            }
            if !peer.has_reader() {
                continue;
            }
            match peer.ping_over_limit(timeout).await {
                Err(PeerError::TimedOut { .. }) if peer.has_reader() => {
                    count_refusal("Limits::ping_timeout");
                    tracing::warn!(
                        ?timeout,
                        "a ping was not answered in time (Limits::ping_timeout): the session ends"
                    );
                    return end();
                }
                Err(PeerError::Ended) => return,
                // An error response shows that the client is there. A client that lost its
                // connection is pinged again later.
                Ok(()) | Err(_) => {}
            }
        }
    });
}
