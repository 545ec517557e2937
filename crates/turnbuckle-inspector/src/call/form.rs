//! Forms of JSON Schemas. The schema is read as it was sent: the order of its members and its numbers
//! stay.

use crate::api::{Choice, DateKind, Field, FieldKind, Form, TextRules, ValueKind, Variant};
use crate::values::string::char_boundary;
use crate::values::{Document, Value};

/// The most fields of a form, those inside of others included.
const MAX_FIELDS: usize = 2_000;

/// The most schemas around a field.
const MAX_DEPTH: usize = 16;

/// The most choices of a field.
const MAX_CHOICES: usize = 1_000;

/// The most bytes of a text of the schema.
const MAX_TEXT_BYTES: usize = 2_000;

/// The most bytes of texts of one form, beside those of its last field.
const MAX_FORM_BYTES: usize = 512 * 1024;

/// The most members of schemas that are looked at for one form: a small schema can refer to a large one
/// from each of its fields.
const MAX_WORK: usize = 50_000;

/// The keywords by which the schema of an object is known without its type.
const OBJECT_KEYWORDS: [&str; 3] = ["properties", "required", "additionalProperties"];

/// Makes the form of an object's schema.
pub(super) fn make_form(schema: &Document) -> Form {
    let mut form = Form {
        fields: Vec::new(),
        has_other_members: true,
        left_out: Vec::new(),
        initial: "{}".to_owned(),
    };
    let Some(root) = schema.root() else {
        return form;
    };
    let mut reader = SchemaReader {
        root,
        fields: 0,
        work: 0,
        bytes: 0,
        left_out: &mut form.left_out,
    };
    let parts = reader.resolve(root);
    form.fields = reader.members(&parts, 0);
    form.has_other_members = has_other_members(&parts);
    for keyword in [
        "if",
        "not",
        "dependentRequired",
        "dependentSchemas",
        "patternProperties",
    ] {
        if parts.member(keyword).is_some() {
            form.left_out
                .push(format!("the form does not show the keyword `{keyword}`"));
        }
    }
    form.initial = initial_object(&form.fields);
    form
}

/// Returns the object with the defaults of the required fields.
fn initial_object(fields: &[Field]) -> String {
    let mut text = String::from("{");
    for field in fields.iter().filter(|field| field.required) {
        let value = match (&field.default, &field.kind) {
            (Some(default), _) => default.clone(),
            (None, FieldKind::Object { fields, .. }) => initial_object(fields),
            (None, _) => continue,
        };
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&serde_json::Value::from(&*field.name).to_string());
        text.push(':');
        text.push_str(&value);
    }
    text.push('}');
    text
}

/// A schema with the schemas that its references and its `allOf` add.
struct SchemaParts<'d>(Vec<Value<'d>>);

impl<'d> SchemaParts<'d> {
    /// Returns a keyword of the first part that has it.
    fn member(&self, name: &str) -> Option<Value<'d>> {
        self.0.iter().find_map(|part| part.member(name))
    }

    fn text(&self, name: &str) -> Option<String> {
        text_of(self.member(name)?)
    }

    fn raw(&self, name: &str) -> Option<String> {
        Some(cut(self.member(name)?.raw_text()))
    }

    fn number(&self, name: &str) -> Option<String> {
        let value = self.member(name)?;
        (value.kind() == ValueKind::Number).then(|| cut(value.raw_text()))
    }

    fn count(&self, name: &str) -> Option<u64> {
        self.number(name)?.parse().ok()
    }

    fn is_true(&self, name: &str) -> bool {
        self.member(name).and_then(|value| value.as_bool()) == Some(true)
    }
}

struct SchemaReader<'d, 'f> {
    root: Value<'d>,
    /// The number of fields so far.
    fields: usize,
    /// The number of members of schemas that were looked at.
    work: usize,
    /// The bytes of the texts of the fields so far.
    bytes: usize,
    left_out: &'f mut Vec<String>,
}

