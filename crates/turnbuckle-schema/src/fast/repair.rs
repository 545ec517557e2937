//! Lenient reading of values, guided by the schema.
//!
//! The repaired text is assembled from the received text: unrepaired parts keep their spelling.

use std::borrow::Cow;

use turnbuckle_types::RawJson;

use super::compile::ANY_VALUE;
use super::cursor::{Cursor, Token};
use super::node::{Node, NodeId, NumericValue, ObjectRules, TypeSet};
use super::path::ValuePath;
use super::walk::ValueWalker;

/// The deepest repair.
const MAX_DEPTH: usize = 64;

/// The most nodes that are visited in one repair.
const MAX_STEPS: usize = 100_000;

/// The most text that is written in one repair: bytes for each received byte, plus a constant.
const MAX_GROWTH: usize = 16;

/// Returns the repaired text of a value, if there is something to repair.
pub(super) fn repair(nodes: &[Node], root: NodeId, text: &str, work: u64) -> Option<String> {
    let mut mender = Repairer {
        holder: ValueWalker::new(nodes, work),
        remaining_steps: MAX_STEPS,
        remaining_bytes: text.len().saturating_mul(MAX_GROWTH) + 4096,
        depth: 0,
        integers_only: false,
    };
    let text = text.trim();
    let mended = mender.repair_value(root, text);
    let meant = mended.as_deref().unwrap_or(text);
    mender.integers_only = may_have_fraction(meant) && mender.fits(root, meant) == Some(true);
    let whole = mender
        .integers_only
        .then(|| mender.repair_value(root, meant))
        .flatten();
    whole.or(mended)
}

/// A repair of one value.
struct Repairer<'s> {
    holder: ValueWalker<'s>,
    /// True if the value is already valid. Then only integers are rewritten.
    integers_only: bool,
    remaining_steps: usize,
    remaining_bytes: usize,
    depth: usize,
}

impl<'s> Repairer<'s> {
    fn fits(&mut self, id: NodeId, text: &str) -> Option<bool> {
        let at = Cursor::new(text);
        self.holder.fits(id, at, &ValuePath::ROOT).ok()
    }

    /// Spends work. Returns `None` if too little is left.
    fn spend(&mut self, work: u64) -> Option<()> {
        self.holder.spend(work).ok()
    }

    fn repair_value(&mut self, id: NodeId, text: &str) -> Option<String> {
        if id == ANY_VALUE || self.depth >= MAX_DEPTH {
            return None;
        }
        if self.integers_only {
            self.spend(1)?;
        } else if self.remaining_steps == 0 || self.fits(id, text)? {
            return None;
        } else {
            self.remaining_steps -= 1;
        }
        self.depth += 1;
        let mended = self.repair_node(id, text);
        self.depth -= 1;
        let mended = mended?;
        self.remaining_bytes = self.remaining_bytes.checked_sub(mended.len())?;
        Some(mended)
    }

    fn repair_node(&mut self, id: NodeId, text: &str) -> Option<String> {
        // The text is skipped and copied.
        self.spend(text.len() as u64 / 64)?;
        let node = &self.holder.nodes[id];
        let mut now = Cow::Borrowed(text);
        let read = if self.integers_only {
            rewrite_integer(node.types, text)
        } else {
            parse_string_as(node.types, text)
        };
        if let Some(read) = read {
            now = Cow::Owned(read);
        }
        let inside = match Cursor::new(&now).read_token() {
            Ok(Token::Object) => {
                let object = node.object.as_deref();
                object.and_then(|object| self.repair_object(object, &now))
            }
            Ok(Token::Array) => self.repair_array(node, &now),
            _ => None,
        };
        if let Some(inside) = inside {
            now = Cow::Owned(inside);
        }
        for id in &node.all_of {
            if let Some(mended) = self.repair_value(*id, &now) {
                now = Cow::Owned(mended);
            }
        }
        for branches in [&node.any_of, &node.one_of].into_iter().flatten() {
            if let Some(mended) = self.repair_branch(branches, &now) {
                now = Cow::Owned(mended);
            }
        }
        match now {
            Cow::Owned(mended) => Some(mended),
            Cow::Borrowed(_) => None,
        }
    }

