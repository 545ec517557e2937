//! Tools that need something from the client: a form filled in, a word of its model, its roots.
//!
//! Each is written once. A client of the newest revision gets the question as the result and sends
//! the request again with its answer; an older one is asked while its request waits. Who cannot be
//! asked is told so by the library.

use schemars::JsonSchema;
use serde::Deserialize;
use turnbuckle::types::{
    CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitResult, ElicitationSchema,
    ListRootsResult, SamplingContent, SamplingMessage, StringSchema,
};
use turnbuckle::{Context, Result, Roots, Tool, tool};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool("test_elicitation", elicitation)
            .title("Elicitation")
            .description("Asks the user for a name and a mail address"),
        tool("test_sampling", sampling)
            .title("Sampling")
            .description("Asks the client's model"),
        tool("test_list_roots", list_roots)
            .title("Roots")
            .description("Lists the client's roots, one URI per line"),
        tool("test_streaming_elicitation", streaming_elicitation)
            .title("Elicitation between progress")
            .description("Reports progress, then asks the user whether to go on"),
        tool("test_missing_capability", missing_capability)
            .title("Needs sampling")
            .description("Cannot do without the client's model"),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct Elicitation {
    /// The message to show the user
    message: String,
}

async fn elicitation(arguments: Elicitation, context: Context) -> Result<String> {
    let form = ElicitationSchema::new()
        .required(
            "username",
            StringSchema::new().description("User's response"),
        )
        .required(
            "email",
            StringSchema::new().description("User's email address"),
        );
    let answer = context.ask("user", ElicitFormParams::new(arguments.message, form))?;
    Ok(format!("User response: {}", describe(&answer)?))
}

#[derive(Deserialize, JsonSchema)]
struct Sampling {
    /// The prompt to send to the LLM
    prompt: String,
}

async fn sampling(arguments: Sampling, context: Context) -> Result<String> {
    let reply = context.ask("reply", prompt_of(arguments.prompt, 100))?;
    Ok(format!("LLM response: {}", text_of(&reply)))
}

async fn list_roots((): (), context: Context) -> Result<String> {
    let answer = context.ask("roots", Roots)?;
    Ok(uris_of(&answer))
}

async fn streaming_elicitation((): (), context: Context) -> Result<String> {
    context.progress(1, Some(2.into())).await;
    let form = ElicitationSchema::new().required("answer", StringSchema::new());
    let answer = context.ask("answer", ElicitFormParams::new("Shall it go on?", form))?;
    context.progress(2, Some(2.into())).await;
    describe(&answer)
}

async fn missing_capability((): (), context: Context) -> Result<String> {
    let reply = context.ask("reply", prompt_of("Say hello", 20))?;
    Ok(text_of(&reply))
}

/// A question to the client's model.
pub(super) fn prompt_of(text: impl Into<String>, max_tokens: u32) -> CreateMessageParams {
    CreateMessageParams::new([SamplingMessage::user(text.into())], max_tokens)
}

/// What the model said in words.
pub(super) fn text_of(reply: &CreateMessageResult) -> String {
    let texts: Vec<&str> = reply
        .content
        .iter()
        .filter_map(SamplingContent::as_text)
        .collect();
    texts.join("\n")
}

/// The roots, one per line.
pub(super) fn uris_of(answer: &ListRootsResult) -> String {
    let uris: Vec<&str> = answer.roots.iter().map(|root| root.uri.as_str()).collect();
    uris.join("\n")
}

/// What the user did, and what they filled in.
pub(super) fn describe(answer: &ElicitResult) -> Result<String> {
    let action = answer.action.as_str();
    match &answer.content {
        Some(content) => Ok(format!(
            "action={action}, content={}",
            serde_json::to_string(content)?
        )),
        None => Ok(format!("action={action}, content={{}}")),
    }
}
