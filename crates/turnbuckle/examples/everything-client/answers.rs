//! What the client answers when a server asks: forms with their defaults, one model, one root.

use turnbuckle::ClientBuilder;
use turnbuckle::client::{Form, FormAnswer, Roots, UrlAnswer};
use turnbuckle::types::{
    CreateMessageResult, FieldValue, Number, PrimitiveSchemaDefinition, Role, Root,
    SamplingMessageContentBlock, TextContent,
};

/// Installs an answer to everything that a server may ask.
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

/// The form's own defaults, and an example in each required field that has none.
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
