//! The log, traces and metrics that the environment of a process asks for.

use std::env;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use opentelemetry::propagation::TextMapCompositePropagator;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Key, global};
use opentelemetry_http::HttpClient;
use opentelemetry_otlp::{MetricExporter, SpanExporter, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::propagation::{BaggagePropagator, TraceContextPropagator};
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{FilterExt as _, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use turnbuckle_session::handler::record_arguments;
use turnbuckle_types::base::text::Escaped;

use super::collector::CollectorClient;
use super::escaped_lines::EscapedLines;
use super::export_log::ExportLog;
use super::install;
use crate::{Error, Result};

/// The time for one request to the collector, unless `OTEL_EXPORTER_OTLP_TIMEOUT` sets another.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// The time for the last requests to the collector.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// The exporters of this process, and the log of [`init`].
///
/// Keep it until the end of `main`: [`shutdown`](Self::shutdown), or else dropping it, exports what
/// the collector has not received yet. Both block for 3 seconds at most.
#[must_use = "dropping it ends the export"]
pub struct Exporters {
    tracer_provider: Option<SdkTracerProvider>,
    meter_provider: Option<SdkMeterProvider>,
}

/// Starts the log, the traces and the metrics that the environment asks for, and nothing else.
///
/// Call it first in `main`, from inside a runtime or outside of one. It installs the `tracing`
/// subscriber of the process if there is something to log or to trace, and calls [`install`] if
/// there is something to export.
///
/// | variable | meaning |
/// |---|---|
/// | `RUST_LOG` | what is logged to standard error: `info`, or `turnbuckle=debug,hyper=warn`; nothing without |
/// | `OTEL_EXPORTER_OTLP_ENDPOINT` | the URL of the collector; nothing is exported without |
/// | `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT` | the whole URL for traces, or for metrics |
/// | `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_EXPORTER_OTLP_TIMEOUT` | the headers of each request, and its time in milliseconds, 10,000 by default |
/// | `OTEL_EXPORTER_OTLP_PROTOCOL` | `http/protobuf`, the default, is the only one there is |
/// | `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` | the name of the service instead of `service_name`, and further attributes |
/// | `OTEL_TRACES_SAMPLER`, `OTEL_BSP_*`, `OTEL_METRIC_EXPORT_INTERVAL` | as the crate `opentelemetry_sdk` documents them |
/// | `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` | `true`: spans have the arguments of tool calls, as [`record_arguments`](crate::session::handler::record_arguments) says |
/// | `OTEL_SDK_DISABLED`, `OTEL_TRACES_EXPORTER`, `OTEL_METRICS_EXPORTER` | `true`, or `none`: nothing is exported |
///
/// Exported are spans of level `info` and above, and the log lines in them that are your own: what
/// turnbuckle logs besides may quote arguments, and stays in the log.
///
/// A collector that is slow or broken costs no request time: what it does not take in time is
/// dropped. The log has a line of each kind about that once a minute at most.
///
/// ```no_run
/// # fn main() -> turnbuckle::Result {
/// let exporters = turnbuckle::otel::init("my-server")?;
/// // …
/// exporters.shutdown()
/// # }
/// ```
///
/// # Errors
/// Returns an error if a variable has a value that cannot be used, if another subscriber was
/// installed before, or if a thread cannot be started.
pub fn init(service_name: &str) -> Result<Exporters> {
    let log_targets = log_targets()?;
    let exporters = Exporters::from_env(service_name)?;
    let spans = exporters.tracer_provider.as_ref().map(|provider| {
        // The names of all other crates of turnbuckle begin with `turnbuckle_`.
        let targets = Targets::new()
            .with_default(LevelFilter::INFO)
            .with_target("turnbuckle_", LevelFilter::OFF);
        tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("turnbuckle"))
            .with_filter(targets)
    });
    // Without a subscriber, requests cost nothing.
    if log_targets.is_some() || spans.is_some() {
        let log = log_targets.map(|targets| {
            tracing_subscriber::fmt::layer()
                .with_ansi(false)
                .with_writer(|| EscapedLines(std::io::stderr()))
                .with_filter(targets.and(ExportLog::default()))
        });
        let subscriber = tracing_subscriber::registry().with(spans).with(log);
        subscriber.try_init().map_err(|error| {
            Error::new(
                "cannot log or trace: another `tracing` subscriber was installed before; add the \
                 layer of `tracing_opentelemetry` to it and call `turnbuckle::otel::install`",
            )
            .with_source(error)
        })?;
    }
    if is_true("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT") {
        record_arguments();
    }
    if let Some(provider) = &exporters.meter_provider {
        global::set_meter_provider(provider.clone());
    }
    if exporters.tracer_provider.is_some() || exporters.meter_provider.is_some() {
        global::set_text_map_propagator(TextMapCompositePropagator::new(vec![
            Box::new(TraceContextPropagator::new()),
            Box::new(BaggagePropagator::new()),
        ]));
        install();
    }
    Ok(exporters)
}

impl Exporters {
    fn from_env(service_name: &str) -> Result<Self> {
        let exports_traces = is_exported("TRACES")?;
        let exports_metrics = is_exported("METRICS")?;
        let mut exporters = Self {
            tracer_provider: None,
            meter_provider: None,
        };
        if !exports_traces && !exports_metrics {
            return Ok(exporters);
        }
        let timeout = export_timeout()?;
        let client = CollectorClient::new(timeout).map_err(|error| {
            Error::new("cannot make an HTTP client for the collector").with_source(error)
        })?;
        let client: Arc<dyn HttpClient> = Arc::new(client);
        let resource = resource(service_name);
        let failure = |error| Error::new("cannot export to the collector").with_source(error);
        if exports_traces {
            let exporter = SpanExporter::builder()
                .with_http()
                .with_shared_http_client(client.clone())
                .build()
                .map_err(failure)?;
            let provider = SdkTracerProvider::builder()
                .with_batch_exporter(exporter)
                .with_resource(resource.clone());
            exporters.tracer_provider = Some(provider.build());
        }
        if exports_metrics {
            let exporter = MetricExporter::builder()
                .with_http()
                .with_shared_http_client(client)
                .build()
                .map_err(failure)?;
            let provider = SdkMeterProvider::builder()
                .with_periodic_exporter(exporter)
                .with_resource(resource);
            exporters.meter_provider = Some(provider.build());
        }
        Ok(exporters)
    }

    /// Exports what the collector has not received yet, and ends the export.
    ///
    /// # Errors
    /// Returns an error if the collector did not take it within 3 seconds.
    pub fn shutdown(mut self) -> Result {
        self.end(SHUTDOWN_TIMEOUT).map_err(|error| {
            Error::new(
                "the last traces or metrics were not exported to OTEL_EXPORTER_OTLP_ENDPOINT",
            )
            .with_source(error)
        })
    }

    fn end(&mut self, timeout: Duration) -> Result<(), OTelSdkError> {
        let deadline = Instant::now() + timeout;
        let traces = self.tracer_provider.take();
        let traces =
            traces.map(|provider| in_thread(move || provider.shutdown_with_timeout(timeout)));
        let metrics = self.meter_provider.take();
        let metrics =
            metrics.map(|provider| in_thread(move || provider.shutdown_with_timeout(timeout)));
        let mut ended = Ok(());
        for outcome in traces.into_iter().chain(metrics) {
            let left = deadline.saturating_duration_since(Instant::now());
            ended = ended.and(match outcome.recv_timeout(left) {
                Ok(outcome) => outcome,
                Err(RecvTimeoutError::Timeout) => Err(OTelSdkError::Timeout(timeout)),
                Err(RecvTimeoutError::Disconnected) => {
                    let text = "the thread that ends the export was lost".to_owned();
                    Err(OTelSdkError::InternalFailure(text))
                }
            });
        }
        ended
    }
}

/// Runs the end of an export in a thread of its own, since the SDK does not always keep to the
/// timeout that it is given.
fn in_thread(end: impl FnOnce() -> OTelSdkResult + Send + 'static) -> Receiver<OTelSdkResult> {
    let (sender, receiver) = mpsc::channel();
    let run = move || {
        // Nobody waits any more after the timeout.
        let _ = sender.send(end());
    };
    // Without a thread, the receiver finds its sender gone.
    let _ = thread::Builder::new().spawn(run);
    receiver
}

impl Drop for Exporters {
    fn drop(&mut self) {
        if let Err(error) = self.end(SHUTDOWN_TIMEOUT) {
            tracing::warn!(target: "turnbuckle", error = %Escaped(&error), "the last traces or metrics were not exported");
        }
    }
}

impl fmt::Debug for Exporters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exporters")
            .field("traces", &self.tracer_provider.is_some())
            .field("metrics", &self.meter_provider.is_some())
            .finish()
    }
}

