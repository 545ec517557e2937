//! Arguments of tools and prompts on the command line: `key=value`, `key:=json`, `key=@file`,
//! `@file`, `-` and `{…}`.

mod coerce;
mod schema;

use serde_json::{Map, Value, json};

use crate::error::CliError;
use crate::input::{read_text, read_text_file};
use coerce::coerce;
use schema::ArgumentsSchema;
use turnbuckle_types::base::nearest::did_you_mean;

/// The forms in which an argument can be written.
#[derive(Debug, PartialEq, Eq)]
enum ArgumentSyntax<'a> {
    /// A whole JSON object: literal, from a file, or from standard input.
    Object(&'a str),
    /// `key=value`: text that the schema converts.
    Text(&'a str, &'a str),
    /// `key:=json`: a JSON value.
    Json(&'a str, &'a str),
}

/// Recognizes the form of an argument.
fn parse_syntax(word: &str) -> Option<ArgumentSyntax<'_>> {
    if word == "-" || word.starts_with(['@', '{']) {
        return Some(ArgumentSyntax::Object(word));
    }
    let (name, value) = word.split_once('=')?;
    match name.strip_suffix(':') {
        Some("") => None,
        Some(name) => Some(ArgumentSyntax::Json(name, value)),
        None if name.is_empty() => None,
        None => Some(ArgumentSyntax::Text(name, value)),
    }
}

/// Parses the arguments of a tool with this input schema.
pub(crate) fn parse_arguments(
    words: &[String],
    schema: &Value,
) -> Result<Map<String, Value>, CliError> {
    let schema_view = ArgumentsSchema::new(schema);
    let mut arguments = Map::new();
    let mut whole = false;
    for word in words {
        let malformed = || {
            CliError::usage(format!("{word:?} is not an argument"))
                .hint("arguments are written key=value, key:=json, key=@file, @file or -")
        };
        match parse_syntax(word).ok_or_else(malformed)? {
            ArgumentSyntax::Object(source) => {
                whole = true;
                arguments.extend(read_object(source)?);
            }
            ArgumentSyntax::Json(name, json) => {
                let value = serde_json::from_str(json).map_err(|error| {
                    CliError::usage(format!("the value of {name:?} is not JSON: {error}"))
                        .hint(format!("`{name}={json}` sends it as text"))
                })?;
                insert_argument(&mut arguments, name, value, &schema_view)?;
            }
            ArgumentSyntax::Text(name, text) => {
                let Some(field) = schema_view.argument(name) else {
                    return Err(unknown_argument(name, &schema_view));
                };
                let text = match text.strip_prefix('@') {
                    Some(file) => read_text_file(file)?,
                    None => text.to_owned(),
                };
                let value = coerce(&text, &field).map_err(|why| {
                    let failure = CliError::usage(format!("{name}: {}", why.message));
                    match why.hint {
                        Some(hint) => failure.hint(hint),
                        None => failure.hint(format!("`{name}:=JSON` sends any JSON value")),
                    }
                })?;
                insert_argument(&mut arguments, name, value, &schema_view)?;
            }
        }
    }
    let missing: Vec<_> = schema_view
        .required()
        .filter(|name| !arguments.contains_key(*name))
        .collect();
    if missing.is_empty() || whole {
        Ok(arguments)
    } else {
        Err(
            CliError::usage(format!("missing arguments: {}", missing.join(", ")))
                .hint(format!("the arguments are {}", schema_view.signature())),
        )
    }
}

/// Parses arguments whose values are all text, such as those of prompts. `declared` has their names
/// and whether they are required; without it any name is one.
pub(crate) fn parse_text_arguments(
    words: &[String],
    declared: Option<&[(&str, bool)]>,
) -> Result<Vec<(String, String)>, CliError> {
    let text = || json!({"type": "string"});
    let names = declared.unwrap_or_default().iter();
    let properties: Map<_, _> = names
        .clone()
        .map(|(name, _)| ((*name).to_owned(), text()))
        .collect();
    let required: Vec<_> = names
        .filter(|(_, needed)| *needed)
        .map(|(name, _)| *name)
        .collect();
    let others = match declared {
        Some(_) => Value::Bool(false),
        None => text(),
    };
    let schema = json!({
        "properties": properties,
        "required": required,
        "additionalProperties": others,
    });
    let arguments = parse_arguments(words, &schema)?;
    let texts = arguments.into_iter().map(|(name, value)| match value {
        Value::String(text) => Ok((name, text)),
        other => Err(CliError::usage(format!(
            "{name}: expected text, not {other}"
        ))),
    });
    texts.collect()
}

/// Returns a one-line summary of a schema's arguments.
pub(crate) fn signature(schema: &Value) -> String {
    ArgumentsSchema::new(schema).signature()
}

