//! Schemas derived from Rust types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema as DerivedSchema};
use serde_json::{Value, json};
use turnbuckle_schema::SchemaError;
use turnbuckle_types::Schema;

/// Returns the schema of arguments that are decoded as `T`.
///
/// The derived schema is kept; only `"type": "object"`, which the protocol requires, is added if it
/// is implied. `()` means "no arguments" and accepts only an empty object.
///
/// # Errors
/// If the arguments would not be an object.
pub(crate) fn input_schema_of<T: JsonSchema>() -> Result<Schema, SchemaError> {
    let derived = SchemaSettings::draft2020_12()
        .for_deserialize()
        .into_generator();
    to_input_schema(derived.into_root_schema_for::<T>())
}

/// Converts the derived schema of a type whose values are arguments.
fn to_input_schema(mut schema: DerivedSchema) -> Result<Schema, SchemaError> {
    if schema.get("type") == Some(&json!("null")) {
        return to_schema(&json!({ "type": "object", "additionalProperties": false }));
    }
    if schema.get("type").is_none() && admits_objects_only_or_anything(&schema) {
        schema.insert("type".to_owned(), json!("object"));
    }
    if schema.get("type") != Some(&json!("object")) {
        return Err(SchemaError::RootNotObject);
    }
    to_schema(&schema)
}

/// Returns the schema of results that are encoded from `T`.
///
/// # Errors
/// If the derived schema is not an object but `true` or `false`.
pub(crate) fn output_schema_of<T: JsonSchema>() -> Result<Schema, SchemaError> {
    let derived = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    to_schema(&derived.into_root_schema_for::<T>())
}

/// Returns whether a schema without `type` allows only objects (an enum whose variants are all
/// objects), or does not restrict the type.
fn admits_objects_only_or_anything(schema: &DerivedSchema) -> bool {
    let is_object = |branch: &Value| branch.get("type") == Some(&json!("object"));
    match schema.get("oneOf").or_else(|| schema.get("anyOf")) {
        Some(Value::Array(branches)) => branches.iter().all(is_object),
        _ => ["$ref", "allOf", "const", "enum", "not"]
            .iter()
            .all(|k| schema.get(*k).is_none()),
    }
}

fn to_schema<T: serde::Serialize>(schema: &T) -> Result<Schema, SchemaError> {
    Schema::encode(schema).map_err(|_| SchemaError::NotAnObject)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Forecast {
        /// The city.
        city: String,
        #[serde(default = "days")]
        days: u8,
        units: Option<Units>,
    }

    fn days() -> u8 {
        3
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[expect(dead_code, reason = "only its schema is of interest")]
    enum Units {
        Metric,
        Imperial,
    }

    #[derive(JsonSchema)]
    #[serde(tag = "shape")]
    #[expect(dead_code, reason = "only its schema is of interest")]
    enum Shape {
        Circle { radius: f64 },
        Square { side: f64 },
    }

    fn input<T: JsonSchema>() -> Value {
        serde_json::from_str(input_schema_of::<T>().unwrap().as_str()).unwrap()
    }

    #[test]
    fn a_struct_becomes_an_object_with_its_fields() {
        let schema = input::<Forecast>();
        assert_eq!(
            schema["$schema"],
            "https://json-schema.org/draft/2020-12/schema"
        );
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["required"], json!(["city"]));
        assert_eq!(schema["properties"]["city"]["description"], "The city.");
        assert_eq!(schema["properties"]["days"]["default"], 3);
        assert_eq!(
            schema["properties"]["units"]["anyOf"][0]["$ref"],
            "#/$defs/Units"
        );
        assert_eq!(
            schema["$defs"]["Units"]["enum"],
            json!(["metric", "imperial"])
        );
    }

    #[test]
    fn the_schema_is_deterministic() {
        assert_eq!(input_schema_of::<Forecast>(), input_schema_of::<Forecast>());
    }

    #[test]
    fn the_schema_of_no_arguments_is_the_recommended_one() {
        let schema = input_schema_of::<()>().unwrap();
        assert_eq!(
            schema.as_str(),
            r#"{"additionalProperties":false,"type":"object"}"#
        );
    }

    #[test]
    fn an_enum_of_objects_and_any_json_are_objects() {
        assert_eq!(input::<Shape>()["type"], "object");
        assert_eq!(
            input::<Shape>()["oneOf"][0]["properties"]["shape"]["const"],
            "Circle"
        );
        assert_eq!(input::<Value>()["type"], "object");
        assert_eq!(input::<BTreeMap<String, u8>>()["type"], "object");
    }

    #[test]
    fn arguments_that_are_not_an_object_are_refused() {
        assert_eq!(input_schema_of::<String>(), Err(SchemaError::RootNotObject));
        assert_eq!(
            input_schema_of::<Vec<u8>>(),
            Err(SchemaError::RootNotObject)
        );
        assert_eq!(
            input_schema_of::<Option<Forecast>>(),
            Err(SchemaError::RootNotObject)
        );
        assert_eq!(input_schema_of::<Units>(), Err(SchemaError::RootNotObject));
    }

    #[test]
    fn a_result_may_be_anything() {
        let schema = output_schema_of::<Vec<u8>>().unwrap();
        let schema: Value = serde_json::from_str(schema.as_str()).unwrap();
        assert_eq!(schema["type"], "array");
        assert!(output_schema_of::<Forecast>().is_ok());
    }
}
