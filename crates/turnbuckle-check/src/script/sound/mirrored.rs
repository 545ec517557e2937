//! The headers of a modern request that mirror members of its body.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use serde_json::Value;
use turnbuckle_wire::revision::Revision;

use super::items;
use super::refusal::Refusal;

/// The largest integer that is mirrored.
const MAX_INTEGER: f64 = ((1_u64 << 53) - 1) as f64;

/// Refuses a request whose headers do not say what its body says.
pub(super) fn check(headers: &HeaderMap, message: &Value) -> Result<(), Refusal> {
    let params = &message["params"];
    let method = message["method"].as_str().unwrap_or_default();
    let version = &params["_meta"]["io.modelcontextprotocol/protocolVersion"];
    if let Some(version) = version.as_str() {
        compare(headers, "mcp-protocol-version", version, copy)?;
    }
    compare(headers, "mcp-method", method, copy)?;
    let name = match method {
        "tools/call" | "prompts/get" => &params["name"],
        "resources/read" => &params["uri"],
        _ => &Value::Null,
    };
    if let Some(name) = name.as_str() {
        compare(headers, "mcp-name", name, decode)?;
    }
    match method {
        "tools/call" => check_arguments(headers, params),
        _ => Ok(()),
    }
}

fn check_arguments(headers: &HeaderMap, params: &Value) -> Result<(), Refusal> {
    let Some(tool) = items::tool_named(&params["name"], Revision::NEWEST.features()) else {
        return Ok(());
    };
    let schema = (tool.input)();
    let properties = schema["properties"].as_object().into_iter().flatten();
    for (property, schema) in properties {
        let Some(mirror) = schema["x-mcp-header"].as_str() else {
            continue;
        };
        let header = format!("mcp-param-{}", mirror.to_ascii_lowercase());
        match &params["arguments"][property] {
            Value::Null if headers.contains_key(&header) => {
                return Err(mismatch(&header));
            }
            Value::Null => {}
            Value::String(text) => compare(headers, &header, text, decode)?,
            Value::Number(number) => {
                let number = number.as_f64().filter(|it| it.abs() <= MAX_INTEGER);
                let mirrored = headers.get(&header).and_then(|it| it.to_str().ok());
                let mirrored = mirrored.and_then(|it| it.parse::<f64>().ok());
                if number.is_none() || number != mirrored {
                    return Err(mismatch(&header));
                }
            }
            other => compare(headers, &header, &other.to_string(), decode)?,
        }
    }
    Ok(())
}

fn compare(
    headers: &HeaderMap,
    name: &str,
    expected: &str,
    read: fn(&str) -> Option<String>,
) -> Result<(), Refusal> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().and_then(|value| value.to_str().ok());
    let value = value.and_then(|value| read(value.trim_ascii()));
    match (value, values.next()) {
        (Some(value), None) if value == expected => Ok(()),
        _ => Err(mismatch(name)),
    }
}

fn mismatch(name: &str) -> Refusal {
    Refusal::new(
        -32020,
        &format!("the header {name} does not say what the body says"),
    )
}

fn copy(value: &str) -> Option<String> {
    Some(value.to_owned())
}

fn decode(value: &str) -> Option<String> {
    let encoded = value
        .strip_prefix("=?base64?")
        .and_then(|it| it.strip_suffix("?="));
    match encoded {
        None => Some(value.to_owned()),
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
    }
}
