//! Elicitation: a server asks the user, by a form or by sending them to a URL.

mod schema;
mod validate;

pub use schema::{
    BooleanSchema, ElicitationSchema, LegacyTitledEnumSchema, MultiSelectEnumSchema,
    MultiSelectItems, NumberKind, NumberSchema, PrimitiveSchemaDefinition, SingleSelectEnumSchema,
    StringFormat, StringSchema, TitledChoice,
};
pub use validate::{FieldProblem, InvalidContent};

use std::fmt;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error as _};

use crate::object::object;
use crate::tagged::variants;
use crate::words::words;
use crate::{Json, Map, Meta, Number, TaskMetadata};

/// Parameters of `elicitation/create`, told apart by `mode`. An unknown mode does not decode.
///
/// Specification: client/elicitation (2026-07-28).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum ElicitRequestParams {
    /// By a form that the user fills in.
    Form(ElicitRequestFormParams),
    /// Elicitation by a URL that the user visits.
    Url(ElicitRequestUrlParams),
}

variants! {
    ElicitRequestParams { Form(ElicitRequestFormParams), Url(ElicitRequestUrlParams), }
}

words! {
    /// The member `mode` of a form elicitation, which may be absent. URL elicitations have another
    /// parameter type.
    pub enum FormMode {
        /// By a form that the user fills in.
        Form = "form",
    }
}

object! {
    /// Asks the user to fill in a form. Not for secrets.
    pub struct ElicitRequestFormParams {
        /// The question and its reason.
        req message: String = "message",
        /// The form.
        req requested_schema: ElicitationSchema = "requestedSchema",
        /// The mode; absent means a form.
        opt mode: FormMode = "mode",
        /// The wish that the request is a task. Only the revision 2025-11-25 has this field.
        opt task: TaskMetadata = "task",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Asks the user to go to a URL, where the rest happens out of the client's sight.
    pub struct ElicitRequestUrlParams tagged "mode" = "url" {
        /// The reason for the visit.
        req message: String = "message",
        /// The URL to visit.
        req url: String = "url" is uri,
        /// The id that `notifications/elicitation/complete` names when the visit is complete. Only the
        /// revision 2025-11-25 has that notification.
        opt elicitation_id: String = "elicitationId",
        /// The wish that the request is a task. Only the revision 2025-11-25 has this field.
        opt task: TaskMetadata = "task",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

impl ElicitRequestParams {
    /// Creates a question that is a form.
    #[must_use]
    pub fn form(message: impl Into<String>, schema: impl Into<ElicitationSchema>) -> Self {
        Self::Form(ElicitRequestFormParams::new(message, schema))
    }

    /// Creates a question that sends the user to a URL.
    #[must_use]
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self::Url(ElicitRequestUrlParams::new(message, url))
    }

    /// Returns the question and its reason.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::Form(form) => &form.message,
            Self::Url(url) => &url.message,
        }
    }
}

impl<'de> Deserialize<'de> for ElicitRequestParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Json::deserialize(deserializer)?;
        match crate::tagged::peek(raw.as_str(), "mode").as_deref() {
            None | Some("form") => raw.decode().map(Self::Form),
            Some("url") => raw.decode().map(Self::Url),
            Some(other) => return Err(D::Error::unknown_variant(other, &["form", "url"])),
        }
        .map_err(D::Error::custom)
    }
}

words! {
    /// The choice of the user.
    pub enum ElicitAction {
        /// Agreed; a form's content comes with it.
        Accept = "accept",
        /// Refused. Also read from `reject`, which the first drafts of the page had.
        Decline = "decline" | "reject",
        /// Closed the question without a choice.
        Cancel = "cancel",
    }
}

