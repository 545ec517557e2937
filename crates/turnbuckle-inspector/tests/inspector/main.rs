//! Tests of the Inspector with servers in memory.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking"
)]

mod entries;
mod hostile;
mod http;
mod legacy;
#[cfg(unix)]
mod program;
mod scripted;
mod servers;
mod wire;

use std::time::Duration;

use serde_json::json;
use servers::{Bench, accept};
use turnbuckle_inspector::api::{
    AnswerOutcome, ConnectionState, EntryStatus, ItemKind, QuestionKind, QuestionState, RawRange,
    SendOutcome, Step,
};
use turnbuckle_inspector::{InspectorError, OpenError};
use turnbuckle_server::{
    Args, Ask, Failure, Progress, Prompt, RawArguments, Resource, Server, Tool,
};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    a: i64,
    #[serde(default)]
    b: i64,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Person {
    name: String,
}

/// Returns a server with a tool of each kind.
fn server() -> Server {
    let add = Tool::builder("add").handler(async |Args(add): Args<Add>, progress: Progress| {
        progress.report_with_total(1, 2).await;
        (add.a + add.b).to_string()
    });
    let echo = Tool::builder("echo")
        .handler(|RawArguments(arguments): RawArguments| arguments.as_str().to_owned());
    let wait = Tool::builder("wait").handler(async || {
        std::future::pending::<()>().await;
        "never"
    });
    let greet = Tool::builder("greet").handler(async |ask: Ask| -> Result<String, Failure> {
        let person: Person = ask.form("Who are you?").await?;
        Ok(person.name)
    });
    Server::new("bench", "1.2.3")
        .tool(add)
        .tool(echo)
        .tool(wait)
        .tool(greet)
        .prompt(Prompt::builder("hello").handler(|| "Hello!"))
        .resource(Resource::builder("mem:///a", "a").handler(|| "text"))
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_session_connects_lists_and_calls_with_progress() {
    let bench = Bench::connect(server()).await;
    let session = bench.inspector.state().sessions.remove(0);
    let facts = session.server.unwrap();
    assert_eq!(
        (facts.name.as_deref(), facts.version.as_deref()),
        (Some("bench"), Some("1.2.3"))
    );
    assert_eq!(
        (session.pid, &*session.name, session.connections),
        (Some(42), "memory", 1)
    );
    assert_eq!(
        bench.names(ItemKind::Tools),
        ["add", "echo", "wait", "greet"]
    );
    assert_eq!(bench.names(ItemKind::Resources), ["mem:///a"]);
    let definition = bench
        .inspector
        .definition(&bench.session, ItemKind::Tools, "add")
        .unwrap();
    assert_eq!(definition.method, "tools/call");
    assert_eq!(definition.form.fields.len(), 2);
    let RawRange { n, start, end } = definition.raw;
    let at = format!("{start}-{end}");
    let raw = bench.inspector.raw(n, Some(&at)).unwrap();
    assert!(raw.bytes.starts_with(br#"{"name":"add""#), "{raw:?}");

    let n = bench.call("add", r#"{"a": 1, "b" : 2}"#).await;
    let entry = bench
        .wait_for_entry(n, |entry| entry.answer.is_some())
        .await;
    assert_eq!(
        (entry.status, entry.method.as_deref()),
        (EntryStatus::Ok, Some("tools/call"))
    );
    let about = bench.texts(&format!("about:{n} kind:received"));
    assert!(about[0].contains("notifications/progress"), "{about:?}");
    let blocks = bench
        .inspector
        .blocks(entry.answer.unwrap(), 0, 10)
        .unwrap();
    assert_eq!((blocks.total, blocks.is_error), (1, false));
    assert!(format!("{blocks:?}").contains("\"3\""));
    assert!(bench.texts(&format!("about:{n} kind:sent"))[0].contains(r#"{"a": 1, "b" : 2}"#));
    assert!(bench.inspector.state().sessions[0].latency_us.is_some());
}

#[tokio::test(start_paused = true)]
async fn arguments_that_do_not_fit_are_sent_only_anyway_and_byte_for_byte() {
    let bench = Bench::connect(server()).await;
    let params = r#"{"name":"add","arguments":{"a":"x"}}"#;
    let refused = bench.send("tools/call", params, false).await;
    assert!(
        matches!(&refused, SendOutcome::Refused { faults, can_send_anyway: true } if faults[0].path == "/arguments/a"),
        "{refused:?}"
    );
    assert!(matches!(
        bench.send("tools/call", params, true).await,
        SendOutcome::Sent { .. }
    ));
    let unknown = bench.send("tools/call", r#"{"name":"sub"}"#, false).await;
    assert!(matches!(
        unknown,
        SendOutcome::Refused {
            can_send_anyway: true,
            ..
        }
    ));
    let broken = bench.send("tools/call", r#"{"name":}"#, true).await;
    assert!(matches!(
        broken,
        SendOutcome::Refused {
            can_send_anyway: false,
            ..
        }
    ));
    let arguments = r#"{"n": 9007199254740993,  "e":1E400, "n":"\u0061"}"#;
    // The validator cannot read 1E400, and says so.
    let params = format!(r#"{{"name":"echo","arguments":{arguments}}}"#);
    let unread = bench.send("tools/call", &params, false).await;
    assert!(matches!(
        unread,
        SendOutcome::Refused {
            can_send_anyway: true,
            ..
        }
    ));
    let SendOutcome::Sent { n } = bench.send("tools/call", &params, true).await else {
        panic!("not sent");
    };
    let entry = bench
        .wait_for_entry(n, |entry| entry.answer.is_some())
        .await;
    assert!(bench.texts(&format!("about:{n} kind:sent"))[0].contains(arguments));
    let blocks = bench.inspector.blocks(entry.answer.unwrap(), 0, 1);
    assert!(format!("{blocks:?}").contains("9007199254740993"));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_method_is_sent_and_its_error_is_no_success() {
    let bench = Bench::connect(server()).await;
    let SendOutcome::Sent { n } = bench.send("x/unknown", "{\"a\":1}", false).await else {
        panic!("not sent");
    };
    let entry = bench
        .wait_for_entry(n, |entry| entry.status != EntryStatus::Open)
        .await;
    assert_eq!(entry.status, EntryStatus::Error);
}

#[tokio::test(start_paused = true)]
async fn a_request_is_cancelled_or_times_out() {
    let bench = Bench::connect(server()).await;
    let n = bench.call("wait", "{}").await;
    bench.inspector.cancel(&bench.session, n).unwrap();
    bench
        .wait_for_entry(n, |entry| entry.status == EntryStatus::Cancelled)
        .await;
    bench
        .wait(|_| !bench.texts("method:notifications/cancelled").is_empty())
        .await;
    let again = bench.inspector.cancel(&bench.session, n);
    assert_eq!(again, Err(InspectorError::NotFound("request")));
    let n = bench.call("wait", "{}").await;
    tokio::time::advance(Duration::from_secs(61)).await;
    let entry = bench
        .wait_for_entry(n, |entry| entry.status != EntryStatus::Open)
        .await;
    assert!(
        matches!(entry.status, EntryStatus::TimedOut | EntryStatus::Cancelled),
        "{entry:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_question_waits_for_a_person() {
    let bench = Bench::connect(server()).await;
    let n = bench.call("greet", "{}").await;
    bench.wait(|state| !state.inbox.is_empty()).await;
    let question = bench.inspector.state().inbox.remove(0);
    assert_eq!(
        (question.state, question.about),
        (QuestionState::Open, Some(n))
    );
    let QuestionKind::Form { message, form } = question.kind else {
        panic!("{question:?}");
    };
    assert_eq!((&*message, &*form.fields[0].name), ("Who are you?", "name"));
    let refused = bench.inspector.answer(&question.id, accept("{}"));
    assert!(matches!(refused, AnswerOutcome::Refused { .. }));
    let sent = bench
        .inspector
        .answer(&question.id, accept(r#"{"name":"Ada"}"#));
    assert_eq!(sent, AnswerOutcome::Sent);
    let is_there = || {
        bench
            .texts("kind:received")
            .iter()
            .any(|text| text.contains("\"Ada\""))
    };
    bench.wait(|_| is_there()).await;
    assert_eq!(
        bench.inspector.state().inbox[0].state,
        QuestionState::Accepted
    );
    // The call was sent again with the answer.
    let detail = bench.inspector.entry(n).unwrap();
    let newest = bench.inspector.entry(detail.newest.unwrap()).unwrap();
    assert_eq!(
        (newest.entry.about, newest.entry.status),
        (Some(n), EntryStatus::Ok)
    );
    assert_eq!((detail.timeout_ms, newest.newest), (Some(60_000), None));
}

#[tokio::test(start_paused = true)]
async fn updates_of_a_subscribed_resource_are_in_the_timeline() {
    let server = server();
    let bench = Bench::connect(server.clone()).await;
    bench
        .inspector
        .subscribe(&bench.session, "mem:///a".into())
        .await
        .unwrap();
    assert_eq!(
        bench.inspector.state().sessions[0].subscriptions,
        ["mem:///a"]
    );
    server.notify_resource_updated("mem:///a");
    bench
        .wait(|_| {
            !bench
                .texts("method:notifications/resources/updated")
                .is_empty()
        })
        .await;
    bench
        .inspector
        .unsubscribe(&bench.session, "mem:///a")
        .unwrap();
    assert_eq!(bench.inspector.state().sessions[0].subscriptions, [""; 0]);
    assert!(
        bench
            .inspector
            .unsubscribe(&bench.session, "mem:///a")
            .is_err()
    );
}

#[tokio::test(start_paused = true)]
async fn a_session_goes_on_after_its_server_was_restarted() {
    let bench = Bench::connect(server()).await;
    let n = bench.call("wait", "{}").await;
    bench.inspector.set_place(r#"{"draft":1}"#.into()).unwrap();
    bench.servers.crash();
    bench
        .wait(|state| matches!(state.sessions[0].connection, ConnectionState::Ended { .. }))
        .await;
    let ConnectionState::Ended { stderr, .. } = bench.connection() else {
        panic!("{:?}", bench.connection());
    };
    assert_eq!(stderr, ["starting with [redacted]"]);
    bench
        .wait_for_entry(n, |entry| entry.status == EntryStatus::Error)
        .await;
    let refused = bench.send("tools/call", r#"{"name":"add"}"#, true).await;
    assert!(matches!(refused, SendOutcome::Refused { .. }));
    // What was listed stays to be looked at.
    assert_eq!(bench.names(ItemKind::Tools).len(), 4);
    bench.inspector.restart(&bench.session).await.unwrap();
    bench.wait_for_lists().await;
    let state = bench.inspector.state();
    assert_eq!(state.sessions[0].connections, 2);
    assert_eq!(state.place.as_deref(), Some(r#"{"draft":1}"#));
    let n = bench.call("add", r#"{"a":1}"#).await;
    bench
        .wait_for_entry(n, |entry| entry.status == EntryStatus::Ok)
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_failure_names_its_step_and_its_causes() {
    let bench = Bench::open(server());
    let error = OpenError {
        step: Step::Resolve,
        errors: vec!["no address".into(), "key-12345 is unknown".into()],
    };
    bench.servers.fail_with(Some(error.clone()));
    bench
        .wait(|state| matches!(state.sessions[0].connection, ConnectionState::Failed { .. }))
        .await;
    let ConnectionState::Failed { step, errors, .. } = bench.connection() else {
        panic!("{:?}", bench.connection());
    };
    assert_eq!((step, errors[0].as_str()), (Step::Resolve, "no address"));
    assert!(bench.texts("kind:life")[0].contains("[redacted] is unknown"));
    bench.servers.fail_with(None);
    bench.inspector.restart(&bench.session).await.unwrap();
    bench.wait_for_lists().await;
}

#[tokio::test(start_paused = true)]
async fn sessions_are_bounded_and_closed_ones_give_way() {
    let bench = Bench::connect(server()).await;
    let given = turnbuckle_inspector::api::OpenSource::Given;
    for _ in 1..32 {
        bench.inspector.open(given.clone()).unwrap();
    }
    let full = bench.inspector.open(given.clone());
    assert!(matches!(full, Err(InspectorError::Refused(_))));
    bench.inspector.close(&bench.session).await.unwrap();
    assert!(
        bench
            .inspector
            .items(&bench.session, ItemKind::Tools, "", 0, 1)
            .is_err()
    );
    let id = bench.inspector.open(given).unwrap();
    assert_eq!(id, "s33");
    bench.inspector.close_all().await;
    assert_eq!(bench.inspector.state().sessions.len(), 0);
    let missing = bench.inspector.send(
        "s1",
        serde_json::from_value(json!({"method":"a","params":""})).unwrap(),
    );
    assert!(missing.await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_check_that_cannot_begin_says_why() {
    let bench = Bench::connect(server()).await;
    bench.inspector.start_check(&bench.session).unwrap();
    let run = || bench.inspector.check_run(&bench.session).unwrap();
    bench.wait(|_| run().error.is_some()).await;
    assert_eq!(run().error.as_deref(), Some("it cannot be checked"));
}
