//! The values of a template's variables.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

/// The value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateValue {
    /// A text.
    Text(String),
    /// A list of texts; an empty list counts as undefined.
    List(Vec<String>),
    /// Pairs of name and text, in order; an empty map counts as undefined.
    Map(Vec<(String, String)>),
}

impl TemplateValue {
    pub(super) fn is_undefined(&self) -> bool {
        match self {
            Self::Text(_) => false,
            Self::List(items) => items.is_empty(),
            Self::Map(pairs) => pairs.is_empty(),
        }
    }
}

impl From<&str> for TemplateValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for TemplateValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<String>> for TemplateValue {
    fn from(items: Vec<String>) -> Self {
        Self::List(items)
    }
}

/// A text, a list of texts, or an object of texts. Of several pairs with the same name, the last counts.
impl Serialize for TemplateValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::List(items) => items.serialize(serializer),
            Self::Map(pairs) => {
                let pairs = pairs.iter().map(|(name, text)| (name, text));
                pairs.collect::<BTreeMap<_, _>>().serialize(serializer)
            }
        }
    }
}

/// The variables of a URI template by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TemplateVariables(BTreeMap<String, TemplateValue>);

impl TemplateVariables {
    /// Creates an empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a variable, or replaces the one of this name.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<TemplateValue>) -> Self {
        self.insert(name, value);
        self
    }

    /// Adds a variable, or replaces the one of this name.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<TemplateValue>) {
        self.0.insert(name.into(), value.into());
    }

    /// Returns the value of a variable, if it is defined.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&TemplateValue> {
        self.0.get(name)
    }

    /// Returns the value of a variable, if it is a text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(TemplateValue::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns all variables, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &TemplateValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns the number of defined variables.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether no variable is defined.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
