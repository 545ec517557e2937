//! Answers to questions of servers.

use std::process::Stdio;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use turnbuckle::ClientBuilder;
use turnbuckle::client::{Form, FormAnswer, UrlAnswer, UrlRequest};
use turnbuckle::types::{
    CreateMessageRequestParams, CreateMessageResult, Error, FieldValue, Map,
    PrimitiveSchemaDefinition, Role, SamplingMessage, SamplingMessageContentBlock,
};

use crate::console::Console;

/// The longest answer of the model, in bytes.
const MAX_ANSWER: u64 = 64 << 10;

/// The model: a command, or an echo.
pub(crate) struct Model(pub(crate) Option<String>);

/// Has the server `name` ask through the console.
pub(crate) fn install(
    builder: ClientBuilder,
    name: &str,
    console: &Arc<Console>,
    model: &Arc<Model>,
) -> ClientBuilder {
    let asker: Arc<str> = name.into();
    let (forms, by) = (console.clone(), asker.clone());
    let (urls, of) = (console.clone(), asker.clone());
    let (samples, model) = (console.clone(), model.clone());
    builder
        .on_form(move |form, _| {
            let (console, by) = (forms.clone(), by.clone());
            async move { fill_in(&console, &by, &form).await }
        })
        .on_url(move |request, _| {
            let (console, of) = (urls.clone(), of.clone());
            async move { visit(&console, &of, &request).await }
        })
        .on_sampling(move |params, _| {
            samples.say(format!("-- {asker} asks the model"));
            let model = model.clone();
            async move { model.answer(&params).await }
        })
}

/// Asks for each field, and again for those whose value does not fit.
async fn fill_in(console: &Console, asker: &str, form: &Form) -> FormAnswer {
    console.say(format!("-- {asker} asks: {}", form.message));
    let mut content = Map::new();
    let mut fields: Vec<&str> = form.schema.properties.keys().collect();
    loop {
        for name in fields.drain(..) {
            match ask(console, form, name).await {
                Ok(Some(value)) => drop(content.insert(name, value)),
                Ok(None) => drop(content.remove(name)),
                Err(ended) => return ended,
            }
        }
        // What was left out gets the form's defaults.
        let fault = match form.validate(&form.with_defaults(&content)) {
            Ok(()) => return FormAnswer::Accept(content),
            Err(fault) => fault,
        };
        console.say(format!("   {fault}"));
        match form
            .schema
            .properties
            .keys()
            .find(|name| *name == fault.field)
        {
            Some(name) => fields.push(name),
            None => return FormAnswer::Cancel,
        }
    }
}

/// Asks for one field; an empty line leaves it out, and `:decline` and `:cancel` end the form.
async fn ask(console: &Console, form: &Form, name: &str) -> Result<Option<FieldValue>, FormAnswer> {
    let Some(field) = form.schema.properties.get(name) else {
        return Ok(None);
    };
    let told = describe(name, field, form.schema.is_required(name));
    console.say(format!("   {told}"));
    let typed = console.read("   > ").await.ok_or(FormAnswer::Cancel)?;
    match typed.trim() {
        ":decline" => Err(FormAnswer::Decline),
        ":cancel" => Err(FormAnswer::Cancel),
        "" => Ok(None),
        typed => Ok(Some(read(field, typed))),
    }
}

/// A field in a line: its name, what it is for, and what can be chosen.
fn describe(name: &str, field: &PrimitiveSchemaDefinition, required: bool) -> String {
    let (about, choices): (Option<&String>, Vec<&str>) = match field {
        PrimitiveSchemaDefinition::String(field) => (field.description.as_ref(), Vec::new()),
        PrimitiveSchemaDefinition::Number(field) => (field.description.as_ref(), Vec::new()),
        PrimitiveSchemaDefinition::Boolean(field) => {
            (field.description.as_ref(), vec!["yes", "no"])
        }
        PrimitiveSchemaDefinition::SingleSelect(field) => {
            (field.description.as_ref(), field.choices().collect())
        }
        PrimitiveSchemaDefinition::MultiSelect(field) => {
            (field.description.as_ref(), field.choices().collect())
        }
        PrimitiveSchemaDefinition::LegacyEnum(field) => {
            let values = field.values.iter().map(String::as_str);
            (field.description.as_ref(), values.collect())
        }
        _ => (None, Vec::new()),
    };
    let mut told = name.to_owned();
    if let Some(about) = about {
        told = format!("{told}: {about}");
    }
    if !choices.is_empty() {
        told = format!("{told} [{}]", choices.join(", "));
    }
    if !required {
        told.push_str(" (optional)");
    }
    told
}

