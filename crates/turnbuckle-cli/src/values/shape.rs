//! What a schema says of values, as far as typing them goes.

use serde_json::Value;

/// References that are followed, and alternatives that are looked at.
const DEEPEST: usize = 16;

/// The schema of arguments.
pub(super) struct Shape<'a> {
    root: &'a Value,
}

/// The schema of one value.
pub(super) struct Field<'a> {
    root: &'a Value,
    schema: &'a Value,
}

impl<'a> Shape<'a> {
    pub(super) fn of(root: &'a Value) -> Self {
        Self { root }
    }

    /// The schema of an argument: none where there is no argument of that name.
    pub(super) fn field(&self, name: &str) -> Option<Field<'a>> {
        let root = self.root;
        let listed = root.get("properties").and_then(|all| all.get(name));
        let schema = listed.or_else(|| match root.get("additionalProperties") {
            Some(Value::Bool(false)) => None,
            Some(schema) => Some(schema),
            // Nearly every such schema means no others, but says so only where nothing is listed.
            None if self.names().next().is_none() => Some(&Value::Bool(true)),
            None => None,
        })?;
        Some(Field { root, schema })
    }

    /// The names of its arguments.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        let properties = self.root.get("properties").and_then(Value::as_object);
        properties
            .into_iter()
            .flat_map(|all| all.keys().map(String::as_str))
    }

    /// The names of those that have to be there.
    pub(super) fn required(&self) -> impl Iterator<Item = &'a str> {
        let required = self.root.get("required").and_then(Value::as_array);
        required.into_iter().flatten().filter_map(Value::as_str)
    }

    /// `name: string, count?: integer`.
    pub(super) fn signature(&self) -> String {
        let required: Vec<_> = self.required().collect();
        let (mut first, mut then): (Vec<_>, Vec<_>) =
            self.names().partition(|name| required.contains(name));
        first.append(&mut then);
        let parts = first.into_iter().map(|name| {
            let optional = if required.contains(&name) { "" } else { "?" };
            let kind = self
                .field(name)
                .map(|field| field.kind())
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

impl<'a> Field<'a> {
    /// The schemas that a value may follow: references resolved, alternatives side by side.
    fn options(&self) -> Vec<&'a Value> {
        let mut options = Vec::new();
        self.collect(self.schema, DEEPEST, &mut options);
        options
    }

    fn collect(&self, schema: &'a Value, left: usize, options: &mut Vec<&'a Value>) {
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
                Some(target) => self.collect(target, left, options),
                None => options.push(&Value::Bool(true)),
            };
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(alternatives) = schema.get(key).and_then(Value::as_array) {
                for alternative in alternatives {
                    self.collect(alternative, left, options);
                }
                return;
            }
        }
        if let Some([only]) = schema
            .get("allOf")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
        {
            return self.collect(only, left, options);
        }
        options.push(schema);
    }

    /// The types that its schemas name; nothing where any is allowed.
    pub(super) fn types(&self) -> Vec<&'a str> {
        let mut types = Vec::new();
        for option in self.options() {
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

    /// Whether its schemas name that type.
    pub(super) fn takes(&self, kind: &str) -> bool {
        self.types().contains(&kind)
    }

    /// The values that it may have, if they are listed for every alternative but null.
    pub(super) fn choices(&self) -> Option<Vec<&'a Value>> {
        let mut choices = Vec::new();
        for option in self.options() {
            match (option.get("enum"), option.get("const"), option.get("type")) {
                (Some(Value::Array(values)), _, _) => choices.extend(values),
                (_, Some(value), _) => choices.push(value),
                (_, _, Some(kind)) if kind == "null" => choices.push(&Value::Null),
                _ => return None,
            }
        }
        (!choices.is_empty()).then_some(choices)
    }

    /// The schema of its items.
    pub(super) fn item(&self) -> Field<'a> {
        let items = self
            .options()
            .into_iter()
            .find_map(|option| option.get("items"));
        Field {
            root: self.root,
            schema: items.unwrap_or(&Value::Bool(true)),
        }
    }

    /// Its type in a word or two.
    fn kind(&self) -> String {
        if let Some(choices) = self.choices() {
            let shown: Vec<_> = choices.iter().take(8).map(|value| plain(value)).collect();
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

/// A value as it would be typed.
pub(super) fn plain(value: &Value) -> String {
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
    fn signatures_put_what_is_required_first() {
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
            Shape::of(&schema).signature(),
            "unit: c|f, a?: string|null, list?: number[], z?: any"
        );
        assert_eq!(Shape::of(&json!({})).signature(), "no arguments");
    }

    #[test]
    fn references_that_lead_nowhere_or_around_end() {
        let schema = json!({
            "$defs": {"loop": {"anyOf": [{"$ref": "#/$defs/loop"}, {"$ref": "#/$defs/loop"}]}},
            "properties": {
                "loop": {"$ref": "#/$defs/loop"},
                "out": {"$ref": "https://example.com/x"},
                "none": {"$ref": "#/$defs/none"},
            },
        });
        assert_eq!(
            Shape::of(&schema).signature(),
            "loop?: any, none?: any, out?: any"
        );
    }
}
