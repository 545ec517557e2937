//! Validation of JSON text.
//!
//! The text is read once, only as deep as the schema has rules, and nothing is copied. The same
//! walk decides, which ends at the first violation, or explains, which collects violations.

use std::collections::HashSet;

use serde_json::Value;

use super::cursor::{Cursor, MalformedJson, Token};
use super::equal::{all_distinct, values_equal};
use super::members::{SeenMembers, member_names, parse_items};
use super::messages;
use super::node::{
    ArrayRules, CompiledPattern, Node, NodeId, NumericValue, ObjectRules, StringRules, TypeSet,
};
use super::path::{PathSegment, ValuePath};
use crate::violation::{MAX_VIOLATIONS, Violation};
use turnbuckle_types::base::text::shorten;

/// The most work of explaining violations.
const MAX_EXPLAIN_WORK: u64 = 1_000_000;

/// The longest chain of nested rules. Bounds the stack.
const MAX_CHAIN: usize = 256;

/// The deepest nesting of a value, like that of serde_json.
const MAX_DEPTH: usize = 128;

/// The reason why a walk ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    /// The value is invalid and no more violations are wanted.
    Mismatch,
    /// The text is not valid JSON, which [`ValueWalker::validate`] reports.
    Malformed,
    /// The work limit was reached.
    TooCostly,
}

impl From<MalformedJson> for StopReason {
    fn from(_: MalformedJson) -> Self {
        Self::Malformed
    }
}

/// A walk over one value.
pub(super) struct ValueWalker<'s> {
    pub(super) nodes: &'s [Node],
    work: u64,
    chain: usize,
    /// The violations, if they are collected.
    violations: Option<Vec<Violation>>,
}

type WalkResult<'v> = Result<Cursor<'v>, StopReason>;

impl<'s> ValueWalker<'s> {
    /// Creates a walk that ends at the first violation, or after this much work.
    pub(super) fn new(nodes: &'s [Node], work: u64) -> Self {
        Self {
            nodes,
            work,
            chain: 0,
            violations: None,
        }
    }

    /// Returns the violations of an invalid value; empty if explaining is too much work.
    pub(super) fn explain(nodes: &'s [Node], root: NodeId, text: &str) -> Vec<Violation> {
        let mut holder = Self {
            violations: Some(Vec::new()),
            ..Self::new(nodes, MAX_EXPLAIN_WORK)
        };
        let _ = holder.validate(root, Cursor::new(text), &ValuePath::ROOT);
        holder.violations.unwrap_or_default()
    }

    /// Returns whether a value matches a node.
    pub(super) fn fits(
        &mut self,
        id: NodeId,
        at: Cursor<'_>,
        place: &ValuePath<'_>,
    ) -> Result<bool, StopReason> {
        let outer = self.violations.take();
        let end = self.validate(id, at, place);
        self.violations = outer;
        match end {
            Ok(_) => Ok(true),
            Err(StopReason::TooCostly) => Err(StopReason::TooCostly),
            Err(_) => Ok(false),
        }
    }

    /// Returns the violations of one branch.
    pub(super) fn violations_of(
        &mut self,
        id: NodeId,
        at: Cursor<'_>,
        place: &ValuePath<'_>,
    ) -> Result<Vec<Violation>, StopReason> {
        let outer = self.violations.replace(Vec::new());
        let end = self.validate(id, at, place);
        let found = std::mem::replace(&mut self.violations, outer).unwrap_or_default();
        match end {
            Err(StopReason::TooCostly) => Err(StopReason::TooCostly),
            _ => Ok(found),
        }
    }

    /// Records a violation, or ends the walk if none are collected.
    pub(super) fn report(
        &mut self,
        place: &ValuePath<'_>,
        message: impl FnOnce() -> String,
    ) -> Result<(), StopReason> {
        let Some(violations) = &mut self.violations else {
            return Err(StopReason::Mismatch);
        };
        violations.push(Violation::new(place.pointer(), message()));
        if violations.len() < MAX_VIOLATIONS {
            Ok(())
        } else {
            Err(StopReason::Mismatch)
        }
    }

