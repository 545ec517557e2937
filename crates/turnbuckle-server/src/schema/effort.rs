//! How much work a value makes for a schema that refers to itself.
//!
//! Where alternatives recur, each doubles the work at every level of the value: a hundred levels
//! would never end. The work is counted beforehand, every pair of subschema and value once.

use std::collections::HashMap;

use serde_json::Value;

use super::check::address;
use super::keywords::{Reach, children, references, resolve};

/// The most applications of a subschema to a value in one validation.
const MAX_WORK: u64 = 1_000_000;

/// The most pairs of subschema and value that are looked at to count them.
const MAX_PAIRS: usize = 100_000;

/// The longest chain of subschemas, each inside the other, down to the deepest part of the value.
/// It bounds the stack.
const MAX_CHAIN: usize = 512;

/// Whether a value can be validated in bounded time by a schema that recurs. The schema must have
/// been checked: a reference that makes no step would not end here either.
pub(super) fn is_bearable(schema: &Value, value: &Value) -> bool {
    let mut count = Count {
        root: schema,
        pairs: HashMap::new(),
    };
    count
        .of(schema, value, 0)
        .is_some_and(|effort| effort.work <= MAX_WORK)
}

struct Count<'a> {
    root: &'a Value,
    /// What each pair comes to, by their addresses.
    pairs: HashMap<(usize, usize), Effort>,
}

#[derive(Clone, Copy)]
struct Effort {
    work: u64,
    chain: usize,
}

impl Effort {
    fn add(&mut self, part: Self) {
        self.work = self.work.saturating_add(part.work);
        self.chain = self.chain.max(part.chain + 1);
    }
}

impl Count<'_> {
    /// An upper bound of the effort, or `None` if there are too many pairs or a chain is too long.
    fn of(&mut self, schema: &Value, value: &Value, above: usize) -> Option<Effort> {
        let mut effort = Effort { work: 1, chain: 0 };
        let Some(keywords) = schema.as_object() else {
            return Some(effort);
        };
        let pair = (address(schema), address(value));
        if let Some(known) = self.pairs.get(&pair) {
            return (above + known.chain <= MAX_CHAIN).then_some(*known);
        }
        if self.pairs.len() >= MAX_PAIRS || above >= MAX_CHAIN {
            return None;
        }
        for child in children(keywords) {
            match child.reach {
                Reach::Here => effort.add(self.of(child.schema, value, above + 1)?),
                Reach::Member(name) => {
                    if let Some(member) = value.get(name) {
                        effort.add(self.of(child.schema, member, above + 1)?);
                    }
                }
                Reach::Inside => {
                    for inner in inside(value) {
                        effort.add(self.of(child.schema, inner, above + 1)?);
                    }
                }
                Reach::Nowhere => {}
            }
        }
        for reference in references(keywords) {
            if let Some(target) = resolve(self.root, reference) {
                effort.add(self.of(target, value, above + 1)?);
            }
        }
        self.pairs.insert(pair, effort);
        Some(effort)
    }
}

/// The items or members of a value.
fn inside(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(members) => Box::new(members.values()),
        _ => Box::new(std::iter::empty()),
    }
}
