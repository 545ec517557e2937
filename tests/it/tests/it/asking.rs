//! A server whose tool, prompt and resource ask their client what they are told to ask.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use turnbuckle_server::{
    Args, Failure, HandlerContext, NeedsInput, Prompt, ReadRequest, Resource, Server,
    ServerBuilder, Tool,
};
use turnbuckle_types::{
    CreateMessageRequestParams, ElicitRequestFormParams, ElicitRequestUrlParams, ElicitationSchema,
    IncludeContext, InputRequest, SamplingMessage, Schema, StringSchema,
};

/// Kinds of questions.
pub(crate) const KINDS: [&str; 6] = ["form", "url", "sample", "tools", "context", "roots"];

/// Returns a form with one required field, `name`.
pub(crate) fn form() -> ElicitRequestFormParams {
    let schema = ElicitationSchema::new().required("name", StringSchema::new());
    ElicitRequestFormParams::new("Who are you?", schema)
}

/// Returns a URL to visit.
pub(crate) fn url() -> ElicitRequestUrlParams {
    ElicitRequestUrlParams::new("Please sign in", "https://example.com/sign-in?state=1")
}

/// Returns a question to the model.
pub(crate) fn sample() -> CreateMessageRequestParams {
    CreateMessageRequestParams::new([SamplingMessage::user("Say something")], 100u32)
}

/// Returns a question of one of the [`KINDS`].
pub(crate) fn question(kind: &str) -> InputRequest {
    match kind {
        "form" => form().into(),
        "url" => url().into(),
        "sample" => sample().into(),
        "tools" => sample()
            .tools([turnbuckle_types::Tool::new("look", Schema::object())])
            .into(),
        "context" => sample().include_context(IncludeContext::ThisServer).into(),
        "roots" => InputRequest::list_roots(),
        other => panic!("there is no question {other:?}"),
    }
}

/// Returns the capabilities that a client must declare to be asked a question of that kind.
pub(crate) fn required_capability(kind: &str) -> Value {
    match kind {
        "form" => json!({"elicitation": {"form": {}}}),
        "url" => json!({"elicitation": {"url": {}}}),
        "sample" => json!({"sampling": {}}),
        "tools" => json!({"sampling": {"tools": {}}}),
        "context" => json!({"sampling": {"context": {}}}),
        "roots" => json!({"roots": {}}),
        other => panic!("there is no question {other:?}"),
    }
}

/// Returns a good answer to a question with that method.
pub(crate) fn good_answer(method: &str, params: &Value) -> Value {
    match method {
        "elicitation/create" if params["mode"] == "url" => json!({"action": "accept"}),
        "elicitation/create" => json!({"action": "accept", "content": {"name": "Ada"}}),
        "sampling/createMessage" => json!({
            "role": "assistant", "content": {"type": "text", "text": "something"}, "model": "m",
        }),
        "roots/list" => json!({"roots": [{"uri": "file:///home/ada"}]}),
        other => panic!("nobody asks {other:?}"),
    }
}

#[derive(Deserialize, JsonSchema)]
struct Ask {
    /// Kinds to ask, separated by commas.
    kinds: String,
}

/// Asks everything that is not answered yet, at once; then gives the answers back.
fn ask(kinds: &str, context: &HandlerContext) -> Result<String, Failure> {
    let kinds = || kinds.split(',');
    let open: Vec<_> = kinds()
        .filter(|kind| context.raw_answer(kind).is_none())
        .collect();
    if !open.is_empty() {
        let asking = |needs: NeedsInput, kind| needs.ask(kind, question(kind));
        return Err(open.into_iter().fold(NeedsInput::new(), asking).into());
    }
    let text_of = |kind| format!("{kind}={}", context.raw_answer(kind).expect("an answer"));
    Ok(kinds().map(text_of).collect::<Vec<_>>().join("\n"))
}

/// Returns a server builder with the tool `ask`, the prompt `ask` and the resources `ask:{kinds}`.
pub(crate) fn builder() -> ServerBuilder {
    Server::new("asking", "1.0.0")
        .tool(
            Tool::builder("ask").handler(async |Args(it): Args<Ask>, context: HandlerContext| {
                ask(&it.kinds, &context)
            }),
        )
        .prompt(
            Prompt::builder("ask").handler(async |Args(it): Args<Ask>, context: HandlerContext| {
                ask(&it.kinds, &context)
            }),
        )
        .resource(Resource::builder("ask:{kinds}", "ask").handler(
            async |reading: ReadRequest, context: HandlerContext| {
                ask(
                    reading.variables.text("kinds").unwrap_or_default(),
                    &context,
                )
            },
        ))
}

/// Builds the server.
pub(crate) fn server() -> Server {
    builder().build().unwrap()
}

/// Returns the three requests that ask for those kinds.
pub(crate) fn requests(kinds: &str) -> [(&'static str, Value); 3] {
    [
        (
            "tools/call",
            json!({"name": "ask", "arguments": {"kinds": kinds}}),
        ),
        (
            "prompts/get",
            json!({"name": "ask", "arguments": {"kinds": kinds}}),
        ),
        (
            "resources/read",
            json!({"uri": format!("ask:{}", kinds.replace(',', "%2C"))}),
        ),
    ]
}

/// Returns the text of the handler's result.
#[track_caller]
pub(crate) fn handler_text(method: &str, response: &Value) -> String {
    let result = &response["result"];
    let text = match method {
        "tools/call" => &result["content"][0]["text"],
        "prompts/get" => &result["messages"][0]["content"]["text"],
        _ => &result["contents"][0]["text"],
    };
    assert_ne!(result["isError"], true, "{response:#}");
    text.as_str()
        .unwrap_or_else(|| panic!("nothing was said: {response:#}"))
        .to_owned()
}
