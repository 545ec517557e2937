//! Tools and their results.

use turnbuckle_types::{
    CallToolParams, CallToolResult, ContentBlock, Json, Map, Meta, Tool, ToolAnnotations,
};

use super::output_schema::{Older, older};
use super::property_schemas::as_objects;
use super::{Project, members};
use crate::era::structured::WRAPPED;
use crate::revision::Features;

/// The `_meta` key that says of a result that its structured form is wrapped.
///
/// An object with the one member `result` may also be what a tool means; only the sender knows.
pub(crate) const WRAPPED_MARK: &str = "io.github.turnbuckle-mcp/wrapped";

fn mark() -> Json {
    Json::from(serde_json::value::RawValue::TRUE)
}

members! {
    CallToolParams {
        input_responses since result_envelope, request_state since result_envelope, meta within,
    }
}

impl Project for Tool {
    fn fits(&self, features: &Features) -> bool {
        (features.titles || self.title.is_none() && self.meta.is_empty())
            && (features.tool_annotations || self.annotations.is_none())
            && (features.icons || self.icons.is_none())
            && (features.boolean_properties
                || as_objects(&self.input_schema).is_none()
                    && self.output_schema.as_ref().and_then(as_objects).is_none())
            && (features.structured_any
                || self.output_schema.as_ref().is_none_or(|schema| {
                    features.structured_output && matches!(older(schema), Older::Same)
                }))
    }

    fn project(&mut self, features: &Features) {
        if !features.titles {
            self.meta = Default::default();
            if let Some(title) = self.title.take() {
                let hints = self.annotations.get_or_insert_with(ToolAnnotations::new);
                hints.title.get_or_insert(title);
            }
        }
        if !features.tool_annotations {
            self.annotations = None;
        }
        if !features.icons {
            self.icons = None;
        }
        if !features.structured_output {
            self.output_schema = None;
        } else if !features.structured_any
            && let Some(schema) = &self.output_schema
        {
            match older(schema) {
                Older::Same => {}
                Older::Changed(schema) => self.output_schema = Some(schema),
                Older::None => self.output_schema = None,
            }
        }
        if !features.boolean_properties {
            let schemas = [Some(&mut self.input_schema), self.output_schema.as_mut()];
            for schema in schemas.into_iter().flatten() {
                if let Some(changed) = as_objects(schema) {
                    *schema = changed;
                }
            }
        }
    }
}

impl Project for CallToolResult {
    fn is_error(&self) -> bool {
        self.is_error == Some(true)
    }

    fn fits(&self, features: &Features) -> bool {
        structured_fits(self.structured_content.as_ref(), features)
            && self.content.fits(features)
            && self.meta.fits(features)
            && self.extra.fits(features)
    }

    fn project(&mut self, features: &Features) {
        self.content.project(features);
        self.meta.project(features);
        self.extra.project(features);
        let Self {
            structured_content,
            content,
            meta,
            ..
        } = self;
        project_structured(structured_content, content, meta, features);
    }

    fn restore(&mut self) {
        let said = self.meta.raw(WRAPPED_MARK);
        if said.is_none_or(|said| *said != mark()) {
            return;
        }
        let wrapped = self
            .structured_content
            .as_ref()
            .and_then(|json| json.decode().ok());
        let wrapped = wrapped.filter(|members: &Map<Json>| members.len() == 1);
        if let Some(value) = wrapped.and_then(|mut members| members.remove(WRAPPED)) {
            self.structured_content = Some(value);
            self.meta.remove(WRAPPED_MARK);
        }
    }
}

/// Whether a result's structured form is one that the reader knows.
pub(super) fn structured_fits(value: Option<&Json>, features: &Features) -> bool {
    features.structured_any
        || value.is_none_or(|value| features.structured_output && value.is_object())
}

