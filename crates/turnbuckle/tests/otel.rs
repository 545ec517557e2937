//! Traces and metrics through OpenTelemetry, with exporters that keep them in memory, in a process
//! of its own: the subscriber and the measurements are those of the whole process.

// A test fails by panicking, and so do the functions that it calls.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

use opentelemetry::baggage::BaggageExt as _;
use opentelemetry::propagation::TextMapCompositePropagator;
use opentelemetry::trace::{FutureExt as _, SpanKind, Status, TracerProvider as _};
use opentelemetry::{Context, KeyValue, global};
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};
use opentelemetry_sdk::propagation::{BaggagePropagator, TraceContextPropagator};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use serde_json::json;
use tracing::Instrument as _;
use tracing_subscriber::layer::SubscriberExt as _;
use turnbuckle::client::{EraPreference, Roots};
use turnbuckle::http::{HttpConnector, HttpServerOptions, StreamableHttp};
use turnbuckle::session::handler::{Limits, Rate};
use turnbuckle::{Ask, Client, Failure, RawArguments, Revision, Server, Tool};
use turnbuckle_it::wires::{Script, Wires};

/// Everything that this process exports.
struct Collector {
    spans: InMemorySpanExporter,
    metrics: InMemoryMetricExporter,
    meter_provider: SdkMeterProvider,
}

static COLLECTOR: LazyLock<Collector> = LazyLock::new(|| {
    let spans = InMemorySpanExporter::default();
    let tracer_provider = SdkTracerProvider::builder()
        .with_simple_exporter(spans.clone())
        .build();
    let metrics = InMemoryMetricExporter::default();
    let meter_provider = SdkMeterProvider::builder()
        .with_periodic_exporter(metrics.clone())
        .build();
    global::set_meter_provider(meter_provider.clone());
    global::set_text_map_propagator(TextMapCompositePropagator::new(vec![
        Box::new(TraceContextPropagator::new()),
        Box::new(BaggagePropagator::new()),
    ]));
    let layer = tracing_opentelemetry::layer().with_tracer(tracer_provider.tracer("test"));
    let subscriber = tracing_subscriber::registry().with(layer);
    tracing::subscriber::set_global_default(subscriber).unwrap();
    assert!(turnbuckle::otel::install());
    assert!(!turnbuckle::otel::install());
    Collector {
        spans,
        metrics,
        meter_provider,
    }
});

impl Collector {
    /// Returns the finished spans with a name.
    fn spans(&self, name: &str) -> Vec<SpanData> {
        let mut spans = self.spans.get_finished_spans().unwrap();
        spans.retain(|span| span.name == name);
        spans
    }

    /// Returns the span with a name and kind.
    fn span(&self, name: &str, kind: &SpanKind) -> SpanData {
        let mut spans = self.spans(name);
        spans.retain(|span| span.span_kind == *kind);
        assert_eq!(spans.len(), 1, "{name}: {spans:?}");
        spans.remove(0)
    }

    /// Returns the value of a sum, of the measurements with a certain attribute if one is given.
    fn sum(&self, name: &str, attribute: Option<&KeyValue>) -> i64 {
        self.meter_provider.force_flush().unwrap();
        let exported = self.metrics.get_finished_metrics().unwrap();
        let last = exported.last().unwrap();
        let metrics = last.scope_metrics().flat_map(|scope| scope.metrics());
        let mut total = 0;
        for metric in metrics.filter(|metric| metric.name() == name) {
            let is_wanted = |mut attributes: Box<dyn Iterator<Item = &KeyValue> + '_>| {
                attribute.is_none_or(|wanted| attributes.any(|found| found == wanted))
            };
            match metric.data() {
                AggregatedMetrics::I64(MetricData::Sum(sum)) => {
                    for point in sum.data_points() {
                        if is_wanted(Box::new(point.attributes())) {
                            total += point.value();
                        }
                    }
                }
                AggregatedMetrics::U64(MetricData::Sum(sum)) => {
                    for point in sum.data_points() {
                        if is_wanted(Box::new(point.attributes())) {
                            total += i64::try_from(point.value()).unwrap();
                        }
                    }
                }
                _ => panic!("{name} is no sum"),
            }
        }
        total
    }

    /// Returns the attributes of all measurements of a histogram.
    fn attributes(&self, histogram: &str) -> Vec<BTreeSet<String>> {
        self.meter_provider.force_flush().unwrap();
        let exported = self.metrics.get_finished_metrics().unwrap();
        let last = exported.last().unwrap();
        let metrics = last.scope_metrics().flat_map(|scope| scope.metrics());
        let mut found = Vec::new();
        for metric in metrics.filter(|metric| metric.name() == histogram) {
            assert_eq!(metric.unit(), "s");
            let AggregatedMetrics::F64(MetricData::Histogram(data)) = metric.data() else {
                panic!("{histogram} is no histogram of seconds");
            };
            found.extend(data.data_points().map(|point| {
                let pairs = point.attributes();
                pairs
                    .map(|pair| format!("{}={}", pair.key, pair.value))
                    .collect()
            }));
        }
        found
    }
}

