//! Schemas that values are validated against.

use std::sync::{Arc, OnceLock};

#[cfg(feature = "validate")]
use turnbuckle_schema::Validator;
use turnbuckle_schema::{
    FastValidator, SchemaError, SchemaLimits, Violations, check_keyword_types, format_at,
};
use turnbuckle_types::{Json, ProtocolError, RawJson, Schema};

use crate::error::BuildError;

/// Makes the schema of a type.
pub(crate) type SchemaFactory = fn() -> Result<Schema, BuildError>;

/// A schema with its validator.
///
/// A schema written by hand is compiled at once, so that mistakes are found when the server is
/// built. The schema of a type is assumed to be valid, and made and compiled when it is first
/// needed, so that a server starts fast.
#[derive(Debug)]
pub(crate) enum EnforcedSchema {
    /// The schema of a type, which guarantees all but the keywords that attributes add.
    Derived {
        source: SchemaSource,
        /// Boxed, since a server may have thousands of tools that nobody calls.
        validator: OnceLock<CompiledValidator>,
    },
    /// A schema written by hand: every value is validated.
    Written(Arc<WrittenSchema>),
}

/// The compiled schema of a type, or the error.
type CompiledValidator = Box<Result<FastValidator, BuildError>>;

/// The source of a type's schema.
#[derive(Debug, Clone)]
pub(crate) enum SchemaSource {
    Schema(Schema),
    Factory(SchemaFactory),
}

/// The validator of a schema written by hand.
#[cfg(not(feature = "validate"))]
type WrittenSchema = FastValidator;

/// The validators of a schema written by hand.
#[cfg(feature = "validate")]
#[derive(Debug)]
pub(crate) enum WrittenSchema {
    /// The validator of a schema whose every keyword it enforces. Nothing of the general one is made, which takes
    /// milliseconds for the first schema.
    Fast(FastValidator),
    General {
        /// Repairs values; `None` for schemas that it does not support.
        repairer: Option<FastValidator>,
        validator: Validator,
    },
}

impl EnforcedSchema {
    /// Creates an enforced schema from a type's schema.
    pub(crate) fn from_derived(schema: Schema) -> Self {
        Self::from_source(SchemaSource::Schema(schema))
    }

    /// Creates an enforced schema that a type makes when it is first needed.
    pub(crate) fn of_type(make: SchemaFactory) -> Self {
        Self::from_source(SchemaSource::Factory(make))
    }

    fn from_source(source: SchemaSource) -> Self {
        Self::Derived {
            source,
            validator: OnceLock::new(),
        }
    }

    /// Compiles a schema written by hand; `objects` requires values to be objects.
    ///
    /// # Errors
    /// If the schema is not valid, or has a keyword that this build cannot check.
    #[cfg(feature = "validate")]
    pub(crate) fn written(
        schema: &Schema,
        objects: bool,
        limits: &SchemaLimits,
    ) -> Result<Self, BuildError> {
        let repairer = match compile_fast(schema, objects, limits) {
            Ok(fast) if fast.unsupported_keyword().is_none() => {
                return Ok(Self::Written(Arc::new(WrittenSchema::Fast(fast))));
            }
            fast => fast.ok(),
        };
        let validator = Validator::compile_within(schema, limits);
        let validator = if objects {
            validator.and_then(Validator::for_objects)
        } else {
            validator
        };
        Ok(Self::Written(Arc::new(WrittenSchema::General {
            repairer,
            validator: validator.map_err(|fault| BuildError::new(fault.to_string()))?,
        })))
    }

    /// Compiles a schema written by hand; `objects` requires values to be objects.
    ///
    /// # Errors
    /// If the schema is not valid, or has a keyword that this build cannot check.
    #[cfg(not(feature = "validate"))]
    pub(crate) fn written(
        schema: &Schema,
        objects: bool,
        limits: &SchemaLimits,
    ) -> Result<Self, BuildError> {
        let validator = compile_fast(schema, objects, limits);
        let validator = validator.map_err(|fault| BuildError::new(fault.to_string()))?;
        if let Some(keyword) = validator.unsupported_keyword() {
            return Err(BuildError::new(format!(
                "the schema says {keyword:?}, which only the feature `validate` of turnbuckle can \
                 check: add the feature, or leave the keyword out"
            )));
        }
        Ok(Self::Written(Arc::new(validator)))
    }

    /// Returns the same schema, compiled once for both if it was written by hand.
    pub(crate) fn share(&self) -> Self {
        match self {
            Self::Derived { source, .. } => Self::from_source(source.clone()),
            Self::Written(written) => Self::Written(written.clone()),
        }
    }

    /// Returns whether a value has to be validated although it can be decoded into its type.
    ///
    /// # Errors
    /// If the schema of a type is not valid.
    pub(crate) fn has_constraints(&self) -> Result<bool, ProtocolError> {
        match self {
            Self::Derived { source, validator } => {
                Ok(get_or_compile(source, validator)?.has_constraints())
            }
            Self::Written(_) => Ok(true),
        }
    }

