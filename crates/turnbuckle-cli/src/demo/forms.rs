//! Forms with every kind of field that the user can be asked to fill in.

use serde::Serialize;
use turnbuckle::AskError;
use turnbuckle::prelude::*;
use turnbuckle::types::{
    ElicitFormParams, ElicitationSchema, LegacyEnumSchema, MultiSelectSchema, SingleSelectSchema,
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
        let profile = described(ask.form::<Profile>(message).await)?;
        Ok(format!("Elicitation completed: {profile}"))
    }

    // Structs have no `enumNames`, which only old clients know: this form is put together by hand.
    /// Asks the user to choose, in every form of a choice
    #[tool(title = "Form with choices")]
    fn test_elicitation_sep1330_enums(context: Context) -> Result<String> {
        let plain = ["option1", "option2", "option3"];
        let titled = [
            ("value1", "First"),
            ("value2", "Second"),
            ("value3", "Third"),
        ];
        let legacy = LegacyEnumSchema::titled([("opt1", "One"), ("opt2", "Two")]);
        let form = ElicitationSchema::new()
            .optional("untitledSingle", SingleSelectSchema::of(plain))
            .optional("titledSingle", SingleSelectSchema::titled(titled))
            .optional("legacyEnum", legacy)
            .optional("untitledMulti", MultiSelectSchema::of(plain))
            .optional("titledMulti", MultiSelectSchema::titled(titled));
        let answer = context.ask("choices", ElicitFormParams::new("Please choose", form))?;
        let choices = told(answer.action.as_str(), &answer.content.unwrap_or_default())?;
        Ok(format!("Elicitation completed: {choices}"))
    }
}

/// What the user did, and what they filled in. A no is an answer too.
pub(super) fn described<T: Serialize>(answer: Result<T, AskError>) -> Result<String> {
    match answer {
        Ok(form) => told("accept", &form),
        Err(AskError::Declined) => Ok("action=decline, content={}".to_owned()),
        Err(AskError::Cancelled) => Ok("action=cancel, content={}".to_owned()),
        Err(error) => Err(error.into()),
    }
}

fn told(action: &str, content: &impl Serialize) -> Result<String> {
    let content = serde_json::to_string(content)?;
    Ok(format!("action={action}, content={content}"))
}