/// Returns the value of a variable, unless it is empty.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn is_true(name: &str) -> bool {
    variable(name).is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// Returns what `RUST_LOG` asks for.
fn log_targets() -> Result<Option<Targets>> {
    let Some(text) = variable("RUST_LOG") else {
        return Ok(None);
    };
    match text.parse() {
        Ok(targets) => Ok(Some(targets)),
        Err(error) => Err(Error::new(format!(
            "RUST_LOG is {text:?}: expected levels and targets as in `info` or \
             `turnbuckle=debug,hyper=warn`"
        ))
        .with_source(error)),
    }
}

/// Returns whether the environment names a collector for a signal.
fn is_exported(signal: &str) -> Result<bool> {
    let specific_or_general = |suffix: &str| {
        let specific = variable(&format!("OTEL_EXPORTER_OTLP_{signal}_{suffix}"));
        specific.or_else(|| variable(&format!("OTEL_EXPORTER_OTLP_{suffix}")))
    };
    let name = format!("OTEL_{signal}_EXPORTER");
    let exporter = variable(&name).unwrap_or_else(|| "otlp".to_owned());
    if is_true("OTEL_SDK_DISABLED")
        || exporter == "none"
        || specific_or_general("ENDPOINT").is_none()
    {
        return Ok(false);
    }
    if exporter != "otlp" {
        let message = format!("{name} is {exporter:?}: expected `otlp` or `none`");
        return Err(Error::new(message));
    }
    match specific_or_general("PROTOCOL") {
        Some(protocol) if protocol != "http/protobuf" => Err(Error::new(format!(
            "OTEL_EXPORTER_OTLP_PROTOCOL is {protocol:?}: expected `http/protobuf`, and the URL of \
             the collector's port for it, which is 4318 by default"
        ))),
        _ => Ok(true),
    }
}