impl<'d> SchemaReader<'d, '_> {
    fn is_full(&self) -> bool {
        self.fields >= MAX_FIELDS || self.work > MAX_WORK || self.bytes > MAX_FORM_BYTES
    }

    /// Returns a schema with what its references and its `allOf` add.
    fn resolve(&mut self, schema: Value<'d>) -> SchemaParts<'d> {
        let mut parts = Vec::new();
        let mut open = vec![schema];
        while let Some(schema) = open.pop() {
            if parts.len() == MAX_DEPTH {
                break;
            }
            parts.push(schema);
            self.work += schema.len() + 1;
            if let Some(all) = schema.member("allOf") {
                let mut schemas: Vec<_> = all.children().take(MAX_DEPTH).collect();
                schemas.reverse();
                open.extend(schemas);
            }
            let reference = schema
                .member("$ref")
                .and_then(|reference| reference.as_str());
            open.extend(reference.and_then(|reference| self.look_up(&reference)));
        }
        SchemaParts(parts)
    }

    /// Returns the schema of a reference inside the document, such as `#/$defs/a`.
    fn look_up(&mut self, reference: &str) -> Option<Value<'d>> {
        let pointer = reference.strip_prefix('#')?;
        let mut value = self.root;
        for step in pointer.split('/').skip(1) {
            self.work += value.len();
            if self.work > MAX_WORK {
                return None;
            }
            let name = step.replace("~1", "/").replace("~0", "~");
            value = match value.kind() {
                ValueKind::Array => value.child(name.parse().ok()?)?,
                _ => value.member(&name)?,
            };
        }
        Some(value)
    }

    /// Returns the fields of an object's members.
    fn members(&mut self, parts: &SchemaParts<'d>, depth: usize) -> Vec<Field> {
        let mut required = std::collections::HashSet::new();
        for part in &parts.0 {
            let names = part
                .member("required")
                .into_iter()
                .flat_map(|names| names.children());
            required.extend(names.take(MAX_FIELDS).filter_map(|name| name.as_str()));
        }
        let mut fields: Vec<Field> = Vec::new();
        for part in &parts.0 {
            for property in part
                .member("properties")
                .into_iter()
                .flat_map(|it| it.children())
            {
                let name = property.key().unwrap_or_default();
                if self.is_full() {
                    let sentence = format!(
                        "the schema is too large: a form has at most {MAX_FIELDS} fields and \
                         {MAX_FORM_BYTES} bytes of text"
                    );
                    if !self.left_out.contains(&sentence) {
                        self.left_out.push(sentence);
                    }
                    return fields;
                }
                if fields.iter().any(|field| field.name == name) {
                    continue;
                }
                let mut field = self.field(property, depth + 1);
                field.required = required.contains(&name);
                field.name = cut(name);
                fields.push(field);
            }
        }
        fields
    }

    fn field(&mut self, schema: Value<'d>, depth: usize) -> Field {
        self.fields += 1;
        let parts = self.resolve(schema);
        let (kind, nullable) = self.kind(&parts, depth);
        if let FieldKind::Choice { choices } = &kind {
            let texts = choices.iter().map(|it| it.value.len() + it.title.len());
            self.bytes += texts.sum::<usize>();
        }
        let examples = parts
            .member("examples")
            .into_iter()
            .flat_map(|it| it.children());
        let examples = examples.take(10).map(|example| cut(example.raw_text()));
        let field = Field {
            name: String::new(),
            title: parts.text("title"),
            help: parts.text("description"),
            required: false,
            default: parts.raw("default"),
            examples: examples.collect(),
            nullable,
            header: parts.text("x-mcp-header"),
            kind,
        };
        let texts = [&field.title, &field.help, &field.default, &field.header];
        let texts = texts.into_iter().flatten().chain(&field.examples);
        self.bytes += texts.map(String::len).sum::<usize>();
        field
    }

    /// Returns the kind of a field, and whether its value may be null.
    fn kind(&mut self, parts: &SchemaParts<'d>, depth: usize) -> (FieldKind, bool) {
        if depth > MAX_DEPTH || self.is_full() {
            return (FieldKind::Raw, false);
        }
        if let Some(value) = parts.member("const") {
            let choices = vec![choice(value, None)];
            return (FieldKind::Choice { choices }, false);
        }
        if let Some(values) = parts.member("enum") {
            return choices_of(values, parts.member("enumNames"));
        }
        for keyword in ["oneOf", "anyOf"] {
            let alternatives = parts
                .member(keyword)
                .map(|it| it.children().take(MAX_CHOICES));
            let alternatives: Vec<_> = alternatives.into_iter().flatten().collect();
            if let Some(found) = self.alternatives(&alternatives, depth) {
                return found;
            }
        }
        let mut types = types_of(parts);
        let nullable = types.len() > 1 && types.iter().any(|name| name == "null");
        types.retain(|name| !nullable || name != "null");
        match &types[..] {
            [] => (self.kind_of_type(inferred_type(parts), parts, depth), false),
            [name] => (self.kind_of_type(name, parts, depth), nullable),
            several => {
                let variants = several.iter().take(MAX_DEPTH).map(|name| Variant {
                    title: name.clone(),
                    field: plain_field(self.kind_of_type(name, parts, depth)),
                });
                let variants = variants.collect();
                (FieldKind::Union { variants }, nullable)
            }
        }
    }

    /// Returns the kind of a field with alternatives: a choice, if each is a constant, or a union. `None`
    /// for alternatives that only demand members.
    fn alternatives(&mut self, schemas: &[Value<'d>], depth: usize) -> Option<(FieldKind, bool)> {
        if schemas.is_empty() {
            return None;
        }
        let constants = schemas
            .iter()
            .map(|schema| schema.member("const").map(|it| (it, *schema)));
        if let Some(constants) = constants.collect::<Option<Vec<_>>>() {
            let choices = constants
                .into_iter()
                .map(|(value, schema)| choice(value, schema.member("title").and_then(text_of)));
            let choices = choices.collect();
            return Some((FieldKind::Choice { choices }, false));
        }
        let resolved: Vec<_> = schemas.iter().map(|schema| self.resolve(*schema)).collect();
        let has_kind = |parts: &SchemaParts<'_>| {
            let keywords = [
                "type",
                "enum",
                "const",
                "properties",
                "items",
                "oneOf",
                "anyOf",
            ];
            keywords
                .iter()
                .any(|keyword| parts.member(keyword).is_some())
        };
        if !resolved.iter().all(has_kind) {
            return None;
        }
        let is_null = |parts: &SchemaParts<'_>| types_of(parts) == ["null"];
        let nullable = resolved.iter().any(is_null);
        let others: Vec<_> = schemas
            .iter()
            .zip(&resolved)
            .filter(|(_, parts)| !is_null(parts))
            .collect();
        if let [(schema, _)] = &others[..] {
            return Some((self.field(**schema, depth + 1).kind, nullable));
        }
        let mut variants = Vec::new();
        for (number, (schema, parts)) in others.into_iter().enumerate().take(MAX_FIELDS) {
            if self.is_full() {
                break;
            }
            let type_name = types_of(parts).into_iter().next();
            let title = parts.text("title").or(type_name);
            variants.push(Variant {
                title: title.unwrap_or_else(|| (number + 1).to_string()),
                field: self.field(*schema, depth + 1),
            });
        }
        Some((FieldKind::Union { variants }, nullable))
    }

    fn kind_of_type(&mut self, name: &str, parts: &SchemaParts<'d>, depth: usize) -> FieldKind {
        let bound = |plain: &str, exclusive: &str| parts.number(plain).or(parts.number(exclusive));
        match name {
            "string" => text_kind(parts),
            "boolean" => FieldKind::Boolean,
            "number" => FieldKind::Number {
                minimum: bound("minimum", "exclusiveMinimum"),
                maximum: bound("maximum", "exclusiveMaximum"),
                step: parts.number("multipleOf"),
            },
            "integer" => FieldKind::Integer {
                minimum: bound("minimum", "exclusiveMinimum"),
                maximum: bound("maximum", "exclusiveMaximum"),
                step: parts.number("multipleOf"),
            },
            "array" if parts.member("prefixItems").is_none() => {
                let item = parts
                    .member("items")
                    .filter(|items| items.kind() == ValueKind::Object);
                FieldKind::List {
                    item: Box::new(match item {
                        Some(item) => self.field(item, depth + 1),
                        None => plain_field(FieldKind::Raw),
                    }),
                    minimum: parts.count("minItems"),
                    maximum: parts.count("maxItems"),
                    unique: parts.is_true("uniqueItems"),
                }
            }
            "object" if parts.member("properties").is_some() => FieldKind::Object {
                fields: self.members(parts, depth),
                has_other_members: has_other_members(parts),
            },
            _ => FieldKind::Raw,
        }
    }
}