    /// Validates the value at a position and returns the position behind it.
    pub(super) fn validate<'v>(
        &mut self,
        id: NodeId,
        at: Cursor<'v>,
        place: &ValuePath<'_>,
    ) -> WalkResult<'v> {
        self.spend(1)?;
        if self.chain >= MAX_CHAIN {
            return Err(StopReason::TooCostly);
        }
        self.chain += 1;
        let end = self.validate_node(id, at, place);
        self.chain -= 1;
        if let Err(StopReason::Malformed) = end {
            self.report(place, || "is not valid JSON text".to_owned())?;
            return Err(StopReason::Mismatch);
        }
        end
    }

    fn validate_node<'v>(
        &mut self,
        id: NodeId,
        at: Cursor<'v>,
        place: &ValuePath<'_>,
    ) -> WalkResult<'v> {
        let node = &self.nodes[id];
        let mut next = at;
        let token = next.read_token()?;
        self.spend_bytes(at, next)?;
        let (kinds, number) = match token {
            Token::Null => (TypeSet::NULL, None),
            Token::Bool(_) => (TypeSet::BOOLEAN, None),
            Token::Number(text) => match NumericValue::parse(text) {
                Some(number) => (number.json_type(), Some(number)),
                None => {
                    self.report(place, || {
                        format!("is beyond the numbers there are: {}", shorten(text))
                    })?;
                    return Ok(next);
                }
            },
            Token::Text(_) => (TypeSet::STRING, None),
            Token::Array => (TypeSet::ARRAY, None),
            Token::Object => (TypeSet::OBJECT, None),
        };
        let open = matches!(token, Token::Array | Token::Object);
        if open && place.depth >= MAX_DEPTH {
            self.report(place, || "is nested too deep".to_owned())?;
            return self.skip(at);
        }
        let end = if open && !node.constrains_contents(kinds) {
            self.skip(at)?
        } else {
            next
        };
        let mut fits = node.types.intersects(kinds);
        if fits && let Some(options) = &node.options {
            fits = self.matches_option(options, token, number, at)?;
        }
        if fits {
            fits = match (token, &node.number, &node.text) {
                (Token::Text(quoted), _, Some(text)) => {
                    self.matches_text_rules(text, &quoted.decode()?)?
                }
                (Token::Number(_), Some(range), _) => number.is_some_and(|n| range.allows(n)),
                _ => true,
            };
        }
        if !fits {
            if self.violations.is_none() {
                return Err(StopReason::Mismatch);
            }
            let end = self.skip(at)?;
            self.report(place, || {
                messages::mismatch_message(node, at.text_until(end))
            })?;
            return Ok(end);
        }
        let end = match (token, &node.object, &node.array) {
            (Token::Object, Some(object), _) => self.validate_object(object, end, place)?,
            (Token::Array, _, Some(array)) => self.validate_array(array, end, place)?,
            _ => end,
        };
        for id in &node.all_of {
            self.validate(*id, at, place)?;
        }
        if let Some(branches) = &node.any_of {
            self.validate_any_of(branches, at, kinds, place)?;
        }
        if let Some(branches) = &node.one_of {
            self.validate_one_of(branches, at, kinds, place)?;
        }
        Ok(end)
    }

    fn validate_any_of(
        &mut self,
        branches: &[NodeId],
        at: Cursor<'_>,
        kind: TypeSet,
        place: &ValuePath<'_>,
    ) -> Result<(), StopReason> {
        for id in branches {
            if self.fits(*id, at, place)? {
                return Ok(());
            }
        }
        self.report_no_match(branches, at, kind, place)
    }

    fn validate_one_of(
        &mut self,
        branches: &[NodeId],
        at: Cursor<'_>,
        kind: TypeSet,
        place: &ValuePath<'_>,
    ) -> Result<(), StopReason> {
        let mut fitting = 0;
        for id in branches {
            fitting += usize::from(self.fits(*id, at, place)?);
        }
        match fitting {
            0 => self.report_no_match(branches, at, kind, place),
            1 => Ok(()),
            _ => self.report(place, || {
                let mut end = at;
                let got = match end.skip_value() {
                    Ok(()) => shorten(at.text_until(end)),
                    Err(MalformedJson) => String::new(),
                };
                format!("expected exactly one of the alternatives to fit, got {got}")
            }),
        }
    }

    fn report_no_match(
        &mut self,
        branches: &[NodeId],
        at: Cursor<'_>,
        kind: TypeSet,
        place: &ValuePath<'_>,
    ) -> Result<(), StopReason> {
        if self.violations.is_none() {
            return Err(StopReason::Mismatch);
        }
        for violation in messages::no_match_violations(self, branches, at, kind, place)? {
            let Some(violations) = &mut self.violations else {
                return Err(StopReason::Mismatch);
            };
            violations.push(violation);
            if violations.len() >= MAX_VIOLATIONS {
                return Err(StopReason::Mismatch);
            }
        }
        Ok(())
    }

    fn validate_object<'v>(
        &mut self,
        object: &'s ObjectRules,
        inside: Cursor<'v>,
        place: &ValuePath<'_>,
    ) -> WalkResult<'v> {
        // At the end, all declared members are checked for presence.
        self.spend(object.members.len() as u64 / 16)?;
        let mut seen = SeenMembers::new(object.members.len());
        let mut at = inside;
        let mut count = 0u64;
        loop {
            let before = at;
            let name = at.next_member(count == 0);
            self.spend_bytes(before, at)?;
            let Some(name) = name? else {
                break;
            };
            count += 1;
            self.spend(1)?;
            let name = name.decode()?;
            let here = place.child(PathSegment::Name(&name));
            let known = object.member_index(&name);
            if let Some(index) = known
                && !seen.mark(index)
            {
                self.report(&here, || "is given more than once".to_owned())?;
            }
            let mut end = None;
            let declared = known.and_then(|index| object.members[index].node);
            if let Some(node) = declared {
                end = Some(self.validate(node, at, &here)?);
            }
            for (pattern, node) in &object.patterns {
                if self.matches_pattern(pattern, &name)? {
                    end = Some(self.validate(*node, at, &here)?);
                }
            }
            at = match (end, object.rest) {
                (Some(end), _) => end,
                (None, Some(_)) if object.is_closed => {
                    self.report(&here, || messages::unexpected_member_message(object, &name))?;
                    self.skip(at)?
                }
                (None, Some(rest)) => self.validate(rest, at, &here)?,
                (None, None) => self.skip(at)?,
            };
        }
        for (index, member) in object.members.iter().enumerate() {
            if member.required && !seen.contains(index) {
                let here = place.child(PathSegment::Name(&member.name));
                self.report(&here, || {
                    messages::missing_member_message(object, &member.name, inside)
                })?;
            }
        }
        if !object.length.is_unbounded() {
            self.spend_bytes(inside, at)?;
            let distinct = member_names(inside).collect::<HashSet<_>>().len() as u64;
            if !object.length.contains(distinct) {
                self.report(place, || {
                    format!(
                        "expected {} members, got {distinct}",
                        messages::describe_count(object.length)
                    )
                })?;
            }
        }
        Ok(at)
    }

    fn validate_array<'v>(
        &mut self,
        array: &'s ArrayRules,
        inside: Cursor<'v>,
        place: &ValuePath<'_>,
    ) -> WalkResult<'v> {
        let mut at = inside;
        let mut count = 0usize;
        loop {
            let before = at;
            let another = at.next_item(count == 0);
            self.spend_bytes(before, at)?;
            if !another? {
                break;
            }
            self.spend(1)?;
            let here = place.child(PathSegment::Index(count));
            at = match array.prefix.get(count).copied().or(array.rest) {
                Some(node) => self.validate(node, at, &here)?,
                None => self.skip(at)?,
            };
            count += 1;
        }
        if !array.length.contains(count as u64) {
            self.report(place, || {
                format!(
                    "expected {} items, got {count}",
                    messages::describe_count(array.length)
                )
            })?;
        }
        if array.unique && count > 1 {
            // Each item is parsed, written as a key, and compared.
            self.spend(inside.bytes_until(at))?;
            let items = parse_items(inside, count);
            let differ = items.as_deref().map(all_distinct);
            if differ == Some(false) {
                self.report(place, || format!("expected {count} items that all differ"))?;
            }
        }
        Ok(at)
    }

    fn matches_option(
        &mut self,
        options: &[Value],
        token: Token<'_>,
        number: Option<NumericValue>,
        at: Cursor<'_>,
    ) -> Result<bool, StopReason> {
        self.spend(options.len() as u64)?;
        Ok(match token {
            Token::Null => options.iter().any(Value::is_null),
            Token::Bool(flag) => options.contains(&Value::Bool(flag)),
            Token::Number(_) => options.iter().any(|option| match (option, number) {
                (Value::Number(option), Some(number)) => {
                    number.compare(NumericValue::of_number(option))
                        == Some(std::cmp::Ordering::Equal)
                }
                _ => false,
            }),
            Token::Text(quoted) => {
                self.spend(quoted.as_written().len() as u64 / 64)?;
                match quoted.decode() {
                    Ok(text) => options.iter().any(|option| option.as_str() == Some(&*text)),
                    Err(MalformedJson) => false,
                }
            }
            Token::Array | Token::Object => {
                let end = self.skip(at)?;
                let text = at.text_until(end);
                self.spend((text.len() as u64).saturating_mul(options.len() as u64))?;
                match serde_json::from_str::<Value>(text) {
                    Ok(value) => options.iter().any(|option| values_equal(option, &value)),
                    Err(_) => false,
                }
            }
        })
    }

    fn matches_text_rules(&mut self, text: &StringRules, read: &str) -> Result<bool, StopReason> {
        self.spend(read.len() as u64 / 64)?;
        if !text.length.is_unbounded() && !text.length.contains(read.chars().count() as u64) {
            return Ok(false);
        }
        match &text.pattern {
            Some(pattern) => self.matches_pattern(pattern, read),
            None => Ok(true),
        }
    }

    fn matches_pattern(
        &mut self,
        pattern: &CompiledPattern,
        text: &str,
    ) -> Result<bool, StopReason> {
        self.spend(pattern.states.saturating_mul(text.len() as u64 + 1))?;
        Ok(pattern.regex.is_match(text))
    }

    /// Skips the value at a position.
    fn skip<'v>(&mut self, at: Cursor<'v>) -> WalkResult<'v> {
        let mut end = at;
        end.skip_value()?;
        self.spend_bytes(at, end)?;
        Ok(end)
    }

    /// Spends the work of reading the text between two positions.
    fn spend_bytes(&mut self, from: Cursor<'_>, to: Cursor<'_>) -> Result<(), StopReason> {
        self.spend(from.bytes_until(to) / 64)
    }

    /// Takes work from the remaining budget. After an overdraft nothing is left, so no other walk
    /// starts.
    pub(super) fn spend(&mut self, work: u64) -> Result<(), StopReason> {
        let left = self.work.checked_sub(work);
        self.work = left.unwrap_or_default();
        left.map(|_| ()).ok_or(StopReason::TooCostly)
    }
}
