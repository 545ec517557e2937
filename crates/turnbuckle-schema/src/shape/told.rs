//! The words of faults, for the model that sent the value.

use serde_json::Value;

use super::cursor::Cursor;
use super::hold::{Holder, Stop};
use super::members::strangers;
use super::node::{Id, Kinds, Length, Node, Object, Range, Text};
use super::place::Place;
use crate::nearest::nearest;
use crate::shorten::shorten;
use crate::violation::{Violation, join, listed};

/// A value that is not of a node's types, options or bounds.
pub(super) fn unfit(node: &Node, got: &str) -> String {
    let options = node.options.iter().flatten().filter_map(Value::as_str);
    let mut message = format!("expected {}, got {}", expected(node), shorten(got));
    if let Ok(text) = serde_json::from_str::<String>(got)
        && let Some(meant) = nearest(&text, options)
    {
        message.push_str(&format!("; did you mean {}?", shorten(&quoted(meant))));
    }
    message
}

/// A member that is not in a closed object.
pub(super) fn unexpected(object: &Object, name: &str) -> String {
    let declared = object.members.iter().map(|member| &*member.name);
    let mut message = "is not expected here".to_owned();
    if let Some(meant) = nearest(name, declared) {
        message.push_str(&format!("; did you mean `{}`?", shorten(meant)));
    } else if object.members.is_empty() {
        message.push_str("; no members are");
    } else {
        let names = object.members.iter();
        let names = listed(names.map(|member| format!("`{}`", shorten(&member.name))));
        message.push_str(&format!("; known are {}", names.replace(" or ", " and ")));
    }
    message
}

/// A required member that did not come, but maybe under another name.
pub(super) fn missing(object: &Object, name: &str, inside: Cursor<'_>) -> String {
    let strangers = strangers(object, inside);
    let mut message = "is missing, but required".to_owned();
    if let Some(came) = nearest(name, strangers.iter().map(|stranger| &**stranger)) {
        let (came, name) = (shorten(came), shorten(name));
        message.push_str(&format!("; `{came}` came: did you mean `{name}`?"));
    }
    message
}

/// What is wrong where no branch fits: of the one branch that was meant, if that can be told.
pub(super) fn alternatives(
    holder: &mut Holder<'_>,
    branches: &[Id],
    at: Cursor<'_>,
    kind: Kinds,
    place: &Place<'_>,
) -> Result<Vec<Violation>, Stop> {
    let nodes = holder.nodes;
    let pointer = place.pointer();
    let near: Vec<Id> = branches
        .iter()
        .copied()
        .filter(|id| nodes[*id].kinds.has(kind))
        .collect();
    if near.is_empty() || !kind.has(Kinds::OBJECT.or(Kinds::ARRAY)) {
        if let [only] = near[..] {
            return holder.faults_of(only, at, place);
        }
        let among = if near.is_empty() { branches } else { &near };
        let mut nouns: Vec<String> = Vec::new();
        for id in among {
            let noun = expected(&nodes[*id]);
            if !nouns.contains(&noun) {
                nouns.push(noun);
            }
        }
        let expected = listed(nouns.into_iter());
        let got = got(at);
        let mut message = format!("expected {expected}, got {}", shorten(got));
        let options = among.iter().filter_map(|id| nodes[*id].options.as_ref());
        let options = options.flatten().filter_map(Value::as_str);
        if let Ok(text) = serde_json::from_str::<String>(got)
            && let Some(meant) = nearest(&text, options)
        {
            message.push_str(&format!("; did you mean {}?", shorten(&quoted(meant))));
        }
        return Ok(vec![Violation::new(pointer, message)]);
    }
    let mut meant: Vec<Vec<Violation>> = Vec::new();
    let mut tags: Vec<(String, Vec<&Value>)> = Vec::new();
    for id in &near {
        let faults = holder.faults_of(*id, at, place)?;
        match wrong_tag(&nodes[*id], nodes, &faults, &pointer) {
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
        return Ok(vec![tag_fault(&pointer, tag, options, at)]);
    }
    meant.sort_by_key(Vec::len);
    match meant.len() {
        1 => Ok(meant.remove(0)),
        0 => Ok(vec![Violation::new(
            pointer,
            format!(
                "fits none of the {} alternatives, got {}",
                branches.len(),
                shorten(got(at))
            ),
        )]),
        // The nearest alternative, after the sentence that says that there are others.
        several => {
            let first = Violation::new(
                pointer,
                format!("fits none of {several} alternatives; the nearest lacks this"),
            );
            Ok(std::iter::once(first).chain(meant.remove(0)).collect())
        }
    }
}

/// The member that tells a branch from the others, if it is that which is wrong: one of few values.
fn wrong_tag<'n>(
    node: &'n Node,
    nodes: &'n [Node],
    faults: &[Violation],
    pointer: &str,
) -> Option<(&'n str, &'n [Value])> {
    let object = node.object.as_ref()?;
    object.members.iter().find_map(|member| {
        let options = nodes[member.node?].options.as_deref()?;
        let path = join(pointer, &member.name);
        let wrong = member.required && faults.iter().any(|fault| fault.path() == path);
        wrong.then_some((&*member.name, options))
    })
}

