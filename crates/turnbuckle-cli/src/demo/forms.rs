//! Forms with every kind of field that the user can be asked to fill in.

use turnbuckle::types::{
    BooleanSchema, ElicitFormParams, ElicitationSchema, LegacyEnumSchema, MultiSelectSchema,
    Number, NumberSchema, SingleSelectSchema, StringSchema,
};
use turnbuckle::{Context, Result, Tool, tool};

use super::input::describe;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool("test_elicitation_sep1034_defaults", with_defaults)
            .title("Form with defaults")
            .description("Asks the user, with every field filled in already"),
        tool("test_elicitation_sep1330_enums", with_choices)
            .title("Form with choices")
            .description("Asks the user to choose, in every form of a choice"),
    ]
}

async fn with_defaults((): (), context: Context) -> Result<String> {
    let score = NumberSchema::number()
        .description("User score")
        .default(Number::try_from(95.5)?);
    let status = SingleSelectSchema::of(["active", "inactive", "pending"]);
    let form = ElicitationSchema::new()
        .optional(
            "name",
            StringSchema::new()
                .description("User name")
                .default("John Doe"),
        )
        .optional(
            "age",
            NumberSchema::integer().description("User age").default(30),
        )
        .optional("score", score)
        .optional(
            "status",
            status.description("User status").default("active"),
        )
        .optional(
            "verified",
            BooleanSchema::new()
                .description("Verification status")
                .default(true),
        );
    let message = "Please review and update the form fields with defaults";
    let answer = context.ask("form", ElicitFormParams::new(message, form))?;
    Ok(format!("Elicitation completed: {}", describe(&answer)?))
}

async fn with_choices((): (), context: Context) -> Result<String> {
    let plain = ["option1", "option2", "option3"];
    let titled = [
        ("value1", "First"),
        ("value2", "Second"),
        ("value3", "Third"),
    ];
    let form = ElicitationSchema::new()
        .optional("untitledSingle", SingleSelectSchema::of(plain))
        .optional("titledSingle", SingleSelectSchema::titled(titled))
        .optional(
            "legacyEnum",
            LegacyEnumSchema::titled([("opt1", "One"), ("opt2", "Two")]),
        )
        .optional("untitledMulti", MultiSelectSchema::of(plain))
        .optional("titledMulti", MultiSelectSchema::titled(titled));
    let answer = context.ask("choices", ElicitFormParams::new("Please choose", form))?;
    Ok(format!("Elicitation completed: {}", describe(&answer)?))
}
