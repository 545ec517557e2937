//! Messages of violations, in words for the model that sent the value.

use serde_json::Value;

use super::cursor::Cursor;
use super::members::undeclared_names;
use super::node::{CountRange, Node, NodeId, NumberRules, ObjectRules, StringRules, TypeSet};
use super::path::ValuePath;
use super::walk::{StopReason, ValueWalker};
use crate::violation::{Violation, join_alternatives, pointer_join};
use turnbuckle_types::base::nearest::nearest;
use turnbuckle_types::base::text::shorten;

/// Returns the message for a value of a wrong type, option or range.
pub(super) fn mismatch_message(node: &Node, got: &str) -> String {
    let options = node.options.iter().flatten().filter_map(Value::as_str);
    expected_message(&describe_expected(node), got, options)
}

/// Returns the message for the JSON text `got`, with the option that it resembles.
fn expected_message<'o>(
    expected: &str,
    got: &str,
    options: impl Iterator<Item = &'o str>,
) -> String {
    let mut message = format!("expected {expected}, got {}", shorten(got));
    if let Ok(text) = serde_json::from_str::<String>(got)
        && let Some(meant) = nearest(&text, options)
    {
        message.push_str(&format!("; did you mean {}?", shorten(&quote(meant))));
    }
    message
}

/// Returns the message for a member that a closed object does not allow.
pub(super) fn unexpected_member_message(object: &ObjectRules, name: &str) -> String {
    let declared = object.members.iter().map(|member| &*member.name);
    let mut message = "is not expected here".to_owned();
    if let Some(meant) = nearest(name, declared) {
        message.push_str(&format!("; did you mean `{}`?", shorten(meant)));
    } else if object.members.is_empty() {
        message.push_str("; no members are");
    } else {
        let names = object.members.iter();
        let names = join_alternatives(names.map(|member| format!("`{}`", shorten(&member.name))));
        message.push_str(&format!("; known are {}", names.replace(" or ", " and ")));
    }
    message
}

/// Returns the message for a missing required member, with the nearest undeclared name.
pub(super) fn missing_member_message(
    object: &ObjectRules,
    name: &str,
    inside: Cursor<'_>,
) -> String {
    let strangers = undeclared_names(object, inside);
    let mut message = "is missing, but required".to_owned();
    if let Some(came) = nearest(name, strangers.iter().map(|stranger| &**stranger)) {
        let (came, name) = (shorten(came), shorten(name));
        message.push_str(&format!("; `{came}` came: did you mean `{name}`?"));
    }
    message
}

/// Returns the violations where no branch matches: those of the branch that was probably meant, if
/// there is one.
pub(super) fn no_match_violations(
    holder: &mut ValueWalker<'_>,
    branches: &[NodeId],
    at: Cursor<'_>,
    kind: TypeSet,
    place: &ValuePath<'_>,
) -> Result<Vec<Violation>, StopReason> {
    let nodes = holder.nodes;
    let pointer = place.pointer();
    let near: Vec<NodeId> = branches
        .iter()
        .copied()
        .filter(|id| nodes[*id].types.intersects(kind))
        .collect();
    if near.is_empty() || !kind.intersects(TypeSet::OBJECT.or(TypeSet::ARRAY)) {
        if let [only] = near[..] {
            return holder.violations_of(only, at, place);
        }
        let among = if near.is_empty() { branches } else { &near };
        let mut nouns: Vec<String> = Vec::new();
        for id in among {
            let noun = describe_expected(&nodes[*id]);
            if !nouns.contains(&noun) {
                nouns.push(noun);
            }
        }
        let expected = join_alternatives(nouns.into_iter());
        let options = among.iter().filter_map(|id| nodes[*id].options.as_ref());
        let options = options.flatten().filter_map(Value::as_str);
        let message = expected_message(&expected, value_text(at), options);
        return Ok(vec![Violation::new(pointer, message)]);
    }
    let mut meant: Vec<Vec<Violation>> = Vec::new();
    let mut tags: Vec<(String, Vec<&Value>)> = Vec::new();
    for id in &near {
        let faults = holder.violations_of(*id, at, place)?;
        match mismatched_tag(&nodes[*id], nodes, &faults, &pointer) {
            Some((name, options)) => match tags.iter_mut().find(|(known, _)| known == name) {
                Some((_, known)) => known.extend(options),
                None => tags.push((name.to_owned(), options.iter().collect())),
            },
            None => meant.push(faults),
        }
    }
    if meant.is_empty()
        && let [(tag, options)] = &tags[..]
    {
        return Ok(vec![tag_violation(&pointer, tag, options, at)]);
    }
    meant.sort_by_key(Vec::len);
    match meant.len() {
        1 => Ok(meant.remove(0)),
        0 => Ok(vec![Violation::new(
            pointer,
            format!(
                "fits none of the {} alternatives, got {}",
                branches.len(),
                shorten(value_text(at))
            ),
        )]),
        // The violations of the nearest alternative follow a sentence that mentions the others.
        several => {
            let first = Violation::new(
                pointer,
                format!("fits none of {several} alternatives; the nearest lacks this"),
            );
            Ok(std::iter::once(first).chain(meant.remove(0)).collect())
        }
    }
}