fn tag_fault(pointer: &str, tag: &str, options: &[&Value], at: Cursor<'_>) -> Violation {
    let expected = listed(options.iter().map(|option| shorten(&option.to_string())));
    let came = serde_json::from_str::<Value>(got(at)).unwrap_or_default();
    let message = match came.get(tag) {
        None => format!("is missing, but required: {expected}"),
        Some(came) => {
            let mut message = format!("expected {expected}, got {}", shorten(&came.to_string()));
            let options = options.iter().filter_map(|option| option.as_str());
            if let Some(meant) = came.as_str().and_then(|came| nearest(came, options)) {
                message.push_str(&format!("; did you mean {}?", shorten(&quoted(meant))));
            }
            message
        }
    };
    Violation::new(join(pointer, tag), message)
}

fn got(at: Cursor<'_>) -> &str {
    let mut end = at;
    match end.skip() {
        Ok(()) => at.until(end),
        Err(_) => "",
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// What a node expects, as a noun.
pub(super) fn expected(node: &Node) -> String {
    if let Some(options) = &node.options {
        let options = options.iter().filter(|o| node.kinds.has(Kinds::of(o)));
        return listed(options.map(|option| shorten(&option.to_string())));
    }
    if node.kinds == Kinds::ALL && node.number.is_none() && node.text.is_none() {
        return "a value that the schema allows".to_owned();
    }
    let named: [(Kinds, &str); 5] = [
        (Kinds::BOOLEAN, "true or false"),
        (Kinds::STRING, "a string"),
        (Kinds::ARRAY, "an array"),
        (Kinds::OBJECT, "an object"),
        (Kinds::NULL, "null"),
    ];
    let mut nouns = Vec::new();
    if node.kinds.has(Kinds::FRACTION) {
        nouns.push(ranged("a number", node.number.as_deref()));
    } else if node.kinds.has(Kinds::INTEGER) {
        nouns.push(ranged("an integer", node.number.as_deref()));
    }
    for (kind, noun) in named {
        if node.kinds.has(kind) {
            nouns.push(match (kind, &node.text) {
                (Kinds::STRING, Some(text)) => texted(text),
                _ => noun.to_owned(),
            });
        }
    }
    listed(nouns.into_iter())
}

fn ranged(noun: &str, range: Option<&Range>) -> String {
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
    if let Some(bound) = &range.above {
        say(format!("above {bound}"));
    }
    if let Some(bound) = &range.below {
        say(format!("below {bound}"));
    }
    if let Some(unit) = &range.multiple_of {
        say(format!("that is a multiple of {unit}"));
    }
    words
}

fn texted(text: &Text) -> String {
    let mut words = "a string".to_owned();
    if !text.length.is_open() {
        words.push_str(&format!(" of {} characters", amount(text.length)));
    }
    if let Some(pattern) = &text.pattern {
        words.push_str(&format!(
            " that matches {}",
            shorten(pattern.regex.as_str())
        ));
    }
    words
}

/// `3`, `1 to 3`, `at least 1` or `at most 3`.
pub(super) fn amount(length: Length) -> String {
    match (length.least, length.most) {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
        (None, None) => "any number of".to_owned(),
    }
}