/// Returns the time for one request to the collector.
fn export_timeout() -> Result<Duration> {
    const NAME: &str = "OTEL_EXPORTER_OTLP_TIMEOUT";
    let Some(text) = variable(NAME) else {
        return Ok(EXPORT_TIMEOUT);
    };
    text.parse().map(Duration::from_millis).map_err(|error| {
        Error::new(format!("{NAME} is {text:?}: expected milliseconds")).with_source(error)
    })
}

/// Returns the attributes of the process.
fn resource(service_name: &str) -> Resource {
    let found = Resource::builder().build();
    // Where the environment has no name, the detectors make up one.
    let name = found.get(&Key::new("service.name"));
    let is_named = name.is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    let builder = Resource::builder();
    match is_named {
        true => builder.build(),
        false => builder.with_service_name(service_name.to_owned()).build(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use opentelemetry::metrics::MeterProvider as _;
    use opentelemetry::trace::Tracer as _;
    use opentelemetry_otlp::WithExportConfig as _;

    use super::*;

    /// More than the queue of spans holds.
    const SPANS: usize = 10_000;

    /// Exports to a collector, without the environment.
    fn exporters(endpoint: &str) -> Exporters {
        let client = CollectorClient::new(EXPORT_TIMEOUT).unwrap();
        let client: Arc<dyn HttpClient> = Arc::new(client);
        let spans = SpanExporter::builder()
            .with_http()
            .with_shared_http_client(client.clone())
            .with_endpoint(endpoint)
            .build();
        let metrics = MetricExporter::builder()
            .with_http()
            .with_shared_http_client(client)
            .with_endpoint(endpoint)
            .build();
        let tracer_provider = SdkTracerProvider::builder().with_batch_exporter(spans.unwrap());
        let meter_provider = SdkMeterProvider::builder().with_periodic_exporter(metrics.unwrap());
        Exporters {
            tracer_provider: Some(tracer_provider.build()),
            meter_provider: Some(meter_provider.build()),
        }
    }

    /// Traces and measures something, ends the export and returns its outcome, unless that takes as
    /// long as the SDK gives the end of metrics.
    fn end_after_spans(endpoint: &str) -> Result<(), OTelSdkError> {
        let mut exporters = exporters(endpoint);
        let tracer = exporters.tracer_provider.as_ref().unwrap().tracer("test");
        let meter = exporters.meter_provider.as_ref().unwrap().meter("test");
        for _ in 0..SPANS {
            drop(tracer.start("span"));
        }
        meter.u64_counter("count").build().add(1, &[]);
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || sender.send(exporters.end(Duration::from_millis(100))));
        let sdk_timeout = Duration::from_secs(5);
        ended.recv_timeout(sdk_timeout).expect("the export ends")
    }

    #[test]
    fn a_collector_that_never_answers_holds_up_neither_spans_nor_the_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        assert!(end_after_spans(&endpoint).is_err());
    }

    #[test]
    fn a_collector_that_asks_to_wait_does_not_hold_up_the_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]);
                let answer = b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 8\r\n\
                    connection: close\r\ncontent-length: 0\r\n\r\n";
                let _ = stream.write_all(answer);
            }
        });
        assert!(end_after_spans(&endpoint).is_err());
    }
}
