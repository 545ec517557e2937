//! YAML as JSON, with bounds.
//!
//! Specification: YAML 1.2.2, "Core Schema".

use std::borrow::Cow;
use std::collections::HashMap;

use saphyr::Scalar;
use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

use super::document::{MAX_DEPTH, MAX_VALUES};

/// Parses one document.
///
/// # Errors
/// When it is not YAML, cannot be said in JSON, or is too large with its aliases in place.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let mut builder = Builder::default();
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) =
            event.map_err(|error| format!("line {}: {}", error.marker().line(), error.info()))?;
        builder
            .accept(event)
            .map_err(|reason| format!("line {}: {reason}", span.start.line()))?;
    }
    builder
        .root
        .ok_or_else(|| "the document is empty".to_owned())
}

/// A value with an anchor, and the number of values in it.
type Anchored = (Value, usize);

/// An array or object that is not complete.
struct Open {
    container: Container,
    /// The anchor of the value, or 0.
    anchor: usize,
    /// The number of values in front.
    before: usize,
}

enum Container {
    Array(Vec<Value>),
    /// The key that waits for its value, if there is one.
    Object(Map<String, Value>, Option<String>),
}

/// Builds the value from events.
#[derive(Default)]
struct Builder {
    root: Option<Value>,
    open: Vec<Open>,
    anchors: HashMap<usize, Anchored>,
    values: usize,
    documents: usize,
}

impl Builder {
    fn accept(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) => {
                self.documents += 1;
                match self.documents {
                    1 => Ok(()),
                    _ => Err("a second document begins".to_owned()),
                }
            }
            Event::Alias(anchor) => {
                let known = self.anchors.get(&anchor);
                // An alias inside of its own anchor is not complete, either.
                let (value, values) = known.cloned().ok_or("an alias has no anchor")?;
                self.count(values)?;
                self.add(value)
            }
            Event::Scalar(text, style, anchor, _) => {
                self.count(1)?;
                self.add_scalar(&text, style, anchor)
            }
            Event::SequenceStart(anchor, _) => self.open(Container::Array(Vec::new()), anchor),
            Event::MappingStart(anchor, _) => {
                self.open(Container::Object(Map::new(), None), anchor)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let open = self
                    .open
                    .pop()
                    .ok_or("a container ends that did not begin")?;
                let value = match open.container {
                    Container::Array(items) => Value::Array(items),
                    Container::Object(fields, _) => Value::Object(fields),
                };
                if open.anchor != 0 {
                    let values = self.values - open.before;
                    self.count(values)?;
                    self.anchors.insert(open.anchor, (value.clone(), values));
                }
                self.add(value)
            }
        }
    }

    /// Counts values that are made, also copies.
    fn count(&mut self, values: usize) -> Result<(), String> {
        self.values += values;
        match self.values > MAX_VALUES {
            true => Err(format!("it has more than {MAX_VALUES} values")),
            false => Ok(()),
        }
    }

    fn open(&mut self, container: Container, anchor: usize) -> Result<(), String> {
        let before = self.values;
        self.count(1)?;
        if let Some(Container::Object(_, None)) = self.open.last().map(|open| &open.container) {
            return Err("a key is not a scalar".to_owned());
        }
        if self.open.len() == MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} levels deep"));
        }
        self.open.push(Open {
            container,
            anchor,
            before,
        });
        Ok(())
    }

    fn add_scalar(&mut self, text: &str, style: ScalarStyle, anchor: usize) -> Result<(), String> {
        let is_plain = style == ScalarStyle::Plain;
        let container = self.open.last_mut().map(|open| &mut open.container);
        if let Some(Container::Object(fields, key @ None)) = container {
            // A key of JSON is text, so a number as a key is the text that was written.
            if is_plain && text == "<<" {
                return Err("merge keys are not supported".to_owned());
            }
            if fields.contains_key(text) {
                return Err(format!("the key {text:?} stands twice"));
            }
            *key = Some(text.to_owned());
            return Ok(());
        }
        let value = if is_plain {
            plain_value(text)?
        } else {
            text.into()
        };
        if anchor != 0 {
            self.anchors.insert(anchor, (value.clone(), 1));
        }
        self.add(value)
    }

    fn add(&mut self, value: Value) -> Result<(), String> {
        match self.open.last_mut().map(|open| &mut open.container) {
            None => self.root = Some(value),
            Some(Container::Array(items)) => items.push(value),
            Some(Container::Object(fields, key)) => match key.take() {
                Some(key) => {
                    fields.insert(key, value);
                }
                None => return Err("a key is not a scalar".to_owned()),
            },
        }
        Ok(())
    }
}

/// Returns the value of a scalar without quotes.
fn plain_value(text: &str) -> Result<Value, String> {
    if text.is_empty() {
        return Ok(Value::Null);
    }
    Ok(match Scalar::parse_from_cow(Cow::Borrowed(text)) {
        Scalar::Null => Value::Null,
        Scalar::Boolean(value) => value.into(),
        Scalar::Integer(value) => value.into(),
        Scalar::FloatingPoint(value) => Number::from_f64(*value)
            .ok_or_else(|| format!("JSON cannot express the number {text}"))?
            .into(),
        Scalar::String(text) => text.into_owned().into(),
    })
}
