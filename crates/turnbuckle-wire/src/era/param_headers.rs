//! The headers that mirror a tool's arguments, as its input schema declares them.
//!
//! Specification: basic/transports/streamable-http, "Schema Extension" (2026-07-28).

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value};
use turnbuckle_types::Schema;

use super::headers::PARAM_PREFIX;

/// The keyword that asks for a header.
const KEYWORD: &str = "x-mcp-header";

/// The most headers that one tool may ask for. HTTP servers take far fewer in a request.
const MAX_HEADERS: usize = 256;

/// An argument that is mirrored in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParamHeader {
    /// The whole name of the header, in lower case.
    pub header: String,
    /// The member names on the way to the argument's value, outermost first; never empty.
    pub path: Vec<Arc<str>>,
    /// The type of the value.
    pub(super) kind: ParamKind,
}

/// The types whose values a header can mirror.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParamKind {
    /// `"string"`.
    String,
    /// `"integer"`.
    Integer,
    /// `"boolean"`.
    Boolean,
}

/// A header that an input schema may not ask for, which makes the tool's definition invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidParamHeader {
    /// The schema is no JSON, or nested too deep.
    #[error("the input schema cannot be read")]
    Schema,
    /// The annotation at this place is not a name of an HTTP header.
    #[error("{KEYWORD} at {0} is no header name")]
    Name(String),
    /// Two annotations ask for this header; case makes no difference.
    #[error("two properties ask for the header {0}")]
    Repeated(String),
    /// The annotated property is not an integer, string or boolean (or one of these and `null`).
    #[error("{KEYWORD} at {0} needs the type integer, string or boolean")]
    Type(String),
    /// The annotation at this place is not on a property that is reached by `properties` alone.
    #[error("{KEYWORD} at {0} is not on a property that is always at one place")]
    Place(String),
    /// More than 256 properties are annotated.
    #[error("more than {MAX_HEADERS} properties ask for headers")]
    TooMany,
}

/// Returns the headers that a tool's input schema asks for.
///
/// Servers call this when a tool is registered, and clients when one is listed: what one refuses to
/// offer is what the other refuses to use.
///
/// # Errors
/// When an annotation breaks a rule of the page.
pub fn param_headers(schema: &Schema) -> Result<Vec<ParamHeader>, InvalidParamHeader> {
    let text = schema.as_str();
    if !text.contains(KEYWORD) && !text.contains("\\u") {
        return Ok(Vec::new());
    }
    let schema: Value = serde_json::from_str(text).map_err(|_| InvalidParamHeader::Schema)?;
    let mut walk = Walk {
        place: Vec::new(),
        names: HashSet::new(),
        found: Vec::new(),
    };
    walk.schema(&schema, Reach::Root)?;
    Ok(walk.found)
}

/// The way on which the walk came to a schema.
#[derive(Clone, Copy, PartialEq)]
enum Reach {
    /// The whole schema.
    Root,
    /// A schema that is reached by `properties` alone.
    Property,
    /// A schema that is reached by anything else.
    Dynamic,
}

struct Walk {
    /// Keywords and property names from the root to here.
    place: Vec<Arc<str>>,
    /// The headers of those that were found.
    names: HashSet<String>,
    found: Vec<ParamHeader>,
}

impl Walk {
    /// Walks one schema. The depth is bounded by the JSON reader's own limit.
    fn schema(&mut self, schema: &Value, reach: Reach) -> Result<(), InvalidParamHeader> {
        let Value::Object(schema) = schema else {
            return Ok(());
        };
        if let Some(name) = schema.get(KEYWORD) {
            self.annotation(schema, name, reach)?;
        }
        for (keyword, value) in schema {
            let inside = if keyword == "properties" && reach != Reach::Dynamic {
                Reach::Property
            } else {
                Reach::Dynamic
            };
            match keyword.as_str() {
                "properties" | "patternProperties" | "dependentSchemas" | "dependencies"
                | "$defs" | "definitions" => {
                    let Value::Object(schemas) = value else {
                        continue;
                    };
                    for (name, schema) in schemas {
                        self.step(&[keyword, name], schema, inside)?;
                    }
                }
                "allOf" | "anyOf" | "oneOf" | "prefixItems" | "items" => match value {
                    Value::Array(schemas) => {
                        for schema in schemas {
                            self.step(&[keyword], schema, inside)?;
                        }
                    }
                    schema => self.step(&[keyword], schema, inside)?,
                },
                "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "additionalItems"
                | "additionalProperties"
                | "unevaluatedItems"
                | "unevaluatedProperties"
                | "propertyNames"
                | "contentSchema" => self.step(&[keyword], value, inside)?,
                // Anything else holds data, not schemas.
                _ => {}
            }
        }
        Ok(())
    }

