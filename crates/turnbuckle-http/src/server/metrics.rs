//! The route with the metrics of the process, in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use http::{HeaderValue, Method, Response, StatusCode, header};
use turnbuckle_session::internal::{
    EndedRequest, EndedSession, Level, Side, Telemetry, TraceContext, set_local_metrics,
};
use turnbuckle_types::base::debug_fields;

use crate::reply::ResponseBody;

/// The most series of one metric. What is counted beyond is in one more series.
const MAX_SERIES: usize = 2_000;

/// The labels of the series of what is beyond [`MAX_SERIES`], as OpenTelemetry names it.
const OVERFLOW: &str = "otel_metric_overflow=\"true\"";

/// The bounds of the buckets of durations in seconds, as the semantic conventions recommend them.
const BUCKETS: [f64; 14] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
];

/// The metrics of this process, from the first server with a route for them.
pub(super) static METRICS: LazyLock<Arc<Metrics>> = LazyLock::new(|| {
    let metrics = Arc::new(Metrics::default());
    set_local_metrics(Recorder(metrics.clone()));
    metrics
});

/// Appends the metrics of a program.
type WriteMetrics = Box<dyn Fn(&mut String) + Send + Sync>;

/// The answer to a request for the metrics.
pub(super) struct MetricsRoute {
    path: Box<str>,
    /// The metrics of the program.
    added: Vec<WriteMetrics>,
}

debug_fields!(MetricsRoute { path });

impl MetricsRoute {
    /// Creates the route, and begins to measure.
    pub(super) fn new(path: &str) -> Self {
        LazyLock::force(&METRICS);
        Self {
            path: path.into(),
            added: Vec::new(),
        }
    }

    /// Adds metrics of the program.
    pub(super) fn add(mut self, write: impl Fn(&mut String) + Send + Sync + 'static) -> Self {
        self.added.push(Box::new(write));
        self
    }

    /// Answers a request, if it is one for this route.
    pub(super) fn answer(&self, method: &Method, path: &str) -> Option<Response<ResponseBody>> {
        if path != &*self.path {
            return None;
        }
        let is_read = matches!(*method, Method::GET | Method::HEAD);
        let text = match is_read {
            true => {
                let mut text = METRICS.render();
                self.added.iter().for_each(|write| write(&mut text));
                text
            }
            false => "GET or HEAD\n".to_owned(),
        };
        let mut response = Response::new(ResponseBody::full(text));
        let headers = response.headers_mut();
        let format = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
        headers.insert(header::CONTENT_TYPE, format);
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if !is_read {
            headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        }
        Some(response)
    }
}

/// Counts into the metrics of this process.
struct Recorder(Arc<Metrics>);

/// The metrics of a process.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    client: SideMetrics,
    server: SideMetrics,
    active_streams: AtomicI64,
    queued_messages: AtomicI64,
    refusals: Mutex<BTreeMap<String, u64>>,
    store_operations: Mutex<BTreeMap<String, Histogram>>,
}

/// The metrics of one side.
#[derive(Debug, Default)]
struct SideMetrics {
    operations: Mutex<BTreeMap<String, Histogram>>,
    sessions: Mutex<BTreeMap<String, Histogram>>,
    active_requests: AtomicI64,
    active_sessions: AtomicI64,
}

/// A histogram of durations.
#[derive(Debug, Default, Clone, Copy)]
struct Histogram {
    /// The durations in each bucket, those beyond the last bound included.
    counts: [u64; BUCKETS.len() + 1],
    seconds: f64,
}

impl Histogram {
    fn record(&mut self, seconds: f64) {
        let bucket = BUCKETS.partition_point(|bound| *bound < seconds);
        self.counts[bucket] += 1;
        self.seconds += seconds;
    }
}

/// The labels of one series, as text.
#[derive(Default)]
struct Labels(String);

