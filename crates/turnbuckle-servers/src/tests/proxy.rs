//! A proxy between clients and servers of either era.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;
use turnbuckle_client::{
    ChangeFilter, Client, ClientBuilder, EraPreference, Error, Form, FormAnswer, QuestionContext,
    Roots,
};
use turnbuckle_server::{
    Args, Ask, AskError, Cancellation, CompletionRequest, HandlerContext, Progress, Prompt,
    ReadRequest, Resource, Result, Server, Tool,
};
use turnbuckle_session::handler::Change;
use turnbuckle_types::{
    ContentBlock, CreateMessageResult, ErrorKind, FieldValue, LoggingLevel, Map, PromptReference,
    ProtocolError, Root,
};

use super::support::{ERAS, speak, until};
use crate::{InProcess, Proxy, Servers, UpstreamMode};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

async fn greet(ask: Ask, name: String) -> Result<String> {
    let other: Name = ask.form("Who else?").await?;
    let said = ask.sample("Say hello").await?;
    let said = said.content.iter().find_map(|block| block.as_text());
    let said = said.unwrap_or_default();
    Ok(format!("{said} {name} and {}", other.name))
}

/// Returns a server that asks, reports progress and waits. `ended` is notified when its tool `wait`
/// is cancelled, and `runs` counts those of its tool `greet`.
fn origin(ended: Arc<Notify>, runs: Arc<AtomicUsize>) -> Server {
    let greet = Tool::builder("greet").handler(move |ask: Ask, Args(Name { name }): Args<Name>| {
        runs.fetch_add(1, Ordering::Relaxed);
        greet(ask, name)
    });
    let work = Tool::builder("work").handler(async |progress: Progress| {
        progress.report_with_message(1, 2, "half").await;
        "done"
    });
    let wait = Tool::builder("wait").handler(move |cancellation: Cancellation| {
        let ended = ended.clone();
        async move {
            cancellation.cancelled().await;
            ended.notify_one();
        }
    });
    let log = Tool::builder("log").handler(async |context: HandlerContext| {
        context.log(LoggingLevel::Info, Some("part"), "hello").await;
        "logged"
    });
    let roots = Tool::builder("roots").handler(async |ask: Ask| -> Result<String> {
        let roots = ask.roots().await?;
        let uris: Vec<&str> = roots.iter().map(|root| root.uri.as_str()).collect();
        Ok(uris.join(" "))
    });
    let level = Tool::builder("level")
        .handler(|context: HandlerContext| format!("{:?}", context.log_level()));
    let ask = Prompt::builder("ask")
        .complete("name", |typing: CompletionRequest| {
            vec![format!("{}da", typing.value)]
        })
        .handler(|Args(Name { name }): Args<Name>| format!("Ask {name}"));
    let note = Resource::builder("notes://{id}", "note").handler(|read: ReadRequest| read.uri);
    let builder = Server::new("origin", "1").logging();
    let builder = builder.tool(greet).tool(work).tool(wait).tool(log);
    let builder = builder.tool(roots).tool(level);
    builder
        .dynamic_tools()
        .prompt(ask)
        .resource(note)
        .build()
        .unwrap()
}

/// Returns every pair of eras: of the client in front, and of the server behind.
fn pairs() -> impl Iterator<Item = (EraPreference, EraPreference)> {
    ERAS.into_iter()
        .flat_map(|front| ERAS.map(|behind| (front, behind)))
}

/// A client of a proxy in front of one server.
struct Connected {
    proxy: Proxy,
    client: Client,
    origin: Server,
    ended: Arc<Notify>,
    runs: Arc<AtomicUsize>,
}

async fn connect(behind: EraPreference, builder: ClientBuilder) -> Connected {
    let (ended, runs) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let origin = origin(ended.clone(), runs.clone());
    let proxy = Servers::builder("host", "1")
        .server("one", InProcess::new(origin.clone()))
        .clients(speak(behind))
        .proxy(Server::new("gateway", "1.0.0"))
        .await
        .unwrap();
    let gateway = InProcess::new(proxy.server().clone());
    let client = builder.connect(gateway).await.unwrap();
    Connected {
        proxy,
        client,
        origin,
        ended,
        runs,
    }
}

