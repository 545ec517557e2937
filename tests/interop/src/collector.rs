//! Our client, our server and a collector that others wrote: the spans of both processes join into one
//! trace, and the metrics of both arrive.
//!
//! The tool exports to the collector, which sends everything on to a listener here.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use prost::Message as _;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

use crate::left::MARK;
use crate::problem::Problem;
use crate::start::Programs;

/// The name by which this part of the run is chosen.
pub(crate) const NAME: &str = "collector";

const INSTALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/collector/install.sh");
/// Time within which packages must be installed.
const INSTALLATION: Duration = Duration::from_secs(3 * 60);
/// Time within which a program must listen, or end.
const PROGRAM: Duration = Duration::from_secs(30);
/// Time within which everything must have come through the collector.
const ARRIVAL: Duration = Duration::from_secs(30);
/// Interval between two looks.
const INTERVAL: Duration = Duration::from_millis(50);
/// The most bytes of a request of the collector.
const MAX_BYTES: u64 = 16 << 20;

const CLIENT: &str = "interop-client";
const SERVER: &str = "interop-server";
/// The name of the spans of the call.
const CALL: &str = "tools/call echo";

/// Transport and revision of each call.
const CALLS: [(&str, &str); 4] = [
    ("tcp", "2026-07-28"),
    ("tcp", "2025-11-25"),
    ("pipe", "2026-07-28"),
    ("pipe", "2025-11-25"),
];

/// The metrics that each side exports, with `SIDE` in place of `client` or `server`.
const METRICS: [&str; 4] = [
    "mcp.SIDE.operation.duration",
    "mcp.SIDE.session.duration",
    "turnbuckle.SIDE.active_requests",
    "turnbuckle.SIDE.active_sessions",
];

/// Calls a tool in every way, and returns what did not arrive as it should.
pub(crate) async fn check(programs: &Programs) -> Result<Vec<String>, Problem> {
    let binary = install(programs).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let forward_to = format!("http://{}", listener.local_addr()?);
    let received = Arc::<Mutex<Received>>::default();
    let listening = tokio::spawn(listen(listener, received.clone()));
    let (_collector, endpoint) = start_collector(programs, &binary, &forward_to).await?;
    let tool = Tool {
        programs,
        endpoint: &endpoint,
    };
    let (demo, url) = tool.start_demo().await?;
    for (transport, revision) in CALLS {
        tool.call(transport, revision, &url).await?;
    }
    tool.end_demo(demo).await?;
    let end = Instant::now() + ARRIVAL;
    let missing = loop {
        let missing = received
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .missing();
        if missing.is_empty() || Instant::now() >= end {
            break missing;
        }
        sleep(INTERVAL).await;
    };
    listening.abort();
    Ok(missing)
}

