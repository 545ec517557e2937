//! What a server asks: each feature in each revision that has it, and what becomes of answers that
//! there are not.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Barrier, mpsc};
use turnbuckle_client::{
    Client, ClientBuilder, Consent, Era, Error, Form, FormAnswer, Question, Roots, UrlRequest,
};
use turnbuckle_server::{Context, NeedsInput, Result, Server, Tool};
use turnbuckle_session::{
    Dispatch, Joined, Limits, MemoryTransport, Signal, TransportContext, pair, serve,
};
use turnbuckle_types::{
    CallToolResult, CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitResult,
    ElicitUrlParams, ElicitationSchema, MessageRole, NumberSchema, Root, SamplingMessage,
    StringSchema,
};
use turnbuckle_wire::revision::Revision;

fn served(server: Server) -> Joined<MemoryTransport> {
    let (ours, theirs) = pair();
    tokio::spawn(serve(
        Arc::new(server) as Arc<dyn Dispatch>,
        theirs,
        Limits::default(),
        TransportContext::default(),
        Signal::new(),
    ));
    Joined::new(ours)
}

fn ask_name() -> ElicitFormParams {
    let form = ElicitationSchema::new()
        .required("name", StringSchema::new().min_length(2))
        .optional("age", NumberSchema::integer().default(20));
    ElicitFormParams::new("Who?", form)
}

fn told(answer: &ElicitResult) -> Result<String> {
    Ok(serde_json::to_string(answer).unwrap())
}