    fn step(
        &mut self,
        names: &[&String],
        schema: &Value,
        reach: Reach,
    ) -> Result<(), InvalidParamHeader> {
        let before = self.place.len();
        self.place
            .extend(names.iter().map(|name| Arc::from(name.as_str())));
        self.schema(schema, reach)?;
        self.place.truncate(before);
        Ok(())
    }

    fn annotation(
        &mut self,
        schema: &Map<String, Value>,
        name: &Value,
        reach: Reach,
    ) -> Result<(), InvalidParamHeader> {
        let at = || format!("#/{}", self.place.join("/"));
        if reach != Reach::Property {
            return Err(InvalidParamHeader::Place(at()));
        }
        let name = name.as_str().filter(|name| is_token(name));
        let name = name.ok_or_else(|| InvalidParamHeader::Name(at()))?;
        let kind = schema.get("type").and_then(kind_of);
        let kind = kind.ok_or_else(|| InvalidParamHeader::Type(at()))?;
        let header = format!("{PARAM_PREFIX}{}", name.to_ascii_lowercase());
        if !self.names.insert(header.clone()) {
            return Err(InvalidParamHeader::Repeated(header));
        }
        if self.found.len() == MAX_HEADERS {
            return Err(InvalidParamHeader::TooMany);
        }
        // Every other element is the keyword `properties`.
        let path = self.place.iter().skip(1).step_by(2).cloned().collect();
        self.found.push(ParamHeader { header, path, kind });
        Ok(())
    }
}

/// Returns the declared type of a mirrored value. Beside it may stand `null`, for which no header
/// is sent.
fn kind_of(declared: &Value) -> Option<ParamKind> {
    let name = match declared {
        Value::String(name) => name,
        Value::Array(names) => match names.as_slice() {
            [Value::String(name)] => name,
            [Value::String(name), Value::String(null)] if null == "null" => name,
            [Value::String(null), Value::String(name)] if null == "null" => name,
            _ => return None,
        },
        _ => return None,
    };
    match name.as_str() {
        "string" => Some(ParamKind::String),
        "integer" => Some(ParamKind::Integer),
        "boolean" => Some(ParamKind::Boolean),
        _ => None,
    }
}

