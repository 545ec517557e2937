//! Holding the text of a value against a shape.
//!
//! The text is read once, as deep as the schema has something to say, and nothing is copied. The
//! same walk decides, which ends at the first fault, and tells, which collects them.

use std::collections::HashSet;

use serde_json::Value;

use super::cursor::{Broken, Cursor, Token};
use super::equal::{all_differ, equal};
use super::members::{Seen, items, names};
use super::node::{Array, Id, Kinds, Node, Num, Object, Pattern, Range, Text};
use super::place::{Place, Step};
use super::told;
use crate::shorten::shorten;
use crate::violation::{MAX_VIOLATIONS, Violation};

/// The most work of telling what is wrong.
const MAX_TOLD: u64 = 1_000_000;

/// The longest chain of nodes, each inside the other. It bounds the stack.
const MAX_CHAIN: usize = 256;

/// The deepest nesting of a value, as serde_json has it.
const MAX_DEPTH: usize = 128;

/// Why a walk ended before the value did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// It does not fit; enough is known.
    Unfit,
    /// It makes more work than the bound.
    Costly,
}

/// A walk over one value.
pub(super) struct Holder<'s> {
    pub(super) nodes: &'s [Node],
    work: u64,
    chain: usize,
    /// What is wrong, where it is asked for.
    told: Option<Vec<Violation>>,
}

type End<'v> = Result<Cursor<'v>, Stop>;

impl<'s> Holder<'s> {
    /// A walk that ends at the first fault, or when that much work was done: about one for each
    /// comparison.
    pub(super) fn deciding(nodes: &'s [Node], work: u64) -> Self {
        Self {
            nodes,
            work,
            chain: 0,
            told: None,
        }
    }

    /// What is wrong with a value that does not fit; empty if it is too much work to say.
    pub(super) fn tell(nodes: &'s [Node], root: Id, text: &str) -> Vec<Violation> {
        let mut holder = Self {
            told: Some(Vec::new()),
            ..Self::deciding(nodes, MAX_TOLD)
        };
        let _ = holder.hold(root, Cursor::new(text), &Place::ROOT);
        holder.told.unwrap_or_default()
    }

    /// Whether a value fits a node.
    pub(super) fn fits(&mut self, id: Id, at: Cursor<'_>, place: &Place<'_>) -> Result<bool, Stop> {
        let told = self.told.take();
        let end = self.hold(id, at, place);
        self.told = told;
        match end {
            Ok(_) => Ok(true),
            Err(Stop::Unfit) => Ok(false),
            Err(Stop::Costly) => Err(Stop::Costly),
        }
    }

    /// What a branch finds wrong.
    pub(super) fn faults_of(
        &mut self,
        id: Id,
        at: Cursor<'_>,
        place: &Place<'_>,
    ) -> Result<Vec<Violation>, Stop> {
        let told = self.told.replace(Vec::new());
        let end = self.hold(id, at, place);
        let found = std::mem::replace(&mut self.told, told).unwrap_or_default();
        match end {
            Err(Stop::Costly) => Err(Stop::Costly),
            _ => Ok(found),
        }
    }

    /// Tells a fault, or ends the walk if one is enough.
    pub(super) fn fault(
        &mut self,
        place: &Place<'_>,
        message: impl FnOnce() -> String,
    ) -> Result<(), Stop> {
        let Some(told) = &mut self.told else {
            return Err(Stop::Unfit);
        };
        told.push(Violation::new(place.pointer(), message()));
        if told.len() < MAX_VIOLATIONS {
            Ok(())
        } else {
            Err(Stop::Unfit)
        }
    }

    /// Holds the value at a place against a node; gives the place behind the value.
    pub(super) fn hold<'v>(&mut self, id: Id, at: Cursor<'v>, place: &Place<'_>) -> End<'v> {
        self.spend(1)?;
        if self.chain >= MAX_CHAIN {
            return Err(Stop::Costly);
        }
        self.chain += 1;
        let end = self.node(id, at, place);
        self.chain -= 1;
        end
    }

