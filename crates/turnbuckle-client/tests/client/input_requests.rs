//! Answering input requests: every kind in every revision that has it, and failed or missing
//! answers.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Barrier, mpsc};
use turnbuckle_client::{
    Client, ClientBuilder, EraPreference, Error, Form, FormAnswer, QuestionContext, Roots,
    UrlAnswer, UrlRequest,
};
use turnbuckle_server::{HandlerContext, NeedsInput, Result, Server, Tool};
use turnbuckle_session::handler::{Limits, Signal};
use turnbuckle_session::transport::{
    Dispatch, MemoryTransport, TransportConnector, TransportContext, memory_pair, serve,
};
use turnbuckle_types::{
    CallToolResult, CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestUrlParams, ElicitResult, ElicitationSchema, NumberSchema, Role, Root,
    SamplingMessage, StringSchema, TASKS_EXTENSION,
};
use turnbuckle_wire::revision::Revision;

fn serve_in_memory(server: Server) -> TransportConnector<MemoryTransport> {
    let (ours, theirs) = memory_pair();
    tokio::spawn(serve(
        Arc::new(server) as Arc<dyn Dispatch>,
        theirs,
        Limits::default(),
        TransportContext::default(),
        Signal::new(),
    ));
    TransportConnector::new(ours)
}

fn ask_name() -> ElicitRequestFormParams {
    let form = ElicitationSchema::new()
        .required("name", StringSchema::new().min_length(2))
        .optional("age", NumberSchema::integer().default(20));
    ElicitRequestFormParams::new("Who?", form)
}

fn to_text(answer: &ElicitResult) -> Result<String> {
    Ok(serde_json::to_string(answer).unwrap())
}

/// Returns a server that asks for every kind of input.
fn asker() -> Server {
    Server::new("asker", "1")
        .title("The Asker")
        .tool(Tool::builder("form").handler(
            async |(): (), context: HandlerContext| -> Result<String> {
                to_text(&context.ask("name", ask_name())?)
            },
        ))
        .tool(Tool::builder("url").handler(
            async |(): (), context: HandlerContext| -> Result<String> {
                to_text(&context.ask(
                    "url",
                    ElicitRequestUrlParams::new("Pay", "https://pay.example/1"),
                )?)
            },
        ))
        .tool(Tool::builder("sample").handler(
            async |(): (), context: HandlerContext| -> Result<String> {
                let messages = vec![SamplingMessage::user("Hello")];
                let reply = context.ask("reply", CreateMessageRequestParams::new(messages, 10))?;
                Ok(format!(
                    "{} by {}",
                    reply.content.as_slice()[0].as_text().unwrap(),
                    reply.model
                ))
            },
        ))
        .tool(Tool::builder("roots").handler(
            async |(): (), context: HandlerContext| -> Result<String> {
                let roots = context.ask("roots", turnbuckle_server::Roots)?.roots;
                Ok(roots
                    .iter()
                    .map(|root| &*root.uri)
                    .collect::<Vec<_>>()
                    .join(" "))
            },
        ))
        .tool(Tool::builder("both").handler(
            async |(): (), context: HandlerContext| -> Result<String> {
                let (one, two) = (ask_name(), ask_name());
                let answers = (context.answer("one", &one)?, context.answer("two", &two)?);
                let (Some(first), Some(second)) = answers else {
                    return Err(NeedsInput::new().ask("one", one).ask("two", two).into());
                };
                Ok(format!("{} {}", to_text(&first)?, to_text(&second)?))
            },
        ))
        .tool(Tool::builder("many").handler(
            async |(): (), context: HandlerContext| -> Result<String> {
                if context.raw_answer("0").is_some() {
                    return Ok("all".into());
                }
                let ask = |needs: NeedsInput, key: u8| needs.ask(&key.to_string(), ask_name());
                Err((0..9).fold(NeedsInput::new(), ask).into())
            },
        ))
        .tool(Tool::builder("declared").handler(
            async |(): (), context: HandlerContext| -> Result<String> {
                Ok(serde_json::to_string(context.client_capabilities()).unwrap())
            },
        ))
        .build()
        .unwrap()
}

