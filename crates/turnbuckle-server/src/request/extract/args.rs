//! Extractors of a call's arguments.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use turnbuckle_types::{Json, RawJson};

use super::requirements::derive_input_schema;
use super::{Extract, HandlerRequirements, Invocation, RequestPayload};
use crate::error::failure::{Failure, Result};
use crate::schema::field_names;

/// The arguments of a tool or a prompt, or the variables of a resource template, as a struct.
///
/// The struct derives `serde::Deserialize` and `schemars::JsonSchema`. Clients see its schema, doc
/// comments included. Arguments that do not match are refused before the handler runs, with an
/// error for the sender.
///
/// Specification: server/tools, "Calling Tools" (2026-07-28).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Args<T>(pub T);

impl<T: DeserializeOwned + JsonSchema + Send + 'static> Extract for Args<T> {
    const IS_READY: bool = true;

    async fn extract(invocation: &Invocation<'_>) -> Result<Self> {
        match invocation.payload {
            RequestPayload::Arguments(arguments) => invocation.reader.read(arguments),
            RequestPayload::Read(reading) => {
                invocation.reader.read(Some((&reading.arguments()?).into()))
            }
            RequestPayload::Completion(_) => {
                return Err(Failure::new("a completer has no arguments"));
            }
            RequestPayload::List(_) | RequestPayload::Find(_) => {
                return Err(Failure::new("a provider has no arguments"));
            }
        }
        .map(Self)
    }

    fn add_requirements(requirements: &mut HandlerRequirements) {
        requirements.arguments(derive_input_schema::<T>);
        let fields = field_names::<T>();
        requirements.object_unproven |= fields.is_none();
        requirements.order = fields.unwrap_or_default();
    }
}

/// Arguments as received, for tools with a schema written by hand.
///
/// Specification: server/tools, "Calling Tools" (2026-07-28).
#[derive(Debug, Clone)]
pub struct RawArguments(pub Json);

impl Extract for RawArguments {
    const IS_READY: bool = true;

    async fn extract(invocation: &Invocation<'_>) -> Result<Self> {
        match invocation.payload {
            RequestPayload::Arguments(arguments) => {
                let meant = invocation.reader.check(arguments)?;
                let came = || arguments.map_or_else(Json::empty_object, RawJson::to_json);
                Ok(Self(meant.unwrap_or_else(came)))
            }
            _ => Err(Failure::new("only tools and prompts have raw arguments")),
        }
    }

    fn add_requirements(requirements: &mut HandlerRequirements) {
        requirements.arguments(|| Ok(turnbuckle_types::Schema::object()));
    }
}