    /// Repairs the value for the one branch that matches then.
    fn repair_branch(&mut self, branches: &[NodeId], text: &str) -> Option<String> {
        if self.integers_only {
            let mut only = None;
            for id in branches {
                if self.fits(*id, text)? && only.replace(*id).is_some() {
                    return None;
                }
            }
            return self.repair_value(only?, text);
        }
        for id in branches {
            if self.fits(*id, text)? {
                return None;
            }
        }
        let mut only = None;
        for id in branches {
            if let Some(mended) = self.repair_value(*id, text)
                && self.fits(*id, &mended)?
                && only.replace(mended).is_some()
            {
                return None;
            }
        }
        only
    }

    fn repair_object(&mut self, object: &'s ObjectRules, text: &str) -> Option<String> {
        let mut at = Cursor::new(text);
        at.read_token().ok()?;
        let mut written = String::from("{");
        let mut changed = false;
        let mut first = true;
        while let Some(name) = at.next_member(std::mem::take(&mut first)).ok()? {
            self.spend(1)?;
            let start = at;
            at.skip_value().ok()?;
            let value = start.text_until(at);
            let member = object.member_index(&name.decode().ok()?);
            let member = member.map(|index| &object.members[index]);
            let declared = member.and_then(|member| member.node);
            let absent = value == "null"
                && match (member, declared) {
                    (Some(member), Some(node)) => !member.required && !self.fits(node, value)?,
                    (None, _) => object.is_closed && object.patterns.is_empty(),
                    _ => false,
                };
            if absent {
                changed = true;
                continue;
            }
            let node = declared.or_else(|| object.rest.filter(|_| object.patterns.is_empty()));
            let mended = node.and_then(|node| self.repair_value(node, value));
            changed |= mended.is_some();
            if written.len() > 1 {
                written.push(',');
            }
            written.push_str(name.as_written());
            written.push(':');
            written.push_str(mended.as_deref().unwrap_or(value));
        }
        written.push('}');
        changed.then_some(written)
    }

    fn repair_array(&mut self, node: &'s Node, text: &str) -> Option<String> {
        let array = node.array.as_deref()?;
        let mut at = Cursor::new(text);
        at.read_token().ok()?;
        let mut written = String::from("[");
        let mut changed = false;
        let mut count = 0;
        while at.next_item(count == 0).ok()? {
            self.spend(1)?;
            let start = at;
            at.skip_value().ok()?;
            let value = start.text_until(at);
            let id = array.prefix.get(count).copied().or(array.rest);
            let mended = id.and_then(|id| self.repair_value(id, value));
            changed |= mended.is_some();
            if count > 0 {
                written.push(',');
            }
            written.push_str(mended.as_deref().unwrap_or(value));
            count += 1;
        }
        written.push(']');
        changed.then_some(written)
    }
}

/// Returns the JSON inside a string where no string is allowed.
fn parse_string_as(due: TypeSet, text: &str) -> Option<String> {
    if due.intersects(TypeSet::STRING) {
        return None;
    }
    let Ok(Token::Text(quoted)) = Cursor::new(text).read_token() else {
        return None;
    };
    let inner = quoted.decode().ok()?;
    let means = match inner.trim_start().bytes().next()? {
        b'{' => due.intersects(TypeSet::OBJECT),
        b'[' => due.intersects(TypeSet::ARRAY),
        b't' | b'f' => due.intersects(TypeSet::BOOLEAN) && matches!(&*inner, "true" | "false"),
        b'-' | b'0'..=b'9' if due.intersects(TypeSet::FRACTION) => {
            !inner.contains(char::is_whitespace) && NumericValue::parse(&inner).is_some()
        }
        b'-' | b'0'..=b'9' => due.intersects(TypeSet::INTEGER) && is_integer(&inner),
        _ => false,
    };
    if !means {
        return None;
    }
    // The string must contain JSON and nothing else.
    let raw: RawJson<'_> = serde_json::from_str(&inner).ok()?;
    Some(raw.as_str().to_owned())
}

/// Rewrites an integer with a fraction or exponent where only integers are allowed. Integers that a
/// float cannot hold exactly are left.
fn rewrite_integer(due: TypeSet, text: &str) -> Option<String> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if !may_have_fraction(text)
        || !due.intersects(TypeSet::INTEGER)
        || due.intersects(TypeSet::FRACTION)
    {
        return None;
    }
    match Cursor::new(text).read_token() {
        Ok(Token::Number(number)) => match NumericValue::parse(number)? {
            NumericValue::Float(float) if float.fract() == 0.0 && float.abs() < EXACT => {
                Some((float as i64).to_string())
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns whether a text may contain a number with a fraction or exponent.
fn may_have_fraction(text: &str) -> bool {
    text.contains(['.', 'e', 'E'])
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.bytes().all(|b| b.is_ascii_digit())
}
