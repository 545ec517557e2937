//! Traces and metrics for OpenTelemetry.
//!
//! [`init`] exports to the collector that the environment of the process names. A program that has
//! a subscriber and exporters of its own calls [`install`] instead, which connects turnbuckle with
//! them.
//!
//! Spans of requests become children of the spans that peers name, clients send the context of their
//! spans, and requests, sessions, streams, queues, refusals and operations of the store are measured. Attributes, and the
//! names of metrics that begin with `mcp.`, are those of the
//! [semantic conventions for MCP](https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md).

mod collector;
mod environment;
mod escaped_lines;
mod export_log;

use std::borrow::Cow;

use opentelemetry::metrics::{Counter, Histogram, Meter, UpDownCounter};
use opentelemetry::propagation::{Extractor, Injector};
use opentelemetry::{Context, KeyValue, global};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use turnbuckle_session::internal::{
    EndedRequest, EndedSession, Level, Side, Telemetry, TraceContext, set_telemetry,
};

pub use environment::{Exporters, init};

/// The bounds of the buckets of durations in seconds, as the semantic conventions recommend them.
const BUCKETS: [f64; 14] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
];

/// Connects turnbuckle with OpenTelemetry. Returns whether it did: only the first call in a process
/// counts.
///
/// Call it once in `main`, after `opentelemetry::global::set_meter_provider` and
/// `opentelemetry::global::set_text_map_propagator`; metrics go to the provider that is set then.
/// Spans are those of `tracing`: they are exported by the layer of `tracing_opentelemetry` in your
/// subscriber, whose context activation must be on, as it is by default.
///
/// Of a peer's trace context at most 64 bytes of `traceparent`, 512 of `tracestate` and 8,192 of
/// `baggage` are read; a longer one is ignored.
pub fn install() -> bool {
    set_telemetry(Bridge::new(&global::meter("turnbuckle")))
}

/// The instruments of this process.
struct Bridge {
    client: Instruments,
    server: Instruments,
    active_streams: UpDownCounter<i64>,
    queued_messages: UpDownCounter<i64>,
    refusals: Counter<u64>,
    store_operations: Histogram<f64>,
}

/// The instruments of one side.
struct Instruments {
    operation_duration: Histogram<f64>,
    session_duration: Histogram<f64>,
    active_requests: UpDownCounter<i64>,
    active_sessions: UpDownCounter<i64>,
}

impl Bridge {
    fn new(meter: &Meter) -> Self {
        Self {
            client: Instruments::new(meter, "client"),
            server: Instruments::new(meter, "server"),
            active_streams: up_down_counter(
                meter,
                "turnbuckle.server.active_streams",
                "{stream}",
                "Streams of events over HTTP that are open.",
            ),
            queued_messages: up_down_counter(
                meter,
                "turnbuckle.queued_messages",
                "{message}",
                "Messages that wait until the peer reads them.",
            ),
            refusals: meter
                .u64_counter("turnbuckle.server.refusals")
                .with_unit("{refusal}")
                .with_description("Messages and connections that were refused because of a bound.")
                .build(),
            store_operations: meter
                .f64_histogram("turnbuckle.store.operation.duration")
                .with_unit("s")
                .with_description("The duration of operations of the store.")
                .with_boundaries(BUCKETS.to_vec())
                .build(),
        }
    }

    fn instruments(&self, side: Side) -> &Instruments {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }
}

impl Instruments {
    fn new(meter: &Meter, side: &str) -> Self {
        let duration = |what: &str, description: &'static str| {
            meter
                .f64_histogram(format!("mcp.{side}.{what}.duration"))
                .with_unit("s")
                .with_description(description)
                .with_boundaries(BUCKETS.to_vec())
                .build()
        };
        let active = |what: &str, unit: &'static str, description: &'static str| {
            let name = format!("turnbuckle.{side}.active_{what}");
            up_down_counter(meter, name, unit, description)
        };
        Self {
            operation_duration: duration("operation", "The duration of requests."),
            session_duration: duration("session", "The duration of legacy sessions."),
            active_requests: active(
                "requests",
                "{request}",
                "Requests that are not answered yet.",
            ),
            active_sessions: active("sessions", "{session}", "Legacy sessions that are open."),
        }
    }
}

