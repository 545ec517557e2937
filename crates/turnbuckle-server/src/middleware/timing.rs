//! Middleware that measures the time of each request.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tower_layer::Layer;

use super::{Next, from_fn};
use crate::service::{CallRequest, CallResponse, CallService, Middleware};

/// Makes a layer that calls `report` with each request, its response and the time between them.
///
/// The time includes everything inside of the layer: further layers, concurrency limits, waiting for
/// a legacy client's answers, and the handler. A request that is cancelled is not reported.
pub fn timing<F>(report: F) -> impl Layer<CallService, Service: Middleware> + Clone
where
    F: Fn(&CallRequest, &CallResponse, Duration) + Send + Sync + 'static,
{
    let report = Arc::new(report);
    from_fn(move |call: CallRequest, next: Next| {
        let report = report.clone();
        async move {
            let start = Instant::now();
            let response = next.run(call.clone()).await;
            report(&call, &response, start.elapsed());
            response
        }
    })
}

/// Makes a layer that logs the time of each request at `debug`, with the target
/// `turnbuckle::timing`.
#[must_use]
pub fn log_timing() -> impl Layer<CallService, Service: Middleware> + Clone {
    timing(|call, response, elapsed| {
        tracing::debug!(
            target: "turnbuckle::timing",
            method = call.method(),
            name = call.name(),
            failed = response.is_error(),
            micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
            "answered"
        );
    })
}
