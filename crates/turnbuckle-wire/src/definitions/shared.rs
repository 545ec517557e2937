//! Definitions of what several types have in common, which are no types of the vocabulary.

use serde_json::json;
use turnbuckle_types::describe::{Describe, Shape};
use turnbuckle_types::{
    CallToolRequestParams, ListToolsResult, PaginatedRequestParams, PrimitiveSchemaDefinition,
    Prompt, SubscribeRequestParams, TextContent, TextResourceContents,
};

use super::builder::{Builder, any_of};
use super::envelope::frame;
use super::members::Members;
use super::names::is_draft_07;
use crate::revision::Features;

/// A definition that is a part of a type's fields.
struct Part {
    name: &'static str,
    /// Returns whether a revision has the definition.
    exists: fn(&Features) -> bool,
    /// A type that has the fields.
    shape: fn() -> Shape,
    fields: &'static [&'static str],
}

const PARTS: [Part; 9] = [
    Part {
        name: "Annotated",
        exists: |features| !features.tool_annotations,
        shape: TextContent::shape,
        fields: &["annotations"],
    },
    Part {
        name: "BaseMetadata",
        exists: |features| features.titles,
        shape: Prompt::shape,
        fields: &["name", "title"],
    },
    Part {
        name: "CacheableResult",
        exists: |features| features.result_envelope,
        shape: ListToolsResult::shape,
        fields: &["ttl_ms", "cache_scope", "meta"],
    },
    Part {
        name: "Icons",
        exists: |features| features.icons,
        shape: Prompt::shape,
        fields: &["icons"],
    },
    Part {
        name: "InputResponseRequestParams",
        exists: |features| features.result_envelope,
        shape: CallToolRequestParams::shape,
        fields: &["input_responses", "request_state", "meta"],
    },
    Part {
        name: "PaginatedResult",
        exists: |_| true,
        shape: ListToolsResult::shape,
        fields: &["next_cursor", "meta"],
    },
    Part {
        name: "ResourceContents",
        exists: |_| true,
        shape: TextResourceContents::shape,
        fields: &["uri", "mime_type", "meta"],
    },
    Part {
        name: "ResourceRequestParams",
        exists: |features| !is_draft_07(features),
        shape: SubscribeRequestParams::shape,
        fields: &["uri", "meta"],
    },
    Part {
        name: "TaskAugmentedRequestParams",
        exists: |features| features.core_tasks,
        shape: CallToolRequestParams::shape,
        fields: &["task", "meta"],
    },
];

/// Adds the definitions.
pub(super) fn define(builder: &mut Builder) {
    let features = builder.features;
    for part in PARTS.iter().filter(|part| (part.exists)(features)) {
        if let Shape::Struct(mut object) = (part.shape)() {
            object.tag = None;
            let has = |field: &str| part.fields.contains(&field);
            let schema = builder.members(&object, &has).into_schema();
            builder.define(part.name, schema);
        }
    }

    let params = PaginatedRequestParams::shape();
    let mut request = Members::default();
    request.add("method", json!({"type": "string"}), true);
    frame(&mut request, builder, true);
    request.add("params", builder.schema(&params), features.result_envelope);
    builder.define("PaginatedRequest", request.into_schema());

    if features.elicitation_url
        && let Shape::Union(fields) = PrimitiveSchemaDefinition::shape()
    {
        let is_choice = |name: &str| name.ends_with("Select") || name == "LegacyEnum";
        let choices = builder.variants(&fields, &is_choice);
        builder.define("EnumSchema", any_of(choices));
    }
}