object! {
    /// Result of `elicitation/create`.
    pub struct ElicitResult {
        /// The choice of the user.
        req action: ElicitAction = "action",
        /// The form as filled in, by field name.
        opt content: Map<FieldValue> = "content",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

impl ElicitResult {
    /// Creates the result of a user who filled in the form.
    #[must_use]
    pub fn accept(content: impl Into<Map<FieldValue>>) -> Self {
        Self::new(ElicitAction::Accept).content(content)
    }

    /// Creates the result of a user who agreed to visit the URL.
    #[must_use]
    pub fn accept_url() -> Self {
        Self::new(ElicitAction::Accept)
    }

    /// Creates the result of a user who refused.
    #[must_use]
    pub fn decline() -> Self {
        Self::new(ElicitAction::Decline)
    }

    /// Creates the result of a user who closed the question.
    #[must_use]
    pub fn cancel() -> Self {
        Self::new(ElicitAction::Cancel)
    }

    /// Returns the value of a field, if the user accepted and filled it in.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&FieldValue> {
        match self.action {
            ElicitAction::Accept => self.content.as_ref()?.get(name),
            ElicitAction::Decline | ElicitAction::Cancel => None,
        }
    }
}

/// The value of a form's field.
#[derive(Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum FieldValue {
    /// A text, or a choice.
    String(String),
    /// A number.
    Number(Number),
    /// Yes or no.
    Bool(bool),
    /// Several choices.
    List(Vec<String>),
    /// A value that no field of a form can hold, as it arrived.
    Unknown(Json),
}

/// Names the kind of the value alone: what a user typed does not belong in a log.
impl fmt::Debug for FieldValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::String(_) => "String(…)",
            Self::Number(_) => "Number(…)",
            Self::Bool(_) => "Bool(…)",
            Self::List(_) => "List(…)",
            Self::Unknown(_) => "Unknown(…)",
        })
    }
}

impl FieldValue {
    /// Returns the text or choice.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self {
            Some(text)
        } else {
            None
        }
    }

    /// Returns the number.
    #[must_use]
    pub fn as_number(&self) -> Option<&Number> {
        if let Self::Number(number) = self {
            Some(number)
        } else {
            None
        }
    }

    /// Returns the answer yes or no.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(answer) = self {
            Some(*answer)
        } else {
            None
        }
    }

    /// Returns the choices.
    #[must_use]
    pub fn as_list(&self) -> Option<&[String]> {
        if let Self::List(choices) = self {
            Some(choices)
        } else {
            None
        }
    }
}

macro_rules! field_value_from {
    ($($ty:ty => $make:expr;)+) => { $(
        impl From<$ty> for FieldValue {
            fn from(value: $ty) -> Self {
                $make(value)
            }
        }
    )+ };
}
field_value_from! {
    &str => |text: &str| Self::String(text.to_owned());
    String => Self::String;
    bool => Self::Bool;
    Number => Self::Number;
    i32 => |value: i32| Self::Number(value.into());
    i64 => |value: i64| Self::Number(value.into());
    Vec<String> => Self::List;
}

impl<'de> Deserialize<'de> for FieldValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Json::deserialize(deserializer)?;
        // The first byte of a JSON value says its kind.
        let value = match raw.as_str().as_bytes().first() {
            Some(b'"') => raw.decode().map(Self::String),
            Some(b'-' | b'0'..=b'9') => raw.decode().map(Self::Number),
            Some(b't' | b'f') => raw.decode().map(Self::Bool),
            Some(b'[') => match raw.decode() {
                Ok(choices) => return Ok(Self::List(choices)),
                Err(_) => return Ok(Self::Unknown(raw)),
            },
            _ => return Ok(Self::Unknown(raw)),
        };
        value.map_err(D::Error::custom)
    }
}

object! {
    /// Parameters of `notifications/elicitation/complete`: what a URL was for is done.
    ///
    /// Specification: client/elicitation (2025-11-25).
    pub struct ElicitationCompleteNotificationParams {
        /// The id that the elicitation was given.
        req elicitation_id: String = "elicitationId",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}
