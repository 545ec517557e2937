//! Tools whose arguments and results are typed: the types' schemas are what clients see.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use turnbuckle::types::{Schema, ToolAnnotations};
use turnbuckle::{Context, RawArguments, Structured, Tool, tool};

pub(super) fn tools() -> Result<Vec<Tool>, serde_json::Error> {
    let contact: Schema = CONTACT.parse()?;
    Ok(vec![
        tool("echo", echo)
            .title("Echo")
            .description("Says a message back")
            .annotations(
                ToolAnnotations::new()
                    .read_only_hint(true)
                    .open_world_hint(false),
            ),
        tool("structured_weather", weather)
            .title("Weather")
            .description("Tells the weather, as data and as text")
            .annotations(ToolAnnotations::new().read_only_hint(true)),
        tool("test_x_mcp_header", mirrored)
            .title("Mirrored argument")
            .description("Has an argument that HTTP clients repeat in a header"),
        tool("json_schema_2020_12_tool", check_contact)
            .title("Schema written by hand")
            .description("Tool with JSON Schema 2020-12 features")
            .input_schema(contact),
    ])
}

#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// What to say back
    message: String,
}

async fn echo(arguments: Echo, _: Context) -> String {
    arguments.message
}

#[derive(Deserialize, JsonSchema)]
struct Place {
    /// The city to tell the weather of
    city: String,
}

#[derive(Serialize, JsonSchema)]
struct Weather {
    /// The city that was asked for
    city: String,
    /// Degrees Celsius
    temperature: f64,
    /// The sky in a word or two
    conditions: &'static str,
}

/// The return type is the tool's output schema.
async fn weather(place: Place, _: Context) -> Structured<Weather> {
    Structured(Weather {
        city: place.city,
        temperature: 21.5,
        conditions: "partly cloudy",
    })
}

#[derive(Deserialize, JsonSchema)]
struct Mirrored {
    /// Also sent as the header `Mcp-Param-Suffix`, for proxies that route by it
    #[schemars(extend("x-mcp-header" = "Suffix"))]
    suffix: String,
}

async fn mirrored(arguments: Mirrored, _: Context) -> String {
    format!("The suffix is {:?}.", arguments.suffix)
}

/// What no Rust type says: a contact is reached by the way that it prefers.
const CONTACT: &str = r##"{
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {
                "street": { "type": "string" },
                "city": { "type": "string" }
            }
        }
    },
    "properties": {
        "name": { "type": "string" },
        "address": { "$ref": "#/$defs/address" },
        "contactMethod": { "type": "string", "enum": ["phone", "email"] },
        "phone": { "type": "string" },
        "email": { "type": "string" }
    },
    "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
    "if": {
        "properties": { "contactMethod": { "const": "phone" } },
        "required": ["contactMethod"]
    },
    "then": { "required": ["phone"] },
    "else": { "required": ["email"] },
    "additionalProperties": false
}"##;

/// By the time it runs, its arguments have passed the schema.
async fn check_contact(RawArguments(contact): RawArguments, _: Context) -> String {
    format!("A valid contact: {contact}")
}
