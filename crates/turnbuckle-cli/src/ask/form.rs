//! Forms, field by field.

use std::fmt::Write as _;
use std::sync::Arc;

use turnbuckle::client::{Form, FormAnswer, Question};
use turnbuckle::types::{FieldValue, Map, Number, PrimitiveSchema};

use super::Manner;
use super::terminal::Terminal;
use crate::output::{Ink, clean, line, pretty};

/// Puts a form to the user.
pub(super) async fn answer(
    terminal: Arc<Terminal>,
    manner: Manner,
    form: Form,
    question: Question,
) -> FormAnswer {
    match manner {
        Manner::Refused => FormAnswer::Cancel,
        Manner::Yes => {
            terminal.introduce(&question);
            terminal.screen.say(&clean(&form.message));
            let content = form.defaults();
            match form.check(&form.complete(&content)) {
                Ok(()) => {
                    show(&terminal, &form, &content);
                    FormAnswer::Accept(content)
                }
                Err(error) => {
                    let field = line(&error.field, 80);
                    terminal
                        .screen
                        .say(&format!("  not sent: {field} has no default that fits"));
                    FormAnswer::Cancel
                }
            }
        }
        Manner::Asked => {
            let filled = terminal.converse(move |terminal| {
                terminal.introduce(&question);
                fill(terminal, &form)
            });
            filled.await.unwrap_or(FormAnswer::Cancel)
        }
    }
}

/// Asks for each field, shows the whole, and sends it if the user agrees.
fn fill(terminal: &Terminal, form: &Form) -> Option<FormAnswer> {
    let screen = &terminal.screen;
    screen.say(&clean(&form.message));
    if !form.schema.properties.is_empty() {
        let how = "Enter takes what is in brackets, Ctrl-D ends without an answer.";
        screen.say(&screen.err_ink(Ink::Dim, how));
    }
    let defaults = form.defaults();
    loop {
        let mut content = Map::new();
        for (name, field) in form.schema.properties.iter() {
            if let Some(value) = ask(terminal, form, name, field, &defaults)? {
                content.insert(name, value);
            }
        }
        if let Err(error) = form.check(&form.complete(&content)) {
            screen.say(&format!("  {}", line(&error.to_string(), 200)));
            continue;
        }
        show(terminal, form, &content);
        return match terminal.agrees("Send this?", true)? {
            true => Some(FormAnswer::Accept(content)),
            false => Some(FormAnswer::Decline),
        };
    }
}

/// Shows what is about to be sent.
fn show(terminal: &Terminal, form: &Form, content: &Map<FieldValue>) {
    let json = serde_json::to_string(&form.complete(content)).unwrap_or_default();
    terminal
        .screen
        .say(&format!("\nThe answer:\n{}", pretty(&json)));
}

/// Asks for one field until its value fits; none if it is left out.
fn ask(
    terminal: &Terminal,
    form: &Form,
    name: &str,
    field: &PrimitiveSchema,
    defaults: &Map<FieldValue>,
) -> Option<Option<FieldValue>> {
    let screen = &terminal.screen;
    let facts = Facts::of(field);
    let required = form.schema.is_required(name);
    let mut head = format!(
        "\n  {}",
        screen.err_ink(Ink::Strong, &line(facts.title.unwrap_or(name), 80))
    );
    let optional = if required { "" } else { ", optional" };
    let _ = write!(
        head,
        " {}",
        screen.err_ink(Ink::Dim, &format!("({}{optional})", facts.kind))
    );
    if let Some(description) = facts.description {
        let _ = write!(head, "\n  {}", line(description, 300));
    }
    for (number, (value, title)) in facts.choices.iter().enumerate() {
        let _ = write!(
            head,
            "\n    {}) {}",
            number + 1,
            line(title.unwrap_or(value), 120)
        );
    }
    screen.say(&head);
    let default = defaults.get(name);
    let prompt = match default.map(shown) {
        Some(default) => format!("  [{}] > ", line(&default, 120)),
        None => "  > ".to_owned(),
    };
    loop {
        let typed = terminal.read(&prompt)?;
        if typed.is_empty()
            && let Some(default) = default
        {
            return Some(Some(default.clone()));
        }
        if typed.is_empty() && !required {
            return Some(None);
        }
        let value = match read(field, &facts, &typed) {
            Ok(value) => value,
            Err(why) => {
                screen.say(&format!("  {why}"));
                continue;
            }
        };
        let mut alone = Map::new();
        alone.insert(name, value.clone());
        match form.check(&alone) {
            Err(error) if error.field == name => {
                screen.say(&format!("  {}", line(&error.to_string(), 200)));
            }
            _ => return Some(Some(value)),
        }
    }
}

