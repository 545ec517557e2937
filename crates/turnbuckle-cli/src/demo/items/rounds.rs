//! Tools that need several rounds of input: several questions at once, one after another, and state
//! that is kept between rounds. The keys of the questions are those of the official conformance
//! suite; most tools need none.

use turnbuckle::prelude::*;
use turnbuckle::types::{ElicitRequestFormParams, ElicitationSchema, FieldValue, StringSchema};

use super::asking::{text_of, uris_of};

#[data]
struct Name {
    name: String,
}

#[data]
struct Color {
    color: String,
}

#[data]
struct Confirm {
    ok: bool,
}

const NAME_QUESTION: &str = "What is your name?";

pub(super) struct Rounds;

#[server]
impl Rounds {
    // By `HandlerContext::ask`, which also takes an answer that comes before it was asked for.
    /// Greets the user by the name that they give
    #[tool(title = "Round with a form")]
    fn test_input_required_result_elicitation(context: HandlerContext) -> Result<String> {
        let form = ElicitationSchema::new().required("name", StringSchema::new());
        let answer = context.ask(
            "user_name",
            ElicitRequestFormParams::new(NAME_QUESTION, form),
        )?;
        let name = answer.field("name").and_then(FieldValue::as_str);
        Ok(format!("Hello, {}!", name.unwrap_or("whoever you are")))
    }

    /// Asks the client's model for a capital
    #[tool(title = "Round with the model")]
    async fn test_input_required_result_sampling(ask: Ask) -> Result<String> {
        let question = ask.sample("What is the capital of France?");
        let reply = question.max_tokens(100).key("capital_question").await?;
        Ok(text_of(&reply))
    }

    /// Asks the client for its roots
    #[tool(title = "Round with the roots")]
    async fn test_input_required_result_list_roots(ask: Ask) -> Result<String> {
        let roots = ask.roots().key("client_roots").await?;
        Ok(format!("The client's roots:\n{}", uris_of(&roots)))
    }

    /// Keeps something while the user confirms
    #[tool(title = "Round with state")]
    async fn test_input_required_result_request_state(ask: Ask) -> Result<String> {
        confirm_with_state(ask).await
    }

    /// Keeps something that the client cannot change
    #[tool(title = "Round with sealed state")]
    async fn test_input_required_result_tampered_state(ask: Ask) -> Result<String> {
        confirm_with_state(ask).await
    }

    /// Asks for everything that a client can be asked for, at once
    #[tool(title = "Round with several questions")]
    async fn test_input_required_result_multiple_inputs(ask: Ask) -> Result<String> {
        let greeting = ask.sample("Generate a greeting").max_tokens(50);
        let (name, greeting, roots) = tokio::join!(
            ask.form(NAME_QUESTION).key("user_name"),
            greeting.key("greeting"),
            ask.roots().key("client_roots"),
        );
        let Name { name } = name?;
        let (greeting, roots) = (text_of(&greeting?), uris_of(&roots?));
        Ok(format!("Hello, {name}!\n{greeting}\n{roots}"))
    }

    /// Asks for a name, then for a colour
    #[tool(title = "Several rounds")]
    async fn test_input_required_result_multi_round(ask: Ask) -> Result<String> {
        let Name { name } = ask.form("Step 1: What is your name?").key("step1").await?;
        let message = "Step 2: What is your favorite color?";
        let Color { color } = ask.form(message).key("step2").await?;
        Ok(format!("Hello, {name}! Your favorite color: {color}."))
    }

    /// Asks only what the client can answer
    #[tool(title = "Round by capabilities")]
    async fn test_input_required_result_capabilities(
        ask: Ask,
        client: ClientInfo,
    ) -> Result<String> {
        let mut lines = vec!["The client was asked what it can answer.".to_owned()];
        if client.capabilities().supports_sampling() {
            let greeting = ask.sample("Generate a greeting").max_tokens(50);
            lines.push(text_of(&greeting.key("greeting").await?));
        }
        if client.capabilities().supports_elicitation_form() {
            let Name { name } = ask.form(NAME_QUESTION).key("user_name").await?;
            lines.push(format!("Hello, {name}!"));
        }
        Ok(lines.join("\n"))
    }
}

/// Asks for a confirmation between two uses of state. The result of `once` is sealed into
/// `requestState`: the client returns it unchanged, or the request is refused.
async fn confirm_with_state(ask: Ask) -> Result<String> {
    let kept = ask
        .once("kept", async { Ok("state-ok".to_owned()) })
        .await?;
    let Confirm { ok } = ask.form("Please confirm").key("confirm").await?;
    Ok(format!("{kept}, confirmed: {ok}"))
}
