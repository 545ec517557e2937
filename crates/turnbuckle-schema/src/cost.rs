//! An estimate of the work of a validation, made before the engine starts.
//!
//! Every application of a subschema to a part of the value counts as one step, weighted by its
//! keywords. The estimate stops at its bound, so that it costs no more than the validations that it
//! allows.

use std::collections::HashMap;

use serde_json::Value;

use crate::check::address;
use crate::plan::{Plan, text_size};

/// The longest chain of nested subschema applications. Bounds the stack.
pub(crate) const MAX_CHAIN: usize = 512;

/// The cost of a validation, in units of about one comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ValidationCost {
    /// Of the decision.
    pub(crate) work: u64,
    /// Of asking again which members and items were evaluated, for those keywords that depend on it.
    reevaluation: u64,
    /// Of telling every violation.
    pub(crate) all_errors: u64,
    /// Of telling the first violation, whichever it is.
    pub(crate) first_error: u64,
    /// The number of counted applications.
    pub(crate) applications: u64,
}

/// Estimates the cost of a validation. Returns `None` if it exceeds `most` or another bound.
pub(crate) fn estimate_cost(plan: &Plan, value: &Value, most: u64) -> Option<ValidationCost> {
    let mut count = CostCounter {
        plan,
        sizes: HashMap::new(),
        remaining: most,
    };
    count.measure(value);
    let effort = count.cost_of(0, CostTarget::Value(value), 0)?;
    (effort.work <= most).then_some(effort)
}

/// The part of a value that a subschema applies to.
#[derive(Clone, Copy)]
enum CostTarget<'a> {
    Value(&'a Value),
    Name(&'a str),
}

impl<'a> CostTarget<'a> {
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

struct CostCounter<'a> {
    plan: &'a Plan,
    /// The sizes of the lists and objects in the value, by their addresses.
    sizes: HashMap<usize, u64>,
    remaining: u64,
}

impl CostCounter<'_> {
    fn measure(&mut self, value: &Value) -> u64 {
        let size = match value {
            Value::String(text) => return text_size(text),
            Value::Array(items) => 1 + items.iter().map(|item| self.measure(item)).sum::<u64>(),
            Value::Object(members) => members.iter().fold(1, |sum, (name, member)| {
                sum + text_size(name) + self.measure(member)
            }),
            _ => return 1,
        };
        self.sizes.insert(address(value), size);
        size
    }

    fn size(&self, part: CostTarget<'_>) -> u64 {
        match part {
            CostTarget::Name(name) => text_size(name),
            CostTarget::Value(Value::String(text)) => text_size(text),
            CostTarget::Value(value) => self.sizes.get(&address(value)).copied().unwrap_or(1),
        }
    }

    /// Returns the cost of a subschema's own keywords.
    fn own_cost(&self, node: usize, part: CostTarget<'_>) -> u64 {
        let node = &self.plan.nodes[node];
        let size = self.size(part);
        let mut work = node.weight;
        if node.enum_count > 0 {
            work += node.enum_count + node.enum_size.min(node.enum_count.saturating_mul(size));
        }
        if let Some(text) = part.text() {
            // Lengths are counted in characters, so the whole text is read.
            work += size;
            work = work.saturating_add(pattern_cost(node.pattern_states, text.len() as u64));
        }
        match part.value() {
            Some(Value::Array(items)) if node.unique_items => {
                // An attacker can make nested items collide in their hash; then all are compared.
                let nested = items.iter().any(|item| item.is_array() || item.is_object());
                let compared = if nested { items.len() as u64 } else { 16 };
                work = work.saturating_add(size.saturating_mul(compared));
            }
            Some(Value::Object(members)) => {
                // Each declared property is looked up, present or not.
                work += members.len() as u64 + node.edges.members.len() as u64;
                if node.name_pattern_states > 0 {
                    let bytes = members
                        .keys()
                        .map(|name| 1 + name.len() as u64)
                        .sum::<u64>();
                    work = work.saturating_add(pattern_cost(node.name_pattern_states, bytes));
                }
            }
            _ => {}
        }
        work
    }

    /// Returns an upper bound of the cost, or `None` if a bound is exceeded.
    fn cost_of(
        &mut self,
        node: usize,
        part: CostTarget<'_>,
        above: usize,
    ) -> Option<ValidationCost> {
        if above > MAX_CHAIN {
            return None;
        }
        let own = self.own_cost(node, part);
        self.remaining = self.remaining.checked_sub(own)?;
        let plan = self.plan;
        let node = &plan.nodes[node];
        // A violation repeats the value and the listed alternatives.
        let violation_cost = node.weight.saturating_add(self.size(part));
        let mut effort = ValidationCost {
            work: own,
            reevaluation: 0,
            all_errors: own.saturating_add(violation_cost),
            first_error: violation_cost,
            applications: 1,
        };
        let mut alternatives = 0u64;
        for step in &node.edges.same_value {
            let inner = self.cost_of(step.target, part, above + 1)?;
            effort.reevaluation = effort
                .reevaluation
                .saturating_add(inner.work)
                .saturating_add(inner.reevaluation);
            if step.alternative {
                // If none matches, each is decided first and then explained.
                alternatives = alternatives
                    .saturating_add(inner.all_errors)
                    .saturating_add(inner.work);
            }
            effort.add(inner, step.alternative);
        }
        match part {
            CostTarget::Value(Value::Array(items)) => {
                self.add_children(&mut effort, &node.edges.members_or_items, items, above)?;
            }
            CostTarget::Value(Value::Object(members)) => {
                for (name, to) in &node.edges.members {
                    if let Some(member) = members.get(&**name) {
                        effort.add(
                            self.cost_of(*to, CostTarget::Value(member), above + 1)?,
                            false,
                        );
                    }
                }
                self.add_children(
                    &mut effort,
                    &node.edges.members_or_items,
                    members.values(),
                    above,
                )?;
                for name in members.keys() {
                    for to in &node.edges.member_names {
                        effort.add(self.cost_of(*to, CostTarget::Name(name), above + 1)?, false);
                    }
                }
            }
            _ => {}
        }
        effort.all_errors = effort.all_errors.saturating_add(alternatives);
        effort.first_error = effort
            .first_error
            .max(alternatives.saturating_add(violation_cost));
        if node.has_unevaluated {
            effort.work = effort.work.saturating_add(effort.reevaluation);
        }
        Some(effort)
    }

    /// Adds the cost of each subschema on each item or member.
    fn add_children<'v>(
        &mut self,
        effort: &mut ValidationCost,
        steps: &[usize],
        values: impl IntoIterator<Item = &'v Value>,
        above: usize,
    ) -> Option<()> {
        for value in values {
            for to in steps {
                let inner = self.cost_of(*to, CostTarget::Value(value), above + 1)?;
                effort.reevaluation = effort.reevaluation.saturating_add(inner.work);
                effort.add(inner, false);
            }
        }
        Some(())
    }
}

impl ValidationCost {
    fn add(&mut self, inner: Self, alternative: bool) {
        self.work = self.work.saturating_add(inner.work);
        self.applications += inner.applications;
        if !alternative {
            self.all_errors = self.all_errors.saturating_add(inner.all_errors);
            self.first_error = self.first_error.max(inner.first_error);
        }
    }
}

/// Returns the worst-case work of patterns with `states` states on `bytes` bytes.
fn pattern_cost(states: u64, bytes: u64) -> u64 {
    states.saturating_mul(bytes) / 16
}

#[cfg(test)]
mod tests;
