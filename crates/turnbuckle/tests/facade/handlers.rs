//! Handlers as users write them: what they take, and where they wait.

use std::error::Error;
use std::fs;
use std::sync::Arc;

use serde_json::json;
use turnbuckle::prelude::*;
use turnbuckle::types::{ContentBlock, PromptMessage, PromptReference};
use turnbuckle::{Extract, Invocation, RunArgs, testing};

/// Returns the error of a program with the error types of the standard library.
async fn program() -> Result<(), Box<dyn Error + Send + Sync>> {
    let broken = Tool::builder("not a name").handler(|| "x");
    Server::new("s", "1.0.0")
        .tool(broken)
        .run_with(RunArgs::default())
        .await?;
    Ok(())
}

#[tokio::test]
async fn a_program_passes_the_error_of_its_server_on() {
    let error = program().await.unwrap_err();
    assert!(error.to_string().contains("not a name"), "{error}");
}

/// A table of a database, as a value that a server has as its state.
struct Table(Vec<&'static str>);

#[tool]
fn first(table: State<Table>) -> &'static str {
    table.0[0]
}

#[tokio::test]
async fn a_state_is_used_as_its_type_however_it_was_given() {
    let shared = Arc::new(Table(vec!["tea"]));
    for server in [
        Server::new("s", "1.0.0").state(Table(vec!["tea"])),
        Server::new("s", "1.0.0").state(Arc::clone(&shared)),
    ] {
        let client = testing::connect(server.tools(tools![first])).await.unwrap();
        let result = client.call_tool("first", &()).await.unwrap();
        assert_eq!(result.text(), "tea");
    }
}

/// A user who is looked up, which takes time.
struct User(String);

impl Extract for User {
    async fn extract(_: &Invocation<'_>) -> Result<Self> {
        tokio::task::yield_now().await;
        Ok(Self("ada".to_owned()))
    }
}

#[tool(blocking)]
fn greet(#[extract] user: User) -> String {
    format!("Hello {}", user.0)
}

async fn suggest(request: CompletionRequest) -> Result<Vec<String>> {
    let value = request.value;
    let suggested = tokio::task::spawn_blocking(move || vec![format!("{value}da")]);
    Ok(suggested.await?)
}

#[prompt]
fn invite(#[schema(complete = suggest)] name: String) -> String {
    format!("Invite {name}")
}

#[tokio::test]
async fn extractors_of_blocking_handlers_and_completers_wait() {
    let server = Server::new("s", "1.0.0")
        .tools(tools![greet])
        .prompts(prompts![invite]);
    let client = testing::connect(server).await.unwrap();
    let result = client.call_tool("greet", &()).await.unwrap();
    assert_eq!(result.text(), "Hello ada");
    let prompt = PromptReference::new("invite");
    let completed = client.complete(prompt, "name", "A").await.unwrap();
    assert_eq!(completed.completion.values, ["Ada"]);
}

#[tool]
fn image() -> Vec<ContentBlock> {
    vec![Image::new("image/webp", "pixels").into()]
}

#[prompt]
fn look() -> PromptMessage {
    PromptMessage::user(Image::new("image/webp", "pixels"))
}

#[tokio::test]
async fn an_image_is_made_of_bytes_wherever_it_is_sent() {
    let server = Server::new("s", "1.0.0")
        .tools(tools![image])
        .prompts(prompts![look]);
    let client = testing::connect(server).await.unwrap();
    let called = client.call_tool("image", &()).await.unwrap();
    let prompt = client.get_prompt("look", [("", ""); 0]).await.unwrap();
    assert_eq!(called.content, [prompt.messages[0].content.clone()]);
    let ContentBlock::Image(image) = &called.content[0] else {
        panic!("not an image: {called:?}")
    };
    assert_eq!(image.bytes().unwrap(), b"pixels");
}

#[tokio::test]
async fn the_text_of_a_result_and_whether_it_is_an_error_are_read_in_one_word() {
    let read = Tool::builder("read").handler(|| fs::read_to_string("/no/such/file"));
    let client = testing::connect(Server::new("s", "1.0.0").tool(read))
        .await
        .unwrap();
    let result = client.call_tool("read", &json!({})).await.unwrap();
    assert!(result.is_error());
    assert!(result.text().contains("No such file"), "{}", result.text());
}
