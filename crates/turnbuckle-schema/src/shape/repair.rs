//! Reading a value leniently, by schema.
//!
//! Mended text is put together from the text that came: what is not mended stays as it was written.

use std::borrow::Cow;

use turnbuckle_types::RawJson;

use super::compile::ANYTHING;
use super::cursor::{Cursor, Token};
use super::hold::Holder;
use super::node::{Id, Kinds, Node, Num, Object};
use super::place::Place;

/// The deepest mending.
const MAX_DEPTH: usize = 64;

/// The most nodes that are looked at in one mending.
const MAX_STEPS: usize = 100_000;

/// The most text that is written in one mending, in bytes for each that came, and some.
const MAX_GROWTH: usize = 16;

/// The mended text of a value, if there is something to mend.
pub(super) fn repair(nodes: &[Node], root: Id, text: &str, work: u64) -> Option<String> {
    let mut mender = Mender {
        holder: Holder::deciding(nodes, work),
        steps: MAX_STEPS,
        room: text.len().saturating_mul(MAX_GROWTH) + 4096,
        depth: 0,
        fitting: false,
    };
    let text = text.trim();
    let mended = mender.mend(root, text);
    let meant = mended.as_deref().unwrap_or(text);
    mender.fitting = has_point(meant) && mender.fits(root, meant) == Some(true);
    let whole = mender.fitting.then(|| mender.mend(root, meant)).flatten();
    whole.or(mended)
}

struct Mender<'s> {
    holder: Holder<'s>,
    /// Whether the value fits. Then its integers are written as such, and nothing else is mended.
    fitting: bool,
    steps: usize,
    room: usize,
    depth: usize,
}

impl<'s> Mender<'s> {
    fn fits(&mut self, id: Id, text: &str) -> Option<bool> {
        let at = Cursor::new(text);
        self.holder.fits(id, at, &Place::ROOT).ok()
    }

    /// Nothing if that is more work than is left.
    fn spend(&mut self, work: u64) -> Option<()> {
        self.holder.spend(work).ok()
    }

    fn mend(&mut self, id: Id, text: &str) -> Option<String> {
        if id == ANYTHING || self.depth >= MAX_DEPTH {
            return None;
        }
        if self.fitting {
            self.spend(1)?;
        } else if self.steps == 0 || self.fits(id, text)? {
            return None;
        } else {
            self.steps -= 1;
        }
        self.depth += 1;
        let mended = self.mend_node(id, text);
        self.depth -= 1;
        let mended = mended?;
        self.room = self.room.checked_sub(mended.len())?;
        Some(mended)
    }

    fn mend_node(&mut self, id: Id, text: &str) -> Option<String> {
        // The text is passed over, and written anew.
        self.spend(text.len() as u64 / 64)?;
        let node = &self.holder.nodes[id];
        let mut now = Cow::Borrowed(text);
        let read = match self.fitting {
            true => integer(node.kinds, text),
            false => read(node.kinds, text),
        };
        if let Some(read) = read {
            now = Cow::Owned(read);
        }
        let inside = match Cursor::new(&now).token() {
            Ok(Token::Object) => {
                let object = node.object.as_deref();
                object.and_then(|object| self.object(object, &now))
            }
            Ok(Token::Array) => self.array(node, &now),
            _ => None,
        };
        if let Some(inside) = inside {
            now = Cow::Owned(inside);
        }
        for id in &node.all {
            if let Some(mended) = self.mend(*id, &now) {
                now = Cow::Owned(mended);
            }
        }
        for branches in [&node.any, &node.one].into_iter().flatten() {
            if let Some(mended) = self.branch(branches, &now) {
                now = Cow::Owned(mended);
            }
        }
        match now {
            Cow::Owned(mended) => Some(mended),
            Cow::Borrowed(_) => None,
        }
    }

