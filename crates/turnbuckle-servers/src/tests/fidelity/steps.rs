//! The steps that a client takes, over a direct connection and through a proxy.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde_json::json;
use turnbuckle_client::{
    ChangeFilter, Client, ClientBuilder, Form, FormAnswer, QuestionContext, Roots,
};
use turnbuckle_types::{
    CreateMessageResult, FieldValue, LoggingLevel, Map, PromptReference, ResourceTemplateReference,
    Root,
};

/// A step of a client. Failures are part of what it receives.
pub(super) type Step = fn(Client) -> Pin<Box<dyn Future<Output = ()> + Send>>;

macro_rules! steps {
    ($($name:literal: |$client:ident| $step:expr;)+) => {
        pub(super) const STEPS: &[(&str, Step)] = &[$(
            ($name, |$client| Box::pin(async move {
                let _ = $step;
            })),
        )+];
    };
}

steps! {
    "tools": |client| client.list_tools().fetch_all().await;
    "prompts": |client| client.list_prompts().fetch_all().await;
    "resources": |client| client.list_resources().fetch_all().await;
    "templates": |client| client.list_resource_templates().fetch_all().await;
    "call": |client| client.call_tool("echo", &json!({"name": "Ada"})).await;
    "wrong arguments": |client| client.call_tool("echo", &json!({"nam": "Ada"})).await;
    "unusual schema": |client| client.call_tool("odd", &json!({"id": 5})).await;
    "structured result": |client| client.call_tool("structured", &()).await;
    "error of a tool": |client| client.call_tool("fail", &()).await;
    "error with a code": |client| client.call_tool("refuse", &()).await;
    "unknown tool": |client| client.call_tool("none", &()).await;
    "progress": |client| client.call_tool("work", &()).on_progress(|_| {}).await;
    "cancellation": |client| {
        let waiting = client.call_tool("wait", &()).into_future();
        tokio::time::timeout(Duration::from_millis(50), waiting).await
    };
    "metadata": |client| {
        let mut call = client.call_tool("meta", &());
        call.params_mut().meta.set("com.example/id", &7).unwrap();
        call.await
    };
    "form and sampling": |client| client.call_tool("greet", &()).await;
    "roots": |client| client.call_tool("roots", &()).await;
    "log messages": |client| client.call_tool("log", &()).log_level(LoggingLevel::Info).await;
    "prompt": |client| client.get_prompt("ask", [("name", "Ada")]).await;
    "prompt without its argument": |client| client.get_prompt::<&str, &str>("ask", []).await;
    "completion": |client| client.complete(PromptReference::new("ask"), "name", "A").await;
    "completion of a template": |client| {
        client.complete(ResourceTemplateReference::new("notes://{id}"), "id", "A").await
    };
    "resource": |client| client.read_resource("notes://one").await;
    "resource of a template": |client| client.read_resource("notes://linked").await;
    "unknown resource": |client| client.read_resource("other://x").await;
    "subscription": |client| {
        let subscribed = client.subscribe(ChangeFilter::new().tools().resource("notes://one"));
        let subscribed = subscribed.await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        subscribed
    };
    "task": |client| client.call_tool("task", &()).await;
}

/// Returns the builder of a client that answers all questions.
pub(super) fn client() -> ClientBuilder {
    let roots = Roots::new();
    roots.set([Root::new("file:///one").unwrap()]).unwrap();
    Client::builder("c", "1")
        .roots(roots)
        .log_level(LoggingLevel::Info)
        .on_log(|_| {})
        .on_form(async |_: Form, _: QuestionContext| {
            let mut content = Map::new();
            content.insert("name", FieldValue::String("Bob".into()));
            FormAnswer::Accept(content)
        })
        .on_sampling(async |_, _| Ok(CreateMessageResult::from_text("Hello", "model")))
}