fn all_handlers() -> ClientBuilder {
    let roots = Roots::new();
    roots.add(Root::new("file:///work").unwrap()).unwrap();
    Client::builder("c", "1")
        .roots(roots)
        .on_form(async |form: Form, question: QuestionContext| {
            assert_eq!(form.message, "Who?");
            assert_eq!(question.address(), "a connection in this process");
            let name = question.server_name().unwrap().to_owned();
            FormAnswer::accept([("name", name)])
        })
        .on_url(
            async |url: UrlRequest, _: QuestionContext| match &*url.host {
                "pay.example" => UrlAnswer::Accept,
                _ => UrlAnswer::Decline,
            },
        )
        .on_sampling(
            async |params: CreateMessageRequestParams, _: QuestionContext| {
                assert_eq!(params.messages.len(), 1);
                Ok(CreateMessageResult::new(Role::Assistant, "Hi", "m"))
            },
        )
}

async fn connect(builder: ClientBuilder, era: EraPreference) -> Client {
    builder
        .era(era)
        .connect(serve_in_memory(asker()))
        .await
        .unwrap()
}

fn text(result: &CallToolResult) -> &str {
    result.content[0].as_text().unwrap()
}

const ERAS: [EraPreference; 2] = [EraPreference::Modern, EraPreference::Legacy];

