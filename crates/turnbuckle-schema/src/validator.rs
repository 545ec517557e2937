//! The general validator, for keywords that typed decoding does not enforce. Only this file knows
//! the jsonschema crate.
//!
//! No reference is fetched, and patterns run in linear time: lookaround and backreferences are refused
//! when a schema is compiled. The engine bounds neither its work nor the errors that it collects,
//! so both are estimated before it starts.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{Draft, PatternOptions, ValidationError};
use serde_json::Value;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{RawJson, Schema};

use crate::SchemaLimits;
use crate::check::{CheckedSchema, Dialect, check_schema};
use crate::cost::estimate_cost;
use crate::error::SchemaError;
use crate::plan::Plan;
use crate::violation::{MAX_VIOLATIONS, Violation, Violations, join_alternatives, pointer_join};
use turnbuckle_types::base::text::{shorten, shorten_to};

/// The most work of explaining violations.
const MAX_EXPLAIN_COST: u64 = 50_000;

/// The longest explanation of an invalid schema, in characters.
const MAX_REASON_CHARS: usize = 300;

/// A compiled schema with support for every keyword of both dialects. Compiling takes far longer
/// than validating: compile once.
pub struct Validator {
    compiled: jsonschema::Validator,
    plan: Plan,
    checked: CheckedSchema,
}

impl Validator {
    /// Checks and compiles a schema for values of any type, such as structured results.
    ///
    /// # Errors
    /// If the schema is invalid, of another dialect, exceeds a limit, or refers to another
    /// document.
    pub fn compile(schema: &Schema) -> Result<Self, SchemaError> {
        Self::compile_within(schema, &SchemaLimits::default())
    }

    /// Checks and compiles a schema within the given limits.
    ///
    /// # Errors
    /// Those of [`compile`](Self::compile).
    pub fn compile_within(schema: &Schema, limits: &SchemaLimits) -> Result<Self, SchemaError> {
        let checked = check_schema(schema, *limits)?;
        check_dialect(&checked.schema, checked.dialect)?;
        // A schema too deep for the plan is not given to the engine, which has no depth limit.
        let plan = Plan::new(&checked.schema, limits)?;
        let pattern = limits.compiled_pattern_bytes(checked.patterns);
        let compiled = jsonschema::options()
            .with_draft(draft(checked.dialect))
            .should_validate_formats(false)
            .with_retriever(RefuseRetrieval)
            .with_pattern_options(
                PatternOptions::regex()
                    .size_limit(pattern)
                    .dfa_size_limit(pattern),
            )
            .build(&checked.schema)
            .map_err(|error| invalid_schema(&error))?;
        Ok(Self {
            compiled,
            plan,
            checked,
        })
    }

    /// Checks and compiles a schema for values that are always objects, such as arguments.
    ///
    /// # Errors
    /// Those of [`compile`](Self::compile), and [`SchemaError::RootNotObject`] if the root lacks
    /// `"type": "object"`.
    pub fn compile_object(schema: &Schema) -> Result<Self, SchemaError> {
        Self::compile(schema)?.for_objects()
    }

    /// Returns the validator if its schema only accepts objects.
    ///
    /// # Errors
    /// [`SchemaError::RootNotObject`] if the root lacks `"type": "object"`.
    pub fn for_objects(self) -> Result<Self, SchemaError> {
        if self.checked.schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(SchemaError::RootNotObject);
        }
        Ok(self)
    }

    /// Validates JSON text.
    ///
    /// # Errors
    /// At most eight violations; only the first if collecting more would be expensive. If the value
    /// is [too costly](Violations::is_too_costly) to validate, the only violation says so, and the
    /// value is neither valid nor invalid.
    pub fn validate(&self, json: RawJson<'_>) -> Result<(), Violations> {
        let value: Value = json
            .decode()
            .map_err(|error| Violation::new("", shorten(&error.to_string())))?;
        self.validate_value(&value)
    }

    fn validate_value(&self, value: &Value) -> Result<(), Violations> {
        let Some(effort) = estimate_cost(&self.plan, value, self.checked.limits.max_work) else {
            return Err(Violations::too_costly());
        };
        if self.compiled.is_valid(value) {
            return Ok(());
        }
        if effort.all_errors <= MAX_EXPLAIN_COST {
            let errors = self.compiled.iter_errors(value).take(MAX_VIOLATIONS);
            return Err(errors.map(|error| to_violation(&error)).collect());
        }
        if effort.first_error <= MAX_EXPLAIN_COST
            && let Err(error) = self.compiled.validate(value)
        {
            return Err(to_violation(&error).into());
        }
        let message = "does not fit the schema, and is too large to say where";
        Err(Violation::new("", message).into())
    }
}

debug_fields!(Validator {
    dialect = |validator| validator.checked.dialect
});

/// Checks that a schema is valid in its dialect.
fn check_dialect(schema: &Value, dialect: Dialect) -> Result<(), SchemaError> {
    match dialect {
        Dialect::Draft202012 => jsonschema::draft202012::meta::validate(schema),
        Dialect::Draft07 => jsonschema::draft7::meta::validate(schema),
    }
    .map_err(|error| invalid_schema(&error))
}