#[tokio::test(start_paused = true)]
async fn questions_reach_the_client_in_front_in_every_pair_of_eras() {
    for (front, behind) in pairs() {
        let builder = Client::builder("c", "1")
            .era(front)
            .on_form(async |form: Form, _: QuestionContext| {
                assert_eq!(form.message, "Who else?");
                let mut content = Map::new();
                content.insert("name", FieldValue::String("Bob".into()));
                FormAnswer::Accept(content)
            })
            .on_sampling(async |_, _| Ok(CreateMessageResult::from_text("Hello", "model")));
        let connected = connect(behind, builder).await;
        let call = connected
            .client
            .call_tool("one__greet", &json!({"name": "Ada"}));
        let result = call.await.unwrap();
        let expected = [ContentBlock::text("Hello Ada and Bob")];
        assert_eq!(result.content, expected, "{front:?} {behind:?}");
        // A server of the modern era runs again for each answer, whoever asks. The call is made once.
        let runs = match behind {
            EraPreference::Legacy => 1,
            _ => 3,
        };
        assert_eq!(
            connected.runs.load(Ordering::Relaxed),
            runs,
            "{front:?} {behind:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_the_client_in_front_cannot_answer_fails_the_call() {
    for (front, behind) in pairs() {
        let connected = connect(behind, Client::builder("c", "1").era(front)).await;
        let call = connected
            .client
            .call_tool("one__greet", &json!({"name": "Ada"}));
        let failed = match call.await {
            Ok(result) => result.is_error == Some(true),
            Err(_) => true,
        };
        assert!(failed, "{front:?} {behind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn progress_and_cancellation_pass_in_every_pair_of_eras() {
    for (front, behind) in pairs() {
        let connected = connect(behind, Client::builder("c", "1").era(front)).await;
        let client = &connected.client;
        let heard = Arc::new(Mutex::new(Vec::new()));
        let log = heard.clone();
        let call = client
            .call_tool("one__work", &())
            .on_progress(move |report| {
                log.lock().unwrap().push(report.progress.as_f64());
            });
        assert_eq!(call.await.unwrap().content, [ContentBlock::text("done")]);
        assert_eq!(*heard.lock().unwrap(), [1.0], "{front:?} {behind:?}");

        let waiting = client.call_tool("one__wait", &()).into_future();
        let cut = tokio::time::timeout(Duration::from_millis(50), waiting).await;
        assert!(cut.is_err());
        let ended = connected.ended.notified();
        let ended = tokio::time::timeout(Duration::from_secs(1), ended).await;
        ended.expect("the server goes on with a cancelled call");
    }
}

#[tokio::test(start_paused = true)]
async fn prompts_resources_and_changes_pass_in_every_pair_of_eras() {
    for (front, behind) in pairs() {
        let connected = connect(behind, Client::builder("c", "1").era(front)).await;
        let client = &connected.client;
        let prompts = client.list_prompts().fetch_all().await.unwrap();
        assert_eq!(prompts[0].arguments.as_ref().unwrap()[0].name, "name");
        let prompt = client
            .get_prompt("one__ask", [("name", "Ada")])
            .await
            .unwrap();
        assert_eq!(prompt.messages[0].content, ContentBlock::text("Ask Ada"));
        let completion = client.complete(PromptReference::new("one__ask"), "name", "A");
        assert_eq!(completion.await.unwrap().completion.values, ["Ada"]);
        let read = client.read_resource("one+notes://1").await.unwrap();
        assert_eq!(read.contents[0].uri(), Some("one+notes://1"));

        let changes = client.subscribe(ChangeFilter::new().tools()).await;
        let mut changes = changes.unwrap();
        // A tool of the same name is another one.
        let new = Tool::builder("work").description("New").handler(|| "new");
        connected.origin.add_tool(new).unwrap();
        let is_new = |servers: &Servers| {
            let tool = servers.tool("one__work").unwrap();
            tool.item.description.as_deref() == Some("New")
        };
        until(connected.proxy.servers(), is_new).await;
        changes.next().await.unwrap();
        let result = client.call_tool("one__work", &()).await.unwrap();
        assert_eq!(result.content, [ContentBlock::text("new")]);
    }
}

#[tokio::test(start_paused = true)]
async fn log_messages_pass_in_every_pair_of_eras() {
    for (front, behind) in pairs() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let log = heard.clone();
        let builder = Client::builder("c", "1")
            .era(front)
            .log_level(LoggingLevel::Info)
            .on_log(move |message| {
                let text = message.data.as_str().to_owned();
                log.lock()
                    .unwrap()
                    .push((message.level, message.logger, text));
            });
        let connected = connect(behind, builder).await;
        let result = connected.client.call_tool("one__log", &()).await.unwrap();
        assert_eq!(result.content, [ContentBlock::text("logged")]);
        let message = (
            LoggingLevel::Info,
            Some("part".to_owned()),
            "\"hello\"".to_owned(),
        );
        assert_eq!(*heard.lock().unwrap(), [message], "{front:?} {behind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn roots_are_those_of_the_client_in_front_in_every_pair_of_eras() {
    for (front, behind) in pairs() {
        let roots = Roots::new();
        let with_roots = Client::builder("c", "1").era(front).roots(roots.clone());
        let connected = connect(behind, with_roots).await;
        for expected in ["file:///one", "file:///two"] {
            roots.set([Root::new(expected).unwrap()]).unwrap();
            // A legacy client notifies of the change in a message of its own.
            tokio::time::sleep(Duration::from_millis(1)).await;
            let call = connected.client.call_tool("one__roots", &());
            assert_eq!(call.await.unwrap().text(), expected, "{front:?} {behind:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_learns_that_the_client_in_front_lacks_a_question_in_every_pair_of_eras() {
    for (front, behind) in pairs() {
        let pair = format!("{front:?} {behind:?}");
        let connected = connect(behind, Client::builder("c", "1").era(front)).await;
        let read = match connected.client.call_tool("one__roots", &()).await {
            Ok(result) if result.is_error() => result.text().to_string(),
            Err(error) => error.to_string(),
            Ok(result) => panic!("{pair}: {result:?}"),
        };
        assert!(read.contains("roots"), "{pair}: {read}");
        let called = connected.client.call_tool("one__roots", &()).await;
        if (front, behind) == (EraPreference::Modern, EraPreference::Modern) {
            let error = called.unwrap_err();
            let Error::ErrorResponse(response) = &error else {
                panic!("{error}");
            };
            assert_eq!(response.code, -32021);
            let missing = response.data.as_ref().map(|data| data.as_str());
            assert!(
                missing.is_some_and(|data| data.contains("roots")),
                "{missing:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_reads_the_error_with_which_the_client_in_front_answers() {
    fn refuse_question<T>() -> std::result::Result<T, ProtocolError> {
        Err(ProtocolError::new(ErrorKind::Forwarded(-5), "not today"))
    }
    fn describe_refusal<T>(answer: std::result::Result<T, AskError>) -> String {
        match answer {
            Err(AskError::Refused(error)) => format!("{} {}", error.code, error.message),
            _ => "no refusal".to_owned(),
        }
    }
    let roots =
        Tool::builder("roots").handler(async |ask: Ask| describe_refusal(ask.roots().await));
    let sample =
        Tool::builder("sample").handler(async |ask: Ask| describe_refusal(ask.sample("Hi").await));
    let origin = Server::new("origin", "1").tool(roots).tool(sample);
    let proxy = Servers::builder("host", "1")
        .server("one", InProcess::new(origin.build().unwrap()))
        .clients(speak(EraPreference::Legacy))
        .proxy(Server::new("gateway", "1"))
        .await
        .unwrap();
    let builder = Client::builder("c", "1").era(EraPreference::Legacy);
    let builder = builder
        .on_roots(async |_: QuestionContext| refuse_question())
        .on_sampling(async |_, _: QuestionContext| refuse_question());
    let gateway = InProcess::new(proxy.server().clone());
    let client = builder.connect(gateway).await.unwrap();
    for tool in ["one__roots", "one__sample"] {
        let result = client.call_tool(tool, &()).await.unwrap();
        assert_eq!(result.text(), "-5 not today", "{tool}");
    }
}

/// Returns a server whose tool `declared` tells which questions its client has: roots, sampling, forms, URLs.
fn reader_of_capabilities() -> Server {
    let declared = Tool::builder("declared").handler(|context: HandlerContext| {
        let capabilities = context.client_capabilities();
        let has = [
            capabilities.supports_roots(),
            capabilities.supports_sampling(),
            capabilities.supports_elicitation_form(),
            capabilities.supports_elicitation_url(),
        ];
        format!("{has:?}")
    });
    Server::new("origin", "1").tool(declared).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_server_reads_the_capabilities_of_each_client() {
    let proxy = Servers::builder("host", "1")
        .server("one", InProcess::new(reader_of_capabilities()))
        .clients(speak(EraPreference::Modern))
        .proxy(Server::new("gateway", "1"))
        .await
        .unwrap();
    let mut clients = Vec::new();
    for front in ERAS {
        let plain = || Client::builder("c", "1").era(front);
        let rooted = plain().roots(Roots::new());
        for (builder, expected) in [
            (plain(), "[false, false, false, false]"),
            (rooted, "[true, false, false, false]"),
        ] {
            let gateway = InProcess::new(proxy.server().clone());
            clients.push((builder.connect(gateway).await.unwrap(), expected));
        }
    }
    for _ in 0..2 {
        for (client, expected) in &clients {
            for _ in 0..2 {
                let result = client.call_tool("one__declared", &()).await.unwrap();
                assert_eq!(result.text(), *expected);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_server_of_one_session_is_told_of_the_questions_that_its_client_has() {
    let proxy = Servers::builder("host", "1")
        .server("one", InProcess::new(reader_of_capabilities()))
        .upstream("one", |options| options.mode(UpstreamMode::PerSession))
        .clients(speak(EraPreference::Legacy))
        .proxy(Server::new("gateway", "1"))
        .await
        .unwrap();
    let plain = || Client::builder("c", "1").era(EraPreference::Legacy);
    let rooted = plain().roots(Roots::new());
    let sampled =
        rooted.on_sampling(async |_, _: QuestionContext| Err(ProtocolError::internal("none")));
    for (builder, expected) in [
        (plain(), "[false, false, false, false]"),
        (sampled, "[true, true, false, false]"),
    ] {
        let gateway = InProcess::new(proxy.server().clone());
        let client = builder.connect(gateway).await.unwrap();
        let result = client.call_tool("one__declared", &()).await.unwrap();
        assert_eq!(result.text(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn the_log_level_is_that_of_the_client_in_front_in_every_pair_of_eras() {
    for (front, behind) in pairs() {
        let connected = connect(behind, Client::builder("c", "1").era(front)).await;
        let client = &connected.client;
        for level in [LoggingLevel::Debug, LoggingLevel::Error, LoggingLevel::Info] {
            let call = client.call_tool("one__level", &());
            let call = match front {
                EraPreference::Legacy => {
                    client.set_log_level(level).await.unwrap();
                    call
                }
                _ => call.log_level(level),
            };
            let expected = format!("{:?}", Some(level));
            assert_eq!(call.await.unwrap().text(), expected, "{front:?} {behind:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn updates_of_subscribed_resources_pass_in_every_pair_of_eras() {
    for (front, behind) in pairs() {
        let connected = connect(behind, Client::builder("c", "1").era(front)).await;
        let Connected { client, origin, .. } = &connected;
        let until_subscribed = async |expected: &[&str]| {
            while origin.subscribed_resources() != expected {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let one = client.subscribe(ChangeFilter::new().resource("one+notes://1"));
        let mut one = one.await.unwrap();
        let two = client.subscribe(ChangeFilter::new().resource("one+notes://2"));
        let two = two.await.unwrap();
        let subscribed = origin.subscribed_resources();
        assert_eq!(
            subscribed,
            ["notes://1", "notes://2"],
            "{front:?} {behind:?}"
        );
        origin.notify_resource_updated("notes://1");
        let changed = Change::Resource("one+notes://1".into());
        assert_eq!(one.next().await, Some(changed), "{front:?} {behind:?}");
        // The proxy is subscribed to no more than its clients.
        drop(two);
        until_subscribed(&["notes://1"]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_servers_are_closed_with_the_proxy() {
    let connected = connect(EraPreference::Auto, Client::builder("c", "1")).await;
    drop(connected.proxy);
    let failed = match connected.client.call_tool("one__work", &()).await {
        Ok(result) => result.is_error == Some(true),
        Err(_) => true,
    };
    assert!(failed);
}
