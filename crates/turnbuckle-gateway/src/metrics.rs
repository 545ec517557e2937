//! The metrics of a gateway: calls of each upstream, their outcomes and durations, and the states of the
//! upstreams.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use turnbuckle::servers::Servers;
use turnbuckle_types::method::{
    CallTool, Complete, GetPrompt, Initialize, ListPrompts, ListResources, ListTools, ReadResource,
    Request as _, Subscribe,
};

use crate::event::{Event, OutcomeName};

/// The bounds of the buckets of durations, in seconds.
const BUCKETS: [f64; 14] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
];

/// The methods that have series of their own; of all others there is one.
const METHODS: [&str; 9] = [
    CallTool::METHOD,
    ListTools::METHOD,
    GetPrompt::METHOD,
    ListPrompts::METHOD,
    ReadResource::METHOD,
    ListResources::METHOD,
    Subscribe::METHOD,
    Complete::METHOD,
    Initialize::METHOD,
];

/// The name of all other methods.
const OTHER: &str = "other";

/// The requests of a gateway, counted. The number of series is bounded by the upstreams, methods and
/// outcomes.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<Series, Histogram>>,
    /// The lines that the audit log has lost.
    pub(crate) lost_lines: Arc<AtomicU64>,
}

/// The labels of one series.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Series {
    /// Empty for a request that is for no upstream.
    upstream: Arc<str>,
    method: &'static str,
    outcome: OutcomeName,
}

/// A histogram of durations.
#[derive(Debug, Default, Clone, Copy)]
struct Histogram {
    /// The durations in each bucket, those beyond the last bound included.
    counts: [u64; BUCKETS.len() + 1],
    micros: u64,
}

impl Metrics {
    /// Counts a request that has ended.
    pub(crate) fn count(&self, event: &Event<'_>) {
        let method = event.record.method.unwrap_or(OTHER);
        let known = METHODS.iter().find(|known| **known == method);
        let series = Series {
            upstream: event
                .target
                .as_ref()
                .map_or_else(|| "".into(), |it| it.upstream.clone()),
            method: known.copied().unwrap_or(OTHER),
            outcome: event.outcome,
        };
        let micros = event.record.micros;
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let histogram = requests.entry(series).or_default();
        histogram.counts[BUCKETS.partition_point(|bound| bound * 1e6 < micros as f64)] += 1;
        histogram.micros = histogram.micros.saturating_add(micros);
    }

    /// Appends the metrics in the text format of Prometheus.
    pub(crate) fn write(&self, text: &mut String, servers: Option<&Servers>) {
        let name = "turnbuckle_gateway_request_duration_seconds";
        write_head(
            text,
            name,
            "The duration of requests, by upstream and outcome.",
            "histogram",
        );
        // A copy, so that nothing is counted while the text is written.
        let requests = self
            .requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        for (series, histogram) in requests {
            let Series {
                upstream,
                method,
                outcome,
            } = series;
            let upstream = escape(&upstream);
            let labels =
                format!("upstream=\"{upstream}\",method=\"{method}\",outcome=\"{outcome}\"");
            let bounds = BUCKETS
                .iter()
                .map(ToString::to_string)
                .chain(["+Inf".into()]);
            let mut sum = 0;
            for (count, bound) in histogram.counts.iter().zip(bounds) {
                sum += count;
                let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{bound}\"}} {sum}");
            }
            let _ = writeln!(
                text,
                "{name}_sum{{{labels}}} {}",
                histogram.micros as f64 / 1e6
            );
            let _ = writeln!(text, "{name}_count{{{labels}}} {sum}");
        }
        let name = "turnbuckle_gateway_upstream_ready";
        write_head(
            text,
            name,
            "1 if the upstream is connected, or idle, or a client has a connection to it.",
            "gauge",
        );
        if let Some(servers) = servers {
            for status in servers.status() {
                let ready = u8::from(servers.is_reachable(&status.server));
                let upstream = escape(&status.server);
                let _ = writeln!(text, "{name}{{upstream=\"{upstream}\"}} {ready}");
            }
        }
        let name = "turnbuckle_gateway_audit_lost_lines_total";
        write_head(
            text,
            name,
            "Lines that the audit log could not write.",
            "counter",
        );
        let _ = writeln!(text, "{name} {}", self.lost_lines.load(Ordering::Relaxed));
    }
}

fn write_head(text: &mut String, name: &str, help: &str, kind: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// Escapes the value of a label as the format demands.
fn escape(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use turnbuckle::types::{AuditOutcome, AuditRecord};

    use super::*;

    #[test]
    fn requests_are_counted_in_cumulative_buckets_and_methods_of_peers_are_no_series() {
        let metrics = Metrics::default();
        for (method, micros) in [
            ("tools/call", 10_000),
            ("tools/call", 15_000),
            ("x\n1", 7),
            ("y", 7),
        ] {
            let mut record = AuditRecord::new(AuditOutcome::Completed);
            record.method = Some(method);
            record.micros = micros;
            metrics.count(&Event {
                record: &record,
                target: None,
                outcome: "completed",
                detail: None,
            });
        }
        let mut text = String::new();
        metrics.write(&mut text, None);
        let name = "turnbuckle_gateway_request_duration_seconds";
        let call = "upstream=\"\",method=\"tools/call\",outcome=\"completed\"";
        let other = "upstream=\"\",method=\"other\",outcome=\"completed\"";
        for line in [
            format!("{name}_bucket{{{call},le=\"0.01\"}} 1"),
            format!("{name}_bucket{{{call},le=\"0.02\"}} 2"),
            format!("{name}_bucket{{{call},le=\"+Inf\"}} 2"),
            format!("{name}_sum{{{call}}} 0.025"),
            format!("{name}_count{{{other}}} 2"),
            "turnbuckle_gateway_audit_lost_lines_total 0".to_owned(),
        ] {
            assert!(text.lines().any(|it| it == line), "{line}: {text}");
        }
    }
}
