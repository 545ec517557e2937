//! Texts about failed calls that a model reads: none names a setting of the server, since the model
//! cannot change it. The log names it.

use std::future::pending;
use std::time::Duration;

use serde_json::json;
use turnbuckle_it::harness::{Case, Client, ClientOptions};
use turnbuckle_server::{Ask, AskError, SchemaLimits, Server, Tool};
use turnbuckle_session::handler::Limits;

use crate::support::{call, error_text, message, taking};

/// The page that has all settings.
const PAGE: &str = include_str!("../../../../docs/security-tests.md");

/// Returns the settings on the page, as in `Limits::max_in_flight`.
fn settings() -> impl Iterator<Item = (&'static str, &'static str)> {
    let code = PAGE.split('`').skip(1).step_by(2);
    code.filter(|code| code.starts_with(char::is_uppercase) && !code.contains(' '))
        .filter_map(|code| code.split_once("::"))
}

#[track_caller]
fn assert_names_no_setting(text: &str, case: Case) {
    for (owner, setting) in settings() {
        let named =
            text.contains(&format!("{owner}::")) || setting.contains('_') && text.contains(setting);
        assert!(!named, "{case}: {setting} is named: {text}");
    }
}

fn server() -> Server {
    let waits = async || pending::<&str>().await;
    let asks = |ask: Ask| async move { Ok::<_, AskError>(ask.roots().await?.len().to_string()) };
    let schema = json!({
        "type": "object",
        "properties": {"m": {"type": "string", "pattern": "^a"}},
    });
    Server::new("s", "1")
        .schema_limits(SchemaLimits::new().max_work(100))
        .max_waiting(0)
        .tool(taking("costly", schema))
        .tool(
            Tool::builder("late")
                .timeout(Duration::from_secs(1))
                .handler(waits),
        )
        .tool(Tool::builder("alone").max_concurrent(1).handler(waits))
        .tool(Tool::builder("endless").handler(waits))
        .tool(Tool::builder("panics").handler(|| -> String { panic!("on purpose") }))
        .tool(Tool::builder("asks").handler(asks))
        .build()
        .unwrap()
}

async fn connect(case: Case, server: &Server, limits: Limits) -> Client {
    let options = ClientOptions::new()
        .capabilities(json!({"roots": {}}))
        .patience(Duration::from_secs(3600))
        .limits(limits);
    Client::connect_with(case, server, options).await
}

#[test]
fn the_page_of_settings_is_read() {
    assert!(settings().any(|setting| setting == ("Limits", "max_in_flight")));
    assert!(settings().any(|setting| setting == ("SchemaLimits", "max_work")));
}

#[tokio::test(start_paused = true)]
async fn no_text_for_the_model_names_a_setting() {
    let server = server();
    for case in Case::duplex(Case::all()) {
        let mut limits = Limits::default();
        limits.handler_timeout = Duration::from_secs(600);
        let mut client = connect(case, &server, limits).await;
        client.start("tools/call", json!({"name": "alone"})).await;
        for (tool, arguments, expected) in [
            ("late", json!({}), "took longer than 1s"),
            ("alone", json!({}), "busy"),
            ("costly", json!({"m": "a".repeat(20_000)}), "too costly"),
            ("costly", json!({"m": 7}), "Invalid arguments"),
            ("panics", json!({}), "failed unexpectedly"),
        ] {
            let answer = call(&mut client, tool, arguments).await;
            let text = error_text(&answer);
            assert!(text.contains(expected), "{case} {tool}: {text}");
            assert_names_no_setting(text, case);
        }
        let answer = call(&mut client, "endless", json!({})).await;
        let text = message(&answer);
        assert!(
            text.contains("longer than the server allows"),
            "{case}: {text}"
        );
        assert_names_no_setting(text, case);
    }
}

#[tokio::test(start_paused = true)]
async fn no_text_about_a_question_names_a_setting() {
    let server = server();
    for case in Case::duplex(Case::legacy()) {
        for (max_outgoing_requests, expected) in [(1, "did not answer within 10s"), (0, "wait for")]
        {
            let mut limits = Limits::default();
            limits.request_timeout = Duration::from_secs(10);
            limits.max_outgoing_requests = max_outgoing_requests;
            let mut client = connect(case, &server, limits).await;
            let answer = call(&mut client, "asks", json!({})).await;
            let text = error_text(&answer);
            assert!(text.contains(expected), "{case}: {text}");
            assert_names_no_setting(text, case);
        }
    }
}