#[tokio::test(start_paused = true)]
async fn every_input_request_is_answered_in_every_revision_that_has_it() {
    for revision in Revision::ALL {
        let features = revision.features();
        let client = connect(all_handlers(), EraPreference::Only(revision)).await;
        let form = r#"{"action":"accept","content":{"name":"The Asker","age":20}}"#;
        for (feature, there, answer) in [
            ("form", features.elicitation, form),
            ("url", features.elicitation_url, r#"{"action":"accept"}"#),
            ("sample", true, "Hi by m"),
            ("roots", true, "file:///work"),
        ] {
            let result = client.call_tool(feature, &()).await.unwrap();
            assert_eq!(result.is_error(), !there, "{feature} {revision}");
            if there {
                assert_eq!(text(&result), answer, "{feature} {revision}");
            }
        }
        client.close().await;
    }
}

// requirement: 0ea86e3ec72e 25a362a1baa4 2a6577edac74 3d805a80c34f 7cd46b8ce836 8df423f8d744
// requirement: 903632599613 c622ed812689
#[tokio::test(start_paused = true)]
async fn capabilities_follow_from_the_handlers_and_the_revision() {
    let declared = async |builder: ClientBuilder, revision: Revision| -> Value {
        let client = connect(builder, EraPreference::Only(revision)).await;
        let result = client.call_tool("declared", &()).await.unwrap();
        serde_json::from_str(text(&result)).unwrap()
    };
    let plain = || Client::builder("c", "1");
    let full = || all_handlers().sampling_tools().sampling_context();
    let (tools, modes) = (
        json!({"tools": {}, "context": {}}),
        json!({"form": {}, "url": {}}),
    );
    for revision in Revision::ALL {
        let features = revision.features();
        let mut tasks = json!({});
        if features.extensions {
            tasks["extensions"] = json!({TASKS_EXTENSION: {}});
        }
        assert_eq!(declared(plain(), revision).await, tasks);
        assert_eq!(declared(plain().tasks(false), revision).await, json!({}));
        let alone = plain().sampling_tools().sampling_context();
        assert_eq!(declared(alone, revision).await, tasks);
        let mut expected = json!({"roots": {"listChanged": true}, "sampling": {}});
        if !features.server_requests {
            expected["roots"] = json!({});
        }
        if features.sampling_tools {
            expected["sampling"] = tools.clone();
        }
        if features.elicitation {
            expected["elicitation"] = json!({});
        }
        if features.elicitation_url {
            expected["elicitation"] = modes.clone();
        }
        let without_tasks = full().tasks(false);
        assert_eq!(
            declared(without_tasks, revision).await,
            expected,
            "{revision}"
        );
        if features.core_tasks {
            tasks["tasks"] = json!({"list": {}, "cancel": {}, "requests": {
                "sampling": {"createMessage": {}}, "elicitation": {"create": {}}}});
        }
        for (name, value) in tasks.as_object().unwrap() {
            expected[name] = value.clone();
        }
        assert_eq!(declared(full(), revision).await, expected, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn all_questions_of_a_round_are_with_handlers_at_once() {
    for era in ERAS {
        let met = Arc::new(Barrier::new(2));
        let builder = Client::builder("c", "1").on_form(move |_: Form, _: QuestionContext| {
            let met = met.clone();
            async move {
                let name = if met.wait().await.is_leader() {
                    "leader"
                } else {
                    "other"
                };
                FormAnswer::accept([("name", name)])
            }
        });
        let result = connect(builder, era)
            .await
            .call_tool("both", &())
            .await
            .unwrap();
        assert!(text(&result).contains("leader") && text(&result).contains("other"));
    }
}

#[tokio::test(start_paused = true)]
async fn concurrent_questions_are_limited() {
    for (era, bound) in ERAS.into_iter().flat_map(|era| [(era, 8), (era, 2)]) {
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counted = most.clone();
        let builder = match bound {
            // The default.
            8 => Client::builder("c", "1"),
            bound => Client::builder("c", "1").max_concurrent_questions(bound),
        };
        let builder = builder.on_form(move |_: Form, _: QuestionContext| {
            let (now, most) = (now.clone(), counted.clone());
            async move {
                let here = now.fetch_add(1, Ordering::Relaxed) + 1;
                most.fetch_max(here, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_secs(1)).await;
                now.fetch_sub(1, Ordering::Relaxed);
                FormAnswer::accept([("name", "Ada")])
            }
        });
        let result = connect(builder, era)
            .await
            .call_tool("many", &())
            .await
            .unwrap();
        assert_eq!(text(&result), "all");
        assert_eq!(most.load(Ordering::Relaxed), bound);
    }
}

#[tokio::test(start_paused = true)]
async fn a_declined_question_is_an_answer_and_no_error() {
    for era in ERAS {
        for (answer, consent, action) in [
            (FormAnswer::Decline, UrlAnswer::Decline, "decline"),
            (FormAnswer::Cancel, UrlAnswer::Cancel, "cancel"),
        ] {
            let builder = Client::builder("c", "1")
                .on_form(move |_: Form, _: QuestionContext| std::future::ready(answer.clone()))
                .on_url(move |_: UrlRequest, _: QuestionContext| std::future::ready(consent));
            let client = connect(builder, era).await;
            for tool in ["form", "url"] {
                let result = client.call_tool(tool, &()).await.unwrap();
                assert_eq!(text(&result), json!({"action": action}).to_string());
            }
        }
    }
}

/// Returns the reason in the outcome of a call whose question was not answered: an error of the
/// client in the modern era, a failed tool in the legacy one.
fn unanswered_reason(
    era: EraPreference,
    outcome: std::result::Result<CallToolResult, Error>,
) -> String {
    match (era, outcome) {
        (EraPreference::Modern, Err(Error::InputUnanswered { method, reason })) => {
            assert_eq!(method, "elicitation/create");
            reason
        }
        (EraPreference::Legacy, Ok(result)) if result.is_error() => text(&result).to_owned(),
        (_, outcome) => panic!("{outcome:?}"),
    }
}

// requirement: 30eacaf58089 a08fcb965a0e
#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_fit_its_form_is_never_sent() {
    for era in ERAS {
        for answer in [
            FormAnswer::accept([("name", "A")]),
            FormAnswer::accept([("age", 1)]),
            FormAnswer::accept([("name", 1)]),
        ] {
            let builder = Client::builder("c", "1")
                .on_form(move |_: Form, _: QuestionContext| std::future::ready(answer.clone()));
            let outcome = connect(builder, era).await.call_tool("form", &()).await;
            let reason = unanswered_reason(era, outcome);
            assert!(reason.contains("does not fit"), "{reason}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_handler_ends_only_its_question() {
    for era in ERAS {
        let first = Arc::new(AtomicBool::new(true));
        let builder = Client::builder("c", "1").on_form(move |_: Form, _: QuestionContext| {
            let first = first.swap(false, Ordering::Relaxed);
            async move {
                assert!(!first, "on purpose");
                FormAnswer::accept([("name", "Ada")])
            }
        });
        let client = connect(builder, era).await;
        let reason = unanswered_reason(era, client.call_tool("form", &()).await);
        assert!(reason.contains("failed unexpectedly"), "{reason}");
        let result = client.call_tool("form", &()).await.unwrap();
        assert!(text(&result).contains("Ada"));
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_failed_question_cancels_the_others() {
    for era in ERAS {
        let kept: Arc<Mutex<Vec<QuestionContext>>> = Arc::default();
        let keep = kept.clone();
        let builder =
            Client::builder("c", "1").on_form(move |_: Form, question: QuestionContext| {
                let mut kept = keep.lock().unwrap();
                kept.push(question);
                let second = kept.len() == 2;
                async move {
                    if !second {
                        std::future::pending::<()>().await;
                    }
                    FormAnswer::accept([("name", "?")])
                }
            });
        let client = connect(builder, era).await;
        unanswered_reason(era, client.call_tool("both", &()).await);
        let questions = std::mem::take(&mut *kept.lock().unwrap());
        assert_eq!(questions.len(), 2);
        for question in questions {
            let over = tokio::time::timeout(Duration::from_secs(1), question.cancelled());
            assert!(over.await.is_ok() && question.is_cancelled());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_cancels_its_questions() {
    for era in ERAS {
        let (asked, mut questions) = mpsc::unbounded_channel();
        let builder =
            Client::builder("c", "1").on_form(move |_: Form, question: QuestionContext| {
                asked.send(question).unwrap();
                std::future::pending()
            });
        let client = connect(builder, era).await;
        let call = tokio::spawn(client.call_tool("form", &()).into_future());
        let question = questions.recv().await.unwrap();
        assert!(!question.is_cancelled());
        call.abort();
        let over = tokio::time::timeout(Duration::from_secs(5), question.cancelled());
        assert!(over.await.is_ok());
    }
}

/// Returns a server that requires a visit to a URL before a call, and announces its completion later.
fn bank(visited: Arc<AtomicBool>) -> Server {
    Server::new("bank", "1")
        .tool(
            Tool::builder("pay").handler(move |(): (), context: HandlerContext| {
                let visited = visited.clone();
                async move {
                    if visited.load(Ordering::Relaxed) {
                        return Ok::<_, turnbuckle_server::Failure>("paid");
                    }
                    let announcer = context.elicitation_notifier();
                    tokio::spawn(async move {
                        tokio::time::sleep(Duration::from_secs(30)).await;
                        visited.store(true, Ordering::Relaxed);
                        announcer.notify_complete("someone else's").await;
                        announcer.notify_complete("visit").await;
                    });
                    let url = ElicitRequestUrlParams::new("Sign in", "https://bank.example/")
                        .elicitation_id("visit");
                    Err(turnbuckle_types::ProtocolError::url_elicitation_required(
                        vec![url],
                        "Sign in",
                    )
                    .into())
                }
            }),
        )
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_request_that_requires_a_url_visit_is_sent_again_after_it() {
    let connect = async |builder: ClientBuilder| {
        let builder = builder.era(EraPreference::Legacy);
        builder
            .connect(serve_in_memory(bank(Arc::default())))
            .await
            .unwrap()
    };
    let waits = Client::builder("c", "1").on_url(async |url: UrlRequest, _: QuestionContext| {
        assert_eq!(url.elicitation_id(), Some("visit"));
        assert!(url.wait_for_completion().await);
        UrlAnswer::Accept
    });
    let result = connect(waits).await.call_tool("pay", &()).await.unwrap();
    assert_eq!(text(&result), "paid");

    // A handler that does not wait for the announcement: the call is sent again at once, and once only.
    for (consent, asked) in [(UrlAnswer::Accept, 1), (UrlAnswer::Decline, 1)] {
        let times = Arc::new(AtomicUsize::new(0));
        let counted = times.clone();
        let hasty = Client::builder("c", "1").on_url(move |_: UrlRequest, _: QuestionContext| {
            counted.fetch_add(1, Ordering::Relaxed);
            std::future::ready(consent)
        });
        let error = connect(hasty)
            .await
            .call_tool("pay", &())
            .await
            .unwrap_err();
        assert_eq!(error.error_response().unwrap().code, -32042);
        assert_eq!(times.load(Ordering::Relaxed), asked);
    }
}
