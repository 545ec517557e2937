//! Arguments as they are typed: `key=value`, `key:=json`, `key=@file`, `@file`, `-` and `{…}`.

mod coerce;
mod shape;

use std::io::Read as _;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::suggest::did_you_mean;
use coerce::coerce;
use shape::Shape;

/// The largest file of arguments, in bytes.
const LARGEST: u64 = 16 << 20;

/// One argument.
#[derive(Debug, PartialEq, Eq)]
enum Word<'a> {
    /// All arguments as JSON, from a file, from standard input, or as they stand.
    Whole(&'a str),
    /// `key=value`: the schema says what the value is.
    Text(&'a str, &'a str),
    /// `key:=json`: the value as it stands.
    Json(&'a str, &'a str),
}

fn split(word: &str) -> Option<Word<'_>> {
    if word == "-" || word.starts_with(['@', '{']) {
        return Some(Word::Whole(word));
    }
    let (name, value) = word.split_once('=')?;
    match name.strip_suffix(':') {
        Some("") => None,
        Some(name) => Some(Word::Json(name, value)),
        None if name.is_empty() => None,
        None => Some(Word::Text(name, value)),
    }
}

/// The arguments that `words` say, for a tool with this input schema.
pub(crate) fn arguments(words: &[String], schema: &Value) -> Result<Map<String, Value>, Failure> {
    let shape = Shape::of(schema);
    let mut arguments = Map::new();
    let mut whole = false;
    for word in words {
        let malformed = || {
            Failure::usage(format!("{word:?} is no argument"))
                .hint("arguments are written key=value, key:=json, key=@file, @file or -")
        };
        match split(word).ok_or_else(malformed)? {
            Word::Whole(source) => {
                whole = true;
                arguments.extend(object(source)?);
            }
            Word::Json(name, json) => {
                let value = serde_json::from_str(json).map_err(|error| {
                    Failure::usage(format!("the value of {name:?} is not JSON: {error}"))
                        .hint(format!("`{name}={json}` takes it as text"))
                })?;
                set(&mut arguments, name, value, &shape)?;
            }
            Word::Text(name, text) => {
                let Some(field) = shape.field(name) else {
                    return Err(unknown(name, &shape));
                };
                let text = match text.strip_prefix('@') {
                    Some(file) => read(Path::new(file))?,
                    None => text.to_owned(),
                };
                let value = coerce(&text, &field).map_err(|why| {
                    let failure = Failure::usage(format!("{name}: {}", why.what));
                    match why.hint {
                        Some(hint) => failure.hint(hint),
                        None => {
                            failure.hint(format!("`{name}:=JSON` sends any value as it stands"))
                        }
                    }
                })?;
                set(&mut arguments, name, value, &shape)?;
            }
        }
    }
    let missing: Vec<_> = shape
        .required()
        .filter(|name| !arguments.contains_key(*name))
        .collect();
    match missing.is_empty() || whole {
        true => Ok(arguments),
        false => Err(Failure::usage(format!("missing: {}", missing.join(", ")))
            .hint(format!("it takes {}", shape.signature()))),
    }
}

