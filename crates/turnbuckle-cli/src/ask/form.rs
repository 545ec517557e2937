//! Elicitation forms, filled in field by field (client/elicitation).

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::json;
use turnbuckle::client::{Form, FormAnswer, QuestionContext};
use turnbuckle::types::method::Elicit;
use turnbuckle::types::{FieldValue, Map, Number, PrimitiveSchemaDefinition, Request as _};

use super::answer_mode::AnswerMode;
use super::responder::Responder;
use super::script::parse_form_answer;
use super::terminal::{Dialog, Terminal};
use crate::output::{Style, pretty, sanitize, sanitize_line};

/// Answers a form by the script, or else in the mode of the responder.
pub(super) async fn answer(
    responder: Arc<Responder>,
    form: Form,
    question: QuestionContext,
) -> FormAnswer {
    let as_json = || {
        json!({"method": Elicit::METHOD, "params": {
            "mode": "form", "message": form.message, "requestedSchema": form.schema}})
    };
    let parse = |text: &str| parse_form_answer(&form, text);
    if let Some(answer) = responder.script_answer(as_json, parse).await {
        return answer;
    }
    let terminal = responder.terminal.clone();
    match responder.mode {
        AnswerMode::Refuse => {
            responder
                .note_refusal(&form.message, "there is nobody to fill in the form")
                .await;
            FormAnswer::Cancel
        }
        AnswerMode::AcceptAll => {
            terminal.print_asker(&question);
            terminal.console.print_message(&sanitize(&form.message));
            let content = form.defaults();
            match form.validate(&form.with_defaults(&content)) {
                Ok(()) => {
                    show_answer(&terminal, &form, &content);
                    FormAnswer::Accept(content)
                }
                Err(error) => {
                    let reason = format!("{} has no default that fits", error.field);
                    responder.note_refusal(&form.message, &reason).await;
                    FormAnswer::Cancel
                }
            }
        }
        AnswerMode::Prompt => {
            let filled = terminal.run_dialog(move |terminal| {
                terminal.print_asker(&question);
                fill_in(terminal, &form)
            });
            filled.await.unwrap_or(FormAnswer::Cancel)
        }
    }
}

/// Asks for each field, shows the answer, and asks whether to send it; `e` asks for each field again,
/// with what was typed in brackets. `None` ends without an answer.
fn fill_in(terminal: &Dialog, form: &Form) -> Option<FormAnswer> {
    let console = &terminal.console;
    console.print_message(&sanitize(&form.message));
    if !form.schema.properties.is_empty() {
        let how = "Enter takes what is in brackets, Ctrl-D ends without an answer.";
        console.print_message(&console.style_stderr(Style::Dim, how));
    }
    let mut content = form.defaults();
    loop {
        for (name, field) in form.schema.properties.iter() {
            match ask_field(terminal, form, name, field, content.get(name))? {
                Some(value) => content.insert(name, value),
                None => content.remove(name),
            };
        }
        if let Err(error) = form.validate(&form.with_defaults(&content)) {
            console.print_message(&format!("  {}", sanitize_line(&error.to_string(), 200)));
            continue;
        }
        show_answer(terminal, form, &content);
        loop {
            let typed = terminal.read_line("Send this? [Y/n, e to edit] ")?;
            match typed.trim().to_lowercase().as_str() {
                "" | "y" | "yes" => return Some(FormAnswer::Accept(content)),
                "n" | "no" => return Some(FormAnswer::Decline),
                "e" | "edit" => break,
                _ => console.print_message("  y, n or e, please"),
            }
        }
    }
}

/// Returns the form with one of its fields alone, to check its value by itself.
fn single_field_form(form: &Form, name: &str, field: &PrimitiveSchemaDefinition) -> Form {
    let mut single = form.clone();
    single.schema.required = None;
    single.schema.properties = Map::new();
    single.schema.properties.insert(name, field.clone());
    single
}

/// Prints the content that would be sent.
fn show_answer(terminal: &Terminal, form: &Form, content: &Map<FieldValue>) {
    let json = serde_json::to_string(&form.with_defaults(content)).unwrap_or_default();
    terminal
        .console
        .print_message(&format!("\nThe answer:\n{}", pretty(&json)));
}

