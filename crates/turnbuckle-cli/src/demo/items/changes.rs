//! Tools that change what the server offers. Subscribed clients are notified of each change.

use turnbuckle::prelude::*;

use super::resources::WATCHED_URI;

/// The name of the tool, prompt and resource that are added and removed.
const TEMPORARY: &str = "here_today";

/// The URI of the resource that is added and removed.
const TEMPORARY_URI: &str = "test://here-today";

pub(super) struct Changes;

#[server]
impl Changes {
    /// Notifies subscribers that test://watched-resource has changed
    #[tool(title = "Touch the watched resource")]
    fn touch_watched_resource(server: Server) -> &'static str {
        server.notify_resource_updated(WATCHED_URI);
        "Subscribers were notified."
    }

    /// Adds a tool, or removes it if it is there
    #[tool(title = "Change the tools")]
    fn test_trigger_tool_change(server: Server) -> Result<String> {
        if server.remove_tool(TEMPORARY) {
            return Ok(format!("The tool {TEMPORARY} was removed."));
        }
        let tool = Tool::builder(TEMPORARY)
            .title("Here today")
            .description("Exists until the next change");
        server.add_tool(tool.handler(|| "gone tomorrow"))?;
        Ok(format!("The tool {TEMPORARY} was added."))
    }

    /// Adds a prompt, or removes it if it is there
    #[tool(title = "Change the prompts")]
    fn test_trigger_prompt_change(server: Server) -> Result<String> {
        if server.remove_prompt(TEMPORARY) {
            return Ok(format!("The prompt {TEMPORARY} was removed."));
        }
        let prompt = Prompt::builder(TEMPORARY)
            .title("Here today")
            .description("Exists until the next change");
        server.add_prompt(prompt.handler(|| "gone tomorrow"))?;
        Ok(format!("The prompt {TEMPORARY} was added."))
    }

    /// Adds a resource, or removes it if it is there
    #[tool(title = "Change the resources")]
    fn test_trigger_resource_change(server: Server) -> Result<String> {
        if server.remove_resource(TEMPORARY_URI) {
            return Ok(format!("The resource {TEMPORARY_URI} was removed."));
        }
        let resource = Resource::builder(TEMPORARY_URI, TEMPORARY)
            .title("Here today")
            .description("Exists until the next change")
            .mime_type("text/plain");
        server.add_resource(resource.handler(|| "gone tomorrow"))?;
        Ok(format!("The resource {TEMPORARY_URI} was added."))
    }
}