fn draft(dialect: Dialect) -> Draft {
    match dialect {
        Dialect::Draft202012 => Draft::Draft202012,
        Dialect::Draft07 => Draft::Draft7,
    }
}

/// A retriever that refuses to load other documents.
struct RefuseRetrieval;

impl jsonschema::Retrieve for RefuseRetrieval {
    fn retrieve(
        &self,
        _: &jsonschema::Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err("references out of the schema are not followed".into())
    }
}

fn invalid_schema(error: &ValidationError<'_>) -> SchemaError {
    let (path, message) = explain(error);
    SchemaError::Invalid {
        path: shorten_to(&path, MAX_REASON_CHARS),
        message: shorten_to(&message, MAX_REASON_CHARS),
    }
}

fn to_violation(error: &ValidationError<'_>) -> Violation {
    let (path, message) = explain(error);
    Violation::new(path, message)
}

/// Returns the location and the message of an error.
fn explain(error: &ValidationError<'_>) -> (String, String) {
    let path = error.instance_path().as_str().to_owned();
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property
                .as_str()
                .map_or_else(|| property.to_string(), str::to_owned);
            (
                pointer_join(&path, &name),
                "is missing, but required".to_owned(),
            )
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let name = unexpected.first().map(String::as_str).unwrap_or_default();
            (pointer_join(&path, name), "is not expected here".to_owned())
        }
        ValidationErrorKind::FalseSchema
            if error
                .schema_path()
                .as_str()
                .ends_with("/additionalProperties") =>
        {
            (path, "takes no members".to_owned())
        }
        _ => {
            let got = shorten(&error.instance().to_string());
            (
                path,
                format!("expected {}, got {got}", describe_expected(error)),
            )
        }
    }
}

/// Describes the expected value, as a noun phrase.
fn describe_expected(error: &ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::Type { kind } => match kind {
            TypeKind::Single(one) => one.to_string(),
            TypeKind::Multiple(several) => {
                join_alternatives(several.iter().map(|one| one.to_string()))
            }
        },
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().into_iter().flatten();
            join_alternatives(options.map(|option| shorten(&option.to_string())))
        }
        ValidationErrorKind::Constant { expected_value } => shorten(&expected_value.to_string()),
        ValidationErrorKind::Minimum { limit } => format!("at least {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("at most {limit}"),
        ValidationErrorKind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        ValidationErrorKind::ExclusiveMaximum { limit } => format!("less than {limit}"),
        ValidationErrorKind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        ValidationErrorKind::MinLength { limit } => format!("at least {limit} characters"),
        ValidationErrorKind::MaxLength { limit } => format!("at most {limit} characters"),
        ValidationErrorKind::MinItems { limit } => format!("at least {limit} items"),
        ValidationErrorKind::MaxItems { limit } => format!("at most {limit} items"),
        ValidationErrorKind::AdditionalItems { limit } => format!("at most {limit} items"),
        ValidationErrorKind::MinProperties { limit } => format!("at least {limit} members"),
        ValidationErrorKind::MaxProperties { limit } => format!("at most {limit} members"),
        ValidationErrorKind::Pattern { pattern } => {
            format!("text that matches {}", shorten(pattern))
        }
        ValidationErrorKind::Format { format } => format!("the format {}", shorten(format)),
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            describe_alternatives(error, context)
        }
        ValidationErrorKind::PropertyNames { error } => {
            format!("member names that are {}", describe_expected(error))
        }
        other => describe_rule(other).to_owned(),
    }
}

/// Describes the value that a rule without a parameter expects.
fn describe_rule(rule: &ValidationErrorKind) -> &'static str {
    match rule {
        ValidationErrorKind::OneOfMultipleValid { .. } => "exactly one of the alternatives to fit",
        ValidationErrorKind::UniqueItems => "items that all differ",
        ValidationErrorKind::UnevaluatedItems { .. } => "no further items",
        ValidationErrorKind::Contains => "an item that the schema's `contains` describes",
        ValidationErrorKind::Not { .. } => "anything but this",
        ValidationErrorKind::FalseSchema => "nothing",
        _ => "a value that the schema allows",
    }
}

/// Describes the expected value of each alternative, if all errors are about the value itself.
fn describe_alternatives(
    error: &ValidationError<'_>,
    context: &[Vec<ValidationError<'static>>],
) -> String {
    let depth = error.instance_path().as_str().len();
    let first: Option<Vec<_>> = context
        .iter()
        .map(|errors| {
            errors
                .first()
                .filter(|e| e.instance_path().as_str().len() == depth)
        })
        .collect();
    let structural = |e: &&ValidationError<'_>| {
        matches!(
            e.kind(),
            ValidationErrorKind::Type { .. }
                | ValidationErrorKind::Enum { .. }
                | ValidationErrorKind::Constant { .. }
        )
    };
    match first {
        Some(errors) if !errors.is_empty() && errors.iter().all(structural) => {
            join_alternatives(errors.into_iter().map(describe_expected))
        }
        _ => "a value that fits one of the alternatives".to_owned(),
    }
}

#[cfg(test)]
mod tests;
