//! Extractors of handlers.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tracing::Instrument as _;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use turnbuckle::types::LoggingLevel;

use super::{call_error_text, call_text, error_code, text};
use crate::cells::{Transport, each};
use crate::readers::Level;
use crate::telemetry::{self, trace_id};

#[test]
fn a_handler_has_the_servers_state() {
    each(|at| async move {
        assert_eq!(call_text(&at, "state", json!({})).await, "shared");
    });
}

#[test]
fn a_handler_is_in_the_trace_of_its_client() {
    telemetry::start();
    each(|at| async move {
        let span = tracing::info_span!("program");
        let expected = trace_id(&span.context());
        let trace = call_text(&at, "trace", json!({})).instrument(span).await;
        assert_eq!(trace, expected);
    });
}

#[test]
fn a_handler_reports_progress() {
    each(|at| async move {
        let notifications = Arc::new(Mutex::new(Vec::new()));
        let log = notifications.clone();
        let call = at.call_tool("progress", &()).on_progress(move |report| {
            let total = report.total.map(|total| total.as_f64());
            let report = (report.progress.as_f64(), total, report.message);
            log.lock().unwrap().push(report);
        });
        call.await.unwrap();
        let words = at.reader.progress_words.then(|| "all of it".to_owned());
        let expected = [(1.0, Some(2.0), None), (2.0, Some(2.0), words)];
        assert_eq!(*notifications.lock().unwrap(), expected);
    });
}

#[test]
fn a_handler_sends_logs_of_the_level_that_the_client_set() {
    each(|at| async move {
        at.cell.notifications.take();
        call_text(&at, "log", json!({})).await;
        let level = LoggingLevel::Warning;
        let call = at.call_tool("log", &());
        let call = match at.reader.log_level {
            Level::OfRequest => {
                assert!(at.cell.notifications.take().is_empty());
                call.log_level(level)
            }
            Level::OfSession => {
                at.cell.notifications.take();
                at.set_log_level(level).await.unwrap();
                call
            }
        };
        call.await.unwrap();
        assert_eq!(at.cell.notifications.take(), ["Warning \"look out\""]);
    });
}

#[test]
fn a_handler_sees_that_its_call_is_taken_back() {
    each(|at| async move {
        let client = (*at).clone();
        let call = tokio::spawn(async move { client.call_tool("wait", &()).await });
        call_text(&at, "await_mark", json!({"mark": "begun"})).await;
        call.abort();
        let seen = call_text(&at, "await_mark", json!({"mark": "cancelled"})).await;
        assert_eq!(seen, "cancelled");
    });
}

#[test]
fn a_handler_knows_its_client() {
    each(|at| async move {
        let info = format!("Some(\"test {}\")", env!("CARGO_PKG_VERSION"));
        let expected = |samples| format!("{info} {} {samples}", at.reader.revision);
        assert_eq!(call_text(&at, "whoami", json!({})).await, expected(true));
        let mute = at.mute().await;
        assert_eq!(call_text(&mute, "whoami", json!({})).await, expected(false));
    });
}

#[test]
fn a_handler_has_the_requests_metadata() {
    each(|at| async move {
        let mut call = at.call_tool("meta", &());
        let meta = &mut call.params_mut().meta;
        meta.set("example.com/trace", "abc").unwrap();
        assert_eq!(text(&call.await.unwrap()), "\"abc\"");
    });
}

#[test]
fn a_handler_sees_the_http_request_where_there_is_one() {
    each(|at| async move {
        let flavour = match at.cell.transport {
            Transport::Http => "sweet",
            Transport::Memory | Transport::Stdio => "none",
        };
        assert_eq!(call_text(&at, "flavour", json!({})).await, flavour);
    });
}

#[test]
fn a_process_is_the_server_of_standard_input_and_output() {
    each(|at| async move {
        let process = call_text(&at, "process", json!({})).await;
        let is_ours = process == std::process::id().to_string();
        assert_eq!(is_ours, !at.cell.has_own_process());
    });
}

#[test]
fn a_header_repeats_an_argument() {
    each(|at| async move {
        let mirrors = at.reader.mirrors && at.cell.transport == Transport::Http;
        let repeated = if mirrors { "eu" } else { "none" };
        let text = call_text(&at, "region", json!({"region": "eu"})).await;
        assert_eq!(text, format!("eu, {repeated}"));
    });
}

#[test]
fn a_handler_takes_extractors_of_users() {
    each(|at| async move {
        let text = call_text(&at, "caller", json!({"greeting": "Hello"})).await;
        assert_eq!(text, "Hello, test");
    });
}

#[test]
fn an_extractor_of_ones_own_waits_and_says_whose_fault_it_is() {
    each(|at| async move {
        let looked_up = async |reason: &str| {
            let mut call = at.call_tool("looked_up", &());
            let meta = &mut call.params_mut().meta;
            meta.set("example.com/reason", reason).unwrap();
            call.await
        };
        let text = looked_up("unknown").await.unwrap();
        assert!(text.is_error());
        assert_eq!(text.text(), "sign up first");
        assert_eq!(error_code(looked_up("client").await), -32602);
        assert_eq!(error_code(looked_up("server").await), -32603);
        let scope = looked_up("scope").await.unwrap_err().to_string();
        // An HTTP status, with which a client that logs in asks for more.
        let is_status = scope.contains("HTTP 403");
        assert!(is_status || scope.contains("accounts"), "{scope}");
    });
}

#[test]
fn a_handler_extracts_the_extensions_that_a_layer_inserted() {
    each(|at| async move {
        assert_eq!(call_text(&at, "tenant", json!({})).await, "none");
        if at.cell.transport == Transport::Http {
            let missing = at.call_tool("must_have_tenant", &()).await;
            assert_eq!(error_code(missing), -32603);
        } else {
            let text = call_error_text(&at, "must_have_tenant", json!({})).await;
            assert!(text.contains("over HTTP only"), "{text}");
        }
        let Some(layered) = at.signed_in().await else {
            return;
        };
        let tenant = match at.cell.transport {
            Transport::Http => "acme",
            Transport::Memory | Transport::Stdio => "none",
        };
        assert_eq!(call_text(&layered, "tenant", json!({})).await, tenant);
    });
}

#[test]
fn a_handler_sees_the_servers_items() {
    each(|at| async move {
        assert_eq!(call_text(&at, "items", json!({})).await, "true true true");
    });
}

#[test]
fn a_handler_takes_the_whole_context() {
    each(|at| async move {
        assert_eq!(call_text(&at, "context", json!({})).await, "\"context\"");
    });
}
