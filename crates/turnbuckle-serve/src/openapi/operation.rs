//! The operations of a document, and how the arguments of a tool become their requests.

use http::Method;
use serde_json::Value;
use turnbuckle::types::Schema;
use url::Url;

use super::document::Document;
use super::input::Input;
use super::left_out::LeftOut;
use super::media_type::is_json;
use super::options::Options;
use super::schema::{Converter, Writer, shorten_text};

/// The methods that operations can have.
const METHODS: [(&str, Method); 7] = [
    ("get", Method::GET),
    ("put", Method::PUT),
    ("post", Method::POST),
    ("delete", Method::DELETE),
    ("options", Method::OPTIONS),
    ("head", Method::HEAD),
    ("patch", Method::PATCH),
];

/// The parameters of one operation.
const MAX_PARAMETERS: usize = 100;

/// The characters of a tool's name: some clients refuse longer ones.
pub(super) const MAX_NAME_CHARS: usize = 64;

/// The characters of a tool's description.
const MAX_DESCRIPTION_CHARS: usize = 2_000;

/// An operation as a tool.
#[derive(Debug)]
pub(super) struct Operation {
    /// The name of the tool.
    pub(super) name: String,
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) description: String,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Body>,
    pub(super) input: Schema,
    pub(super) output: Option<Schema>,
}

/// An operation that has not been read, and the names that patterns can mean.
pub(super) struct Found<'d> {
    pub(super) method: Method,
    pub(super) path: &'d str,
    id: Option<&'d str>,
    value: &'d Value,
    /// The parameters and servers of all operations of the path.
    item: &'d Value,
}

/// A parameter, which an argument sets.
#[derive(Debug)]
pub(super) struct Parameter {
    /// The name in the request.
    pub(super) name: String,
    /// The name of the argument.
    pub(super) argument: String,
    pub(super) place: ParameterLocation,
    pub(super) style: Style,
    pub(super) explode: bool,
}

/// The part of a request that has a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterLocation {
    Path,
    Query,
    Header,
    Cookie,
    /// A body that is a form.
    Form,
}

/// The form of an array or an object in a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Values behind a comma each, without the name.
    Simple,
    /// `name=value`.
    Form,
    /// `name=value`, with the JSON text of an object as its value.
    FormField,
    SpaceDelimited,
    PipeDelimited,
    /// `name[member]=value`.
    DeepObject,
    /// The JSON text.
    Json,
}

/// The body of a request.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) media_type: String,
    pub(super) form: BodyForm,
    pub(super) is_required: bool,
}

/// The arguments that make a body.
#[derive(Debug)]
pub(super) enum BodyForm {
    /// One argument is the JSON value.
    Json(String),
    /// Arguments are the members of a JSON object: its names, and those of the arguments.
    JsonMembers(Vec<(String, String)>),
    /// Arguments are the fields of a form.
    FormFields(Vec<Parameter>),
    /// One argument is the text.
    Text(String),
}

/// Finds all operations of a document, by path. Paths that stand in another document are left out.
pub(super) fn find<'d>(document: &'d Document, left_out: &mut LeftOut) -> Vec<Found<'d>> {
    let mut all = Vec::new();
    let Some(Value::Object(paths)) = document.root().get("paths") else {
        return all;
    };
    for (path, item) in paths {
        let item = match document.resolve(item) {
            Ok(item) => item,
            Err(reason) => {
                left_out.add(path, &reason);
                continue;
            }
        };
        for (name, method) in METHODS {
            if let Some(value @ Value::Object(_)) = item.get(name) {
                all.push(Found {
                    method,
                    path,
                    id: value.get("operationId").and_then(Value::as_str),
                    value,
                    item,
                });
            }
        }
    }
    all
}

