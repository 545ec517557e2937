//! What a user is asked.

use turnbuckle_types::{
    BooleanSchema, ClientCapabilities, ElicitFormParams, ElicitParams, ElicitResult,
    ElicitUrlParams, ElicitationCapability, ElicitationCompleteParams, ElicitationSchema, Error,
    InputRequest, InputRequired, LegacyEnumSchema, NumberSchema, PrimitiveSchema, Settings,
    SingleSelectSchema, StringSchema,
};

use super::{Project, members};
use crate::revision::Features;

members! {
    ElicitResult { meta within, extra within }
    ElicitationCompleteParams { meta within }
    ElicitFormParams { requested_schema within, mode since elicitation_url, meta within }
    ElicitUrlParams { elicitation_id since elicitation_id, meta within }
    ElicitationSchema { dialect since elicitation_url, properties within }
    StringSchema { default since elicitation_url }
    NumberSchema { default since elicitation_url }
    BooleanSchema {}
    LegacyEnumSchema { default since elicitation_url }
    SingleSelectSchema { default since elicitation_url }
    InputRequired { input_requests within, meta within }
}

impl Project for ElicitParams {
    fn fits(&self, features: &Features) -> bool {
        match self {
            Self::Form(form) => form.fits(features),
            Self::Url(url) => url.fits(features),
            _ => true,
        }
    }

    fn project(&mut self, features: &Features) {
        match self {
            Self::Form(form) => form.project(features),
            Self::Url(url) => url.project(features),
            _ => {}
        }
    }

    fn expressible(&self, features: &Features) -> Result<(), Error> {
        match self {
            Self::Form(_) if !features.elicitation => Err(missing_form("forms")),
            Self::Form(form) if !features.elicitation_url => {
                let several =
                    |field: &PrimitiveSchema| matches!(field, PrimitiveSchema::MultiSelect(_));
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

fn missing_form(what: &str) -> Error {
    missing(ElicitationCapability::new().form(Settings::new()), what)
}

fn missing(modes: ElicitationCapability, what: &str) -> Error {
    let needed = ClientCapabilities::new().elicitation(modes);
    Error::missing_capability(
        needed,
        format!("the client's revision cannot ask for {what}"),
    )
}

impl Project for PrimitiveSchema {
    fn fits(&self, features: &Features) -> bool {
        match self {
            Self::String(field) => field.fits(features),
            Self::Number(field) => field.fits(features),
            Self::Boolean(field) => field.fits(features),
            Self::LegacyEnum(field) => field.fits(features),
            Self::SingleSelect(field) => {
                (features.elicitation_url || field.one_of.is_none()) && field.fits(features)
            }
            // Several values have no older form, which `expressible` says.
            _ => true,
        }
    }

    fn project(&mut self, features: &Features) {
        if let Self::SingleSelect(field) = self
            && !features.elicitation_url
            && field.one_of.is_some()
        {
            *self = Self::LegacyEnum(named(field));
        }
        match self {
            Self::String(field) => field.project(features),
            Self::Number(field) => field.project(features),
            Self::Boolean(field) => field.project(features),
            Self::LegacyEnum(field) => field.project(features),
            Self::SingleSelect(field) => field.project(features),
            _ => {}
        }
    }
}

/// A choice of one titled value, as its values and their names in two lists.
fn named(field: &mut SingleSelectSchema) -> LegacyEnumSchema {
    let choices = field.one_of.take().unwrap_or_default();
    let mut named = LegacyEnumSchema::titled(
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

impl Project for InputRequest {
    fn fits(&self, features: &Features) -> bool {
        match self {
            Self::Elicit(params) => params.fits(features),
            Self::CreateMessage(params) => params.fits(features),
            Self::ListRoots(params) => params.fits(features),
            _ => true,
        }
    }

    fn project(&mut self, features: &Features) {
        match self {
            Self::Elicit(params) => params.project(features),
            Self::CreateMessage(params) => params.project(features),
            Self::ListRoots(params) => params.project(features),
            _ => {}
        }
    }

    fn expressible(&self, features: &Features) -> Result<(), Error> {
        match self {
            Self::Elicit(params) => params.expressible(features),
            Self::CreateMessage(params) => params.expressible(features),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use turnbuckle_types::ErrorKind;

    use super::*;
    use crate::era::project::tests::{decoded, told};
    use crate::revision::Revision;

    fn form(field: Value) -> Value {
        json!({"message": "m", "requestedSchema": {"type": "object", "properties": {"f": field}}})
    }

    fn field(field: Value, revision: Revision) -> Value {
        told::<ElicitParams>(&form(field), revision)["requestedSchema"]["properties"]["f"].take()
    }

    #[test]
    fn titled_choices_become_values_and_names() {
        let titled = json!({"type": "string", "title": "T", "description": "d", "default": "x",
            "oneOf": [{"const": "x", "title": "X"}, {"const": "y", "title": "Y"}], "z": 1});
        assert_eq!(field(titled.clone(), Revision::V2025_11_25), titled);
        assert_eq!(
            field(titled, Revision::V2025_06_18),
            json!({"type": "string", "title": "T", "description": "d", "enum": ["x", "y"],
                "enumNames": ["X", "Y"], "z": 1})
        );
    }

    #[test]
    fn defaults_go_but_for_booleans_and_all_else_stays() {
        for (mut schema, kept) in [
            (
                json!({"type": "string", "format": "uri", "default": "a"}),
                false,
            ),
            (
                json!({"type": "number", "minimum": 1.50, "default": 2}),
                false,
            ),
            (
                json!({"type": "string", "enum": ["a"], "default": "a"}),
                false,
            ),
            (
                json!({"type": "string", "enum": ["a"], "enumNames": ["A"], "default": "a"}),
                false,
            ),
            (json!({"type": "boolean", "default": true}), true),
        ] {
            assert_eq!(field(schema.clone(), Revision::V2025_11_25), schema);
            let older = field(schema.clone(), Revision::V2025_06_18);
            if !kept {
                schema.as_object_mut().unwrap().remove("default");
            }
            assert_eq!(older, schema);
        }
    }

    #[test]
    fn the_mode_and_the_id_are_named_where_they_exist() {
        let named = json!({"message": "m", "mode": "form",
            "requestedSchema": {"type": "object", "properties": {}}});
        assert_eq!(told::<ElicitParams>(&named, Revision::V2025_11_25), named);
        assert_eq!(
            told::<ElicitParams>(&named, Revision::V2025_06_18).get("mode"),
            None
        );
        let url = json!({"mode": "url", "message": "m", "url": "https://a", "elicitationId": "e"});
        assert_eq!(told::<ElicitParams>(&url, Revision::V2025_11_25), url);
        assert_eq!(
            told::<ElicitParams>(&url, Revision::NEWEST).get("elicitationId"),
            None
        );
    }

    #[test]
    fn what_cannot_be_asked_whole_is_a_missing_capability() {
        let missing = |params: &Value, revision: Revision| {
            let error = decoded::<ElicitParams>(params)
                .expressible(revision.features())
                .err()?;
            match error.kind() {
                ErrorKind::MissingCapability(needed) => Some(serde_json::to_value(needed).unwrap()),
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
        let ask = InputRequired::new().ask("a", decoded::<ElicitParams>(&several));
        assert!(
            ask.input_requests
                .expressible(Revision::V2025_06_18.features())
                .is_err()
        );
        assert!(
            ask.input_requests
                .expressible(Revision::NEWEST.features())
                .is_ok()
        );
    }
}