    /// Validates a value. The inner result lists the violations.
    ///
    /// # Errors
    /// If the schema of a type is not valid.
    pub(crate) fn validate(
        &self,
        value: RawJson<'_>,
    ) -> Result<Result<(), Violations>, ProtocolError> {
        match self {
            Self::Derived { source, validator } => {
                Ok(get_or_compile(source, validator)?.validate(value))
            }
            Self::Written(written) => Ok(written.validate(value)),
        }
    }

    /// Returns the `format` that the schema of a type demands of the value to which a path leads.
    #[cold]
    pub(crate) fn format_at(&self, path: &[String]) -> Option<String> {
        let Self::Derived { source, .. } = self else {
            return None;
        };
        match source {
            SchemaSource::Schema(schema) => format_at(schema, path),
            SchemaSource::Factory(make) => format_at(&make().ok()?, path),
        }
    }

    /// Returns the repaired value, if it differs.
    pub(crate) fn repair(&self, value: RawJson<'_>) -> Option<Json> {
        match self {
            Self::Derived { source, validator } => {
                get_or_compile(source, validator).ok()?.repair(value)
            }
            Self::Written(written) => written.repair(value),
        }
    }
}

#[cfg(feature = "validate")]
impl WrittenSchema {
    fn validate(&self, value: RawJson<'_>) -> Result<(), Violations> {
        match self {
            Self::Fast(validator) => validator.validate(value),
            Self::General { validator, .. } => validator.validate(value),
        }
    }

    fn repair(&self, value: RawJson<'_>) -> Option<Json> {
        match self {
            Self::Fast(validator) => validator.repair(value),
            Self::General { repairer, .. } => repairer.as_ref()?.repair(value),
        }
    }
}

/// Compiles the fast validator of a schema written by hand; `objects` requires values to be objects.
fn compile_fast(
    schema: &Schema,
    objects: bool,
    limits: &SchemaLimits,
) -> Result<FastValidator, SchemaError> {
    match objects {
        true => FastValidator::compile_object_within(schema, limits),
        false => FastValidator::compile_within(schema, limits),
    }
}

/// Checks that each constraint of a schema can refuse a value.
///
/// # Errors
/// If one never does, since it is about another type.
pub(crate) fn check_constraints(schema: &Schema) -> Result<(), BuildError> {
    check_keyword_types(schema).map_err(|fault| BuildError::new(format!("its schema: {fault}")))
}

/// Compiles the schema of a type.
///
/// # Errors
/// If the schema is not valid, or has a constraint that never refuses a value.
pub(crate) fn compile(schema: &Schema) -> Result<FastValidator, BuildError> {
    check_constraints(schema)?;
    FastValidator::compile(schema).map_err(|fault| BuildError::new(fault.to_string()))
}

fn get_or_compile<'a>(
    source: &SchemaSource,
    validator: &'a OnceLock<CompiledValidator>,
) -> Result<&'a FastValidator, ProtocolError> {
    let make = || match source {
        SchemaSource::Schema(schema) => compile(schema),
        SchemaSource::Factory(make) => compile(&make()?),
    };
    let made = validator.get_or_init(|| Box::new(make()));
    made.as_ref().as_ref().map_err(invalid)
}

/// Returns the error for the schema of a type that is not valid.
pub(crate) fn invalid(fault: &BuildError) -> ProtocolError {
    ProtocolError::internal(format!("a schema of the tool is not valid: {fault}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(schema: &Schema, objects: bool) -> Result<EnforcedSchema, BuildError> {
        EnforcedSchema::written(schema, objects, &SchemaLimits::default())
    }

    fn schema(text: &str) -> Schema {
        text.parse().unwrap()
    }

    #[test]
    fn written_schemas_are_checked_at_once_and_derived_ones_later() {
        let bad = schema(r#"{"type":"object","properties":{"a":{"type":5}}}"#);
        assert!(written(&bad, true).is_err());
        assert!(EnforcedSchema::from_derived(bad).has_constraints().is_err());

        let good = schema(r#"{"type":"object","properties":{"a":{"minimum":3}}}"#);
        let two: RawJson<'_> = serde_json::from_str(r#"{"a":2}"#).unwrap();
        let written = written(&good, true).unwrap();
        assert!(written.validate(two).unwrap().is_err());
        let derived = EnforcedSchema::from_derived(good);
        assert!(derived.has_constraints().unwrap());
        assert!(derived.validate(two).unwrap().is_err());
    }

    #[test]
    fn argument_schemas_must_be_objects() {
        assert!(written(&schema(r#"{"type":"array"}"#), true).is_err());
        assert!(written(&schema(r#"{"type":"array"}"#), false).is_ok());
    }

    #[test]
    fn unsupported_keywords_are_refused() {
        let not = schema(r#"{"type":"object","not":{"required":["a"]}}"#);
        let enforced = written(&not, true);
        if cfg!(feature = "validate") {
            let value: RawJson<'_> = serde_json::from_str(r#"{"a":2}"#).unwrap();
            assert!(enforced.unwrap().validate(value).unwrap().is_err());
        } else {
            let error = enforced.unwrap_err().to_string();
            assert!(
                error.contains("\"not\"") && error.contains("`validate`"),
                "{error}"
            );
        }
    }
}
