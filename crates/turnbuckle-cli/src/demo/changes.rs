//! Tools that change what the server offers: every client that wants to hear of it does.

use turnbuckle::prelude::*;

use super::resources::WATCHED;

/// The tool and the prompt that come and go.
const FLEETING: &str = "here_today";

pub(super) struct Changes;

#[server]
impl Changes {
    /// Tells subscribers that test://watched-resource has changed
    #[tool(title = "Touch the watched resource")]
    fn touch_watched_resource(context: Context) -> &'static str {
        context.server().resource_updated(WATCHED);
        "Subscribers were told."
    }

    /// Adds a tool, or removes it again
    #[tool(title = "Change the tools")]
    fn test_trigger_tool_change(context: Context) -> Result<String> {
        let server = context.server();
        if server.remove_tool(FLEETING) {
            return Ok(format!("The tool {FLEETING} is gone."));
        }
        let fleeting = Tool::builder(FLEETING).description("Is there until the next change");
        server.add_tool(fleeting.handler(|| "gone tomorrow"))?;
        Ok(format!("The tool {FLEETING} is there."))
    }

    /// Adds a prompt, or removes it again
    #[tool(title = "Change the prompts")]
    fn test_trigger_prompt_change(context: Context) -> Result<String> {
        let server = context.server();
        if server.remove_prompt(FLEETING) {
            return Ok(format!("The prompt {FLEETING} is gone."));
        }
        let fleeting = Prompt::builder(FLEETING).description("Is there until the next change");
        server.add_prompt(fleeting.handler(|| "gone tomorrow"))?;
        Ok(format!("The prompt {FLEETING} is there."))
    }
}
