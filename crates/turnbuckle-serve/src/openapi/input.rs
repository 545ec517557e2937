//! The input schema of a tool: parameters and body as one flat object.

use std::collections::HashSet;

use http::{HeaderName, HeaderValue, header};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Value, json};

use super::document::Document;
use super::media_type::{essence, is_json};
use super::operation::{Body, BodyForm, Parameter, ParameterLocation, Style};
use super::options::Options;
use super::schema::{Converter, Writer, shorten_text};

/// The characters of the description of a parameter.
const MAX_DESCRIPTION_CHARS: usize = 2_000;

/// The headers that no argument sets: they belong to the connection, to the login, or to this program.
const RESERVED_HEADERS: [HeaderName; 13] = [
    header::ACCEPT,
    header::AUTHORIZATION,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::COOKIE,
    header::EXPECT,
    header::HOST,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::USER_AGENT,
];

/// The input schema of a tool while it is made: one flat object.
pub(super) struct Input<'d> {
    document: &'d Document,
    converter: Converter<'d>,
    properties: Vec<(String, Value)>,
    names: HashSet<String>,
    required: Vec<String>,
}

impl<'d> Input<'d> {
    pub(super) fn new(document: &'d Document) -> Self {
        Self {
            document,
            converter: Converter::new(document, Writer::Client),
            properties: Vec::new(),
            names: HashSet::new(),
            required: Vec::new(),
        }
    }

    /// Returns the reason why the arguments cannot be known, if their schemas stand in another document.
    pub(super) fn check_references(&self) -> Result<(), String> {
        self.converter.missing.clone().map_or(Ok(()), Err)
    }

    /// Adds an argument and returns its name. An argument of that name gets its place in front.
    fn add(&mut self, name: &str, place: &str, schema: Value, is_required: bool) -> String {
        let mut argument = name.to_owned();
        if self.names.contains(&argument) {
            argument = format!("{place}_{name}");
        }
        let mut number = 2;
        while !self.names.insert(argument.clone()) {
            argument = format!("{place}_{name}_{number}");
            number += 1;
        }
        if is_required {
            self.required.push(argument.clone());
        }
        self.properties.push((argument.clone(), schema));
        argument
    }

    /// Adds a parameter; `None` if no argument sets it.
    pub(super) fn add_parameter(
        &mut self,
        value: &'d Value,
        options: &Options,
    ) -> Result<Option<Parameter>, String> {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let name = text("name").ok_or("a parameter has no name")?;
        let place_name = text("in").unwrap_or_default();
        let (place, default_style) = match place_name {
            "path" => (ParameterLocation::Path, "simple"),
            "query" => (ParameterLocation::Query, "form"),
            "header" => (ParameterLocation::Header, "simple"),
            "cookie" => (ParameterLocation::Cookie, "form"),
            _ => return Err(format!("the parameter {name:?} is in no known place")),
        };
        let is_set_here = options.credentials.iter().any(|one| one.sets(place, name));
        let is_reserved = || {
            RESERVED_HEADERS
                .iter()
                .any(|one| name.eq_ignore_ascii_case(one.as_str()))
        };
        if is_set_here || place == ParameterLocation::Header && is_reserved() {
            return Ok(None);
        }
        if place == ParameterLocation::Header && HeaderName::from_bytes(name.as_bytes()).is_err() {
            return Err(format!("the parameter {name:?} is no name of a header"));
        }
        let style = match text("style").unwrap_or(default_style) {
            _ if value.get("content").is_some() => Style::Json,
            "simple" => Style::Simple,
            "form" => Style::Form,
            "spaceDelimited" => Style::SpaceDelimited,
            "pipeDelimited" => Style::PipeDelimited,
            "deepObject" => Style::DeepObject,
            style => return Err(format!("the parameter {name:?} has the style {style:?}")),
        };
        let fits = match place {
            ParameterLocation::Path | ParameterLocation::Header => {
                matches!(style, Style::Simple | Style::Json)
            }
            ParameterLocation::Query => style != Style::Simple,
            ParameterLocation::Cookie => matches!(style, Style::Form | Style::Json),
            ParameterLocation::Form => false,
        };
        if !fits {
            return Err(format!(
                "the parameter {name:?} has a style of another place"
            ));
        }
        let is_true = |name: &str| value.get(name).and_then(Value::as_bool);
        let is_required = place == ParameterLocation::Path || is_true("required") == Some(true);
        let content = || {
            value
                .get("content")?
                .as_object()?
                .values()
                .next()?
                .get("schema")
        };
        let schema = value.get("schema").or_else(content);
        let mut converted =
            schema.map_or_else(|| json!({}), |schema| self.converter.convert(schema));
        if let (Some(text), Value::Object(fields)) = (text("description"), &mut converted) {
            let text = shorten_text(text, MAX_DESCRIPTION_CHARS);
            fields.insert("description".to_owned(), text.into());
        }
        Ok(Some(Parameter {
            name: name.to_owned(),
            argument: self.add(name, place_name, converted, is_required),
            place,
            style,
            explode: is_true("explode").unwrap_or(style == Style::Form),
        }))
    }

