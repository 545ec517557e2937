//! Prompts: their arguments are the fields of a struct.

use schemars::JsonSchema;
use serde::Deserialize;
use turnbuckle::types::{
    ContentBlock, ElicitFormParams, ElicitationSchema, FieldValue, PromptMessage, StringSchema,
    TextResourceContents,
};
use turnbuckle::{Context, Prompt, Result, prompt};

use super::completion;
use super::media::PIXEL_PNG;

pub(super) fn prompts() -> Vec<Prompt> {
    vec![
        prompt("test_simple_prompt", simple)
            .title("Simple prompt")
            .description("A simple prompt without arguments"),
        prompt("test_prompt_with_arguments", with_arguments)
            .title("Prompt with arguments")
            .description("A prompt with required arguments")
            .complete("arg1", completion::words),
        prompt("test_prompt_with_embedded_resource", with_resource)
            .title("Prompt with a resource")
            .description("A prompt that includes an embedded resource"),
        prompt("test_prompt_with_image", with_image)
            .title("Prompt with an image")
            .description("A prompt that includes an image"),
        prompt("test_input_required_result_prompt", with_question)
            .title("Prompt with a question")
            .description("A prompt that asks the user before it is there"),
    ]
}

async fn simple((): (), _: Context) -> PromptMessage {
    PromptMessage::user("This is a simple prompt for testing.")
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// First test argument
    arg1: String,
    /// Second test argument
    arg2: String,
}

async fn with_arguments(Arguments { arg1, arg2 }: Arguments, _: Context) -> PromptMessage {
    PromptMessage::user(format!(
        "Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"
    ))
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Embedding {
    /// URI of the resource to embed
    resource_uri: String,
}

async fn with_resource(Embedding { resource_uri }: Embedding, _: Context) -> Vec<PromptMessage> {
    let text = "Embedded resource content for testing.";
    let contents = TextResourceContents::new(resource_uri, text).mime_type("text/plain");
    vec![
        PromptMessage::user(ContentBlock::resource(contents)),
        PromptMessage::user("Please process the embedded resource above."),
    ]
}

async fn with_image((): (), _: Context) -> Vec<PromptMessage> {
    vec![
        PromptMessage::user(ContentBlock::image(PIXEL_PNG, "image/png")),
        PromptMessage::user("Please analyze the image above."),
    ]
}

/// Prompts may ask as tools do.
async fn with_question((): (), context: Context) -> Result<PromptMessage> {
    let form = ElicitationSchema::new().required("context", StringSchema::new());
    let question = ElicitFormParams::new("What context should the prompt use?", form);
    let answer = context.ask("user_context", question)?;
    let said = answer
        .field("context")
        .and_then(FieldValue::as_str)
        .unwrap_or("none");
    Ok(PromptMessage::user(format!("Use this context: {said}")))
}
