//! Errors: of programs, and of handlers as the client and the log see them.

use std::cell::RefCell;
use std::error::Error as StdError;
use std::fmt::{Debug, Write as _};
use std::io;
use std::sync::Once;

use anyhow::Context as _;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use turnbuckle::prelude::*;
use turnbuckle::{ServerBuilder, testing};

thread_local! {
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Keeps the warnings of each thread.
struct Warnings;

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        LINES.with_borrow_mut(|lines| lines.push(line.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Starts to keep warnings.
fn listen() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| tracing::subscriber::set_global_default(Warnings).unwrap());
}

/// Returns the warnings of this thread with a text.
fn log_with(text: &str) -> Vec<String> {
    let mut lines = LINES.take();
    lines.retain(|line| line.contains(text));
    lines
}

/// Returns the warnings of this thread about failures of handlers.
fn failures_in_log() -> Vec<String> {
    log_with("a handler failed")
}

/// Calls a tool and returns the text of its error result.
async fn error_text(server: &Server, tool: &str) -> String {
    let client = testing::connect(server).await.unwrap();
    let result = client.call_tool(tool, &json!({})).await.unwrap();
    assert_eq!(result.is_error, Some(true));
    result.content[0].as_text().unwrap_or_default().to_owned()
}

/// Calls a tool with each revision and returns the codes of the errors.
async fn codes(server: &Server, tool: &str) -> Vec<i64> {
    let mut codes = Vec::new();
    for revision in testing::revisions() {
        let client = testing::client(server)
            .revision(revision)
            .connect()
            .await
            .unwrap();
        let error = client.call_tool(tool, &json!({})).await.unwrap_err();
        codes.push(error.error_response().unwrap().code);
    }
    codes
}

fn broken() -> ServerBuilder {
    Server::new("s", "1.0.0").tool(Tool::builder("not a name").handler(|| "x"))
}

fn disk() -> io::Error {
    io::Error::other("/srv/secret.db is locked")
}

fn read() -> anyhow::Result<String> {
    Err(disk()).context("the articles cannot be read")
}

fn page() -> anyhow::Result<String> {
    Err(ProtocolError::invalid_params("there are 99 pages"))?
}

/// Fails with an error of anyhow.
#[tool]
fn by_anyhow() -> anyhow::Result<String> {
    read()
}

/// Fails by `?`.
#[tool]
async fn by_question_mark() -> Result<String> {
    Ok(read()?)
}

/// Fails with a protocol error below contexts.
#[tool]
fn below_contexts() -> anyhow::Result<String> {
    page().context("loading").context("showing")
}

/// Fails with a protocol error without contexts.
#[tool]
async fn without_contexts() -> Result<String> {
    Ok(page()?)
}

/// Fails with a message for the model.
#[tool]
fn for_model() -> Result<String> {
    Err(Failure::new("choose another article").with_source(disk()))
}

#[tokio::test]
async fn a_main_with_any_error_type_takes_the_errors_of_a_program() {
    async fn with_anyhow() -> anyhow::Result<()> {
        testing::connect(broken()).await?;
        Ok(())
    }
    async fn with_a_box() -> Result<(), Box<dyn StdError>> {
        testing::connect(broken()).await?;
        Ok(())
    }
    #[derive(Debug, thiserror::Error)]
    enum StartError {
        #[error("cannot start")]
        Server(#[from] turnbuckle::Error),
    }
    async fn with_thiserror() -> Result<(), StartError> {
        testing::connect(broken()).await?;
        Ok(())
    }
    async fn with_ours() -> turnbuckle::Result {
        broken().build()?;
        Ok(())
    }
    let text = with_anyhow().await.unwrap_err().to_string();
    assert!(text.contains("not a name"), "{text}");
    assert_eq!(with_a_box().await.unwrap_err().to_string(), text);
    let StartError::Server(error) = with_thiserror().await.unwrap_err();
    assert_eq!(error.to_string(), text);
    assert!(error.downcast_ref::<turnbuckle::BuildError>().is_some());
    assert_eq!(format!("{:?}", with_ours().await.unwrap_err()), text);
}

#[tokio::test]
async fn the_model_reads_the_message_and_the_log_has_the_causes() {
    listen();
    let server = Server::new("s", "1.0.0").tools(turnbuckle::tools![by_anyhow, by_question_mark]);
    let server = server.build().unwrap();
    for tool in ["by_anyhow", "by_question_mark"] {
        assert_eq!(
            error_text(&server, tool).await,
            "the articles cannot be read"
        );
        let log = failures_in_log();
        let cause = "the articles cannot be read: /srv/secret.db is locked";
        assert!(
            matches!(&log[..], [line] if line.contains(cause) && line.contains(tool)),
            "{log:?}"
        );
    }
}

#[tokio::test]
async fn a_masked_error_is_a_reference_that_the_log_has() {
    listen();
    let server = Server::new("s", "1.0.0").mask_error_details(true);
    let server = server
        .tools(turnbuckle::tools![by_anyhow, for_model])
        .build()
        .unwrap();
    let text = error_text(&server, "by_anyhow").await;
    let (before, rest) = text.split_once("(reference ").unwrap();
    assert_eq!(before, "The request failed for an internal reason ");
    let reference = rest.strip_suffix(").").unwrap();
    assert_eq!(reference.len(), 8);
    let log = failures_in_log();
    assert!(
        matches!(&log[..], [line] if line.contains(reference) && line.contains("secret.db")),
        "{log:?}"
    );
    assert_eq!(
        error_text(&server, "for_model").await,
        "choose another article"
    );
    assert!(failures_in_log()[0].contains("secret.db"));
}

#[tokio::test]
async fn a_panic_is_a_reference_that_the_log_has() {
    listen();
    let panics = || -> String { panic!("at /srv/secret.db") };
    let server = Server::new("s", "1.0.0").tool(Tool::builder("panics").handler(panics));
    let text = error_text(&server.build().unwrap(), "panics").await;
    let reference = text.strip_prefix("the handler failed unexpectedly (reference ");
    let reference = reference.unwrap().strip_suffix(')').unwrap();
    assert_eq!(reference.len(), 8);
    let log = log_with("a handler panicked");
    assert!(
        matches!(&log[..], [line] if line.contains(reference) && line.contains("secret.db")),
        "{log:?}"
    );
}

#[tokio::test]
async fn the_innermost_setting_masks_or_shows() {
    let fails = |name: &'static str| Tool::builder(name).handler(|| read().map_err(Failure::from));
    let shown = Group::new().mask_error_details(false).tool(fails("shown"));
    let hidden = Group::new().mask_error_details(false).tool(
        Tool::builder("hidden")
            .mask_error_details(true)
            .handler(|| read().map_err(Failure::from)),
    );
    let server = Server::new("s", "1.0.0")
        .mask_error_details(true)
        .tool(fails("server"))
        .group(shown)
        .group(hidden)
        .build()
        .unwrap();
    assert_eq!(
        error_text(&server, "shown").await,
        "the articles cannot be read"
    );
    for tool in ["server", "hidden"] {
        let text = error_text(&server, tool).await;
        assert!(
            text.contains("reference") && !text.contains("articles"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_protocol_error_keeps_its_code_through_anyhow_in_every_revision() {
    let server = Server::new("s", "1.0.0").mask_error_details(true);
    let server = server
        .tools(turnbuckle::tools![below_contexts, without_contexts])
        .build()
        .unwrap();
    for tool in ["below_contexts", "without_contexts"] {
        assert_eq!(codes(&server, tool).await, [-32602; 5]);
    }
}

/// The errors of a shop.
#[derive(Debug, thiserror::Error, IntoFailure)]
enum ShopError {
    #[error("there is no such article; `search` finds articles")]
    #[failure(model)]
    NoArticle,
    #[error("there are 99 pages")]
    #[failure(protocol = invalid_params)]
    NoPage,
    #[error("closed on Sundays")]
    #[failure(protocol = 4040)]
    Closed,
    #[error("the database failed")]
    #[failure(hidden)]
    Database(#[from] io::Error),
    #[error(transparent)]
    #[failure(forward)]
    Other(#[from] anyhow::Error),
}

#[tokio::test]
async fn each_variant_of_an_error_enum_sets_its_client_message() {
    listen();
    let fails = |name: &'static str, error: fn() -> ShopError| {
        Tool::builder(name).handler(move || Err::<String, _>(error()))
    };
    let server = Server::new("s", "1.0.0")
        .tool(fails("article", || ShopError::NoArticle))
        .tool(fails("page", || ShopError::NoPage))
        .tool(fails("closed", || ShopError::Closed))
        .tool(fails("database", || disk().into()))
        .tool(fails("other", || page().unwrap_err().into()))
        .build()
        .unwrap();
    let article = "there is no such article; `search` finds articles";
    assert_eq!(error_text(&server, "article").await, article);
    assert_eq!(codes(&server, "page").await, [-32602; 5]);
    assert_eq!(codes(&server, "closed").await, [4040; 5]);
    assert_eq!(codes(&server, "other").await, [-32602; 5]);
    failures_in_log();
    let text = error_text(&server, "database").await;
    assert!(
        text.contains("reference") && !text.contains("database"),
        "{text}"
    );
    assert!(failures_in_log()[0].contains("the database failed: /srv/secret.db is locked"));
}

/// Panics.
#[tool]
fn by_panic() -> String {
    panic!("no reason")
}

#[tokio::test]
async fn a_failed_call_is_one_line() {
    listen();
    let tools = tools![by_question_mark, by_panic];
    let server = Server::new("s", "1.0.0").tools(tools).build().unwrap();
    // Without a client, which logs the failures of its requests as well.
    let web = turnbuckle_it::web::Web::new(&server);
    for tool in ["by_question_mark", "by_panic", "unknown"] {
        LINES.take();
        web.call_tool(tool, json!({})).send().await;
        let lines = LINES.take();
        assert_eq!(lines.len(), 1, "{tool}: {lines:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_ends_its_subscription_is_no_warning() {
    listen();
    let server = Server::new("s", "1.0.0")
        .tools(tools![by_panic])
        .build()
        .unwrap();
    let client = testing::connect(server).await.unwrap();
    let subscription = client
        .subscribe(turnbuckle::client::ChangeFilter::new().tools())
        .await;
    LINES.take();
    drop(subscription.unwrap());
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    client.close().await;
    assert_eq!(LINES.take(), Vec::<String>::new());
}

// requirement: 73ae3dbb5336
#[tokio::test]
async fn the_log_names_the_caller_only_if_that_is_asked_for() {
    listen();
    let server = Server::new("s", "1.0.0").tools(tools![by_panic]);
    let ann = Principal::new("https://login.example.com", "ann\u{1b}");
    let client = testing::client(server)
        .principal(ann)
        .connect()
        .await
        .unwrap();
    LINES.take();
    for is_recorded in [false, true] {
        if is_recorded {
            turnbuckle::session::handler::record_users();
        }
        client.call_tool("unknown", &json!({})).await.unwrap_err();
        let lines = LINES.take();
        let names = lines.iter().any(|line| line.contains("ann"));
        assert_eq!(names, is_recorded, "{lines:?}");
        assert!(
            !lines.iter().any(|line| line.contains('\u{1b}')),
            "{lines:?}"
        );
    }
}