fn text_kind(parts: &SchemaParts<'_>) -> FieldKind {
    let format = parts.text("format");
    let date = |date| FieldKind::Date { date };
    match format.as_deref() {
        Some("date") => return date(DateKind::Date),
        Some("time") => return date(DateKind::Time),
        Some("date-time") => return date(DateKind::DateTime),
        _ => {}
    }
    let encoding = parts.text("contentEncoding");
    if encoding.as_deref() == Some("base64") || matches!(format.as_deref(), Some("byte" | "binary"))
    {
        let media_type = parts.text("contentMediaType");
        return FieldKind::File { media_type };
    }
    FieldKind::Text {
        rules: TextRules {
            min_characters: parts.count("minLength"),
            max_characters: parts.count("maxLength"),
            pattern: parts.text("pattern"),
            secret: format.as_deref() == Some("password") || parts.is_true("writeOnly"),
            format,
        },
    }
}

fn choices_of(values: Value<'_>, names: Option<Value<'_>>) -> (FieldKind, bool) {
    let names: Vec<_> = names
        .into_iter()
        .flat_map(|it| it.children())
        .take(MAX_CHOICES)
        .collect();
    let values = values.children().take(MAX_CHOICES).enumerate();
    let choices = values.map(|(at, value)| choice(value, names.get(at).copied().and_then(text_of)));
    let choices: Vec<_> = choices.collect();
    let nullable = choices.iter().any(|choice| choice.value == "null");
    (FieldKind::Choice { choices }, nullable)
}

