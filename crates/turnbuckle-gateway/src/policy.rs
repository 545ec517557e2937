//! The rules of an upstream: which of its items are offered, under which names, for which scopes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use turnbuckle_types::base::glob;

use crate::error::GatewayError;
use crate::file::Upstream;
use uri_forms::{EXPRESSION, PatternForms, UriForms, without_expressions};

mod uri_forms;

/// The most patterns and names in the rules of an upstream.
const MAX_RULES: usize = 1_000;

/// The most characters of a pattern or a name.
const MAX_PATTERN_CHARS: usize = 256;

/// The rules of one upstream. They know the names and URIs of the upstream itself.
#[derive(Debug, Default)]
pub(crate) struct Policy {
    allow: Option<Vec<Pattern>>,
    deny: Vec<Pattern>,
    rename: BTreeMap<String, Rename>,
    scopes: Vec<(Pattern, Vec<String>)>,
}

/// An item of the upstream that rules decide about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Subject<'a> {
    /// A tool or prompt, by its name.
    Name(&'a str),
    /// A resource, by its URI.
    Uri(&'a str),
    /// A resource template, or one in which some variables have their values.
    Template(&'a str),
}

/// The forms of a subject that patterns are compared with.
enum SubjectForms<'a> {
    Name(&'a str),
    Uri(UriForms),
    /// The text of a template, and the forms of its URIs.
    Template(&'a str, UriForms),
}

impl<'a> Subject<'a> {
    /// Returns the forms; `None` for a URI that no pattern can tell about.
    fn forms(self) -> Option<SubjectForms<'a>> {
        Some(match self {
            Self::Name(name) => SubjectForms::Name(name),
            Self::Uri(uri) => SubjectForms::Uri(UriForms::new(uri)?),
            Self::Template(text) => {
                SubjectForms::Template(text, UriForms::new(&without_expressions(text))?)
            }
        })
    }
}

/// A pattern in which `*` stands for any characters.
#[derive(Debug)]
struct Pattern {
    text: String,
    forms: PatternForms,
    /// True once an item of the upstream has matched.
    is_used: AtomicBool,
}

impl Pattern {
    fn new(text: &str) -> Result<Self, GatewayError> {
        check_text(text)?;
        Ok(Self {
            text: text.to_owned(),
            forms: PatternForms::new(text),
            is_used: AtomicBool::new(false),
        })
    }

    /// Returns whether a rule that forbids, or demands scopes, holds for a subject: for all URIs of a template.
    fn is_met_by(&self, subject: &SubjectForms<'_>) -> bool {
        match subject {
            SubjectForms::Name(name) => glob::matches(&self.text, name),
            SubjectForms::Uri(forms) => self.matches_loose(forms),
            SubjectForms::Template(text, forms) => {
                glob::matches(&self.text, text) || self.matches_loose(forms)
            }
        }
    }

    fn matches_loose(&self, forms: &UriForms) -> bool {
        let is_match = |uri| self.forms.loose.iter().any(|it| glob::matches(it, uri));
        forms.loose.iter().any(|uri| is_match(uri))
    }

    /// Returns whether it matches a URI in one form of those that a rule that permits must match.
    fn matches_strict(&self, uri: &str) -> bool {
        self.forms.strict.iter().any(|it| glob::matches(it, uri))
    }

    /// Returns whether it may match a URI of a template: up to the first variable and the first star, one
    /// begins as the other does.
    fn may_match_template(&self, template: &UriForms) -> bool {
        fn literal(text: &str, end: char) -> &str {
            text.split(end).next().unwrap_or_default()
        }
        let may_match = |pattern: &String, template: &String| {
            let (pattern_start, start) = (literal(pattern, '*'), literal(template, EXPRESSION));
            match start.is_empty() {
                // Names of tools are no URIs.
                true => pattern.contains(['*', ':']),
                false => pattern_start.starts_with(start) || start.starts_with(pattern_start),
            }
        };
        let mut pairs = (self.forms.strict.iter())
            .flat_map(|pattern| template.strict.iter().map(move |uri| (pattern, uri)));
        pairs.any(|(pattern, uri)| may_match(pattern, uri))
    }

    /// Returns whether it matches a subject, or a URI of it.
    fn may_match(&self, subject: &SubjectForms<'_>) -> bool {
        let may_match_template = match subject {
            SubjectForms::Template(_, forms) => self.may_match_template(forms),
            _ => false,
        };
        may_match_template || self.is_met_by(subject)
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
    /// Returns an error if there are too many rules, one is empty or too long, or one of an upstream with an OpenAPI
    /// document names no tool.
    pub(crate) fn new(upstream: &Upstream) -> Result<Self, GatewayError> {
        let allowed = upstream.allow.as_ref().map_or(0, Vec::len);
        let count = allowed + upstream.deny.len() + upstream.rename.len() + upstream.scopes.len();
        if count > MAX_RULES {
            return Err(GatewayError::new(format!(
                "{count} rules are more than {MAX_RULES}"
            )));
        }
        if upstream.openapi.is_some() {
            check_operations(upstream)?;
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

    /// Returns the scopes that a client needs to use an item; `None` if the item is not offered.
    ///
    /// Of a URI, any form can be what a rule forbids or demands scopes for, and all must be permitted. If nobody can
    /// tell where a URI leads, it is not offered where there are rules. A template is offered if it can have a URI
    /// that is; each URI is looked at by itself when it is read.
    pub(crate) fn scopes(&self, subject: Subject<'_>) -> Option<Vec<&str>> {
        if self.allow.is_none() && self.deny.is_empty() && self.scopes.is_empty() {
            return Some(Vec::new());
        }
        let forms = subject.forms()?;
        let allow = self.allow.as_ref();
        let is_allowed = allow.is_none_or(|allow| match &forms {
            SubjectForms::Name(_) => allow.iter().any(|it| it.is_met_by(&forms)),
            SubjectForms::Uri(uri) => {
                let mut strict = uri.strict.iter();
                strict.all(|uri| allow.iter().any(|it| it.matches_strict(uri)))
            }
            SubjectForms::Template(_, uri) => allow.iter().any(|it| it.may_match_template(uri)),
        });
        if !is_allowed || self.deny.iter().any(|it| it.is_met_by(&forms)) {
            return None;
        }
        let matching = self.scopes.iter().filter(|it| it.0.is_met_by(&forms));
        let scopes = matching.flat_map(|it| it.1.iter().map(String::as_str));
        Some(scopes.collect())
    }

    /// Remembers that the upstream has an item, for [`faults`](Self::faults).
    pub(crate) fn mark_used(&self, subject: Subject<'_>) {
        let Some(forms) = subject.forms() else {
            return;
        };
        for pattern in self.patterns().map(|it| it.1) {
            if !is_set(&pattern.is_used) && pattern.may_match(&forms) {
                pattern.is_used.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Returns all patterns, each with the key of the file that it is under.
    fn patterns(&self) -> impl Iterator<Item = (&'static str, &Pattern)> {
        let allow = self.allow.iter().flatten().map(|it| ("allow", it));
        let deny = self.deny.iter().map(|it| ("deny", it));
        let scopes = self.scopes.iter().map(|it| ("scopes", &it.0));
        allow.chain(deny).chain(scopes)
    }

    /// Returns the new name of a tool or prompt, if it has one.
    pub(crate) fn new_name(&self, name: &str) -> Option<&str> {
        let rename = self.rename.get(name)?;
        rename.is_used.store(true, Ordering::Relaxed);
        Some(&rename.name)
    }

    /// Returns the rules that have no effect: those that no item of the upstream has matched, and new names that
    /// items could not get. `is_offered` tells whether a tool or prompt of a name at the upstream is offered.
    pub(crate) fn faults(&self, is_offered: impl Fn(&str) -> bool) -> Vec<RuleFault<'_>> {
        let unused = self.patterns().filter(|it| !is_set(&it.1.is_used));
        let mut faults: Vec<RuleFault<'_>> = unused
            .map(|(key, pattern)| RuleFault::Unused(key, &pattern.text))
            .collect();
        for (own_name, rename) in &self.rename {
            if !is_set(&rename.is_used) {
                faults.push(RuleFault::UnusedName(own_name));
            } else if !is_offered(own_name) {
                faults.push(RuleFault::RefusedName(own_name, &rename.name));
            }
        }
        faults
    }
}

fn is_set(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed)
}

/// A rule without an effect.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RuleFault<'a> {
    /// No item matches this pattern, under this key of the file.
    Unused(&'static str, &'a str),
    /// There is no item of this name to rename.
    UnusedName(&'a str),
    /// The item of this name cannot get that name.
    RefusedName(&'a str, &'a str),
}

impl fmt::Display for RuleFault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unused(key, pattern) => {
                write!(f, "`{key}`: {pattern:?} matches none of its items")
            }
            Self::UnusedName(name) => write!(f, "`rename`: it has no {name:?} that is offered"),
            Self::RefusedName(name, new) => write!(
                f,
                "`rename`: {name:?} is left out: another item has the name {new:?}, or it is not valid"
            ),
        }
    }
}

/// Checks that the rules of an upstream with an OpenAPI document can match names of tools.
fn check_operations(upstream: &Upstream) -> Result<(), GatewayError> {
    let allow = upstream.allow.iter().flatten().map(|it| ("allow", it));
    let deny = upstream.deny.iter().map(|it| ("deny", it));
    let scopes = upstream.scopes.keys().map(|it| ("scopes", it));
    let mut all = allow.chain(deny).chain(scopes);
    match all.find(|(_, pattern)| pattern.contains([' ', '/'])) {
        Some((key, pattern)) => Err(GatewayError::new(format!(
            "`{key}`: {pattern:?} is the name of no tool: the rules of a gateway do not know methods and paths; \
             without this rule, `gateway check` prints the names of the tools"
        ))),
        None => Ok(()),
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

#[cfg(test)]
mod tests;
