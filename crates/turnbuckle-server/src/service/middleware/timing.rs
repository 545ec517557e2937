//! Middleware that measures the time of each request.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tower_layer::Layer;

use super::Next;
use crate::service::{CallRequest, CallResponse, CallService, Middleware};

/// Makes a layer that calls `report` with each request, its response and the time between them.
///
/// The time includes everything inside of the layer: further layers, concurrency limits, waiting for
/// a legacy client's answers, and the handler. A request that is cancelled is not reported.
pub fn timing<F>(report: F) -> Timing<F>
where
    F: Fn(&CallRequest, &CallResponse, Duration) + Send + Sync + 'static,
{
    Timing(Arc::new(report))
}

/// Makes a layer that logs the time of each request at `debug`, with the target
/// `turnbuckle::timing`.
#[must_use]
pub fn log_timing() -> Timing<fn(&CallRequest, &CallResponse, Duration)> {
    Timing(Arc::new(log))
}

fn log(call: &CallRequest, response: &CallResponse, elapsed: Duration) {
    tracing::debug!(
        target: "turnbuckle::timing",
        method = call.method(),
        name = call.name(),
        failed = response.is_error(),
        micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
        "answered"
    );
}

/// A layer that measures times, made by [`timing`] or [`log_timing`].
pub struct Timing<F>(Arc<F>);

impl<F> Clone for Timing<F> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<F> fmt::Debug for Timing<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Timing(..)")
    }
}

impl<F> Layer<CallService> for Timing<F> {
    type Service = TimingService<F>;

    fn layer(&self, inner: CallService) -> TimingService<F> {
        TimingService {
            report: self.0.clone(),
            next: Next::new(inner),
        }
    }
}

/// The service of a [`Timing`] layer.
pub struct TimingService<F> {
    report: Arc<F>,
    next: Next,
}

impl<F> Clone for TimingService<F> {
    fn clone(&self) -> Self {
        Self {
            report: self.report.clone(),
            next: self.next.clone(),
        }
    }
}

impl<F> fmt::Debug for TimingService<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TimingService(..)")
    }
}

impl<F> Middleware for TimingService<F>
where
    F: Fn(&CallRequest, &CallResponse, Duration) + Send + Sync + 'static,
{
    async fn respond(self, call: CallRequest) -> CallResponse {
        let start = Instant::now();
        let response = self.next.run(call.clone()).await;
        (self.report)(&call, &response, start.elapsed());
        response
    }
}