    fn node<'v>(&mut self, id: Id, at: Cursor<'v>, place: &Place<'_>) -> End<'v> {
        let node = &self.nodes[id];
        let mut next = at;
        let token = match next.token() {
            Ok(token) => token,
            Err(broken) => return self.broken(broken, place),
        };
        self.spend_text(at, next)?;
        let (kinds, number) = match token {
            Token::Null => (Kinds::NULL, None),
            Token::Bool(_) => (Kinds::BOOLEAN, None),
            Token::Number(text) => match Num::read(text) {
                Some(number) => (number.kind(), Some(number)),
                None => {
                    self.fault(place, || {
                        format!("is beyond the numbers there are: {}", shorten(text))
                    })?;
                    return Ok(next);
                }
            },
            Token::Text(_) => (Kinds::STRING, None),
            Token::Array => (Kinds::ARRAY, None),
            Token::Object => (Kinds::OBJECT, None),
        };
        let open = matches!(token, Token::Array | Token::Object);
        if open && place.depth >= MAX_DEPTH {
            self.fault(place, || "is nested too deep".to_owned())?;
            return self.pass(at, place);
        }
        let end = if open && !has_inside(node, kinds) {
            self.pass(at, place)?
        } else {
            next
        };
        let mut fits = node.kinds.has(kinds);
        if fits && let Some(options) = &node.options {
            fits = self.is_option(options, token, number, at, place)?;
        }
        if fits {
            fits = match (token, &node.number, &node.text) {
                (Token::Text(quoted), _, Some(text)) => match quoted.read() {
                    Ok(read) => self.text_fits(text, &read)?,
                    Err(broken) => return self.broken(broken, place),
                },
                (Token::Number(_), Some(range), _) => number.is_some_and(|n| in_range(n, range)),
                _ => true,
            };
        }
        if !fits {
            if self.told.is_none() {
                return Err(Stop::Unfit);
            }
            let end = self.pass(at, place)?;
            self.fault(place, || told::unfit(node, at.until(end)))?;
            return Ok(end);
        }
        let end = match (token, &node.object, &node.array) {
            (Token::Object, Some(object), _) => self.object(object, end, place)?,
            (Token::Array, _, Some(array)) => self.array(array, end, place)?,
            _ => end,
        };
        for id in &node.all {
            self.hold(*id, at, place)?;
        }
        if let Some(branches) = &node.any {
            self.any(branches, at, kinds, place)?;
        }
        if let Some(branches) = &node.one {
            self.one(branches, at, kinds, place)?;
        }
        Ok(end)
    }

    fn any(
        &mut self,
        branches: &[Id],
        at: Cursor<'_>,
        kind: Kinds,
        place: &Place<'_>,
    ) -> Result<(), Stop> {
        for id in branches {
            if self.fits(*id, at, place)? {
                return Ok(());
            }
        }
        self.none_fits(branches, at, kind, place)
    }

    fn one(
        &mut self,
        branches: &[Id],
        at: Cursor<'_>,
        kind: Kinds,
        place: &Place<'_>,
    ) -> Result<(), Stop> {
        let mut fitting = 0;
        for id in branches {
            fitting += usize::from(self.fits(*id, at, place)?);
        }
        match fitting {
            0 => self.none_fits(branches, at, kind, place),
            1 => Ok(()),
            _ => self.fault(place, || {
                let mut end = at;
                let got = match end.skip() {
                    Ok(()) => shorten(at.until(end)),
                    Err(Broken) => String::new(),
                };
                format!("expected exactly one of the alternatives to fit, got {got}")
            }),
        }
    }

