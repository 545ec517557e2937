//! How much work it is to hold a value against a schema, counted before the engine begins.
//!
//! Every application of a subschema to a part of the value is one step of the count, as it would
//! be of the validation, and weighs what its keywords do there. The count stops at its bound, so
//! that it is no more work than the validation that it allows.

use std::collections::HashMap;

use serde_json::Value;

use crate::check::address;
use crate::plan::{Plan, size_of_text};

/// The longest chain of subschemas, each inside the other, down to the deepest part of the value.
/// It bounds the stack.
pub(crate) const MAX_CHAIN: usize = 512;

/// What a validation comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Effort {
    /// Of the decision.
    pub(crate) work: u64,
    /// Of asking again what was evaluated, for those keywords that depend on it.
    again: u64,
    /// Of telling every violation.
    pub(crate) all: u64,
    /// Of telling the first violation, whichever it is.
    pub(crate) first: u64,
    /// How many applications were counted.
    pub(crate) steps: u64,
}

/// The effort of a validation, or `None` if it is more than `most` or beyond the other bounds.
pub(crate) fn effort(plan: &Plan, value: &Value, most: u64) -> Option<Effort> {
    let mut count = Count {
        plan,
        sizes: HashMap::new(),
        left: most,
    };
    count.measure(value);
    let effort = count.of(0, Part::Value(value), 0)?;
    (effort.work <= most).then_some(effort)
}

/// What a subschema is applied to.
#[derive(Clone, Copy)]
enum Part<'a> {
    Value(&'a Value),
    Name(&'a str),
}

impl<'a> Part<'a> {
    fn value(self) -> Option<&'a Value> {
        match self {
            Self::Value(value) => Some(value),
            Self::Name(_) => None,
        }
    }

    fn text(self) -> Option<&'a str> {
        match self {
            Self::Value(value) => value.as_str(),
            Self::Name(name) => Some(name),
        }
    }
}

struct Count<'a> {
    plan: &'a Plan,
    /// The sizes of the lists and objects in the value, by their addresses.
    sizes: HashMap<usize, u64>,
    left: u64,
}

impl Count<'_> {
    fn measure(&mut self, value: &Value) -> u64 {
        let size = match value {
            Value::String(text) => return size_of_text(text),
            Value::Array(items) => 1 + items.iter().map(|item| self.measure(item)).sum::<u64>(),
            Value::Object(members) => members.iter().fold(1, |sum, (name, member)| {
                sum + size_of_text(name) + self.measure(member)
            }),
            _ => return 1,
        };
        self.sizes.insert(address(value), size);
        size
    }

    fn size(&self, part: Part<'_>) -> u64 {
        match part {
            Part::Name(name) => size_of_text(name),
            Part::Value(Value::String(text)) => size_of_text(text),
            Part::Value(value) => self.sizes.get(&address(value)).copied().unwrap_or(1),
        }
    }

    /// What a subschema's own keywords do to a part.
    fn own(&self, node: usize, part: Part<'_>) -> u64 {
        let node = &self.plan.nodes[node];
        let size = self.size(part);
        let mut work = node.weight;
        if node.listed > 0 {
            work += node.listed + node.listed_size.min(node.listed.saturating_mul(size));
        }
        if let Some(text) = part.text() {
            // Lengths are counted in characters.
            work += size;
            work = work.saturating_add(matching(node.pattern, text.len() as u64));
        }
        match part.value() {
            Some(Value::Array(items)) if node.unique => {
                // Lists and objects may be made to share a hash; each is then compared with all.
                let nested = items.iter().any(|item| item.is_array() || item.is_object());
                let compared = if nested { items.len() as u64 } else { 16 };
                work = work.saturating_add(size.saturating_mul(compared));
            }
            Some(Value::Object(members)) => {
                // Each property that is described is looked up, whether it is there or not.
                work += members.len() as u64 + node.steps.members.len() as u64;
                if node.name_patterns > 0 {
                    let bytes = members
                        .keys()
                        .map(|name| 1 + name.len() as u64)
                        .sum::<u64>();
                    work = work.saturating_add(matching(node.name_patterns, bytes));
                }
            }
            _ => {}
        }
        work
    }

    /// An upper bound of the effort, or `None` if it or the chain is beyond its bound.
    fn of(&mut self, node: usize, part: Part<'_>, above: usize) -> Option<Effort> {
        if above > MAX_CHAIN {
            return None;
        }
        let own = self.own(node, part);
        self.left = self.left.checked_sub(own)?;
        let plan = self.plan;
        let node = &plan.nodes[node];
        // A violation repeats its value, and what the keyword lists.
        let told = node.weight.saturating_add(self.size(part));
        let mut effort = Effort {
            work: own,
            again: 0,
            all: own.saturating_add(told),
            first: told,
            steps: 1,
        };
        let mut alternatives = 0u64;
        for step in &node.steps.here {
            let inner = self.of(step.to, part, above + 1)?;
            effort.again = effort
                .again
                .saturating_add(inner.work)
                .saturating_add(inner.again);
            if step.alternative {
                // All are told when none fits, after each was decided.
                alternatives = alternatives
                    .saturating_add(inner.all)
                    .saturating_add(inner.work);
            }
            effort.add(inner, step.alternative);
        }
        match part {
            Part::Value(Value::Array(items)) => {
                self.inside(&mut effort, &node.steps.inside, items, above)?;
            }
            Part::Value(Value::Object(members)) => {
                for (name, to) in &node.steps.members {
                    if let Some(member) = members.get(&**name) {
                        effort.add(self.of(*to, Part::Value(member), above + 1)?, false);
                    }
                }
                self.inside(&mut effort, &node.steps.inside, members.values(), above)?;
                for name in members.keys() {
                    for to in &node.steps.names {
                        effort.add(self.of(*to, Part::Name(name), above + 1)?, false);
                    }
                }
            }
            _ => {}
        }
        effort.all = effort.all.saturating_add(alternatives);
        effort.first = effort.first.max(alternatives.saturating_add(told));
        if node.unevaluated {
            effort.work = effort.work.saturating_add(effort.again);
        }
        Some(effort)
    }

    /// Adds the effort of each of these subschemas on each of these items or members.
    fn inside<'v>(
        &mut self,
        effort: &mut Effort,
        steps: &[usize],
        values: impl IntoIterator<Item = &'v Value>,
        above: usize,
    ) -> Option<()> {
        for value in values {
            for to in steps {
                let inner = self.of(*to, Part::Value(value), above + 1)?;
                effort.again = effort.again.saturating_add(inner.work);
                effort.add(inner, false);
            }
        }
        Some(())
    }
}

impl Effort {
    fn add(&mut self, inner: Self, alternative: bool) {
        self.work = self.work.saturating_add(inner.work);
        self.steps += inner.steps;
        if !alternative {
            self.all = self.all.saturating_add(inner.all);
            self.first = self.first.max(inner.first);
        }
    }
}

/// The work of patterns with so many states on so many bytes, in the worst case.
fn matching(states: u64, bytes: u64) -> u64 {
    states.saturating_mul(bytes) / 16
}

#[cfg(test)]
mod tests;
