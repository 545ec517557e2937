//! Tools with typed arguments and results. Clients see the schemas of the types.

use turnbuckle::prelude::*;

/// Returns the typed tools, and one whose schema is written by hand.
pub(super) fn group() -> Result<Group, serde_json::Error> {
    let contact = Tool::builder("json_schema_2020_12_tool")
        .title("Schema written by hand")
        .description("Tool with JSON Schema 2020-12 features")
        .input_schema(include_str!("contact.schema.json").parse()?)
        .handler(|RawArguments(contact): RawArguments| format!("A valid contact: {contact}"));
    Ok(Group::new().group(Typed).tool(contact))
}

#[data]
struct Weather {
    /// The city that was asked for
    city: String,
    /// Degrees Celsius
    temperature: f64,
    /// The sky in a word or two
    conditions: String,
}

struct Typed;

#[server]
impl Typed {
    /// Says a message back
    #[tool(title = "Echo", read_only, open_world = false)]
    fn echo(
        /// The text to say back
        message: String,
    ) -> String {
        message
    }

    /// Returns the weather as structured content
    #[tool(title = "Weather", read_only)]
    fn structured_weather(
        /// The place to report on, such as Oslo
        city: String,
    ) -> Weather {
        Weather {
            city,
            temperature: 21.5,
            conditions: "partly cloudy".to_owned(),
        }
    }

    /// Has an argument that HTTP clients repeat in a header
    #[tool(title = "Mirrored argument")]
    fn test_x_mcp_header(
        /// Also sent as the header `Mcp-Param-Suffix`, for proxies that route by it
        #[schema(header = "Suffix")]
        suffix: String,
    ) -> String {
        format!("The suffix is {suffix:?}.")
    }
}
