//! Matching of a URI against a template.
//!
//! From the last part of the template to the first, a table is filled: for each position of the
//! URI, where a part that begins there ends, if the rest of the template matches from there. That
//! decides among several possible ends without backtracking. The `name=value` item that would begin
//! at each position is found beforehand, in one pass from the end. So the work is bounded by
//! template times URI, where an expression with names counts as long as the items that it may take.

use std::ops::Range;

use super::parts::{Expression, Modifier, Operator, Part, Variable};
use super::uri_char::{UriChar, is_unreserved};
use super::variables::{TemplateValue, TemplateVariables};

/// The most items that one named expression takes from a URI.
const MAX_ITEMS: usize = 128;

pub(super) fn matches(parts: &[Part], uri: &[UriChar]) -> Option<TemplateVariables> {
    // Skip the table for most URIs of other templates.
    if let Some(Part::Literal(literal)) = parts.first()
        && !uri.starts_with(literal)
    {
        return None;
    }
    [MatchMode::Strict, MatchMode::Lenient]
        .into_iter()
        .find_map(|mode| Matcher { parts, uri, mode }.run())
}

/// The characters that a value may have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MatchMode {
    /// The characters that expansion writes.
    Strict,
    /// All characters that do not end the value.
    Lenient,
}

/// The state of one match.
struct Matcher<'a> {
    parts: &'a [Part],
    uri: &'a [UriChar],
    mode: MatchMode,
}

