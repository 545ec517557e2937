//! Answers to the questions of servers: forms, URLs and sampling requests.

use std::sync::Arc;

use serde_json::{Value, json};
use turnbuckle::client::{Form, FormAnswer, SamplingRejected, UrlAnswer, UrlRequest};
use turnbuckle::servers::{ServerQuestion, ServersBuilder};
use turnbuckle::types::{
    CreateMessageRequestParams, CreateMessageResult, FieldValue, Map, PrimitiveSchemaDefinition,
    ProtocolError, Role, SamplingMessage, SamplingMessageContentBlock,
};

use crate::console::Console;
use crate::model::Model;

/// Installs handlers that answer the questions of all servers on the console.
pub(crate) fn install(
    builder: ServersBuilder,
    console: &Arc<Console>,
    model: &Arc<Model>,
) -> ServersBuilder {
    let (forms, urls, samples) = (console.clone(), console.clone(), console.clone());
    let model = model.clone();
    builder
        .on_form(move |form, question: ServerQuestion| {
            let console = forms.clone();
            async move { fill_in(&console, &question.server, &form).await }
        })
        .on_url(move |request, question: ServerQuestion| {
            let console = urls.clone();
            async move { visit(&console, &question.server, &request).await }
        })
        .on_sampling(move |params, question: ServerQuestion| {
            let (console, model) = (samples.clone(), model.clone());
            async move { sample(&console, &question.server, &model, &params).await }
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

/// Lets the model answer a server, if the user allows it. The model gets no tools.
async fn sample(
    console: &Console,
    server: &str,
    model: &Model,
    params: &CreateMessageRequestParams,
) -> Result<CreateMessageResult, ProtocolError> {
    console.print(format!("-- {server} asks the model:"));
    let system = params.system_prompt.iter();
    let system = system.map(|text| json!({"role": "system", "content": text}));
    let messages: Vec<Value> = system.chain(params.messages.iter().map(message)).collect();
    for message in &messages {
        console.print(format!(
            "   {}",
            message["content"].as_str().unwrap_or_default()
        ));
    }
    let allowed = console.read("   allow? [yes/no] ").await;
    if !matches!(allowed.as_deref().map(str::trim), Some("y" | "yes")) {
        return Err(SamplingRejected.into());
    }
    let answer = model.complete(&messages, &[]).await;
    let answer = answer.map_err(ProtocolError::internal)?;
    let text = answer.text.unwrap_or_default();
    Ok(CreateMessageResult::from_text(text, model.name()))
}

/// Returns a message of a server as the model reads it.
fn message(message: &SamplingMessage) -> Value {
    let role = match message.role {
        Role::Assistant => "assistant",
        _ => "user",
    };
    json!({"role": role, "content": text_of(message)})
}

/// Returns the text of a message.
fn text_of(message: &SamplingMessage) -> String {
    let texts = message
        .content
        .iter()
        .filter_map(SamplingMessageContentBlock::as_text);
    texts.collect::<Vec<_>>().join("\n")
}
