//! Elicitation: questions to the user.

use turnbuckle_types::{
    BooleanSchema, ClientCapabilities, ElicitRequestFormParams, ElicitRequestParams,
    ElicitRequestUrlParams, ElicitResult, ElicitationCapability,
    ElicitationCompleteNotificationParams, ElicitationSchema, InputRequest, InputRequiredResult,
    LegacyTitledEnumSchema, MultiSelectEnumSchema, MultiSelectItems, NumberSchema,
    PrimitiveSchemaDefinition, ProtocolError, Settings, SingleSelectEnumSchema, StringSchema,
    TitledChoice,
};

use super::rules::{project_objects, project_unions};
use super::{message_meta, result_extra};
use crate::revision::Features;

project_objects! {
    ElicitResult { action, content, meta by message_meta, extra by result_extra }
    ElicitationCompleteNotificationParams { elicitation_id, meta by message_meta, extra }
    ElicitRequestFormParams {
        message, requested_schema, mode since elicitation_url, task since core_tasks, meta by message_meta, extra,
    }
    ElicitRequestUrlParams {
        message, url, elicitation_id since elicitation_id + required, task since core_tasks, meta by message_meta, extra,
    }
    ElicitationSchema { dialect since elicitation_url, properties, required, extra }
    // The schema of 2025-06-18 lists `default` for booleans alone and forbids it nowhere.
    StringSchema {
        title, description, min_length, max_length, format, default + listed elicitation_url, extra,
    }
    NumberSchema {
        kind, title, description, minimum, maximum, default + listed elicitation_url, extra,
    }
    BooleanSchema { title, description, default, extra }
    LegacyTitledEnumSchema {
        values, names, title, description, default + listed elicitation_url, extra,
    }
    SingleSelectEnumSchema { title, description, values, one_of, default, extra }
    MultiSelectEnumSchema { items, title, description, min_items, max_items, default, extra }
    MultiSelectItems { kind, values, any_of, extra }
    TitledChoice { value, title, extra }
    InputRequiredResult {
        input_requests, request_state, meta by message_meta, extra by result_extra,
    }
}

project_unions! {
    ElicitRequestParams { Form, Url + listed elicitation_url } + impl {
    fn check_expressible(&self, features: &Features) -> Result<(), ProtocolError> {
        match self {
            Self::Form(_) if !features.elicitation => Err(missing_form("forms")),
            Self::Form(form) if !features.elicitation_url => {
                let several = |field: &PrimitiveSchemaDefinition| {
                    matches!(field, PrimitiveSchemaDefinition::MultiSelect(_))
                };
                match form.requested_schema.properties.values().any(several) {
                    true => Err(missing_form("forms with a choice of several values")),
                    false => Ok(()),
                }
            }
            Self::Url(_) if !features.elicitation_url => {
                let modes = ElicitationCapability::new().url(Settings::new());
                Err(missing(modes, "a visit to a URL"))
            }
            _ => Ok(()),
        }
    }
    }
    PrimitiveSchemaDefinition [needs_enum_names => use_enum_names] {
        // A choice of several values has no older form, which `check_expressible` reports.
        String, Number, Boolean, SingleSelect + listed elicitation_url,
        MultiSelect + listed elicitation_url, LegacyEnum,
    }
    InputRequest { Elicit, CreateMessage, ListRoots } + impl {
    fn check_expressible(&self, features: &Features) -> Result<(), ProtocolError> {
        match self {
            Self::Elicit(params) => params.check_expressible(features),
            Self::CreateMessage(params) => params.check_expressible(features),
            _ => Ok(()),
        }
    }
    }
}

fn missing_form(what: &str) -> ProtocolError {
    missing(ElicitationCapability::new().form(Settings::new()), what)
}

fn missing(modes: ElicitationCapability, what: &str) -> ProtocolError {
    let needed = ClientCapabilities::new().elicitation(modes);
    ProtocolError::missing_required_client_capability(
        needed,
        format!("the client's revision cannot ask for {what}"),
    )
}

/// Returns whether a choice has titles that the revision knows only in a list of their own.
fn needs_enum_names(field: &PrimitiveSchemaDefinition, features: &Features) -> bool {
    match field {
        PrimitiveSchemaDefinition::SingleSelect(field) => {
            !features.elicitation_url && field.one_of.is_some()
        }
        _ => false,
    }
}

fn use_enum_names(field: &mut PrimitiveSchemaDefinition, _: &Features) {
    if let PrimitiveSchemaDefinition::SingleSelect(choice) = field {
        *field = PrimitiveSchemaDefinition::LegacyEnum(with_enum_names(choice));
    }
}

