//! Prompts. Their arguments are parameters, like those of tools.

use turnbuckle::CompletionRequest;
use turnbuckle::prelude::*;
use turnbuckle::types::{ContentBlock, PromptMessage, TextResourceContents};

use super::content::PIXEL;

#[data]
struct Topic {
    context: String,
}

pub(super) struct Prompts;

#[server]
impl Prompts {
    /// A simple prompt without arguments
    #[prompt(title = "Simple prompt")]
    fn test_simple_prompt() -> &'static str {
        "This is a simple prompt for testing."
    }

    /// A prompt with required arguments
    #[prompt(title = "Prompt with arguments")]
    fn test_prompt_with_arguments(
        /// First test argument
        #[schema(complete = complete_word)]
        arg1: String,
        /// Second test argument
        arg2: String,
    ) -> String {
        format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
    }

    /// A prompt that includes an embedded resource
    #[prompt(title = "Prompt with a resource", rename_all = "camelCase")]
    fn test_prompt_with_embedded_resource(
        /// URI of the resource to embed
        resource_uri: String,
    ) -> Vec<PromptMessage> {
        let text = "Embedded resource content for testing.";
        let contents = TextResourceContents::new(resource_uri, text).mime_type("text/plain");
        vec![
            PromptMessage::user(ContentBlock::resource(contents)),
            PromptMessage::user("Please process the embedded resource above."),
        ]
    }

    /// A prompt that includes an image
    #[prompt(title = "Prompt with an image")]
    fn test_prompt_with_image() -> Vec<PromptMessage> {
        vec![
            PromptMessage::user(Image::png(PIXEL)),
            PromptMessage::user("Please analyze the image above."),
        ]
    }

    /// A prompt that asks the user before it is there
    #[prompt(title = "Prompt with a question")]
    async fn test_input_required_result_prompt(ask: Ask) -> Result<String> {
        let question = ask.form("What context should the prompt use?");
        let Topic { context } = question.key("user_context").await?;
        Ok(format!("Use this context: {context}"))
    }
}

const WORDS: [&str; 8] = [
    "lion", "london", "lyon", "oslo", "paris", "park", "party", "tokyo",
];

/// Returns the words that begin with the typed text.
fn complete_word(typing: CompletionRequest) -> Vec<&'static str> {
    let typed = typing.value.to_lowercase();
    let fitting = WORDS.into_iter().filter(|word| word.starts_with(&typed));
    fitting.collect()
}
