//! A schema that values are held against.

use std::sync::OnceLock;

#[cfg(feature = "validate")]
use turnbuckle_schema::Validator;
use turnbuckle_schema::{SchemaLimits, Shape, Violations};
use turnbuckle_types::{Error, Json, RawJson, Schema};

use crate::error::BuildError;
use crate::extract::MakeSchema;

/// A schema with what checks values against it.
///
/// One that is written by hand is compiled at once, so that it is known to be good; one that a type
/// makes is taken to be, and made and compiled when it is first needed: a server starts without
/// waiting for it.
#[derive(Debug)]
pub(crate) enum Held {
    /// A type made it, and vouches for what it says, but for what attributes add.
    Derived {
        source: Source,
        /// Apart: a server may have thousands of tools that nobody calls.
        shape: OnceLock<Compiled>,
    },
    /// Somebody wrote it: every value is checked.
    Written(Box<Written>),
}

/// What a schema became that a type made.
type Compiled = Box<Result<Shape, BuildError>>;

/// Where a schema comes from that a type makes.
#[derive(Debug)]
pub(crate) enum Source {
    Made(Schema),
    Type(MakeSchema),
}

/// What a schema that was written by hand is enforced with.
#[cfg(not(feature = "validate"))]
type Written = Shape;

/// What a schema that was written by hand is enforced with.
#[cfg(feature = "validate")]
#[derive(Debug)]
pub(crate) struct Written {
    /// What mends values; there is none for schemas that it cannot read.
    shape: Option<Shape>,
    validator: Validator,
}

impl Held {
    /// What a type made.
    pub(crate) fn derived(schema: Schema) -> Self {
        Self::from_source(Source::Made(schema))
    }

    /// What a type makes when it is first needed.
    pub(crate) fn of_type(make: MakeSchema) -> Self {
        Self::from_source(Source::Type(make))
    }

    fn from_source(source: Source) -> Self {
        Self::Derived {
            source,
            shape: OnceLock::new(),
        }
    }

    /// # Errors
    /// If the schema is not good, or says more than this build of the library can check.
    #[cfg(feature = "validate")]
    pub(crate) fn written(
        schema: &Schema,
        objects: bool,
        limits: &SchemaLimits,
    ) -> Result<Self, BuildError> {
        let validator = Validator::compile_within(schema, limits);
        let validator = match objects {
            true => validator.and_then(Validator::of_objects),
            false => validator,
        };
        Ok(Self::Written(Box::new(Written {
            shape: Shape::compile_within(schema, limits).ok(),
            validator: validator.map_err(|fault| BuildError::new(fault.to_string()))?,
        })))
    }

    /// # Errors
    /// If the schema is not good, or says more than this build of the library can check.
    #[cfg(not(feature = "validate"))]
    pub(crate) fn written(
        schema: &Schema,
        objects: bool,
        limits: &SchemaLimits,
    ) -> Result<Self, BuildError> {
        let shape = match objects {
            true => Shape::compile_object_within(schema, limits),
            false => Shape::compile_within(schema, limits),
        };
        let shape = shape.map_err(|fault| BuildError::new(fault.to_string()))?;
        if let Some(keyword) = shape.uncovered() {
            return Err(BuildError::new(format!(
                "the schema says {keyword:?}, which only the feature `validate` of turnbuckle can \
                 check: add the feature, or leave the keyword out"
            )));
        }
        Ok(Self::Written(Box::new(shape)))
    }

    /// Whether a value has to be checked although it decodes into its type, or comes from it.
    ///
    /// # Errors
    /// If a type made a schema that is not good.
    pub(crate) fn constrains(&self) -> Result<bool, Error> {
        match self {
            Self::Derived { source, shape } => Ok(compiled(source, shape)?.constrains()),
            Self::Written(_) => Ok(true),
        }
    }

    /// Checks a value. `Ok` holds what is wrong with it, if something is.
    ///
    /// # Errors
    /// If a type made a schema that is not good.
    pub(crate) fn check(&self, value: RawJson<'_>) -> Result<Result<(), Violations>, Error> {
        match self {
            Self::Derived { source, shape } => Ok(compiled(source, shape)?.check(value)),
            Self::Written(written) => Ok(written.check(value)),
        }
    }

    /// The value that was meant, if that is another one.
    pub(crate) fn repair(&self, value: RawJson<'_>) -> Option<Json> {
        match self {
            Self::Derived { source, shape } => compiled(source, shape).ok()?.repair(value),
            Self::Written(written) => written.repair(value),
        }
    }
}

#[cfg(feature = "validate")]
impl Written {
    fn check(&self, value: RawJson<'_>) -> Result<(), Violations> {
        self.validator.validate(value)
    }

    fn repair(&self, value: RawJson<'_>) -> Option<Json> {
        self.shape.as_ref()?.repair(value)
    }
}

/// What a schema that a type made is checked with.
///
/// # Errors
/// If the schema is not good.
pub(crate) fn compile(schema: &Schema) -> Result<Shape, BuildError> {
    Shape::compile(schema).map_err(|fault| BuildError::new(fault.to_string()))
}

fn compiled<'a>(source: &Source, shape: &'a OnceLock<Compiled>) -> Result<&'a Shape, Error> {
    let make = || match source {
        Source::Made(schema) => compile(schema),
        Source::Type(make) => compile(&make()?),
    };
    let made = shape.get_or_init(|| Box::new(make()));
    made.as_ref().as_ref().map_err(invalid)
}

/// A type made a schema that is not good.
pub(crate) fn invalid(fault: &BuildError) -> Error {
    Error::internal(format!("a schema of the tool is not valid: {fault}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(schema: &Schema, objects: bool) -> Result<Held, BuildError> {
        Held::written(schema, objects, &SchemaLimits::default())
    }

    fn schema(text: &str) -> Schema {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_written_is_checked_at_once_and_what_a_type_made_later() {
        let bad = schema(r#"{"type":"object","properties":{"a":{"type":5}}}"#);
        assert!(written(&bad, true).is_err());
        assert!(Held::derived(bad).constrains().is_err());

        let good = schema(r#"{"type":"object","properties":{"a":{"minimum":3}}}"#);
        let two: RawJson<'_> = serde_json::from_str(r#"{"a":2}"#).unwrap();
        let written = written(&good, true).unwrap();
        assert!(written.check(two).unwrap().is_err());
        let derived = Held::derived(good);
        assert!(derived.constrains().unwrap());
        assert!(derived.check(two).unwrap().is_err());
    }

    #[test]
    fn arguments_are_objects() {
        assert!(written(&schema(r#"{"type":"array"}"#), true).is_err());
        assert!(written(&schema(r#"{"type":"array"}"#), false).is_ok());
    }

    #[test]
    fn what_cannot_be_checked_is_not_taken() {
        let not = schema(r#"{"type":"object","not":{"required":["a"]}}"#);
        let held = written(&not, true);
        if cfg!(feature = "validate") {
            let value: RawJson<'_> = serde_json::from_str(r#"{"a":2}"#).unwrap();
            assert!(held.unwrap().check(value).unwrap().is_err());
        } else {
            let error = held.unwrap_err().to_string();
            assert!(
                error.contains("\"not\"") && error.contains("`validate`"),
                "{error}"
            );
        }
    }
}