/// Returns a choice of one titled value with the values and their titles in two lists.
fn with_enum_names(field: &mut SingleSelectEnumSchema) -> LegacyTitledEnumSchema {
    let choices = field.one_of.take().unwrap_or_default();
    let mut named = LegacyTitledEnumSchema::titled(
        choices
            .into_iter()
            .map(|choice| (choice.value, choice.title)),
    );
    named.title = field.title.take();
    named.description = field.description.take();
    named.default = field.default.take();
    named.extra = std::mem::take(&mut field.extra);
    named
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use turnbuckle_types::ErrorKind;

    use super::*;
    use crate::era::Project;
    use crate::era::project::tests::{decode, project_json};
    use crate::revision::Revision;

    fn form(field: Value) -> Value {
        json!({"message": "m", "requestedSchema": {"type": "object", "properties": {"f": field}}})
    }

    fn field(field: Value, revision: Revision) -> Value {
        project_json::<ElicitRequestParams>(&form(field), revision)["requestedSchema"]["properties"]
            ["f"]
            .take()
    }

    #[test]
    fn titled_choices_become_values_and_names() {
        let titled = json!({"type": "string", "title": "T", "description": "d", "default": "x",
            "oneOf": [{"const": "x", "title": "X"}, {"const": "y", "title": "Y"}], "z": 1});
        assert_eq!(field(titled.clone(), Revision::V2025_11_25), titled);
        assert_eq!(
            field(titled, Revision::V2025_06_18),
            json!({"type": "string", "title": "T", "description": "d", "default": "x",
                "enum": ["x", "y"], "enumNames": ["X", "Y"], "z": 1})
        );
    }

    #[test]
    fn every_client_that_has_forms_gets_their_defaults() {
        for schema in [
            json!({"type": "string", "format": "uri", "default": "a"}),
            json!({"type": "number", "minimum": 1.50, "default": 2}),
            json!({"type": "string", "enum": ["a"], "default": "a"}),
            json!({"type": "string", "enum": ["a"], "enumNames": ["A"], "default": "a"}),
            json!({"type": "boolean", "default": true}),
        ] {
            for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
                assert_eq!(field(schema.clone(), revision), schema, "{revision}");
            }
        }
    }

    #[test]
    fn the_mode_and_the_id_are_named_where_they_exist() {
        let named = json!({"message": "m", "mode": "form",
            "requestedSchema": {"type": "object", "properties": {}}});
        assert_eq!(
            project_json::<ElicitRequestParams>(&named, Revision::V2025_11_25),
            named
        );
        assert_eq!(
            project_json::<ElicitRequestParams>(&named, Revision::V2025_06_18).get("mode"),
            None
        );
        let url = json!({"mode": "url", "message": "m", "url": "https://a", "elicitationId": "e"});
        assert_eq!(
            project_json::<ElicitRequestParams>(&url, Revision::V2025_11_25),
            url
        );
        assert_eq!(
            project_json::<ElicitRequestParams>(&url, Revision::NEWEST).get("elicitationId"),
            None
        );
    }

    #[test]
    fn a_form_that_a_revision_cannot_express_is_a_missing_capability() {
        let missing = |params: &Value, revision: Revision| {
            let error = decode::<ElicitRequestParams>(params)
                .check_expressible(revision.features())
                .err()?;
            match error.kind() {
                ErrorKind::MissingRequiredClientCapability(needed) => {
                    Some(serde_json::to_value(needed).unwrap())
                }
                other => panic!("{other:?}"),
            }
        };
        let plain = form(json!({"type": "string"}));
        let several = form(json!({"type": "array", "items": {"type": "string", "enum": ["a"]}}));
        let url = json!({"mode": "url", "message": "m", "url": "https://a"});
        let needs_form = Some(json!({"elicitation": {"form": {}}}));
        let needs_url = Some(json!({"elicitation": {"url": {}}}));
        for (params, revision, expected) in [
            (&plain, Revision::V2025_03_26, needs_form.clone()),
            (&plain, Revision::V2025_06_18, None),
            (&several, Revision::V2025_06_18, needs_form),
            (&several, Revision::V2025_11_25, None),
            (&url, Revision::V2024_11_05, needs_url.clone()),
            (&url, Revision::V2025_06_18, needs_url),
            (&url, Revision::V2025_11_25, None),
            (&url, Revision::NEWEST, None),
        ] {
            assert_eq!(missing(params, revision), expected, "{revision}: {params}");
        }
        let ask = InputRequiredResult::new().ask("a", decode::<ElicitRequestParams>(&several));
        assert!(
            ask.input_requests
                .check_expressible(Revision::V2025_06_18.features())
                .is_err()
        );
        assert!(
            ask.input_requests
                .check_expressible(Revision::NEWEST.features())
                .is_ok()
        );
    }
}