    /// Mends for the one branch that then fits.
    fn branch(&mut self, branches: &[Id], text: &str) -> Option<String> {
        if self.fitting {
            let mut only = None;
            for id in branches {
                if self.fits(*id, text)? && only.replace(*id).is_some() {
                    return None;
                }
            }
            return self.mend(only?, text);
        }
        for id in branches {
            if self.fits(*id, text)? {
                return None;
            }
        }
        let mut only = None;
        for id in branches {
            if let Some(mended) = self.mend(*id, text)
                && self.fits(*id, &mended)?
                && only.replace(mended).is_some()
            {
                return None;
            }
        }
        only
    }

    fn object(&mut self, object: &'s Object, text: &str) -> Option<String> {
        let mut at = Cursor::new(text);
        at.token().ok()?;
        let mut written = String::from("{");
        let mut changed = false;
        let mut first = true;
        while let Some(name) = at.member(std::mem::take(&mut first)).ok()? {
            self.spend(1)?;
            let start = at;
            at.skip().ok()?;
            let value = start.until(at);
            let member = object.find(&name.read().ok()?);
            let member = member.map(|index| &object.members[index]);
            let declared = member.and_then(|member| member.node);
            let absent = value == "null"
                && match (member, declared) {
                    (Some(member), Some(node)) => !member.required && !self.fits(node, value)?,
                    (None, _) => object.closed && object.patterns.is_empty(),
                    _ => false,
                };
            if absent {
                changed = true;
                continue;
            }
            let node = declared.or_else(|| object.rest.filter(|_| object.patterns.is_empty()));
            let mended = node.and_then(|node| self.mend(node, value));
            changed |= mended.is_some();
            if written.len() > 1 {
                written.push(',');
            }
            written.push_str(name.written());
            written.push(':');
            written.push_str(mended.as_deref().unwrap_or(value));
        }
        written.push('}');
        changed.then_some(written)
    }

    fn array(&mut self, node: &'s Node, text: &str) -> Option<String> {
        let array = node.array.as_deref()?;
        let mut at = Cursor::new(text);
        at.token().ok()?;
        let mut written = String::from("[");
        let mut changed = false;
        let mut count = 0;
        while at.item(count == 0).ok()? {
            self.spend(1)?;
            let start = at;
            at.skip().ok()?;
            let value = start.until(at);
            let id = array.first.get(count).copied().or(array.rest);
            let mended = id.and_then(|id| self.mend(id, value));
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

/// What a string means where none is due.
fn read(due: Kinds, text: &str) -> Option<String> {
    if due.has(Kinds::STRING) {
        return None;
    }
    let Ok(Token::Text(quoted)) = Cursor::new(text).token() else {
        return None;
    };
    let inner = quoted.read().ok()?;
    let means = match inner.trim_start().bytes().next()? {
        b'{' => due.has(Kinds::OBJECT),
        b'[' => due.has(Kinds::ARRAY),
        b't' | b'f' => due.has(Kinds::BOOLEAN) && matches!(&*inner, "true" | "false"),
        b'-' | b'0'..=b'9' if due.has(Kinds::FRACTION) => {
            !inner.contains(char::is_whitespace) && Num::read(&inner).is_some()
        }
        b'-' | b'0'..=b'9' => due.has(Kinds::INTEGER) && is_integer(&inner),
        _ => false,
    };
    if !means {
        return None;
    }
    // It must be JSON, and nothing else beside it.
    let raw: RawJson<'_> = serde_json::from_str(&inner).ok()?;
    Some(raw.as_str().to_owned())
}

/// An integer that is written with a fraction or an exponent, as such, where others are not due. One
/// that a float does not hold exactly is left.
fn integer(due: Kinds, text: &str) -> Option<String> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if !has_point(text) || !due.has(Kinds::INTEGER) || due.has(Kinds::FRACTION) {
        return None;
    }
    match Cursor::new(text).token() {
        Ok(Token::Number(number)) => match Num::read(number)? {
            Num::Float(float) if float.fract() == 0.0 && float.abs() < EXACT => {
                Some((float as i64).to_string())
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether a text may hold a number with a fraction or an exponent.
fn has_point(text: &str) -> bool {
    text.contains(['.', 'e', 'E'])
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.bytes().all(|b| b.is_ascii_digit())
}
