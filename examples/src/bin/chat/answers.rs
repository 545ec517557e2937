//! Answers to the questions of servers: forms, URLs and sampling requests.

use std::process::Stdio;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use turnbuckle::ClientBuilder;
use turnbuckle::client::{Form, FormAnswer, UrlAnswer, UrlRequest};
use turnbuckle::types::{
    CreateMessageRequestParams, CreateMessageResult, FieldValue, Map, PrimitiveSchemaDefinition,
    ProtocolError, Role, SamplingMessage, SamplingMessageContentBlock,
};

use crate::console::Console;

/// The maximum size of an answer of the model, in bytes.
const MAX_ANSWER: u64 = 64 << 10;

/// The model that answers sampling requests: a command, or an echo without one.
pub(crate) struct Model(pub(crate) Option<String>);

/// Registers handlers that answer the questions of the server `name` on the console.
pub(crate) fn install_handlers(
    builder: ClientBuilder,
    name: &str,
    console: &Arc<Console>,
    model: &Arc<Model>,
) -> ClientBuilder {
    let server: Arc<str> = name.into();
    let (form_console, form_server) = (console.clone(), server.clone());
    let (url_console, url_server) = (console.clone(), server.clone());
    let (sampling_console, model) = (console.clone(), model.clone());
    builder
        .on_form(move |form, _| {
            let (console, server) = (form_console.clone(), form_server.clone());
            async move { fill_in(&console, &server, &form).await }
        })
        .on_url(move |request, _| {
            let (console, server) = (url_console.clone(), url_server.clone());
            async move { visit(&console, &server, &request).await }
        })
        .on_sampling(move |params, _| {
            sampling_console.print(format!("-- {server} asks the model"));
            let model = model.clone();
            async move { model.answer(&params).await }
        })
}

/// Asks for each field, and again for a field whose value is invalid.
async fn fill_in(console: &Console, server: &str, form: &Form) -> FormAnswer {
    console.print(format!("-- {server} asks: {}", form.message));
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
        // Missing fields get the defaults of the form.
        let error = match form.validate(&form.with_defaults(&content)) {
            Ok(()) => return FormAnswer::Accept(content),
            Err(error) => error,
        };
        console.print(format!("   {error}"));
        match form
            .schema
            .properties
            .keys()
            .find(|name| *name == error.field)
        {
            Some(name) => fields.push(name),
            None => return FormAnswer::Cancel,
        }
    }
}

/// Asks for one field. An empty line skips the field; `:decline` and `:cancel` end the form.
async fn ask(console: &Console, form: &Form, name: &str) -> Result<Option<FieldValue>, FormAnswer> {
    let Some(field) = form.schema.properties.get(name) else {
        return Ok(None);
    };
    let description = describe(name, field, form.schema.is_required(name));
    console.print(format!("   {description}"));
    let typed = console.read("   > ").await.ok_or(FormAnswer::Cancel)?;
    match typed.trim() {
        ":decline" => Err(FormAnswer::Decline),
        ":cancel" => Err(FormAnswer::Cancel),
        "" => Ok(None),
        typed => Ok(Some(parse_value(field, typed))),
    }
}

/// Returns one line about a field: the name, the description and the choices.
fn describe(name: &str, field: &PrimitiveSchemaDefinition, required: bool) -> String {
    let (description, choices): (Option<&String>, Vec<&str>) = match field {
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
    let mut text = name.to_owned();
    if let Some(description) = description {
        text = format!("{text}: {description}");
    }
    if !choices.is_empty() {
        text = format!("{text} [{}]", choices.join(", "));
    }
    if !required {
        text.push_str(" (optional)");
    }
    text
}

/// Parses the input for a field. The value is not validated here.
fn parse_value(field: &PrimitiveSchemaDefinition, typed: &str) -> FieldValue {
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

/// Shows the URL that a server wants the user to visit. The URL is not opened.
async fn visit(console: &Console, server: &str, request: &UrlRequest) -> UrlAnswer {
    console.print(format!("-- {server} sends you to {}", request.host));
    console.print(format!("   {}\n   {}", request.message, request.url));
    for warning in &request.warnings {
        console.print(format!("   warning: {warning}"));
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
    /// Answers a sampling request.
    async fn answer(
        &self,
        params: &CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, ProtocolError> {
        let mut texts = params.messages.iter().map(text_of);
        let (name, answer) = match &self.0 {
            None => ("echo", texts.next_back().unwrap_or_default()),
            Some(command) => {
                let conversation: Vec<String> = params
                    .system_prompt
                    .clone()
                    .into_iter()
                    .chain(texts)
                    .collect();
                let answer = run(command, &conversation.join("\n\n")).await;
                let answer = answer
                    .map_err(|error| ProtocolError::internal(format!("{command}: {error}")))?;
                (command.as_str(), answer)
            }
        };
        let answer = SamplingMessageContentBlock::text(answer);
        Ok(CreateMessageResult::new(Role::Assistant, answer, name))
    }
}

/// Returns the text of a message.
fn text_of(message: &SamplingMessage) -> String {
    let texts = message
        .content
        .iter()
        .filter_map(SamplingMessageContentBlock::as_text);
    texts.collect::<Vec<_>>().join("\n")
}

/// Runs a command, writes `input` to its standard input and returns its standard output.
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
    let write_input = async {
        if let Some(mut write) = write {
            // The command may answer without reading all of its input.
            let _ = write.write_all(input.as_bytes()).await;
        }
    };
    let read_answer = async {
        match read {
            Some(read) => read
                .take(MAX_ANSWER)
                .read_to_string(&mut answer)
                .await
                .map(drop),
            None => Ok(()),
        }
    };
    let ((), outcome) = tokio::join!(write_input, read_answer);
    outcome?;
    match child.wait().await? {
        status if status.success() => Ok(answer),
        status => Err(std::io::Error::other(status.to_string())),
    }
}
