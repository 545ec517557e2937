//! A schema laid out so that the work it makes can be counted without the engine.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::SchemaLimits;
use crate::check::{Levels, address};
use crate::fault::SchemaFault;
use crate::keywords::{Document, Reach, children, references};
use crate::pattern::states;

/// The subschemas of a checked schema, the root first.
pub(crate) struct Plan {
    pub(crate) nodes: Vec<Node>,
}

/// One subschema. Everything is counted in units of work: about a comparison each.
#[derive(Default)]
pub(crate) struct Node {
    /// Of its keywords, whatever the value is.
    pub(crate) weight: u64,
    /// How many values `enum` and `const` list.
    pub(crate) listed: u64,
    /// The size of the values that `enum` and `const` list.
    pub(crate) listed_size: u64,
    /// Whether items must differ.
    pub(crate) unique: bool,
    /// Whether something depends on what other keywords evaluated, so that they are asked again.
    pub(crate) unevaluated: bool,
    /// Of `pattern`, for every byte of a text.
    pub(crate) pattern: u64,
    /// Of `patternProperties`, for every byte of a member's name.
    pub(crate) name_patterns: u64,
    pub(crate) steps: Steps,
}

/// The ways from a subschema to others, by what those are applied to: as [`Reach`] has it. A part of
/// a value has to do with some of them only, and need not look through the rest.
#[derive(Default)]
pub(crate) struct Steps {
    pub(crate) here: Vec<Here>,
    pub(crate) members: Vec<(Box<str>, usize)>,
    pub(crate) inside: Vec<usize>,
    pub(crate) names: Vec<usize>,
}

/// A way to a subschema that is applied to the same part.
pub(crate) struct Here {
    pub(crate) to: usize,
    /// Whether it is one of several alternatives.
    pub(crate) alternative: bool,
}

impl Plan {
    /// The plan of a schema that was checked.
    ///
    /// # Errors
    /// If it is deeper than the bound.
    pub(crate) fn of(root: &Value, limits: &SchemaLimits) -> Result<Self, SchemaFault> {
        let mut planner = Planner {
            document: Document::new(root),
            nodes: Vec::new(),
            met: HashMap::new(),
            levels: Levels::of(limits),
        };
        planner.add(root)?;
        Ok(Self {
            nodes: planner.nodes,
        })
    }
}

struct Planner<'a> {
    document: Document<'a>,
    nodes: Vec<Node>,
    met: HashMap<usize, usize>,
    levels: Levels,
}

impl<'a> Planner<'a> {
    fn add(&mut self, schema: &'a Value) -> Result<usize, SchemaFault> {
        if let Some(known) = self.met.get(&address(schema)) {
            return Ok(*known);
        }
        self.levels.enter()?;
        let index = self.nodes.len();
        self.met.insert(address(schema), index);
        self.nodes.push(Node {
            weight: 1,
            ..Node::default()
        });
        if let Value::Object(keywords) = schema {
            let steps = self.steps(keywords)?;
            self.nodes[index] = Node {
                steps,
                ..Node::of(keywords)
            };
        }
        self.levels.leave();
        Ok(index)
    }

    fn steps(&mut self, keywords: &'a Map<String, Value>) -> Result<Steps, SchemaFault> {
        let mut steps = Steps::default();
        for child in children(keywords) {
            if child.reach == Reach::Nowhere {
                continue;
            }
            let to = self.add(child.schema)?;
            match child.reach {
                Reach::Here => steps.here.push(Here {
                    to,
                    alternative: matches!(child.keyword, "anyOf" | "oneOf"),
                }),
                Reach::Member(name) => steps.members.push((name.into(), to)),
                Reach::Inside => steps.inside.push(to),
                Reach::Names => steps.names.push(to),
                Reach::Nowhere => {}
            }
        }
        for reference in references(keywords) {
            if let Some(target) = self.document.resolve(reference) {
                steps.here.push(Here {
                    to: self.add(target)?,
                    alternative: false,
                });
            }
        }
        Ok(steps)
    }
}

impl Node {
    fn of(keywords: &Map<String, Value>) -> Self {
        let mut node = Self {
            weight: 1,
            ..Self::default()
        };
        for (keyword, value) in keywords {
            node.weight += match (keyword.as_str(), value) {
                ("enum", Value::Array(options)) => {
                    node.listed += options.len() as u64;
                    node.listed_size += options.iter().map(size).sum::<u64>();
                    1
                }
                ("const", constant) => {
                    node.listed += 1;
                    node.listed_size += size(constant);
                    1
                }
                ("uniqueItems", Value::Bool(true)) => {
                    node.unique = true;
                    1
                }
                ("pattern", Value::String(pattern)) => {
                    node.pattern += states(pattern);
                    1
                }
                ("patternProperties", Value::Object(patterns)) => {
                    node.name_patterns += patterns.keys().map(|one| states(one)).sum::<u64>();
                    1
                }
                // The negation's error repeats the schema.
                ("not", schema) => size(schema),
                ("unevaluatedItems" | "unevaluatedProperties", _) => {
                    node.unevaluated = true;
                    1
                }
                ("required" | "dependencies" | "dependentRequired", listed) => size(listed),
                _ => 1,
            };
        }
        node
    }
}

/// The size of a value: one for each value in it and for every 64 bytes of text.
pub(crate) fn size(value: &Value) -> u64 {
    match value {
        Value::String(text) => size_of_text(text),
        Value::Array(items) => 1 + items.iter().map(size).sum::<u64>(),
        Value::Object(members) => members.iter().fold(1, |sum, (name, member)| {
            sum + size_of_text(name) + size(member)
        }),
        _ => 1,
    }
}

/// The size of a text.
pub(crate) fn size_of_text(text: &str) -> u64 {
    1 + text.len() as u64 / 64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_subschema_that_a_value_can_reach_is_in_the_plan_once() {
        let schema = json!({
            "properties": { "a": { "$ref": "#" }, "b": { "$ref": "#/$defs/x" } },
            "items": { "$ref": "#/$defs/x" },
            "$defs": { "x": { "enum": [1, 2, 3] }, "unused": {} },
        });
        let plan = Plan::of(&schema, &SchemaLimits::default()).unwrap();
        assert_eq!(plan.nodes.len(), 5);
        assert_eq!(plan.nodes.iter().filter(|node| node.listed == 3).count(), 1);
    }
}