fn up_down_counter(
    meter: &Meter,
    name: impl Into<Cow<'static, str>>,
    unit: &'static str,
    description: &'static str,
) -> UpDownCounter<i64> {
    meter
        .i64_up_down_counter(name)
        .with_unit(unit)
        .with_description(description)
        .build()
}

impl Telemetry for Bridge {
    fn with_parent(&self, parent: &TraceContext, start: &mut dyn FnMut()) {
        let parent = global::get_text_map_propagator(|propagator| {
            propagator.extract_with_context(&Context::current(), &Incoming(parent))
        });
        let _attached = parent.attach();
        start();
    }

    fn current_context(&self) -> Option<TraceContext> {
        let mut sent = Outgoing(TraceContext::default());
        let context = tracing::Span::current().context();
        global::get_text_map_propagator(|propagator| {
            propagator.inject_context(&context, &mut sent);
        });
        (!sent.0.is_empty()).then_some(sent.0)
    }

    fn request_started(&self, side: Side) {
        self.instruments(side).active_requests.add(1, &[]);
    }

    fn request_ended(&self, request: &EndedRequest<'_>) {
        let instruments = self.instruments(request.side);
        instruments.active_requests.add(-1, &[]);
        let mut attributes = Vec::with_capacity(8);
        attributes.extend([
            KeyValue::new("mcp.method.name", request.method),
            KeyValue::new("mcp.protocol.version", request.revision.as_str()),
            KeyValue::new("network.transport", request.transport),
        ]);
        let mut add = |key: &'static str, value: Option<String>| {
            attributes.extend(value.map(|value| KeyValue::new(key, value)));
        };
        if let Some(tool) = request.tool {
            add("gen_ai.operation.name", Some("execute_tool".to_owned()));
            add("gen_ai.tool.name", Some(tool.to_owned()));
        }
        add("gen_ai.prompt.name", request.prompt.map(str::to_owned));
        add("error.type", request.error_type.map(str::to_owned));
        add(
            "rpc.response.status_code",
            request.code.map(|code| code.to_string()),
        );
        instruments
            .operation_duration
            .record(request.seconds, &attributes);
    }

    fn session_started(&self, side: Side) {
        self.instruments(side).active_sessions.add(1, &[]);
    }

    fn session_ended(&self, session: &EndedSession) {
        let instruments = self.instruments(session.side);
        instruments.active_sessions.add(-1, &[]);
        let attributes = [
            KeyValue::new("mcp.protocol.version", session.revision.as_str()),
            KeyValue::new("network.transport", session.transport),
        ];
        instruments
            .session_duration
            .record(session.seconds, &attributes);
    }

    fn level_changed(&self, level: Level, by: i64) {
        match level {
            Level::Streams => self.active_streams.add(by, &[]),
            Level::QueuedMessages => self.queued_messages.add(by, &[]),
            _ => {}
        }
    }

    fn bound_reached(&self, bound: &'static str) {
        let bound = KeyValue::new("turnbuckle.bound", bound);
        self.refusals.add(1, &[bound]);
    }

    fn store_operation_ended(
        &self,
        operation: &'static str,
        error_type: Option<&'static str>,
        seconds: f64,
    ) {
        let mut attributes = vec![KeyValue::new("db.operation.name", operation)];
        attributes.extend(error_type.map(|it| KeyValue::new("error.type", it)));
        self.store_operations.record(seconds, &attributes);
    }
}

/// The trace context that a peer sent.
struct Incoming<'a>(&'a TraceContext);

impl Extractor for Incoming<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)
    }

    fn keys(&self) -> Vec<&str> {
        TraceContext::KEYS.to_vec()
    }
}

/// The trace context that a client sends.
struct Outgoing(TraceContext);

impl Injector for Outgoing {
    fn set(&mut self, key: &str, value: String) {
        self.0.set(key, &value);
    }
}
