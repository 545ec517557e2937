//! A schema in a form that allows to estimate the cost of validation without the engine.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::SchemaLimits;
use crate::check::{DepthGuard, address};
use crate::error::SchemaError;
use crate::keywords::{AppliesTo, Document, references, subschemas};
use crate::pattern::count_states;

/// A graph of the subschemas of a checked schema, with the facts that the cost of validating a value
/// depends on. The root is the first node.
pub(crate) struct Plan {
    pub(crate) nodes: Vec<PlanNode>,
}

/// A subschema in a [`Plan`]. Costs are in units of about one comparison.
#[derive(Default)]
pub(crate) struct PlanNode {
    /// The fixed cost of the subschema's keywords, for any value.
    pub(crate) weight: u64,
    /// The number of values that `enum` and `const` list.
    pub(crate) enum_count: u64,
    /// The size of the values that `enum` and `const` list.
    pub(crate) enum_size: u64,
    /// True if `uniqueItems` compares all items with each other.
    pub(crate) unique_items: bool,
    /// True if `unevaluatedItems` or `unevaluatedProperties` is present: then the engine evaluates
    /// the other keywords again.
    pub(crate) has_unevaluated: bool,
    /// The cost of `pattern` for each byte of a text: the states of its automaton.
    pub(crate) pattern_states: u64,
    /// The cost of `patternProperties` for each byte of a member's name: the states of all its
    /// automata.
    pub(crate) name_pattern_states: u64,
    /// The subschemas that this one applies.
    pub(crate) edges: PlanEdges,
}

/// The subschemas that a subschema applies, as indexes of [`Plan::nodes`]. They are grouped by
/// [`AppliesTo`], so that each part of a value visits only its own group.
#[derive(Default)]
pub(crate) struct PlanEdges {
    pub(crate) same_value: Vec<SameValueEdge>,
    /// The subschemas of single members, by the member's name.
    pub(crate) members: Vec<(Box<str>, usize)>,
    /// The subschemas of any members or items.
    pub(crate) members_or_items: Vec<usize>,
    /// The subschemas of the names of members.
    pub(crate) member_names: Vec<usize>,
}

/// A subschema that applies to the same value.
pub(crate) struct SameValueEdge {
    pub(crate) target: usize,
    /// True if the subschema is one of several alternatives (`anyOf`, `oneOf`).
    pub(crate) alternative: bool,
}

impl Plan {
    /// Builds the plan of a checked schema.
    ///
    /// # Errors
    /// If the schema is deeper than [`SchemaLimits::max_depth`].
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
    /// The indexes of the nodes of known schemas, by the schema's address.
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
            let edges = self.edges(keywords)?;
            self.nodes[index] = PlanNode {
                edges,
                ..PlanNode::from_keywords(keywords)
            };
        }
        self.levels.leave();
        Ok(index)
    }

    fn edges(&mut self, keywords: &'a Map<String, Value>) -> Result<PlanEdges, SchemaError> {
        let mut edges = PlanEdges::default();
        for child in subschemas(keywords) {
            if child.reach == AppliesTo::Nowhere {
                continue;
            }
            let to = self.add_schema(child.schema)?;
            match child.reach {
                AppliesTo::SameValue => edges.same_value.push(SameValueEdge {
                    target: to,
                    alternative: matches!(child.keyword, "anyOf" | "oneOf"),
                }),
                AppliesTo::Member(name) => edges.members.push((name.into(), to)),
                AppliesTo::MembersOrItems => edges.members_or_items.push(to),
                AppliesTo::MemberNames => edges.member_names.push(to),
                AppliesTo::Nowhere => {}
            }
        }
        for reference in references(keywords) {
            if let Some(target) = self.document.resolve(reference) {
                edges.same_value.push(SameValueEdge {
                    target: self.add_schema(target)?,
                    alternative: false,
                });
            }
        }
        Ok(edges)
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
