//! Sessions of the legacy era, and what servers ask of the client.

use turnbuckle_inspector::api::{
    Answer, AnswerAction, AnswerOutcome, AutomaticAnswers, AutomaticForms, AutomaticUrls,
    CompletionRequest, CompletionTarget, ConnectionState, EntryStatus, ItemKind, QuestionKind,
    QuestionState,
};
use turnbuckle_inspector::{ClientSettings, InspectorError};
use turnbuckle_server::{
    Args, Ask, CompletionRequest as Completing, Failure, Log, Prompt, RawArguments, Resource,
    Server, TaskSupport, Tasks, Tool,
};
use turnbuckle_types::{LoggingLevel, Root};
use turnbuckle_wire::revision::Revision;

use crate::scripted::only;
use crate::servers::{Bench, accept, in_memory};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Size {
    #[serde(default = "three")]
    size: u32,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Greeting {
    who: String,
}

fn three() -> u32 {
    3
}

/// Returns a server that asks for everything.
fn server() -> Server {
    let sample = Tool::builder("sample").handler(async |ask: Ask| -> Result<String, Failure> {
        Ok(ask.sample("Tell a joke").await?.model)
    });
    let roots = Tool::builder("roots").handler(async |ask: Ask| -> Result<String, Failure> {
        Ok(ask
            .roots()
            .await?
            .iter()
            .map(|root| &*root.uri)
            .collect::<Vec<_>>()
            .join(" "))
    });
    let url = Tool::builder("url").handler(async |ask: Ask| -> Result<String, Failure> {
        ask.url("Visit me", "https://example.com/a").await?;
        Ok("visited".to_owned())
    });
    let form = Tool::builder("form").handler(async |ask: Ask| -> Result<String, Failure> {
        Ok(ask.form::<Size>("Which size?").await?.size.to_string())
    });
    let log = Tool::builder("log").handler(async |log: Log| {
        log.send(LoggingLevel::Debug, "a detail").await;
        log.send(LoggingLevel::Error, "a fault").await;
        "logged"
    });
    let export = Tool::builder("export")
        .task(TaskSupport::optional())
        .handler(async |_: RawArguments| "exported");
    let prompt = Prompt::builder("greet")
        .handler(|Args(greeting): Args<Greeting>| greeting.who)
        .complete("who", |it: Completing| {
            vec![format!("{} Lovelace", it.value)]
        });
    Server::new("asking", "1.0.0")
        .logging()
        .tools([sample, roots, url, form, log])
        .tool(export)
        .prompt(prompt)
        .resource(Resource::builder("mem:///a", "a").handler(|| "text"))
        .extension(Tasks::new())
        .build()
        .unwrap()
}

async fn connect(revision: Revision) -> Bench {
    Bench::connect_with(in_memory(server()), only(revision)).await
}

/// Calls a tool, answers its question, and returns whether the result has a text.
async fn call_and_answer(bench: &Bench, tool: &str, answer: Answer, text: &str) {
    let n = bench.call(tool, "{}").await;
    let is_open = |state: &turnbuckle_inspector::api::InspectorState| {
        state
            .inbox
            .first()
            .is_some_and(|it| it.state == QuestionState::Open)
    };
    bench.wait(is_open).await;
    let question = bench.inspector.state().inbox.remove(0);
    assert_eq!(question.about, Some(n), "{tool}");
    let answered = bench.inspector.answer(&question.id, answer);
    assert_eq!(answered, AnswerOutcome::Sent);
    wait_for_text(bench, n, text).await;
}

/// Waits for a response to a request, or to its repetition, that has a text.
async fn wait_for_text(bench: &Bench, n: u64, text: &str) {
    let has_text = |_: &_| {
        let texts = bench.texts(&format!("about:{n} kind:received"));
        texts.iter().any(|it| it.contains(text))
    };
    bench.wait(has_text).await;
}

#[tokio::test(start_paused = true)]
async fn a_session_of_2025_06_18_begins_with_its_handshake() {
    let bench = connect(Revision::V2025_06_18).await;
    let session = bench.inspector.state().sessions.remove(0);
    let facts = session.server.unwrap();
    assert_eq!(
        (facts.is_legacy, facts.revision.as_str()),
        (true, "2025-06-18")
    );
    assert_eq!(facts.supported_revisions, [""; 0]);
    let methods: Vec<_> = bench
        .inspector
        .query("kind:sent", 0, 3)
        .entries
        .into_iter()
        .filter_map(|it| it.method)
        .collect();
    assert_eq!(methods[..2], ["initialize", "notifications/initialized"]);
    let kinds: Vec<_> = session
        .lists
        .iter()
        .map(|list| (list.kind, list.has_error))
        .collect();
    let expected = [
        ItemKind::Tools,
        ItemKind::Resources,
        ItemKind::Templates,
        ItemKind::Prompts,
    ];
    assert_eq!(kinds, expected.map(|kind| (kind, false)));
    let n = bench.call("log", "{}").await;
    bench
        .wait_for_entry(n, |entry| entry.status == EntryStatus::Ok)
        .await;
}

#[tokio::test(start_paused = true)]
async fn log_level_and_subscriptions_hold_over_a_restart() {
    for revision in [Revision::V2025_06_18, Revision::V2026_07_28] {
        let bench = connect(revision).await;
        let (inspector, session) = (&bench.inspector, &bench.session);
        assert!(inspector.set_log_level(session, "loud").await.is_err());
        inspector.set_log_level(session, "error").await.unwrap();
        inspector
            .subscribe(session, "mem:///a".into())
            .await
            .unwrap();
        inspector.restart(session).await.unwrap();
        bench
            .wait(|state| {
                state.sessions[0].connection == ConnectionState::Ready
                    && !state.sessions[0].subscriptions.is_empty()
            })
            .await;
        let state = inspector.state().sessions.remove(0);
        assert_eq!(
            (state.log_level.as_deref(), state.connections),
            (Some("error"), 2)
        );
        let n = bench.call("log", "{}").await;
        bench
            .wait_for_entry(n, |entry| entry.status == EntryStatus::Ok)
            .await;
        let logs = bench.texts("kind:log");
        assert!(
            logs.iter().all(|log| log.contains("a fault")) && logs.len() == 1,
            "{revision} {logs:?}"
        );
        inspector.unsubscribe(session, "mem:///a").unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn sampling_roots_and_urls_are_questions_in_both_eras() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let bench = connect(revision).await;
        let message = r#"{"role":"assistant","content":{"type":"text","text":"x"},"model":"me-1"}"#;
        call_and_answer(&bench, "sample", accept(message), "me-1").await;
        call_and_answer(
            &bench,
            "roots",
            accept(r#"{"roots":[{"uri":"file:///r"}]}"#),
            "file:///r",
        )
        .await;
        call_and_answer(&bench, "url", accept("{}"), "visited").await;
        let inbox = bench.inspector.state().inbox;
        assert!(matches!(&inbox[0].kind, QuestionKind::Url { host, .. } if host == "example.com"));
        let decline = Answer {
            action: AnswerAction::Decline,
            content: None,
            anyway: false,
        };
        call_and_answer(&bench, "form", decline, "isError").await;
        let states: Vec<_> = bench
            .inspector
            .state()
            .inbox
            .iter()
            .map(|it| it.state)
            .collect();
        let [declined, accepted] = [QuestionState::Declined, QuestionState::Accepted];
        assert_eq!(states, [declined, accepted, accepted, accepted]);
    }
}

#[tokio::test(start_paused = true)]
async fn questions_are_answered_without_a_person_only_on_demand() {
    let settings = ClientSettings {
        roots: vec![Root::new("file:///given").unwrap()],
        ..ClientSettings::default()
    };
    let bench = Bench::connect_with(in_memory(server()), settings).await;
    let (inspector, session) = (&bench.inspector, &bench.session);
    let n = bench.call("roots", "{}").await;
    wait_for_text(&bench, n, "file:///given").await;
    let bad = AutomaticAnswers {
        sampling: Some("{}".into()),
        ..AutomaticAnswers::default()
    };
    assert!(matches!(
        inspector.set_automatic(session, bad),
        Err(InspectorError::Refused(_))
    ));
    let answers = AutomaticAnswers {
        forms: Some(AutomaticForms::Defaults),
        urls: Some(AutomaticUrls::Decline),
        sampling: Some(
            r#"{"role":"assistant","content":{"type":"text","text":"x"},"model":"robot"}"#.into(),
        ),
        roots: None,
    };
    inspector.set_automatic(session, answers.clone()).unwrap();
    assert_eq!(inspector.state().sessions[0].automatic, answers);
    for (tool, text) in [("form", "\"3\""), ("url", "isError"), ("sample", "robot")] {
        let n = bench.call(tool, "{}").await;
        wait_for_text(&bench, n, text).await;
    }
    assert!(inspector.state().inbox.iter().all(|it| it.is_automatic));
    assert_eq!(inspector.state().inbox.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn arguments_are_completed() {
    for revision in [Revision::V2025_06_18, Revision::V2026_07_28] {
        let bench = connect(revision).await;
        let request = CompletionRequest {
            target: CompletionTarget::Prompt,
            name: "greet".into(),
            argument: "who".into(),
            value: "Ada".into(),
            context: Default::default(),
        };
        let completion = bench
            .inspector
            .complete(&bench.session, request.clone())
            .await
            .unwrap();
        assert_eq!(completion.values, ["Ada Lovelace"]);
        let unknown = CompletionRequest {
            name: "x".into(),
            ..request
        };
        assert!(
            bench
                .inspector
                .complete(&bench.session, unknown)
                .await
                .is_err()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_becomes_a_task_is_listed() {
    let bench = connect(Revision::V2025_11_25).await;
    let params = r#"{"name":"export","arguments":{},"task":{}}"#;
    bench.send("tools/call", params, false).await;
    bench
        .wait(|_| !bench.names(ItemKind::Tasks).is_empty())
        .await;
    let id = bench.names(ItemKind::Tasks).remove(0);
    let definition = bench
        .inspector
        .definition(&bench.session, ItemKind::Tasks, &id)
        .unwrap();
    assert_eq!(definition.method, "tasks/get");
    // The server lists it too.
    bench.inspector.refresh(&bench.session).unwrap();
    bench
        .wait(|state| state.sessions[0].lists.iter().all(|list| !list.is_loading))
        .await;
    assert_eq!(bench.names(ItemKind::Tasks), [id]);
}