impl Matcher<'_> {
    fn run(&self) -> Option<TemplateVariables> {
        let mut table: Vec<Vec<Option<usize>>> = Vec::with_capacity(self.parts.len());
        let mut rest: Vec<bool> = vec![false; self.uri.len() + 1];
        rest[self.uri.len()] = true;
        for (index, part) in self.parts.iter().enumerate().rev() {
            let ends = match part {
                Part::Literal(literal) => self.literal_ends(literal, &rest),
                Part::Expression(expression) if expression.operator.is_named() => {
                    self.named_ends(expression, &rest)
                }
                Part::Expression(expression) => {
                    self.unnamed_ends(expression, &self.parts[index + 1..], &rest)
                }
            };
            rest.iter_mut()
                .zip(&ends)
                .for_each(|(ok, end)| *ok = end.is_some());
            table.push(ends);
        }

        let mut found = Vec::new();
        let mut at = 0;
        for (part, ends) in self.parts.iter().zip(table.iter().rev()) {
            let end = (*ends.get(at)?)?;
            if let Part::Expression(expression) = part
                && end > at
            {
                self.read(expression, at..end, &mut found);
            }
            at = end;
        }
        (at == self.uri.len()).then_some(())?;
        merge_variables(found)
    }

    fn literal_ends(&self, literal: &[UriChar], rest: &[bool]) -> Vec<Option<usize>> {
        let ends = |at: usize| {
            count_step(literal.len());
            let end = at + literal.len();
            (self.uri[at..].starts_with(literal) && rest[end]).then_some(end)
        };
        (0..rest.len()).map(ends).collect()
    }

    /// Returns the ends of an expression whose values have no names: the furthest that lets the
    /// rest match.
    fn unnamed_ends(
        &self,
        expression: &Expression,
        later: &[Part],
        rest: &[bool],
    ) -> Vec<Option<usize>> {
        let span = UnnamedSpan::new(expression, later);
        let mut runs = vec![0; rest.len()];
        let mut separators = Vec::new();
        let mut run = self.uri.len();
        for at in (0..rest.len()).rev() {
            count_step(1);
            if let Some(&uri_char) = self.uri.get(at) {
                if span.splits && uri_char.is(expression.operator.separator()) {
                    separators.push(at);
                } else if !self.belongs(uri_char, &span) {
                    run = at;
                }
            }
            let beyond = separators.len().checked_sub(span.segments);
            let limit = beyond.and_then(|index| separators.get(index)).copied();
            runs[at] = run
                .min(limit.unwrap_or(run))
                .min(at.saturating_add(span.length));
        }

        let mut last = None;
        let furthest: Vec<Option<usize>> = rest
            .iter()
            .enumerate()
            .map(|(at, &ok)| {
                last = if ok { Some(at) } else { last };
                last
            })
            .collect();
        let end_of = |from: usize, least: usize| {
            furthest[*runs.get(from)?].filter(|&end| end >= from + least)
        };
        (0..rest.len())
            .map(|at| match expression.operator.first() {
                None => end_of(at, 1),
                Some(first) => self
                    .uri
                    .get(at)
                    .filter(|uri_char| uri_char.is(first))
                    .and_then(|_| end_of(at + 1, 0))
                    .or(rest[at].then_some(at)),
            })
            .collect()
    }

    /// Returns the ends of an expression of `name=value` items: as many items as belong to it, or
    /// none.
    fn named_ends(&self, expression: &Expression, rest: &[bool]) -> Vec<Option<usize>> {
        let items = self.items(expression);
        let end_of = |at: usize| {
            let last = self.items_from(expression, &items, at).last();
            let end = last.map_or(at, |item| item.value.end);
            [end, at].into_iter().find(|&end| rest[end])
        };
        (0..rest.len()).map(end_of).collect()
    }

    /// Returns the item of a named expression that begins at each position, if any.
    fn items(&self, expression: &Expression) -> Vec<Option<NamedItem>> {
        let first = expression.operator.first();
        let separator = expression.operator.separator();
        let mut items = vec![None; self.uri.len()];
        // The ends of the name and of the value of an item that begins before this position.
        let (mut name_end, mut value_end) = (self.uri.len(), self.uri.len());
        let mut value = name_end..value_end;
        for (at, &uri_char) in self.uri.iter().enumerate().rev() {
            count_step(1);
            if uri_char.is(separator) || first.is_some_and(|first| uri_char.is(first)) {
                let name = at + 1..name_end;
                items[at] = owner(expression, &self.uri[name.clone()]).map(|owner| NamedItem {
                    owner,
                    name,
                    value: value.clone(),
                });
            }
            let ends = ends_item(uri_char, separator);
            if ends {
                (name_end, value) = (at, at..at);
            } else if uri_char.is('=') {
                (name_end, value) = (at, at + 1..value_end);
            }
            if ends || self.mode == MatchMode::Strict && !written_plain(uri_char) {
                value_end = at;
            }
        }
        items
    }

    /// Returns the items that a named expression takes from `at` on.
    fn items_from<'i>(
        &'i self,
        expression: &'i Expression,
        items: &'i [Option<NamedItem>],
        mut at: usize,
    ) -> impl Iterator<Item = &'i NamedItem> {
        let mut opener = expression.operator.first();
        // One bit for each variable that has a value.
        let mut taken = 0_u64;
        let next = move || {
            count_step(1);
            let uri_char = self.uri.get(at)?;
            let item = items[at]
                .as_ref()
                .filter(|_| opener.is_some_and(|c| uri_char.is(c)))?;
            let own = 1 << item.owner;
            let once = expression.variables[item.owner].modifier != Modifier::Explode;
            if once && taken & own != 0 {
                return None;
            }
            taken |= own;
            at = item.value.end;
            opener = Some(expression.operator.separator());
            Some(item)
        };
        std::iter::from_fn(next).take(MAX_ITEMS)
    }

    /// Returns whether a character can be part of a value, apart from separators.
    fn belongs(&self, uri_char: UriChar, span: &UnnamedSpan) -> bool {
        if span.operator.keeps_reserved() {
            return !(span.before_query && uri_char.is('?')
                || span.before_fragment && uri_char.is('#'));
        }
        match self.mode {
            MatchMode::Strict => written_plain(uri_char),
            MatchMode::Lenient => !['/', '?', '#'].into_iter().any(|end| uri_char.is(end)),
        }
    }

    fn text(&self, range: Range<usize>) -> String {
        self.uri[range]
            .iter()
            .map(|uri_char| uri_char.character)
            .collect()
    }

    /// Adds the values of an expression's variables from its part of the URI.
    fn read<'e>(
        &self,
        expression: &'e Expression,
        range: Range<usize>,
        found: &mut Vec<(&'e Variable, TemplateValue)>,
    ) {
        if expression.operator.is_named() {
            self.read_named(expression, range, found);
        } else {
            self.read_unnamed(expression, range, found);
        }
    }

    fn read_unnamed<'e>(
        &self,
        expression: &'e Expression,
        range: Range<usize>,
        found: &mut Vec<(&'e Variable, TemplateValue)>,
    ) {
        let start = range.start + usize::from(expression.operator.first().is_some());
        let variables = &expression.variables;
        if let [variable] = &variables[..]
            && variable.modifier != Modifier::Explode
        {
            found.push((variable, self.text(start..range.end).into()));
            return;
        }
        let separator = expression.operator.separator();
        let mut segments = self.uri[start..range.end]
            .split(|uri_char| uri_char.is(separator))
            .map(|segment| {
                segment
                    .iter()
                    .map(|uri_char| uri_char.character)
                    .collect::<String>()
            });
        let mut left = segments.clone().count();
        for (index, variable) in variables.iter().enumerate() {
            if left == 0 {
                break;
            }
            if variable.modifier == Modifier::Explode {
                // The variables after it have one segment each.
                let take = left.saturating_sub(variables.len() - index - 1).max(1);
                found.push((
                    variable,
                    segments.by_ref().take(take).collect::<Vec<_>>().into(),
                ));
                left -= take;
            } else if let Some(segment) = segments.next() {
                found.push((variable, segment.into()));
                left -= 1;
            }
        }
    }

    fn read_named<'e>(
        &self,
        expression: &'e Expression,
        range: Range<usize>,
        found: &mut Vec<(&'e Variable, TemplateValue)>,
    ) {
        let items = self.items(expression);
        let pairs: Vec<(usize, (String, String))> = self
            .items_from(expression, &items, range.start)
            .map(|item| {
                let pair = (self.text(item.name.clone()), self.text(item.value.clone()));
                (item.owner, pair)
            })
            .collect();
        for (index, variable) in expression.variables.iter().enumerate() {
            let mut own = pairs
                .iter()
                .filter(|(owner, _)| *owner == index)
                .map(|(_, pair)| pair.clone())
                .peekable();
            if own.peek().is_none() {
                continue;
            }
            let value = if variable.modifier != Modifier::Explode {
                own.next().map(|(_, text)| TemplateValue::Text(text))
            } else if own.clone().all(|(name, _)| name == *variable.name) {
                Some(TemplateValue::List(own.map(|(_, text)| text).collect()))
            } else {
                Some(TemplateValue::Map(own.collect()))
            };
            found.extend(value.map(|value| (variable, value)));
        }
    }
}