    pub(super) fn add_body(&mut self, body: &'d Value) -> Result<Body, String> {
        let body = self.document.resolve(body)?;
        let is_required = body.get("required").and_then(Value::as_bool) == Some(true);
        let content = body.get("content").and_then(Value::as_object);
        let content = content.ok_or("its body has no media type")?;
        let find = |fits: fn(&str) -> bool| content.iter().find(|(name, _)| fits(name));
        let is_form = |name: &str| essence(name) == "application/x-www-form-urlencoded";
        let is_text = |name: &str| name.starts_with("text/") && !is_json(name);
        let found = find(is_json)
            .or_else(|| find(is_form))
            .or_else(|| find(is_text));
        let Some((media_type, value)) = found else {
            return Err("its body has no media type of JSON, text or a form".to_owned());
        };
        let schema = value.get("schema").unwrap_or(&Value::Null);
        let form = if is_text(media_type) {
            let argument = self.add("body", "request", json!({"type": "string"}), is_required);
            BodyForm::Text(argument)
        } else if let Some(properties) = self.converter.properties(schema) {
            let (mut members, mut fields) = (Vec::new(), Vec::new());
            for property in properties {
                let converted = self.converter.convert(property.schema);
                let is_required = is_required && property.is_required;
                let argument = self.add(property.name, "body", converted, is_required);
                if is_form(media_type) {
                    let encoding = value.get("encoding").and_then(|all| all.get(property.name));
                    fields.push(form_field(property.name, argument, encoding)?);
                } else {
                    members.push((property.name.to_owned(), argument));
                }
            }
            match is_form(media_type) {
                true => BodyForm::FormFields(fields),
                false => BodyForm::JsonMembers(members),
            }
        } else if is_form(media_type) {
            return Err("its body is a form without fields".to_owned());
        } else {
            let converted = self.converter.convert(schema);
            BodyForm::Json(self.add("body", "request", converted, is_required))
        };
        // A range like `*/*` says that any type will do.
        let is_exact = !media_type.contains('*') && HeaderValue::from_str(media_type).is_ok();
        Ok(Body {
            media_type: match is_exact {
                true => media_type.clone(),
                false => "application/json".to_owned(),
            },
            form,
            is_required,
        })
    }
}

/// Returns a field of a form as its encoding says. Without a style, a field has a media type: that of an object is JSON.
fn form_field(name: &str, argument: String, encoding: Option<&Value>) -> Result<Parameter, String> {
    let get = |key: &str| encoding.and_then(|encoding| encoding.get(key));
    let has_style = ["style", "explode", "allowReserved"]
        .iter()
        .any(|key| get(key).is_some());
    let media_type = get("contentType").and_then(Value::as_str);
    let style = match (get("style").and_then(Value::as_str), media_type) {
        (Some("spaceDelimited"), _) => Style::SpaceDelimited,
        (Some("pipeDelimited"), _) => Style::PipeDelimited,
        (Some("deepObject"), _) => Style::DeepObject,
        (Some("form"), _) => Style::Form,
        (Some(style), _) => return Err(format!("the field {name:?} has the style {style:?}")),
        (None, _) if has_style => Style::Form,
        (None, None) => Style::FormField,
        (None, Some(media_type)) if is_json(media_type) => Style::Json,
        (None, Some(media_type)) if essence(media_type) == "text/plain" => Style::FormField,
        (None, Some(media_type)) => {
            return Err(format!(
                "the field {name:?} has the media type {media_type:?}"
            ));
        }
    };
    let is_form = matches!(style, Style::Form | Style::FormField);
    Ok(Parameter {
        name: name.to_owned(),
        argument,
        place: ParameterLocation::Form,
        style,
        explode: get("explode").and_then(Value::as_bool).unwrap_or(is_form),
    })
}

impl Serialize for Input<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// The properties in the order of the document.
        struct Properties<'a>(&'a [(String, Value)]);

        impl Serialize for Properties<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter().map(|(name, schema)| (name, schema)))
            }
        }

        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "object")?;
        map.serialize_entry("properties", &Properties(&self.properties))?;
        if !self.required.is_empty() {
            map.serialize_entry("required", &self.required)?;
        }
        map.serialize_entry("additionalProperties", &false)?;
        map.end()
    }
}