/// Asks for everything there is.
fn asker() -> Server {
    Server::new("asker", "1")
        .title("The Asker")
        .tool(
            Tool::builder("form").handler(async |(): (), context: Context| -> Result<String> {
                told(&context.ask("name", ask_name())?)
            }),
        )
        .tool(
            Tool::builder("url").handler(async |(): (), context: Context| -> Result<String> {
                told(&context.ask("url", ElicitUrlParams::new("Pay", "https://pay.example/1"))?)
            }),
        )
        .tool(
            Tool::builder("sample").handler(async |(): (), context: Context| -> Result<String> {
                let messages = vec![SamplingMessage::user("Hello")];
                let reply = context.ask("reply", CreateMessageParams::new(messages, 10))?;
                Ok(format!(
                    "{} by {}",
                    reply.content.as_slice()[0].as_text().unwrap(),
                    reply.model
                ))
            }),
        )
        .tool(
            Tool::builder("roots").handler(async |(): (), context: Context| -> Result<String> {
                let roots = context.ask("roots", turnbuckle_server::Roots)?.roots;
                Ok(roots
                    .iter()
                    .map(|root| &*root.uri)
                    .collect::<Vec<_>>()
                    .join(" "))
            }),
        )
        .tool(
            Tool::builder("both").handler(async |(): (), context: Context| -> Result<String> {
                let (one, two) = (ask_name(), ask_name());
                let answers = (context.answer("one", &one)?, context.answer("two", &two)?);
                let (Some(first), Some(second)) = answers else {
                    return Err(NeedsInput::new().ask("one", one).ask("two", two).into());
                };
                Ok(format!("{} {}", told(&first)?, told(&second)?))
            }),
        )
        .tool(
            Tool::builder("many").handler(async |(): (), context: Context| -> Result<String> {
                if context.raw_answer("0").is_some() {
                    return Ok("all".into());
                }
                let ask = |needs: NeedsInput, key: u8| needs.ask(&key.to_string(), ask_name());
                Err((0..9).fold(NeedsInput::new(), ask).into())
            }),
        )
        .tool(Tool::builder("declared").handler(
            async |(): (), context: Context| -> Result<String> {
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
        .on_form(async |form: Form, question: Question| {
            assert_eq!(form.message, "Who?");
            assert_eq!(question.address(), "a connection in this process");
            let name = question.server_name().unwrap().to_owned();
            FormAnswer::accept([("name", name)])
        })
        .on_url(async |url: UrlRequest, _: Question| match &*url.host {
            "pay.example" => Consent::Accept,
            _ => Consent::Decline,
        })
        .on_sampling(async |params: CreateMessageParams, _: Question| {
            assert_eq!(params.messages.len(), 1);
            Ok(CreateMessageResult::new(MessageRole::Assistant, "Hi", "m"))
        })
}

async fn connect(builder: ClientBuilder, era: Era) -> Client {
    builder.era(era).connect(served(asker())).await.unwrap()
}

fn text(result: &CallToolResult) -> &str {
    result.content[0].as_text().unwrap()
}

const ERAS: [Era; 2] = [Era::Modern, Era::Legacy];

#[tokio::test(start_paused = true)]
async fn each_feature_is_answered_in_each_revision_that_has_it() {
    for revision in Revision::ALL {
        let features = revision.features();
        let client = connect(all_handlers(), Era::Only(revision)).await;
        // A form's numbers got their defaults in the revision that has URLs too.
        let form = match features.elicitation_url {
            true => r#"{"action":"accept","content":{"name":"The Asker","age":20}}"#,
            false => r#"{"action":"accept","content":{"name":"The Asker"}}"#,
        };
        for (feature, there, answer) in [
            ("form", features.elicitation, form),
            ("url", features.elicitation_url, r#"{"action":"accept"}"#),
            ("sample", true, "Hi by m"),
            ("roots", true, "file:///work"),
        ] {
            let result = client.call(feature, &()).await.unwrap();
            assert_eq!(
                result.is_error == Some(true),
                !there,
                "{feature} {revision}"
            );
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
async fn what_is_declared_follows_from_the_handlers_and_the_revision() {
    let declared = async |builder: ClientBuilder, revision: Revision| -> Value {
        let client = connect(builder, Era::Only(revision)).await;
        let result = client.call("declared", &()).await.unwrap();
        serde_json::from_str(text(&result)).unwrap()
    };
    let plain = || Client::builder("c", "1");
    let full = || all_handlers().sampling_tools().sampling_context();
    let (tools, modes) = (
        json!({"tools": {}, "context": {}}),
        json!({"form": {}, "url": {}}),
    );
    for revision in Revision::ALL {
        assert_eq!(declared(plain(), revision).await, json!({}));
        let alone = plain().sampling_tools().sampling_context();
        assert_eq!(declared(alone, revision).await, json!({}));
        let features = revision.features();
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
        assert_eq!(declared(full(), revision).await, expected, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_questions_of_a_round_stand_before_the_user_together() {
    for era in ERAS {
        let met = Arc::new(Barrier::new(2));
        let builder = Client::builder("c", "1").on_form(move |_: Form, _: Question| {
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
        let result = connect(builder, era).await.call("both", &()).await.unwrap();
        assert!(text(&result).contains("leader") && text(&result).contains("other"));
    }
}

#[tokio::test(start_paused = true)]
async fn only_so_many_questions_stand_before_the_user_at_once() {
    for (era, bound) in ERAS.into_iter().flat_map(|era| [(era, 8), (era, 2)]) {
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counted = most.clone();
        let builder = match bound {
            // The default.
            8 => Client::builder("c", "1"),
            bound => Client::builder("c", "1").questions_at_once(bound),
        };
        let builder = builder.on_form(move |_: Form, _: Question| {
            let (now, most) = (now.clone(), counted.clone());
            async move {
                let here = now.fetch_add(1, Ordering::Relaxed) + 1;
                most.fetch_max(here, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_secs(1)).await;
                now.fetch_sub(1, Ordering::Relaxed);
                FormAnswer::accept([("name", "Ada")])
            }
        });
        let result = connect(builder, era).await.call("many", &()).await.unwrap();
        assert_eq!(text(&result), "all");
        assert_eq!(most.load(Ordering::Relaxed), bound);
    }
}

#[tokio::test(start_paused = true)]
async fn a_user_who_declines_is_an_answer_and_no_error() {
    for era in ERAS {
        for (answer, consent, action) in [
            (FormAnswer::Decline, Consent::Decline, "decline"),
            (FormAnswer::Cancel, Consent::Cancel, "cancel"),
        ] {
            let builder = Client::builder("c", "1")
                .on_form(move |_: Form, _: Question| std::future::ready(answer.clone()))
                .on_url(move |_: UrlRequest, _: Question| std::future::ready(consent));
            let client = connect(builder, era).await;
            for tool in ["form", "url"] {
                let result = client.call(tool, &()).await.unwrap();
                assert_eq!(text(&result), json!({"action": action}).to_string());
            }
        }
    }
}

/// What becomes of a call whose question was not answered: an error here in the modern era, a
/// failed tool in the legacy one.
fn unanswered(era: Era, outcome: std::result::Result<CallToolResult, Error>) -> String {
    match (era, outcome) {
        (Era::Modern, Err(Error::Unanswered { method, reason })) => {
            assert_eq!(method, "elicitation/create");
            reason
        }
        (Era::Legacy, Ok(result)) if result.is_error == Some(true) => text(&result).to_owned(),
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
                .on_form(move |_: Form, _: Question| std::future::ready(answer.clone()));
            let outcome = connect(builder, era).await.call("form", &()).await;
            let reason = unanswered(era, outcome);
            assert!(reason.contains("does not fit"), "{reason}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_ends_nothing_but_its_question() {
    for era in ERAS {
        let first = Arc::new(AtomicBool::new(true));
        let builder = Client::builder("c", "1").on_form(move |_: Form, _: Question| {
            let first = first.swap(false, Ordering::Relaxed);
            async move {
                assert!(!first, "on purpose");
                FormAnswer::accept([("name", "Ada")])
            }
        });
        let client = connect(builder, era).await;
        let reason = unanswered(era, client.call("form", &()).await);
        assert!(reason.contains("failed unexpectedly"), "{reason}");
        let result = client.call("form", &()).await.unwrap();
        assert!(text(&result).contains("Ada"));
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_that_fails_takes_the_other_questions_back() {
    for era in ERAS {
        let kept: Arc<Mutex<Vec<Question>>> = Arc::default();
        let keep = kept.clone();
        let builder = Client::builder("c", "1").on_form(move |_: Form, question: Question| {
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
        unanswered(era, client.call("both", &()).await);
        let questions = std::mem::take(&mut *kept.lock().unwrap());
        assert_eq!(questions.len(), 2);
        for question in questions {
            let over = tokio::time::timeout(Duration::from_secs(1), question.cancelled());
            assert!(over.await.is_ok() && question.is_cancelled());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_takes_its_questions_back() {
    for era in ERAS {
        let (asked, mut questions) = mpsc::unbounded_channel();
        let builder = Client::builder("c", "1").on_form(move |_: Form, question: Question| {
            asked.send(question).unwrap();
            std::future::pending()
        });
        let client = connect(builder, era).await;
        let call = tokio::spawn(client.call("form", &()).into_future());
        let question = questions.recv().await.unwrap();
        assert!(!question.is_cancelled());
        call.abort();
        let over = tokio::time::timeout(Duration::from_secs(5), question.cancelled());
        assert!(over.await.is_ok());
    }
}

/// Lets nobody do anything before they were at the bank; there it takes a while.
fn bank(visited: Arc<AtomicBool>) -> Server {
    Server::new("bank", "1")
        .tool(
            Tool::builder("pay").handler(move |(): (), context: Context| {
                let visited = visited.clone();
                async move {
                    if visited.load(Ordering::Relaxed) {
                        return Ok::<_, turnbuckle_server::Failure>("paid");
                    }
                    let announcer = context.announcer();
                    tokio::spawn(async move {
                        tokio::time::sleep(Duration::from_secs(30)).await;
                        visited.store(true, Ordering::Relaxed);
                        announcer.elicitation_complete("someone else's").await;
                        announcer.elicitation_complete("visit").await;
                    });
                    let url = ElicitUrlParams::new("Sign in", "https://bank.example/")
                        .elicitation_id("visit");
                    Err(
                        turnbuckle_types::Error::url_elicitation_required(vec![url], "Sign in")
                            .into(),
                    )
                }
            }),
        )
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_request_that_needs_a_visit_first_is_made_again_once_the_user_was_there() {
    let connect = async |builder: ClientBuilder| {
        let builder = builder.era(Era::Legacy);
        builder.connect(served(bank(Arc::default()))).await.unwrap()
    };
    let waits = Client::builder("c", "1").on_url(async |url: UrlRequest, _: Question| {
        assert_eq!(url.elicitation_id(), Some("visit"));
        assert!(url.completed().await);
        Consent::Accept
    });
    let result = connect(waits).await.call("pay", &()).await.unwrap();
    assert_eq!(text(&result), "paid");

    // Nobody waits for the announcement: it is tried again at once, and once only.
    for (consent, asked) in [(Consent::Accept, 1), (Consent::Decline, 1)] {
        let times = Arc::new(AtomicUsize::new(0));
        let counted = times.clone();
        let hasty = Client::builder("c", "1").on_url(move |_: UrlRequest, _: Question| {
            counted.fetch_add(1, Ordering::Relaxed);
            std::future::ready(consent)
        });
        let error = connect(hasty).await.call("pay", &()).await.unwrap_err();
        assert_eq!(error.refusal().unwrap().code, -32042);
        assert_eq!(times.load(Ordering::Relaxed), asked);
    }
}