/// Returns whether `name` is a token of RFC 9110, section 5.6.2.
fn is_token(name: &str) -> bool {
    let tchar = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(tchar)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn param_headers_of(schema: &Value) -> Result<Vec<ParamHeader>, InvalidParamHeader> {
        param_headers(&Schema::encode(schema).unwrap())
    }

    fn property(schema: Value) -> Result<Vec<ParamHeader>, InvalidParamHeader> {
        param_headers_of(&json!({"type": "object", "properties": {"p": schema}}))
    }

    #[test]
    fn annotated_properties_are_found_at_any_depth() {
        let found = param_headers_of(&json!({
            "type": "object",
            "properties": {
                "flag": {"type": "boolean", "x-mcp-header": "Flag"},
                "options": {
                    "type": "object",
                    "properties": {"limit": {"type": "integer", "x-mcp-header": "Row-Limit"}}
                },
                "plain": {"type": "string"},
                "region": {"type": ["string", "null"], "x-mcp-header": "REGION"}
            }
        }))
        .unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|param| (param.header.as_str(), param.path.join("/"), param.kind))
            .collect();
        assert_eq!(
            found,
            [
                ("mcp-param-flag", "flag".to_owned(), ParamKind::Boolean),
                (
                    "mcp-param-row-limit",
                    "options/limit".to_owned(),
                    ParamKind::Integer
                ),
                ("mcp-param-region", "region".to_owned(), ParamKind::String),
            ]
        );
    }

    #[test]
    fn names_are_tokens() {
        for name in ["Region", "x", "A1-._~!#$%&'*+^`|"] {
            assert!(
                property(json!({"type": "string", "x-mcp-header": name})).is_ok(),
                "{name}"
            );
        }
        let bad = [
            json!(""),
            json!("My Region"),
            json!("Region:Primary"),
            json!("Région"),
            json!("a\tb"),
            json!("a\r\nb"),
            json!(7),
            json!(null),
            json!({}),
        ];
        for name in bad {
            let found = property(json!({"type": "string", "x-mcp-header": name}));
            assert_eq!(
                found,
                Err(InvalidParamHeader::Name("#/properties/p".into())),
                "{name}"
            );
        }
    }

    #[test]
    fn names_are_unique_in_any_case() {
        let found = param_headers_of(&json!({"properties": {
            "a": {"type": "string", "x-mcp-header": "Region"},
            "b": {"properties": {"c": {"type": "string", "x-mcp-header": "REGION"}}}
        }}));
        assert_eq!(
            found,
            Err(InvalidParamHeader::Repeated("mcp-param-region".into()))
        );
    }

    #[test]
    fn the_mirrored_headers_are_limited() {
        let asking = |count: usize| {
            let property = |n| json!({"type": "string", "x-mcp-header": format!("H{n}")});
            let properties = (0..count).map(|n| (n.to_string(), property(n)));
            param_headers_of(&json!({"properties": properties.collect::<Map<_, _>>()}))
        };
        assert_eq!(asking(256).unwrap().len(), 256);
        let error = asking(257).unwrap_err();
        assert_eq!(error, InvalidParamHeader::TooMany);
        assert_eq!(
            error.to_string(),
            "more than 256 properties ask for headers"
        );
    }

    #[test]
    fn the_names_on_the_way_are_kept_once() {
        let annotated = |name| json!({"type": "string", "x-mcp-header": name});
        let found = param_headers_of(&json!({"properties": {"way": {"properties":
            {"a": annotated("A"), "b": annotated("B")}}}}));
        let found = found.unwrap();
        assert!(Arc::ptr_eq(&found[0].path[0], &found[1].path[0]));
    }

    #[test]
    fn only_three_types_are_mirrored() {
        let bad = [
            json!({}),
            json!({"type": "number"}),
            json!({"type": "object"}),
            json!({"type": "array"}),
            json!({"type": "null"}),
            json!({"type": ["string", "integer"]}),
            json!({"type": ["null"]}),
            json!({"type": []}),
            json!({"$ref": "#/$defs/Region"}),
        ];
        for mut schema in bad {
            schema["x-mcp-header"] = "A".into();
            let found = property(schema.clone());
            assert_eq!(
                found,
                Err(InvalidParamHeader::Type("#/properties/p".into())),
                "{schema}"
            );
        }
    }

    #[test]
    fn an_annotation_anywhere_else_is_invalid() {
        let annotated = json!({"type": "string", "x-mcp-header": "A"});
        let keyed = |keyword: &str| json!({"properties": {"p": {keyword: annotated}}});
        let listed = |keyword: &str| json!({keyword: [true, annotated]});
        let named = |keyword: &str| json!({keyword: {"n": annotated}});
        let mut bad = vec![
            annotated.clone(),
            json!({"items": {"properties": {"p": annotated}}}),
        ];
        bad.extend(
            [
                "items",
                "not",
                "if",
                "then",
                "else",
                "contains",
                "additionalProperties",
                "propertyNames",
                "unevaluatedItems",
                "unevaluatedProperties",
                "contentSchema",
            ]
            .map(keyed),
        );
        bad.extend(["allOf", "anyOf", "oneOf", "prefixItems", "items"].map(listed));
        bad.extend(
            [
                "patternProperties",
                "dependentSchemas",
                "$defs",
                "definitions",
            ]
            .map(named),
        );
        for schema in bad {
            let found = param_headers_of(&schema);
            assert!(
                matches!(found, Err(InvalidParamHeader::Place(_))),
                "{schema}: {found:?}"
            );
        }
    }

    #[test]
    fn data_and_names_that_look_like_an_annotation_are_none() {
        for schema in [
            json!({"properties": {"x-mcp-header": {"type": "string"}}}),
            json!({"default": {"x-mcp-header": ""}, "examples": [{"x-mcp-header": ""}]}),
            json!({"const": {"x-mcp-header": ""}, "enum": [{"x-mcp-header": ""}]}),
        ] {
            assert_eq!(param_headers_of(&schema), Ok(vec![]), "{schema}");
        }
    }

    #[test]
    fn an_escaped_keyword_is_the_keyword_and_depth_is_bounded() {
        let schema = r#"{"\u0078-mcp-header":"A"}"#.parse().unwrap();
        assert!(matches!(
            param_headers(&schema),
            Err(InvalidParamHeader::Place(_))
        ));
        let deep = format!(
            r#"{}{{"x-mcp-header":"A"}}{}"#,
            r#"{"not":"#.repeat(5000),
            "}".repeat(5000)
        );
        assert_eq!(
            param_headers(&deep.parse().unwrap()),
            Err(InvalidParamHeader::Schema)
        );
    }
}