impl Found<'_> {
    /// Returns the name of the tool: the `operationId`, or the method and the path, in the characters that
    /// names can have.
    pub(super) fn tool_name(&self) -> String {
        let method = self.method.as_str().to_ascii_lowercase();
        let source = match self.id {
            Some(id) => id.to_owned(),
            None => format!("{method}{}", self.path),
        };
        let mut name = String::new();
        for char in source.chars() {
            match char {
                'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '.' => name.push(char),
                _ if name.ends_with('_') || name.is_empty() => {}
                _ => name.push('_'),
            }
            if name.len() == MAX_NAME_CHARS {
                break;
            }
        }
        let name = name.trim_end_matches('_');
        if name.is_empty() {
            method
        } else {
            name.to_owned()
        }
    }

    /// Returns the texts that patterns are compared with.
    pub(super) fn texts(&self, name: &str) -> [String; 3] {
        let id = self.id.unwrap_or_default().to_owned();
        [name.to_owned(), id, self.to_string()]
    }

    /// Reads the operation.
    ///
    /// # Errors
    /// When it needs what is not supported, such as a reference to another document.
    pub(super) fn read(
        &self,
        document: &Document,
        options: &Options,
        base: &Url,
        name: String,
    ) -> Result<Operation, String> {
        self.check_servers(options, base)?;
        let mut input = Input::new(document);
        let mut parameters = Vec::new();
        for value in self.parameters(document)? {
            if let Some(parameter) = input.add_parameter(value, options)? {
                parameters.push(parameter);
            }
        }
        for part in self.path.split('{').skip(1) {
            let variable = part.split('}').next().unwrap_or_default();
            let is_set =
                |one: &Parameter| one.place == ParameterLocation::Path && one.name == variable;
            if !parameters.iter().any(is_set) {
                return Err(format!(
                    "the variable {variable:?} of its path is no parameter"
                ));
            }
        }
        let body = match self.value.get("requestBody") {
            Some(body) => Some(input.add_body(body)?),
            None => None,
        };
        input.check_references()?;
        let schema = |error: serde_json::Error| error.to_string();
        Ok(Operation {
            name,
            method: self.method.clone(),
            path: self.path.to_owned(),
            description: self.description(),
            parameters,
            body,
            input: Schema::encode(&input).map_err(schema)?,
            output: Some(self)
                // Its response has no body.
                .filter(|it| it.method != Method::HEAD)
                .and_then(|it| output_schema(document, it.value))
                .map(|output| Schema::encode(&output))
                .transpose()
                .map_err(schema)?,
        })
    }

    /// Returns the parameters of the operation, and those of its path that it does not replace.
    fn parameters<'d>(&'d self, document: &'d Document) -> Result<Vec<&'d Value>, String> {
        let mut all: Vec<&Value> = Vec::new();
        let key = |value: &Value| (value.get("name").cloned(), value.get("in").cloned());
        for source in [self.value, self.item] {
            let list = source.get("parameters").and_then(Value::as_array);
            for value in list.into_iter().flatten() {
                let value = document.resolve(value)?;
                if !all.iter().any(|known| key(known) == key(value)) {
                    all.push(value);
                }
                if all.len() > MAX_PARAMETERS {
                    return Err(format!("it has more than {MAX_PARAMETERS} parameters"));
                }
            }
        }
        Ok(all)
    }

    /// Checks that the operation is on the server of the others, which is the one that gets the credentials.
    fn check_servers(&self, options: &Options, base: &Url) -> Result<(), String> {
        if options.server_url.is_some() {
            return Ok(());
        }
        for source in [self.value, self.item] {
            let Some(url) = source.pointer("/servers/0/url").and_then(Value::as_str) else {
                continue;
            };
            return match base.join(url) {
                Ok(url) if url == *base => Ok(()),
                _ => Err("it is on a server of its own".to_owned()),
            };
        }
        Ok(())
    }

    fn description(&self) -> String {
        let text = |name: &str| {
            self.value
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or("")
                .trim()
        };
        let mut parts = vec![text("summary")];
        if text("description") != text("summary") {
            parts.push(text("description"));
        }
        if self.value.get("deprecated") == Some(&Value::Bool(true)) {
            parts.push("Deprecated.");
        }
        let http = format!("HTTP: {self}");
        parts.push(&http);
        parts.retain(|part| !part.is_empty());
        shorten_text(&parts.join("\n\n"), MAX_DESCRIPTION_CHARS)
    }
}

/// Writes the method and the path.
impl std::fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

/// Returns the schema of structured results: that of the only success, if it is JSON.
fn output_schema(document: &Document, operation: &Value) -> Option<Value> {
    let responses = operation.get("responses")?.as_object()?;
    let mut successes = responses
        .iter()
        .filter(|(status, _)| status.starts_with('2'));
    let (_, response) = successes.next()?;
    if successes.next().is_some() {
        return None;
    }
    let content = document
        .resolve(response)
        .ok()?
        .get("content")?
        .as_object()?;
    if content.len() != 1 {
        return None;
    }
    let (media_type, value) = content.iter().next()?;
    if !is_json(media_type) {
        return None;
    }
    let mut schema = Converter::new(document, Writer::Api).convert(value.get("schema")?);
    let fields = schema.as_object_mut()?;
    // A success has a body, and in the revisions that know structured results first it is an object.
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|name| name != "null");
        if let [one] = &types[..] {
            let one = one.clone();
            fields.insert("type".to_owned(), one);
        }
    }
    fields.contains_key("type").then_some(schema)
}
