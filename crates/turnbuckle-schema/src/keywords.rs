//! Where schemas stand inside a schema, and what its references mean.

use std::cell::OnceCell;
use std::collections::HashMap;

use serde_json::{Map, Value};

/// A subschema and what it is applied to.
#[derive(Clone, Copy)]
pub(crate) struct Child<'a> {
    #[cfg_attr(
        not(feature = "validate"),
        expect(dead_code, reason = "only the plan of the general validator asks")
    )]
    pub(crate) keyword: &'a str,
    pub(crate) schema: &'a Value,
    pub(crate) reach: Reach<'a>,
}

/// What a subschema is applied to, seen from the value that the schema around it is applied to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach<'a> {
    /// That very value.
    Here,
    /// The member of this name.
    Member(&'a str),
    /// Members or items.
    Inside,
    /// The names of members.
    Names,
    /// Nothing, until something refers to it.
    Nowhere,
}

/// The schemas directly inside a schema object, of either dialect.
pub(crate) fn children(schema: &Map<String, Value>) -> impl Iterator<Item = Child<'_>> {
    schema.iter().flat_map(|(keyword, value)| {
        let one = |reach| vec![(value, reach)];
        let found = match (keyword.as_str(), value) {
            ("properties", Value::Object(members)) => members
                .iter()
                .map(|(name, schema)| (schema, Reach::Member(name)))
                .collect(),
            ("$defs" | "definitions", Value::Object(members)) => {
                all(members.values(), Reach::Nowhere)
            }
            ("dependencies" | "dependentSchemas", Value::Object(members)) => {
                all(members.values(), Reach::Here)
            }
            ("patternProperties", Value::Object(members)) => all(members.values(), Reach::Inside),
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => all(schemas, Reach::Here),
            ("items" | "prefixItems", Value::Array(schemas)) => all(schemas, Reach::Inside),
            ("if" | "then" | "else" | "not", _) => one(Reach::Here),
            (
                "additionalItems"
                | "additionalProperties"
                | "contains"
                | "items"
                | "unevaluatedItems"
                | "unevaluatedProperties",
                _,
            ) => one(Reach::Inside),
            ("propertyNames", _) => one(Reach::Names),
            ("contentSchema", _) => one(Reach::Nowhere),
            _ => Vec::new(),
        };
        found.into_iter().map(move |(schema, reach)| Child {
            keyword,
            schema,
            reach,
        })
    })
}

fn all<'a>(
    schemas: impl IntoIterator<Item = &'a Value>,
    reach: Reach<'a>,
) -> Vec<(&'a Value, Reach<'a>)> {
    schemas.into_iter().map(|schema| (schema, reach)).collect()
}

/// Whether a keyword of either dialect can refuse a value, beyond those that types carry: `type`,
/// `enum`, `properties` and the like. Any other keyword is an annotation or unknown, and refuses
/// nothing.
pub(crate) fn is_assertion(keyword: &str) -> bool {
    matches!(
        keyword,
        "additionalItems"
            | "allOf"
            | "contains"
            | "dependencies"
            | "dependentRequired"
            | "dependentSchemas"
            | "$dynamicRef"
            | "exclusiveMaximum"
            | "exclusiveMinimum"
            | "if"
            | "maxLength"
            | "maxProperties"
            | "minLength"
            | "minProperties"
            | "multipleOf"
            | "not"
            | "pattern"
            | "patternProperties"
            | "propertyNames"
            | "unevaluatedItems"
            | "unevaluatedProperties"
            | "uniqueItems"
    )
}

/// The references of a schema object.
pub(crate) fn references(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    ["$ref", "$dynamicRef"]
        .into_iter()
        .filter_map(|keyword| schema.get(keyword)?.as_str())
}

/// A schema with all that its references can mean.
pub(crate) struct Document<'a> {
    root: &'a Value,
    /// The subschemas that have a name, collected when the first of them is asked for.
    anchors: OnceCell<HashMap<&'a str, &'a Value>>,
}

impl<'a> Document<'a> {
    pub(crate) fn new(root: &'a Value) -> Self {
        Self {
            root,
            anchors: OnceCell::new(),
        }
    }

    /// The schema that a reference into the document means: `#`, `#/pointer` or `#anchor`.
    pub(crate) fn resolve(&self, reference: &str) -> Option<&'a Value> {
        let fragment = percent_decoded(reference.strip_prefix('#')?)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(&fragment);
        }
        let anchors = self.anchors.get_or_init(|| {
            let mut anchors = HashMap::new();
            collect_anchors(self.root, &mut anchors);
            anchors
        });
        anchors.get(&*fragment).copied()
    }
}

/// The first subschema of each name. A parsed text is not too deep for this.
fn collect_anchors<'a>(value: &'a Value, anchors: &mut HashMap<&'a str, &'a Value>) {
    let Some(schema) = value.as_object() else {
        return;
    };
    for keyword in ["$anchor", "$dynamicAnchor"] {
        if let Some(name) = schema.get(keyword).and_then(Value::as_str) {
            anchors.entry(name).or_insert(value);
        }
    }
    for child in children(schema) {
        collect_anchors(child.schema, anchors);
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let digits = rest
            .get(at + 1..at + 3)
            .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[at + 3..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #[test]
        fn any_reference_is_resolved_or_not(reference in "#?.{0,12}|#[/a~01%2]{0,12}") {
            let root = json!({ "a": { "": 1 }, "$defs": { "x": { "$anchor": "a" } } });
            let found = Document::new(&root).resolve(&reference);
            prop_assert!(found.is_none() || reference.starts_with('#'));
        }
    }

    #[test]
    fn references_point_at_the_document_a_pointer_or_an_anchor() {
        let root = json!({
            "$defs": { "a/b": { "$anchor": "here", "type": "null" }, "c d": true },
        });
        let resolve = |reference| Document::new(&root).resolve(reference);
        let target = &root["$defs"]["a/b"];
        assert_eq!(resolve("#"), Some(&root));
        assert_eq!(resolve("#/$defs/a~1b"), Some(target));
        assert_eq!(resolve("#/%24defs/a~1b"), Some(target));
        assert_eq!(resolve("#/$defs/c%20d"), Some(&json!(true)));
        assert_eq!(resolve("#here"), Some(target));
        for missing in ["#/no", "#there", "#%", "#%zz", "#%ff", "other.json", ""] {
            assert_eq!(resolve(missing), None, "{missing}");
        }
    }

    #[test]
    fn a_property_called_like_a_keyword_is_no_keyword() {
        let schema = json!({ "properties": { "$ref": { "type": "string" } } });
        let schema = schema.as_object().unwrap();
        assert_eq!(references(schema).count(), 0);
        assert_eq!(children(schema).count(), 1);
    }
}