/// Returns the required member with listed values that has a violation: the tag of the branch.
fn mismatched_tag<'n>(
    node: &'n Node,
    nodes: &'n [Node],
    faults: &[Violation],
    pointer: &str,
) -> Option<(&'n str, &'n [Value])> {
    let object = node.object.as_ref()?;
    object.members.iter().find_map(|member| {
        let options = nodes[member.node?].options.as_deref()?;
        let path = pointer_join(pointer, &member.name);
        let wrong = member.required && faults.iter().any(|fault| fault.path() == path);
        wrong.then_some((&*member.name, options))
    })
}

fn tag_violation(pointer: &str, tag: &str, options: &[&Value], at: Cursor<'_>) -> Violation {
    let expected = join_alternatives(options.iter().map(|option| shorten(&option.to_string())));
    let came = serde_json::from_str::<Value>(value_text(at)).unwrap_or_default();
    let message = match came.get(tag) {
        None => format!("is missing, but required: {expected}"),
        Some(came) => {
            let options = options.iter().filter_map(|option| option.as_str());
            expected_message(&expected, &came.to_string(), options)
        }
    };
    Violation::new(pointer_join(pointer, tag), message)
}

fn value_text(at: Cursor<'_>) -> &str {
    let mut end = at;
    match end.skip_value() {
        Ok(()) => at.text_until(end),
        Err(_) => "",
    }
}

fn quote(text: &str) -> String {
    Value::from(text).to_string()
}

/// Describes the value that a node expects, as a noun phrase.
pub(super) fn describe_expected(node: &Node) -> String {
    if let Some(options) = &node.options {
        let options = options
            .iter()
            .filter(|o| node.types.intersects(TypeSet::of_value(o)));
        return join_alternatives(options.map(|option| shorten(&option.to_string())));
    }
    if node.types == TypeSet::ALL && node.number.is_none() && node.text.is_none() {
        return "a value that the schema allows".to_owned();
    }
    let named: [(TypeSet, &str); 5] = [
        (TypeSet::BOOLEAN, "true or false"),
        (TypeSet::STRING, "a string"),
        (TypeSet::ARRAY, "an array"),
        (TypeSet::OBJECT, "an object"),
        (TypeSet::NULL, "null"),
    ];
    let mut nouns = Vec::new();
    if node.types.intersects(TypeSet::FRACTION) {
        nouns.push(describe_range("a number", node.number.as_deref()));
    } else if node.types.intersects(TypeSet::INTEGER) {
        nouns.push(describe_range("an integer", node.number.as_deref()));
    }
    for (kind, noun) in named {
        if node.types.intersects(kind) {
            nouns.push(match (kind, &node.text) {
                (TypeSet::STRING, Some(text)) => describe_string(text),
                _ => noun.to_owned(),
            });
        }
    }
    join_alternatives(nouns.into_iter())
}

fn describe_range(noun: &str, range: Option<&NumberRules>) -> String {
    let Some(range) = range else {
        return noun.to_owned();
    };
    let mut words = noun.to_owned();
    let mut say = |text: String| {
        let and = if words == noun { " " } else { " and " };
        words.push_str(and);
        words.push_str(&text);
    };
    match (&range.minimum, &range.maximum) {
        (Some(least), Some(most)) => say(format!("from {least} to {most}")),
        (Some(least), None) => say(format!("of at least {least}")),
        (None, Some(most)) => say(format!("of at most {most}")),
        (None, None) => {}
    }
    if let Some(bound) = &range.exclusive_minimum {
        say(format!("above {bound}"));
    }
    if let Some(bound) = &range.exclusive_maximum {
        say(format!("below {bound}"));
    }
    if let Some(unit) = &range.multiple_of {
        say(format!("that is a multiple of {unit}"));
    }
    words
}

fn describe_string(text: &StringRules) -> String {
    let mut words = "a string".to_owned();
    if !text.length.is_unbounded() {
        words.push_str(&format!(" of {} characters", describe_count(text.length)));
    }
    if let Some(pattern) = &text.pattern {
        words.push_str(&format!(
            " that matches {}",
            shorten(pattern.regex.as_str())
        ));
    }
    words
}

/// Returns `3`, `1 to 3`, `at least 1` or `at most 3`.
pub(super) fn describe_count(length: CountRange) -> String {
    match (length.min, length.max) {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
        (None, None) => "any number of".to_owned(),
    }
}
