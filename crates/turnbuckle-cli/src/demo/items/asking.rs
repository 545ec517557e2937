//! Tools that ask the client: a form for the user, a message of its model, its roots.
//!
//! Each tool is written once. To a client of the modern era the question is an `input_required`
//! result, and the client sends the request again with the answer. A legacy client gets a request
//! while its own waits. The library reports an error to clients without the capability.

use turnbuckle::prelude::*;
use turnbuckle::types::{CreateMessageResult, Root, SamplingMessageContentBlock};

use super::forms::describe_answer;

#[data]
struct User {
    /// User's response
    username: String,
    /// User's email address
    email: String,
}

#[data]
struct Answer {
    answer: String,
}

pub(super) struct Asking;

#[server]
impl Asking {
    /// Asks the user for a name and a mail address
    #[tool(title = "Elicitation")]
    async fn test_elicitation(
        /// The message to show the user
        message: String,
        ask: Ask,
    ) -> Result<String> {
        let user = describe_answer(ask.form::<User>(message).await)?;
        Ok(format!("User response: {user}"))
    }

    /// Asks the client's model
    #[tool(title = "Sampling")]
    async fn test_sampling(
        /// The prompt to send to the LLM
        prompt: String,
        ask: Ask,
    ) -> Result<String> {
        let reply = ask.sample(prompt).max_tokens(100).await?;
        Ok(format!("LLM response: {}", text_of(&reply)))
    }

    /// Lists the client's roots, one URI per line
    #[tool(title = "Roots")]
    async fn test_list_roots(ask: Ask) -> Result<String> {
        Ok(uris_of(&ask.roots().await?))
    }

    /// Reports progress, then asks the user whether to go on
    #[tool(title = "Elicitation between progress")]
    async fn test_streaming_elicitation(progress: Progress, ask: Ask) -> Result<String> {
        progress.report_with_total(1, 2).await;
        let answer = describe_answer(ask.form::<Answer>("Shall it go on?").await)?;
        progress.report_with_total(2, 2).await;
        Ok(answer)
    }

    /// Cannot do without the client's model
    #[tool(title = "Needs sampling")]
    async fn test_missing_capability(ask: Ask) -> Result<String> {
        Ok(text_of(&ask.sample("Say hello").max_tokens(20).await?))
    }
}

/// Returns the text of a model's reply.
pub(super) fn text_of(reply: &CreateMessageResult) -> String {
    let texts = reply
        .content
        .iter()
        .filter_map(SamplingMessageContentBlock::as_text);
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns the URIs of the roots, one per line.
pub(super) fn uris_of(roots: &[Root]) -> String {
    let uris = roots.iter().map(|root| root.uri.as_str());
    uris.collect::<Vec<_>>().join("\n")
}