fn choice(value: Value<'_>, title: Option<String>) -> Choice {
    let text = text_of(value);
    let value = cut(value.raw_text());
    Choice {
        title: title.or(text).unwrap_or_else(|| value.clone()),
        value,
    }
}

fn plain_field(kind: FieldKind) -> Field {
    Field {
        name: String::new(),
        title: None,
        help: None,
        required: false,
        default: None,
        examples: Vec::new(),
        nullable: false,
        header: None,
        kind,
    }
}

fn has_other_members(parts: &SchemaParts<'_>) -> bool {
    parts
        .member("additionalProperties")
        .and_then(|value| value.as_bool())
        != Some(false)
}

fn types_of(parts: &SchemaParts<'_>) -> Vec<String> {
    let Some(value) = parts.member("type") else {
        return Vec::new();
    };
    match value.as_str() {
        Some(name) => vec![name],
        None => value
            .children()
            .take(MAX_DEPTH)
            .filter_map(|name| name.as_str())
            .collect(),
    }
}

fn inferred_type(parts: &SchemaParts<'_>) -> &'static str {
    let has = |keyword: &&str| parts.member(keyword).is_some();
    if OBJECT_KEYWORDS.iter().any(has) {
        "object"
    } else if has(&"items") {
        "array"
    } else if ["minLength", "maxLength", "pattern", "format"]
        .iter()
        .any(has)
    {
        "string"
    } else {
        ""
    }
}

fn text_of(value: Value<'_>) -> Option<String> {
    value.as_str().map(cut)
}

fn cut(mut text: String) -> String {
    text.truncate(char_boundary(text.as_bytes(), MAX_TEXT_BYTES));
    text
}
