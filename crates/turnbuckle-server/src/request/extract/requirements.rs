//! The requirements of a handler, collected from its parameters.

use std::any::TypeId;

use turnbuckle_session::transport::HttpNeeds;
use turnbuckle_types::Schema;

use crate::error::BuildError;
use crate::schema::{SchemaFactory, input_schema_of};

/// Adds the requirements of a handler; see [`Extract::add_requirements`](super::Extract::add_requirements).
pub(crate) type AddRequirements = fn(&mut HandlerRequirements);

/// The requirements of a handler, collected from its parameters when the server is built.
#[derive(Debug, Default)]
pub struct HandlerRequirements {
    /// Makes the schema of the arguments.
    pub(crate) arguments: Option<SchemaFactory>,
    /// The names of the arguments in the order of their declaration.
    pub(crate) order: &'static [&'static str],
    /// True if only the schema can tell that the arguments are an object.
    pub(crate) object_unproven: bool,
    pub(crate) states: Vec<(TypeId, &'static str)>,
    /// True if the handler asks its client.
    pub(crate) asks: bool,
    /// The parts of the HTTP request that the handler takes.
    pub(crate) http: HttpNeeds,
    /// True if two parameters take the arguments.
    duplicate_arguments: bool,
}

impl HandlerRequirements {
    /// Returns the requirements that a function adds.
    pub(crate) fn collect(add: AddRequirements) -> Self {
        let mut needs = Self::default();
        add(&mut needs);
        needs
    }

    /// Adds a parameter that takes the arguments.
    pub(crate) fn arguments(&mut self, schema: SchemaFactory) {
        self.duplicate_arguments |= self.arguments.replace(schema).is_some();
    }

    /// Returns the factory of the schema of the handler's arguments.
    ///
    /// # Errors
    /// If two parameters take the arguments.
    pub(crate) fn schema_factory(&self) -> Result<SchemaFactory, BuildError> {
        if self.duplicate_arguments {
            return Err(BuildError::new(
                "two parameters of the handler take its arguments: put them into one struct",
            ));
        }
        Ok(self.arguments.unwrap_or(derive_input_schema::<()>))
    }

    /// Returns the schema of the handler's arguments.
    pub(crate) fn schema(&self) -> Result<Schema, BuildError> {
        self.schema_factory()?()
    }
}

/// Returns the input schema of a type.
pub(super) fn derive_input_schema<T: schemars::JsonSchema>() -> Result<Schema, BuildError> {
    input_schema_of::<T>().map_err(|error| BuildError::new(error.to_string()))
}
