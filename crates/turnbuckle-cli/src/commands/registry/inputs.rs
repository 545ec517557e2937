//! Rules for values that the user of a server gives: arguments, environment variables, headers.

use std::collections::HashSet;

use super::walk::{Findings, Node};

/// The members of every input.
const INPUT: &[&str] = &[
    "choices",
    "default",
    "description",
    "format",
    "isRequired",
    "isSecret",
    "placeholder",
    "value",
    "variables",
];

/// Checks a list of environment variables or headers, and returns their names.
pub(super) fn check_named(
    findings: &mut Findings,
    parent: &Node<'_>,
    list: &str,
) -> HashSet<String> {
    let mut names = HashSet::new();
    for place in findings.array(parent, list) {
        if findings
            .object(&place, &[INPUT, &["name"]].concat())
            .is_none()
        {
            continue;
        }
        if let Some(name) = findings.needed_text(&place, "name")
            && !names.insert(name.to_owned())
        {
            findings.error(&place.path, format!("{name:?} is there twice"));
        }
        check_input(findings, &place);
    }
    names
}

/// Checks a list of arguments, and returns the names by which a URL can use them.
pub(super) fn check_arguments(
    findings: &mut Findings,
    parent: &Node<'_>,
    list: &str,
) -> HashSet<String> {
    let mut names = HashSet::new();
    for place in findings.array(parent, list) {
        let known = [INPUT, &["type", "name", "valueHint", "isRepeated"]].concat();
        if findings.object(&place, &known).is_none() {
            continue;
        }
        findings.boolean(&place, "isRepeated");
        let hint = findings.text(&place, "valueHint");
        names.extend(hint.map(str::to_owned));
        match findings.needed_text(&place, "type") {
            Some("named") => {
                if let Some(name) = findings.needed_text(&place, "name") {
                    names.insert(name.to_owned());
                    if name.contains([' ', '<', '>', '$']) {
                        let message = "a name is the option alone; its value is another member";
                        findings.error(&place.join("name").path, message);
                    }
                    for member in ["value", "default"] {
                        let text = place.value[member].as_str();
                        if text.is_some_and(|text| text.starts_with(name)) {
                            let message = "the name stands before it already; give the value alone";
                            findings.error(&place.join(member).path, message);
                        }
                    }
                }
            }
            Some("positional") if hint.is_none() && place.get("value").is_none() => {
                let message = "a positional argument has a \"value\" or a \"valueHint\"";
                findings.error(&place.path, message);
            }
            Some("positional") | None => {}
            Some(other) => {
                findings.one_of(&place.join("type").path, other, &["named", "positional"])
            }
        }
        check_input(findings, &place);
    }
    names
}

/// Checks what all inputs have in common.
pub(super) fn check_input(findings: &mut Findings, place: &Node<'_>) {
    for text in ["description", "default", "placeholder", "value"] {
        findings.text(place, text);
    }
    findings.boolean(place, "isRequired");
    findings.boolean(place, "isSecret");
    if let Some(format) = findings.text(place, "format") {
        let formats = ["string", "number", "boolean", "filepath"];
        findings.one_of(&place.join("format").path, format, &formats);
    }
    for choice in findings.array(place, "choices") {
        if !choice.value.is_string() {
            findings.error(&choice.path, "a text is needed here");
        }
    }
    let is_secret = place.value["isSecret"] == true;
    if is_secret && place.get("default").is_some() {
        findings.warn(&place.path, "everybody reads the default of a secret");
    }
    let variables = check_variables(findings, place);
    if let Some(value) = place.value["value"].as_str() {
        for name in placeholders(value).filter(|name| !variables.contains(*name)) {
            let message = format!("{{{name}}} is not one of \"variables\", and stays as it is");
            findings.warn(&place.join("value").path, message);
        }
    }
}

/// Checks the variables of an input or a remote server, and returns their names.
pub(super) fn check_variables(findings: &mut Findings, parent: &Node<'_>) -> HashSet<String> {
    let Some(place) = parent.get("variables") else {
        return HashSet::new();
    };
    let Some(variables) = place.value.as_object() else {
        findings.error(&place.path, "an object of variables is needed here");
        return HashSet::new();
    };
    for (name, value) in variables {
        let variable = Node {
            path: place.join(name).path,
            value,
        };
        if findings.object(&variable, INPUT).is_some() {
            // Variables have no variables of their own.
            for text in ["description", "default", "placeholder", "value"] {
                findings.text(&variable, text);
            }
        }
    }
    variables.keys().cloned().collect()
}

/// Returns the names in braces.
pub(super) fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    let pieces = text.split('{').skip(1);
    pieces.filter_map(|piece| Some(piece.split_once('}')?.0))
}
