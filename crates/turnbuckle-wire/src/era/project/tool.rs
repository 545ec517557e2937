//! Tools and their results.

use turnbuckle_types::{
    CallToolRequestParams, CallToolResult, ContentBlock, Json, Map, Meta, Schema, Tool,
    ToolAnnotations, ToolExecution,
};

use super::output_schema::object_output_schema;
use super::property_schemas::as_objects;
use super::rules::{Fate, project_objects};
use super::{message_meta, result_extra};
use crate::era::tool_result::{WRAPPED_META_KEY, WRAPPER_MEMBER};
use crate::revision::Features;

fn wrapped_mark() -> Json {
    Json::from(serde_json::value::RawValue::TRUE)
}

project_objects! {
    CallToolRequestParams {
        name, arguments, input_responses since result_envelope, request_state since result_envelope,
        task since core_tasks, meta by message_meta, extra,
    }
    Tool [needs_title_hint => move_title_to_annotations] {
        name, input_schema by object_property_schemas, title since titles, description,
        output_schema by older_output_schema + listed structured_output,
        annotations since tool_annotations, icons since icons,
        execution since core_tasks, meta since titles, extra,
    }
    ToolExecution { task_support, extra }
    ToolAnnotations {
        title, read_only_hint, destructive_hint, idempotent_hint, open_world_hint, extra,
    }
    CallToolResult [has_unknown_structure => project_structure] {
        content, structured_content + listed structured_output, is_error, meta by message_meta, extra by result_extra,
    } + impl {
        const IS_TOOL_RESULT: bool = true;

        fn is_error(&self) -> bool {
            CallToolResult::is_error(self)
        }

    fn undo_projection(&mut self) {
        let mark = self.meta.get_raw(WRAPPED_META_KEY);
        if mark.is_none_or(|mark| *mark != wrapped_mark()) {
            return;
        }
        let wrapped = self
            .structured_content
            .as_ref()
            .and_then(|json| json.decode().ok());
        let wrapped = wrapped.filter(|members: &Map<Json>| members.len() == 1);
        if let Some(value) = wrapped.and_then(|mut members| members.remove(WRAPPER_MEMBER)) {
            self.structured_content = Some(value);
            self.meta.remove(WRAPPED_META_KEY);
        }
    }
    }
}

/// Returns whether a title can only be sent as `annotations.title`.
fn needs_title_hint(tool: &Tool, features: &Features) -> bool {
    !features.titles && features.tool_annotations && tool.title.is_some()
}

fn move_title_to_annotations(tool: &mut Tool, _: &Features) {
    if let Some(title) = tool.title.take() {
        let hints = tool.annotations.get_or_insert_with(ToolAnnotations::new);
        hints.title.get_or_insert(title);
    }
}

/// Writes the schemas of properties as objects where they may not be `true` or `false`.
fn object_property_schemas(schema: &Schema, features: &Features) -> Fate<Schema> {
    if features.boolean_properties {
        return Fate::Keep;
    }
    as_objects(schema).map_or(Fate::Keep, Fate::Replace)
}

/// Removes an output schema that the revision does not know, or replaces it with one that it knows.
fn older_output_schema(schema: &Option<Schema>, features: &Features) -> Fate<Option<Schema>> {
    let Some(schema) = schema else {
        return Fate::Keep;
    };
    if !features.structured_output {
        return Fate::Replace(None);
    }
    let changed = match features.structured_any {
        true => Fate::Keep,
        false => object_output_schema(schema),
    };
    let changed = match changed {
        Fate::Keep => None,
        Fate::Replace(Some(changed)) => Some(changed),
        Fate::Replace(None) => return Fate::Replace(None),
    };
    match object_property_schemas(changed.as_ref().unwrap_or(schema), features) {
        Fate::Replace(spelled) => Fate::Replace(Some(spelled)),
        Fate::Keep => changed.map_or(Fate::Keep, |changed| Fate::Replace(Some(changed))),
    }
}

fn has_unknown_structure(result: &CallToolResult, features: &Features) -> bool {
    !is_structure_known(result.structured_content.as_ref(), features)
}

fn project_structure(result: &mut CallToolResult, features: &Features) {
    let (content, meta) = (&mut result.content, &mut result.meta);
    project_structured(&mut result.structured_content, content, meta, features);
}

/// Returns whether a result's structured form is one that the revision knows.
pub(super) fn is_structure_known(value: Option<&Json>, features: &Features) -> bool {
    features.structured_any
        || value.is_none_or(|value| features.structured_output && value.is_object())
}

