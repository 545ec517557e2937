//! A server in this process, at the other end of a joined pair: the surface that the fixtures of
//! other SDKs have, written with ours.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;
use turnbuckle::prelude::Result;
use turnbuckle::types::{
    BooleanSchema, CreateMessageRequestParams, ElicitRequestFormParams, ElicitRequestUrlParams,
    ElicitationSchema, LoggingLevel, NumberSchema, PromptMessage, SamplingMessage,
    SingleSelectEnumSchema, StringSchema,
};
use turnbuckle::{
    Args, BuildError, CompletionRequest, Failure, HandlerContext, Prompt, ReadRequest, Resource,
    Roots, Server, ServerBuilder, Structured, Tool,
};

const COUNTER: &str = "fixture://counter";
const LANGUAGES: [&str; 4] = ["English", "Estonian", "French", "German"];

/// No call of `hang` outlives this.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two steps of `slow`.
const STEP: Duration = Duration::from_millis(10);

/// Builds a new server.
pub(crate) fn server() -> std::result::Result<Server, BuildError> {
    let touches = Arc::new(AtomicU64::new(0));
    let touched = touches.clone();
    let counter = move |_: ReadRequest, _: HandlerContext| {
        let text = format!("touched {} times", touched.load(Ordering::Relaxed));
        std::future::ready(text)
    };
    let server = Server::new("fixture-turnbuckle", env!("CARGO_PKG_VERSION"))
        .logging()
        .resource(Resource::builder("fixture://static", "static").handler(unchanging))
        .resource(Resource::builder(COUNTER, "counter").handler(counter))
        .resource(Resource::builder("fixture://item/{id}", "item").handler(item))
        .prompt(greeting());
    let tools = [plain(), cancelled(), changing(&touches), asking()];
    let tools = tools.into_iter().flatten();
    tools.fold(server, ServerBuilder::tool).build()
}

async fn unchanging(_: ReadRequest, _: HandlerContext) -> &'static str {
    "This text never changes."
}

async fn item(reading: ReadRequest, _: HandlerContext) -> String {
    format!(
        "This is item {}.",
        reading.variables.text("id").unwrap_or_default()
    )
}

#[derive(Deserialize, JsonSchema)]
struct Greet {
    name: String,
    language: String,
}

fn greeting() -> Prompt {
    let greet = async |Args(Greet { name, language }): Args<Greet>, _: HandlerContext| {
        PromptMessage::user(format!("Greet {name} in {language}."))
    };
    Prompt::builder("greet").handler(greet).complete(
        "language",
        async |typing: CompletionRequest, _: HandlerContext| {
            let fitting = LANGUAGES
                .iter()
                .filter(|name| name.starts_with(&*typing.value));
            fitting.map(|name| (*name).to_owned()).collect::<Vec<_>>()
        },
    )
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Slow {
    steps: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

fn plain() -> Vec<Tool> {
    let slow = async |Args(Slow { steps }): Args<Slow>, context: HandlerContext| {
        for step in 1..=steps {
            sleep(STEP).await;
            context.progress(step, Some(steps.into())).await;
        }
        format!("{steps} steps")
    };
    let log = async |Args(Text { text }): Args<Text>, context: HandlerContext| {
        context
            .log(LoggingLevel::Warning, Some("fixture"), &text)
            .await;
        "logged"
    };
    vec![
        Tool::builder("add").handler(async |Args(Add { a, b }): Args<Add>, _: HandlerContext| {
            Structured(Sum { sum: a + b })
        }),
        Tool::builder("slow").handler(slow),
        Tool::builder("log").handler(log),
        Tool::builder("fail").handler(
            async |Args(Text { text }): Args<Text>, _: HandlerContext| -> Result<String> {
                Err(Failure::new(text))
            },
        ),
    ]
}

#[derive(Serialize, JsonSchema)]
struct Count {
    count: u64,
}

fn cancelled() -> Vec<Tool> {
    let count = Arc::new(AtomicU64::new(0));
    let counted = count.clone();
    let hang = move |(): (), context: HandlerContext| {
        let count = count.clone();
        async move {
            context.progress(0, None).await;
            tokio::select! {
                () = sleep(PATIENCE) => {}
                () = context.cancelled() => drop(count.fetch_add(1, Ordering::Relaxed)),
            }
            "nobody cancelled"
        }
    };
    let tell = move |(): (), _: HandlerContext| {
        let count = counted.load(Ordering::Relaxed);
        std::future::ready(Structured(Count { count }))
    };
    vec![
        Tool::builder("hang").handler(hang),
        Tool::builder("cancelled_count").handler(tell),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

fn changing(touches: &Arc<AtomicU64>) -> Vec<Tool> {
    let touches = touches.clone();
    let touch = move |(): (), server: Server| {
        touches.fetch_add(1, Ordering::Relaxed);
        server.notify_resource_updated(COUNTER);
        std::future::ready("touched")
    };
    let add = async |Args(Name { name }): Args<Name>, server: Server| -> Result<&'static str> {
        let added = async |(): (), _: HandlerContext| "was added";
        server.add_tool(Tool::builder(name).handler(added))?;
        Ok("added")
    };
    vec![
        Tool::builder("touch").handler(touch),
        Tool::builder("add_tool").handler(add),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct Message {
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Say {
    prompt: String,
}

#[derive(Deserialize, JsonSchema)]
struct Url {
    url: String,
}

/// Returns the tools that ask the client; each returns the client's answer as JSON.
fn asking() -> Vec<Tool> {
    let sampling =
        async |Args(Say { prompt }): Args<Say>, context: HandlerContext| -> Result<String> {
            let question = CreateMessageRequestParams::new([SamplingMessage::user(prompt)], 100);
            Ok(serde_json::to_string(&context.ask("reply", question)?)?)
        };
    let by_form = async |Args(Message { message }): Args<Message>,
                         context: HandlerContext|
           -> Result<String> {
        let colours = SingleSelectEnumSchema::untitled(["red", "green", "blue"]);
        let form = ElicitationSchema::new()
            .required("name", StringSchema::new())
            .optional("colour", colours.default("green"))
            .optional("count", NumberSchema::integer().default(3))
            .optional("agreed", BooleanSchema::new().default(true));
        let question = ElicitRequestFormParams::new(message, form);
        Ok(serde_json::to_string(&context.ask("form", question)?)?)
    };
    let by_url = async |Args(Url { url }): Args<Url>, context: HandlerContext| -> Result<String> {
        let question = ElicitRequestUrlParams::new("Please open this.", url);
        Ok(serde_json::to_string(&context.ask("url", question)?)?)
    };
    let roots = async |(): (), context: HandlerContext| -> Result<String> {
        Ok(serde_json::to_string(&context.ask("roots", Roots)?)?)
    };
    vec![
        Tool::builder("ask_sampling").handler(sampling),
        Tool::builder("ask_form").handler(by_form),
        Tool::builder("ask_url").handler(by_url),
        Tool::builder("ask_roots").handler(roots),
    ]
}