impl Labels {
    /// Adds a label. Its value is escaped as the format demands.
    fn add(&mut self, name: &str, value: &str) {
        let comma = if self.0.is_empty() { "" } else { "," };
        let _ = write!(self.0, "{comma}{name}=\"");
        for char in value.chars() {
            match char {
                '\\' => self.0.push_str("\\\\"),
                '"' => self.0.push_str("\\\""),
                '\n' => self.0.push_str("\\n"),
                char => self.0.push(char),
            }
        }
        self.0.push('"');
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the series with these labels, or that of the overflow if there are too many.
fn series<T: Default>(all: &mut BTreeMap<String, T>, labels: Labels) -> &mut T {
    let is_full = all.len() >= MAX_SERIES && !all.contains_key(&labels.0);
    let labels = if is_full {
        OVERFLOW.to_owned()
    } else {
        labels.0
    };
    all.entry(labels).or_default()
}

impl Metrics {
    fn side(&self, side: Side) -> &SideMetrics {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }

    /// Returns the metrics in the text format of Prometheus, version 0.0.4.
    pub(super) fn render(&self) -> String {
        let mut text = String::new();
        for (side, metrics) in [("client", &self.client), ("server", &self.server)] {
            let name = format!("mcp_{side}_operation_duration_seconds");
            write_histograms(
                &mut text,
                &name,
                "The duration of requests.",
                &metrics.operations,
            );
            let name = format!("mcp_{side}_session_duration_seconds");
            let help = "The duration of legacy sessions.";
            write_histograms(&mut text, &name, help, &metrics.sessions);
            let name = format!("turnbuckle_{side}_active_requests");
            let help = "Requests that are not answered yet.";
            write_gauge(&mut text, &name, help, &metrics.active_requests);
            let name = format!("turnbuckle_{side}_active_sessions");
            let help = "Legacy sessions that are open.";
            write_gauge(&mut text, &name, help, &metrics.active_sessions);
        }
        let help = "Streams of events over HTTP that are open.";
        let name = "turnbuckle_server_active_streams";
        write_gauge(&mut text, name, help, &self.active_streams);
        let help = "Messages that wait until the peer reads them.";
        let name = "turnbuckle_queued_messages";
        write_gauge(&mut text, name, help, &self.queued_messages);
        let name = "turnbuckle_server_refusals_total";
        let help = "Messages and connections that were refused because of a bound.";
        write_head(&mut text, name, help, "counter");
        for (labels, count) in &*lock(&self.refusals) {
            let _ = writeln!(text, "{name}{{{labels}}} {count}");
        }
        let name = "turnbuckle_store_operation_duration_seconds";
        let help = "The duration of operations of the store.";
        write_histograms(&mut text, name, help, &self.store_operations);
        text
    }
}

fn write_head(text: &mut String, name: &str, help: &str, kind: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn write_gauge(text: &mut String, name: &str, help: &str, value: &AtomicI64) {
    write_head(text, name, help, "gauge");
    let _ = writeln!(text, "{name} {}", value.load(Ordering::Relaxed));
}

fn write_histograms(
    text: &mut String,
    name: &str,
    help: &str,
    all: &Mutex<BTreeMap<String, Histogram>>,
) {
    write_head(text, name, help, "histogram");
    // A copy, so that nothing is measured while the text is written.
    let all = lock(all).clone();
    for (labels, histogram) in all {
        let mut sum = 0;
        for (count, bound) in histogram.counts.iter().zip(BUCKETS) {
            sum += count;
            let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{bound}\"}} {sum}");
        }
        sum += histogram.counts[BUCKETS.len()];
        let _ = writeln!(text, "{name}_bucket{{{labels},le=\"+Inf\"}} {sum}");
        let _ = writeln!(text, "{name}_sum{{{labels}}} {}", histogram.seconds);
        let _ = writeln!(text, "{name}_count{{{labels}}} {sum}");
    }
}

impl Telemetry for Recorder {
    fn with_parent(&self, _: &TraceContext, start: &mut dyn FnMut()) {
        start();
    }

    fn current_context(&self) -> Option<TraceContext> {
        None
    }

    fn request_started(&self, side: Side) {
        let active = &self.0.side(side).active_requests;
        active.fetch_add(1, Ordering::Relaxed);
    }

    fn request_ended(&self, request: &EndedRequest<'_>) {
        let metrics = self.0.side(request.side);
        metrics.active_requests.fetch_sub(1, Ordering::Relaxed);
        let mut labels = Labels::default();
        labels.add("mcp_method_name", request.method);
        labels.add("mcp_protocol_version", request.revision.as_str());
        labels.add("network_transport", request.transport);
        let code = request.code.map(|code| code.to_string());
        for (name, value) in [
            ("gen_ai_tool_name", request.tool),
            ("gen_ai_prompt_name", request.prompt),
            ("error_type", request.error_type),
            ("rpc_response_status_code", code.as_deref()),
        ] {
            if let Some(value) = value {
                labels.add(name, value);
            }
        }
        series(&mut lock(&metrics.operations), labels).record(request.seconds);
    }

    fn session_started(&self, side: Side) {
        let active = &self.0.side(side).active_sessions;
        active.fetch_add(1, Ordering::Relaxed);
    }

    fn session_ended(&self, session: &EndedSession) {
        let metrics = self.0.side(session.side);
        metrics.active_sessions.fetch_sub(1, Ordering::Relaxed);
        let mut labels = Labels::default();
        labels.add("mcp_protocol_version", session.revision.as_str());
        labels.add("network_transport", session.transport);
        series(&mut lock(&metrics.sessions), labels).record(session.seconds);
    }

    fn level_changed(&self, level: Level, by: i64) {
        let level = match level {
            Level::Streams => &self.0.active_streams,
            Level::QueuedMessages => &self.0.queued_messages,
            _ => return,
        };
        level.fetch_add(by, Ordering::Relaxed);
    }

    fn bound_reached(&self, bound: &'static str) {
        let mut labels = Labels::default();
        labels.add("turnbuckle_bound", bound);
        *series(&mut lock(&self.0.refusals), labels) += 1;
    }

    fn store_operation_ended(
        &self,
        operation: &'static str,
        error_type: Option<&'static str>,
        seconds: f64,
    ) {
        let mut labels = Labels::default();
        labels.add("db_operation_name", operation);
        if let Some(error_type) = error_type {
            labels.add("error_type", error_type);
        }
        series(&mut lock(&self.0.store_operations), labels).record(seconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_labels_are_escaped() {
        let mut labels = Labels::default();
        labels.add("a", "1\\2\"3\n4");
        labels.add("b", "5");
        assert_eq!(labels.0, r#"a="1\\2\"3\n4",b="5""#);
    }

    #[test]
    fn the_number_of_series_is_bounded() {
        let metrics = Arc::new(Metrics::default());
        let mut refusals = lock(&metrics.refusals);
        for value in 0..2 * MAX_SERIES {
            let mut labels = Labels::default();
            labels.add("value", &value.to_string());
            *series(&mut refusals, labels) += 1;
        }
        assert_eq!(refusals.len(), MAX_SERIES + 1);
        assert_eq!(refusals[OVERFLOW], MAX_SERIES as u64);
    }

    #[test]
    fn buckets_are_cumulative_and_hold_their_bound() {
        let metrics = Metrics::default();
        let all = &metrics.server.operations;
        let mut labels = Labels::default();
        labels.add("a", "b");
        let mut histogram = Histogram::default();
        for seconds in [0.01, 0.015, 1_000.0] {
            histogram.record(seconds);
        }
        lock(all).insert(labels.0, histogram);
        let text = metrics.render();
        let name = "mcp_server_operation_duration_seconds";
        for (line, count) in [
            ("_bucket{a=\"b\",le=\"0.01\"}", "1"),
            ("_bucket{a=\"b\",le=\"0.02\"}", "2"),
            ("_bucket{a=\"b\",le=\"300\"}", "2"),
            ("_bucket{a=\"b\",le=\"+Inf\"}", "3"),
            ("_sum{a=\"b\"}", "1000.025"),
            ("_count{a=\"b\"}", "3"),
        ] {
            let line = format!("\n{name}{line} {count}\n");
            assert!(text.contains(&line), "{line}: {text}");
        }
    }
}
