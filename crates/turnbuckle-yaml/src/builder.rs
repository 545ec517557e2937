//! A value of JSON, made from the events of a parser.

use std::collections::HashMap;

use saphyr_parser::{Event, ScalarStyle, Tag};
use serde_json::{Map, Value};

use crate::Rules;
use crate::scalar::{is_null, plain_value};

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

/// Builds a value from events.
pub(crate) struct Builder<'r> {
    rules: &'r Rules,
    root: Option<Value>,
    open: Vec<Open>,
    anchors: HashMap<usize, Anchored>,
    values: usize,
    documents: usize,
}

impl<'r> Builder<'r> {
    pub(crate) fn new(rules: &'r Rules) -> Self {
        Self {
            rules,
            root: None,
            open: Vec::new(),
            anchors: HashMap::new(),
            values: 0,
            documents: 0,
        }
    }

    /// Returns the value, if there was a document.
    pub(crate) fn finish(self) -> Option<Value> {
        self.root
    }

    pub(crate) fn accept(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) => {
                self.documents += 1;
                match self.documents {
                    1 => Ok(()),
                    _ => Err("a second document begins".to_owned()),
                }
            }
            Event::Alias(anchor) => self.repeat(anchor),
            Event::Scalar(text, style, anchor, tag) => {
                self.check_node(anchor, tag.is_some())?;
                let is_text = tag.is_some_and(|tag| is_text_tag(&tag));
                self.add_scalar(&text, style == ScalarStyle::Plain && !is_text, anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                self.check_node(anchor, tag.is_some())?;
                self.open(Container::Array(Vec::new()), anchor)
            }
            Event::MappingStart(anchor, tag) => {
                self.check_node(anchor, tag.is_some())?;
                self.open(Container::Object(Map::new(), None), anchor)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
        }
    }

    /// Counts a value, and refuses what a strict document may not have.
    fn check_node(&mut self, anchor: usize, has_tag: bool) -> Result<(), String> {
        self.count(1)?;
        if !self.rules.strict {
            Ok(())
        } else if anchor != 0 {
            Err("anchors are not allowed".to_owned())
        } else if has_tag {
            Err("tags are not allowed".to_owned())
        } else {
            Ok(())
        }
    }

    /// Counts values that are made, also copies.
    fn count(&mut self, values: usize) -> Result<(), String> {
        self.values += values;
        match self.values > self.rules.max_values {
            true => Err(format!(
                "it has more than {} keys and values",
                self.rules.max_values
            )),
            false => Ok(()),
        }
    }

    /// Adds a copy of a value with an anchor.
    fn repeat(&mut self, anchor: usize) -> Result<(), String> {
        // A strict document has no anchor that an alias could name. Inside of its own value an anchor is not known yet.
        let known = self.anchors.get(&anchor);
        let values = known.map(|(_, values)| *values);
        self.count(values.ok_or("an alias has no anchor")?)?;
        match self.anchors.get(&anchor) {
            Some((value, _)) => self.add(value.clone()),
            None => Ok(()),
        }
    }

    fn open(&mut self, container: Container, anchor: usize) -> Result<(), String> {
        if let Some(Container::Object(_, None)) = self.open.last().map(|open| &open.container) {
            return Err("a key is not a scalar".to_owned());
        }
        if self.open.len() == self.rules.max_depth {
            return Err(format!("it is nested deeper than {}", self.rules.max_depth));
        }
        self.open.push(Open {
            container,
            anchor,
            before: self.values - 1,
        });
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        let open = self.open.pop();
        let open = open.ok_or("an array or object ends that did not begin")?;
        let value = match open.container {
            Container::Array(items) => Value::Array(items),
            Container::Object(fields, _) => Value::Object(fields),
        };
        self.keep(open.anchor, &value, self.values - open.before)?;
        self.add(value)
    }

    /// Keeps a copy of a value that has an anchor.
    fn keep(&mut self, anchor: usize, value: &Value, values: usize) -> Result<(), String> {
        if anchor != 0 {
            self.count(values)?;
            self.anchors.insert(anchor, (value.clone(), values));
        }
        Ok(())
    }

    fn add_scalar(&mut self, text: &str, is_plain: bool, anchor: usize) -> Result<(), String> {
        let container = self.open.last_mut().map(|open| &mut open.container);
        if let Some(Container::Object(fields, key @ None)) = container {
            // A key of JSON is text, so a number as a key is the text that was written.
            if is_plain && text == "<<" {
                return Err("merge keys are not allowed".to_owned());
            }
            if is_plain && is_null(text) {
                return Err("a key is null".to_owned());
            }
            if fields.contains_key(text) {
                return Err(format!("the key {text:?} stands twice"));
            }
            *key = Some(text.to_owned());
            return Ok(());
        }
        let value = match is_plain {
            true => plain_value(text, self.rules.strict)?,
            false => text.into(),
        };
        self.keep(anchor, &value, 1)?;
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

/// Returns whether a tag says that a scalar is text, whatever it looks like.
fn is_text_tag(tag: &Tag) -> bool {
    tag.is_yaml_core_schema() && tag.suffix == "str"
}
