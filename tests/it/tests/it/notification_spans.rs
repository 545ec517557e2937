//! The spans of notifications, of their senders and of their receivers.

use serde_json::json;
use turnbuckle_client::{ChangeFilter, Roots};
use turnbuckle_it::coupled::Coupled;
use turnbuckle_it::harness::{Bind, Case, Client};
use turnbuckle_server::{HandlerContext, ReadRequest, Resource, Server, Tool};
use turnbuckle_session::handler::Change;
use turnbuckle_types::{LoggingLevel, Root};

use crate::client_support::{plain, settle};
use crate::traced::Traced;

fn server() -> Server {
    let report = async |(): (), context: HandlerContext| {
        context.progress(1, None).await;
        context.log(LoggingLevel::Error, None, "hunter2").await;
        "done"
    };
    let forever =
        async |(): (), _: HandlerContext| -> &'static str { std::future::pending().await };
    let read = async |_: ReadRequest, _: HandlerContext| "";
    Server::new("s", "1")
        .tool(Tool::builder("report").handler(report))
        .tool(Tool::builder("forever").handler(forever))
        .resource(Resource::builder("r:1", "one").handler(read))
        .dynamic_tools()
        .logging()
        .build()
        .unwrap()
}

/// Asserts that a notification has one span of its sender and one of its receiver, and returns both.
#[track_caller]
fn assert_both_sides(traced: &Traced, case: Case, method: &str) -> [String; 2] {
    let spans = traced.spans("notification");
    let transport = match case.binding {
        Bind::Pipe | Bind::Stream => "pipe",
        _ => "tcp",
    };
    ["client", "server"].map(|side| {
        let facts = [
            format!("otel.name=\"{method}\""),
            format!("otel.kind=\"{side}\""),
            format!("mcp.method.name=\"{method}\""),
            format!("network.transport=\"{transport}\""),
        ];
        let is_wanted = |span: &&String| facts.iter().all(|fact| span.contains(fact));
        let found: Vec<_> = spans.iter().filter(is_wanted).collect();
        assert_eq!(found.len(), 1, "{case} {method} {side}: {spans:#?}");
        found[0].clone()
    })
}

#[tokio::test(start_paused = true)]
async fn progress_and_log_messages_have_a_span_on_both_sides() {
    let server = server();
    for case in Case::all() {
        let builder = plain().log_level(LoggingLevel::Debug);
        let client = Coupled::connect(case, &server, builder).await;
        let traced = Traced::start();
        let (call, _progress) = client.call_tool("report", &()).with_progress();
        call.await.unwrap();
        settle().await;
        for method in ["notifications/progress", "notifications/message"] {
            for span in assert_both_sides(&traced, case, method) {
                let revision = format!("mcp.protocol.version=\"{}\"", case.revision);
                assert!(span.contains(&revision), "{case}: {span}");
            }
        }
        assert!(!traced.spans("notification").concat().contains("hunter2"));
    }
}

#[tokio::test(start_paused = true)]
async fn the_notifications_of_a_client_have_a_span_on_both_sides() {
    let server = server();
    for case in Case::all() {
        let traced = Traced::start();
        let roots = Roots::new();
        roots.set(Root::new("file:///a")).unwrap();
        let builder = plain().roots(roots.clone());
        let client = Coupled::connect(case, &server, builder).await;
        settle().await;
        let dropped = tokio::spawn(client.call_tool("forever", &()).into_future());
        settle().await;
        dropped.abort();
        roots.set(Root::new("file:///b")).unwrap();
        settle().await;
        let methods: &[&str] = match (case.is_legacy(), case.is_duplex()) {
            (true, _) => &["initialized", "roots/list_changed", "cancelled"],
            (false, true) => &["cancelled"],
            // The exchange is closed instead.
            (false, false) => &[],
        };
        for method in methods {
            assert_both_sides(&traced, case, &format!("notifications/{method}"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn changes_have_a_span_on_both_sides() {
    for case in Case::all() {
        let server = server();
        let client = Coupled::connect(case, &server, plain()).await;
        let filter = ChangeFilter::new().tools().resource("r:1");
        let mut changes = client.subscribe(filter).await.unwrap();
        let traced = Traced::start();
        server.notify_tools_changed();
        assert_eq!(changes.next().await, Some(Change::Tools), "{case}");
        server.notify_resource_updated("r:1");
        let updated = Some(Change::Resource("r:1".into()));
        assert_eq!(changes.next().await, updated, "{case}");
        assert_both_sides(&traced, case, "notifications/tools/list_changed");
        for span in assert_both_sides(&traced, case, "notifications/resources/updated") {
            assert!(span.contains("mcp.resource.uri=\"r:1\""), "{case}: {span}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_method_that_a_client_makes_up_is_cut() {
    let server = server();
    for case in Case::legacy() {
        let mut client = Client::connect(case, &server).await;
        let traced = Traced::start();
        let method = format!("notifications/{}", "x".repeat(10_000));
        client.notify(&method, json!({})).await;
        client.settle().await;
        let mut spans = traced.spans("notification");
        spans.retain(|span| span.contains("notifications/xxx"));
        assert_eq!(spans.len(), 1, "{case}");
        // The name stands there twice.
        assert!(spans[0].len() < 1_000, "{case}: {}", spans[0].len());
        let has_session = case.binding == Bind::Http;
        assert_eq!(spans[0].contains("mcp.session.id="), has_session, "{case}");
    }
}
