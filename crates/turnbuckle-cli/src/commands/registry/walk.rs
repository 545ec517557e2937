//! A walk through a JSON document that collects findings, each with the path of its value.

use serde::Serialize;
use serde_json::{Map, Value};
use turnbuckle_types::base::nearest::nearest;

/// The most findings that are collected.
const MAX_COLLECTED: usize = 10_000;

/// A fault of a document, or advice.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Finding {
    /// A JSON Pointer.
    pub(super) path: String,
    pub(super) message: String,
    pub(super) is_error: bool,
}

/// The findings so far.
#[derive(Default)]
pub(super) struct Findings(pub(super) Vec<Finding>);

/// A value with its path.
#[derive(Clone)]
pub(super) struct Node<'a> {
    pub(super) path: String,
    pub(super) value: &'a Value,
}

impl Findings {
    fn add(&mut self, path: &str, message: String, is_error: bool) {
        if self.0.len() < MAX_COLLECTED {
            self.0.push(Finding {
                path: path.to_owned(),
                message,
                is_error,
            });
        }
    }

    pub(super) fn error(&mut self, path: &str, message: impl Into<String>) {
        self.add(path, message.into(), true);
    }

    pub(super) fn warn(&mut self, path: &str, message: impl Into<String>) {
        self.add(path, message.into(), false);
    }

    /// Returns the members of an object, and reports those that no reader knows.
    pub(super) fn object<'a>(
        &mut self,
        place: &Node<'a>,
        known: &[&str],
    ) -> Option<&'a Map<String, Value>> {
        let Some(object) = place.value.as_object() else {
            self.error(&place.path, "an object is needed here");
            return None;
        };
        for name in object.keys().filter(|name| !known.contains(&name.as_str())) {
            let path = place.join(name).path;
            let camel = to_camel_case(name);
            if known.contains(&&*camel) {
                self.error(&path, format!("the name is written {camel:?}"));
            } else if let Some(near) = nearest(name, known.iter().copied()) {
                self.warn(
                    &path,
                    format!("no reader knows this; did you mean {near:?}?"),
                );
            } else {
                self.warn(&path, "no reader knows this");
            }
        }
        Some(object)
    }

    /// Returns the values of an array that may be absent.
    pub(super) fn array<'a>(&mut self, parent: &Node<'a>, name: &str) -> Vec<Node<'a>> {
        let Some(place) = parent.get(name) else {
            return Vec::new();
        };
        match place.value {
            Value::Array(values) => {
                let values = values.iter().enumerate();
                values
                    .map(|(index, value)| Node {
                        path: format!("{}/{index}", place.path),
                        value,
                    })
                    .collect()
            }
            Value::Object(_) => {
                self.error(&place.path, "a list is needed here, not an object: [{…}]");
                Vec::new()
            }
            _ => {
                self.error(&place.path, "a list is needed here");
                Vec::new()
            }
        }
    }

    /// Returns a text that may be absent.
    pub(super) fn text<'a>(&mut self, parent: &Node<'a>, name: &str) -> Option<&'a str> {
        let place = parent.get(name)?;
        let text = place.value.as_str();
        if text.is_none() {
            self.error(&place.path, "a text is needed here");
        }
        text
    }

    /// Returns a text that must be there and not be empty.
    pub(super) fn needed_text<'a>(&mut self, parent: &Node<'a>, name: &str) -> Option<&'a str> {
        if parent.get(name).is_none() {
            self.error(&parent.path, format!("{name:?} is missing"));
            return None;
        }
        let text = self.text(parent, name)?;
        if text.trim().is_empty() {
            self.error(&parent.join(name).path, "the text is empty");
            return None;
        }
        Some(text)
    }

    /// Reports a text of more characters than `max`.
    pub(super) fn limit(&mut self, path: &str, text: &str, max: usize) {
        let count = text.chars().count();
        if count > max {
            self.error(path, format!("{count} characters are more than {max}"));
        }
    }

    /// Reports a member that is there and not a boolean.
    pub(super) fn boolean(&mut self, parent: &Node<'_>, name: &str) {
        if let Some(place) = parent.get(name)
            && !place.value.is_boolean()
        {
            self.error(&place.path, "true or false is needed here");
        }
    }

    /// Reports a text that is none of these.
    pub(super) fn one_of(&mut self, path: &str, text: &str, allowed: &[&str]) {
        if !allowed.contains(&text) {
            let message = format!("{text:?} is none of {}", allowed.join(", "));
            self.error(path, message);
        }
    }
}

impl<'a> Node<'a> {
    /// Returns a member that is there and not null.
    pub(super) fn get(&self, name: &str) -> Option<Self> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        Some(Self {
            path: self.join(name).path,
            value,
        })
    }

    /// Returns the path of a member.
    pub(super) fn join(&self, name: &str) -> Self {
        let escaped = name.replace('~', "~0").replace('/', "~1");
        Self {
            path: format!("{}/{escaped}", self.path),
            value: self.value,
        }
    }
}

/// Returns `runtimeHint` for `runtime_hint`.
fn to_camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut joined, word| {
        let mut chars = word.chars();
        joined.extend(chars.next().map(|char| char.to_ascii_uppercase()));
        joined.push_str(chars.as_str());
        joined
    })
}
