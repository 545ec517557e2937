//! The number of series of metrics that hostile peers can make, in a process of its own: a series
//! that was made stays to the end of its process.

// A test fails by panicking, and so do the functions that it calls.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use opentelemetry::{KeyValue, global};
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};
use serde_json::json;
use turnbuckle::client::EraPreference;
use turnbuckle::http::HttpServerOptions;
use turnbuckle::session::handler::{Limits, Rate};
use turnbuckle::types::{ErrorKind, ProtocolError};
use turnbuckle::{Client, ItemName, Prompt, Provider, RawArguments, Revision, Server, Tool};
use turnbuckle_it::web::Web;
use turnbuckle_it::wires::{Script, Wires};

/// The values of each kind that peers make up.
const VALUES: usize = 3_000;

/// The most series of one metric.
const MAX_SERIES: usize = 600;

/// Serves tools and prompts of any name. A tool `error-7` fails with the code 7.
fn server() -> Server {
    let find_tool = async |ItemName(name): ItemName| {
        let code: Option<i64> = name.strip_prefix("error").and_then(|it| it.parse().ok());
        let tool = Tool::builder(name).handler(move |_: RawArguments| match code {
            Some(code) => Err(ProtocolError::new(ErrorKind::Application(code), "failed")),
            None => Ok("done"),
        });
        Some(tool)
    };
    let find_prompt =
        async |ItemName(name): ItemName| Some(Prompt::builder(name).handler(|| "text"));
    Server::new("s", "1")
        .provider(Provider::tools("any").find(find_tool))
        .provider(Provider::prompts("any").find(find_prompt))
        .build()
        .unwrap()
}

fn no_limits() -> Limits {
    let any = Rate::per_second(u32::MAX);
    Limits::new().call_rate(any).handshake_rate(any)
}

/// Returns the attributes of all series, by metric.
fn series(exporter: &InMemoryMetricExporter) -> BTreeMap<String, BTreeSet<String>> {
    let text = |attributes: &mut dyn Iterator<Item = &KeyValue>| {
        let pairs: BTreeSet<String> = attributes
            .map(|pair| format!("{}={}", pair.key, pair.value))
            .collect();
        pairs.into_iter().collect::<Vec<_>>().join(" ")
    };
    let exported = exporter.get_finished_metrics().unwrap();
    let last = exported.last().unwrap();
    let metrics = last.scope_metrics().flat_map(|scope| scope.metrics());
    let mut found = BTreeMap::new();
    for metric in metrics {
        let points: BTreeSet<String> = match metric.data() {
            AggregatedMetrics::F64(MetricData::Histogram(data)) => data
                .data_points()
                .map(|point| text(&mut point.attributes()))
                .collect(),
            AggregatedMetrics::I64(MetricData::Sum(data)) => data
                .data_points()
                .map(|point| text(&mut point.attributes()))
                .collect(),
            AggregatedMetrics::U64(MetricData::Sum(data)) => data
                .data_points()
                .map(|point| text(&mut point.attributes()))
                .collect(),
            _ => panic!("{} is of another kind", metric.name()),
        };
        found.insert(metric.name().to_owned(), points);
    }
    found
}

#[tokio::test(start_paused = true)]
async fn values_that_peers_make_up_make_few_series() {
    let exporter = InMemoryMetricExporter::default();
    let provider = SdkMeterProvider::builder()
        .with_periodic_exporter(exporter.clone())
        .build();
    global::set_meter_provider(provider.clone());
    assert!(turnbuckle::otel::install());

    // A client of any server, and the server of any client.
    let client = Client::builder("test", "1")
        .era(EraPreference::Only(Revision::NEWEST))
        .connect(Wires::new(Script::plain()).lines(server()))
        .await
        .unwrap();
    let web = Web::with(&server(), HttpServerOptions::new().limits(no_limits()));
    for index in 0..VALUES {
        let tool = format!("tool-{index}");
        client.call_tool(&tool, &json!({})).await.unwrap();
        let tool = format!("error{index}");
        client.call_tool(&tool, &json!({})).await.unwrap_err();
        let prompt = format!("prompt-{index}");
        client.get_prompt(&prompt, [("a", "b"); 0]).await.unwrap();
        web.modern(&format!("method/{index}"), json!({}))
            .header("mcp-session-id", &format!("session-{index}"))
            .send()
            .await;
        let version = format!("{index}");
        let meta = json!({"io.modelcontextprotocol/protocolVersion": version});
        web.modern("ping", json!({"_meta": meta}))
            .header("host", &format!("host-{index}.example"))
            .send()
            .await;
        // The rates of the server allow that many calls a second.
        if index % 1_000 == 0 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
    provider.force_flush().unwrap();
    let series = series(&exporter);
    let durations = ["client", "server"].map(|side| format!("mcp.{side}.operation.duration"));
    for name in &durations {
        let has = |text: &str| series[name].iter().any(|found| found.contains(text));
        assert!(
            has("tool-0") && has("=_OTHER") && !has("tool-2999"),
            "{name}"
        );
    }
    for (name, series) in &series {
        assert!(series.len() < MAX_SERIES, "{name}: {} series", series.len());
    }
}
