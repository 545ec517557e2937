//! Does a value use names that only a later revision defines?
//!
//! The official schemas are open: a name that they do not list is allowed. But a name that a later
//! schema lists at the same place of the same type was invented there, and its older reader is not
//! to see it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Faults, Schema};

/// A schema within a revision.
type Node<'s> = (&'s Schema, &'s Value);

/// Members whose values are schemas that an author wrote, not vocabulary.
const FOREIGN: [&str; 2] = ["inputSchema", "outputSchema"];

/// Names that forms of 2025-06-18 have before the schema lists them: a default for every field, which
/// tells clients what to show and which they may ignore.
const EARLY: [(&str, &str); 3] = [
    ("StringSchema", "default"),
    ("NumberSchema", "default"),
    ("EnumSchema", "default"),
];

/// Adds a fault for every name in `value` that no definition of `this` lists and a later one does.
pub(super) fn later_names(
    this: &Schema,
    later: &[Schema],
    definitions: &[&str],
    value: &Value,
    faults: &mut Faults,
) {
    let nodes: Vec<_> = definitions
        .iter()
        .map(|name| (this, this.definition(name)))
        .collect();
    let at = definitions.first().unwrap_or(&"");
    Walk { later, faults }.value(value, &nodes, &[], at);
}

struct Walk<'s, 'f> {
    later: &'s [Schema],
    faults: &'f mut Faults,
}

impl<'s> Walk<'s, '_> {
    /// Checks a value. `this` are the schemas of the revision for the value, `later` those of later
    /// revisions at this place.
    fn value(&mut self, value: &Value, this: &[Node<'_>], later: &[Node<'s>], at: &str) {
        let this = shapes(value, this);
        let later = shapes(value, &self.with_namesakes(&this, later));
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let (known, defined) = (property(&this, name), property(&later, name));
                    let at = format!("{at}/{name}");
                    if !known.is_empty() {
                        if !FOREIGN.contains(&&**name) {
                            self.value(member, &known, &defined, &at);
                        }
                    } else if is_early(&this, name) {
                        // Its value is any JSON.
                    } else if let Some((by, _)) = defined.first() {
                        self.faults
                            .push(format!("{at} is a name of {}", by.revision()));
                    } else {
                        self.value(member, &rest(&this), &rest(&later), &at);
                    }
                }
            }
            Value::Array(elements) => {
                let (this, later) = (items(&this), items(&later));
                for (index, element) in elements.iter().enumerate() {
                    self.value(element, &this, &later, &format!("{at}/{index}"));
                }
            }
            _ => {}
        }
    }

    /// Adds the later definitions of the same names, so that a type keeps a history where the one
    /// that holds it ends.
    fn with_namesakes(&self, this: &[Node<'_>], later: &[Node<'s>]) -> Vec<Node<'s>> {
        let mut nodes = later.to_vec();
        for name in this
            .iter()
            .filter_map(|(schema, node)| schema.name_of(node))
        {
            for schema in self.later.iter().filter(|schema| schema.has(name)) {
                let node = schema.definition(name);
                if !nodes.iter().any(|(_, other)| std::ptr::eq(*other, node)) {
                    nodes.push((schema, node));
                }
            }
        }
        nodes
    }
}

/// Returns whether a name may stand in a value of these schemas before a revision lists it there.
fn is_early(this: &[Node<'_>], name: &str) -> bool {
    this.iter().any(|(schema, node)| {
        let definition = schema.name_of(node);
        definition.is_some_and(|definition| EARLY.contains(&(definition, name)))
    })
}

/// The names that values use, of those that the schemas of their types list.
#[derive(Default)]
pub(super) struct Names {
    /// Place at which each name was first found, by the schema that lists it and the name.
    listed: BTreeMap<(usize, String), String>,
    used: BTreeSet<(usize, String)>,
}

impl Names {
    pub(super) fn collect(&mut self, schema: &Schema, definition: &str, value: &Value) {
        self.walk(
            value,
            &[(schema, schema.definition(definition))],
            definition,
        );
    }

    fn walk(&mut self, value: &Value, nodes: &[Node<'_>], at: &str) {
        let nodes = shapes(value, nodes);
        for (_, node) in &nodes {
            let identity = std::ptr::from_ref::<Value>(node).addr();
            for name in node["properties"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, _)| name)
            {
                let key = (identity, name.clone());
                if value.get(name).is_some() {
                    self.used.insert(key.clone());
                }
                self.listed
                    .entry(key)
                    .or_insert_with(|| format!("{at}/{name}"));
            }
        }
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let known = property(&nodes, name);
                    let inside = if known.is_empty() {
                        rest(&nodes)
                    } else {
                        known
                    };
                    self.walk(member, &inside, &format!("{at}/{name}"));
                }
            }
            Value::Array(elements) => {
                let inside = items(&nodes);
                for element in elements {
                    self.walk(element, &inside, &format!("{at}/*"));
                }
            }
            _ => {}
        }
    }

    pub(super) fn unused_names(self) -> BTreeSet<String> {
        let Self { listed, used } = self;
        listed
            .into_iter()
            .filter(|(key, _)| !used.contains(key))
            .map(|(_, at)| at)
            .collect()
    }
}

/// Returns the plain schemas that the nodes stand for with this value: references followed, unions
/// decided.
fn shapes<'s>(value: &Value, nodes: &[Node<'s>]) -> Vec<Node<'s>> {
    let mut shapes = Vec::new();
    for &(schema, node) in nodes {
        let node = schema.resolve(node);
        for union in ["anyOf", "oneOf", "allOf"] {
            let parts = node[union].as_array().into_iter().flatten();
            let parts = parts.map(|part| (schema, schema.resolve(part)));
            let parts: Vec<_> = parts
                .filter(|(_, part)| may_be(schema, part, value))
                .collect();
            shapes.extend(self::shapes(value, &parts));
        }
        shapes.push((schema, node));
    }
    shapes
}

/// Returns whether a value may belong to one member of a union, by its type, its constants and its
/// required members.
fn may_be(schema: &Schema, node: &Value, value: &Value) -> bool {
    let right_type = match node["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        _ => true,
    };
    let Value::Object(members) = value else {
        return right_type;
    };
    let mut required = node["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let mut properties = node["properties"].as_object().into_iter().flatten();
    let constant = |(name, property): (&String, &Value)| {
        let constant = schema.resolve(property).get("const");
        constant.is_none_or(|constant| members.get(name).is_none_or(|member| member == constant))
    };
    right_type && required.all(|name| members.contains_key(name)) && properties.all(constant)
}

fn property<'s>(nodes: &[Node<'s>], name: &str) -> Vec<Node<'s>> {
    let of = |&(schema, node): &Node<'s>| Some((schema, node["properties"].get(name)?));
    nodes.iter().filter_map(of).collect()
}

/// Returns the schemas of members that have no name in the schema.
fn rest<'s>(nodes: &[Node<'s>]) -> Vec<Node<'s>> {
    let of = |&(schema, node): &Node<'s>| Some((schema, node.get("additionalProperties")?));
    nodes.iter().filter_map(of).collect()
}

fn items<'s>(nodes: &[Node<'s>]) -> Vec<Node<'s>> {
    let of = |&(schema, node): &Node<'s>| Some((schema, node.get("items")?));
    nodes.iter().filter_map(of).collect()
}