/// Inserts an argument. A repeated argument is appended if the schema wants an array.
fn insert_argument(
    arguments: &mut Map<String, Value>,
    name: &str,
    value: Value,
    schema_view: &ArgumentsSchema<'_>,
) -> Result<(), CliError> {
    let wants_list = schema_view
        .argument(name)
        .is_some_and(|field| field.allows_type("array"));
    match (arguments.get_mut(name), value) {
        (None, value) => {
            arguments.insert(name.to_owned(), value);
            Ok(())
        }
        (Some(Value::Array(items)), Value::Array(more)) if wants_list => {
            items.extend(more);
            Ok(())
        }
        _ => Err(CliError::usage(format!("{name} is given more than once"))),
    }
}

fn unknown_argument(name: &str, schema_view: &ArgumentsSchema<'_>) -> CliError {
    let failure = CliError::usage(format!("there is no argument {name:?}"));
    match did_you_mean(name, schema_view.names()) {
        Some(hint) => failure.hint(hint),
        None => failure.hint(format!("the arguments are {}", schema_view.signature())),
    }
}

/// Reads a whole object of arguments.
fn read_object(word: &str) -> Result<Map<String, Value>, CliError> {
    serde_json::from_str(&read_text(word)?)
        .map_err(|error| CliError::usage(format!("the arguments are not a JSON object: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str], schema: Value) -> Result<Value, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        parse_arguments(&words, &schema)
            .map(Value::Object)
            .map_err(|failure| failure.to_string())
    }

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "count": {"type": "integer"},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["name"],
        })
    }

    #[test]
    fn arguments_are_split_at_the_first_separator() {
        assert_eq!(
            parse_syntax("a=b=c"),
            Some(ArgumentSyntax::Text("a", "b=c"))
        );
        assert_eq!(
            parse_syntax("a:=[1]"),
            Some(ArgumentSyntax::Json("a", "[1]"))
        );
        assert_eq!(
            parse_syntax("a=:=b"),
            Some(ArgumentSyntax::Text("a", ":=b"))
        );
        assert_eq!(parse_syntax("-"), Some(ArgumentSyntax::Object("-")));
        assert_eq!(
            parse_syntax("{\"a\":1}"),
            Some(ArgumentSyntax::Object("{\"a\":1}"))
        );
        assert_eq!(parse_syntax("=b"), None);
        assert_eq!(parse_syntax(":=b"), None);
        assert_eq!(parse_syntax("word"), None);
    }

    #[test]
    fn arguments_follow_the_schema() {
        assert_eq!(
            parse(&["name=5", "count=5", "tags=a", "tags=b"], schema()),
            Ok(json!({"name": "5", "count": 5, "tags": ["a", "b"]}))
        );
        assert_eq!(
            parse(&["{\"name\": \"x\"}", "count:=2.5"], schema()),
            Ok(json!({"name": "x", "count": 2.5}))
        );
    }

    #[test]
    fn mistakes_are_explained() {
        for (words, expected) in [
            (&["nmae=x"][..], "did you mean \"name\"?"),
            (&["count=1"], "missing arguments: name"),
            (&["name=x", "count=many"], "count:"),
            (&["name=x", "name=y"], "more than once"),
            (&["name:=x"], "not JSON"),
            (&["name"], "not an argument"),
            (&["[1]"], "not an argument"),
            (&["{1}"], "not a JSON object"),
        ] {
            let error = parse(words, schema()).unwrap_err();
            assert!(error.contains(expected), "{words:?}: {error}");
        }
    }

    #[test]
    fn an_open_schema_accepts_other_names() {
        let open = json!({"properties": {"name": {}}, "additionalProperties": true});
        assert_eq!(parse(&["other=1"], open), Ok(json!({"other": 1})));
        assert_eq!(
            parse(&["other=x"], json!({"type": "object"})),
            Ok(json!({"other": "x"}))
        );
    }

    #[test]
    fn prompts_accept_text_only() {
        let words = ["a=1".to_owned(), "b=x".to_owned()];
        let pairs = [
            ("a".to_owned(), "1".to_owned()),
            ("b".to_owned(), "x".to_owned()),
        ];
        assert_eq!(
            parse_text_arguments(&words, Some(&[("a", true), ("b", false)])).unwrap(),
            pairs
        );
        assert_eq!(parse_text_arguments(&words, None).unwrap(), pairs);
        assert!(parse_text_arguments(&["a:=1".to_owned()], None).is_err());
        for wrong in ["c=1", "a:=1", "b=2"] {
            let refused =
                parse_text_arguments(&[wrong.to_owned()], Some(&[("a", true), ("b", false)]));
            assert!(refused.is_err(), "{wrong}");
        }
    }
}