    fn none_fits(
        &mut self,
        branches: &[Id],
        at: Cursor<'_>,
        kind: Kinds,
        place: &Place<'_>,
    ) -> Result<(), Stop> {
        if self.told.is_none() {
            return Err(Stop::Unfit);
        }
        for violation in told::alternatives(self, branches, at, kind, place)? {
            let Some(told) = &mut self.told else {
                return Err(Stop::Unfit);
            };
            told.push(violation);
            if told.len() >= MAX_VIOLATIONS {
                return Err(Stop::Unfit);
            }
        }
        Ok(())
    }

    fn object<'v>(&mut self, object: &'s Object, inside: Cursor<'v>, place: &Place<'_>) -> End<'v> {
        // All of them are looked at when it ends, to see which are missing.
        self.spend(object.members.len() as u64 / 16)?;
        let mut seen = Seen::new(object.members.len());
        let mut at = inside;
        let mut count = 0u64;
        loop {
            let before = at;
            let name = at.member(count == 0);
            self.spend_text(before, at)?;
            let name = match name {
                Ok(Some(name)) => name,
                Ok(None) => break,
                Err(broken) => return self.broken(broken, place),
            };
            count += 1;
            self.spend(1)?;
            let name = match name.read() {
                Ok(name) => name,
                Err(broken) => return self.broken(broken, place),
            };
            let here = place.inside(Step::Name(&name));
            let known = object.find(&name);
            if let Some(index) = known
                && !seen.mark(index)
            {
                self.fault(&here, || "is given more than once".to_owned())?;
            }
            let mut end = None;
            let declared = known.and_then(|index| object.members[index].node);
            if let Some(node) = declared {
                end = Some(self.hold(node, at, &here)?);
            }
            for (pattern, node) in &object.patterns {
                if self.matches(pattern, &name)? {
                    end = Some(self.hold(*node, at, &here)?);
                }
            }
            at = match (end, object.rest) {
                (Some(end), _) => end,
                (None, Some(_)) if object.closed => {
                    self.fault(&here, || told::unexpected(object, &name))?;
                    self.pass(at, &here)?
                }
                (None, Some(rest)) => self.hold(rest, at, &here)?,
                (None, None) => self.pass(at, &here)?,
            };
        }
        for (index, member) in object.members.iter().enumerate() {
            if member.required && !seen.has(index) {
                let here = place.inside(Step::Name(&member.name));
                self.fault(&here, || told::missing(object, &member.name, inside))?;
            }
        }
        if !object.length.is_open() {
            self.spend_text(inside, at)?;
            let distinct = names(inside).collect::<HashSet<_>>().len() as u64;
            if !object.length.admits(distinct) {
                self.fault(place, || {
                    format!(
                        "expected {} members, got {distinct}",
                        told::amount(object.length)
                    )
                })?;
            }
        }
        Ok(at)
    }

    fn array<'v>(&mut self, array: &'s Array, inside: Cursor<'v>, place: &Place<'_>) -> End<'v> {
        let mut at = inside;
        let mut count = 0usize;
        loop {
            let before = at;
            let another = at.item(count == 0);
            self.spend_text(before, at)?;
            match another {
                Ok(true) => self.spend(1)?,
                Ok(false) => break,
                Err(broken) => return self.broken(broken, place),
            }
            let here = place.inside(Step::Index(count));
            at = match array.first.get(count).copied().or(array.rest) {
                Some(node) => self.hold(node, at, &here)?,
                None => self.pass(at, &here)?,
            };
            count += 1;
        }
        if !array.length.admits(count as u64) {
            self.fault(place, || {
                format!("expected {} items, got {count}", told::amount(array.length))
            })?;
        }
        if array.unique && count > 1 {
            // Each item is read, written anew and compared.
            self.spend(inside.distance(at))?;
            let items = items(inside, count);
            let differ = items.as_deref().map(all_differ);
            if differ == Some(false) {
                self.fault(place, || format!("expected {count} items that all differ"))?;
            }
        }
        Ok(at)
    }

    fn is_option(
        &mut self,
        options: &[Value],
        token: Token<'_>,
        number: Option<Num>,
        at: Cursor<'_>,
        place: &Place<'_>,
    ) -> Result<bool, Stop> {
        self.spend(options.len() as u64)?;
        Ok(match token {
            Token::Null => options.iter().any(Value::is_null),
            Token::Bool(flag) => options.contains(&Value::Bool(flag)),
            Token::Number(_) => options.iter().any(|option| match (option, number) {
                (Value::Number(option), Some(number)) => {
                    number.compare(Num::of(option)) == Some(std::cmp::Ordering::Equal)
                }
                _ => false,
            }),
            Token::Text(quoted) => {
                self.spend(quoted.written().len() as u64 / 64)?;
                match quoted.read() {
                    Ok(text) => options.iter().any(|option| option.as_str() == Some(&*text)),
                    Err(Broken) => false,
                }
            }
            Token::Array | Token::Object => {
                let end = self.pass(at, place)?;
                let text = at.until(end);
                self.spend((text.len() as u64).saturating_mul(options.len() as u64))?;
                match serde_json::from_str::<Value>(text) {
                    Ok(value) => options.iter().any(|option| equal(option, &value)),
                    Err(_) => false,
                }
            }
        })
    }

    fn text_fits(&mut self, text: &Text, read: &str) -> Result<bool, Stop> {
        self.spend(read.len() as u64 / 64)?;
        if !text.length.is_open() && !text.length.admits(read.chars().count() as u64) {
            return Ok(false);
        }
        match &text.pattern {
            Some(pattern) => self.matches(pattern, read),
            None => Ok(true),
        }
    }

    fn matches(&mut self, pattern: &Pattern, text: &str) -> Result<bool, Stop> {
        self.spend(pattern.states.saturating_mul(text.len() as u64 + 1))?;
        Ok(pattern.regex.is_match(text))
    }

    /// Passes over the value at a place.
    fn pass<'v>(&mut self, at: Cursor<'v>, place: &Place<'_>) -> End<'v> {
        let mut end = at;
        if let Err(broken) = end.skip() {
            return self.broken(broken, place);
        }
        self.spend_text(at, end)?;
        Ok(end)
    }

    fn broken<'v>(&mut self, Broken: Broken, place: &Place<'_>) -> End<'v> {
        self.fault(place, || "is not valid JSON text".to_owned())?;
        Err(Stop::Unfit)
    }

    /// For the text that was read between two places, the white space in it too.
    fn spend_text(&mut self, from: Cursor<'_>, to: Cursor<'_>) -> Result<(), Stop> {
        self.spend(from.distance(to) / 64)
    }

    /// Takes work from what is left. What is too much leaves none: no other walk begins after it.
    pub(super) fn spend(&mut self, work: u64) -> Result<(), Stop> {
        let left = self.work.checked_sub(work);
        self.work = left.unwrap_or_default();
        left.map(|_| ()).ok_or(Stop::Costly)
    }
}

/// Whether a node has something to say about what is inside an array or object.
fn has_inside(node: &Node, kinds: Kinds) -> bool {
    match kinds {
        Kinds::OBJECT => node.object.is_some(),
        _ => node.array.is_some(),
    }
}

fn in_range(number: Num, range: &Range) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let holds = |bound: &Option<_>, fits: &[std::cmp::Ordering]| {
        bound.as_ref().is_none_or(|bound| {
            let order = number.compare(Num::of(bound));
            order.is_some_and(|order| fits.contains(&order))
        })
    };
    holds(&range.minimum, &[Equal, Greater])
        && holds(&range.maximum, &[Equal, Less])
        && holds(&range.above, &[Greater])
        && holds(&range.below, &[Less])
        && range
            .multiple_of
            .as_ref()
            .is_none_or(|unit| number.is_multiple_of(Num::of(unit)))
}
