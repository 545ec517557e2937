//! The shutdown of all endpoints that are mounted in HTTP servers of the program's own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use turnbuckle_session::handler::Signal;

/// An endpoint that an HTTP server of the program's own can have as a route.
pub(crate) trait MountedEndpoint: Send + Sync + 'static {
    /// Returns the signal that ends the streams of listening clients.
    fn shutdown(&self) -> &Signal;
}

static ENDPOINTS: Mutex<Vec<Weak<dyn MountedEndpoint>>> = Mutex::new(Vec::new());

fn endpoints() -> MutexGuard<'static, Vec<Weak<dyn MountedEndpoint>>> {
    ENDPOINTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds an endpoint to those that [`shutdown_after`] shuts down.
pub(crate) fn register<E: MountedEndpoint>(endpoint: &Arc<E>) {
    let endpoint: Weak<E> = Arc::downgrade(endpoint);
    let mut endpoints = endpoints();
    endpoints.retain(|it| it.strong_count() > 0);
    endpoints.push(endpoint);
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
    let running: Vec<_> = endpoints().iter().filter_map(Weak::upgrade).collect();
    for endpoint in running {
        endpoint.shutdown().close();
    }
}
