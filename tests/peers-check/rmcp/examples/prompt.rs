//! A prompt with an argument.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{PromptMessage, Role, ServerCapabilities, ServerConfig};
use rmcp::{
    ServerHandler, ServiceExt, prompt, prompt_handler, prompt_router, schemars, transport::stdio,
};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Review {
    /// The language that the code is in.
    language: String,
}

#[derive(Clone)]
struct Reviewer;

#[prompt_router]
impl Reviewer {
    /// Ask for a review.
    #[prompt]
    async fn review(
        &self,
        Parameters(Review { language }): Parameters<Review>,
    ) -> Vec<PromptMessage> {
        let text = format!("Review this {language} code.");
        vec![PromptMessage::new_text(Role::User, text)]
    }
}

#[prompt_handler]
impl ServerHandler for Reviewer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_prompts().build())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Reviewer.serve(stdio()).await?.waiting().await?;
    Ok(())
}
