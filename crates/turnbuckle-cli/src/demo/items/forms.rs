//! Tools that ask for forms with every kind of field.

use serde::Serialize;
use turnbuckle::AskError;
use turnbuckle::prelude::*;
use turnbuckle::types::{
    ElicitRequestFormParams, ElicitationSchema, LegacyTitledEnumSchema, MultiSelectEnumSchema,
    SingleSelectEnumSchema,
};

/// A form is a struct.
#[data]
struct Profile {
    /// User name
    #[schema(default = "John Doe")]
    name: String,
    /// User age
    #[schema(default = 30)]
    age: i64,
    /// User score
    #[schema(default = 95.5)]
    score: f64,
    /// User status
    #[schema(default = Status::Active)]
    status: Status,
    /// Verification status
    #[schema(default = true)]
    verified: bool,
}

#[data(rename_all = "lowercase")]
enum Status {
    Active,
    Inactive,
    Pending,
}

pub(super) struct Forms;

#[server]
impl Forms {
    /// Asks the user, with every field filled in already
    #[tool(title = "Form with defaults")]
    async fn test_elicitation_sep1034_defaults(ask: Ask) -> Result<String> {
        let message = "Please review and update the form fields with defaults";
        let profile = describe_answer(ask.form::<Profile>(message).await)?;
        Ok(format!("Elicitation completed: {profile}"))
    }

    // No derived schema has `enumNames`, which only old clients know, so this form is built by hand.
    /// Asks the user to choose, in every form of a choice
    #[tool(title = "Form with choices")]
    fn test_elicitation_sep1330_enums(context: HandlerContext) -> Result<String> {
        let plain = ["option1", "option2", "option3"];
        let titled = [
            ("value1", "First"),
            ("value2", "Second"),
            ("value3", "Third"),
        ];
        let legacy = LegacyTitledEnumSchema::titled([("opt1", "One"), ("opt2", "Two")]);
        let form = ElicitationSchema::new()
            .optional("untitledSingle", SingleSelectEnumSchema::untitled(plain))
            .optional("titledSingle", SingleSelectEnumSchema::titled(titled))
            .optional("legacyEnum", legacy)
            .optional("untitledMulti", MultiSelectEnumSchema::untitled(plain))
            .optional("titledMulti", MultiSelectEnumSchema::titled(titled));
        let answer = context.ask(
            "choices",
            ElicitRequestFormParams::new("Please choose", form),
        )?;
        let choices = format_answer(answer.action.as_str(), &answer.content.unwrap_or_default())?;
        Ok(format!("Elicitation completed: {choices}"))
    }
}

/// Describes the action of the user and the content of the form. A refusal is an answer, too.
pub(super) fn describe_answer<T: Serialize>(answer: Result<T, AskError>) -> Result<String> {
    match answer {
        Ok(form) => format_answer("accept", &form),
        Err(AskError::Declined) => Ok("action=decline, content={}".to_owned()),
        Err(AskError::Cancelled) => Ok("action=cancel, content={}".to_owned()),
        Err(error) => Err(error.into()),
    }
}

fn format_answer(action: &str, content: &impl Serialize) -> Result<String> {
    let content = serde_json::to_string(content)?;
    Ok(format!("action={action}, content={content}"))
}
