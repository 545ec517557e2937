//! The schemas of a tool where those of its properties have to be objects.

use turnbuckle_types::{Json, Map, Schema};

/// Returns the schema with objects for the properties whose schemas are `true` or `false`; `None`
/// if there are none. Only the properties of the root are meant: deeper ones are anybody's JSON.
pub(super) fn as_objects(schema: &Schema) -> Option<Schema> {
    let mut members: Map<Json> = serde_json::from_str(schema.as_str()).ok()?;
    let properties: Map<Json> = members.get("properties")?.decode().ok()?;
    let object = |schema: &Json| match schema.as_str() {
        "true" => Some("{}"),
        "false" => Some(r#"{"not":{}}"#),
        _ => None,
    };
    if !properties.values().any(|schema| object(schema).is_some()) {
        return None;
    }
    let spelled = properties.into_iter().map(|(name, schema)| {
        let object = object(&schema).and_then(|text| text.parse().ok());
        (name, object.unwrap_or(schema))
    });
    members.insert(
        "properties",
        Json::encode(&spelled.collect::<Map<_>>()).ok()?,
    );
    Schema::encode(&members).ok()
}
