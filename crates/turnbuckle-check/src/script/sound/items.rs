//! The definitions of a server: its capabilities and its tools.

use serde_json::{Value, json};
use turnbuckle_wire::revision::{EraKind, Features, Revision};

use super::refusal::Refusal;
use super::tool_schemas;

/// Returns the name and the version of the server.
pub(super) fn server_info() -> Value {
    json!({"name": "sound", "version": "1.0.0"})
}

/// Returns the capabilities of the server.
pub(super) fn capabilities(revision: Revision) -> Value {
    let features = revision.features();
    let mut capabilities = json!({
        "tools": {"listChanged": true},
        "resources": {"subscribe": true, "listChanged": true},
        "prompts": {"listChanged": true},
        "logging": {},
    });
    if features.completions_capability {
        capabilities["completions"] = json!({});
    }
    capabilities
}

/// One tool of the server.
pub(super) struct Tool {
    pub(super) name: &'static str,
    description: &'static str,
    pub(super) input: fn() -> Value,
    output: Option<fn() -> Value>,
    /// True if a revision can have the tool.
    exists: fn(&Features) -> bool,
    /// Capability of the client without which the tool does nothing.
    pub(super) needs: Option<&'static str>,
}

const fn tool(name: &'static str, description: &'static str) -> Tool {
    Tool {
        name,
        description,
        input: tool_schemas::no_arguments,
        output: None,
        exists: |_| true,
        needs: None,
    }
}

const fn with_input(tool: Tool, input: fn() -> Value) -> Tool {
    Tool { input, ..tool }
}

const fn since(tool: Tool, exists: fn(&Features) -> bool) -> Tool {
    Tool { exists, ..tool }
}

const fn asking(tool: Tool, needs: &'static str) -> Tool {
    Tool {
        needs: Some(needs),
        ..tool
    }
}

fn is_modern(features: &Features) -> bool {
    features.era == EraKind::Modern
}

use tool_schemas as schemas;

/// The tools, in the order of the list.
pub(super) const TOOLS: &[Tool] = &[
    tool("test_simple_text", "Returns a text"),
    tool("test_image_content", "Returns an image"),
    since(tool("test_audio_content", "Returns a sound"), |it| it.audio),
    tool("test_embedded_resource", "Returns a resource"),
    tool(
        "test_multiple_content_types",
        "Returns a text, an image and a resource",
    ),
    since(
        tool("test_resource_link", "Returns a link to a resource"),
        |it| it.resource_links,
    ),
    tool("test_error_handling", "Returns an error"),
    tool("test_tool_with_logging", "Sends three log messages"),
    tool("test_logging_tool", "Sends a log message"),
    tool("test_tool_with_progress", "Reports progress three times"),
    with_input(
        tool("slow_compute", "Works for some seconds"),
        schemas::slow,
    ),
    Tool {
        output: Some(schemas::sum),
        ..with_input(tool("add_numbers", "Adds two integers"), schemas::numbers)
    },
    with_input(tool("greet", "Greets somebody"), schemas::name),
    asking(
        with_input(tool("test_sampling", "Asks the model"), schemas::prompt),
        "sampling",
    ),
    since(
        asking(
            with_input(tool("test_elicitation", "Asks the user"), schemas::message),
            "elicitation",
        ),
        |it| it.elicitation,
    ),
    asking(tool("test_list_roots", "Asks for the roots"), "roots"),
    since(
        asking(
            tool("test_elicitation_sep1034_defaults", "Asks with defaults"),
            "elicitation",
        ),
        |it| it.elicitation_url,
    ),
    since(
        asking(
            tool("test_elicitation_sep1330_enums", "Asks with choices"),
            "elicitation",
        ),
        |it| it.elicitation_url,
    ),
    tool("test_reconnection", "Lets its stream be resumed"),
    with_input(
        tool(
            "test_header_argument",
            "Has an argument that a header mirrors",
        ),
        schemas::header,
    ),
    with_input(
        tool("test_header_number", "Has an integer that a header mirrors"),
        schemas::header_number,
    ),
    tool(
        "test_trigger_tool_change",
        "Announces that the tools changed",
    ),
    tool(
        "test_trigger_prompt_change",
        "Announces that the prompts changed",
    ),
    with_input(
        tool(
            "test_trigger_resource_update",
            "Announces that a resource changed",
        ),
        schemas::uri,
    ),
    since(
        asking(tool("test_missing_capability", "Needs a model"), "sampling"),
        is_modern,
    ),
    since(
        asking(
            tool("test_streaming_elicitation", "Asks the user"),
            "elicitation",
        ),
        is_modern,
    ),
    since(
        asking(
            tool("test_input_required_result_elicitation", "Asks for a name"),
            "elicitation",
        ),
        is_modern,
    ),
    since(
        asking(
            tool("test_input_required_result_sampling", "Asks for a capital"),
            "sampling",
        ),
        is_modern,
    ),
    since(
        asking(
            tool(
                "test_input_required_result_list_roots",
                "Asks for the roots",
            ),
            "roots",
        ),
        is_modern,
    ),
    since(
        asking(
            tool("test_input_required_result_request_state", "Has a state"),
            "elicitation",
        ),
        is_modern,
    ),
    since(
        asking(
            tool(
                "test_input_required_result_multiple_inputs",
                "Asks three times",
            ),
            "elicitation",
        ),
        is_modern,
    ),
    since(
        asking(
            tool(
                "test_input_required_result_multi_round",
                "Asks in two rounds",
            ),
            "elicitation",
        ),
        is_modern,
    ),
    since(
        asking(
            tool("test_input_required_result_tampered_state", "Has a state"),
            "elicitation",
        ),
        is_modern,
    ),
    since(
        tool(
            "test_input_required_result_capabilities",
            "Asks what it may",
        ),
        is_modern,
    ),
];

/// Returns the tools of a revision.
pub(super) fn tools(revision: Revision) -> Vec<Value> {
    let features = revision.features();
    let existing = TOOLS.iter().filter(|tool| (tool.exists)(features));
    existing.map(|tool| definition(tool, features)).collect()
}

/// Returns the tool of that name, if the revision has it.
pub(super) fn tool_named(name: &Value, features: &Features) -> Option<&'static Tool> {
    let mut existing = TOOLS.iter().filter(|tool| (tool.exists)(features));
    existing.find(|tool| name == tool.name)
}

fn definition(tool: &Tool, features: &Features) -> Value {
    let mut definition = json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": (tool.input)(),
    });
    if features.titles {
        definition["title"] = tool.description.into();
    }
    if features.tool_annotations {
        definition["annotations"] = json!({"readOnlyHint": true, "openWorldHint": false});
    }
    if let Some(output) = tool.output.filter(|_| features.structured_output) {
        definition["outputSchema"] = output();
    }
    definition
}

/// Refuses a tool that needs a capability which the client of a modern request has not declared.
pub(super) fn check_capability(params: &Value, capabilities: &Value) -> Result<(), Refusal> {
    let tool = TOOLS.iter().find(|tool| params["name"] == tool.name);
    // Wrong arguments are told to the model instead.
    let arguments = params.get("arguments").cloned();
    let arguments = arguments.unwrap_or_else(|| json!({}));
    let tool = tool.filter(|tool| jsonschema::is_valid(&(tool.input)(), &arguments));
    match tool.and_then(|tool| tool.needs) {
        Some(needed) if capabilities.get(needed).is_none() => {
            let data = json!({"requiredCapabilities": {needed: {}}});
            Err(Refusal::new(-32021, "the client lacks a capability").with(data))
        }
        _ => Ok(()),
    }
}
