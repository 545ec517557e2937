//! Answers to questions of servers: defaults for forms, a fixed model reply, one root.

use turnbuckle::ClientBuilder;
use turnbuckle::client::{Form, FormAnswer, Roots, UrlAnswer};
use turnbuckle::types::{
    CreateMessageResult, FieldValue, Number, PrimitiveSchemaDefinition, Role, Root,
    SamplingMessageContentBlock, TextContent,
};

/// Registers a handler for every question of a server.
pub(crate) fn install(builder: ClientBuilder) -> ClientBuilder {
    let roots = Roots::new();
    if let Ok(root) = Root::new("file:///everything") {
        // It was checked when it was made.
        let _ = roots.add(root.name("everything"));
    }
    builder
        .on_form(|form, _| async move { fill_in(&form) })
        .on_url(|_, _| async { UrlAnswer::Accept })
        .on_sampling(|_, _| async {
            let text =
                SamplingMessageContentBlock::Text(TextContent::new("an example of an answer"));
            Ok(CreateMessageResult::new(
                Role::Assistant,
                text,
                "everything-model",
            ))
        })
        .roots(roots)
}

/// Fills in defaults, and an example for each required field without one.
fn fill_in(form: &Form) -> FormAnswer {
    let mut content = form.defaults();
    for name in form.schema.required.iter().flatten() {
        if content.contains_key(name) {
            continue;
        }
        if let Some(example) = form.schema.properties.get(name).and_then(example) {
            content.insert(name.as_str(), example);
        }
    }
    FormAnswer::Accept(content)
}

fn example(field: &PrimitiveSchemaDefinition) -> Option<FieldValue> {
    let first = |choices: &[String]| choices.first().cloned().map(FieldValue::String);
    match field {
        PrimitiveSchemaDefinition::String(_) => Some(FieldValue::String("example".into())),
        PrimitiveSchemaDefinition::Number(number) => Some(FieldValue::Number(
            number.minimum.clone().unwrap_or(Number::from(2)),
        )),
        PrimitiveSchemaDefinition::Boolean(_) => Some(FieldValue::Bool(true)),
        PrimitiveSchemaDefinition::LegacyEnum(choice) => first(&choice.values),
        PrimitiveSchemaDefinition::SingleSelect(choice) => match (&choice.values, &choice.one_of) {
            (Some(values), _) => first(values),
            (None, Some(titled)) => {
                let choice = titled.first()?;
                Some(FieldValue::String(choice.value.clone()))
            }
            (None, None) => None,
        },
        PrimitiveSchemaDefinition::MultiSelect(_) => Some(FieldValue::List(Vec::new())),
        _ => None,
    }
}
