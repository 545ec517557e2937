//! The subschemas of a schema and the targets of its references.

use std::cell::OnceCell;
use std::collections::HashMap;

use serde_json::{Map, Value};

/// A subschema and the part of a value that it applies to.
#[derive(Clone, Copy)]
pub(crate) struct Subschema<'a> {
    pub(crate) keyword: &'a str,
    pub(crate) schema: &'a Value,
    pub(crate) reach: AppliesTo<'a>,
}

/// The part of a value that a subschema applies to, relative to the enclosing schema.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AppliesTo<'a> {
    /// The value itself.
    SameValue,
    /// The member of this name.
    Member(&'a str),
    /// Members or items.
    MembersOrItems,
    /// The names of members.
    MemberNames,
    /// No part, until a reference leads to the subschema.
    Nowhere,
}

/// Returns the schemas directly inside a schema object, in either dialect.
pub(crate) fn subschemas(schema: &Map<String, Value>) -> impl Iterator<Item = Subschema<'_>> {
    schema.iter().flat_map(|(keyword, value)| {
        let one = |reach| vec![(value, reach)];
        let found = match (keyword.as_str(), value) {
            ("properties", Value::Object(members)) => members
                .iter()
                .map(|(name, schema)| (schema, AppliesTo::Member(name)))
                .collect(),
            ("$defs" | "definitions", Value::Object(members)) => {
                with_target(members.values(), AppliesTo::Nowhere)
            }
            ("dependencies" | "dependentSchemas", Value::Object(members)) => {
                with_target(members.values(), AppliesTo::SameValue)
            }
            ("patternProperties", Value::Object(members)) => {
                with_target(members.values(), AppliesTo::MembersOrItems)
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                with_target(schemas, AppliesTo::SameValue)
            }
            ("items" | "prefixItems", Value::Array(schemas)) => {
                with_target(schemas, AppliesTo::MembersOrItems)
            }
            ("if" | "then" | "else" | "not", _) => one(AppliesTo::SameValue),
            (
                "additionalItems"
                | "additionalProperties"
                | "contains"
                | "items"
                | "unevaluatedItems"
                | "unevaluatedProperties",
                _,
            ) => one(AppliesTo::MembersOrItems),
            ("propertyNames", _) => one(AppliesTo::MemberNames),
            ("contentSchema", _) => one(AppliesTo::Nowhere),
            _ => Vec::new(),
        };
        found.into_iter().map(move |(schema, reach)| Subschema {
            keyword,
            schema,
            reach,
        })
    })
}

fn with_target<'a>(
    schemas: impl IntoIterator<Item = &'a Value>,
    reach: AppliesTo<'a>,
) -> Vec<(&'a Value, AppliesTo<'a>)> {
    schemas.into_iter().map(|schema| (schema, reach)).collect()
}

/// Returns whether a keyword can refuse a value in a way that types do not express. `type`, `enum`,
/// `properties` and the like are excluded; other keywords are annotations or unknown.
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

/// Returns the references of a schema object.
pub(crate) fn references(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    ["$ref", "$dynamicRef"]
        .into_iter()
        .filter_map(|keyword| schema.get(keyword)?.as_str())
}

/// A schema document that references are resolved in.
pub(crate) struct Document<'a> {
    root: &'a Value,
    /// The subschemas with anchors, collected at the first use.
    anchors: OnceCell<HashMap<&'a str, &'a Value>>,
}

impl<'a> Document<'a> {
    pub(crate) fn new(root: &'a Value) -> Self {
        Self {
            root,
            anchors: OnceCell::new(),
        }
    }

    /// Returns the target of a reference into the document: `#`, `#/pointer` or `#anchor`.
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

/// Collects the first subschema of each anchor. The JSON parser bounds the recursion.
fn collect_anchors<'a>(value: &'a Value, anchors: &mut HashMap<&'a str, &'a Value>) {
    let Some(schema) = value.as_object() else {
        return;
    };
    for keyword in ["$anchor", "$dynamicAnchor"] {
        if let Some(name) = schema.get(keyword).and_then(Value::as_str) {
            anchors.entry(name).or_insert(value);
        }
    }
    for child in subschemas(schema) {
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
    fn references_resolve_to_the_document_a_pointer_or_an_anchor() {
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
    fn a_property_named_like_a_keyword_is_not_a_keyword() {
        let schema = json!({ "properties": { "$ref": { "type": "string" } } });
        let schema = schema.as_object().unwrap();
        assert_eq!(references(schema).count(), 0);
        assert_eq!(subschemas(schema).count(), 1);
    }
}