/// A `name=value` item of a URI.
#[derive(Clone)]
struct NamedItem {
    /// The index of the variable that the item belongs to.
    owner: usize,
    name: Range<usize>,
    value: Range<usize>,
}

/// The extent of an expression without names.
struct UnnamedSpan {
    operator: Operator,
    /// True if the separator separates values, instead of being part of a single one.
    splits: bool,
    /// The most segments.
    segments: usize,
    /// The most characters.
    length: usize,
    before_query: bool,
    before_fragment: bool,
}

impl UnnamedSpan {
    fn new(expression: &Expression, later: &[Part]) -> Self {
        let explodes = expression
            .variables
            .iter()
            .any(|variable| variable.modifier == Modifier::Explode);
        let length = match &expression.variables[..] {
            [
                Variable {
                    modifier: Modifier::Prefix(length),
                    ..
                },
            ] => *length,
            _ => usize::MAX,
        };
        let comes = |operator| {
            later
                .iter()
                .any(|part| matches!(part, Part::Expression(e) if e.operator == operator))
        };
        Self {
            operator: expression.operator,
            splits: explodes || expression.variables.len() > 1,
            segments: if explodes {
                usize::MAX
            } else {
                expression.variables.len()
            },
            length,
            before_query: comes(Operator::Query),
            before_fragment: comes(Operator::Fragment),
        }
    }
}

/// Returns the index of the variable that an item with this name belongs to: the variable with this
/// name, or an exploded one, whose map may have any names.
fn owner(expression: &Expression, name: &[UriChar]) -> Option<usize> {
    let so_called = |variable: &Variable| {
        count_step(1 + variable.name.len().min(name.len()));
        let name = name.iter().map(|uri_char| uri_char.character);
        variable.name.chars().eq(name)
    };
    let mut variables = expression.variables.iter();
    variables.position(so_called).or_else(|| {
        let mut variables = expression.variables.iter();
        variables.position(|v| v.modifier == Modifier::Explode && !name.is_empty())
    })
}

fn written_plain(uri_char: UriChar) -> bool {
    uri_char.encoded || is_unreserved(uri_char.character)
}

/// Returns whether a character ends a `name=value` item.
fn ends_item(uri_char: UriChar, separator: char) -> bool {
    let others: &[char] = if separator == ';' {
        &['/', '?', '#']
    } else {
        &['#']
    };
    uri_char.is(separator) || others.iter().any(|&end| uri_char.is(end))
}

/// Merges the variables of all expressions; `None` if a variable has two different values.
fn merge_variables(found: Vec<(&Variable, TemplateValue)>) -> Option<TemplateVariables> {
    let (prefixes, whole): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|(variable, _)| matches!(variable.modifier, Modifier::Prefix(_)));
    let mut variables = TemplateVariables::new();
    for (variable, value) in whole {
        if variables
            .get(&variable.name)
            .is_some_and(|known| *known != value)
        {
            return None;
        }
        variables.insert(&*variable.name, value);
    }
    for (variable, value) in prefixes {
        let (Modifier::Prefix(length), TemplateValue::Text(text)) = (variable.modifier, &value)
        else {
            return None;
        };
        let fits = match variables.get(&variable.name) {
            None => text.chars().count() <= length,
            Some(TemplateValue::Text(known)) => known.chars().take(length).eq(text.chars()),
            Some(_) => false,
        };
        if !fits {
            return None;
        }
        if variables.get(&variable.name).is_none() {
            variables.insert(&*variable.name, value);
        }
    }
    Some(variables)
}

#[cfg(not(test))]
fn count_step(_: usize) {}

#[cfg(test)]
use tests::count_step;

#[cfg(test)]
mod tests;
