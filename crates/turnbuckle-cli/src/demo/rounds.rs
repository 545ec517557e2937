//! Tools that show the rounds of a request that needs input: several questions at once, one after
//! another, and state that comes back with the answers.
//!
//! [`Context::ask`] is the short way, and enough for most tools; [`NeedsInput`] is the long one.

use turnbuckle::types::{
    BooleanSchema, ElicitFormParams, ElicitResult, ElicitationSchema, FieldValue, StringSchema,
};
use turnbuckle::{Context, NeedsInput, Result, Roots, Tool, tool};

use super::input::{prompt_of, text_of, uris_of};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool("test_input_required_result_elicitation", elicitation)
            .title("Round with a form")
            .description("Greets the user by the name that they give"),
        tool("test_input_required_result_sampling", sampling)
            .title("Round with the model")
            .description("Asks the client's model for a capital"),
        tool("test_input_required_result_list_roots", list_roots)
            .title("Round with the roots")
            .description("Asks the client for its roots"),
        tool("test_input_required_result_request_state", with_state)
            .title("Round with state")
            .description("Keeps something while the user confirms"),
        tool("test_input_required_result_tampered_state", with_state)
            .title("Round with sealed state")
            .description("Keeps something that the client cannot change"),
        tool("test_input_required_result_multiple_inputs", all_at_once)
            .title("Round with several questions")
            .description("Asks for everything that a client can be asked for, at once"),
        tool("test_input_required_result_multi_round", one_by_one)
            .title("Several rounds")
            .description("Asks for a name, then for a colour"),
        tool("test_input_required_result_capabilities", what_it_can)
            .title("Round by capabilities")
            .description("Asks only what the client can answer"),
    ]
}

async fn elicitation((): (), context: Context) -> Result<String> {
    let answer = context.ask("user_name", text_form("What is your name?", "name"))?;
    Ok(greeting(&answer))
}

async fn sampling((): (), context: Context) -> Result<String> {
    let reply = context.ask(
        "capital_question",
        prompt_of("What is the capital of France?", 100),
    )?;
    Ok(text_of(&reply))
}

async fn list_roots((): (), context: Context) -> Result<String> {
    let answer = context.ask("client_roots", Roots)?;
    Ok(format!("The client's roots:\n{}", uris_of(&answer)))
}

/// The state is sealed: what comes back is what was sent, or the request is refused.
async fn with_state((): (), context: Context) -> Result<String> {
    let form = ElicitationSchema::new().required("ok", BooleanSchema::new());
    let confirm = ElicitFormParams::new("Please confirm", form);
    match (context.answer("confirm", &confirm)?, context.state()?) {
        (Some(_), Some(state)) => Ok(state),
        _ => Err(NeedsInput::new()
            .ask("confirm", confirm)
            .state("state-ok")?
            .into()),
    }
}

async fn all_at_once((): (), context: Context) -> Result<String> {
    let name = text_form("What is your name?", "name");
    let hello = prompt_of("Generate a greeting", 50);
    let answers = (
        context.answer("user_name", &name)?,
        context.answer("greeting", &hello)?,
        context.answer("client_roots", &Roots)?,
    );
    let (Some(name), Some(hello), Some(roots)) = answers else {
        return Err(NeedsInput::new()
            .ask("user_name", name)
            .ask("greeting", hello)
            .ask("client_roots", Roots)
            .state("asked for everything")?
            .into());
    };
    Ok(format!(
        "{}\n{}\n{}",
        greeting(&name),
        text_of(&hello),
        uris_of(&roots)
    ))
}

/// What was answered before the last round comes back with the state.
async fn one_by_one((): (), context: Context) -> Result<String> {
    let step1 = text_form("Step 1: What is your name?", "name");
    let Some(name) = context.answer("step1", &step1)? else {
        return Err(NeedsInput::new()
            .ask("step1", step1)
            .state("step 1")?
            .into());
    };
    let step2 = text_form("Step 2: What is your favorite color?", "color");
    let Some(color) = context.answer("step2", &step2)? else {
        return Err(NeedsInput::new()
            .ask("step2", step2)
            .state("step 2")?
            .into());
    };
    let color = color
        .field("color")
        .and_then(FieldValue::as_str)
        .unwrap_or("none");
    Ok(format!("{} Your favorite color: {color}.", greeting(&name)))
}

async fn what_it_can((): (), context: Context) -> Result<String> {
    let client = context.client_capabilities();
    let mut told = String::from("The client was asked what it can answer.");
    if client.supports_sampling() {
        let reply = context.ask("greeting", prompt_of("Generate a greeting", 50))?;
        told = text_of(&reply);
    }
    if client.supports_elicitation_form() {
        let answer = context.ask("user_name", text_form("What is your name?", "name"))?;
        told = format!("{told}\n{}", greeting(&answer));
    }
    Ok(told)
}

/// A form with one line of text.
fn text_form(message: &str, field: &str) -> ElicitFormParams {
    ElicitFormParams::new(
        message,
        ElicitationSchema::new().required(field, StringSchema::new()),
    )
}

fn greeting(answer: &ElicitResult) -> String {
    match answer.field("name").and_then(FieldValue::as_str) {
        Some(name) => format!("Hello, {name}!"),
        None => "Hello, whoever you are!".to_owned(),
    }
}
