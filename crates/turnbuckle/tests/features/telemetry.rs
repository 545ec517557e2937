//! Traces of the processes of this test. They are exported nowhere.

use std::sync::Once;

use opentelemetry::global;
use opentelemetry::trace::{TraceContextExt as _, TracerProvider as _};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::layer::SubscriberExt as _;

/// Starts to trace the requests of this process.
pub(crate) fn start() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        global::set_text_map_propagator(TraceContextPropagator::new());
        let layer = tracing_opentelemetry::layer()
            .with_tracer(SdkTracerProvider::builder().build().tracer("test"))
            .with_filter(LevelFilter::INFO);
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::set_global_default(subscriber).unwrap();
        assert!(turnbuckle::otel::install());
    });
}

/// Returns the id of the trace that a context belongs to.
pub(crate) fn trace_id(context: &opentelemetry::Context) -> String {
    context.span().span_context().trace_id().to_string()
}