/// Wraps a structured form that is no object, or leaves it to `content` where the revision has no
/// structured form.
pub(super) fn project_structured(
    structured: &mut Option<Json>,
    content: &mut Vec<ContentBlock>,
    meta: &mut Meta,
    features: &Features,
) {
    let Some(value) = structured.take() else {
        return;
    };
    if features.structured_output {
        *structured = Json::encode(&Map::<Json>::from([(WRAPPER_MEMBER, value)])).ok();
        meta.insert_unchecked(WRAPPED_META_KEY, wrapped_mark());
    } else if content.is_empty() {
        content.push(ContentBlock::text(value.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::era::Project;
    use crate::era::project::tests::{decode, project_json};
    use crate::revision::Revision;

    fn tool(mut with: Value) -> Value {
        with["name"] = "t".into();
        with["inputSchema"] = json!({"type": "object"});
        with
    }

    #[test]
    fn a_title_moves_to_the_annotations_where_only_they_have_one() {
        let titled = tool(json!({"title": "T", "_meta": {"a": 1}}));
        assert_eq!(project_json::<Tool>(&titled, Revision::V2025_06_18), titled);
        let annotated = tool(json!({"annotations": {"title": "T"}}));
        assert_eq!(
            project_json::<Tool>(&titled, Revision::V2025_03_26),
            annotated
        );
        assert_eq!(
            project_json::<Tool>(&titled, Revision::V2024_11_05),
            tool(json!({}))
        );

        let both = tool(json!({"title": "T", "annotations": {"title": "H", "readOnlyHint": true}}));
        let hints = tool(json!({"annotations": {"title": "H", "readOnlyHint": true}}));
        assert_eq!(project_json::<Tool>(&both, Revision::V2025_03_26), hints);
    }

    #[test]
    fn an_output_schema_is_only_sent_where_output_is_structured() {
        let object = tool(json!({"outputSchema": {"type": "object"}}));
        assert_eq!(project_json::<Tool>(&object, Revision::V2025_06_18), object);
        assert_eq!(
            project_json::<Tool>(&object, Revision::V2025_03_26),
            tool(json!({}))
        );
        let list = tool(json!({"outputSchema": {"type": "array"}}));
        assert_eq!(project_json::<Tool>(&list, Revision::NEWEST), list);
        assert_eq!(
            project_json::<Tool>(&list, Revision::V2025_11_25)["outputSchema"],
            json!({"type": "object", "properties": {"result": {"type": "array"}},
                "required": ["result"]})
        );
    }

    #[test]
    fn the_schema_of_a_property_is_an_object_where_it_has_to_be_one() {
        let schema = json!({"type": "object", "additionalProperties": false,
            "properties": {"any": true, "no": false, "n": {"properties": {"deep": true}}}});
        let spelled = json!({"type": "object", "additionalProperties": false,
            "properties": {"any": {}, "no": {"not": {}}, "n": {"properties": {"deep": true}}}});
        let parts = json!({"anyOf": [{"type": "object"}], "properties": {"any": true}});
        let expected_parts = json!({"anyOf": [{"type": "object"}], "properties": {"any": {}},
            "type": "object"});
        for (output, expected_output) in [(&schema, &spelled), (&parts, &expected_parts)] {
            let mut tool = tool(json!({"outputSchema": output}));
            tool["inputSchema"] = schema.clone();
            assert_eq!(project_json::<Tool>(&tool, Revision::NEWEST), tool);
            for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
                let projected = project_json::<Tool>(&tool, revision);
                assert_eq!(projected["inputSchema"], spelled, "{revision}");
                assert_eq!(projected["outputSchema"], *expected_output, "{revision}");
            }
            for revision in [Revision::V2024_11_05, Revision::V2025_03_26] {
                assert_eq!(
                    project_json::<Tool>(&tool, revision)["inputSchema"],
                    spelled
                );
            }
        }
    }

    #[test]
    fn structured_output_is_never_lost() {
        let result = |value: Value| json!({"content": [], "structuredContent": value});
        let wrapped = |value: Value| {
            json!({"content": [], "structuredContent": {"result": value},
                "_meta": {WRAPPED_META_KEY: true}})
        };
        let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
        let object = result(json!({"a": 1}));
        for revision in [
            Revision::V2025_06_18,
            Revision::V2025_11_25,
            Revision::NEWEST,
        ] {
            assert_eq!(project_json::<CallToolResult>(&object, revision), object);
        }
        assert_eq!(
            project_json::<CallToolResult>(&object, Revision::V2025_03_26),
            text(r#"{"a":1}"#)
        );
        for value in [json!([1]), json!("s"), json!(1), json!(null)] {
            let any = result(value.clone());
            assert_eq!(project_json::<CallToolResult>(&any, Revision::NEWEST), any);
            assert_eq!(
                project_json::<CallToolResult>(&any, Revision::V2025_11_25),
                wrapped(value.clone())
            );
            let projected = project_json::<CallToolResult>(&any, Revision::V2024_11_05);
            assert_eq!(projected, text(&value.to_string()));
        }
        let both = json!({"content": [{"type": "text", "text": "t"}], "structuredContent": [1]});
        assert_eq!(
            project_json::<CallToolResult>(&both, Revision::V2024_11_05),
            text("t")
        );
    }

    #[test]
    fn only_marked_values_are_restored() {
        let any = json!({"content": [], "structuredContent": [1], "_meta": {"a": 1}});
        let mut result: CallToolResult =
            decode(&project_json::<CallToolResult>(&any, Revision::V2025_11_25));
        result.undo_projection();
        assert_eq!(result, decode(&any));

        for own in [
            json!({"content": [], "structuredContent": {"result": 1}}),
            json!({"content": [], "structuredContent": {"result": 1, "more": 2},
                "_meta": {WRAPPED_META_KEY: true}}),
            json!({"content": [], "_meta": {WRAPPED_META_KEY: true}}),
        ] {
            let mut result: CallToolResult = decode(&own);
            result.undo_projection();
            assert_eq!(result, decode(&own));
        }
    }
}
