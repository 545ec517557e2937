//! Tools that change what the server offers: every client that wants to hear of it does.

use turnbuckle::types::PromptMessage;
use turnbuckle::{Context, Result, Tool, prompt, tool};

use super::resources::WATCHED;

/// The tool and the prompt that come and go.
const FLEETING: &str = "here_today";

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool("touch_watched_resource", touch)
            .title("Touch the watched resource")
            .description("Tells subscribers that test://watched-resource has changed"),
        tool("test_trigger_tool_change", change_tools)
            .title("Change the tools")
            .description("Adds a tool, or removes it again"),
        tool("test_trigger_prompt_change", change_prompts)
            .title("Change the prompts")
            .description("Adds a prompt, or removes it again"),
    ]
}

async fn touch((): (), context: Context) -> &'static str {
    context.server().resource_updated(WATCHED);
    "Subscribers were told."
}

async fn change_tools((): (), context: Context) -> Result<String> {
    let server = context.server();
    if server.remove_tool(FLEETING) {
        return Ok(format!("The tool {FLEETING} is gone."));
    }
    let fleeting = tool(FLEETING, async |(): (), _: Context| "gone tomorrow");
    server.add_tool(fleeting.description("Is there until the next change"))?;
    Ok(format!("The tool {FLEETING} is there."))
}

async fn change_prompts((): (), context: Context) -> Result<String> {
    let server = context.server();
    if server.remove_prompt(FLEETING) {
        return Ok(format!("The prompt {FLEETING} is gone."));
    }
    let fleeting = prompt(FLEETING, async |(): (), _: Context| {
        PromptMessage::user("gone tomorrow")
    });
    server.add_prompt(fleeting.description("Is there until the next change"))?;
    Ok(format!("The prompt {FLEETING} is there."))
}