/// Arguments whose values are all text, such as a prompt's: their names, and whether they have to
/// be there.
pub(crate) fn texts(
    words: &[String],
    known: &[(&str, bool)],
) -> Result<Vec<(String, String)>, Failure> {
    let text = || json!({"type": "string"});
    let properties: Map<_, _> = known
        .iter()
        .map(|(name, _)| ((*name).to_owned(), text()))
        .collect();
    let required: Vec<_> = known
        .iter()
        .filter(|(_, needed)| *needed)
        .map(|(name, _)| *name)
        .collect();
    let schema = json!({
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    let arguments = arguments(words, &schema)?;
    let texts = arguments.into_iter().map(|(name, value)| match value {
        Value::String(text) => Ok((name, text)),
        other => Err(Failure::usage(format!(
            "{name}: text is wanted, not {other}"
        ))),
    });
    texts.collect()
}

/// What a schema says of its arguments, on one line.
pub(crate) fn signature(schema: &Value) -> String {
    Shape::of(schema).signature()
}

/// A value that is given again makes a list where a list is wanted.
fn set(
    arguments: &mut Map<String, Value>,
    name: &str,
    value: Value,
    shape: &Shape<'_>,
) -> Result<(), Failure> {
    let wants_list = shape.field(name).is_some_and(|field| field.takes("array"));
    match (arguments.get_mut(name), value) {
        (None, value) => {
            arguments.insert(name.to_owned(), value);
            Ok(())
        }
        (Some(Value::Array(items)), Value::Array(more)) if wants_list => {
            items.extend(more);
            Ok(())
        }
        _ => Err(Failure::usage(format!("{name} is given twice"))),
    }
}

fn unknown(name: &str, shape: &Shape<'_>) -> Failure {
    let failure = Failure::usage(format!("there is no argument {name:?}"));
    match did_you_mean(name, shape.names()) {
        Some(hint) => failure.hint(hint),
        None => failure.hint(format!("it takes {}", shape.signature())),
    }
}

/// The text that a word stands for: `-` for standard input, `@file` for a file, or itself.
pub(crate) fn source(word: &str) -> Result<String, Failure> {
    match (word, word.strip_prefix('@')) {
        ("-", _) => input(std::io::stdin().lock(), "standard input"),
        (_, Some(file)) => read(Path::new(file)),
        (text, None) => Ok(text.to_owned()),
    }
}

/// A whole object of arguments.
fn object(word: &str) -> Result<Map<String, Value>, Failure> {
    serde_json::from_str(&source(word)?)
        .map_err(|error| Failure::usage(format!("the arguments are no JSON object: {error}")))
}

fn read(path: &Path) -> Result<String, Failure> {
    let name = path.display().to_string();
    let file =
        std::fs::File::open(path).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    input(file, &name)
}

fn input(from: impl std::io::Read, name: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let read = from.take(LARGEST + 1).read_to_string(&mut text);
    read.map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    match text.len() as u64 > LARGEST {
        true => Err(Failure::usage(format!(
            "{name} has more than {LARGEST} bytes"
        ))),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str], schema: Value) -> Result<Value, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        arguments(&words, &schema)
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
    fn words_are_split_at_the_first_sign() {
        assert_eq!(split("a=b=c"), Some(Word::Text("a", "b=c")));
        assert_eq!(split("a:=[1]"), Some(Word::Json("a", "[1]")));
        assert_eq!(split("a=:=b"), Some(Word::Text("a", ":=b")));
        assert_eq!(split("-"), Some(Word::Whole("-")));
        assert_eq!(split("{\"a\":1}"), Some(Word::Whole("{\"a\":1}")));
        assert_eq!(split("=b"), None);
        assert_eq!(split(":=b"), None);
        assert_eq!(split("word"), None);
    }

    #[test]
    fn arguments_follow_the_schema() {
        assert_eq!(
            of(&["name=5", "count=5", "tags=a", "tags=b"], schema()),
            Ok(json!({"name": "5", "count": 5, "tags": ["a", "b"]}))
        );
        assert_eq!(
            of(&["{\"name\": \"x\"}", "count:=2.5"], schema()),
            Ok(json!({"name": "x", "count": 2.5}))
        );
    }

    #[test]
    fn mistakes_say_what_was_meant() {
        for (words, told) in [
            (&["nmae=x"][..], "did you mean \"name\"?"),
            (&["count=1"], "missing: name"),
            (&["name=x", "count=many"], "count:"),
            (&["name=x", "name=y"], "twice"),
            (&["name:=x"], "not JSON"),
            (&["name"], "no argument"),
            (&["[1]"], "no argument"),
            (&["{1}"], "no JSON object"),
        ] {
            let error = of(words, schema()).unwrap_err();
            assert!(error.contains(told), "{words:?}: {error}");
        }
    }

    #[test]
    fn an_open_schema_takes_other_names() {
        let open = json!({"properties": {"name": {}}, "additionalProperties": true});
        assert_eq!(of(&["other=1"], open), Ok(json!({"other": 1})));
        assert_eq!(
            of(&["other=x"], json!({"type": "object"})),
            Ok(json!({"other": "x"}))
        );
    }

    #[test]
    fn prompts_take_text_only() {
        let words = ["a=1".to_owned(), "b=x".to_owned()];
        let pairs = [
            ("a".to_owned(), "1".to_owned()),
            ("b".to_owned(), "x".to_owned()),
        ];
        assert_eq!(texts(&words, &[("a", true), ("b", false)]).unwrap(), pairs);
        for wrong in ["c=1", "a:=1", "b=2"] {
            let refused = texts(&[wrong.to_owned()], &[("a", true), ("b", false)]);
            assert!(refused.is_err(), "{wrong}");
        }
    }
}
