//! The interface of a server: what a model, or a person, is shown of it.

use serde_json::Value;

/// The lists of a server, and the instructions that it gives.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Interface {
    /// The instructions for models.
    pub instructions: Option<String>,
    /// The definitions of tools.
    pub tools: Vec<Value>,
    /// The definitions of prompts.
    pub prompts: Vec<Value>,
    /// The definitions of resources.
    pub resources: Vec<Value>,
    /// The definitions of resource templates.
    pub templates: Vec<Value>,
}

impl Interface {
    /// Returns the interface with every text replaced: values, not names of members.
    pub(crate) fn map_texts(self, replace: &dyn Fn(String) -> String) -> Self {
        let all = |values: Vec<Value>| -> Vec<Value> {
            let values = values.into_iter();
            values.map(|value| map_texts(value, replace)).collect()
        };
        Self {
            instructions: self.instructions.map(replace),
            tools: all(self.tools),
            prompts: all(self.prompts),
            resources: all(self.resources),
            templates: all(self.templates),
        }
    }
}

fn map_texts(value: Value, replace: &dyn Fn(String) -> String) -> Value {
    match value {
        Value::String(text) => replace(text).into(),
        Value::Array(values) => {
            let values = values.into_iter();
            values.map(|value| map_texts(value, replace)).collect()
        }
        Value::Object(members) => {
            let members = members.into_iter();
            let members = members.map(|(name, value)| (name, map_texts(value, replace)));
            Value::Object(members.collect())
        }
        value => value,
    }
}
