//! A view of a JSON Schema for typing arguments on the command line.

use serde_json::Value;

/// The most references and alternatives that are followed in depth.
const MAX_DEPTH: usize = 16;

/// The schema of a tool's arguments.
pub(super) struct ArgumentsSchema<'a> {
    root: &'a Value,
}

/// The schema of one argument.
pub(super) struct ValueSchema<'a> {
    root: &'a Value,
    schema: &'a Value,
}

impl<'a> ArgumentsSchema<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root }
    }

    /// Returns the schema of an argument, or `None` if the schema allows no argument of that name.
    pub(super) fn argument(&self, name: &str) -> Option<ValueSchema<'a>> {
        let root = self.root;
        let listed = root.get("properties").and_then(|all| all.get(name));
        let schema = listed.or_else(|| match root.get("additionalProperties") {
            Some(Value::Bool(false)) => None,
            Some(schema) => Some(schema),
            // A schema without `additionalProperties` usually means a closed list of arguments.
            None if self.names().next().is_none() => Some(&Value::Bool(true)),
            None => None,
        })?;
        Some(ValueSchema { root, schema })
    }

    /// Returns the names of the declared arguments.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        let properties = self.root.get("properties").and_then(Value::as_object);
        properties
            .into_iter()
            .flat_map(|all| all.keys().map(String::as_str))
    }

    /// Returns the names of the required arguments.
    pub(super) fn required(&self) -> impl Iterator<Item = &'a str> {
        let required = self.root.get("required").and_then(Value::as_array);
        required.into_iter().flatten().filter_map(Value::as_str)
    }

    /// Returns a summary such as `name: string, count?: integer`.
    pub(super) fn signature(&self) -> String {
        let required: Vec<_> = self.required().collect();
        let (mut first, mut then): (Vec<_>, Vec<_>) =
            self.names().partition(|name| required.contains(name));
        first.append(&mut then);
        let parts = first.into_iter().map(|name| {
            let optional = if required.contains(&name) { "" } else { "?" };
            let kind = self
                .argument(name)
                .map(|field| field.type_name())
                .unwrap_or_default();
            format!("{name}{optional}: {kind}")
        });
        let signature = parts.collect::<Vec<_>>().join(", ");
        if signature.is_empty() {
            "no arguments".to_owned()
        } else {
            signature
        }
    }
}

impl<'a> ValueSchema<'a> {
    /// Returns the schemas that a value may match, with references resolved.
    fn alternatives(&self) -> Vec<&'a Value> {
        let mut options = Vec::new();
        self.collect_alternatives(self.schema, MAX_DEPTH, &mut options);
        options
    }

    fn collect_alternatives(&self, schema: &'a Value, left: usize, options: &mut Vec<&'a Value>) {
        let Some(left) = left.checked_sub(1) else {
            return;
        };
        if options.len() >= 64 {
            return;
        }
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let target = reference
                .strip_prefix('#')
                .and_then(|pointer| self.root.pointer(pointer));
            return match target {
                Some(target) => self.collect_alternatives(target, left, options),
                None => options.push(&Value::Bool(true)),
            };
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(alternatives) = schema.get(key).and_then(Value::as_array) {
                for alternative in alternatives {
                    self.collect_alternatives(alternative, left, options);
                }
                return;
            }
        }
        if let Some([only]) = schema
            .get("allOf")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
        {
            return self.collect_alternatives(only, left, options);
        }
        options.push(schema);
    }

    /// Returns the types that the alternatives name; empty if any type is allowed.
    pub(super) fn types(&self) -> Vec<&'a str> {
        let mut types = Vec::new();
        for option in self.alternatives() {
            match option.get("type") {
                Some(Value::String(one)) => types.push(one.as_str()),
                Some(Value::Array(several)) => {
                    types.extend(several.iter().filter_map(Value::as_str))
                }
                _ if option.get("properties").is_some() => types.push("object"),
                _ if option.get("items").is_some() => types.push("array"),
                _ if option.get("enum").is_some() || option.get("const").is_some() => {}
                _ => return Vec::new(),
            }
        }
        types
    }

    /// Returns whether an alternative names the type.
    pub(super) fn allows_type(&self, kind: &str) -> bool {
        self.types().contains(&kind)
    }

    /// Returns the allowed values, if every alternative but null lists them.
    pub(super) fn choices(&self) -> Option<Vec<&'a Value>> {
        let mut choices = Vec::new();
        for option in self.alternatives() {
            match (option.get("enum"), option.get("const"), option.get("type")) {
                (Some(Value::Array(values)), _, _) => choices.extend(values),
                (_, Some(value), _) => choices.push(value),
                (_, _, Some(kind)) if kind == "null" => choices.push(&Value::Null),
                _ => return None,
            }
        }
        (!choices.is_empty()).then_some(choices)
    }

    /// Returns the schema of the items of an array.
    pub(super) fn item(&self) -> ValueSchema<'a> {
        let items = self
            .alternatives()
            .into_iter()
            .find_map(|option| option.get("items"));
        ValueSchema {
            root: self.root,
            schema: items.unwrap_or(&Value::Bool(true)),
        }
    }

    /// Returns a short name of the type.
    fn type_name(&self) -> String {
        if let Some(choices) = self.choices() {
            let shown: Vec<_> = choices
                .iter()
                .take(8)
                .map(|value| typed_text(value))
                .collect();
            let more = if choices.len() > 8 { "|…" } else { "" };
            return shown.join("|") + more;
        }
        let mut types = self.types();
        types.dedup();
        match &types[..] {
            [] => "any".to_owned(),
            ["array"] => {
                let item = self.item().types();
                match &item[..] {
                    [one] => format!("{one}[]"),
                    _ => "array".to_owned(),
                }
            }
            types => types.join("|"),
        }
    }
}

/// Returns a value as it would be typed.
pub(super) fn typed_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn signatures_begin_with_required_arguments() {
        let schema = json!({
            "$defs": {"Unit": {"enum": ["c", "f"]}},
            "properties": {
                "a": {"type": ["string", "null"]},
                "list": {"type": "array", "items": {"type": "number"}},
                "unit": {"$ref": "#/$defs/Unit"},
                "z": {},
            },
            "required": ["unit"],
        });
        assert_eq!(
            ArgumentsSchema::new(&schema).signature(),
            "unit: c|f, a?: string|null, list?: number[], z?: any"
        );
        assert_eq!(ArgumentsSchema::new(&json!({})).signature(), "no arguments");
    }

    #[test]
    fn dangling_and_recursive_references_end() {
        let schema = json!({
            "$defs": {"loop": {"anyOf": [{"$ref": "#/$defs/loop"}, {"$ref": "#/$defs/loop"}]}},
            "properties": {
                "loop": {"$ref": "#/$defs/loop"},
                "out": {"$ref": "https://example.com/x"},
                "none": {"$ref": "#/$defs/none"},
            },
        });
        assert_eq!(
            ArgumentsSchema::new(&schema).signature(),
            "loop?: any, none?: any, out?: any"
        );
    }
}
