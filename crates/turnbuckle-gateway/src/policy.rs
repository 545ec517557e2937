//! The rules of an upstream: which of its items are offered, under which names, for which scopes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use percent_encoding::percent_decode_str;
use turnbuckle_types::base::glob;

use crate::error::GatewayError;
use crate::file::Upstream;

/// The most patterns and names in the rules of an upstream.
const MAX_RULES: usize = 1_000;

/// The most characters of a pattern or a name.
const MAX_PATTERN_CHARS: usize = 256;

/// The most decodings of a URI. One with escapes in escapes beyond is refused.
const MAX_DECODINGS: usize = 4;

/// The rules of one upstream. They know the names and URIs of the upstream itself.
#[derive(Debug, Default)]
pub(crate) struct Policy {
    allow: Option<Vec<Pattern>>,
    deny: Vec<Pattern>,
    rename: BTreeMap<String, Rename>,
    scopes: Vec<(Pattern, Vec<String>)>,
}

/// A pattern in which `*` stands for any characters.
#[derive(Debug)]
struct Pattern {
    text: String,
    /// True once an item of the upstream has matched.
    is_used: AtomicBool,
}

impl Pattern {
    fn new(text: &str) -> Result<Self, GatewayError> {
        check_text(text)?;
        Ok(Self {
            text: text.to_owned(),
            is_used: AtomicBool::new(false),
        })
    }

    fn matches(&self, name: &str) -> bool {
        glob::matches(&self.text, name)
    }

    /// Returns whether it may match a URI of a template: up to the first variable and the first star, one
    /// begins as the other does.
    fn may_match_template(&self, template: &str) -> bool {
        let literal = |text: &str, end: char| text.split(end).next().unwrap_or("").to_owned();
        let (pattern, template) = (literal(&self.text, '*'), literal(template, '{'));
        pattern.starts_with(&template) || template.starts_with(&pattern)
    }
}

/// A new name of an item.
#[derive(Debug)]
struct Rename {
    name: String,
    is_used: AtomicBool,
}

impl Policy {
    /// Reads the rules of an upstream.
    ///
    /// # Errors
    /// Returns an error if there are too many rules, or one is empty or too long.
    pub(crate) fn new(upstream: &Upstream) -> Result<Self, GatewayError> {
        let allowed = upstream.allow.as_ref().map_or(0, Vec::len);
        let count = allowed + upstream.deny.len() + upstream.rename.len() + upstream.scopes.len();
        if count > MAX_RULES {
            return Err(GatewayError::new(format!(
                "{count} rules are more than {MAX_RULES}"
            )));
        }
        let patterns = |texts: &[String]| texts.iter().map(|it| Pattern::new(it)).collect();
        let mut rename = BTreeMap::new();
        for (own, name) in &upstream.rename {
            check_text(own)?;
            check_text(name)?;
            let (name, is_used) = (name.clone(), AtomicBool::new(false));
            rename.insert(own.clone(), Rename { name, is_used });
        }
        let mut scopes = Vec::new();
        for (pattern, needed) in &upstream.scopes {
            scopes.push((Pattern::new(pattern)?, needed.clone()));
        }
        Ok(Self {
            allow: upstream.allow.as_deref().map(patterns).transpose()?,
            deny: patterns(&upstream.deny)?,
            rename,
            scopes,
        })
    }

    /// Returns whether a tool or prompt of this name is offered.
    pub(crate) fn permits(&self, name: &str) -> bool {
        let is_allowed = |allow: &Vec<Pattern>| allow.iter().any(|it| it.matches(name));
        self.allow.as_ref().is_none_or(is_allowed) && !self.deny.iter().any(|it| it.matches(name))
    }

    /// Returns whether a resource of this URI is offered.
    ///
    /// The URI counts as it is and as it reads without escapes. One that leads up in a path, or is escaped
    /// several times, is refused where there are rules: no pattern says where it leads.
    pub(crate) fn permits_uri(&self, uri: &str) -> bool {
        if self.allow.is_none() && self.deny.is_empty() {
            return true;
        }
        let Some(decoded) = decode(uri) else {
            return false;
        };
        let is_dotted = |text: &str| text.split(['/', '\\']).any(|it| matches!(it, "." | ".."));
        if is_dotted(&decoded) {
            return false;
        }
        self.permits(uri) && self.permits(&decoded)
    }

    /// Returns whether a template is offered: whether it can have a URI that is. Each URI is looked at by
    /// itself when it is read.
    pub(crate) fn permits_template(&self, template: &str) -> bool {
        let is_allowed =
            |allow: &Vec<Pattern>| allow.iter().any(|it| it.may_match_template(template));
        self.allow.as_ref().is_none_or(is_allowed)
            && !self.deny.iter().any(|it| it.matches(template))
    }

    /// Remembers that the upstream has an item of this name, or a template that begins like it, for
    /// [`unused_rules`](Self::unused_rules).
    pub(crate) fn mark_used(&self, name: &str, is_template: bool) {
        for pattern in self.allow.iter().flatten() {
            let is_match = match is_template {
                true => pattern.may_match_template(name),
                false => pattern.matches(name),
            };
            if is_match {
                pattern.is_used.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Returns the new name of a tool or prompt, if it has one.
    pub(crate) fn new_name(&self, name: &str) -> Option<&str> {
        let rename = self.rename.get(name)?;
        rename.is_used.store(true, Ordering::Relaxed);
        Some(&rename.name)
    }

    /// Returns the scopes that an item needs.
    pub(crate) fn scopes(&self, name: &str) -> impl Iterator<Item = &str> {
        let matching = self.scopes.iter().filter(move |it| it.0.matches(name));
        matching.flat_map(|it| it.1.iter().map(String::as_str))
    }

    /// Returns the rules that no item of the upstream has matched.
    pub(crate) fn unused_rules(&self) -> Vec<UnusedRule<'_>> {
        let is_unused = |is_used: &AtomicBool| !is_used.load(Ordering::Relaxed);
        let allow = self.allow.iter().flatten();
        let allow = allow.filter(|it| is_unused(&it.is_used));
        let rename = self.rename.iter().filter(|it| is_unused(&it.1.is_used));
        let allow = allow.map(|it| UnusedRule::Allow(&it.text));
        allow
            .chain(rename.map(|it| UnusedRule::Rename(it.0)))
            .collect()
    }
}

/// A rule that no item of the upstream has matched.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UnusedRule<'a> {
    Allow(&'a str),
    Rename(&'a str),
}

impl fmt::Display for UnusedRule<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allow(pattern) => write!(f, "`allow`: {pattern:?} matches none of its items"),
            Self::Rename(name) => write!(f, "`rename`: it has no {name:?} that is offered"),
        }
    }
}

fn check_text(text: &str) -> Result<(), GatewayError> {
    let is_long = text.chars().nth(MAX_PATTERN_CHARS).is_some();
    match text.is_empty() || is_long {
        true => Err(GatewayError::new(format!(
            "a pattern or a name has 1 to {MAX_PATTERN_CHARS} characters"
        ))),
        false => Ok(()),
    }
}

/// Returns a URI without its escapes; `None` if they are no UTF-8, or hide further ones.
fn decode(uri: &str) -> Option<String> {
    let mut text = uri.to_owned();
    for _ in 0..MAX_DECODINGS {
        let decoded = percent_decode_str(&text).decode_utf8().ok()?;
        if decoded == text {
            return Some(text);
        }
        text = decoded.into_owned();
    }
    None
}

#[cfg(test)]
mod tests;