/// Makes a server with one tool, which returns the baggage of its call.
fn server(tool: &str) -> Server {
    let tool = Tool::builder(tool.to_owned()).handler(async |_: RawArguments| {
        let baggage = Context::current();
        let user = baggage.baggage().get("user").map(ToString::to_string);
        user.unwrap_or_default()
    });
    Server::new("s", "1").tool(tool).build().unwrap()
}

/// Held by each test: the measurements are those of the whole process.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Connects a client to a server of one tool.
async fn connect(revision: Revision, transport: &str, tool: &str) -> Client {
    let wires = Wires::new(Script::plain());
    let builder = Client::builder("test", "1").era(EraPreference::Only(revision));
    let connected = match transport {
        "pipe" => builder.connect(wires.lines(server(tool))).await,
        _ => {
            let service = StreamableHttp::new(server(tool), HttpServerOptions::new());
            let connector = HttpConnector::new("http://localhost/mcp").unwrap();
            builder
                .connect(connector.http_client(wires.web(service)))
                .await
        }
    };
    connected.unwrap()
}

#[tokio::test]
async fn a_blocking_handler_runs_in_the_span_of_its_request() {
    let _alone = ALONE.lock().await;
    let collector = &*COLLECTOR;
    let work = Tool::builder("work").blocking(|| {
        let _span = tracing::info_span!("blocking work").entered();
        "done"
    });
    let server = Server::new("s", "1.0.0").tool(work);
    let client = turnbuckle::testing::connect(server).await.unwrap();
    client.call_tool("work", &json!({})).await.unwrap();
    client.close().await;
    let served = collector.span("tools/call work", &SpanKind::Server);
    let work = collector.span("blocking work", &SpanKind::Internal);
    assert_eq!(work.parent_span_id, served.span_context.span_id());
}

