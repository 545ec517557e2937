//! A schema in a form that allows to estimate the cost of validation without the engine.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::SchemaLimits;
use crate::check::{DepthGuard, address};
use crate::error::SchemaError;
use crate::keywords::{AppliesTo, Document, references, subschemas};
use crate::pattern::count_states;

/// The subschemas of a checked schema. The root is the first.
pub(crate) struct Plan {
    pub(crate) nodes: Vec<PlanNode>,
}

/// One subschema. Costs are in units of about one comparison.
#[derive(Default)]
pub(crate) struct PlanNode {
    /// Of its keywords, whatever the value is.
    pub(crate) weight: u64,
    /// How many values `enum` and `const` list.
    pub(crate) enum_count: u64,
    /// The size of the values that `enum` and `const` list.
    pub(crate) enum_size: u64,
    /// Whether items must differ.
    pub(crate) unique_items: bool,
    /// Whether something depends on what other keywords evaluated, so that they are asked again.
    pub(crate) has_unevaluated: bool,
    /// Of `pattern`, for every byte of a text.
    pub(crate) pattern_states: u64,
    /// Of `patternProperties`, for every byte of a member's name.
    pub(crate) name_pattern_states: u64,
    pub(crate) steps: PlanEdges,
}

/// The subschemas that a subschema applies, grouped by [`AppliesTo`], so that each part of a value
/// visits only its own group.
#[derive(Default)]
pub(crate) struct PlanEdges {
    pub(crate) same_value: Vec<SameValueEdge>,
    pub(crate) members: Vec<(Box<str>, usize)>,
    pub(crate) members_or_items: Vec<usize>,
    pub(crate) member_names: Vec<usize>,
}

/// A subschema that applies to the same value.
pub(crate) struct SameValueEdge {
    pub(crate) target: usize,
    /// Whether the subschema is one of several alternatives.
    pub(crate) alternative: bool,
}

impl Plan {
    /// Builds the plan of a checked schema.
    ///
    /// # Errors
    /// If the schema is deeper than the limit.
    pub(crate) fn new(root: &Value, limits: &SchemaLimits) -> Result<Self, SchemaError> {
        let mut planner = Planner {
            document: Document::new(root),
            nodes: Vec::new(),
            met: HashMap::new(),
            levels: DepthGuard::new(limits),
        };
        planner.add_schema(root)?;
        Ok(Self {
            nodes: planner.nodes,
        })
    }
}

struct Planner<'a> {
    document: Document<'a>,
    nodes: Vec<PlanNode>,
    met: HashMap<usize, usize>,
    levels: DepthGuard,
}

impl<'a> Planner<'a> {
    fn add_schema(&mut self, schema: &'a Value) -> Result<usize, SchemaError> {
        if let Some(known) = self.met.get(&address(schema)) {
            return Ok(*known);
        }
        self.levels.enter()?;
        let index = self.nodes.len();
        self.met.insert(address(schema), index);
        self.nodes.push(PlanNode {
            weight: 1,
            ..PlanNode::default()
        });
        if let Value::Object(keywords) = schema {
            let steps = self.edges(keywords)?;
            self.nodes[index] = PlanNode {
                steps,
                ..PlanNode::from_keywords(keywords)
            };
        }
        self.levels.leave();
        Ok(index)
    }

    fn edges(&mut self, keywords: &'a Map<String, Value>) -> Result<PlanEdges, SchemaError> {
        let mut steps = PlanEdges::default();
        for child in subschemas(keywords) {
            if child.reach == AppliesTo::Nowhere {
                continue;
            }
            let to = self.add_schema(child.schema)?;
            match child.reach {
                AppliesTo::SameValue => steps.same_value.push(SameValueEdge {
                    target: to,
                    alternative: matches!(child.keyword, "anyOf" | "oneOf"),
                }),
                AppliesTo::Member(name) => steps.members.push((name.into(), to)),
                AppliesTo::MembersOrItems => steps.members_or_items.push(to),
                AppliesTo::MemberNames => steps.member_names.push(to),
                AppliesTo::Nowhere => {}
            }
        }
        for reference in references(keywords) {
            if let Some(target) = self.document.resolve(reference) {
                steps.same_value.push(SameValueEdge {
                    target: self.add_schema(target)?,
                    alternative: false,
                });
            }
        }
        Ok(steps)
    }
}

impl PlanNode {
    fn from_keywords(keywords: &Map<String, Value>) -> Self {
        let mut node = Self {
            weight: 1,
            ..Self::default()
        };
        for (keyword, value) in keywords {
            node.weight += match (keyword.as_str(), value) {
                ("enum", Value::Array(options)) => {
                    node.enum_count += options.len() as u64;
                    node.enum_size += options.iter().map(value_size).sum::<u64>();
                    1
                }
                ("const", constant) => {
                    node.enum_count += 1;
                    node.enum_size += value_size(constant);
                    1
                }
                ("uniqueItems", Value::Bool(true)) => {
                    node.unique_items = true;
                    1
                }
                ("pattern", Value::String(pattern)) => {
                    node.pattern_states += count_states(pattern);
                    1
                }
                ("patternProperties", Value::Object(patterns)) => {
                    node.name_pattern_states +=
                        patterns.keys().map(|one| count_states(one)).sum::<u64>();
                    1
                }
                // The error of a negation repeats the schema.
                ("not", schema) => value_size(schema),
                ("unevaluatedItems" | "unevaluatedProperties", _) => {
                    node.has_unevaluated = true;
                    1
                }
                ("required" | "dependencies" | "dependentRequired", listed) => value_size(listed),
                _ => 1,
            };
        }
        node
    }
}

/// Returns the size of a value: one for each value in it, and one for every 64 bytes of text.
pub(crate) fn value_size(value: &Value) -> u64 {
    match value {
        Value::String(text) => text_size(text),
        Value::Array(items) => 1 + items.iter().map(value_size).sum::<u64>(),
        Value::Object(members) => members.iter().fold(1, |sum, (name, member)| {
            sum + text_size(name) + value_size(member)
        }),
        _ => 1,
    }
}

/// Returns the size of a text.
pub(crate) fn text_size(text: &str) -> u64 {
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
        let plan = Plan::new(&schema, &SchemaLimits::default()).unwrap();
        assert_eq!(plan.nodes.len(), 5);
        assert_eq!(
            plan.nodes
                .iter()
                .filter(|node| node.enum_count == 3)
                .count(),
            1
        );
    }
}