/// Asks for one field until its value is valid. An empty line takes `default`, if there is one. `Some(None)` leaves an optional field out; `None`
/// ends the form.
fn ask_field(
    terminal: &Dialog,
    form: &Form,
    name: &str,
    field: &PrimitiveSchemaDefinition,
    default: Option<&FieldValue>,
) -> Option<Option<FieldValue>> {
    let console = &terminal.console;
    let facts = FieldView::new(field);
    let required = form.schema.is_required(name);
    let mut head = format!(
        "\n  {}",
        console.style_stderr(
            Style::Strong,
            &sanitize_line(facts.title.unwrap_or(name), 80)
        )
    );
    let optional = if required { "" } else { ", optional" };
    let _ = write!(
        head,
        " {}",
        console.style_stderr(Style::Dim, &format!("({}{optional})", facts.kind))
    );
    if let Some(description) = facts.description {
        let _ = write!(head, "\n  {}", sanitize_line(description, 300));
    }
    for (number, (value, title)) in facts.choices.iter().enumerate() {
        let _ = write!(
            head,
            "\n    {}) {}",
            number + 1,
            sanitize_line(title.unwrap_or(value), 120)
        );
    }
    console.print_message(&head);
    let single = single_field_form(form, name, field);
    let prompt = match default.map(display_value) {
        Some(default) => format!("  [{}] > ", sanitize_line(&default, 120)),
        None => "  > ".to_owned(),
    };
    loop {
        let typed = terminal.read_line(&prompt)?;
        if typed.is_empty()
            && let Some(default) = default
        {
            return Some(Some(default.clone()));
        }
        if typed.is_empty() && !required {
            return Some(None);
        }
        let value = match parse_value(field, &facts, &typed) {
            Ok(value) => value,
            Err(why) => {
                console.print_message(&format!("  {why}"));
                continue;
            }
        };
        let mut alone = Map::new();
        alone.insert(name, value.clone());
        match single.validate(&alone) {
            Err(error) => {
                console.print_message(&format!("  {}", sanitize_line(&error.to_string(), 200)));
            }
            Ok(()) => return Some(Some(value)),
        }
    }
}

/// Parses the text that the user typed for a field.
fn parse_value(
    field: &PrimitiveSchemaDefinition,
    facts: &FieldView<'_>,
    typed: &str,
) -> Result<FieldValue, String> {
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
        // A value that looks like a number takes precedence over the number of a choice.
        let exact = facts.choices.iter().find(|(value, _)| *value == word);
        exact
            .or(numbered)
            .or_else(named)
            .map(|(value, _)| (*value).to_owned())
    };
    match field {
        PrimitiveSchemaDefinition::Number(_) => {
            let number: Result<Number, _> = word.parse();
            number
                .map(FieldValue::Number)
                .map_err(|_| "a number, please".to_owned())
        }
        PrimitiveSchemaDefinition::Boolean(_) => match word.to_lowercase().as_str() {
            "y" | "yes" | "true" => Ok(FieldValue::Bool(true)),
            "n" | "no" | "false" => Ok(FieldValue::Bool(false)),
            _ => Err("yes or no, please".to_owned()),
        },
        PrimitiveSchemaDefinition::SingleSelect(_) | PrimitiveSchemaDefinition::LegacyEnum(_) => {
            choice(word)
                .map(FieldValue::String)
                .ok_or_else(|| "one of the choices, please: its number or its name".to_owned())
        }
        PrimitiveSchemaDefinition::MultiSelect(_) => {
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

/// The parts of a field that are shown to the user.
struct FieldView<'a> {
    title: Option<&'a str>,
    description: Option<&'a str>,
    kind: String,
    choices: Vec<(&'a str, Option<&'a str>)>,
}

impl<'a> FieldView<'a> {
    fn new(field: &'a PrimitiveSchemaDefinition) -> Self {
        let (title, description, kind) = match field {
            PrimitiveSchemaDefinition::String(of) => {
                let kind = of.format.as_ref().map_or_else(
                    || "text".to_owned(),
                    |format| sanitize_line(format.as_str(), 40),
                );
                (&of.title, &of.description, kind)
            }
            PrimitiveSchemaDefinition::Number(of) => {
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
            PrimitiveSchemaDefinition::Boolean(of) => {
                (&of.title, &of.description, "yes or no".to_owned())
            }
            PrimitiveSchemaDefinition::SingleSelect(of) => {
                (&of.title, &of.description, "one of these".to_owned())
            }
            PrimitiveSchemaDefinition::MultiSelect(of) => (
                &of.title,
                &of.description,
                "any of these, with commas between".to_owned(),
            ),
            PrimitiveSchemaDefinition::LegacyEnum(of) => {
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

/// Returns the choices of a field with their titles.
fn choices(field: &PrimitiveSchemaDefinition) -> Vec<(&str, Option<&str>)> {
    match field {
        PrimitiveSchemaDefinition::SingleSelect(of) => {
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
        PrimitiveSchemaDefinition::MultiSelect(of) => {
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
        PrimitiveSchemaDefinition::LegacyEnum(of) => {
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

/// Formats a value as a person would write it.
fn display_value(value: &FieldValue) -> String {
    match value {
        FieldValue::String(text) => text.clone(),
        FieldValue::Number(number) => number.to_string(),
        FieldValue::Bool(true) => "yes".to_owned(),
        FieldValue::Bool(false) => "no".to_owned(),
        FieldValue::List(values) => values.join(", "),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}
