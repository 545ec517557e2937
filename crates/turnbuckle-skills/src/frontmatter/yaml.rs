//! YAML as JSON: one document that has one meaning for every reader.
//!
//! Specification: YAML 1.2.2, "Core Schema".

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

use super::{MAX_DEPTH, MAX_NODES, too_deep, too_many};
use crate::error::InvalidSkill;

/// Parses the text of a document, whose top level must be an object.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, InvalidSkill> {
    let mut builder = Builder::default();
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| {
            InvalidSkill::new(format_args!(
                "the frontmatter is not YAML: line {}: {}",
                error.marker().line(),
                error.info()
            ))
        })?;
        builder.accept(event).map_err(|reason| {
            InvalidSkill::new(format_args!(
                "line {} of the frontmatter: {reason}",
                span.start.line()
            ))
        })?;
    }
    match builder.root {
        Some(Value::Object(fields)) => Ok(fields),
        Some(_) => Err(InvalidSkill::new("the frontmatter is not an object")),
        None => Err(InvalidSkill::new("the frontmatter is empty")),
    }
}

/// An array or object that is not complete.
enum Open {
    Array(Vec<Value>),
    /// The key that waits for its value, if there is one.
    Object(Map<String, Value>, Option<String>),
}

/// Builds the value from events.
#[derive(Default)]
struct Builder {
    root: Option<Value>,
    open: Vec<Open>,
    nodes: usize,
    documents: usize,
}

impl Builder {
    fn accept(&mut self, event: Event<'_>) -> Result<(), InvalidSkill> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) => {
                self.documents += 1;
                match self.documents {
                    1 => Ok(()),
                    _ => Err(InvalidSkill::new("a second document begins")),
                }
            }
            Event::Alias(_) => Err(InvalidSkill::new("aliases are not allowed")),
            Event::Scalar(text, style, anchor, tag) => {
                self.count(anchor, tag.is_some())?;
                self.add_scalar(&text, style)
            }
            Event::SequenceStart(anchor, tag) => {
                self.count(anchor, tag.is_some())?;
                self.open(Open::Array(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                self.count(anchor, tag.is_some())?;
                self.open(Open::Object(Map::new(), None))
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::Array(items)) => self.add(Value::Array(items)),
                Some(Open::Object(fields, _)) => self.add(Value::Object(fields)),
                None => Err(InvalidSkill::new(
                    "an array or object ends that did not begin",
                )),
            },
        }
    }

    fn count(&mut self, anchor: usize, has_tag: bool) -> Result<(), InvalidSkill> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            Err(too_many())
        } else if anchor != 0 {
            Err(InvalidSkill::new("anchors are not allowed"))
        } else if has_tag {
            Err(InvalidSkill::new("tags are not allowed"))
        } else {
            Ok(())
        }
    }

    fn open(&mut self, open: Open) -> Result<(), InvalidSkill> {
        if let Some(Open::Object(_, None)) = self.open.last() {
            return Err(InvalidSkill::new("a key is not a scalar"));
        }
        if self.open.len() == MAX_DEPTH {
            return Err(too_deep());
        }
        self.open.push(open);
        Ok(())
    }

    fn add_scalar(&mut self, text: &str, style: ScalarStyle) -> Result<(), InvalidSkill> {
        let is_plain = style == ScalarStyle::Plain;
        let Some(Open::Object(fields, key @ None)) = self.open.last_mut() else {
            let value = if is_plain {
                plain_value(text)?
            } else {
                text.into()
            };
            return self.add(value);
        };
        // A key of JSON is a string, so a number as a key is the text that was written.
        if is_plain && matches!(text, "" | "~" | "null" | "Null" | "NULL" | "<<") {
            return Err(InvalidSkill::new(match text {
                "<<" => "merge keys are not allowed",
                _ => "a key is null",
            }));
        }
        if fields.contains_key(text) {
            return Err(InvalidSkill::new(format_args!(
                "the key {text:?} stands twice"
            )));
        }
        *key = Some(text.to_owned());
        Ok(())
    }

    fn add(&mut self, value: Value) -> Result<(), InvalidSkill> {
        match self.open.last_mut() {
            None => self.root = Some(value),
            Some(Open::Array(items)) => items.push(value),
            Some(Open::Object(fields, key)) => match key.take() {
                Some(key) => {
                    fields.insert(key, value);
                }
                None => return Err(InvalidSkill::new("a key is not a scalar")),
            },
        }
        Ok(())
    }
}

/// Returns the value of a scalar without quotes.
fn plain_value(text: &str) -> Result<Value, InvalidSkill> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => match plain_number(text)? {
            Some(number) => Value::Number(number),
            None => text.into(),
        },
    })
}

/// Returns the number that a scalar without quotes is, or `None` if it is text.
fn plain_number(text: &str) -> Result<Option<Number>, InvalidSkill> {
    let inexpressible = || {
        InvalidSkill::new(format_args!(
            "JSON cannot express the number {text}: put it in quotes"
        ))
    };
    if let Some(digits) = text.strip_prefix("0o").or_else(|| text.strip_prefix("0x")) {
        let radix = if text.starts_with("0x") { 16 } else { 8 };
        if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
            return Ok(None);
        }
        return u64::from_str_radix(digits, radix)
            .map(|value| Some(value.into()))
            .map_err(|_| inexpressible());
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(inexpressible());
    }
    if !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        let value = text.parse::<i64>().map(Number::from);
        let value = value.or_else(|_| text.parse::<u64>().map(Number::from));
        return value.map(Some).map_err(|_| inexpressible());
    }
    if !is_float(unsigned) {
        return Ok(None);
    }
    let value = text.parse::<f64>().ok().and_then(Number::from_f64);
    value.map(Some).ok_or_else(inexpressible)
}

/// Returns whether a text without a sign is a decimal fraction, or has an exponent.
fn is_float(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    are_digits(whole)
        && are_digits(fraction)
        && (!whole.is_empty() || !fraction.is_empty())
        && exponent.is_none_or(|exponent| {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            !digits.is_empty() && are_digits(digits)
        })
}