/// A result's structured form as the reader knows it: an object, or only told in `content`.
pub(super) fn project_structured(
    structured: &mut Option<Json>,
    content: &mut Vec<ContentBlock>,
    meta: &mut Meta,
    features: &Features,
) {
    if structured_fits(structured.as_ref(), features) {
        return;
    }
    let Some(value) = structured.take() else {
        return;
    };
    if features.structured_output {
        *structured = Json::of(&Map::<Json>::from([(WRAPPED, value)])).ok();
        meta.insert_unchecked(WRAPPED_MARK, mark());
    } else if content.is_empty() {
        content.push(ContentBlock::text(value.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::era::project::tests::{decoded, told};
    use crate::revision::Revision;

    fn tool(mut with: Value) -> Value {
        with["name"] = "t".into();
        with["inputSchema"] = json!({"type": "object"});
        with
    }

    #[test]
    fn a_title_moves_to_the_annotations_where_only_they_have_one() {
        let titled = tool(json!({"title": "T", "_meta": {"a": 1}}));
        assert_eq!(told::<Tool>(&titled, Revision::V2025_06_18), titled);
        let annotated = tool(json!({"annotations": {"title": "T"}}));
        assert_eq!(told::<Tool>(&titled, Revision::V2025_03_26), annotated);
        assert_eq!(
            told::<Tool>(&titled, Revision::V2024_11_05),
            tool(json!({}))
        );

        let both = tool(json!({"title": "T", "annotations": {"title": "H", "readOnlyHint": true}}));
        let hints = tool(json!({"annotations": {"title": "H", "readOnlyHint": true}}));
        assert_eq!(told::<Tool>(&both, Revision::V2025_03_26), hints);
    }

    #[test]
    fn an_output_schema_is_only_sent_where_output_is_structured() {
        let object = tool(json!({"outputSchema": {"type": "object"}}));
        assert_eq!(told::<Tool>(&object, Revision::V2025_06_18), object);
        assert_eq!(
            told::<Tool>(&object, Revision::V2025_03_26),
            tool(json!({}))
        );
        let list = tool(json!({"outputSchema": {"type": "array"}}));
        assert_eq!(told::<Tool>(&list, Revision::NEWEST), list);
        assert_eq!(
            told::<Tool>(&list, Revision::V2025_11_25)["outputSchema"],
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
        let told_parts = json!({"anyOf": [{"type": "object"}], "properties": {"any": {}},
            "type": "object"});
        for (output, told_output) in [(&schema, &spelled), (&parts, &told_parts)] {
            let mut tool = tool(json!({"outputSchema": output}));
            tool["inputSchema"] = schema.clone();
            assert_eq!(told::<Tool>(&tool, Revision::NEWEST), tool);
            for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
                let told = told::<Tool>(&tool, revision);
                assert_eq!(told["inputSchema"], spelled, "{revision}");
                assert_eq!(told["outputSchema"], *told_output, "{revision}");
            }
            for revision in [Revision::V2024_11_05, Revision::V2025_03_26] {
                assert_eq!(told::<Tool>(&tool, revision)["inputSchema"], spelled);
            }
        }
    }

    #[test]
    fn structured_output_is_never_lost() {
        let result = |value: Value| json!({"content": [], "structuredContent": value});
        let wrapped = |value: Value| {
            json!({"content": [], "structuredContent": {"result": value},
                "_meta": {WRAPPED_MARK: true}})
        };
        let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
        let object = result(json!({"a": 1}));
        for revision in [
            Revision::V2025_06_18,
            Revision::V2025_11_25,
            Revision::NEWEST,
        ] {
            assert_eq!(told::<CallToolResult>(&object, revision), object);
        }
        assert_eq!(
            told::<CallToolResult>(&object, Revision::V2025_03_26),
            text(r#"{"a":1}"#)
        );
        for value in [json!([1]), json!("s"), json!(1), json!(null)] {
            let any = result(value.clone());
            assert_eq!(told::<CallToolResult>(&any, Revision::NEWEST), any);
            assert_eq!(
                told::<CallToolResult>(&any, Revision::V2025_11_25),
                wrapped(value.clone())
            );
            let told = told::<CallToolResult>(&any, Revision::V2024_11_05);
            assert_eq!(told, text(&value.to_string()));
        }
        let both = json!({"content": [{"type": "text", "text": "t"}], "structuredContent": [1]});
        assert_eq!(
            told::<CallToolResult>(&both, Revision::V2024_11_05),
            text("t")
        );
    }

    #[test]
    fn only_what_is_marked_is_restored() {
        let any = json!({"content": [], "structuredContent": [1], "_meta": {"a": 1}});
        let mut result: CallToolResult =
            decoded(&told::<CallToolResult>(&any, Revision::V2025_11_25));
        result.restore();
        assert_eq!(result, decoded(&any));

        for own in [
            json!({"content": [], "structuredContent": {"result": 1}}),
            json!({"content": [], "structuredContent": {"result": 1, "more": 2},
                "_meta": {WRAPPED_MARK: true}}),
            json!({"content": [], "_meta": {WRAPPED_MARK: true}}),
        ] {
            let mut result: CallToolResult = decoded(&own);
            result.restore();
            assert_eq!(result, decoded(&own));
        }
    }
}