/// The value that was typed for a field; whether it fits is found out elsewhere.
fn read(field: &PrimitiveSchemaDefinition, typed: &str) -> FieldValue {
    let text = || FieldValue::String(typed.to_owned());
    match field {
        PrimitiveSchemaDefinition::Number(_) => {
            typed.parse().map_or_else(|_| text(), FieldValue::Number)
        }
        PrimitiveSchemaDefinition::Boolean(_) => match typed.to_lowercase().as_str() {
            "y" | "yes" | "true" => FieldValue::Bool(true),
            "n" | "no" | "false" => FieldValue::Bool(false),
            _ => text(),
        },
        PrimitiveSchemaDefinition::MultiSelect(_) => {
            let chosen = typed.split(',').map(|choice| choice.trim().to_owned());
            FieldValue::List(chosen.collect())
        }
        _ => text(),
    }
}

/// Shows where a server sends the user. Nothing is opened from here.
async fn visit(console: &Console, asker: &str, request: &UrlRequest) -> UrlAnswer {
    console.say(format!("-- {asker} sends you to {}", request.host));
    console.say(format!("   {}\n   {}", request.message, request.url));
    for warning in &request.warnings {
        console.say(format!("   careful: {warning}"));
    }
    match console
        .read("   go there? [yes/no] ")
        .await
        .as_deref()
        .map(str::trim)
    {
        Some("y" | "yes") => UrlAnswer::Accept,
        Some(_) => UrlAnswer::Decline,
        None => UrlAnswer::Cancel,
    }
}

impl Model {
    async fn answer(
        &self,
        params: &CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, Error> {
        let mut said = params.messages.iter().map(text_of);
        let (name, answer) = match &self.0 {
            None => ("echo", said.next_back().unwrap_or_default()),
            Some(command) => {
                let whole: Vec<String> = params
                    .system_prompt
                    .clone()
                    .into_iter()
                    .chain(said)
                    .collect();
                let answer = run(command, &whole.join("\n\n")).await;
                let answer =
                    answer.map_err(|error| Error::internal(format!("{command}: {error}")))?;
                (command.as_str(), answer)
            }
        };
        let answer = SamplingMessageContentBlock::text(answer);
        Ok(CreateMessageResult::new(Role::Assistant, answer, name))
    }
}

fn text_of(message: &SamplingMessage) -> String {
    let texts = message
        .content
        .iter()
        .filter_map(SamplingMessageContentBlock::as_text);
    texts.collect::<Vec<_>>().join("\n")
}

/// Runs a command of words that reads `input` and writes the answer.
async fn run(command: &str, input: &str) -> std::io::Result<String> {
    let mut words = command.split_whitespace();
    let mut child = Command::new(words.next().unwrap_or_default())
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let (write, read) = (child.stdin.take(), child.stdout.take());
    let mut answer = String::new();
    let told = async {
        if let Some(mut write) = write {
            // It may answer without reading to the end.
            let _ = write.write_all(input.as_bytes()).await;
        }
    };
    let heard = async {
        match read {
            Some(read) => read
                .take(MAX_ANSWER)
                .read_to_string(&mut answer)
                .await
                .map(drop),
            None => Ok(()),
        }
    };
    let ((), heard) = tokio::join!(told, heard);
    heard?;
    match child.wait().await? {
        status if status.success() => Ok(answer),
        status => Err(std::io::Error::other(status.to_string())),
    }
}
