//! The shutdown of all endpoints that are mounted in HTTP servers of the program's own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use turnbuckle_session::handler::Signal;

/// The signals that end the streams of listening clients, one of each endpoint that exists.
static SIGNALS: Mutex<Vec<Weak<Signal>>> = Mutex::new(Vec::new());

fn signals() -> MutexGuard<'static, Vec<Weak<Signal>>> {
    SIGNALS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a signal that [`shutdown_after`] closes, while the endpoint that holds it exists.
pub(crate) fn register() -> Arc<Signal> {
    let signal = Arc::new(Signal::new());
    let mut signals = signals();
    signals.retain(|signal| signal.upgrade().is_some());
    signals.push(Arc::downgrade(&signal));
    signal
}

/// Waits for `trigger`, then ends the streams of listening clients of all endpoints in this process.
/// This is a future for the graceful shutdown of a server in which endpoints are mounted: the server
/// would otherwise wait for these clients.
///
/// Requests in flight go on. Endpoints with a signal of their own
/// ([`StreamableHttp::with_shutdown`](crate::StreamableHttp::with_shutdown)), those of
/// [`HttpServer`](crate::HttpServer), and those made later go on, too. To shut down one endpoint of
/// several, use [`StreamableHttp::shutdown`](crate::StreamableHttp::shutdown).
pub async fn shutdown_after(trigger: impl Future<Output = ()>) {
    trigger.await;
    let open: Vec<_> = signals().iter().filter_map(Weak::upgrade).collect();
    open.iter().for_each(|signal| signal.close());
}