/// The value that was typed.
fn read(field: &PrimitiveSchema, facts: &Facts<'_>, typed: &str) -> Result<FieldValue, String> {
    let word = typed.trim();
    let choice = |word: &str| {
        let numbered = word
            .parse()
            .ok()
            .and_then(|number: usize| facts.choices.get(number.checked_sub(1)?));
        let named = || {
            facts.choices.iter().find(|(value, title)| {
                *value == word || title.is_some_and(|title| title.eq_ignore_ascii_case(word))
            })
        };
        // A value that is itself a number is meant before the number of a line.
        let exact = facts.choices.iter().find(|(value, _)| *value == word);
        exact
            .or(numbered)
            .or_else(named)
            .map(|(value, _)| (*value).to_owned())
    };
    match field {
        PrimitiveSchema::Number(_) => {
            let number: Result<Number, _> = word.parse();
            number
                .map(FieldValue::Number)
                .map_err(|_| "a number, please".to_owned())
        }
        PrimitiveSchema::Boolean(_) => match word.to_lowercase().as_str() {
            "y" | "yes" | "true" => Ok(FieldValue::Bool(true)),
            "n" | "no" | "false" => Ok(FieldValue::Bool(false)),
            _ => Err("yes or no, please".to_owned()),
        },
        PrimitiveSchema::SingleSelect(_) | PrimitiveSchema::LegacyEnum(_) => choice(word)
            .map(FieldValue::String)
            .ok_or_else(|| "one of the choices, please: its number or its name".to_owned()),
        PrimitiveSchema::MultiSelect(_) => {
            let words = word
                .split(',')
                .map(str::trim)
                .filter(|word| !word.is_empty());
            let chosen: Option<Vec<_>> = words.map(choice).collect();
            chosen
                .map(FieldValue::List)
                .ok_or_else(|| "some of the choices, please, with commas between".to_owned())
        }
        _ => Ok(FieldValue::String(typed.to_owned())),
    }
}

/// What is shown of a field.
struct Facts<'a> {
    title: Option<&'a str>,
    description: Option<&'a str>,
    kind: String,
    choices: Vec<(&'a str, Option<&'a str>)>,
}

impl<'a> Facts<'a> {
    fn of(field: &'a PrimitiveSchema) -> Self {
        let (title, description, kind) = match field {
            PrimitiveSchema::String(of) => {
                let kind = of
                    .format
                    .as_ref()
                    .map_or_else(|| "text".to_owned(), |format| line(format.as_str(), 40));
                (&of.title, &of.description, kind)
            }
            PrimitiveSchema::Number(of) => {
                let bound = |number: &Option<Number>| number.as_ref().map(ToString::to_string);
                let mut kind = of.kind.as_str().to_owned();
                match (bound(&of.minimum), bound(&of.maximum)) {
                    (Some(least), Some(most)) => kind += &format!(", {least} to {most}"),
                    (Some(least), None) => kind += &format!(", at least {least}"),
                    (None, Some(most)) => kind += &format!(", at most {most}"),
                    (None, None) => {}
                }
                (&of.title, &of.description, kind)
            }
            PrimitiveSchema::Boolean(of) => (&of.title, &of.description, "yes or no".to_owned()),
            PrimitiveSchema::SingleSelect(of) => {
                (&of.title, &of.description, "one of these".to_owned())
            }
            PrimitiveSchema::MultiSelect(of) => (
                &of.title,
                &of.description,
                "any of these, with commas between".to_owned(),
            ),
            PrimitiveSchema::LegacyEnum(of) => {
                (&of.title, &of.description, "one of these".to_owned())
            }
            _ => (&None, &None, "text".to_owned()),
        };
        Self {
            title: title.as_deref(),
            description: description.as_deref(),
            kind,
            choices: choices(field),
        }
    }
}

/// The choices of a field, with what they are called.
fn choices(field: &PrimitiveSchema) -> Vec<(&str, Option<&str>)> {
    match field {
        PrimitiveSchema::SingleSelect(of) => {
            let values = of
                .values
                .iter()
                .flatten()
                .map(|value| (value.as_str(), None));
            let titled = of.one_of.iter().flatten();
            values
                .chain(titled.map(|choice| (choice.value.as_str(), Some(choice.title.as_str()))))
                .collect()
        }
        PrimitiveSchema::MultiSelect(of) => {
            let values = of
                .items
                .values
                .iter()
                .flatten()
                .map(|value| (value.as_str(), None));
            let titled = of.items.any_of.iter().flatten();
            values
                .chain(titled.map(|choice| (choice.value.as_str(), Some(choice.title.as_str()))))
                .collect()
        }
        PrimitiveSchema::LegacyEnum(of) => {
            let names = of.names.as_deref().unwrap_or_default();
            let title = |at: usize| names.get(at).map(String::as_str);
            of.values
                .iter()
                .enumerate()
                .map(|(at, value)| (value.as_str(), title(at)))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// A value as a person would write it.
fn shown(value: &FieldValue) -> String {
    match value {
        FieldValue::String(text) => text.clone(),
        FieldValue::Number(number) => number.to_string(),
        FieldValue::Bool(true) => "yes".to_owned(),
        FieldValue::Bool(false) => "no".to_owned(),
        FieldValue::List(values) => values.join(", "),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}