#[tokio::test(start_paused = true)]
async fn spans_and_baggage_of_a_client_and_its_server_join_into_one_trace() {
    let _alone = ALONE.lock().await;
    let collector = &*COLLECTOR;
    for revision in [Revision::NEWEST, Revision::NEWEST_LEGACY] {
        for transport in ["pipe", "tcp"] {
            let tool = format!("joined_{transport}_{revision}");
            let client = connect(revision, transport, &tool).await;
            let baggage = Context::current().with_baggage([KeyValue::new("user", "7")]);
            let result = async {
                let span = tracing::info_span!("program", otel.name = format!("for {tool}"));
                let call = client.call_tool(&tool, &json!({"secret": "hunter2"}));
                call.into_future().instrument(span).await.unwrap()
            };
            let result = result.with_context(baggage).await;
            assert_eq!(result.text(), "7", "{tool}");
            client.close().await;

            let name = format!("tools/call {tool}");
            let program = collector.span(&format!("for {tool}"), &SpanKind::Internal);
            let sent = collector.span(&name, &SpanKind::Client);
            let served = collector.span(&name, &SpanKind::Server);
            let trace = program.span_context.trace_id();
            assert_eq!(sent.span_context.trace_id(), trace, "{tool}");
            assert_eq!(sent.parent_span_id, program.span_context.span_id());
            assert_eq!(served.span_context.trace_id(), trace, "{tool}");
            assert_eq!(served.parent_span_id, sent.span_context.span_id());
            assert!(served.parent_span_is_remote, "{tool}");
            for span in [sent, served] {
                let text = format!("{span:?}");
                assert!(!text.contains("hunter2"), "{text}");
                assert!(text.contains(&*revision.to_string()), "{text}");
                assert_eq!(span.status, Status::Unset, "{text}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn requests_and_legacy_sessions_are_measured_on_both_sides() {
    let _alone = ALONE.lock().await;
    let collector = &*COLLECTOR;
    for revision in [Revision::NEWEST, Revision::NEWEST_LEGACY] {
        for transport in ["pipe", "tcp"] {
            let tool = format!("measured_{transport}_{revision}");
            let client = connect(revision, transport, &tool).await;
            client.call_tool(&tool, &json!({})).await.unwrap();
            client.call_tool("made_up", &json!({})).await.unwrap_err();
            client.close().await;
            // The server notices the end of the connection in a task of its own.
            tokio::time::sleep(Duration::from_secs(1)).await;
            let shared = [
                format!("mcp.protocol.version={revision}"),
                format!("network.transport={transport}"),
            ];
            let with_shared = |own: &[&str]| -> BTreeSet<String> {
                let own = own.iter().map(ToString::to_string);
                shared.iter().cloned().chain(own).collect()
            };
            let answered = with_shared(&[
                "mcp.method.name=tools/call",
                "gen_ai.operation.name=execute_tool",
                &format!("gen_ai.tool.name={tool}"),
            ]);
            // A peer cannot make up names.
            let refused = with_shared(&[
                "mcp.method.name=tools/call",
                "error.type=-32602",
                "rpc.response.status_code=-32602",
            ]);
            for side in ["client", "server"] {
                let measured = collector.attributes(&format!("mcp.{side}.operation.duration"));
                for expected in [&answered, &refused] {
                    assert!(measured.contains(expected), "{expected:?}: {measured:?}");
                }
                let sessions = collector.attributes(&format!("mcp.{side}.session.duration"));
                let is_legacy = revision == Revision::NEWEST_LEGACY;
                let has_session = sessions.contains(&with_shared(&[]));
                assert_eq!(has_session, is_legacy, "{side} {tool}: {sessions:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn requests_in_flight_sessions_and_streams_are_counted_while_they_are_there() {
    let _alone = ALONE.lock().await;
    let collector = &*COLLECTOR;
    let counts = || {
        [
            "turnbuckle.server.active_requests",
            "turnbuckle.client.active_requests",
            "turnbuckle.server.active_sessions",
            "turnbuckle.client.active_sessions",
            "turnbuckle.server.active_streams",
            "turnbuckle.queued_messages",
        ]
        .map(|name| collector.sum(name, None))
    };
    let waiting = Tool::builder("wait").handler(async |_: RawArguments| {
        tokio::time::sleep(Duration::from_secs(20)).await;
        "done"
    });
    let server = Server::new("s", "1").tool(waiting).build().unwrap();
    let wires = Wires::new(Script::plain());
    let service = StreamableHttp::new(server, HttpServerOptions::new());
    let connector = HttpConnector::new("http://localhost/mcp").unwrap();
    let client = Client::builder("test", "1")
        .era(EraPreference::Only(Revision::NEWEST_LEGACY))
        .connect(connector.http_client(wires.web(service)))
        .await
        .unwrap();
    // The stream of the session is open.
    assert_eq!(counts(), [0, 0, 1, 1, 1, 0]);
    let call = client.call_tool("wait", &json!({}));
    let call = tokio::spawn(call.into_future());
    // The response of the call becomes a stream by now.
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(counts(), [1, 1, 1, 1, 2, 0]);
    call.await.unwrap().unwrap();
    client.close().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(counts(), [0; 6]);
}

#[tokio::test(start_paused = true)]
async fn refusals_are_counted_with_the_name_of_the_bound() {
    let _alone = ALONE.lock().await;
    let collector = &*COLLECTOR;
    let limits = Limits::new().call_rate(Rate::per_second(1));
    let wires = Wires::new(Script::plain());
    let service = StreamableHttp::new(server("refused"), HttpServerOptions::new().limits(limits));
    let connector = HttpConnector::new("http://localhost/mcp").unwrap();
    let client = Client::builder("test", "1")
        .era(EraPreference::Only(Revision::NEWEST))
        .connect(connector.http_client(wires.web(service)))
        .await
        .unwrap();
    let bound = KeyValue::new("turnbuckle.bound", "Limits::call_rate");
    let before = collector.sum("turnbuckle.server.refusals", Some(&bound));
    let mut refused = 0;
    for _ in 0..3 {
        let call = client.call_tool("refused", &json!({})).await;
        refused += i64::from(call.is_err());
    }
    assert!(refused > 0);
    let counted = collector.sum("turnbuckle.server.refusals", Some(&bound)) - before;
    assert_eq!(counted, refused);
}

#[tokio::test(start_paused = true)]
async fn a_question_of_a_legacy_server_is_in_the_trace_of_its_call() {
    let _alone = ALONE.lock().await;
    let collector = &*COLLECTOR;
    let asking = Tool::builder("asking").handler(async |ask: Ask| -> Result<String, Failure> {
        let roots = ask.roots().await?;
        Ok(roots.len().to_string())
    });
    let server = Server::new("s", "1").tool(asking).build().unwrap();
    let client = Client::builder("test", "1")
        .era(EraPreference::Only(Revision::NEWEST_LEGACY))
        .roots(Roots::new())
        .connect(Wires::new(Script::plain()).lines(server))
        .await
        .unwrap();
    let result = client.call_tool("asking", &json!({})).await.unwrap();
    assert_eq!(result.text(), "0");
    client.close().await;

    let served = collector.span("tools/call asking", &SpanKind::Server);
    // The sender of a request is its client.
    let asked = collector.span("roots/list", &SpanKind::Client);
    let answered = collector.span("roots/list", &SpanKind::Server);
    assert_eq!(asked.parent_span_id, served.span_context.span_id());
    assert_eq!(answered.parent_span_id, asked.span_context.span_id());
    assert!(answered.parent_span_is_remote);
    let trace = served.span_context.trace_id();
    assert_eq!(answered.span_context.trace_id(), trace);
    for (span, text) in [(&asked, "asked"), (&answered, "answered")] {
        assert_eq!(span.status, Status::Unset, "{text}");
    }
}
