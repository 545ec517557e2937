//! The arguments of a call.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use turnbuckle_types::{Json, RawJson};

use super::{Extract, Incoming, Needs, Subject, derived};
use crate::failure::{Failure, Result};
use crate::schema::fields_of;

/// The arguments, as a struct: of a tool, of a prompt, or the variables of a resource template.
///
/// The struct derives `serde::Deserialize` and `schemars::JsonSchema`; the schema is what clients
/// see, doc comments included. What does not fit is refused before the handler runs, and told to
/// whoever sent it.
///
/// Specification: server/tools, "Calling Tools" (2026-07-28).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Args<T>(pub T);

impl<T: DeserializeOwned + JsonSchema + Send + 'static> Extract for Args<T> {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        match incoming.subject {
            Subject::Arguments(arguments) => incoming.intake.read(arguments),
            Subject::Reading(reading) => incoming.intake.read(Some((&reading.arguments()?).into())),
            Subject::Typing(_) => return Err(Failure::new("a completer has no arguments")),
        }
        .map(Self)
    }

    fn needs(needs: &mut Needs) {
        needs.arguments(derived::<T>);
        let fields = fields_of::<T>();
        needs.unsure |= fields.is_none();
        needs.order = fields.unwrap_or_default();
    }
}

/// Arguments as they came, for tools with a schema that is written by hand.
///
/// Specification: server/tools, "Calling Tools" (2026-07-28).
#[derive(Debug, Clone)]
pub struct RawArguments(pub Json);

impl Extract for RawArguments {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        match incoming.subject {
            Subject::Arguments(arguments) => {
                let meant = incoming.intake.checked(arguments)?;
                let came = || arguments.map_or_else(Json::empty_object, RawJson::to_json);
                Ok(Self(meant.unwrap_or_else(came)))
            }
            _ => Err(Failure::new("only tools and prompts have raw arguments")),
        }
    }

    fn needs(needs: &mut Needs) {
        needs.arguments(|| Ok(turnbuckle_types::Schema::object()));
    }
}
