//! The span and the log line of each request.

use std::cell::RefCell;

use serde_json::json;
use turnbuckle_it::harness::{Bind, Case, Client, ClientOptions};
use turnbuckle_server::{Failure, Prompt, RawArguments, Server, Tool};
use turnbuckle_session::internal::{
    EndedRequest, EndedSession, Level, Side, Telemetry, TraceContext, set_telemetry,
};
use turnbuckle_types::ProtocolError;

use crate::support::call;
use crate::traced::Traced;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn server() -> Server {
    let add = Tool::builder("add").handler(async |_: RawArguments| "3");
    let secret = Tool::builder("secret").handler(async |_: RawArguments| {
        Err::<(), _>(Failure::from(ProtocolError::invalid_params(
            "hunter2 is no user",
        )))
    });
    let later = Tool::builder("later").handler(async |_: RawArguments| {
        tokio::task::yield_now().await;
        Err::<(), _>("no")
    });
    let server = Server::new("s", "1").tool(add).tool(later).tool(secret);
    let server = server.prompt(Prompt::builder("greet").handler(async || "hi"));
    server.build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_request_has_a_span_with_the_attributes_of_the_conventions_and_one_log_line() {
    let server = server();
    for case in Case::all() {
        let _connecting = Traced::start();
        let mut client = Client::connect(case, &server).await;
        let traced = Traced::start();
        call(&mut client, "add", json!({"password": "hunter2"})).await;
        let text = traced.text();
        let transport = match case.binding {
            Bind::Pipe | Bind::Stream => "pipe",
            _ => "tcp",
        };
        for expected in [
            r#"otel.name="tools/call add""#.to_owned(),
            r#"otel.kind="server""#.to_owned(),
            r#"mcp.method.name="tools/call""#.to_owned(),
            format!(r#"mcp.protocol.version="{}""#, case.revision),
            format!(r#"network.transport="{transport}""#),
            r#"gen_ai.operation.name="execute_tool""#.to_owned(),
            r#"gen_ai.tool.name="add""#.to_owned(),
            "jsonrpc.request.id=".to_owned(),
        ] {
            assert!(text.contains(&expected), "{case}: {expected}\n{text}");
        }
        assert!(!text.contains("hunter2"), "{case}: {text}");
        let has_session = case.binding == Bind::Http && !case.is_modern();
        assert_eq!(
            text.contains("mcp.session.id="),
            has_session,
            "{case}: {text}"
        );
        assert!(!text.contains("error.type"), "{case}: {text}");
        let lines = traced.with("answered");
        assert_eq!(lines.len(), 1, "{case}: {lines:?}");
        assert!(lines[0].starts_with("DEBUG"), "{case}: {lines:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_request_is_logged_once_at_warn_and_its_span_has_the_type_of_its_error() {
    let server = server();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        for (tool, error) in [
            ("later", "tool_error"),
            ("missing", "-32602"),
            ("secret", "-32602"),
        ] {
            let traced = Traced::start();
            call(&mut client, tool, json!({})).await;
            let text = traced.text();
            assert!(
                text.contains(&format!(r#"error.type="{error}""#)),
                "{case}: {text}"
            );
            assert!(
                text.contains(r#"otel.status_code="ERROR""#),
                "{case}: {text}"
            );
            let has_code = text.contains("rpc.response.status_code=-32602");
            assert_eq!(has_code, error != "tool_error", "{case}: {text}");
            assert!(!text.contains("hunter2"), "{case}: {text}");
            let lines = traced.with("message=failed");
            assert_eq!(lines.len(), 1, "{case}: {lines:?}");
            // The failure of a handler has a line of its own, with the error.
            let warnings = traced.with("WARN");
            assert_eq!(warnings.len(), 1, "{case}: {warnings:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_fails_is_a_failed_request() {
    let server = server();
    for case in Case::duplex(Case::legacy()) {
        let options = ClientOptions::new().without_handshake();
        let mut client = Client::connect_with(case, &server, options).await;
        let traced = Traced::start();
        client
            .request("initialize", json!({"protocolVersion": 7}))
            .await;
        let text = traced.text();
        assert!(text.contains(r#"error.type="-32602""#), "{case}: {text}");
        assert_eq!(traced.with("message=failed").len(), 1, "{case}: {text}");
    }
}

thread_local! {
    static PARENTS: RefCell<Vec<TraceContext>> = const { RefCell::new(Vec::new()) };
}

/// Records the parents of the spans of this thread.
struct Recorder;

impl Telemetry for Recorder {
    fn with_parent(&self, parent: &TraceContext, start: &mut dyn FnMut()) {
        PARENTS.with_borrow_mut(|parents| parents.push(parent.clone()));
        start();
    }

    fn current_context(&self) -> Option<TraceContext> {
        None
    }

    fn request_started(&self, _: Side) {}
    fn request_ended(&self, _: &EndedRequest<'_>) {}
    fn session_started(&self, _: Side) {}
    fn session_ended(&self, _: &EndedSession) {}
    fn level_changed(&self, _: Level, _: i64) {}
    fn bound_reached(&self, _: &str) {}

    fn store_operation_ended(&self, _: &'static str, _: Option<&'static str>, _: f64) {}
}

#[tokio::test(start_paused = true)]
async fn a_span_has_the_parent_that_meta_names() {
    set_telemetry(Recorder);
    let server = server();
    let _traced = Traced::start();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        PARENTS.take();
        let mut params = json!({"name": "add", "arguments": {}});
        client.request("tools/call", params.clone()).await;
        assert_eq!(PARENTS.take(), [], "{case}");
        params["_meta"]["traceparent"] = PARENT.into();
        params["_meta"]["tracestate"] = "a=1".into();
        client.request("tools/call", params).await;
        let mut expected = TraceContext::default();
        expected.set("traceparent", PARENT);
        expected.set("tracestate", "a=1");
        assert_eq!(PARENTS.take(), [expected], "{case}");
    }
}