/// Installs the collector, and returns its binary.
async fn install(programs: &Programs) -> Result<PathBuf, Problem> {
    // Beside the tool, among what cargo builds.
    let folder = programs.turnbuckle.with_file_name("collector");
    let mut install = Command::new("sh");
    install
        .arg(INSTALL)
        .arg(&folder)
        .stderr(Stdio::inherit())
        .kill_on_drop(true);
    let output = timeout(INSTALLATION, install.output())
        .await
        .map_err(|_| format!("the collector was not installed within {INSTALLATION:?}"))??;
    if !output.status.success() {
        return Err(format!("the collector cannot be installed: {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().into())
}

/// Starts a collector that sends on what it receives. Returns the URL at which it receives.
async fn start_collector(
    programs: &Programs,
    binary: &Path,
    forward_to: &str,
) -> Result<(Child, String), Problem> {
    // It takes no port of 0. Another process may take these ports first: it is tried again then.
    let mut status = None;
    for _ in 0..5 {
        let free = [
            TcpListener::bind("127.0.0.1:0").await?,
            TcpListener::bind("127.0.0.1:0").await?,
        ];
        let [grpc, http] = [free[0].local_addr()?, free[1].local_addr()?];
        drop(free);
        let mut child = Command::new(binary)
            .args(["start", "--exporter", "otlp", "--batch-timeout", "50ms"])
            .args(["--otlp-grpc-endpoint", &grpc.to_string()])
            .args(["--otlp-http-endpoint", &http.to_string()])
            .args(["--otlp-exporter-endpoint", forward_to])
            .args(["--otlp-exporter-protocol", "http"])
            .env(MARK, &programs.mark)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let end = Instant::now() + PROGRAM;
        while Instant::now() < end && status.is_none() {
            if TcpStream::connect(http).await.is_ok() {
                return Ok((child, format!("http://{http}")));
            }
            sleep(INTERVAL).await;
            status = child.try_wait()?;
        }
    }
    Err(format!("the collector does not listen: {status:?}").into())
}

/// The tool, exporting to the collector.
struct Tool<'a> {
    programs: &'a Programs,
    endpoint: &'a str,
}

impl Tool<'_> {
    fn command(&self, service: &str) -> Command {
        let mut command = Command::new(&self.programs.turnbuckle);
        command
            .env(MARK, &self.programs.mark)
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", self.endpoint)
            .env("OTEL_SERVICE_NAME", service)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// Starts the server on HTTP. Returns its URL.
    async fn start_demo(&self) -> Result<(Child, String), Problem> {
        let mut command = self.command(SERVER);
        let mut child = command
            .args(["demo", "--port", "0"])
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or("no standard output")?;
        let mut lines = BufReader::new(output).lines();
        let url = timeout(PROGRAM, async {
            while let Some(line) = lines.next_line().await? {
                if line.starts_with("http://") {
                    return Ok(line);
                }
            }
            Err(Problem::from(
                "the demo ended before it said where it listens",
            ))
        });
        let url = url
            .await
            .map_err(|_| "the demo does not say where it listens")??;
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok((child, url))
    }

    /// Ends the server as a service manager does: what it has not exported yet must not be lost.
    async fn end_demo(&self, mut demo: Child) -> Result<(), Problem> {
        let id = demo.id().ok_or("the demo has ended by itself")?;
        let mut kill = Command::new("kill");
        kill.args(["-TERM", &id.to_string()]).status().await?;
        let ended = timeout(PROGRAM, demo.wait()).await;
        let status = ended.map_err(|_| "the demo does not end")??;
        match status.success() {
            true => Ok(()),
            false => Err(format!("the demo ended with {status}").into()),
        }
    }

    /// Calls the tool `echo`.
    async fn call(&self, transport: &str, revision: &str, url: &str) -> Result<(), Problem> {
        let mut command = self.command(CLIENT);
        let options = ["echo", "message=hello", "--protocol-version", revision];
        match transport {
            "tcp" => command.args(["call", url]).args(options),
            _ => {
                command.arg("call").args(options);
                for (name, value) in [
                    (MARK, &*self.programs.mark),
                    ("OTEL_EXPORTER_OTLP_ENDPOINT", self.endpoint),
                    ("OTEL_SERVICE_NAME", SERVER),
                ] {
                    command.args(["--env", &format!("{name}={value}")]);
                }
                command.arg("--").arg(&self.programs.turnbuckle);
                command.args(["demo", "--stdio"])
            }
        };
        let output = timeout(PROGRAM, command.output()).await;
        let output = output.map_err(|_| format!("a call over {transport} does not end"))??;
        // An exporter that fails says so at the end of the command.
        let errors = String::from_utf8_lossy(&output.stderr);
        match output.status.success() && errors.is_empty() {
            true => Ok(()),
            false => {
                let status = output.status;
                Err(format!("a call over {transport} in {revision}: {status}: {errors}").into())
            }
        }
    }
}

/// Everything that came through the collector.
#[derive(Debug, Default)]
struct Received {
    spans: Vec<Span>,
    /// Pairs of a service and a metric.
    metrics: BTreeSet<(String, String)>,
    problems: Vec<String>,
}

/// A span of a call.
#[derive(Debug, PartialEq, Eq)]
struct Span {
    service: String,
    kind: SpanKind,
    transport: String,
    revision: String,
    trace_id: Vec<u8>,
    id: Vec<u8>,
    parent_id: Vec<u8>,
}

impl Received {
    /// Adds what a request of the collector brought.
    fn add(&mut self, path: &str, body: &[u8]) -> Result<(), Problem> {
        match path {
            "/v1/traces" => {
                let request = ExportTraceServiceRequest::decode(body)?;
                for resource in request.resource_spans {
                    let attributes = resource.resource.unwrap_or_default().attributes;
                    let service = text(&attributes, "service.name");
                    let spans = resource.scope_spans.into_iter().flat_map(|it| it.spans);
                    self.spans
                        .extend(spans.filter(|it| it.name == CALL).map(|span| Span {
                            service: service.clone(),
                            kind: span.kind(),
                            transport: text(&span.attributes, "network.transport"),
                            revision: text(&span.attributes, "mcp.protocol.version"),
                            trace_id: span.trace_id,
                            id: span.span_id,
                            parent_id: span.parent_span_id,
                        }));
                }
            }
            "/v1/metrics" => {
                let request = ExportMetricsServiceRequest::decode(body)?;
                for resource in request.resource_metrics {
                    let attributes = resource.resource.unwrap_or_default().attributes;
                    let service = text(&attributes, "service.name");
                    let metrics = resource.scope_metrics.into_iter().flat_map(|it| it.metrics);
                    self.metrics
                        .extend(metrics.map(|it| (service.clone(), it.name)));
                }
            }
            other => return Err(format!("the collector sent something to {other}").into()),
        }
        Ok(())
    }

    /// Returns what is missing or wrong.
    fn missing(&self) -> Vec<String> {
        let mut missing = self.problems.clone();
        for (transport, revision) in CALLS {
            let find = |service: &str, kind| {
                let mut found = self.spans.iter().filter(|span| {
                    span.service == service
                        && span.kind == kind
                        && span.transport == transport
                        && span.revision == revision
                });
                found.next().filter(|_| found.next().is_none())
            };
            let sent = find(CLIENT, SpanKind::Client);
            let served = find(SERVER, SpanKind::Server);
            let are_joined = sent.zip(served).is_some_and(|(sent, served)| {
                sent.trace_id == served.trace_id && sent.id == served.parent_id
            });
            if !are_joined {
                missing.push(format!(
                    "{CALL} over {transport} in {revision} is no trace of two spans: {sent:?}, {served:?}"
                ));
            }
        }
        for (service, side) in [(CLIENT, "client"), (SERVER, "server")] {
            for metric in METRICS {
                let name = metric.replace("SIDE", side);
                if !self.metrics.contains(&(service.to_owned(), name.clone())) {
                    missing.push(format!("{service} exported no {name}"));
                }
            }
        }
        missing
    }
}

/// Returns the text of an attribute, or nothing.
fn text(attributes: &[KeyValue], key: &str) -> String {
    let found = attributes.iter().find(|attribute| attribute.key == key);
    match found.and_then(|it| it.value.as_ref()?.value.as_ref()) {
        Some(any_value::Value::StringValue(text)) => text.clone(),
        _ => String::new(),
    }
}

/// Answers the requests of the collector.
async fn listen(listener: TcpListener, received: Arc<Mutex<Received>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let received = received.clone();
        tokio::spawn(async move {
            if let Err(problem) = serve(stream, &received).await {
                let mut received = received.lock().unwrap_or_else(PoisonError::into_inner);
                received.problems.push(problem.to_string());
            }
        });
    }
}

/// Answers the requests of one connection.
async fn serve(stream: TcpStream, received: &Mutex<Received>) -> Result<(), Problem> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while stream.read_line(&mut line).await? > 0 {
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut bytes = 0;
        loop {
            line.clear();
            if stream.read_line(&mut line).await? == 0 || line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                bytes = value.trim().parse::<u64>()?;
            }
        }
        if bytes > MAX_BYTES {
            return Err(format!("a request of the collector has {bytes} bytes").into());
        }
        let mut body = Vec::new();
        (&mut stream).take(bytes).read_to_end(&mut body).await?;
        // The collector compresses everything.
        let mut message = Vec::new();
        GzDecoder::new(&*body)
            .take(MAX_BYTES)
            .read_to_end(&mut message)?;
        received
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add(&path, &message)?;
        let answer =
            b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).await?;
        line.clear();
    }
    Ok(())
}
